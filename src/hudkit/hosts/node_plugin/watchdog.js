// -- watchdog: a hook that the host does not call any more is told, once: a HUD that is silently absent is missed by nobody

const FIRED = new Map(); // session -> hooks that were called since its last request
let missingHooks = ""; // names, once some are known to be missing
let lost = ""; // what does not happen for want of them
let missingTold = false; // whether the agent was told

const missingFile = () => `${BAKED.socket}.${BAKED.host}.hooks`; // `hudkit doctor` reads it

/** Note that a hook was called for a session. */
function fired(session, name) {
  if (!FIRED.has(session) && FIRED.size >= MAX_SESSIONS) FIRED.delete(FIRED.keys().next().value);
  FIRED.set(session, (FIRED.get(session) ?? new Set()).add(name));
}

/** A request of a session went out: whether each hook that had to come before it came. `tell` shows a text to the user,
 *  `without` says what is lost for want of a hook. */
function expectHooks(session, names, tell, without = "the HUD does not reach the agent") {
  const seen = FIRED.get(session) ?? new Set();
  const missing = names.filter((name) => !seen.delete(name)); // others may have come for the next request already
  if (!missing.length) return void settleHooks(names);
  if (missingHooks || !existsSync(BAKED.plugin)) return;
  missingHooks = missing.join(", ");
  lost = without;
  try {
    writeFileSync(missingFile(), JSON.stringify({ missing, at: Date.now(), version: BAKED.version }), { mode: 0o600 });
  } catch {
    // the user is told in any case
  }
  tell(missingText());
}

const missingText = () =>
  `${BAKED.title} does not call ${missingHooks}, so ${lost}. Update hudkit, or run: hudkit doctor`;

/** These hooks come: what an earlier start wrote of them is over. */
function settleHooks(names) {
  if (missingHooks || !existsSync(missingFile())) return;
  try {
    const { missing } = JSON.parse(readFileSync(missingFile(), "utf8"));
    if (missing.every((name) => names.includes(name))) unlinkSync(missingFile());
  } catch {
    // the next request tries again
  }
}

/** A tool's answer, with a line for the user where the HUD does not reach the agent: once. */
function withMissing(text) {
  if (!missingHooks || missingTold) return text;
  missingTold = true;
  return `${text}\nhudkit: ${missingText()} Please tell the user.`;
}
