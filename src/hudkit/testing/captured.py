"""A request as it reached the scripted model, and what tests ask about it: who says what, where two of them part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby, takewhile
from typing import Any

import msgspec

from hudkit.context.caching import CacheBlock, CacheRequest, CallCost

Count = Callable[[str], int]
"""Tokens of a text."""


class Piece(msgspec.Struct, frozen=True):
    """One content block, the same for both shapes.

    `role` is tools, system, user, assistant or tool; `form` is text, call, result or schema. `message` is the
    place of the wire's message that holds it (-1 before the messages). `breakpoint` says that the request asks
    to have the prefix up to here cached; it is no content.
    """

    role: str
    text: str
    form: str = "text"
    message: int = -1
    breakpoint: bool = False

    @property
    def content(self) -> tuple[str, str, str, int]:
        """What has to be equal for a prefix cache to take two pieces for one."""
        return (self.role, self.form, self.text, self.message)


class Captured(msgspec.Struct, frozen=True):
    """One request. `kind` is chat, title, compaction or other; `shape` openai, anthropic or empty.

    `number` counts the requests of a server from 0, `at` is the arrival in Unix ms, `cost` what a prefix cache
    that saw every earlier request would have read of it (the answer's tokens are not in it). `body` is empty
    where `raw` holds no JSON object.
    """

    number: int
    kind: str
    shape: str
    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Mapping[str, Any]
    pieces: tuple[Piece, ...]
    at: int
    cost: CallCost

    @property
    def system(self) -> tuple[str, ...]:
        """The system texts, in order."""
        return tuple(piece.text for piece in self.pieces if piece.role == "system")

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the request offers, in order."""
        return tuple(map(_tool_name, self.body.get("tools") or ()))

    @property
    def messages(self) -> list[tuple[str, str]]:
        """`(role, text)` of each message, system left out, the texts of one message joined by a line break.

        A tool result has the role tool and stands alone; a call is written as its name, its arguments and its id.
        So both shapes give the same, although Anthropic's has results and text in one user message.
        """
        spoken = [(place, piece) for place, piece in enumerate(self.pieces) if piece.message >= 0]
        groups = groupby(
            (pair for pair in spoken if pair[1].role != "system"),
            key=lambda pair: (pair[1].message, pair[1].role, pair[0] if pair[1].form == "result" else -1),
        )
        return [(role, "\n".join(piece.text for _, piece in group)) for (_, role, _), group in groups]

    @property
    def text(self) -> str:
        """Everything that the model reads, tools left out."""
        return "\n".join(piece.text for piece in self.pieces if piece.role != "tools")

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """The places (in `pieces`) of the cache breakpoints."""
        return tuple(place for place, piece in enumerate(self.pieces) if piece.breakpoint)

    def request(self, count: Count, *, at: int | None = None) -> CacheRequest:
        """The same as `hudkit.context.caching` sees it: for simulated caches and prices."""
        blocks = tuple(
            CacheBlock(key(piece), count(piece.text), piece.role, piece.breakpoint) for piece in self.pieces
        )
        return CacheRequest(blocks, self.at if at is None else at)


def by_bytes(text: str) -> int:
    """Tokens of a text by the rule of thumb: four bytes each, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def key(piece: Piece) -> str:
    """A digest of a piece's content; where it stands is left to the blocks before it."""
    return blake2b("\0".join(piece.content[:3]).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# -- prefixes --------------------------------------------------------------------------------------------------


def unchanged(text: str) -> str:
    """No tail to take off."""
    return text


def departs(before: Captured, after: Captured, tail: Callable[[str], str] = unchanged) -> str:
    """Where `before` is not a prefix of `after`, in words; empty where it is one.

    `tail` takes the tail off a text (and gives "" for a text that is nothing else). It is used only on what
    follows the last answer of the model in `before`, and only where the request as it is does not fit: only
    there may something stand that is gone in the next request. Breakpoints are not content.
    """
    if not _first_difference(before.pieces, after.pieces):
        return ""
    return _first_difference(_without_tail(before.pieces, tail), after.pieces)


def _first_difference(old: Sequence[Piece], new: Sequence[Piece]) -> str:
    for place, piece in enumerate(old):
        if place >= len(new):
            return f"piece {place} of {len(old)} ({piece.role} {piece.form}) is gone: {piece.text[:80]!r}"
        other = new[place]
        if piece.content != other.content:
            same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(piece.text, other.text, strict=False))))
            return (
                f"piece {place} of {len(old)} ({piece.role} {piece.form}, message {piece.message}) "
                f"parts at character {same}: {_around(piece.text, same)} became "
                f"({other.role} {other.form}, message {other.message}) {_around(other.text, same)}"
            )
    return ""


def _around(text: str, place: int) -> str:
    return repr(text[max(0, place - 20) : place + 60])


def _without_tail(pieces: Sequence[Piece], tail: Callable[[str], str]) -> list[Piece]:
    answered = max((place for place, piece in enumerate(pieces) if piece.role == "assistant"), default=-1)
    out = list(pieces[: answered + 1])
    for piece in pieces[answered + 1 :]:
        text = tail(piece.text) if piece.message >= 0 else piece.text
        if text:
            out.append(msgspec.structs.replace(piece, text=text))
    return out


# -- kinds -----------------------------------------------------------------------------------------------------

MARKS: Mapping[str, tuple[str, ...]] = {
    "title": ("You are a title generator",),
    "compaction": ("context summarization agent", "about to lose the older part of your own conversation"),
}
"""What the system texts of a request say that is not a chat call: OpenCode 1.18's words, and those of our plugin."""


def kind_of(pieces: Iterable[Piece], marks: Mapping[str, tuple[str, ...]] = MARKS) -> str:
    """The first kind one of whose marks is in a system text, else `chat`."""
    system = [piece.text for piece in pieces if piece.role == "system"]
    for kind, texts in marks.items():
        if any(mark in text for mark in texts for text in system):
            return kind
    return "chat"


def _tool_name(tool: Mapping[str, Any]) -> str:
    return str((tool.get("function") or tool).get("name", ""))
