// A stand-in for OpenCode 2, made from its published documentation and types: a session loop, its hooks, its tools.
// It loads a plugin, talks to a chat-completions server, and keeps its sessions in a file. Commands come on stdin, one
// JSON object a line, and are answered on stdout in order. `absent` names hooks that it does not call (to see what
// becomes of a plugin whose hooks a new version has renamed).
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const { plugin, url, directory, store, limit, absent = [], lacking = [] } = JSON.parse(process.argv[2]);
const [context, output] = limit;
const MODEL = { providerID: "fake", id: "m" };
const SUMMARY = "Output exactly the Markdown structure of the template: Objective, Work State, Next Move.";
const sessions = existsSync(store) ? JSON.parse(readFileSync(store, "utf8")) : {};
const hooks = {}; // "session.context" -> callbacks, in the order of their registration
const listeners = new Set();
const fired = [];
const logged = [];
console.error = (...said) => logged.push(said.join(" "));

let clock = Math.max(Date.now(), ...Object.values(sessions).map((one) => one.updated + 1));
const now = () => (clock += 1);
const id = (kind) => `${kind}_${now().toString(36)}${Math.random().toString(36).slice(2, 8)}`;
const save = () => writeFileSync(store, JSON.stringify(sessions));

/** A message for a model; the host keeps instances of this class, and refuses others. */
class Message {
  constructor({ id, role, content }) {
    Object.assign(this, id ? { id, role, content } : { role, content });
  }
}

async function trigger(domain, name, event) {
  if (absent.includes(`${domain}.${name}`)) return event;
  fired.push(`${domain}.${name}`);
  for (const callback of hooks[`${domain}.${name}`] ?? []) await callback(event); // a failure fails the operation
  return event;
}

const hook = (domain) => async (name, callback) => {
  (hooks[`${domain}.${name}`] ??= []).push(callback);
  return { dispose: async () => {} };
};

function emit(type, data) {
  for (const listener of listeners) listener({ id: id("evt"), type, created: now(), data });
}

async function* subscribe({ signal } = {}) {
  const waiting = [];
  let wake = () => {};
  const listener = (event) => {
    waiting.push(event);
    wake();
  };
  listeners.add(listener);
  signal?.addEventListener("abort", () => listener(null));
  for (;;) {
    while (!waiting.length) await new Promise((done) => (wake = done));
    const event = waiting.shift();
    if (event === null) return;
    yield event;
  }
}

// -- tools ----------------------------------------------------------------------------------------------------------

const object = (...names) => ({ type: "object", properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])) });
const text = (said) => ({ content: [{ type: "text", text: said }] });
const at = (path) => resolve(directory, path);
const tools = new Map();
const editor = {
  list: () => [...tools.values()],
  get: (name) => tools.get(name),
  add: (tool) => tools.set(tool.name, tool),
  remove: (name) => tools.delete(name),
};
const direct = { codemode: false };
const builtin = (name, input, execute) => editor.add({ name, description: `The tool ${name}.`, input, execute, options: direct });

builtin("read", object("path"), async ({ path }) => text(readFileSync(at(path), "utf8")));
builtin("write", object("path", "content"), async ({ path, content }) => {
  writeFileSync(at(path), content);
  return text(`Wrote ${path}.`);
});
builtin("edit", object("path", "oldString", "newString"), async ({ path, oldString, newString }) => {
  const before = readFileSync(at(path), "utf8");
  if (!before.includes(oldString)) throw new Error("oldString is not in the file");
  writeFileSync(at(path), before.replace(oldString, newString));
  return text(`Edited ${path}.`);
});
builtin("shell", object("command"), async ({ command }) => {
  const done = spawnSync("sh", ["-c", command], { cwd: directory, encoding: "utf8" });
  const notice = done.status ? `\nExited with code ${done.status}` : "";
  return { ...text(`${done.stdout}${done.stderr}${notice}` || "(no output)"), metadata: { exit: done.status } };
});
builtin("subagent", object("prompt"), async ({ prompt }, { sessionID }) => {
  const child = open({ title: "a sub-agent", parentID: sessionID });
  return { ...text(await say(child, prompt)), metadata: { sessionID: child } };
});

