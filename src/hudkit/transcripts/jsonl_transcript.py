"""Transcripts that a host keeps as one JSONL file a session: finding the files, reading lines, making messages of
them.

Files only grow, while we read them, and are opened for each read and never written. A line that is broken, too long
or not an object is passed over and named in `skipped`. The last line without its end is half-written: it is passed
over, unnamed, and read when it is whole.

One message can be several records, and a tool's result comes in a later record than its call. So messages are drafts
in a queue, a result goes into the draft that holds its call, and a draft leaves the queue only when `MAX_OPEN_DRAFTS`
newer ones wait behind it:

    record 1: assistant, message m1, text     queue: m1(text)
    record 2: assistant, message m1, call c1  queue: m1(text, call c1 running)
    record 3: user, result of c1              queue: m1(text, call c1 completed)
    end of the file                           -> m1 is handed out, whole
"""

from __future__ import annotations

import json
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import msgspec

from hudkit.errors import TranscriptError
from hudkit.transcripts.json_fields import Json, bounded_text
from hudkit.transcripts.transcript import (
    CompactionPart,
    Message,
    Part,
    ReportedUsage,
    SessionRow,
    TextPart,
    Todo,
    ToolPart,
    UnreadableRecord,
)

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Bytes of one line; a longer one is passed over."""

HEAD_BYTES, TAIL_BYTES = 256 * 1024, 64 * 1024
"""Bytes at a file's begin and end in which its session is described."""

MAX_FILES = 50_000
_MAX_SKIPPED = 1_000


class JsonlRecord(NamedTuple):
    """A line's object, and the place in bytes where the line begins: as the file only grows, a name for it."""

    offset: int
    data: Json


class MessageReader(Protocol):
    """Makes messages of a session's records."""

    drafts: MessageDrafts

    def take(self, record: JsonlRecord) -> str:
        """Read the next record; return the id of the message that it begins or goes on with, else nothing."""
        ...


class TodoReader(Protocol):
    """Keeps the todo list of a session."""

    todos: tuple[Todo, ...] | None
    """`None` where no list was written."""

    def take(self, record: JsonlRecord) -> None:
        """Read the next record."""
        ...


def _goes_on_from_nothing(_path: Path, _first: JsonlRecord) -> tuple[Path, int] | None:
    return None


class JsonlDialect(NamedTuple):
    """How one host writes: where its files are, what session a file holds, and what its records say.

    `row` sees the records of the begin and of the end of the file; `None`: it is no session. `messages` makes a
    reader of the messages of the session with this id, `todos` one of its todo list.
    """

    host: str
    files: Callable[[Path], Iterable[Path]]
    row: Callable[[Path, list[JsonlRecord]], SessionRow | None]
    messages: Callable[[str], MessageReader]
    todos: Callable[[], TodoReader]
    earlier: Callable[[Path, JsonlRecord], tuple[Path, int] | None] = _goes_on_from_nothing
    """From a file and its first record to the file that it goes on from, and how many bytes of that are meant."""


