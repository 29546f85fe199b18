// -- session: what is remembered of a conversation: the last good frame, and what the daemon has seen -------------

const MAX_SESSIONS = 200;
const MAX_FRAME = 64 * 1024;
const MAX_STUB = 400;
const MAX_LIVE = 16; // messages that events may still change
const FLUSH_MS = 250;
const TELLING_MS = 1_000; // what a compaction may be held up, so that what came before it is told before it
const COMPACTING_MS = 10_000; // between the hook that announces a compaction and its call

class Session {
  constructor(id, directory) {
    this.identity = { host: "opencode", session: id, directory };
    this.frame = null; // the last good one: {base, deltas, tail, pruned, mark}
    this.unused = false; // whether a later one was asked for
    this.chat = false; // whether the call that is being made is the agent's own
    this.compacting = null; // {at, seen} from the announcement to the call's system prompt
    this.sent = new Map(); // message id -> mark, as acknowledged
    this.ack = null;
    this.synced = false;
    this.filling = false;
    this.facts = {};
    this.live = new Map(); // message id -> {info, parts by id}, from events
    this.owed = {}; // facts and todos that were not acknowledged yet
    this.timer = null;
    this.telling = Promise.resolve();
    this.used = null;
    this.fixed = {}; // characters of the last call's system prompt
    this.model = null; // with its limits
    this.asked = null; // the transcript of the last call
    this.beside = {}; // what the host had beside it
    this.ahead = null; // {key, frame}: a frame that was asked for when a tool step ended
  }

  /** This call's frame. Throws `NoAnswer`; the last good frame stays what it was. */
  async next(messages, transcript, model, ms) {
    const until = performance.now() + ms;
    const { ahead } = this;
    Object.assign(this, { ahead: null, asked: transcript, model, beside: beside(messages, transcript) });
    let frame = ahead && (await within(ahead.frame, ms).catch(() => null));
    if (ahead?.key !== keyOf(transcript, model, this.used) || fresh(messages, this.sent).length) frame = null;
    this.frame = frame ?? (await this.compose(messages, transcript, until));
    this.unused = false;
    return this.frame;
  }

  /** A tool step has ended. OpenCode makes the next call some milliseconds later: ask for its frame now. Where the call
   *  turns out to be another one, that frame is not used, and the daemon learns it by `have`. */
  foresee(info, withLimits) {
    const { parts } = this.live.get(info.id) ?? {};
    if (!this.asked || !this.synced || this.filling || this.ahead || !parts || info.finish !== "tool-calls") return;
    const message = { info, parts: [...parts.values()] };
    const entry = entryOf(message);
    const used = total(info.tokens);
    if (entry.role !== "tool" || !used || this.asked.some(({ anchor }) => anchor === entry.anchor)) return;
    const transcript = [...this.asked, entry];
    Object.assign(this, { used, model: withLimits(this.model) });
    const frame = this.compose([message], transcript, performance.now() + DEADLINE_MS);
    this.ahead = { key: keyOf(transcript, this.model, used), frame };
    frame.catch(() => {});
  }

  /** Ask for a frame, and tell what is new. What it takes to find out what is new counts, so `until` is a time. */
  async compose(messages, transcript, until) {
    const { unused } = this;
    this.unused = true;
    const pieces = this.filling ? [] : fresh(messages, this.sent);
    const size = pieces.reduce((sum, piece) => sum + piece.text.length, 0);
    const told = size <= INLINE_BYTES ? pieces : [];
    const answer = await ask(
      "/v1/frame",
      {
        ...this.told,
        model: this.model,
        transcript: transcript.map(({ index, ...told }) => told),
        ...this.beside,
        fixed: { ...this.fixed, tools: definitions() },
        messages: parsed(told),
        used: this.used,
        have: (unused && this.frame?.mark) || null,
        order: Math.round((performance.timeOrigin + performance.now()) * 1_000),
      },
      until - performance.now(),
    ).finally(() => {
      if (told !== pieces) this.fill(pieces);
    });
    const frame = frameOf(answer);
    this.seen(told, answer.ack);
    this.synced = !this.filling && told === pieces;
    return frame;
  }

  /** Tell what is known before a compaction: what is owed; all of a session of which nothing was told yet (a fork). */
  async tellAll(history) {
    if (this.sent.size || this.filling) return void (await this.flush());
    const { data } = await history();
    if (Array.isArray(data)) await this.fill(fresh(data, this.sent));
  }

