"""A fork: a new session that begins with the messages of another one, which stays as it is.

Messages and parts get ids of their own; their times and the ids of calls stay. By these the HUD knows a fork with its
first call (`hudkit.ingest.ingester`), and copies the log of the session that it came from, up to the same message.
What tools changed in files comes along, so that the fork can take back the same prompts. What the session cost does
not: that was spent once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from msgspec.structs import replace

from hudkit.agent.file_changes import FileChange
from hudkit.agent.message_history import last_todos
from hudkit.agent.records import (
    CompactionMarker,
    ReportedUsage,
    StoredMessage,
    StoredPart,
    StoredSession,
    TrimMarker,
)
from hudkit.agent.session_store import SessionStore
from hudkit.clock import new_id, unix_ms
from hudkit.errors import SessionError


def fork_session(
    store: SessionStore,
    session_id: str,
    *,
    upto: str = "",
    clock: Callable[[], int] = unix_ms,
    ids: Callable[[], str] = new_id,
) -> StoredSession:
    """Store a new session with the messages up to the one with the id `upto` (empty: all), and return it.

    It is there whole or not at all, and nobody holds it. A response that has not ended, and what stands behind it, is
    not copied. Raises `SessionError` where there is no such session or message, or nothing of it to be copied.
    """
    source = store.session(session_id)
    if source is None:
        raise SessionError(f"no session {session_id!r:.80}", hint="`hudkit sessions` lists them")
    messages = _until(store.messages(session_id), upto)
    if not messages:
        raise SessionError(f"session {session_id!r:.80} has nothing to be copied yet", hint="Give it a prompt first")
    now = clock()
    names = {message.id: f"msg_{ids()}" for message in messages}
    fork = replace(
        source,
        id=f"ses_{ids()}",
        parent_id="",
        asked_by="",
        undone_from="",
        title=f"{source.title} (fork)" if source.title else "",
        created=now,
        updated=now,
        usage=ReportedUsage(),
        cost=0.0,
    )
    copies = [_copy(message, fork.id, names, ids) for message in messages]
    diffs = [
        replace(diff, message_id=names[diff.message_id])
        for diff in store.diffs(session_id)
        if diff.message_id in names
    ]
    store.create_copy(fork, copies, last_todos(messages), diffs, _changes(store, session_id, fork.id, names))
    return fork


def _until(messages: Sequence[StoredMessage], upto: str) -> list[StoredMessage]:
    chosen = list(messages)
    if upto:
        last = next((index for index, message in enumerate(messages) if message.id == upto), None)
        if last is None:
            raise SessionError(f"no message {upto!r:.80} in this session", hint="An export of it has their ids")
        chosen = chosen[: last + 1]
    return list(takewhile(lambda message: not message.open, chosen))


def _copy(message: StoredMessage, session_id: str, names: Mapping[str, str], ids: Callable[[], str]) -> StoredMessage:
    """Return a message of the fork: what it names are the fork's own messages."""
    parts = tuple(_copied_part(part, f"prt_{ids()}", names) for part in message.parts)
    return replace(
        message,
        id=names[message.id],
        session_id=session_id,
        parent_id=names.get(message.parent_id, message.parent_id),
        repeats=names.get(message.repeats, message.repeats),
        parts=parts,
    )


def _copied_part(part: StoredPart, id: str, names: Mapping[str, str]) -> StoredPart:
    if isinstance(part, CompactionMarker | TrimMarker):
        return replace(part, id=id, tail_from=names.get(part.tail_from, part.tail_from))
    return replace(part, id=id)


def _changes(store: SessionStore, source: str, fork: str, names: Mapping[str, str]) -> list[FileChange]:
    """Return the changes of files as the fork has them; those of sub-agents are of who asked for them."""
    asked: dict[str, str] = {name: name for name in names}  # by any message: the one of this session that it is for
    for child in store.changes.sub_sessions(source, names):  # those above come first
        asked.update((id, asked[asker]) for id, asker in store.changes.askers(child).items() if asker in asked)
    return [
        replace(change, session_id=fork, message_id=names[asked[change.message_id]])
        for change in store.changes.of_messages(source, names)
    ]
