"""Sessions are deleted: one that is named, or the oldest ones where a limit says so.

A session has something in several files, and a process can be killed between two of them. So a deletion is noted in
the transaction that takes the session out of `sessions.db`, where everybody looks for it, and is carried on from the
note: by who deletes, or by the next one who looks (`finish_deletions`). Each step can be done twice.

    sessions.db: the session goes, the note comes  ->  requests, outputs, index, the HUD's log  ->  the note goes
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from hudkit.agent.request_log import REQUESTS_FILE, delete_requests
from hudkit.agent.session_store import PendingDeletion, SessionStore
from hudkit.agent.session_transcript import HOST
from hudkit.clock import unix_ms, uuid7
from hudkit.errors import SessionError
from hudkit.hud.session_keys import host_id_of_key
from hudkit.log import EventDraft, Origin
from hudkit.log.payloads import Redact
from hudkit.log.stores import SqliteLog
from hudkit.paths import index_path
from hudkit.transcripts.event_log_transcript import HOST as LOG_HOST

_DAY = 86_400_000
_MEGABYTE = 1_000_000


def delete_session(
    store: SessionStore, session_id: str, *, log: Path | None = None, hud: bool = False
) -> tuple[str, ...]:
    """Delete a session with its sub-sessions, requests, outputs and entries of the index; return the ids.

    `log` is the HUD's log, beside which the index is; with `hud` the contents of the session's events in it go as
    well (their numbers, times and digests stay, so that the log can be verified). Raises `SessionError` where the
    session is unknown or open in some process, and a `StoreError`: what is left then is deleted by the next one.
    """
    ids = store.begin_deletion(session_id, hud=hud)
    finish_deletions(store, log)
    return ids


def finish_deletions(store: SessionStore, log: Path | None = None) -> None:
    """Carry on deletions that were cut off; return nothing. Raises a `StoreError`."""
    pending = store.pending_deletions()
    if not pending:
        return
    requests = store.path.with_name(REQUESTS_FILE)
    if requests.exists():
        delete_requests(requests, [deletion.id for deletion in pending])
    _delete_outputs(store.path.with_name("outputs"), pending)
    if log is not None:
        _delete_recorded(log, {deletion.id for deletion in pending if deletion.hud})
        _forget(index_path(log), log, pending)
    for deletion in pending:
        if log is not None or not deletion.hud:
            store.finish_deletion(deletion.id)
    store.shrink()


def trim_sessions(
    store: SessionStore,
    *,
    keep_days: float | None = None,
    keep_megabytes: float | None = None,
    log: Path | None = None,
    keep: Collection[str] = (),
    now: int = 0,
) -> tuple[str, ...]:
    """Delete the sessions that were not worked in for `keep_days`, then the oldest ones until limits hold.

    `keep_megabytes` is of sessions and requests together. No session goes that is open in some process or in `keep`,
    and no HUD's log. Returns the ids. Raises a `StoreError`.
    """
    finish_deletions(store, log)
    oldest = sorted(
        (session for session in store.sessions() if not session.parent_id), key=lambda session: session.updated
    )
    before = (now or unix_ms()) - int(keep_days * _DAY) if keep_days is not None else 0
    gone: list[str] = []
    for session in oldest:
        if session.updated >= before and (keep_megabytes is None or _size(store) <= keep_megabytes * _MEGABYTE):
            break
        if session.id in keep:
            continue
        try:
            gone += delete_session(store, session.id, log=log)
        except SessionError:  # it is open
            continue
    return tuple(gone)


def _size(store: SessionStore) -> int:
    requests = store.path.with_name(REQUESTS_FILE)
    return store.used_bytes() + (delete_requests(requests, ()) if requests.exists() else 0)


def _delete_outputs(folder: Path, pending: Iterable[PendingDeletion]) -> None:
    for deletion in pending:
        for output in map(Path, deletion.outputs):
            if output.parent == folder:  # a stored path is words: nothing else is removed by it
                output.unlink(missing_ok=True)


def _delete_recorded(log: Path, ids: Collection[str]) -> None:
    """Remove what the HUD's log recorded of sessions, physically."""
    if not ids or not log.exists():
        return
    with SqliteLog.open(log) as opened:
        for key in _keys(opened, ids):
            events = opened.read(key, past_damage=True)
            seqs = [event.seq for event in events if event.payload is not None and event.type != "redact"]
            drafts = [EventDraft(uuid7(), unix_ms(), 0, Origin.USER, Redact(seq=seq)) for seq in seqs]
            if drafts:
                opened.append(key, drafts)
        opened.rewrite()


def _keys(log: SqliteLog, ids: Collection[str]) -> list[str]:
    return [key for key in log.sessions() if key.startswith(f"{HOST}/") and host_id_of_key(key) in ids]


def _forget(index: Path, log: Path, pending: Iterable[PendingDeletion]) -> None:
    """Take sessions out of the index of the search, those of the log too where their events went."""
    if not index.exists():
        return
    from hudkit.transcripts.search import IndexWriter

    with IndexWriter.open(index) as writer:
        for deletion in pending:
            writer.forget(HOST, deletion.id)
        recorded = {deletion.id for deletion in pending if deletion.hud}
        if recorded and log.exists():
            with SqliteLog.open(log, read_only=True) as opened:
                for key in _keys(opened, recorded):
                    writer.forget(LOG_HOST, key)