  /** Tell a long history beside the calls, in order. */
  async fill(pieces) {
    if (this.filling) return;
    this.filling = true;
    try {
      for (const heap of heaps(pieces, CHUNK_BYTES)) {
        const { ack } = await ask("/v1/events", { ...this.told, messages: parsed(heap) }, PATIENT_MS);
        this.seen(heap, ack);
      }
    } catch {
      // what was not acknowledged is fresh at the next call
    } finally {
      this.filling = false;
    }
  }

  /** Note what was acknowledged. An empty acknowledgement says that the log lost its end: tell everything again. */
  seen(pieces, ack) {
    if (!ack) this.sent.clear();
    else for (const { id, mark } of pieces) this.sent.set(id, mark);
    this.ack = ack || null;
  }

  get told() {
    return { ...this.identity, facts: this.facts, seen: this.ack };
  }

  /** Note what an event said of the session; it is told soon, with what else comes until then. */
  owe(what) {
    Object.assign(this.owed, what);
    this.timer ??= setTimeout(() => this.flush(), FLUSH_MS);
    this.timer?.unref?.();
  }

  /** Tell what is owed, after what is being told. */
  flush() {
    this.timer = null;
    this.telling = this.telling.then(() => this.tell());
    return this.telling;
  }

  async tell() {
    const owed = this.owed;
    const done = [...this.live.values()].filter(
      ({ info }) => (info.time?.completed || info.error) && !isFinished(this.sent.get(info.id)),
    );
    const messages = done.map(({ info, parts }) => ({ info, parts: [...parts.values()] }));
    const pieces = this.synced && !this.filling ? (heaps(fresh(messages, this.sent), INLINE_BYTES)[0] ?? []) : [];
    if (!Object.keys(owed).length && !pieces.length) return;
    this.owed = {};
    try {
      const body = { ...this.told, messages: parsed(pieces) };
      if (owed.todos) body.todos = owed.todos;
      const { ack } = await ask("/v1/events", body, PATIENT_MS);
      this.seen(pieces, ack);
      for (const { id } of pieces) this.live.delete(id);
    } catch {
      this.owed = { ...owed, ...this.owed };
    }
  }

  know(facts) {
    const filled = Object.entries(facts).filter(([name, value]) => value && this.facts[name] !== value);
    this.facts = { ...this.facts, ...Object.fromEntries(filled) };
    return filled.length > 0;
  }

  /** Keep a message of the stream of events, the newest few. */
  hear(info, part) {
    const id = info?.id ?? part.messageID;
    const entry = this.live.get(id) ?? { info: { id, role: "assistant" }, parts: new Map() };
    if (info) entry.info = info;
    if (part) entry.parts.set(part.id, part);
    this.live.set(id, entry);
    if (this.live.size > MAX_LIVE) this.live.delete(this.live.keys().next().value);
  }
}

/** What a frame is for: the same transcript and model at the same usage need the same one. */
function keyOf(transcript, model, used) {
  return JSON.stringify([used, model, transcript.map(({ anchor, role }) => `${role} ${anchor}`)]);
}

/** A frame out of an answer; throws `NoAnswer` where it is none. */
function frameOf({ base, deltas, tail, pruned, ack, mark }) {
  const text = (value) => typeof value === "string";
  const delta = (one) => one && text(one.id) && text(one.anchor) && text(one.text) && /^(tool|user)$/.test(one.form);
  const stub = (one) => one && text(one.call) && text(one.text) && one.text.length <= MAX_STUB;
  const lists = Array.isArray(deltas) && deltas.every(delta) && Array.isArray(pruned) && pruned.every(stub);
  const whole = [base, tail, ack, mark].every(text) && lists;
  if (!whole || deltas.reduce((sum, one) => sum + one.text.length, base.length + tail.length) > MAX_FRAME) {
    throw new NoAnswer("an answer that is no frame");
  }
  return { base, deltas, tail, pruned, mark };
}

/** The sessions of one plugin, the most recent ones. */
function sessionsOf(directory) {
  const known = new Map();
  return (id) => {
    const found = known.get(id) ?? new Session(id, directory);
    known.delete(id);
    known.set(id, found);
    if (known.size > MAX_SESSIONS) known.delete(known.keys().next().value);
    return found;
  };
}
