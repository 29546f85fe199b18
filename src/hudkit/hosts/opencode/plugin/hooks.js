// -- hooks: what OpenCode calls; none of them throws, and none waits longer than the deadline -----------------------

const TITLE = "You are a title generator";
const SUMMARY = "You are a context summarization agent";
const MESSAGES_HOOK = "experimental.chat.messages.transform";
const SYSTEM_HOOK = "experimental.chat.system.transform";
const COMPACTING_HOOK = "experimental.session.compacting";
const EXPECTED = [MESSAGES_HOOK, SYSTEM_HOOK]; // they come before each request of an agent
const AUXILIARY = new Set(["title", "summary", "compaction"]); // agents whose requests get nothing

export async function Hudkit({ client, directory }) {
  screen = screenOf(client);
  const session = sessionsOf(directory);
  const limits = new Map(); // "provider/model" -> {context, output, input}
  const titles = [TITLE];
  const summaries = [SUMMARY, BAKED.summarizer];
  let learning = null;

  const starts = (text, openings) => openings.some((opening) => text?.startsWith(opening));
  const learn = (model) => {
    if (model?.limit) limits.set(`${model.providerID}/${model.id}`, model.limit);
  };
  const learnAll = async () => {
    const { data } = await client.config.providers();
    for (const provider of data.providers) {
      for (const model of Object.values(provider.models)) learn({ providerID: provider.id, ...model });
    }
  };
  const withLimits = (model) => {
    const { context = 0, output = 0, input = 0 } = limits.get(`${model.provider}/${model.id}`) ?? {};
    return { ...model, limit: context, output, input };
  };

  const route = (router, args, at) => answerTool(session(at.sessionID), router, args);
  const tools = Object.fromEntries(
    BAKED.tools.map(({ name, description, parameters }) => {
      const run = name.endsWith("_compact") ? compact : route;
      return [name, { description, args: parameters.properties, execute: (args, at) => run(name, args, at) }];
    }),
  );

  async function compact(name, _args, at) {
    const one = session(at.sessionID);
    if (!one.model) return "hudkit: no call of this session was seen yet. No compaction was started.";
    const body = { providerID: one.model.provider, modelID: one.model.id };
    return await answerCompact(one, name, () => summarize(at.sessionID, body));
  }

  async function summarize(id, body) {
    try {
      await client.session.summarize({ path: { id }, body });
    } catch {
      // OpenCode shows its own errors
    }
  }

  await ready().catch(() => null);

  return {
    tool: tools,

    "tool.definition": quietly(({ toolID }, output) => {
      const found = BAKED.tools.find((tool) => tool.name === toolID);
      if (found) output.jsonSchema = structuredClone(found.parameters);
      DEFINED.set(toolID, output.description.length + lengthOf(output.jsonSchema ?? output.parameters));
    }),

    config: quietly((config) => {
      const agents = (config.agent ??= {});
      if (agents.title?.prompt) titles.push(agents.title.prompt);
      const compaction = (agents.compaction ??= {});
      if (compaction.prompt) summaries.push(compaction.prompt);
      else compaction.prompt = BAKED.summarizer;
    }),

    "chat.message": quietly(({ sessionID, agent, model }) => {
      session(sessionID).know({ agent });
      if (model && limits.has(`${model.providerID}/${model.modelID}`)) return;
      learning ??= learnAll().catch(() => {
        learning = null;
      });
    }),

    "chat.params": quietly(({ sessionID, agent, model }) => {
      learn(model);
      if (!AUXILIARY.has(agent?.name ?? agent)) expectHooks(sessionID, EXPECTED, tellUser);
    }),

    "experimental.chat.messages.transform": quietly(async (_, { messages }) => {
      if (!messages[0]?.info.sessionID) return;
      fired(messages[0].info.sessionID, MESSAGES_HOOK);
      if (ONCE.has(messages)) return;
      ONCE.add(messages);
      const one = session(messages[0].info.sessionID);
      const announced = one.compacting;
      if (announced && !announced.seen && Date.now() - announced.at < COMPACTING_MS) {
        announced.seen = true;
        if (one.frame) prune(messages, one.frame.pruned); // what it saved room for must not overflow the summary's call
        return;
      }
      const until = performance.now() + one.patience(messages);
      one.compacting = null;
      one.chat = true;
      one.used = usedTokens(messages);
      const model = modelOf(messages);
      const transcript = read(messages);
      if (learning && !limits.has(`${model.provider}/${model.id}`)) {
        await Promise.race([learning, sleep(DEADLINE_MS / 2)]);
      }
      const tail = await refresh(one, messages, transcript, withLimits(model), until);
      if (one.frame) prune(messages, one.frame.pruned);
      place(messages, transcript, one.frame?.deltas ?? [], tail);
    }),

    "experimental.chat.system.transform": quietly(({ sessionID, model }, { system }) => {
      learn(model);
      if (sessionID) fired(sessionID, SYSTEM_HOOK);
      if (!sessionID || starts(system[0], titles)) return;
      const one = session(sessionID);
      if (one.compacting || starts(system[0], summaries)) {
        one.compacting = null;
        one.chat = false;
        return;
      }
      one.fixed = { system: system.reduce((sum, part) => sum + part.length, 0) };
      const base = one.chat && one.frame?.base;
      if (base) placeBase(system, base, model);
    }),

    "experimental.session.compacting": quietly(async ({ sessionID }, output) => {
      if (!sessionID) return;
      fired(sessionID, COMPACTING_HOOK);
      const one = session(sessionID);
      one.compacting = { at: Date.now(), seen: false };
      one.chat = false;
      const history = () => client.session.messages({ path: { id: sessionID } });
      if (!isSilent()) await within(one.tellAll(history), TELLING_MS).catch(() => {});
      try {
        const question = { ...one.identity, used: one.used };
        const answer = await askPatiently("/v1/compacting", question, isSilent() ? 0 : SUMMARY_MS);
        if (typeof answer.prompt === "string" && answer.prompt) output.prompt = answer.prompt;
        one.learnWhole(answer);
      } catch {
        const text = one.lastText();
        if (text) output.context.push(text);
      }
    }),

    event: quietly(({ event: { type, properties } }) => {
      const info = properties?.info;
      if (type === "session.created" || type === "session.updated") {
        const one = session(info.id);
        if (one.know({ title: info.title, parent: info.parentID })) one.owe({ facts: true });
      } else if (type === "todo.updated") {
        session(properties.sessionID).owe({ todos: cutValue(properties.todos) });
      } else if (type === "message.updated" && info.role === "user") {
        session(info.sessionID).hear(info);
      } else if (type === "message.updated" && info.role === "assistant") {
        const one = session(info.sessionID);
        one.hear(info);
        if (info.time?.completed && !info.error) one.foresee(info, withLimits);
        if (info.time?.completed || info.error) one.owe({});
      } else if (type === "message.part.updated" && properties.part) {
        const { part } = properties;
        if (!SKIPPED.has(part.type)) session(part.sessionID).hear(null, part);
      } else if (type === "session.compacted") {
        expectHooks(properties.sessionID, [COMPACTING_HOOK], tellUser, "summaries are made without the HUD");
        session(properties.sessionID).tellSummary();
      } else if (type === "session.idle") {
        session(properties.sessionID).owe({ whole: true }); // a compaction may come, or the end
      }
    }),
  };
}

