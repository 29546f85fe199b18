// -- kept frames: the last good frame of each session on disk, which a restarted host has without a daemon -------

const KEPT = `${BAKED.data}/frames`;
const KEPT_SCHEMA = 1;
const MAX_KEPT = 64; // files; the newest stay
const KEPT_NAME = /^[A-Za-z0-9_-]{1,100}$/; // what may be the name of a file

/** Keep a session's frame. What cannot be written is not kept: then a restarted host needs the daemon. */
function keepFrame(one) {
  const { identity, frame, whole } = one;
  const text = JSON.stringify({ schema: KEPT_SCHEMA, ...frame, tail: "", ack: "", whole });
  if (!KEPT_NAME.test(identity.session) || one.kept === text || !existsSync(BAKED.plugin)) return;
  try {
    mkdirSync(KEPT, { recursive: true, mode: 0o700 });
    const file = `${KEPT}/${identity.session}.json`;
    writeFileSync(`${file}.${process.pid}`, text, { mode: 0o600 });
    renameSync(`${file}.${process.pid}`, file);
    if (!one.kept) dropOldFrames();
    one.kept = text;
  } catch {
    // a disk that is full, a home that is read-only
  }
}

/** The frame of a session that was kept, as `{frame, whole}`; null where there is none that can be used. */
function keptFrame(session) {
  if (!KEPT_NAME.test(session)) return null;
  try {
    const kept = JSON.parse(readFileSync(`${KEPT}/${session}.json`, "utf8"));
    const known = kept.schema === KEPT_SCHEMA && typeof kept.summary === "string" && typeof kept.whole === "string";
    return known ? { frame: { ...frameOf(kept), summary: kept.summary }, whole: kept.whole } : null;
  } catch {
    return null;
  }
}

/** Drop the files of the sessions that were not used for longest. */
function dropOldFrames() {
  const files = readdirSync(KEPT).map((name) => ({ path: `${KEPT}/${name}`, at: statSync(`${KEPT}/${name}`).mtimeMs }));
  for (const { path } of files.sort((a, b) => b.at - a.at).slice(MAX_KEPT)) unlinkSync(path);
}
