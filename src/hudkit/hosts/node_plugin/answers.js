// -- answers: what a hook does with the daemon's answer, and without one -------------------------------------------

const ONCE = (globalThis[Symbol.for(`hudkit.${BAKED.host}`)] ??= new WeakSet()); // calls that one copy of this plugin did

const DEFINED = new Map(); // tool -> characters of its definition, about

const definitions = () => [...DEFINED.values()].reduce((sum, size) => sum + size, 0);

const quietly = (hook) => async (input, output) => {
  try {
    await hook(input, output);
  } catch {
    // the agent's own call matters more
  }
};

/** Ask for the frame of a request, and give its tail. Without an answer the last good frame stays. */
async function refresh(one, messages, transcript, model, until) {
  try {
    return (await one.next(messages, transcript, model, until - performance.now())).tail;
  } catch (error) {
    note(`a call went out without a new frame: ${error.message}`);
    // The bytes of the last good frame stay; only the tail, which is never kept, says that it is old.
    if (one.holdOn(messages, transcript)) return "HUD: may be a turn old.\n";
    // A HUD that was never there would be missed by nobody: agent and user are told what is wrong.
    const isWrong = !error.late && !isComing() && existsSync(BAKED.plugin);
    return isWrong ? `hudkit: no HUD: ${failure || error.message}; the user can run: hudkit doctor\n` : "";
  }
}

/** What a tool of the agent's answers. */
async function answerTool(one, router, args) {
  const question = { ...one.identity, router, arguments: args ?? {} };
  try {
    const ms = isSilent() ? SILENT_TOOL_MS : PATIENT_MS;
    const answer = await askPatiently("/v1/tool", question, ms, router === "memory");
    one.learnWhole(answer);
    const { text } = answer;
    return typeof text === "string" ? withMissing(text) : "hudkit: an answer without text; look before you call again.";
  } catch (error) {
    const why = error.sent === false && failure ? failure : error.message;
    if (error.certain) return `hudkit: ${why}. Nothing was recorded.`;
    return `hudkit: ${why}. It is not certain that this was recorded; look before you call again.`;
  }
}

/** What a tool answers that starts a compaction, by `start`. */
async function answerCompact(one, name, start) {
  try {
    const question = { ...one.identity, router: name.replace("_compact", ""), used: one.used };
    const { ok, text } = await ask("/v1/compact", question, isSilent() ? SILENT_TOOL_MS : PATIENT_MS);
    if (ok === true) setTimeout(start, 0); // awaited inside the tool, it would wait for the tool
    return typeof text === "string" ? text : "hudkit: an answer without text; nothing was started.";
  } catch (error) {
    return `hudkit: ${error.message}. No compaction was started.`;
  }
}

const ON_RECORD =
  "What the agent has on record. It sees all of it again behind the summary: repeat none of it, contradict none of it.";

/** What a summary is told of the record: the HUD as the daemon has it for that, or as it was last known; empty where
 *  there is none. */
async function recordForSummary(one) {
  let text = one.lastText();
  try {
    const question = { ...one.identity, used: one.used };
    const answer = await askPatiently("/v1/compacting", question, isSilent() ? 0 : SUMMARY_MS);
    text = /<hud>[^]*<\/hud>/.exec(answer.prompt ?? "")?.[0] ?? text;
    one.learnWhole(answer);
  } catch {
    // the last frame
  }
  return text && `${ON_RECORD}\n\n${text}`;
}
