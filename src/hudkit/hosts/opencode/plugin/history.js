// -- history: messages of OpenCode 2, as OpenCode 1 has them: what reads and tells messages knows one form ----------

const TOOL_NAMES = { shell: "bash", subagent: "task" }; // what OpenCode 2 calls them, and OpenCode 1
const RUNNING = { streaming: "pending", running: "running" };

/** A session's messages as `{info, parts, of}`, oldest first; `of` is the id of the message that the model is sent. */
const asFirst = (sessionID, messages) =>
  messages.flatMap((message) => {
    const info = { id: message.id, sessionID, time: { created: message.time?.created ?? 0 } };
    const made = (CONVERTED[message.type] ?? (() => []))(message, info);
    return made.map((each) => ({ ...each, of: message.id }));
  });

const CONVERTED = {
  user: (message, info) => [{ info: asked(info), parts: [said(message), ...attached(message)] }],
  synthetic: (message, info) => [{ info: asked(info), parts: [{ ...said(message), synthetic: true }] }],
  skill: (message, info) => [{ info: asked(info), parts: [{ ...said(message), synthetic: true }] }],
  shell: (message, info) => [
    { info: asked(info), parts: [{ ...said({ id: message.id, text: message.command ?? "" }), synthetic: true }] },
  ],
  assistant: (message, info) => [{ info: answered(message, info), parts: (message.content ?? []).map(partOf(message)) }],
  compaction: (message, info) => (message.status === "completed" ? summarized(message, info) : []),
};

const asked = (info) => ({ ...info, role: "user" });
const said = ({ id, text }) => ({ id: `${id}.text`, type: "text", text: text ?? "" });

function attached({ id, files }) {
  return (files ?? []).map(({ mime, name, source }, n) => {
    const url = source?.type === "uri" ? source.uri : "";
    return { id: `${id}.file${n}`, type: "file", mime, filename: name, url };
  });
}

function answered(message, info) {
  const { model, tokens, finish, error, agent, cost } = message;
  const time = { ...info.time, completed: message.time?.completed };
  const names = { agent, modelID: model?.id ?? "", providerID: model?.providerID ?? "" };
  return { ...info, ...names, role: "assistant", time, tokens, finish, error: error && { name: error.type }, cost };
}

const partOf = (message) => (item, n) => {
  const id = `${message.id}.${n}`;
  if (item.type === "text") return { id, type: "text", text: item.text };
  if (item.type !== "tool") return { id, type: item.type };
  return { id, type: "tool", tool: TOOL_NAMES[item.name] ?? item.name, callID: item.id, state: stateOf(item) };
};

function stateOf({ state, time }) {
  const status = RUNNING[state.status] ?? state.status;
  const input = typeof state.input === "object" ? state.input : {};
  const metadata = { ...state.metadata };
  if (metadata.sessionID) metadata.sessionId = metadata.sessionID;
  const when = { start: time?.ran ?? time?.created ?? 0, end: time?.completed ?? 0 };
  const text = textIn(state.content);
  if (status === "error") return { status, input, metadata, time: when, error: text || state.error?.message || "failed" };
  return { status, input, metadata, time: when, output: text };
}

const textIn = (content) =>
  (content ?? [])
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("\n");

/** A compaction is one message of OpenCode 2; in OpenCode 1 it is a user's mark and the summary that answers it. */
function summarized(message, info) {
  const mark = { id: `${message.id}.mark`, type: "compaction", auto: message.reason === "auto" };
  const time = { ...info.time, completed: info.time.created };
  const names = { modelID: message.model?.id ?? "", providerID: message.model?.providerID ?? "" };
  const answer = { ...info, ...names, id: `${info.id}.summary`, role: "assistant", parentID: info.id, time };
  const text = { id: `${message.id}.text`, type: "text", text: message.summary ?? "" };
  return [
    { info: asked(info), parts: [mark] },
    { info: { ...answer, summary: true, finish: "stop" }, parts: [text] },
  ];
}
