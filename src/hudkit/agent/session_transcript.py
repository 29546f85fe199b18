"""Our agent's sessions as a `Transcript`: history, search and `memory` read them like any host's."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from hudkit import transcripts
from hudkit.agent import records
from hudkit.agent.session_store import SESSIONS_FILE, SessionStore
from hudkit.errors import SessionError, StoreError, TranscriptError
from hudkit.paths import conversations_path, data_directory

if TYPE_CHECKING:
    from hudkit.transcripts.search import TranscriptSource

HOST = "session"
"""What this host is called in the HUD's log and in transcripts."""


class SessionTranscript:
    """The `Transcript` of a store of sessions. Read-only, and safe to share between threads.

    The store stays its owner's, unless `own` says that it is this one's to close.
    """

    host = HOST

    def __init__(self, store: SessionStore, *, own: bool = False) -> None:
        self._store = store
        self._own = own
        self._roots: dict[str, str] = {}

    @property
    def skipped(self) -> tuple[transcripts.UnreadableRecord, ...]:
        """Return what could not be read: nothing, a record that cannot be read is an error."""
        return ()

    @classmethod
    def open(cls, path: str | PathLike[str]) -> SessionTranscript:
        """Return the transcript of a file of sessions, opened read-only. Raises `TranscriptError`."""
        try:
            return cls(SessionStore.open(path, read_only=True), own=True)
        except StoreError as error:
            raise _unreadable(error) from error

    def sessions(self) -> tuple[transcripts.SessionRow, ...]:
        """Return all sessions, oldest first. Raises `TranscriptError`."""
        try:
            return tuple(map(self._row, self._store.sessions()))
        except StoreError as error:
            raise _unreadable(error) from error

    def session(self, session_id: str) -> transcripts.SessionRow | None:
        """Return a session by its id; `None` where there is none. Raises `TranscriptError`."""
        try:
            session = self._store.session(session_id)
            return None if session is None else self._row(session)
        except StoreError as error:
            raise _unreadable(error) from error

    def messages(self, session_id: str, *, after: str = "") -> Iterator[transcripts.Message]:
        """Yield a session's messages from behind the one with the id `after`. Raises `TranscriptError`."""
        try:
            yield from map(transcript_message, self._store.messages(session_id, after=after))
        except SessionError as error:
            # the message was taken back meanwhile: an undo
            raise TranscriptError(error.message, hint="Read it from its begin.") from error
        except StoreError as error:
            raise _unreadable(error) from error

    def todos(self, session_id: str) -> tuple[transcripts.Todo, ...]:
        """Return a session's list of todos. Raises `TranscriptError`."""
        try:
            return self._store.todos(session_id)
        except StoreError as error:
            raise _unreadable(error) from error

    def close(self) -> None:
        """Close the store, where it is this transcript's own; return nothing."""
        if self._own:
            self._store.close()

    def _row(self, session: records.StoredSession) -> transcripts.SessionRow:
        if session.project_id not in self._roots:
            # projects hardly change: read again only for one that is not known
            self._roots = {project.id: project.root for project in self._store.projects()}
        return transcripts.SessionRow(
            session.id,
            HOST,
            session.parent_id,
            session.directory,
            session.title,
            session.agent,
            session.model,
            self._roots.get(session.project_id, session.directory),
            session.created,
            session.updated,
        )


def session_sources(log: Path) -> tuple[TranscriptSource, ...]:
    """Return where conversations may be that belong to a log and that no host of its own keeps.

    Sessions of our agent, beside the log and in the data directory; what was said in programs, beside the log.
    """
    from hudkit.transcripts.conversation_store import HOST as PROGRAMS
    from hudkit.transcripts.conversation_store import ConversationStore
    from hudkit.transcripts.search import TranscriptSource

    files = dict.fromkeys((log.absolute().with_name(SESSIONS_FILE), data_directory() / SESSIONS_FILE))
    return (
        *(TranscriptSource(HOST, file, SessionTranscript.open) for file in files),
        TranscriptSource(PROGRAMS, conversations_path(log), lambda file: ConversationStore(file, read_only=True)),
    )


def transcript_message(message: records.StoredMessage) -> transcripts.Message:
    """Return a stored message as transcripts have it."""
    provider, _, name = message.model.rpartition(":")
    return transcripts.Message(
        id=message.id,
        session_id=message.session_id,
        role=message.role,
        created=message.created,
        completed=message.completed,
        agent=message.agent,
        model=name,
        provider=provider,
        parent_id=message.parent_id,
        finish=message.finish,
        summary=message.summary,
        error=message.error,
        aborted=message.aborted,
        usage=message.usage,
        parts=tuple(map(_part, message.parts)),
    )


def _part(part: records.StoredPart) -> transcripts.Part:
    match part:
        case records.StoredText():
            return transcripts.TextPart(part.id, part.text, part.synthetic, part.ignored)
        case records.StoredReasoning():
            return transcripts.ReasoningPart(part.id, part.text)
        case records.Attachment():
            return transcripts.FilePart(part.id, part.path, part.media_type)
        case records.ChangedFiles():
            return transcripts.PatchPart(part.id, part.files)
        case records.CompactionMarker():
            return transcripts.CompactionPart(part.id, part.auto, part.overflow, part.tail_from)
        case records.TrimMarker():
            return transcripts.TextPart(part.id, part.text, synthetic=True)
        case records.StoredCall():
            return tool_part(part)


def tool_part(call: records.StoredCall) -> transcripts.ToolPart:
    """Return a stored call as transcripts have it."""
    return transcripts.ToolPart(
        call.id,
        call.tool,
        call.call_id,
        call.status,
        call.arguments,
        call.output,
        call.error,
        call.title,
        call.metadata,
        call.started,
        call.ended,
        bool(call.compacted),
    )


def _unreadable(error: StoreError) -> TranscriptError:
    return TranscriptError(f"the sessions cannot be read: {error.message}", hint=error.hint)
