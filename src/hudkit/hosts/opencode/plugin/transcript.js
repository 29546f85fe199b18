// -- transcript: which messages can carry a block, under which anchor, and how it is put there -----------------

/** Role, creation time and first tool call: they outlive restart, revert and fork, which message ids do not. */
function fingerprint({ info, parts }) {
  return `${info.role}:${info.time?.created ?? 0}:${parts.find((part) => part.type === "tool")?.callID ?? ""}`;
}

/** What OpenCode will send of a message: "user", "assistant", "tool" (ends in a tool result), "cleared" (the last
 *  result's text is gone: it can carry no block), or "" for nothing (unfinished, or a response that failed). */
function roleOf({ info, parts }) {
  if (info.role === "user") return parts.some(isSent) ? "user" : "";
  const began = parts.some((part) => part.type !== "step-start" && part.type !== "reasoning");
  if (info.role !== "assistant" || !began) return "";
  if (info.error && info.error.name !== "MessageAbortedError") return "";
  const last = parts.findLast((part) => part.type === "tool");
  if (!last) return "assistant";
  if (outputOf(last) !== null) return "tool";
  return last.state?.time?.compacted ? "cleared" : "";
}

function isSent(part) {
  if (part.type === "text") return !part.ignored && part.text !== "";
  if (part.type === "file") return part.mime !== "text/plain" && part.mime !== "application/x-directory";
  return part.type === "compaction" || part.type === "subtask";
}

/** Where the text of a finished call is that the model will see: its state's field; null where there is none. */
function outputOf({ state }) {
  if (state?.status === "completed") return state.time?.compacted ? null : "output";
  if (state?.status !== "error") return null;
  return state.metadata?.interrupted === true && typeof state.metadata.output === "string" ? "metadata" : "error";
}

/** Characters that OpenCode will send of a message, about: enough to see that it changed. */
function sizeOf({ parts }) {
  return parts.reduce((sum, part) => {
    if (part.type === "text" && !part.ignored) return sum + (part.text?.length ?? 0);
    if (part.type !== "tool") return sum;
    const text = textOf(part);
    return sum + lengthOf(part.state?.input) + (text === null ? CLEARED : lengthOf(text));
  }, 0);
}

/** What finished calls of a message brought, as `{call, tool, size}`, size in characters. */
function outputsOf({ parts }) {
  return parts
    .filter((part) => part.type === "tool" && textOf(part))
    .map((part) => ({ call: part.callID, tool: part.tool, size: lengthOf(textOf(part)) }));
}

/** The text of a finished call that the model will see; null where there is none. */
function textOf({ state }) {
  const field = outputOf({ state });
  if (field === null) return null;
  return (field === "metadata" ? state.metadata.output : state[field]) ?? "";
}

const CLEARED = 33; // characters of the line that stands in for an output

function lengthOf(value, depth = 6) {
  if (typeof value === "string") return value.length;
  if (!value || typeof value !== "object" || !depth) return 4;
  const entries = Object.entries(value);
  return entries.reduce((sum, [key, each]) => sum + key.length + 4 + lengthOf(each, depth - 1), 0);
}

/** What is told of a message. */
function entryOf(message, role = roleOf(message), index = -1) {
  return { anchor: fingerprint(message), role, size: sizeOf(message), outputs: outputsOf(message), index };
}

/** The messages that OpenCode sends, as `{anchor, role, size, outputs, index}`, up to the last one that may carry a block. */
function read(messages) {
  const found = [];
  const known = new Map();
  messages.forEach((message, index) => {
    const role = roleOf(message);
    if (!role) return;
    const entry = entryOf(message, role, index);
    const times = (known.get(entry.anchor) ?? 0) + 1;
    known.set(entry.anchor, times);
    if (times > 1) entry.anchor += `#${times}`;
    found.push(entry);
  });
  while (found.length && !/^(user|tool)$/.test(found.at(-1).role)) found.pop();
  return found;
}

