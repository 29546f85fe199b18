// -- hooks: what pi calls; none of them throws, and none waits longer than the deadline ------------------------------

const REQUEST_EVENT = "context_with_system"; // before each request of an agent; pi has it from 0.87 on
const PARENT_VARIABLE = "PI_HUDKIT_SESSION"; // by it a pi that pi's agent starts knows whose it is
// Once in a process: when pi loads its extensions anew, the variable names the process's own session.
const PARENT = (globalThis[Symbol.for("hudkit.pi.parent")] ??= { id: process.env[PARENT_VARIABLE] ?? "" }).id;

/** A handler that fails is as if it were not there. */
const safely = (handler) => async (event, context) => {
  try {
    return await handler(event, context);
  } catch {
    return undefined; // the agent's own call matters more
  }
};

export default function hudkit(pi) {
  const session = sessionsOf(process.cwd());
  const manual = new Set(); // ids of compactions that somebody asked for
  let wished = false; // the agent asked for a compaction when its turn ends

  const current = ({ sessionManager, cwd }) => {
    const one = session(sessionManager.getSessionId());
    one.identity.directory = cwd;
    return one;
  };
  const converted = (messages, { sessionManager }) => {
    const ids = entryIds(sessionManager.buildSessionProjection().entries);
    const idOf = (message) => ids.get(keyOfMessage(message))?.shift() ?? keyOfMessage(message);
    return asFirst(sessionManager.getSessionId(), messages, idOf, (message) => !manual.has(message.timestamp));
  };
  const all = (context) => converted(context.sessionManager.buildSessionProjection().messages, context);
  /** Tell the newest messages beside the calls. */
  const tellLast = (context) => {
    const one = current(context);
    for (const { info, parts } of all(context).slice(-MAX_LIVE)) {
      one.live.set(info.id, { info, parts: new Map(parts.map((part) => [part.id, part])) });
    }
    return one;
  };

  pi.on(
    "session_start",
    safely(async (_event, context) => {
      if (context.hasUI) screen = { log: () => {}, show: (message, level) => context.ui.notify(message, LEVELS[level] ?? level) };
      const one = current(context);
      process.env[PARENT_VARIABLE] = one.identity.session;
      one.know({ title: pi.getSessionName(), parent: PARENT === one.identity.session ? "" : PARENT });
      await ready();
    }),
  );

  pi.on(
    REQUEST_EVENT,
    safely(async ({ messages }, context) => {
      const one = current(context);
      fired(one.identity.session, REQUEST_EVENT);
      if (hasBase(messages)) return undefined; // another copy of this extension was here
      const told = converted(messages, context);
      const until = performance.now() + one.patience(told);
      const transcript = read(told);
      one.used = usedTokens(told);
      one.fixed = { system: systemSize(messages) };
      for (const tool of messages.flatMap(({ toolsAdded }) => toolsAdded ?? [])) {
        DEFINED.set(tool.name, (tool.description?.length ?? 0) + lengthOf(tool.parameters));
      }
      const tail = await refresh(one, told, transcript, modelIn(context), until);
      const { base = "", deltas = [], pruned = [] } = one.frame ?? {};
      return { messages: placed(messages, told, transcript, { base, deltas, pruned }, tail) };
    }),
  );

  pi.on(
    "session_info_changed",
    safely(({ name }, context) => {
      const one = current(context);
      if (one.know({ title: name })) one.owe({ facts: true });
    }),
  );

  pi.on(
    "session_before_compact",
    safely(async ({ preparation }, context) => {
      const one = current(context);
      const told = all(context);
      one.used = usedTokens(told);
      if (!isSilent()) await within(one.fill(fresh(told, one.sent)), TELLING_MS).catch(() => {});
      const text = await recordForSummary(one);
      if (!text) return;
      // pi has each list that is not empty summarised; they are made for this compaction only.
      const { turnPrefixMessages = [], messagesToSummarize = [] } = preparation;
      for (const list of [turnPrefixMessages, messagesToSummarize].filter(({ length }) => length)) {
        list.push({ role: "custom", customType: "hudkit", content: text, display: false, timestamp: Date.now() });
      }
    }),
  );

  pi.on(
    "session_compact",
    safely(async ({ compactionEntry, reason }, context) => {
      wished = false;
      if (reason === "manual") manual.add(Date.parse(compactionEntry.timestamp));
      const one = tellLast(context);
      for (const { info, parts } of all(context).slice(0, 2)) {
        one.live.set(info.id, { info, parts: new Map(parts.map((part) => [part.id, part])) });
      }
      await within(one.tellSummary(), isSilent() ? 0 : DEADLINE_MS).catch(() => {});
    }),
  );

  pi.on(
    "turn_end",
    safely((_event, context) => {
      expectHooks(current(context).identity.session, [REQUEST_EVENT], tellUser);
    }),
  );

  pi.on(
    "agent_settled",
    safely(async (_event, context) => {
      // A compaction may come, or the end: what was said last, and the whole HUD behind it.
      const one = tellLast(context);
      Object.assign(one.owed, { whole: true });
      await within(one.flush(), isSilent() ? 0 : DEADLINE_MS).catch(() => {});
      if (!wished) return;
      wished = false;
      setTimeout(() => context.compact({ onError: () => {} }), 0); // awaited here, it would wait for this
    }),
  );

  for (const { name, description, parameters } of BAKED.tools) {
    const run = name.endsWith("_compact")
      ? (one) => answerCompact(one, name, () => (wished = true))
      : (one, args) => answerTool(one, name, args);
    pi.registerTool({
      name,
      label: name,
      description,
      parameters,
      prepareArguments: (args) => (fits(args, parameters) ? args : { [WHOLE]: args }),
      execute: async (_id, args, _signal, _update, context) => ({
        content: [{ type: "text", text: await run(current(context), args[WHOLE] ?? args) }],
        details: undefined,
      }),
    });
  }

  for (const [name, { description, line }] of Object.entries(COMMANDS)) {
    pi.registerCommand(name, {
      description,
      handler: safely(async (args, context) => {
        const one = tellLast(context);
        await within(one.flush(), isSilent() ? 0 : DEADLINE_MS).catch(() => {});
        const text = await answerOf(line(one.identity.session, args.trim()));
        // Where nobody could see a notice, it is what the command prints.
        if (context.hasUI) context.ui.notify(text, "info");
        else console.log(text);
      }),
    });
  }
}

