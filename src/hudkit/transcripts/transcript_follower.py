"""A session's transcript file, read as it grows: what is new, and what is in the model's window now.

follower = TranscriptFollower("claude-code", path)
for message in follower.read().new: ...       # all messages
for message in follower.read().new: ...       # those that came or changed since
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import BinaryIO, TypeAlias

import msgspec

from hudkit.errors import ConfigError
from hudkit.transcripts import claude_code, codex, pi
from hudkit.transcripts.claude_window import ClaudeWindow
from hudkit.transcripts.codex_window import CodexWindow
from hudkit.transcripts.cost_trail import CostTrail, TrailCall
from hudkit.transcripts.jsonl_transcript import (
    JsonlDialect,
    JsonlRecord,
    MessageReader,
    TodoReader,
    open_regular,
    parts_before,
    read_records,
)
from hudkit.transcripts.pi_window import PiWindow
from hudkit.transcripts.transcript import Message, ReportedUsage, Todo


class FollowedTranscript(msgspec.Struct, frozen=True, kw_only=True):
    """A transcript at its present end.

    `new` are the messages that are new or have changed since the last read, with the ids that `Transcript.messages`
    gives them. `usage` is that of the newest response in the window (`None`: there is none, as right after a
    compaction), `window` the tokens that the model can read, where the file tells. `todos` is `None` where no list
    was written. `blocks` are the texts that hooks added and that are in the window now; `anchors` the ids of the
    messages there, in order, a compaction's marker and summary first; `all_anchors` the same with what compactions
    took out. What a rewind left behind is in neither. `responses` and `compactions` count from the session's
    beginning, `skipped` the lines that could not be read. `tells_remaining`: before the newest response the
    host told the model how many tokens remain. `prompt_blocks` are the sections of the system prompt with
    a tag of ours, as the host goes on to send it (`None`: the file does not tell). `trail` has the calls with the
    texts of hooks that were new in each; it is only filled by `read(trail=True)`.
    """

    new: tuple[Message, ...] = ()
    usage: ReportedUsage | None = None
    window: int | None = None
    model: str = ""
    blocks: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    all_anchors: tuple[str, ...] = ()
    responses: int = 0
    compactions: int = 0
    todos: tuple[Todo, ...] | None = None
    title: str = ""
    skipped: int = 0
    tells_remaining: bool = False
    prompt_blocks: tuple[str, ...] | None = None
    trail: tuple[TrailCall, ...] = ()


_log = logging.getLogger(__name__)

_REMEMBERED_BYTES = 256
"""How much of what was read last is compared with the file before reading on."""

_Window: TypeAlias = ClaudeWindow | CodexWindow | PiWindow

_HOSTS: dict[str, tuple[JsonlDialect, type[_Window]]] = {
    claude_code.HOST: (claude_code.DIALECT, ClaudeWindow),
    codex.HOST: (codex.DIALECT, CodexWindow),
    pi.HOST: (pi.DIALECT, PiWindow),
}


def dialect_of(host: str) -> tuple[JsonlDialect, type[_Window]]:
    """Return how a host writes its transcripts, and what follows its window.

    Raises `ConfigError` for a host whose transcripts are not JSONL files.
    """
    if host not in _HOSTS:
        raise ConfigError(f"the transcripts of {host!r} cannot be followed", hint=f"Hosts: {', '.join(_HOSTS)}")
    return _HOSTS[host]


class TranscriptFollower:
    """Reads a session's transcript file as it grows.

    Raises `ConfigError` for a host whose transcripts are not such files.
    """

    def __init__(self, host: str, path: Path) -> None:
        self.path = path
        self._dialect, self._window_type = dialect_of(host)
        self._begin()

    def read(self, *, trail: bool = False) -> FollowedTranscript:
        """Read the lines that are new, and return the transcript as it is now, with its calls where `trail` says so.

        A line that is still being written is read when it is whole; one that is broken is counted and passed over. A
        file that was replaced, cut or written anew is read from its beginning. Where no file is, the transcript is
        empty; where it cannot be read, as it was.
        """
        try:
            with open_regular(self.path) as file:
                self._read_on(file)
        except FileNotFoundError:
            self._begin()
        except OSError as error:
            _log.debug("%s cannot be read: %s", self.path, error)
        followed = self._followed()
        return msgspec.structs.replace(followed, trail=tuple(self._trail.calls)) if trail else followed

    def go_back_to(self, record: str) -> FollowedTranscript:
        """Return the transcript as it is for a host that goes on behind the record with this id, and has not said so
        in the file yet; as it was for hosts whose records have no ids."""
        if not isinstance(self._window, CodexWindow):
            self._window.go_back_to(record)
        return self._followed()

    def _begin(self) -> None:
        self._file = (0, 0)
        self._offset = self._skipped = 0
        self._before = b""
        self._reader: MessageReader | None = None
        self._shift = 0  # bytes of the files before
        self._todos: TodoReader = self._dialect.todos()
        self._window: _Window = self._window_type()
        self._trail = CostTrail(self._dialect.host)

    def _read_on(self, file: BinaryIO) -> None:
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) != self._file or not self._goes_on(file, status.st_size):
            self._begin()
            self._file = (status.st_dev, status.st_ino)
        file.seek(self._offset)

        def skip(offset: int, reason: str) -> None:
            _log.debug("%s, byte %d: %s", self.path, offset, reason)
            self._skipped += 1
            self._offset = file.tell()

        for record in read_records(file, None, skip, unended=False):
            self._offset = file.tell()
            self._take(record)
        length = min(self._offset, _REMEMBERED_BYTES)
        file.seek(self._offset - length)
        self._before = file.read(length)

    def _goes_on(self, file: BinaryIO, size: int) -> bool:
        """Whether what was read is still there: a file can be written anew in its place."""
        if size < self._offset:
            return False
        file.seek(self._offset - len(self._before))
        return file.read(len(self._before)) == self._before

    def _take(self, record: JsonlRecord) -> None:
        if self._reader is None:
            row = self._dialect.row(self.path, [record])
            self._reader = self._dialect.messages(row.id if row is not None else self.path.stem)
            self._take_earlier(self.path, record, self._reader)
        self._take_next(record._replace(offset=record.offset + self._shift), self._reader)

    def _take_earlier(self, path: Path, first: JsonlRecord, reader: MessageReader) -> None:
        """Read what the session's file goes on from; ids of its messages stay, and no later one has the same."""
        try:
            for file, end in parts_before(self._dialect, path, first):
                with open_regular(file) as opened:
                    for record in read_records(opened, end, lambda _offset, _reason: None, unended=False):
                        if record.offset < end:
                            self._take_next(record._replace(offset=record.offset + self._shift), reader)
                    self._shift += os.fstat(opened.fileno()).st_size
        except OSError as error:
            _log.debug("what %s goes on from cannot be read: %s", path, error)

    def _take_next(self, record: JsonlRecord, reader: MessageReader) -> None:
        self._window.take(record, reader.take(record))
        self._todos.take(record)
        self._trail.take(record)

    def _followed(self) -> FollowedTranscript:
        contents = self._window.contents()
        return FollowedTranscript(
            new=self._reader.drafts.changed() if self._reader is not None else (),
            usage=contents.usage,
            window=contents.window,
            model=contents.model,
            blocks=contents.blocks,
            anchors=contents.anchors,
            all_anchors=contents.all_anchors,
            responses=contents.responses,
            compactions=contents.compactions,
            todos=self._todos.todos,
            title=contents.title,
            skipped=self._skipped,
            tells_remaining=contents.tells_remaining,
            prompt_blocks=contents.prompt_blocks,
        )