/** What the host has beside a transcript that was read: the anchors of messages that are not sent (a response that
 *  failed), and whether nothing was compacted away. */
function beside(messages, transcript) {
  const sent = new Set(transcript.map(({ anchor }) => anchor));
  const unsent = messages.map(fingerprint).filter((anchor) => !sent.has(anchor));
  return { unsent, whole: !messages.some(({ parts }) => parts.some((part) => part.type === "compaction")) };
}

/** Put one-line stubs where outputs were pruned: `pruned` is `[{call, text}]`. Changes the array, not its messages. */
function prune(messages, pruned) {
  const stubs = new Map(pruned.map(({ call, text }) => [call, text]));
  if (!stubs.size) return;
  messages.forEach(({ info, parts }, index) => {
    if (!parts.some((part) => stubs.has(part.callID) && textOf(part) !== null)) return;
    messages[index] = { info, parts: parts.map((part) => (stubs.has(part.callID) ? stubbed(part, stubs) : part)) };
  });
}

function stubbed(part, stubs) {
  const field = outputOf(part);
  if (field === null) return part;
  const text = stubs.get(part.callID);
  const state = field === "metadata" ? { metadata: { ...part.state.metadata, output: text } } : { [field]: text };
  return { ...part, state: { ...part.state, ...state } };
}

/** Put deltas where they were first sent, and the tail behind the last message where that is the user's. Changes the
 *  array, never the messages in it: each message that carries something is replaced by a copy. */
function place(messages, transcript, deltas, tail) {
  const byAnchor = new Map(transcript.map((entry) => [entry.anchor, entry]));
  const loads = new Map();
  for (const delta of deltas) {
    const entry = byAnchor.get(delta.anchor);
    if (!entry || entry.role !== delta.form) continue;
    loads.set(entry.index, [...(loads.get(entry.index) ?? []), delta]);
  }
  for (const [index, load] of loads) {
    const message = messages[index];
    messages[index] = message.info.role === "user" ? withParts(message, load) : inOutput(message, load);
  }
  const last = messages.length - 1;
  if (tail && messages[last].info.role === "user" && roleOf(messages[last])) {
    messages[last] = withParts(messages[last], [{ id: "tail", text: tail }]);
  }
}

function withParts({ info, parts }, load) {
  const added = load.map(({ id, text }) => ({
    id: `prt_hudkit_${id}`,
    sessionID: info.sessionID,
    messageID: info.id,
    type: "text",
    text,
    synthetic: true,
  }));
  return { info, parts: [...parts, ...added] };
}

function inOutput({ info, parts }, load) {
  const at = parts.findLastIndex((part) => part.type === "tool");
  const state = { ...parts[at].state };
  const field = outputOf(parts[at]);
  const more = (text) => [text ?? "", ...load.map((delta) => delta.text)].join("\n\n");
  if (field === "metadata") state.metadata = { ...state.metadata, output: more(state.metadata.output) };
  else state[field] = more(state[field]);
  return { info, parts: parts.with(at, { ...parts[at], state }) };
}

/** Tokens in use as the host last reported them; null where it has not, or not since the last compaction. */
function usedTokens(messages) {
  const finished = messages.filter(({ info }) => info.role === "assistant" && total(info.tokens) > 0);
  const latest = finished.reduce((a, b) => (a && a.info.time.created > b.info.time.created ? a : b), null);
  return latest && latest.info.summary !== true ? total(latest.info.tokens) : null;
}

function total(tokens) {
  const { input = 0, output = 0, cache = {} } = tokens ?? {};
  return tokens?.total || input + output + (cache.read ?? 0) + (cache.write ?? 0);
}

/** Provider and model of the messages' last user. */
function modelOf(messages) {
  const { info } = messages.findLast(({ info }) => info.role === "user") ?? messages.at(-1);
  return { id: info.model?.modelID ?? info.modelID ?? "", provider: info.model?.providerID ?? info.providerID ?? "" };
}