/** Run a call and give the state that its part of the message then has. */
async function execute(call, at) {
  let input = {};
  try {
    input = JSON.parse(call.function.arguments);
  } catch {
    // the model wrote no JSON
  }
  const known = { tool: call.function.name, ...at, id: call.id, input };
  await trigger("tool", "execute.before", known);
  const after = { ...known };
  try {
    const { execute: run } = tools.get(known.tool) ?? {};
    if (!run) throw new Error(`Unknown tool: ${known.tool}`);
    const given = { ...at, id: call.id, signal: new AbortController().signal, progress: async () => {} };
    Object.assign(after, { status: "completed", result: await run(known.input, given) });
  } catch (error) {
    Object.assign(after, { status: "error", error: { type: "tool.error", message: error.message } });
  }
  await trigger("tool", "execute.after", after);
  if (after.status === "error") return { status: "error", input, error: after.error };
  return { status: "completed", input, content: after.result.content, metadata: after.result.metadata };
}

// -- messages -------------------------------------------------------------------------------------------------------

/** What of a session is in the model's context: from the newest finished compaction on. */
function active({ messages }) {
  const start = messages.findLastIndex(({ type, status }) => type === "compaction" && status === "completed");
  return messages.slice(Math.max(0, start));
}

function toModel(message) {
  if (message.type === "user") return [new Message({ id: message.id, role: "user", content: [{ type: "text", text: message.text }] })];
  if (message.type === "compaction") {
    const { summary, recent } = message;
    const said = `<conversation-checkpoint>\n<summary>\n${summary}\n</summary>\n<recent-context>\n${recent}\n</recent-context>\n</conversation-checkpoint>`;
    return [new Message({ id: message.id, role: "user", content: [{ type: "text", text: said }] })];
  }
  const calls = message.content.filter(({ type }) => type === "tool");
  const content = message.content.map((part) =>
    part.type === "tool" ? { type: "tool-call", id: part.id, name: part.name, input: part.state.input } : { type: "text", text: part.text },
  );
  return [
    new Message({ id: message.id, role: "assistant", content }),
    ...calls.map(({ id, name, state }) => {
      const result = state.status === "error" ? { type: "error", value: state.error.message } : resultOf(state.content);
      return new Message({ role: "tool", content: [{ type: "tool-result", id, name, result }] });
    }),
  ];
}

const resultOf = (content) => (content.length === 1 ? { type: "text", value: content[0].text } : { type: "content", value: content });
const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function onWire({ role, content }) {
  const said = content.filter(({ type }) => type === "text").map((part) => part.text).join("\n");
  if (role === "tool") {
    const [{ id, result }] = content;
    const value = result.type === "content" ? result.value.map((part) => part.text).join("\n") : plain(result.value);
    return { role, tool_call_id: id, content: value };
  }
  if (role === "user") return { role, content: content.map((part) => part.text).join("") }; // as OpenCode 2 does
  const calls = content.filter(({ type }) => type === "tool-call");
  const tool_calls = calls.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input) } }));
  return calls.length ? { role, content: said, tool_calls } : { role, content: said };
}

// -- requests -------------------------------------------------------------------------------------------------------

