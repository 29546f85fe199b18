"""Usage figures for a scripted model: what a prefix cache that saw the earlier requests makes of each."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from hudkit.context.caching import ANTHROPIC, OPENAI, CacheBlock, CachePolicy, CacheRequest, CacheTree, CallCost
from hudkit.testing.captured import Count, Piece, key

_GRAIN = 512
"""Characters of a block where the cache is automatic: it then finds a common prefix to about that length."""

_POLICIES: dict[str, CachePolicy] = {"openai": OPENAI, "anthropic": ANTHROPIC, "gemini": OPENAI}


class PrefixMeter:
    """One cache per shape, with the rules of `hudkit.context.caching`; calls may come from several threads."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._trees = {shape: CacheTree(policy) for shape, policy in _POLICIES.items()}
        self._lock = Lock()

    def cost(self, shape: str, pieces: Sequence[Piece], at: int) -> CallCost:
        """What the next request costs (without its answer). `at` is in Unix ms.

        Raises `ConfigError` for more cache breakpoints than the shape's server takes.
        """
        blocks = [CacheBlock(key(piece), self._count(piece.text), piece.role, piece.breakpoint) for piece in pieces]
        if not _POLICIES[shape].explicit:
            blocks = [block for piece in pieces for block in self._grains(piece)]
        with self._lock:
            return self._trees[shape].call(CacheRequest(tuple(blocks), at))

    def answer(self, texts: Sequence[str]) -> int:
        """Tokens of an answer, one at least."""
        return max(1, sum(map(self._count, texts)))

    def _grains(self, piece: Piece) -> list[CacheBlock]:
        """The piece as blocks of the length at which a match may end; the last one also says that it is over."""
        text, out = piece.text, []
        for start in range(0, len(text), _GRAIN):
            part = text[start : start + _GRAIN]
            end = "" if start + _GRAIN < len(text) else "."
            out.append(CacheBlock(piece.form + end + part, self._count(part), piece.role))
        return out
