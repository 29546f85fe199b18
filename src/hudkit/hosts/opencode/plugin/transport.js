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

/** Why there is no answer. `sent` is false where the daemon cannot have seen the question. */
class NoAnswer extends Error {
  constructor(reason, sent = true) {
    super(reason);
    this.sent = sent;
  }
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** POST a body, and give the answer's object. Throws `NoAnswer` and nothing else, at the latest after `ms`. A daemon
 *  that is not there is started for the next question; nobody waits for it. */
async function ask(path, body, ms = DEADLINE_MS) {
  try {
    const answer = await exchange(path, body, ms);
    served = true;
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
    timer = setTimeout(() => reject(new NoAnswer(`no answer within ${left} ms`)), left);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function exchange(path, body, ms) {
  if (ms <= 0) throw new NoAnswer("no answer within the deadline");
  const headers = {
    "content-type": "application/json",
    "hudkit-protocol": String(BAKED.protocol),
    "hudkit-version": BAKED.version,
    "hudkit-deadline-ms": String(Math.max(1, Math.round(ms))),
  };
  const gone = new AbortController();
  try {
    const send = typeof Bun === "undefined" ? overNode : overBun;
    const work = send(path, JSON.stringify(body), headers, gone.signal);
    return understood(await within(work, ms));
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
    child.on("error", () => {});
    child.unref();
    return child;
  } catch {
    return null;
  }
}

let replaced = false;

/** Ask a daemon from before an upgrade to stop, and start ours; once. */
function replaceDaemon() {
  if (replaced) return;
  replaced = true;
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
