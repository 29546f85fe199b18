// -- generation 2: what OpenCode 2 calls. A request is one event that hooks change: `system`, `messages`, `tools` -----

const OWN_REQUEST = new Set([undefined, "primary"]); // titles, summaries and generations have hooks of their own
const CONTEXT_HOOK = "session.context";

/** OpenCode 2 calls this once where the plugin is loaded. The core of OpenCode 2 that is inside OpenCode 1 calls it,
 *  too, with a context that has none of what is needed: `server` does the work there. */
async function setup(ctx) {
  if (typeof ctx?.session?.hook !== "function" || typeof ctx.tool?.transform !== "function") return undefined;
  const session = sessionsOf(ctx.location?.directory ?? process.cwd());
  const limits = new Map();
  const met = new Set(); // sessions whose facts were asked for
  const stop = new AbortController();
  const tell = (text) => console.error(`[hudkit] ${text}`);

  const withLimits = (model) => {
    const { context = 0, output = 0, input = 0 } = limits.get(`${model.provider}/${model.id}`) ?? {};
    return { ...model, limit: context, output, input };
  };
  const learn = async () => {
    const found = (await ctx.model?.list?.()) ?? (await ctx.catalog?.model?.list?.()) ?? [];
    for (const model of found.data ?? found) limits.set(`${model.providerID}/${model.id}`, model.limit);
  };
  const history = async (sessionID) => {
    const found = await ctx.session.context({ sessionID });
    return asFirst(sessionID, found.data ?? found);
  };
  const meet = async (sessionID) => {
    if (met.has(sessionID)) return;
    met.add(sessionID);
    const found = (await ctx.session.get?.({ sessionID })) ?? {};
    const { title, parentID } = found.data ?? found;
    session(sessionID).know({ title, parent: parentID });
  };

  async function onContext(event) {
    const { sessionID, messages } = event;
    if (!sessionID || !OWN_REQUEST.has(event.kind) || ONCE.has(messages)) return;
    ONCE.add(messages);
    const one = session(sessionID);
    const fixed = event.system.reduce((sum, part) => sum + (part.text?.length ?? 0), 0);
    for (const [name, tool] of Object.entries(event.tools ?? {})) {
      DEFINED.set(name, (tool.description?.length ?? 0) + lengthOf(tool.input));
    }
    const model = { id: event.model?.id ?? "", provider: event.model?.providerID ?? "" };
    if (!limits.has(`${model.provider}/${model.id}`)) await within(learn(), DEADLINE_MS / 2).catch(() => {});
    await within(meet(sessionID), DEADLINE_MS / 2).catch(() => {});
    one.know({ agent: event.agent });
    const told = sentOf(await within(history(sessionID), DEADLINE_MS), messages);
    fired(sessionID, CONTEXT_HOOK);
    const until = performance.now() + one.patience(told);
    const transcript = read(told);
    one.used = usedTokens(told);
    const tail = await refresh(one, told, transcript, withLimits(model), until);
    one.fixed = { system: fixed };
    const { base = "", deltas = [], pruned = [] } = one.frame ?? {};
    if (base && !event.system.some((part) => part.text?.includes(base))) event.system.push(behind(base));
    const loads = deltas.map((delta) => ({ ...delta, message: told[transcript.find(isAt(delta))?.index] }));
    put(messages, loads, pruned, tail);
  }

  async function onCompaction(event) {
    const one = session(event.sessionID);
    const all = async () => one.fill(fresh(await history(event.sessionID), one.sent));
    if (!isSilent()) await within(all(), TELLING_MS).catch(() => {});
    const text = await recordForSummary(one);
    if (text) event.system?.push(behind(text));
  }

  const onRequest = ({ sessionID, kind }) => {
    if (OWN_REQUEST.has(kind)) expectHooks(sessionID, [CONTEXT_HOOK], tell);
  };

  async function onEvent({ type, data, properties }) {
    const told = data ?? properties ?? {};
    const id = told.sessionID ?? told.info?.id;
    if (!id) return;
    const one = session(id);
    const { title, parentID } = told.info ?? told;
    if (/^session\.(created|updated|renamed)$/.test(type) && one.know({ title, parent: parentID })) one.owe({ facts: true });
    if (type === "session.compaction.ended") one.owe({ whole: true });
    const over = /^session\.(idle|execution\.(succeeded|failed|interrupted))$/.test(type);
    if (!over || !one.synced) return;
    for (const { info, parts } of (await history(id)).slice(-MAX_LIVE)) {
      if (info.role === "assistant") one.live.set(info.id, { info, parts: new Map(parts.map((part) => [part.id, part])) });
    }
    one.owe({}); // beside the next call, which must not wait for it
  }

  async function listen() {
    for await (const event of ctx.event.subscribe({ signal: stop.signal })) await onEvent(event).catch(() => {});
  }

  const answer = (router) => async (args, at) => {
    return asContent(await answerTool(session(at.sessionID), router, args));
  };
  const compact = (name) => async (_args, at) => {
    const start = () => ctx.session.compact({ sessionID: at.sessionID }).catch(() => {});
    return asContent(await answerCompact(session(at.sessionID), name, start));
  };
  const hooks = { context: onContext, compaction: onCompaction, "model.request": onRequest };
  for (const [name, hook] of Object.entries(hooks)) await ctx.session.hook(name, quietly(hook));
  await ctx.tool.transform((editor) => {
    for (const { name, description, parameters } of BAKED.tools) {
      const isCompact = name.endsWith("_compact");
      if (isCompact && typeof ctx.session.compact !== "function") continue;
      const run = isCompact ? compact : answer;
      // Without `codemode: false` a tool can only be called by a program that the model writes.
      editor.add({ name, description, input: parameters, options: { codemode: false }, execute: run(name) });
    }
  });
  await ready().catch(() => null);
  listen().catch(() => {});
  return () => stop.abort();
}