async function request(event) {
  await trigger("session", "model.request", { sessionID: event.sessionID, agent: event.agent, model: MODEL, kind: event.kind, headers: {} });
  if (!event.messages.every((message) => message instanceof Message)) throw new Error("a message that is none");
  const system = event.system.map((part) => part.text).join("\n");
  const offered = Object.entries(event.tools).map(([name, tool]) => ({
    type: "function",
    function: { name, description: tool.description, parameters: tool.input },
  }));
  const body = { model: "m", messages: [{ role: "system", content: system }, ...event.messages.map(onWire)], tools: offered };
  const answer = await fetch(`${url}/chat/completions`, { method: "POST", body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`status ${answer.status}: ${await answer.text()}`);
  const { choices, usage } = await answer.json();
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const cache = { read: cached, write: 0 };
  const tokens = { input: usage.prompt_tokens - cached, output: usage.completion_tokens, reasoning: 0, cache };
  return { message: choices[0].message, finish: choices[0].finish_reason, tokens };
}

const instructions = () => (existsSync(at("AGENTS.md")) ? readFileSync(at("AGENTS.md"), "utf8") : "");

function prepared(sessionID, kind) {
  const system = ["You are an agent that codes.", instructions()].filter(Boolean).map((said) => ({ type: "text", text: said }));
  const messages = active(sessions[sessionID]).flatMap(toModel);
  return { sessionID, agent: "build", model: MODEL, kind, system, messages, options: {}, tools: {} };
}

async function compact(sessionID, reason) {
  const event = prepared(sessionID, "compaction");
  const users = active(sessions[sessionID]).filter(({ type }) => type === "user");
  event.system.push({ type: "text", text: SUMMARY });
  event.messages.push(new Message({ role: "user", content: [{ type: "text", text: "Summarize the conversation." }] }));
  await trigger("session", "compaction", event);
  const summary = event.result?.summary ?? (await request(event)).message.content;
  const recent = users.length ? `[User]: ${users.at(-1).text}` : "";
  sessions[sessionID].messages.push({ id: id("msg"), type: "compaction", status: "completed", reason, summary, recent, time: { created: now() } });
  emit("session.compaction.ended", { sessionID, reason, text: summary });
}

const isFull = (sessionID) => {
  const last = active(sessions[sessionID]).findLast(({ type }) => type === "assistant");
  const { input = 0, output: given = 0, cache } = last?.tokens ?? {};
  return input + given + (cache?.read ?? 0) + (cache?.write ?? 0) >= context - output;
};

/** One step of the agent: a request, and the tools that its answer calls. Gives the text of a last answer, else null. */
async function step(sessionID) {
  if (isFull(sessionID)) await compact(sessionID, "auto");
  const event = prepared(sessionID, "primary");
  for (const tool of tools.values()) {
    if (tool.options?.codemode === false) event.tools[tool.name] = { description: tool.description, input: tool.input };
  }
  await trigger("session", "context", event);
  const { message, finish, tokens } = await request(event);
  const answer = { id: id("msg"), type: "assistant", agent: "build", model: MODEL, content: [], time: { created: now() } };
  sessions[sessionID].messages.push(answer);
  if (message.content) answer.content.push({ type: "text", text: message.content });
  for (const call of message.tool_calls ?? []) {
    const part = { type: "tool", id: call.id, name: call.function.name, state: { status: "running", input: {} }, time: { created: now() } };
    answer.content.push(part);
    part.state = await execute(call, { sessionID, agent: "build", messageID: answer.id });
    part.time.completed = now();
  }
  Object.assign(answer, { finish: finish === "tool_calls" ? "tool-calls" : "stop", tokens });
  answer.time.completed = now();
  emit("session.step.ended", { sessionID, assistantMessageID: answer.id, tokens });
  return message.tool_calls?.length ? null : message.content;
}

async function say(sessionID, said) {
  const prompt = { sessionID, messageID: id("msg"), prompt: { text: said }, delivery: "steer" };
  await trigger("session", "prompt", prompt);
  sessions[sessionID].messages.push({ id: prompt.messageID, type: "user", text: prompt.prompt.text, time: { created: now() } });
  emit("session.execution.started", { sessionID });
  let answer = null;
  while (answer === null) answer = await step(sessionID);
  sessions[sessionID].updated = now();
  save();
  emit("session.execution.succeeded", { sessionID });
  if (wanted.delete(sessionID)) await compact(sessionID, "manual");
  save();
  return answer;
}

const wanted = new Set(); // sessions of which a tool asked for a compaction

function open({ title, parentID }) {
  const sessionID = id("ses");
  sessions[sessionID] = { title, parentID, messages: [], updated: now() };
  emit("session.created", { sessionID, title, parentID });
  save();
  return sessionID;
}

// -- the plugin's context, and the commands ----------------------------------------------------------------------------

const ctx = {
  location: { directory },
  options: {},
  session: {
    hook: hook("session"),
    get: async ({ sessionID }) => ({ id: sessionID, title: sessions[sessionID].title, parentID: sessions[sessionID].parentID }),
    context: async ({ sessionID }) => structuredClone(active(sessions[sessionID])),
    compact: async ({ sessionID }) => void wanted.add(sessionID),
  },
  tool: { hook: hook("tool"), transform: async (callback) => callback(editor), reload: async () => {}, list: async () => editor.list() },
  model: { list: async () => [{ ...MODEL, limit: { context, output } }] },
  event: { subscribe },
};
for (const name of lacking) delete ctx.session[name];

const cleanup = plugin ? await (await import(plugin)).default.setup(ctx) : undefined;
const commands = {
  open: ({ title }) => open({ title }),
  say: ({ session, text: said }) => say(session, said),
  revert: ({ session }) => {
    const { messages } = sessions[session];
    messages.splice(messages.findLastIndex(({ type }) => type === "user"));
    emit("session.revert.committed", { sessionID: session });
    save();
  },
  compact: ({ session }) => compact(session, "manual"),
  seen: () => ({ fired, logged, registered: Object.keys(hooks) }),
};

process.stdout.write(`${JSON.stringify({ ready: typeof cleanup })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    process.stdout.write(`${JSON.stringify({ answer: (await commands[command.do](command)) ?? null })}\n`);
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ error: `${error.stack}` })}\n`);
  }
}
await cleanup?.();
process.exit(0);
