// -- watchdog: a hook that OpenCode does not call any more is told, once: a HUD that is silently absent is missed by nobody

const FIRED = new Map(); // session -> hooks that were called since its last request
let missingHooks = ""; // names, once some are known to be missing
let missingTold = false; // whether the agent was told

const missingFile = () => `${BAKED.socket}.hooks`; // `hudkit doctor` reads it

/** Note that a hook was called for a session. */
function fired(session, name) {
  if (!FIRED.has(session) && FIRED.size >= MAX_SESSIONS) FIRED.delete(FIRED.keys().next().value);
  FIRED.set(session, (FIRED.get(session) ?? new Set()).add(name));
}

/** A request of a session goes out: whether each hook that had to come before it came. `tell` shows a text to the user. */
function expectHooks(session, names, tell) {
  const seen = FIRED.get(session) ?? new Set();
  FIRED.delete(session);
  const missing = names.filter((name) => !seen.has(name));
  if (!missing.length) return void settleHooks();
  if (missingHooks || !existsSync(BAKED.plugin)) return;
  missingHooks = missing.join(", ");
  try {
    writeFileSync(missingFile(), JSON.stringify({ missing, at: Date.now(), version: BAKED.version }), { mode: 0o600 });
  } catch {
    // the user is told in any case
  }
  tell(missingText());
}

const missingText = () =>
  `OpenCode does not call ${missingHooks}, so the HUD does not reach the agent. Update hudkit, or run: hudkit doctor`;

/** All hooks come: what an earlier start wrote is over. */
function settleHooks() {
  if (missingHooks || !existsSync(missingFile())) return;
  try {
    unlinkSync(missingFile());
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
