"""Transcripts that a host keeps as one JSONL file a session: finding the files, reading their lines, telling them.

A line that is broken, too long or no object is passed over and named in `skipped`; a last line without its end is
half-written: it is passed over, unnamed, and read when it is whole. Files are opened for each read and never written.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from hudkit.errors import TranscriptError
from hudkit.transcripts.fields import Json
from hudkit.transcripts.transcript import Message, SessionRow, Skipped, Todo

MAX_LINE = 64 * 1024 * 1024
"""Bytes of one line; a longer one is passed over."""

HEAD, TAIL = 256 * 1024, 64 * 1024
"""Bytes at a file's begin and end in which its session is described."""

MOST_FILES = 50_000
_MAX_SKIPPED = 1_000


class Record(NamedTuple):
    """A line's object, and the place in bytes where the line begins: as the file only grows, a name for it."""

    at: int
    data: Json


class Dialect(NamedTuple):
    """How one host writes: where its files are, what session a file holds, and what its records say.

    `row` sees the records of the begin and of the end of the file; `None`: it is no session. `messages` takes the
    session's id and all records.
    """

    host: str
    files: Callable[[Path], Iterable[Path]]
    row: Callable[[Path, list[Record]], SessionRow | None]
    messages: Callable[[str, Iterator[Record]], Iterator[Message]]
    todos: Callable[[Iterator[Record]], tuple[Todo, ...]]


class JsonlTranscript:
    """The `Transcript` of a directory of JSONL files, or of one file."""

    def __init__(self, root: Path, dialect: Dialect) -> None:
        self.host = dialect.host
        self._root = root
        self._dialect = dialect
        self._known: dict[Path, tuple[tuple[int, ...], SessionRow | None]] = {}
        self._at: dict[str, Path] = {}
        self._skipped: dict[tuple[str, str], Skipped] = {}

    @classmethod
    def open(cls, root: str | Path, dialect: Dialect) -> JsonlTranscript:
        """Raises `TranscriptError` where there is nothing at `root`."""
        path = Path(root)
        try:
            path.stat()
        except (OSError, ValueError) as error:
            raise _absent(path, error) from error
        return cls(path, dialect)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        return tuple(self._skipped.values())

    def sessions(self) -> tuple[SessionRow, ...]:
        """All sessions, by the time of their first record; a file is read again only where it has changed."""
        found: dict[str, tuple[SessionRow, Path]] = {}
        for path in self._files():
            row = self._row(path)
            if row is not None and (row.id not in found or found[row.id][0].updated < row.updated):
                found[row.id] = (row, path)
        self._at = {id: path for id, (_, path) in found.items()}
        return tuple(sorted((row for row, _ in found.values()), key=lambda row: (row.created, row.id)))

    def session(self, session_id: str) -> SessionRow | None:
        path = self._path(session_id)
        return None if path is None else self._row(path)

    def messages(self, session_id: str, *, after: str = "") -> Iterator[Message]:
        path = self._path(session_id)
        if path is None:
            return
        found = not after
        for message in self._dialect.messages(session_id, self._records(path)):
            if found:
                yield message
            found = found or message.id == after
        if not found:
            raise TranscriptError(f"no message {after!r:.80} in this session", hint="Read it from its begin.")

    def todos(self, session_id: str) -> tuple[Todo, ...]:
        path = self._path(session_id)
        return () if path is None else self._dialect.todos(self._records(path))

    def close(self) -> None:
        """Nothing is held open between reads."""

    def _path(self, session_id: str) -> Path | None:
        if session_id not in self._at:
            self.sessions()
        return self._at.get(session_id)

    def _files(self) -> Iterator[Path]:
        if self._root.is_file():
            yield self._root
            return
        for count, path in enumerate(self._dialect.files(self._root)):
            if count >= MOST_FILES:
                return
            yield path

    def _row(self, path: Path) -> SessionRow | None:
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                return None
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

    def _edges(self, path: Path, size: int) -> list[Record]:
        with _opened(path) as file:
            head = [*_objects(file, HEAD, lambda *_: None)]
            begin = max(size - TAIL, file.tell())
            if begin < size:
                file.seek(begin)
                if begin > file.tell() - 1 and begin:
                    file.readline(TAIL)
                head += _objects(file, TAIL, lambda *_: None)
        return head

    def _records(self, path: Path) -> Iterator[Record]:
        try:
            with _opened(path) as file:
                yield from _objects(file, None, lambda at, reason: self._skip(path, at, reason))
        except OSError as error:
            raise _absent(path, error) from error

    def _skip(self, path: Path, at: int, reason: str) -> None:
        if len(self._skipped) < _MAX_SKIPPED:
            place = (path.name, str(at))
            self._skipped.setdefault(place, Skipped(*place, reason))


def walked(root: Path, depth: int, wanted: Callable[[str], bool]) -> Iterator[Path]:
    """Files of `root` and of its directories down to `depth`, by name; links to directories are not entered."""
    start = len(root.parts)
    for folder, folders, files in os.walk(root, followlinks=False):
        here = Path(folder)
        folders.sort()
        if len(here.parts) - start >= depth:
            folders.clear()
        yield from (here / name for name in sorted(files) if wanted(name))


def _opened(path: Path) -> BinaryIO:
    """The file, if it is one: a FIFO would let the reader wait for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no regular file")
    return os.fdopen(descriptor, "rb")


def _objects(file: BinaryIO, most: int | None, skip: Callable[[int, str], None]) -> Iterator[Record]:
    """The objects of the lines from here on, of at most so many bytes; what is no object goes to `skip`."""
    begin = file.tell()
    while most is None or file.tell() - begin < most:
        at = file.tell()
        line = file.readline(MAX_LINE)
        if not line:
            return
        if not line.endswith(b"\n"):
            if len(line) < MAX_LINE:
                data, _ = _parsed(line)  # the last line: whole, or still being written
                if data is not None:
                    yield Record(at, data)
                return
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
            skip(at, f"longer than {MAX_LINE} bytes")
            continue
        if line.isspace():
            continue
        data, reason = _parsed(line)
        if data is None:
            skip(at, reason)
        else:
            yield Record(at, data)


def _parsed(line: bytes) -> tuple[Json | None, str]:
    try:
        data = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        try:
            data = json.loads(line)
        except RecursionError:
            return None, "nested too deeply"
        except ValueError as error:
            return None, f"broken JSON: {error}"[:200]
    return (data, "") if isinstance(data, dict) else (None, f"expected an object, found {type(data).__name__}")


def _absent(path: Path, error: Exception) -> TranscriptError:
    why = getattr(error, "strerror", None) or str(error)
    return TranscriptError(f"{path} cannot be read: {why}", hint="Name the host's folder.", path=str(path))
