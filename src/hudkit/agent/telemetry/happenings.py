"""What can happen to an agent, in no host's words: what a host tells, and what spans are made of.

Times are Unix milliseconds. Texts are only read where content is asked for; a host may leave them out otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Figure = bool | int | float | str | tuple[str, ...]
"""A value that an attribute can have."""


class Piece(msgspec.Struct, frozen=True):
    """A part of a message. `text` is words, reasoning, or a tool's result; `name` a tool's, or a file's."""

    kind: Literal["text", "reasoning", "call", "result", "media"]
    text: str = ""
    id: str = ""
    name: str = ""
    arguments: object = None
    media_type: str = ""


class Said(msgspec.Struct, frozen=True):
    """A message of a request, or the answer."""

    role: Literal["user", "assistant", "tool"]
    parts: tuple[Piece, ...]


class Usage(msgspec.Struct, frozen=True):
    """The tokens of one call, each counted once: `fresh`, `read` from and `written` to the cache make the request;
    `reasoning` is a part of `output`."""

    fresh: int
    read: int
    written: int
    output: int
    reasoning: int = 0

    @property
    def input(self) -> int:
        return self.fresh + self.read + self.written


class Happening(msgspec.Struct, frozen=True):
    """Something that happened in a session at a time."""

    session_id: str
    at: int


class AgentBegan(Happening, frozen=True):
    """An agent took up work. `parent` is the session and the call id that it works for, where it is a sub-agent."""

    agent: str
    model: str = ""
    parent: tuple[str, str] | None = None


class AgentEnded(Happening, frozen=True):
    """It is over. `error` is the type of what went wrong (empty: nothing), `words` are for people."""

    reason: str
    error: str = ""
    words: str = ""
    steps: int = 0


class ModelCalled(Happening, frozen=True):
    """A request went out, or went out again after a `Retried`. `limit` is the window in tokens (0: not known);
    `summary`: it is a compaction's."""

    model: str
    agent: str
    limit: int = 0
    summary: bool = False
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    system: tuple[str, ...] = ()
    messages: tuple[Said, ...] = ()


class FirstPiece(Happening, frozen=True):
    """The answer began to come."""


class Retried(Happening, frozen=True):
    """The request came to nothing, and goes out again after `seconds`."""

    attempt: int
    seconds: float
    error: str


class ModelAnswered(Happening, frozen=True):
    """The answer is there. `cost` is in US dollars (`None`: not known); `model` and `id` are the server's words."""

    reason: str
    usage: Usage | None = None
    cost: float | None = None
    model: str = ""
    id: str = ""
    answer: Said | None = None


class ModelFailed(Happening, frozen=True):
    """There will be no answer."""

    error: str
    words: str = ""


class ToolBegan(Happening, frozen=True):
    """A call is about to run."""

    tool: str
    call_id: str
    arguments: Mapping[str, Any] = {}


class ToolEnded(Happening, frozen=True):
    """A call has its result; one that never ran has no `ToolBegan`."""

    tool: str
    call_id: str
    error: str = ""
    text: str = ""
    arguments: Mapping[str, Any] = {}


class Figured(Happening, frozen=True):
    """Figures of the model call that comes next, by the names of their attributes."""

    figures: Mapping[str, Figure]


class CompactionBegan(Happening, frozen=True):
    """`trigger`: `auto` (the window was full), `overflow` (the provider said so), `asked`."""

    trigger: str


class CompactionEnded(Happening, frozen=True):
    """The summary is there; `by_model` is false where it was made of the records alone."""

    by_model: bool


class Pruned(Happening, frozen=True):
    """The outputs of this many calls left the window."""

    calls: int
