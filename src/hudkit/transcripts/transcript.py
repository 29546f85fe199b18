"""What a host's recorded conversation is: sessions, messages, their parts, and the `Transcript` protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import msgspec


class ReportedUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Token counts of one response as its provider reported them; `total` is `None` where it was not told.

    `input` leaves the cached part out: it is not the window in use. Use `used`.
    """

    total: int | None = None
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def prompt(self) -> int:
        """Return the tokens of the request: fresh, cached and newly cached, each counted once."""
        return self.input + self.cache_read + self.cache_write

    @property
    def used(self) -> int:
        """Return the tokens in use after the response: the reported total, else the sum of the parts."""
        return self.total if self.total else self.prompt + self.output


class SessionRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One conversation of a host; times are Unix milliseconds, `root` is the project's directory.

    Title, agent and model are those of the last time it was written, not of its beginning.
    """

    id: str
    host: str
    parent_id: str = ""
    directory: str = ""
    title: str = ""
    agent: str = ""
    model: str = ""
    root: str = ""
    created: int = 0
    updated: int = 0


class TextPart(msgspec.Struct, frozen=True, tag="text"):
    """Text of the user or the model; a synthetic one was written by the host, an ignored one is not sent."""

    id: str
    text: str
    synthetic: bool = False
    ignored: bool = False


class ReasoningPart(msgspec.Struct, frozen=True, tag="reasoning"):
    """The model's reasoning, where the host keeps it."""

    id: str
    text: str


class ToolPart(msgspec.Struct, frozen=True, tag="tool"):
    """One tool call and its result. `compacted`: the host has cleared the output, the model sees a stub."""

    id: str
    tool: str
    call_id: str
    status: str  # pending | running | completed | error
    input: dict[str, Any]
    output: str = ""
    error: str = ""
    title: str = ""
    metadata: dict[str, Any] = {}
    start: int = 0
    end: int = 0
    compacted: bool = False

    @property
    def done(self) -> bool:
        """Return whether the call has a result that will not change any more."""
        return self.status in ("completed", "error")


class FilePart(msgspec.Struct, frozen=True, tag="file"):
    """A file that the user attached; `path` is empty where it was not one on this machine."""

    id: str
    path: str
    mime: str = ""


class CompactionPart(msgspec.Struct, frozen=True, tag="compaction"):
    """Marks a user message as a compaction; messages from `tail_start_id` up to the marker are kept verbatim."""

    id: str
    auto: bool = False
    overflow: bool = False
    tail_start_id: str = ""


class PatchPart(msgspec.Struct, frozen=True, tag="patch"):
    """Files that changed on disk during one model response, by whatever tool."""

    id: str
    files: tuple[str, ...]


class StepPart(msgspec.Struct, frozen=True, tag="step"):
    """Begin or end of one model response."""

    id: str
    edge: Literal["start", "finish"]
    usage: ReportedUsage | None = None
    reason: str = ""


class OtherPart(msgspec.Struct, frozen=True, tag="other"):
    """A part of a kind that this version does not know, by name."""

    id: str
    kind: str


Part: TypeAlias = TextPart | ReasoningPart | ToolPart | FilePart | CompactionPart | PatchPart | StepPart | OtherPart


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message with its parts in order. An assistant message is one model response with its tool results."""

    id: str
    session_id: str
    role: str  # user | assistant
    created: int = 0
    completed: int = 0  # 0: not finished
    agent: str = ""
    model: str = ""
    provider: str = ""
    parent_id: str = ""
    finish: str = ""
    summary: bool = False  # the model's answer to a compaction
    error: str = ""  # name and text of what ended the response
    aborted: bool = False
    usage: ReportedUsage | None = None
    parts: tuple[Part, ...] = ()


class Todo(msgspec.Struct, frozen=True):
    """One entry of the host's todo list."""

    content: str
    status: str = "pending"
    priority: str = ""


class UnreadableRecord(msgspec.Struct, frozen=True):
    """A record that could not be read, and why; everything else of the transcript still was."""

    table: str
    id: str
    reason: str


@runtime_checkable
class Transcript(Protocol):
    """A host's recorded sessions, read-only. Every method may raise `TranscriptError`."""

    @property
    def host(self) -> str:
        """Return the name of the host whose sessions they are."""
        ...

    @property
    def skipped(self) -> tuple[UnreadableRecord, ...]:
        """Return what could not be read so far, at most the first thousand; each record once."""
        ...

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return all sessions, oldest first."""
        ...

    def session(self, session_id: str) -> SessionRow | None:
        """Return one session, `None` for an unknown id."""
        ...

    def messages(self, session_id: str, *, after: str = "") -> Iterator[Message]:
        """Return a session's messages in the host's order, from behind the one with the id `after`.

        Nothing for an unknown session. Raises `TranscriptError` where the session has no message `after`.
        """
        ...

    def todos(self, session_id: str) -> tuple[Todo, ...]:
        """Return the session's todo list as it is now."""
        ...

    def close(self) -> None:
        """Let go of the files; closing twice is harmless."""
        ...
