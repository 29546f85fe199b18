// -- upload: what the daemon is told of messages: what it has not seen, cut to what it reads ------------------------

const MAX_TEXT = 2_000; // characters of a text or tool output
const MAX_LONG = 32_000; // of a summary or a patch
const MAX_PARTS = 400;
const INLINE_BYTES = 128 * 1024; // what a question for a frame may carry
const CHUNK_BYTES = 256 * 1024; // what goes beside it
const SKIPPED = new Set(["reasoning", "step-start", "snapshot"]);

/** Changes when a message has something new to tell; cheap, because it is made of every message at every call. */
function markOf({ info, parts }) {
  const states = parts.map((part) => (SKIPPED.has(part.type) ? "" : (part.state?.status?.[0] ?? "."))).join("");
  const tokens = info.tokens ? total(info.tokens) : 0;
  return [states, info.time?.completed ?? "", info.finish ?? "", tokens, info.error ? "error" : ""].join(":");
}

/** Whether a mark is of a finished response. */
const isFinished = (mark) => Boolean(mark?.split(":")[1]);

/** The beginning and the end of a text: paths are in the one, verdicts in the other. */
function cutText(text, most = MAX_TEXT) {
  if (text.length <= most) return text;
  const head = Math.floor(most / 3);
  const end = text.slice(text.length - most + head);
  return `${text.slice(0, head)}\n[${text.length - most} characters left out]\n${end}`;
}

function cutValue(value, depth = 5) {
  if (typeof value === "string") return cutText(value);
  if (value === null || typeof value !== "object") return value;
  if (!depth) return null;
  if (Array.isArray(value)) return value.slice(0, 200).map((each) => cutValue(each, depth - 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 100)
      .map(([key, each]) => [
        key,
        key === "patchText" && typeof each === "string" ? cutText(each, MAX_LONG) : cutValue(each, depth - 1),
      ]),
  );
}

function cutPart(part, summary) {
  const { state } = part;
  if (part.type === "text") return { ...part, text: cutText(part.text ?? "", summary ? MAX_LONG : MAX_TEXT) };
  if (part.type === "file") return cutValue({ ...part, url: /^data:/.test(part.url ?? "") ? "" : part.url });
  if (!state?.metadata) return cutValue(part);
  // What a tool shows beside its output (diffs, whole files) is not read.
  const metadata = Object.entries(state.metadata).filter(([, each]) => each === null || typeof each !== "object");
  return cutValue({ ...part, state: { ...state, metadata: Object.fromEntries(metadata), attachments: undefined } });
}

function cutMessage({ info, parts }) {
  const told = parts.filter((part) => !SKIPPED.has(part.type)).slice(-MAX_PARTS);
  const { system, tools, ...rest } = info;
  const head = cutValue(rest);
  const text = JSON.stringify({ info: head, parts: told.map((part) => cutPart(part, info.summary === true)) });
  return text.length <= CHUNK_BYTES ? text : JSON.stringify({ info: head, parts: [] });
}

/** Messages that are new or changed since they were last acknowledged, as `{id, mark, text}`; text is JSON. */
function fresh(messages, sent) {
  return messages
    .map((message) => ({ message, id: message.info.id, mark: markOf(message) }))
    .filter(({ id, mark }) => sent.get(id) !== mark)
    .map(({ message, id, mark }) => ({ id, mark, text: cutMessage(message) }));
}

/** Pieces in order, in heaps of at most `most` characters (one piece at least). */
function heaps(pieces, most) {
  const found = [];
  let room = -1;
  for (const piece of pieces) {
    if (piece.text.length > room) {
      found.push([]);
      room = most;
    }
    room -= piece.text.length;
    found.at(-1).push(piece);
  }
  return found;
}

const parsed = (pieces) => pieces.map((piece) => JSON.parse(piece.text));
