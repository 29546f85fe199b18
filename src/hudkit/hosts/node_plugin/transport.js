// -- transport: one question over the daemon's unix socket, within a deadline --------------------------------------

const DEADLINE_MS = 200; // what an LLM call may be held up
const FIRST_MS = 2_000; // once where an epoch begins: without this frame the agent would miss everything
const SUMMARY_MS = 4_000; // before a summary, which takes longer anyway and is all that stays of the conversation
const PATIENT_MS = 5_000; // for what no LLM call waits for
const SILENT_AFTER = 2; // questions without an answer in a row; then nobody waits until a greeting is answered
const SILENT_TOOL_MS = 500; // what a tool waits even then: its answer may still come
const GREETING_MS = 2_000;
const GREET_EVERY_MS = 500;
const START_EVERY_MS = 10_000; // where the one that was started last has not answered yet
const AGAIN_MS = 1_000; // where it has, and is gone
const MAX_ANSWER = 1024 * 1024; // bytes; what is longer is not read
const READY_MS = 1_500; // once, while the host itself starts
const STARTING_MS = 50; // between two looks whether a daemon that was started is there
const TOO_LONG = "an answer that is too long";
const KEPT_ENV = /^(HOME|USER|LOGNAME|PATH|LANG|LC_.*|TZ|TMPDIR|XDG_.*|HUDKIT_.*|PI_CODING_AGENT_.*DIR|LD_LIBRARY_PATH|DYLD_.*)$/;

let lastStart = -Infinity;
let newest = null; // the process that was started last
let served = false; // whether a question was answered since
let failure = ""; // why the daemon that was started last did not stay
let comingUntil = 0; // until when one that was started may still come: 0 once it has answered or ended
let missed = 0; // questions in a row that nobody answered in time
let greeting = false; // whether somebody waits for the answer to a greeting

/** Why there is no answer. `sent` is false where the daemon cannot have seen the question; `late` is true where it may
 *  still answer; `certain` where it was not carried out; `lost` where the connection broke. */
class NoAnswer extends Error {
  constructor(reason, sent = true, late = false, certain = !sent) {
    super(reason);
    Object.assign(this, { sent, late, certain, lost: false });
  }
}

let screen = null; // how the user is told: `log(message, level)` writes to the host's own log, `show(message, level)` on its screen
const SAID = new Set();

/** Write a line to the host's own log, once. */
function note(message, level = "info") {
  if (SAID.has(message)) return false;
  SAID.add(message);
  screen?.log(message, level);
  return true;
}

/** Tell the user, once: in the log, and on the screen where there is one. */
function tellUser(message, level = "warn") {
  if (!note(message, level)) return;
  screen?.show(message, level);
}

const MAX_SOCKET = 100; // bytes of a socket's path, as the daemon has it

const SOCKET = socketPlace();

