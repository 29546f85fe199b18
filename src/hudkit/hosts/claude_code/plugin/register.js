// hudkit for Claude Code, as a mod: hooks that run in the program itself and ask hudkit's daemon.
//
// The base is a section of the system prompt, which Claude Code freezes for as long as a window lasts. What is new comes
// with prompts and tool results; Claude Code keeps it there itself. The daemon reads the session's file and believes
// that: what was lost on the way comes again with the next hook.

import { BAKED } from "./baked.js";
import { ask } from "./daemon.js";

const STEP_MS = 200;
const START_MS = 1_200; // where a window begins: in front of the session's first hook,
const COMPOSE_MS = 800; // and once more when the system prompt is made, some time later
const SUMMARY_MS = 5_000;
const TOOL_MS = 5_000;
const COMMAND_MS = 20_000;
const LAST_LINE_MS = 300;
const LARGE = ["tool_response", "tool_input", "tool_calls", "last_assistant_message", "compact_summary", "prompt"];

const LACKS_BASE = { base: true, lacks_base: true };

/** What is known of the window of the main agent. */
const own = {
  hook: {}, // the fields that every hook of the session has
  source: "startup", // how the window began
  base: "", // the section, as it was answered last
  isComposed: false, // the system prompt of this window was asked for
  isInPrompt: false, // and has the base
  window: undefined, // tokens
  tellsRemaining: true, // the host tells the model its remaining tokens,
  hidesTheirs: false, // but its lines are left out
  isSeen: false, // on a screen
  starting: Promise.resolve(),
};

export function register(on) {
  on("classic.SessionStart", sessionStarts).catch(pass);
  on("classic.UserPromptSubmit", withContext).catch(pass);
  on("classic.PostToolBatch", withContext).catch(pass);
  on("classic.SubagentStart", withContext).catch(pass);
  on("classic.SubagentStop", told).catch(pass);
  on("classic.PostCompact", told).catch(pass);
  on("classic.SessionEnd", ends).catch(pass);
  on("classic.Stop", async ($, e, next) => {
    void tell($, e, {}, START_MS, true); // nobody waits for the answer: there is time for a daemon to start
    return next(e);
  }).catch(pass);
  on("prompt.compose", composed).catch(pass);
  on("prompt.attachment", { type: "total_tokens_reminder" }, async ($, e, next) =>
    own.hidesTheirs ? { text: null } : next(e),
  ).catch(pass);
  on("session.compact", compacts).catch(pass);
  on("session.measure", async ($, e, next) => {
    own.window = e.context?.window ?? own.window;
    return next(e);
  }).catch(pass);
  on("session.start", async ($, e, next) => {
    const result = await next(e);
    await offer($);
    return result;
  }).catch(pass);
  for (const tool of BAKED.tools) {
    const name = `mcp__${BAKED.name}__${tool.name}`;
    on("tool.describe", { tool: name }, async ($, e, next) => ({ ...(await next(e)), isDeferred: false })).catch(pass);
    on("tool.call", { tool: name }, async ($, e) => ({ result: await answerTool($, tool.name, e) })).catch(
      async () => ({ result: "hudkit: the plugin met an error of its own. Nothing was recorded." }),
    );
  }
  for (const command of BAKED.commands) {
    on("command.run", { command: command.name }, async ($, e) => show($, await answerCommand($, command, e.args))).catch(
      async () => ({ text: "the plugin met an error of its own; `hudkit doctor` says more" }),
    );
  }
}

/** A hook of ours that fails is as if it were not there. */
const pass = async ($, e, next) => next(e);

// -- hooks -------------------------------------------------------------------------------------------------------

/** A window begins, or a process: the base is asked for, whatever the daemon has told before. */
async function sessionStarts($, e, next) {
  own.hook = common(e);
  own.source = e.source;
  let done = () => undefined;
  own.starting = new Promise((resolve) => (done = resolve));
  try {
    // Settings hooks of ours, which stand in where mods are switched off, look at this.
    await $.env.set("HUDKIT_MOD", "1");
    own.window = (await $.session.usage()).context.window ?? own.window;
    own.tellsRemaining = (await $.settings.read()).totalTokensReminder !== "off";
    const [result, answer] = await Promise.all([next(e), tell($, e, LACKS_BASE, START_MS, true)]);
    own.isComposed = false;
    takeBase(answer);
    return withText(result, contextOf(answer));
  } finally {
    done();
  }
}

async function composed($, e, next) {
  const [result] = await Promise.all([next(e), own.starting]);
  if (!own.isComposed && own.hook.session_id) {
    own.isSeen = (await $.session.surfaces().catch(() => [])).length > 0;
    if (!own.base) await askAgain($);
    own.isComposed = true;
    // A process that goes on sends the system prompt of the window's first one, with the base that is in it.
    own.isInPrompt = own.base !== "" || own.source === "resume";
  }
  const sections = result.sections.filter((section) => !(own.hidesTheirs && section.id === "total_tokens"));
  if (own.base) sections.push({ id: `${BAKED.name}:base`, text: own.base, scope: "session" });
  return { ...result, sections };
}

/** The daemon was only starting when the window began. */
async function askAgain($) {
  const hook = { ...own.hook, hook_event_name: "SessionStart", source: own.source };
  const answer = await tell($, hook, LACKS_BASE, COMPOSE_MS, true);
  takeBase(answer);
}

function takeBase(answer) {
  const base = answer?.hud?.base;
  if (typeof base === "string") own.base = base;
}

