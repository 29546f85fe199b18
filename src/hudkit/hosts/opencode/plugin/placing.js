// -- placing: stubs, deltas and the tail in the messages of OpenCode 1 ----------------------------------------------

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