class JsonlTranscript:
    """The `Transcript` of a directory of JSONL files, or of one file."""

    def __init__(self, root: Path, dialect: JsonlDialect) -> None:
        self.host = dialect.host
        self._root = root
        self._dialect = dialect
        self._known: dict[Path, tuple[tuple[int, ...], SessionRow | None]] = {}
        self._at: dict[str, Path] = {}
        self._first: dict[str, SessionRow] = {}
        """Of sessions with several files, what the first one says."""
        self._skipped: dict[tuple[str, str], UnreadableRecord] = {}

    @classmethod
    def open(cls, root: str | Path, dialect: JsonlDialect) -> JsonlTranscript:
        """Return the transcript of a directory or of one file.

        Raises `TranscriptError` where nothing is at `root`.
        """
        path = Path(root)
        try:
            path.stat()
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error
        return cls(path, dialect)

    @property
    def skipped(self) -> tuple[UnreadableRecord, ...]:
        """Return the lines that could not be read so far, at most the first thousand."""
        return tuple(self._skipped.values())

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return all sessions, by the time of their first record; a file is read again only where it has changed."""
        newest: dict[str, tuple[SessionRow, Path]] = {}
        first: dict[str, SessionRow] = {}
        for path in self._files():
            row = self._row(path)
            if row is None:
                continue
            if row.id not in newest or newest[row.id][0].updated < row.updated:
                newest[row.id] = (row, path)
            if row.id not in first or row.created < first[row.id].created:
                first[row.id] = row
        self._at = {id: path for id, (_, path) in newest.items()}
        self._first = {id: row for id, row in first.items() if row is not newest[id][0]}
        rows = (self._as_it_began(row) for row, _ in newest.values())
        return tuple(sorted(rows, key=lambda row: (row.created, row.id)))

    def session(self, session_id: str) -> SessionRow | None:
        """Return one session, `None` for an unknown id."""
        if self._dialect.earlier is not _goes_on_from_nothing:
            self.sessions()  # it may have gone on in a new file
        path = self._path(session_id)
        row = None if path is None else self._row(path)
        return None if row is None else self._as_it_began(row)

    def _as_it_began(self, row: SessionRow) -> SessionRow:
        """A session as its newest file has it, with the title and the beginning of its first one."""
        first = self._first.get(row.id)
        if first is None:
            return row
        return msgspec.structs.replace(row, title=first.title or row.title, created=first.created or row.created)

    def messages(self, session_id: str, *, after: str = "") -> Iterator[Message]:
        """Return a session's messages in the order of the file, from behind the message `after`."""
        path = self._path(session_id)
        if path is None:
            return
        reached = not after
        for message in self._messages(session_id, path):
            if reached:
                yield message
            reached = reached or message.id == after
        if not reached:
            raise TranscriptError(f"no message {after!r:.80} in this session", hint="Read it from its beginning.")

    def todos(self, session_id: str) -> tuple[Todo, ...]:
        """Return the session's todo list as its last record has it."""
        path = self._path(session_id)
        reader = self._dialect.todos()
        for record in () if path is None else self._whole(path):
            reader.take(record)
        return reader.todos or ()

    def close(self) -> None:
        """Do nothing: nothing is held open between reads."""

    def _messages(self, session_id: str, path: Path) -> Iterator[Message]:
        reader = self._dialect.messages(session_id)
        for record in self._whole(path):
            reader.take(record)
            yield from reader.drafts.ready()
        yield from reader.drafts.rest()

    def _whole(self, path: Path) -> Iterator[JsonlRecord]:
        """The records of a file behind those that it goes on from; their places count through all of the files."""
        own = self._records(path)
        first = next(own, None)
        if first is None:
            return
        shift = 0
        for file, end in parts_before(self._dialect, path, first):
            yield from (
                record._replace(offset=record.offset + shift)
                for record in takewhile(partial(_begins_before, end), self._records(file))
            )
            shift += file.stat().st_size
        yield from (record._replace(offset=record.offset + shift) for record in chain((first,), own))

    def _path(self, session_id: str) -> Path | None:
        # A session that began after the last listing.
        if session_id not in self._at:
            self.sessions()
        return self._at.get(session_id)

    def _files(self) -> Iterator[Path]:
        # One file may be named itself, whatever its name is.
        if self._root.is_file():
            yield self._root
            return
        for count, path in enumerate(self._dialect.files(self._root)):
            if count >= MAX_FILES:
                return
            yield path

    def _row(self, path: Path) -> SessionRow | None:
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                return None
            # A file with the same identity, size and time was not written to: what it holds is known.
            mark = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            if path not in self._known or self._known[path][0] != mark:
                row = self._dialect.row(path, self._edges(path, status.st_size))
                if row is not None:
                    row = msgspec.structs.replace(row, updated=status.st_mtime_ns // 1_000_000)
                self._known[path] = (mark, row)
        except OSError as error:
            self._skip(path, 0, str(error.strerror or error))
            return None
        return self._known[path][1]

    def _edges(self, path: Path, size: int) -> list[JsonlRecord]:
        with open_regular(path) as file:
            head = [*read_records(file, HEAD_BYTES, lambda *_: None)]
            # The head says how a session began, the tail its latest title and model; the middle can be huge.
            begin = max(size - TAIL_BYTES, file.tell())
            if begin < size:
                file.seek(begin)
                # The seek may have landed inside a line: its rest is no record.
                if begin > file.tell() - 1 and begin:
                    file.readline(TAIL_BYTES)
                head += read_records(file, TAIL_BYTES, lambda *_: None)
        return head

    def _records(self, path: Path) -> Iterator[JsonlRecord]:
        try:
            with open_regular(path) as file:
                yield from read_records(file, None, lambda offset, reason: self._skip(path, offset, reason))
        except OSError as error:
            raise _unreadable(path, error) from error

    def _skip(self, path: Path, offset: int, reason: str) -> None:
        if len(self._skipped) < _MAX_SKIPPED:
            key = (path.name, str(offset))
            self._skipped.setdefault(key, UnreadableRecord(*key, reason))


def find_files(root: Path, depth: int, wanted: Callable[[str], bool]) -> Iterator[Path]:
    """Return the files of `root` and of its directories down to `depth`, by name; links are not entered."""
    start = len(root.parts)
    for folder, folders, files in os.walk(root, followlinks=False):
        here = Path(folder)
        folders.sort()
        if len(here.parts) - start >= depth:
            folders.clear()
        yield from (here / name for name in sorted(files) if wanted(name))


def _begins_before(end: int, record: JsonlRecord) -> bool:
    return record.offset < end


def parts_before(dialect: JsonlDialect, path: Path, first: JsonlRecord) -> list[tuple[Path, int]]:
    """Return the files that a file goes on from, the oldest first, each with how many of its bytes are meant.

    A host whose user goes back may go on in a new file. `first` is the first record of the file at `path`.
    """
    parts: list[tuple[Path, int]] = []
    earlier = dialect.earlier(path, first)
    while earlier is not None:
        parts.append(earlier)
        with open_regular(earlier[0]) as file:
            begin = next(read_records(file, None, lambda *_: None), None)
        earlier = dialect.earlier(earlier[0], begin) if begin is not None else None
    return parts[::-1]


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading, if it is one: a FIFO would let the reader wait for ever. Raises `OSError`."""
    # Not blocking: to open a FIFO for reading waits for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(descriptor, "rb")


def read_records(
    file: BinaryIO, most: int | None, skip: Callable[[int, str], None], *, unended: bool = True
) -> Iterator[JsonlRecord]:
    """Return the objects of the lines from here on, of at most so many bytes; what is no object goes to `skip`.

    `unended`: the last line counts without its end too, if it is an object.
    """
    begin = end = file.tell()
    while most is None or end - begin < most:
        # Counted, not asked for: each question would be a call of the system.
        offset = end
        line = file.readline(MAX_LINE_BYTES)
        if not line:
            return
        end += len(line)
        if not line.endswith(b"\n"):
            if len(line) < MAX_LINE_BYTES:
                data, _ = _parse_line(line)  # the last line: whole, or still being written
                if data is not None and unended:
                    yield JsonlRecord(offset, data)
                return
            # The rest of a line that is too long is read away, so that the next read begins at a line.
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE_BYTES)
                end += len(line)
            skip(offset, f"longer than {MAX_LINE_BYTES} bytes")
            continue
        if line.isspace():
            continue
        data, reason = _parse_line(line)
        if data is None:
            skip(offset, reason)
        else:
            yield JsonlRecord(offset, data)


def _parse_line(line: bytes) -> tuple[Json | None, str]:
    try:
        data = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        try:
            # JavaScript writes half of a cut surrogate pair as an escape, which only the lenient reader takes.
            data = json.loads(line)
        except RecursionError:
            return None, "nested too deeply"
        except ValueError as error:
            return None, f"broken JSON: {error}"[:200]
    return (data, "") if isinstance(data, dict) else (None, f"expected an object, found {type(data).__name__}")


def _unreadable(path: Path, error: Exception) -> TranscriptError:
    why = getattr(error, "strerror", None) or str(error)
    return TranscriptError(f"{path} cannot be read: {why}", hint="Name the host's folder.", path=str(path))


# -- messages that grow while records are read -----------------------------------------------------------------------


_NOTHING: Mapping[str, Any] = {}

MAX_OPEN_DRAFTS = 64
"""Messages that are kept back for a result that may still come."""


class MessageDraft:
    """One message in the making; `key` groups the records that belong to it."""

    def __init__(self, id: str, role: str, created: int, key: str = "") -> None:
        self.id, self.role, self.created, self.key = id, role, created, key
        self.parts: list[Part] = []
        self.completed = 0
        self.model = self.finish = self.parent = self.error = self.agent = self.provider = ""
        self.summary = self.aborted = False
        self.usage: ReportedUsage | None = None

    def done(self, session_id: str) -> Message:
        """Return the message as it stands."""
        return Message(
            id=self.id,
            session_id=session_id,
            role=self.role,
            created=self.created,
            completed=self.completed,
            agent=self.agent,
            model=self.model,
            provider=self.provider,
            parent_id=self.parent,
            finish=self.finish,
            summary=self.summary,
            error=self.error,
            aborted=self.aborted,
            usage=self.usage,
            parts=tuple(self.parts),
        )


class MessageDrafts:
    """The last messages of a session in order, and where in them a call is."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.open: deque[MessageDraft] = deque()
        self._calls: dict[str, tuple[MessageDraft, int]] = {}
        self._changed: dict[str, MessageDraft] = {}

    def begin(self, draft: MessageDraft) -> MessageDraft:
        """Put a new draft behind the others, and return it."""
        self.open.append(draft)
        return self.change(draft)

    def change(self, draft: MessageDraft) -> MessageDraft:
        """Note that something is added to a draft, and return it."""
        self._changed[draft.id] = draft
        return draft

    def drop(self, draft: MessageDraft) -> None:
        """Take a draft out again: it turned out to be no message of the conversation."""
        if draft in self.open:
            self.open.remove(draft)
        self._changed.pop(draft.id, None)

    def changed(self) -> tuple[Message, ...]:
        """Return the messages that were begun or changed since the last call, in their order.

        The drafts of all but the newest messages are closed: a result that comes for them is dropped.
        """
        messages = tuple(draft.done(self.session_id) for draft in self._changed.values())
        self._changed.clear()
        for _ in self.ready():
            pass
        return messages

    def last(self, role: str, key: str) -> MessageDraft | None:
        """Return the newest draft of this key, if nothing of the other role came since."""
        for draft in reversed(self.open):
            if draft.role != role:
                return None
            if draft.key == key:
                return self.change(draft)
        return None

    def call(self, draft: MessageDraft, part: ToolPart) -> None:
        """Add a tool call to a draft, and remember where it is: its result comes later."""
        self._calls[part.call_id] = (draft, len(draft.parts))
        draft.parts.append(part)

    def result(
        self, call_id: str, text: str, *, failed: bool, ended: int, metadata: Mapping[str, Any] = _NOTHING
    ) -> None:
        """Put a result into its call; one without a call is dropped."""
        position = self._calls.pop(call_id, None)
        if position is None:
            return
        draft, index = position
        self.change(draft)
        part = draft.parts[index]
        assert isinstance(part, ToolPart)
        changes: dict[str, Any] = {"error": text} if failed else {"output": text}
        if metadata:
            changes["metadata"] = {**part.metadata, **metadata}
        status = "error" if failed else "completed"
        draft.parts[index] = msgspec.structs.replace(part, status=status, end=ended, **changes)

    def compaction(
        self, id: str, time: int, summary: str, *, auto: bool, tail: str = "", usage: ReportedUsage | None = None
    ) -> None:
        """Add a compaction as two messages: the marker, and the summary that answers it; `tail` is the first message
        before it that the host keeps."""
        marker = self.begin(MessageDraft(id, "user", time))
        marker.parts.append(CompactionPart(f"{id}-c", auto=auto, tail_start_id=tail))
        answer = self.begin(MessageDraft(summary_id(id), "assistant", time))
        answer.parent, answer.finish, answer.summary, answer.completed, answer.usage = id, "stop", True, time, usage
        answer.parts.append(TextPart(f"{id}-t", summary))

    def ready(self) -> Iterator[Message]:
        """Return the messages to which nothing will be added any more, oldest first."""
        while len(self.open) > MAX_OPEN_DRAFTS:
            yield self._out()

    def rest(self) -> Iterator[Message]:
        """Return the messages that are left, oldest first: the file is at its end."""
        while self.open:
            yield self._out()

    def _out(self) -> Message:
        draft = self.open.popleft()
        # A result that comes later than this finds no call and is dropped: its message was handed out.
        self._calls = {id: place for id, place in self._calls.items() if place[0] is not draft}
        return draft.done(self.session_id)


def summary_id(marker: str) -> str:
    """Return the id of the message that answers a compaction's marker."""
    return f"{marker}-s"


def parse_timestamp(value: object) -> int:
    """Return the Unix milliseconds of an ISO 8601 text; 0 where it is none."""
    if not isinstance(value, str) or len(value) > 40:
        return 0
    try:
        moment = datetime.fromisoformat(value)
        return max(int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000), 0)
    except (ValueError, OverflowError):
        return 0


def content_text(content: object) -> str:
    """Return the text of a content that is a text, or a list of blocks of which some have a text."""
    if isinstance(content, str):
        return bounded_text(content)
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") for block in content if isinstance(block, dict)]
    return bounded_text("\n".join(text for text in texts if isinstance(text, str)))
