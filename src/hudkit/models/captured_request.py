"""A request as a scripted model got it: its content as pieces that are the same for every provider's wire shape.

`PrefixMeter` tells what a prefix cache would have given back of it, so that a script reports believable usage.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, groupby
from threading import Lock
from typing import Any

import msgspec

from hudkit.context.caching import ANTHROPIC, OPENAI, CacheBlock, CachePolicy, CacheRequest, CacheTree, CallCost

TextCounter = Callable[[str], int]
"""Counts the tokens of a text."""


class RequestPiece(msgspec.Struct, frozen=True):
    """One content block, the same for every shape.

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
        """Return what has to be equal for a prefix cache to take two pieces for the same one."""
        return (self.role, self.form, self.text, self.message)


class CapturedRequest(msgspec.Struct, frozen=True):
    """One request. `kind` is chat, title, compaction or other; `shape` openai (chat completions), responses,
    anthropic, gemini or empty.

    `number` counts the requests of a server from 0, `timestamp` is the arrival in Unix ms, `cost` what a prefix cache
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
    pieces: tuple[RequestPiece, ...]
    timestamp: int = msgspec.field(name="at")
    cost: CallCost

    @property
    def system(self) -> tuple[str, ...]:
        """Return the system texts, in order."""
        return tuple(piece.text for piece in self.pieces if piece.role == "system")

    @property
    def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that the request offers, in order; those of a namespace without its name."""
        return tuple(offered_tools(self.body))

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Return `(role, text)` of each message, system left out, the texts of one message joined by a line break.

        A tool result has the role tool and stands alone; a call is written as its name, its arguments and its id.
        So all shapes give the same, although Anthropic's has results and text in one user message.
        """
        numbered = [(place, piece) for place, piece in enumerate(self.pieces) if piece.message >= 0]
        # A result's own place is part of the key: results that stand side by side in one message stay apart.
        groups = groupby(
            (pair for pair in numbered if pair[1].role != "system"),
            key=lambda pair: (pair[1].message, pair[1].role, pair[0] if pair[1].form == "result" else -1),
        )
        return [(role, "\n".join(piece.text for _, piece in group)) for (_, role, _), group in groups]

    @property
    def text(self) -> str:
        """Everything that the model reads, tools left out."""
        return "\n".join(piece.text for piece in self.pieces if piece.role != "tools")

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """Return the places (in `pieces`) of the cache breakpoints."""
        return tuple(place for place, piece in enumerate(self.pieces) if piece.breakpoint)

    def request(self, count: TextCounter, *, timestamp: int | None = None) -> CacheRequest:
        """Return the request as `hudkit.context.caching` sees it, for simulated caches and prices."""
        blocks = tuple(
            CacheBlock(_piece_key(piece), count(piece.text), piece.role, piece.breakpoint) for piece in self.pieces
        )
        return CacheRequest(blocks, self.timestamp if timestamp is None else timestamp)


def tokens_by_bytes(text: str) -> int:
    """Return the tokens of a text by the rule of thumb: four bytes each, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def _piece_key(piece: RequestPiece) -> str:
    """Return a digest of a piece's content; where it stands is left to the blocks before it."""
    return blake2b("\0".join(piece.content[:3]).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def canonical_json(value: object) -> str:
    """Return JSON as compact text, keys in the order in which they came: a cache compares bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


KIND_MARKS: Mapping[str, tuple[str, ...]] = {
    "title": ("You are a title generator",),
    "compaction": ("context summarization agent", "about to lose the older part of your own conversation"),
}
"""What the system texts of a request say that is not a chat call: OpenCode 1.18's words, and those of our plugin."""


_LAST_USER_MARKS: Mapping[str, tuple[str, ...]] = {
    "compaction": ("CRITICAL: Respond with TEXT ONLY.", "You are performing a CONTEXT CHECKPOINT COMPACTION.")
}
"""How the last user text of such a request begins, where its system text is that of every call: Claude Code 2.1,
Codex 0.169."""


def request_kind(pieces: Iterable[RequestPiece], marks: Mapping[str, tuple[str, ...]] = KIND_MARKS) -> str:
    """Return the first kind one of whose marks is in a system text, or with which the last user text begins, else
    `chat`."""
    listed = tuple(pieces)
    system = [piece.text for piece in listed if piece.role == "system"]
    for kind, texts in marks.items():
        if any(mark in text for mark in texts for text in system):
            return kind
    last = next((piece.text for piece in reversed(listed) if piece.role == "user" and piece.form == "text"), "")
    return next((kind for kind, begins in _LAST_USER_MARKS.items() if last.startswith(begins)), "chat")


def offered_tools(body: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the `type` and `namespace` of each tool that a request offers, by name and in order."""
    offered: dict[str, dict[str, str]] = {}
    items = body.get("input")
    added = (item for item in items if item.get("type") == "additional_tools") if isinstance(items, list) else ()
    for tool in chain(body.get("tools") or (), *(item["tools"] for item in added)):
        namespace = str(tool["name"]) if tool.get("type") == "namespace" else ""
        for each in tool.get("tools", ()) if namespace else (tool,):
            name = str((each.get("function") or each).get("name", ""))
            offered[name] = {"type": str(each.get("type", "")), "namespace": namespace}
    return offered


_GRAIN = 512
"""Characters of a block where the cache is automatic: it then finds a common prefix to about that length."""

_POLICIES: dict[str, CachePolicy] = {"openai": OPENAI, "responses": OPENAI, "anthropic": ANTHROPIC, "gemini": OPENAI}


class PrefixMeter:
    """One prefix cache per shape, with the rules of `hudkit.context.caching`; calls may come from several threads."""

    def __init__(self, count: TextCounter) -> None:
        self._count = count
        self._trees = {shape: CacheTree(policy) for shape, policy in _POLICIES.items()}
        self._lock = Lock()

    def cost(self, shape: str, pieces: Sequence[RequestPiece], timestamp: int) -> CallCost:
        """Return what the next request costs (without its answer), and remember its prefix. `at` is in Unix ms.

        Raises `ConfigError` for more cache breakpoints than the shape's server takes.
        """
        blocks = [
            CacheBlock(_piece_key(piece), self._count(piece.text), piece.role, piece.breakpoint) for piece in pieces
        ]
        if not _POLICIES[shape].explicit:
            blocks = [block for piece in pieces for block in self._grains(piece)]
        with self._lock:
            return self._trees[shape].call(CacheRequest(tuple(blocks), timestamp))

    def answer(self, texts: Sequence[str]) -> int:
        """Return the tokens of an answer, one at least: no provider reports none."""
        return max(1, sum(map(self._count, texts)))

    def _grains(self, piece: RequestPiece) -> list[CacheBlock]:
        """Return the piece as blocks of the length at which a match may end; the last one says that it is over."""
        text, out = piece.text, []
        for start in range(0, len(text), _GRAIN):
            part = text[start : start + _GRAIN]
            end = "" if start + _GRAIN < len(text) else "."
            out.append(CacheBlock(piece.form + end + part, self._count(part), piece.role))
        return out
