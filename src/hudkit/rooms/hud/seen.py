"""What an agent sees in a beat: the bytes, what they cost, what they say, and what was left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


class Section(msgspec.Struct, frozen=True, gc=False):
    """A part of a HUD and its tokens: `system`, `meta`, `identity`, `knowledge`, `recent_actions`, or one room.

    Of a room: its share of attention in percent, the most tokens that it had, how many messages are shown of those
    that this agent may see, and the tokens of what is not messages.
    """

    name: str
    tokens: int
    room: int | None = None
    share: float = 0.0
    limit: int = 0
    metadata: int = 0
    shown: int = 0
    visible: int = 0


class Omission(msgspec.Struct, frozen=True):
    """What is not shown: which part of the HUD, what of it, how many, and why."""

    section: str
    what: str
    count: int
    why: str


class Later:
    """Plain data that is put together when it is asked for; equal to what would be equal then."""

    __slots__ = ("_make",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        self._make = make

    def __call__(self) -> dict[str, Any]:
        return self._make()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Later) and self() == other()


class Seen(msgspec.Struct, frozen=True):
    """A HUD. `tokens` are those of `text` by the typesetter's counter; `digest` is BLAKE2b (128 bits, hex) of its
    UTF-8; `tell` gives `document`. The first `stable` characters are the same for all agents of a kind, and so far a
    provider's prefix cache serves all of them."""

    agent: int
    at: int
    format: str
    text: str
    tokens: int
    limit: int
    digest: str
    stable: int
    sections: tuple[Section, ...]
    omitted: tuple[Omission, ...]
    tell: Later

    @property
    def document(self) -> dict[str, Any]:
        """The plain data that the text says, not to be changed. Put together when it is asked for: most minds read
        the text."""
        return self.tell()
