// -- transcript: which messages can carry a block, and under which anchor. A message has the form of OpenCode 1,
//    `{info, parts}`: what another host has is brought into it, so that what reads and tells messages knows one form -----

/** Role, creation time and first tool call: they outlive restart, revert and fork, which message ids do not. */
function fingerprint({ info, parts }) {
  return `${info.role}:${info.time?.created ?? 0}:${parts.find((part) => part.type === "tool")?.callID ?? ""}`;
}

/** What the host will send of a message: "user", "assistant", "tool" (ends in a tool result), "cleared" (the last
 *  result's text is gone: it can carry no block), or "" for nothing (unfinished, or a response that failed). */
function roleOf({ info, parts }) {
  if (info.unsent) return "";
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

/** Characters that the host will send of a message, about: enough to see that it changed. */
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

/** The messages that the host sends, as `{anchor, role, size, outputs, index}`, up to the last one that may carry a block. */
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

/** Tokens in use as the host last reported them; null where it has not, or not since the last compaction. */
function usedTokens(messages) {
  const isWhole = ({ tokens, summary, error }) => total(tokens) > 0 || (summary === true && !error);
  const finished = messages.filter(({ info }) => info.role === "assistant" && isWhole(info));
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
