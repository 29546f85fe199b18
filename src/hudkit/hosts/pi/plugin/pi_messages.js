// -- pi's messages, in the form of OpenCode 1, and back: where blocks go in what pi sends ---------------------------

const FINISHES = { toolUse: "tool-calls" };
const ERRORS = { error: "APIError", aborted: "MessageAbortedError" }; // pi sends no response that ended so

/** A session's messages as `{info, parts}`, oldest first. `at` is the place of a message in `messages`, `results` has
 *  those of the results of its calls. `idOf` gives the id of pi's entry for a message, `isAuto` whether a compaction
 *  was pi's own idea. */
function asFirst(sessionID, messages, idOf, isAuto) {
  const converted = [];
  let response = null;
  messages.forEach((message, at) => {
    if (message.role === "toolResult") return void takeResult(response, message, at);
    const info = { id: idOf(message), sessionID, time: { created: message.timestamp } };
    const made = CONVERTED[message.role]?.(message, info, at, isAuto) ?? [];
    if (message.role === "assistant") response = made[0];
    converted.push(...made);
  });
  return converted;
}

const CONVERTED = {
  user: (message, info, at) => [{ info: asked(info), parts: contentParts(message, info), at }],
  custom: (message, info, at) => [{ info: asked(info), parts: contentParts(message, info, true), at }],
  bashExecution: (message, info) => [untold(info, `Ran ${message.command}`)],
  branchSummary: (message, info) => [untold(info, message.summary)],
  assistant: (message, info, at) => [answered(message, info, at)],
  compactionSummary: (message, info, _at, isAuto) => summarized(message, info, isAuto(message)),
};

const asked = (info) => ({ ...info, role: "user" });

/** A message of the user's that pi writes itself when it sends it: it can carry no block. */
const untold = (info, text) => ({
  info: { ...asked(info), unsent: true },
  parts: [{ id: `${info.id}.text`, type: "text", text, synthetic: true }],
});

function contentParts({ content }, { id }, synthetic = false) {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  return blocks.map((block, n) =>
    block.type === "text"
      ? { id: `${id}.${n}`, type: "text", text: block.text ?? "", ...(synthetic ? { synthetic } : {}) }
      : { id: `${id}.${n}`, type: "file", mime: block.mimeType ?? "", url: "" },
  );
}

function answered(message, info, at) {
  const { usage, stopReason, model, provider, errorMessage } = message;
  const failed = ERRORS[stopReason];
  const tokens = {
    total: usage?.totalTokens ?? 0,
    input: usage?.input ?? 0,
    output: usage?.output ?? 0,
    reasoning: usage?.reasoning ?? 0,
    cache: { read: usage?.cacheRead ?? 0, write: usage?.cacheWrite ?? 0 },
  };
  return {
    info: {
      ...info,
      role: "assistant",
      modelID: model ?? "",
      providerID: provider ?? "",
      time: { ...info.time, completed: message.timestamp + (message.durationMs ?? 0) },
      finish: failed ? "" : (FINISHES[stopReason] ?? stopReason),
      ...(failed ? { error: { name: failed, data: { message: errorMessage ?? "" } }, unsent: true } : { tokens }),
    },
    parts: (message.content ?? []).map((block, n) => blockPart(block, `${info.id}.${n}`)),
    at,
    results: new Map(),
  };
}

function blockPart(block, id) {
  if (block.type === "text") return { id, type: "text", text: block.text ?? "" };
  if (block.type !== "toolCall") return { id, type: "reasoning" };
  return { id, type: "tool", tool: block.name, callID: block.id, state: { status: "pending", input: block.arguments ?? {} } };
}

/** Put a result into the part of its call. */
function takeResult(response, message, at) {
  const part = response?.parts.find(({ callID }) => callID === message.toolCallId);
  if (!part) return;
  const text = resultText(message);
  const time = { start: response.info.time.completed, end: message.timestamp };
  const told = message.isError ? { status: "error", error: text } : { status: "completed", output: text };
  part.state = { ...part.state, ...told, time };
  response.results.set(part.callID, at);
}

const resultText = ({ content }) => (content ?? []).filter(isText).map(({ text }) => text).join("\n");
const isText = (block) => block.type === "text";

/** A compaction is one message of pi's; in OpenCode 1 it is a user's mark and the summary that answers it. */
function summarized(message, info, auto) {
  const mark = { id: `${info.id}-c`, type: "compaction", auto };
  const text = { id: `${info.id}-t`, type: "text", text: message.summary ?? "" };
  const time = { ...info.time, completed: info.time.created };
  const answer = { ...info, id: `${info.id}-s`, role: "assistant", parentID: info.id, time };
  return [
    { info: { ...asked(info), unsent: true }, parts: [mark] },
    { info: { ...answer, modelID: "", providerID: "", summary: true, finish: "stop" }, parts: [text] },
  ];
}

/** The messages of a request with the HUD: the base as the last section of the system message, deltas where they were
 *  first sent, stubs in place of pruned outputs, and the tail behind the user's message where that is the last. No
 *  message is changed: what carries something is a copy. */
function placed(messages, told, transcript, { base, deltas, pruned }, tail) {
  const sent = [...messages];
  const results = new Map(told.flatMap((message) => [...(message.results ?? [])]));
  for (const { call, text } of pruned) {
    const at = results.get(call);
    if (at !== undefined) sent[at] = { ...sent[at], content: [{ type: "text", text }] };
  }
  const entries = new Map(transcript.map((entry) => [`${entry.role} ${entry.anchor}`, told[entry.index]]));
  for (const { form, anchor, text } of deltas) {
    const message = entries.get(`${form} ${anchor}`);
    if (!message) continue;
    const at = form === "user" ? message.at : lastResult(message);
    sent[at] = form === "user" ? withBlock(sent[at], text) : withText(sent[at], text);
  }
  const last = sent.length - 1;
  if (tail && told.at(-1)?.at === last && told.at(-1).info.role === "user") sent[last] = withBlock(sent[last], tail);
  return base ? withBase(sent, base) : sent;
}

/** Where the result stands that a response's last finished call had. */
function lastResult({ parts, results }) {
  return results.get(parts.findLast(({ type }) => type === "tool").callID);
}

function withBlock(message, text) {
  const { content } = message;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  return { ...message, content: [...blocks, { type: "text", text }] };
}

/** A result with a text behind its own. */
function withText(message, text) {
  const blocks = message.content ?? [];
  const at = blocks.findLastIndex(isText);
  if (at < 0) return withBlock(message, text);
  return { ...message, content: blocks.with(at, { ...blocks[at], text: `${blocks[at].text}\n\n${text}` }) };
}

const SECTION = "hudkit";

function withBase(messages, base) {
  const [head, ...rest] = messages;
  if (head?.role !== "system") return [{ role: "system", content: base, timestamp: 0 }, ...messages];
  return [{ ...head, sections: { ...head.sections, [SECTION]: base } }, ...rest];
}

const hasBase = ([head]) => typeof head?.sections?.[SECTION] === "string";
