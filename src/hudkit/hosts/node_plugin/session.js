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
    this.identity = { host: BAKED.host, session: id, directory };
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
    this.owed = {}; // facts and todos that were not acknowledged yet; `whole` asks for the whole HUD
    this.timer = null;
    this.telling = Promise.resolve();
    this.used = null;
    this.fixed = {}; // characters of the last call's system prompt
    this.model = null; // with its limits
    this.asked = null; // the transcript of the last call
    this.transcript = new ToldTranscript(); // what the daemon knows of it
    this.beside = {}; // what the host had beside it
    this.ahead = null; // {key, frame}: a frame that was asked for when a tool step ended
    this.whole = ""; // the text of the base that an epoch would begin with
    this.kept = ""; // what the session's file among the kept frames holds
    this.waited = null; // the epoch whose first frame was waited for: the id of its summary, empty before the first
  }

  /** How long the next call may wait for its frame: the first one of an epoch longer, a silent daemon's not at all. */
  patience(messages) {
    if (isSilent()) return 0;
    const epoch = summaryOf(messages);
    const first = this.waited !== epoch;
    this.waited = epoch;
    return first ? FIRST_MS : DEADLINE_MS;
  }

  /** This call's frame. Throws `NoAnswer`; the last good frame stays what it was. */
  async next(messages, transcript, model, ms) {
    const until = performance.now() + ms;
    const { ahead } = this;
    Object.assign(this, { ahead: null, asked: transcript, model, beside: beside(messages, transcript) });
    let frame = ahead && (await within(ahead.frame, ms).catch(() => null));
    if (ahead?.key !== keyOf(transcript, model, this.used) || fresh(messages, this.sent).length) frame = null;
    frame ??= await this.compose(messages, transcript, until);
    this.frame = { ...frame, summary: summaryOf(messages) };
    this.unused = false;
    setTimeout(() => keepFrame(this), 0); // beside the call
    return this.frame;
  }

  /** Go on with the last good frame, that of before a restart where there is none since; gives whether there is one.
   *  Where a compaction came between, the base and its changes do not tell what the conversation did: the whole HUD
   *  as last known stands in. */
  holdOn(messages, transcript) {
    this.recall();
    const { frame, whole } = this;
    if (!frame) return false;
    const summary = summaryOf(messages);
    if (frame.summary === summary || !whole) this.frame = heldOn(frame, transcript);
    else this.frame = { ...frame, base: whole, deltas: [], tail: "", summary };
    return true;
  }

  /** Take up what was kept on disk, where this process has no frame of the session yet. */
  recall() {
    if (this.frame) return;
    const kept = keptFrame(this.identity.session);
    if (kept) Object.assign(this, { frame: kept.frame, whole: this.whole || kept.whole });
  }

  /** All that is known of the HUD without the daemon, as one text. */
  lastText() {
    this.recall();
    if (this.whole) return this.whole;
    const { base, deltas } = this.frame ?? { base: "", deltas: [] };
    return [base, ...deltas.map((delta) => delta.text)].filter(Boolean).join("\n\n");
  }

  /** Note the whole HUD of an answer; without one, it is what it was. */
  learnWhole({ whole }) {
    if (typeof whole === "string" && whole && whole.length <= MAX_FRAME) this.whole = whole;
  }

  /** A compaction is over: its summary is told at once, and the whole HUD behind it comes with the answer. */
  tellSummary() {
    clearTimeout(this.timer);
    this.owed.whole = true;
    return this.flush();
  }

  /** A tool step has ended. The host makes the next call some milliseconds later: ask for its frame now. Where the call
   *  turns out to be another one, that frame is not used, and the daemon learns it by `have`. */
  foresee(info, withLimits) {
    const { parts } = this.live.get(info.id) ?? {};
    if (!this.asked || !this.synced || this.filling || this.ahead || !parts || info.finish !== "tool-calls") return;
    if (isSilent()) return;
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
    const { unsent, whole } = this.beside;
    const body = {
      ...this.told,
      model: this.model,
      whole,
      fixed: { ...this.fixed, tools: definitions() },
      messages: parsed(told),
      used: this.used,
      have: (unused && this.frame?.mark) || null,
      order: Math.round((performance.timeOrigin + performance.now()) * 1_000),
    };
    const send = (question) => askPatiently("/v1/frame", question, until - performance.now());
    const answer = await this.transcript.ask(body, transcript, unsent, send).finally(() => {
      if (told !== pieces) this.fill(pieces);
    });
    const frame = frameOf(answer);
    this.learnWhole(answer);
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
        const answer = await ask("/v1/events", { ...this.told, messages: parsed(heap) }, PATIENT_MS);
        this.learnWhole(answer);
        this.seen(heap, answer.ack);
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
      (message) => isToTell(message) && !isFinished(this.sent.get(message.info.id)),
    );
    const messages = done.map(({ info, parts }) => ({ info, parts: [...parts.values()] }));
    const pieces = this.synced && !this.filling ? (heaps(fresh(messages, this.sent), INLINE_BYTES)[0] ?? []) : [];
    if (!Object.keys(owed).length && !pieces.length) return;
    this.owed = {};
    try {
      const body = { ...this.told, messages: parsed(pieces) };
      if (owed.todos) body.todos = owed.todos;
      const answer = await ask("/v1/events", body, PATIENT_MS);
      this.learnWhole(answer);
      this.seen(pieces, answer.ack);
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

/** Whether a message of the stream of events is told: a finished response, and the user's mark of a compaction, which
 *  says why it is made. */
function isToTell({ info, parts }) {
  if (info.role === "user") return [...parts.values()].some(({ type }) => type === "compaction");
  return Boolean(info.time?.completed || info.error);
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

/** A frame whose messages are gone in part (compacted, reverted, cleared): what they carried is on the last one. */
function heldOn(frame, transcript) {
  const roles = new Map(transcript.map(({ anchor, role }) => [anchor, role]));
  const last = transcript.at(-1);
  const held = (delta) => !last || roles.get(delta.anchor) === delta.form;
  const deltas = frame.deltas.map((one) => (held(one) ? one : { ...one, anchor: last.anchor, form: last.role }));
  return { ...frame, deltas };
}

/** The id of the summary that a transcript begins behind: the newest one, empty where nothing was compacted. */
function summaryOf(messages) {
  return messages.findLast(({ info }) => info.role === "assistant" && info.summary === true)?.info.id ?? "";
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
