// -- transport: one question over the daemon's unix socket, within a deadline --------------------------------------

const DEADLINE_MS = 200; // what an LLM call may be held up
const PATIENT_MS = 5_000; // for what no LLM call waits for
const START_EVERY_MS = 10_000; // where the one that was started last has not answered yet
const AGAIN_MS = 1_000; // where it has, and is gone
const MAX_ANSWER = 1024 * 1024; // bytes; what is longer is not read
const READY_MS = 1_500; // once, while OpenCode itself starts
const TOO_LONG = "an answer that is too long";
const KEPT_ENV = /^(HOME|USER|LOGNAME|PATH|LANG|LC_.*|TZ|TMPDIR|XDG_.*|HUDKIT_.*|LD_LIBRARY_PATH|DYLD_.*)$/;

let lastStart = -Infinity;
let served = false; // whether a question was answered since
let failure = ""; // why the daemon that was started last did not stay
let comingUntil = 0; // until when one that was started may still come: 0 once it has answered or ended

/** Why there is no answer. `sent` is false where the daemon cannot have seen the question; `late` is true where it may
 *  still answer. */
class NoAnswer extends Error {
  constructor(reason, sent = true, late = false) {
    super(reason);
    Object.assign(this, { sent, late });
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
    return answer;
  } catch (error) {
    if (!error.sent) startDaemon();
    throw error;
  }
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

async function exchange(path, body, ms) {
  if (ms <= 0) throw new NoAnswer("no answer within the deadline", true, true);
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
    throw new NoAnswer("it cannot be reached", !/ENOENT|REFUSED|FailedToOpenSocket/i.test(`${error.code} ${error}`));
  } finally {
    gone.abort();
  }
}

async function overBun(path, body, headers, signal) {
  const plain = { redirect: "manual", decompress: false }; // nobody else is asked, and nothing is unpacked
  const options = { method: "POST", body, headers, signal, unix: BAKED.socket, ...plain };
  const answer = await fetch(`http://localhost${path}`, options);
  const length = answer.headers.get("content-length");
  const bounded = length !== null && Number(length) <= MAX_ANSWER && !answer.headers.has("transfer-encoding");
  if (!bounded) throw new NoAnswer(TOO_LONG);
  return { status: answer.status, protocol: answer.headers.get("hudkit-protocol"), text: await answer.text() };
}

function overNode(path, body, headers, signal) {
  return new Promise((resolve, reject) => {
    const options = { socketPath: BAKED.socket, path, method: "POST", headers, signal };
    const sent = request(options, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("error", reject).on("data", (piece) => {
        text += piece;
        if (text.length > MAX_ANSWER) reject(new NoAnswer(TOO_LONG));
      });
      answer.on("end", () =>
        resolve({ status: answer.statusCode, protocol: answer.headers["hudkit-protocol"] ?? null, text }),
      );
    });
    sent.on("error", reject).end(body);
  });
}

function understood({ status, protocol, text }) {
  if (protocol !== String(BAKED.protocol)) {
    const theirs = Number(protocol);
    if (theirs > 0 && theirs < BAKED.protocol) replaceDaemon();
    throw new NoAnswer(theirs ? `it speaks protocol ${theirs}, not ${BAKED.protocol}` : "a stranger answered");
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
    throw new NoAnswer(typeof said === "string" ? said.replace(/[^ -~]/g, " ").slice(0, 200) : `status ${status}`);
  }
  return answer;
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
    const argv = ["-P", "-E", "-m", "hudkit.daemon", "--socket", BAKED.socket, "--db", BAKED.db];
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => KEPT_ENV.test(name)));
    const child = spawn(BAKED.python, argv, { cwd: BAKED.data, env, detached: true, stdio: "ignore" });
    child.on("error", () => {
      comingUntil = 0;
    });
    child.on("exit", (code) => {
      comingUntil = 0;
      if (code) failure = reasonOf(code);
    });
    child.unref();
    comingUntil = now + START_EVERY_MS;
    return child;
  } catch {
    return null;
  }
}

/** Whether a daemon may be there in a moment: then there is nothing to complain of yet. */
const isComing = () => Date.now() < comingUntil;

/** Why a daemon ended at its start: what it wrote beside its socket, as one short line. */
function reasonOf(code) {
  try {
    const line = readFileSync(`${BAKED.socket}.failed`, "utf8");
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
      await sleep(50);
    }
  }
}