async function withContext($, e, next) {
  if (!e.agent_id) own.hook = common(e);
  const begins = e.hook_event_name === "SubagentStart";
  const [result, answer] = await Promise.all([next(e), tell($, e, {}, begins ? START_MS : STEP_MS)]);
  const late = e.agent_id || !own.isComposed ? undefined : answer?.hud?.base; // the system prompt was made without one
  if (!own.isComposed && !e.agent_id) takeBase(answer);
  return withText(withText(result, typeof late === "string" ? late : ""), contextOf(answer));
}

async function told($, e, next) {
  const [result] = await Promise.all([next(e), tell($, e)]);
  return result;
}

/** A session ends: what it cost is said behind what Claude Code says last, which is when its screen is gone. */
async function ends($, e, next) {
  const isLeft = own.isSeen && e.reason !== "clear" && e.reason !== "resume";
  const [result, answer] = await Promise.all([next(e), tell($, e)]);
  const line = answer?.hud?.message;
  if (isLeft && typeof line === "string" && line) {
    const write = 'printf "%s\\n" "$0" > /dev/tty';
    await $.process.run(["/bin/sh", "-c", write, line], { timeoutMs: LAST_LINE_MS }).catch(() => undefined);
  }
  return result;
}

/** The summary is told what the HUD will show after it, what it has no room for, and what is over. */
async function compacts($, e, next) {
  const hook = { ...own.hook, hook_event_name: "PreCompact", trigger: e.trigger };
  if (e.agentId) hook.agent_id = e.agentId;
  const answer = own.hook.session_id ? await tell($, hook, {}, SUMMARY_MS, true) : undefined;
  const ours = answer?.hud?.instructions;
  if (typeof ours !== "string" || !ours) return next(e);
  return next({ ...e, instructions: [e.instructions, ours].filter(Boolean).join("\n\n") });
}

/** Tell the daemon of a hook, and return its answer. */
async function tell($, e, facts = {}, ms = STEP_MS, insists = false) {
  const hook = Object.fromEntries(
    Object.entries(e).filter(([name, value]) => value !== undefined && value !== null && !LARGE.includes(name)),
  );
  const tells_remaining = own.tellsRemaining && !own.hidesTheirs;
  const hud = { v: BAKED.hookVersion, ...(e.agent_id ? {} : placeOfBase()), tells_remaining, ...facts };
  if (own.window) hud.window = own.window;
  const answer = await ask($, `/v1/hook/${BAKED.host}`, { ...hook, hud }, ms, insists);
  const message = answer?.hud?.message;
  if (typeof message === "string" && message) $.ui.log(`hudkit: ${message}`);
  if (answer?.hud) own.hidesTheirs = answer.hud.hides_remaining === true;
  return answer;
}

/** Whether this window's system prompt has the base, or will have it: in a terminal it is made behind the first prompt. */
function placeOfBase() {
  return own.isComposed ? { base: own.isInPrompt } : { base: true, lacks_base: own.base === "" };
}

function contextOf(answer) {
  const text = answer?.hookSpecificOutput?.additionalContext;
  return typeof text === "string" ? text : "";
}

/** A hook's result with a text for the model; an empty one would be a line of its own. */
function withText(result, text) {
  return text.trim() ? { ...result, additionalContext: [...(result?.additionalContext ?? []), text] } : result;
}

function common(e) {
  return { session_id: e.session_id, transcript_path: e.transcript_path, cwd: e.cwd };
}

// -- tools and commands ------------------------------------------------------------------------------------------

async function offer($) {
  const tools = BAKED.tools.map((tool) => $.tool.register(tool));
  const commands = BAKED.commands.map(({ name, description, argumentHint }) =>
    $.command.register({ name, description, ...(argumentHint ? { argumentHint } : {}) }),
  );
  await Promise.allSettled([...tools, ...commands]);
}

async function answerTool($, router, e) {
  const { tool, tool_use_id, agentId, consent, ...args } = e;
  const session = agentId ? `agent-${agentId}` : own.hook.session_id;
  const question = { host: BAKED.host, session, directory: own.hook.cwd, router, arguments: args };
  const answer = await ask($, "/v1/tool", question, TOOL_MS, true);
  if (typeof answer?.text === "string") return answer.text;
  return "hudkit: its daemon gives no answer. It is not certain that this was recorded; look before you call again.";
}

/** A command's output is read by the model with the next prompt; what is only for the person is a line of the log. */
async function show($, text) {
  if ((await $.session.surfaces()).length === 0) return { text }; // nobody sees such lines there
  for (const line of text.split("\n")) if (line.trim()) $.ui.log(line);
  return {};
}

/** What `/hud`, `/pin` and `/compactions` print: hudkit's own command line, asked about this session. */
async function answerCommand($, command, args) {
  const words = (args ?? "").trim();
  if (command.needs && !words) return `/${command.name} ${command.argumentHint}`;
  // What the session's file tells is recorded first, by a daemon that has to start where there is none.
  await tell($, { ...own.hook, hook_event_name: "Usage" }, {}, TOOL_MS, true);
  const more = command.needs ? [words] : words.split(/\s+/).filter(Boolean);
  const line = command.line.flatMap((word) =>
    word === "{session}" ? [own.hook.session_id] : word === "{args}" ? more : [word],
  );
  const env = { HUDKIT_DATA: BAKED.data, HUDKIT_DB: BAKED.db, NO_COLOR: "1" };
  const done = await $.process.run([BAKED.python, "-P", "-E", "-m", "hudkit", ...line], { env, timeoutMs: COMMAND_MS });
  return (done.stdout.trim() || done.stderr.trim() || "nothing to show").slice(0, 50_000);
}
