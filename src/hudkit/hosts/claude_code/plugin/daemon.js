// Questions to hudkit's daemon, over its unix socket. Each has a deadline of ours: `$.http.fetch` itself gives up after
// 30 seconds, and Claude Code waits for its hooks. Without an answer a hook goes on with what is known.

import { BAKED } from "./baked.js";

const MOST_SILENT = 2; // times in a row without an answer, after which the daemon is not asked
const SILENT_MS = 30_000; // for so long, but where a window begins
const STARTS_MS = 5_000;
const POLL_MS = 40; // between looks whether a daemon that was started is there
const LONGEST = 200_000; // characters of an answer that are believed

let silent = 0;
let silentUntil = 0;
let starting = 0; // when a daemon was started last

/** The daemon's answer as an object, or `undefined` where there is none within `ms`. `insists`: ask although it was
 *  silent, and wait for one that is only just starting. */
export async function ask($, path, body, ms, insists = false) {
  const until = Date.now() + ms;
  if (!insists && Date.now() < silentUntil) return undefined;
  for (;;) {
    const left = until - Date.now();
    if (left <= 0) return undefined;
    try {
      const answer = await inTime($, left, send($, path, body));
      silent = 0;
      silentUntil = 0;
      starting = 0; // it is there: where it is gone the next time, it has ended since
      return answer;
    } catch (error) {
      if (error instanceof Late) {
        if (Date.now() - starting > STARTS_MS) silent += 1; // one that is starting may need long
        if (silent >= MOST_SILENT) silentUntil = Date.now() + SILENT_MS;
        if (silent === MOST_SILENT) start($); // it hangs: a new one ends it
        return undefined;
      }
      if (error instanceof Refused) return undefined;
      start($); // nobody listens
      if (!insists) return undefined;
      await sleep($, POLL_MS);
    }
  }
}

class Late extends Error {}

/** The daemon, or something else on its socket, does not answer what was asked. */
class Refused extends Error {}

async function send($, path, body) {
  const response = await $.http.fetch(`http://localhost${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", [BAKED.protocolHeader]: String(BAKED.protocol) },
    body: JSON.stringify(body),
    socketPath: BAKED.socket,
  });
  if (isOlder(response.headers?.[BAKED.versionHeader])) start($); // for the next question
  if (response.status !== 200 || response.text.length > LONGEST) throw new Refused();
  let answer;
  try {
    answer = JSON.parse(response.text);
  } catch {
    throw new Refused();
  }
  if (answer === null || typeof answer !== "object" || Array.isArray(answer)) throw new Refused();
  return answer;
}

async function inTime($, ms, promise) {
  promise.catch(() => undefined); // one that fails after its deadline is nobody's any more
  const waiting = new AbortController();
  const deadline = sleep($, ms, waiting.signal).then(() => {
    throw new Late();
  });
  deadline.catch(() => undefined);
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    waiting.abort();
  }
}

async function sleep($, ms, signal) {
  await $.clock.sleep(ms, signal ? { signal } : undefined);
}

/** Start a daemon and wait for nothing. It takes the place of one that is older or hangs, and else ends by itself. */
function start($) {
  if (Date.now() - starting < STARTS_MS) return;
  starting = Date.now();
  const command = [BAKED.python, "-P", "-E", "-m", "hudkit.daemon", "--detach", "--socket", BAKED.socket, "--db", BAKED.db];
  const env = { HUDKIT_DATA: BAKED.data, HUDKIT_DB: BAKED.db };
  $.process.run(command, { cwd: "/", env, timeoutMs: 10_000 }).catch(() => undefined);
}

function isOlder(version) {
  if (typeof version !== "string") return false;
  const parts = (text) => text.split(".").map((part) => Number.parseInt(part, 10) || 0);
  const [theirs, ours] = [parts(version), parts(BAKED.version)];
  for (let n = 0; n < ours.length; n += 1) {
    if ((theirs[n] ?? 0) !== ours[n]) return (theirs[n] ?? 0) < ours[n];
  }
  return false;
}