/** Where the daemon is reached: beside its data, or, where nothing can be written there, among the temporary files. */
function socketPlace() {
  if (!existsSync(BAKED.plugin)) return BAKED.socket;
  try {
    mkdirSync(dirname(BAKED.socket), { recursive: true, mode: 0o700 });
    accessSync(dirname(BAKED.socket), constants.W_OK);
    return BAKED.socket;
  } catch {
    const spare = `hudkit-${process.getuid()}/${BAKED.spare}`;
    const path = `${tmpdir()}/${spare}`;
    return Buffer.byteLength(path) <= MAX_SOCKET ? path : `/tmp/${spare}`;
  }
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** POST a body, and give the answer's object. Throws `NoAnswer` and nothing else, at the latest after `ms`. A daemon
 *  that is not there is started for the next question; nobody waits for it. */
async function ask(path, body, ms = DEADLINE_MS) {
  try {
    const answer = await exchange(path, body, ms);
    served = true;
    failure = "";
    comingUntil = 0;
    missed = 0;
    return answer;
  } catch (error) {
    if (!error.sent) startDaemon();
    if (!error.late) missed = 0;
    else if (ms > 0 && ++missed >= SILENT_AFTER) greet();
    throw error;
  }
}

/** As `ask`, for what is worth waiting for: where a daemon is just starting, it is asked again until `ms` are over. What
 *  only `reads` is asked once more where the connection broke, as when the daemon is killed. */
async function askPatiently(path, body, ms, reads = false) {
  const until = performance.now() + ms;
  for (let asked = 1; ; asked += 1) {
    try {
      return await ask(path, body, until - performance.now());
    } catch (error) {
      const isWorthIt = error.sent ? error.lost && reads && asked === 1 : isComing();
      if (!isWorthIt || until - performance.now() < STARTING_MS) throw error;
      await sleep(STARTING_MS);
    }
  }
}

/** Whether the daemon is silent: it did not answer in time, and no greeting since. Then no call waits for it. */
const isSilent = () => missed >= SILENT_AFTER;

/** Greet a silent daemon, beside the calls, until it answers. One that does not answer at all may hang for good: the
 *  daemon that is started then takes its place once it is sure. */
async function greet() {
  if (greeting) return;
  greeting = true;
  while (isSilent() && existsSync(BAKED.plugin)) {
    try {
      await exchange("/v1/hello", {}, GREETING_MS);
      missed = 0;
    } catch (error) {
      if (error.late || !error.sent) startDaemon();
      await sleep(GREET_EVERY_MS);
    }
  }
  greeting = false;
}

/** A promise's value, or `NoAnswer` after `ms`; where these have passed already, what is there at once. */
async function within(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => {
    const left = Math.max(0, Math.round(ms));
    timer = setTimeout(() => reject(new NoAnswer(`no answer within ${left} ms`, true, true)), left);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether nobody else can listen on the socket: its directory is the user's own, and only he can write it. One in
 *  `/tmp` is gone when the machine was started again, and anybody may make it before our daemon does. */
function isOwnPlace() {
  try {
    const folder = lstatSync(dirname(BAKED.socket));
    return folder.isDirectory() && folder.uid === process.getuid() && (folder.mode & 0o022) === 0;
  } catch {
    return true; // there is none: nobody listens
  }
}

async function exchange(path, body, ms) {
  if (ms <= 0) throw new NoAnswer("no answer within the deadline", true, true);
  if (!isOwnPlace()) throw new NoAnswer("others can write the directory of the socket");
  const until = performance.now() + ms; // writing the question counts: that of a long conversation takes its time
  const text = JSON.stringify(body);
  const left = () => until - performance.now();
  const headers = {
    "content-type": "application/json",
    "hudkit-protocol": String(BAKED.protocol),
    "hudkit-version": BAKED.version,
    "hudkit-deadline-ms": String(Math.max(1, Math.round(left()))),
  };
  const gone = new AbortController();
  try {
    const send = typeof Bun === "undefined" ? overNode : overBun;
    const work = send(path, text, headers, gone.signal);
    return understood(await within(work, left()));
  } catch (error) {
    if (error instanceof NoAnswer) throw error;
    const isSent = !/ENOENT|REFUSED|FailedToOpenSocket/i.test(`${error.code} ${error}`);
    throw Object.assign(new NoAnswer("it cannot be reached", isSent), { lost: isSent });
  } finally {
    gone.abort();
  }
}

// No connection is kept: it would break when the daemon is killed, and nobody would know whether the next question was
// sent.

async function overBun(path, body, headers, signal) {
  const plain = { redirect: "manual", decompress: false }; // nobody else is asked, and nothing is unpacked
  const options = { method: "POST", body, headers, signal, unix: SOCKET, keepalive: false, ...plain };
  const answer = await fetch(`http://localhost${path}`, options);
  const length = answer.headers.get("content-length");
  const bounded = length !== null && Number(length) <= MAX_ANSWER && !answer.headers.has("transfer-encoding");
  if (!bounded) throw new NoAnswer(TOO_LONG);
  const header = (name) => answer.headers.get(name);
  const said = { protocol: header("hudkit-protocol"), version: header("hudkit-version") };
  return { status: answer.status, ...said, text: await answer.text() };
}

function overNode(path, body, headers, signal) {
  return new Promise((resolve, reject) => {
    const options = { socketPath: SOCKET, path, method: "POST", headers, signal, agent: false };
    const sent = request(options, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("error", reject).on("data", (piece) => {
        text += piece;
        if (text.length > MAX_ANSWER) reject(new NoAnswer(TOO_LONG));
      });
      const header = (name) => answer.headers[name] ?? null;
      const said = { protocol: header("hudkit-protocol"), version: header("hudkit-version") };
      answer.on("end", () => resolve({ status: answer.statusCode, ...said, text }));
    });
    sent.on("error", reject).end(body);
  });
}

function understood({ status, protocol, version, text }) {
  if (isNewer(version, BAKED.version)) {
    tellUser(`hudkit ${version} is installed; start ${BAKED.title} again to use it (this one has ${BAKED.version})`, "info");
  }
  if (protocol !== String(BAKED.protocol)) {
    const theirs = Number(protocol);
    if (theirs > 0 && theirs < BAKED.protocol) replaceDaemon();
    const spoken = `it speaks protocol ${theirs}, not ${BAKED.protocol}`;
    if (theirs > BAKED.protocol) tellUser(`no HUD: ${spoken}; start ${BAKED.title} again, or run: hudkit install ${BAKED.host}`);
    // A daemon answers what it cannot read with an error, and does nothing.
    throw new NoAnswer(theirs ? spoken : "a stranger answered", true, false, Boolean(theirs));
  }
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new NoAnswer("an answer that is no JSON");
  }
  if (answer === null || typeof answer !== "object" || Array.isArray(answer)) throw new NoAnswer("a wrong answer");
  if (status !== 200) {
    const said = answer.error?.message;
    if (typeof said !== "string") throw new NoAnswer(`status ${status}`);
    // What the daemon refuses, it did not do; only a fault of its own may have left something.
    const refusal = new NoAnswer(said.replace(/[^ -~]/g, " ").slice(0, 200), true, false, status !== 500);
    throw Object.assign(refusal, { code: answer.error.code });
  }
  return answer;
}

/** Whether a version is newer than another one, by the numbers of its release. */
function isNewer(version, other) {
  const numbers = (text) => (/^[0-9]+([.][0-9]+)*/.exec(text ?? "")?.[0] ?? "").split(".").map(Number);
  const [ours, theirs] = [numbers(version), numbers(other)];
  const at = ours.findIndex((number, place) => number !== (theirs[place] ?? 0));
  return at >= 0 && ours[at] > (theirs[at] ?? 0);
}

/** Start the daemon, at most once in ten seconds (one that worked, and died, sooner), and never after hudkit was
 *  uninstalled. Gives the process. */
function startDaemon() {
  const now = Date.now();
  if (now - lastStart < (served ? AGAIN_MS : START_EVERY_MS) || !existsSync(BAKED.plugin)) return null;
  lastStart = now;
  served = false;
  try {
    // -P and -E: neither the project's folder nor its environment says which modules Python loads.
    const argv = ["-P", "-E", "-m", "hudkit.daemon", "--socket", SOCKET, "--db", BAKED.db];
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => KEPT_ENV.test(name)));
    const child = spawn(BAKED.python, argv, { cwd: existsSync(BAKED.data) ? BAKED.data : "/", env, detached: true, stdio: "ignore" });
    newest = child;
    const ended = (why) => {
      if (child !== newest) return; // the one before it, which was killed
      comingUntil = 0;
      if (!why) return;
      failure = why;
      tellUser(`no HUD: ${why}; run: hudkit doctor`);
    };
    child.on("error", ({ code }) => ended(`its interpreter cannot be run (${code})`));
    child.on("exit", (code) => ended(code && reasonOf(code)));
    child.unref();
    comingUntil = now + START_EVERY_MS;
    return child;
  } catch {
    return null;
  }
}