// -- commands: what a person types is answered by hudkit's own command line, about this session; no model sees it ---------

const words = (text) => text.split(/\s+/).filter(Boolean);
const COMMANDS = {
  hud: {
    description: "Show what the HUD of this session knows",
    line: (session, args) => ["show", session, ...words(args)],
  },
  pin: {
    description: "Keep a line in sight of the agent, through every compaction",
    line: (session, args) => (args ? ["pin", "--session", session, "--", args] : ["pin", "--help"]),
  },
  compactions: {
    description: "What each compaction of this session dropped and kept",
    line: (session, args) => ["compactions", ...words(args), "--session", session],
  },
};
const COMMAND_MS = 20_000;
const MAX_SHOWN = 50_000; // characters

function answerOf(line) {
  const env = { ...process.env, HUDKIT_DATA: BAKED.data, HUDKIT_DB: BAKED.db, NO_COLOR: "1" };
  return new Promise((resolve) => {
    let text = "";
    const child = spawn(BAKED.python, ["-P", "-E", "-m", "hudkit", ...line], { env, timeout: COMMAND_MS });
    child.stdout.on("data", (part) => (text += part));
    child.stderr.on("data", (part) => (text += part));
    child.on("error", ({ code }) => resolve(`its interpreter cannot be run (${code}); run: hudkit doctor`));
    child.on("close", () => resolve(text.trim().slice(0, MAX_SHOWN) || "nothing to show"));
  });
}

const WHOLE = "arguments";

/** Whether pi would let a call through: what it refuses it answers itself, without the call that would have been right. */
function fits(args, { properties }) {
  return Object.entries(args ?? {}).every(([name, value]) => {
    const { type, enum: allowed } = properties[name] ?? {};
    return allowed ? allowed.includes(value) : !type || [type].flat().some((one) => IS_TYPE[one]?.(value));
  });
}

const IS_TYPE = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  array: Array.isArray,
  object: (value) => value !== null && typeof value === "object" && !Array.isArray(value),
};

const LEVELS = { warn: "warning" };

const keyOfMessage = ({ role, timestamp }) => `${role}.${timestamp}`;

/** The ids of pi's entries by what their messages are known by: the messages of a request are copies without ids. */
function entryIds(entries) {
  const ids = new Map();
  for (const { sourceEntry, messages } of entries) {
    for (const message of messages) {
      const key = keyOfMessage(message);
      ids.set(key, [...(ids.get(key) ?? []), sourceEntry.id]);
    }
  }
  return ids;
}

const systemSize = (messages) =>
  messages
    .filter(({ role }) => role === "system")
    .reduce((sum, { content, sections }) => sum + lengthOf(content) + lengthOf(sections ?? ""), 0);

function modelIn({ model }) {
  const { id = "", provider = "", contextWindow = 0, maxTokens = 0 } = model ?? {};
  return { id, provider, limit: contextWindow, output: maxTokens, input: 0 };
}