/** How OpenCode's user is told. */
const screenOf = (client) => ({
  log: (message, level) => client?.app?.log({ body: { service: "hudkit", level, message } })?.catch?.(() => {}),
  show: (message, level) => {
    const variant = level === "warn" ? "warning" : level;
    client?.tui?.showToast({ body: { title: "hudkit", message, variant } })?.catch?.(() => {});
  },
});

/** Put the base behind the system texts. OpenCode sends each text as a message of its own, and chat templates of open
 *  models refuse a second system message or drop it without a word: there all become one text. Where OpenCode marks
 *  each of the first two as the end of a cached prefix, the base is the second: a new one leaves the first cached. */
function placeBase(system, base, model) {
  if (system.some((text) => text.includes(base))) return; // loaded twice
  if (marksSystemTexts(model)) system.push(base);
  else system.splice(0, system.length, [...system.filter(Boolean), base].join("\n\n"));
}

/** Whether a model's system texts end cached prefixes: Claude, through a package that speaks to who serves it. A name
 *  alone says nothing: "claude" is in the names of open models too, which a local server answers for. */
function marksSystemTexts(model) {
  const { id = "", npm = "" } = model?.api ?? {};
  if (/(^|\/)anthropic$/.test(npm)) return true;
  return /bedrock|openrouter|copilot/.test(npm) && /claude|anthropic/i.test(`${id} ${model.id}`);
}