/** Whether a daemon may be there in a moment: then there is nothing to complain of yet. */
const isComing = () => Date.now() < comingUntil || (served && Date.now() - lastStart < AGAIN_MS);

/** Why a daemon ended at its start: what it wrote beside its socket, as one short line. */
function reasonOf(code) {
  try {
    const line = readFileSync(`${SOCKET}.failed`, "utf8");
    return line.replace(/[^ -~]/g, " ").trim().slice(0, 200);
  } catch {
    return `the daemon ended with exit code ${code}`;
  }
}

let replaced = false;

/** Ask a daemon from before an upgrade to stop, and start ours; once. */
function replaceDaemon() {
  if (replaced) return;
  replaced = true;
  comingUntil = Date.now() + START_EVERY_MS;
  ask("/v1/stop", {}, PATIENT_MS).catch(() => {});
  setTimeout(startDaemon, 1_000).unref?.();
}

/** Wait, once and not for long, until a daemon answers; it is started where there is none. */
async function ready() {
  const until = Date.now() + READY_MS;
  let child = null;
  const ended = () => child && (child.pid === undefined || child.exitCode !== null);
  while (Date.now() < until && !ended()) {
    try {
      await exchange("/v1/hello", {}, DEADLINE_MS);
      return;
    } catch (error) {
      if (error.sent && !child) return;
      child ??= startDaemon();
      await sleep(STARTING_MS);
    }
  }
}
