// -- question: what of a transcript a question tells: what changed since the last one that was answered ---------------

/** The transcript that the daemon knows, by the order of the question that told it. */
class ToldTranscript {
  constructor() {
    this.known = null; // {order, entries, unsent}
  }

  /** Ask for a frame with `send(body)`. Where the daemon does not know what it was told (it was started anew), all of
   *  the transcript is told. */
  async ask(body, transcript, unsent, send) {
    const entries = transcript.map(({ index, ...told }) => told);
    const now = { order: body.order, entries, unsent };
    let answer;
    try {
      answer = await send({ ...body, ...this.since(now) });
    } catch (error) {
      if (error.code !== "transcript" || !this.known) throw error;
      this.known = null;
      answer = await send({ ...body, ...this.since(now) });
    }
    if (now.order > (this.known?.order ?? -1)) this.known = now;
    return answer;
  }

  since({ entries, unsent }) {
    const { known } = this;
    if (!known) return { transcript: entries, unsent };
    const changes = changesOf(known.entries, entries, isSameEntry).map(({ index, removed, added }) => ({
      index,
      removed,
      entries: added,
    }));
    const others = changesOf(known.unsent, unsent, (a, b) => a === b).map(({ index, removed, added }) => ({
      index,
      removed,
      anchors: added,
    }));
    return { since: known.order, changes, unsent_changes: others };
  }
}

/** What changed from one list to the next, as `{index, removed, added}`: items that changed in their place, then all from
 *  the first that is another one. */
function changesOf(before, now, isSame) {
  const changes = [];
  const shared = Math.min(before.length, now.length);
  let index = 0;
  for (; index < shared; index += 1) {
    if (isSame(before[index], now[index])) continue;
    if (!before[index].anchor || before[index].anchor !== now[index].anchor) break;
    changes.push({ index, removed: 1, added: [now[index]] });
  }
  if (index < before.length || index < now.length) {
    changes.push({ index, removed: before.length - index, added: now.slice(index) });
  }
  return changes;
}

function isSameEntry(a, b) {
  if (a.anchor !== b.anchor || a.role !== b.role || a.size !== b.size || a.outputs.length !== b.outputs.length) {
    return false;
  }
  return a.outputs.every(({ call, tool, size }, n) => {
    const other = b.outputs[n];
    return call === other.call && tool === other.tool && size === other.size;
  });
}