const asContent = (text) => ({ content: [{ type: "text", text }] });
const isAt = (delta) => (entry) => entry.anchor === delta.anchor && entry.role === delta.form;

/** Those of a session's messages that this request sends. */
function sentOf(told, messages) {
  const ids = new Set(messages.map(({ id }) => id));
  const results = new Set(messages.flatMap(({ content }) => content.map((part) => part.type === "tool-result" && part.id)));
  return told.filter(({ of, parts }) => ids.has(of) || parts.some((part) => results.has(part.callID)));
}

/** Put deltas and the tail into a request's messages, and stubs in place of pruned outputs. Each message that changes is
 *  replaced by a copy of its kind: the host keeps the ones that it has. */
function put(messages, loads, pruned, tail) {
  const change = (index, content) => {
    if (index < 0) return;
    const message = messages[index];
    messages[index] = Object.assign(Object.create(Object.getPrototypeOf(message)), message, { content });
  };
  for (const { call, text } of pruned) change(...withResult(messages, call, () => ({ type: "text", value: text })));
  for (const { form, text, message } of loads) {
    if (!message) continue;
    if (form === "user") {
      const index = messages.findLastIndex(({ id }) => id === message.of);
      change(index, [...messages[index].content, behind(text)]);
    } else {
      const call = message.parts.findLast((part) => part.type === "tool").callID;
      change(...withResult(messages, call, (result) => moreResult(result, text)));
    }
  }
  const last = messages.length - 1;
  if (tail && messages[last]?.role === "user") change(last, [...messages[last].content, behind(tail)]);
}

/** A text behind another one: OpenCode 2 joins the texts of a user's message without anything between them. */
const behind = (text) => ({ type: "text", text: `\n\n${text}` });

/** Where a call's result is, and the content of that message with another result. */
function withResult(messages, call, changed) {
  const isResult = (part) => part.type === "tool-result" && part.id === call;
  const index = messages.findIndex(({ content }) => content.some(isResult));
  if (index < 0) return [index];
  const content = messages[index].content.map((part) => (isResult(part) ? { ...part, result: changed(part.result) } : part));
  return [index, content];
}

/** A tool's result with a text behind it. */
function moreResult({ type, value }, text) {
  if (type === "content") return { type, value: [...value, behind(text)] };
  const before = typeof value === "string" ? value : JSON.stringify(value);
  return { type: type === "error" ? type : "text", value: `${before}\n\n${text}` };
}

export default { id: "hudkit", server: Hudkit, setup };
