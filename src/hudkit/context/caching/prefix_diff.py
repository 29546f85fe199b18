"""What of a transcript the call before had sent already, and which message departs first: by anchors and lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

import msgspec

from hudkit.context.caching.simulation import CacheBlock, CacheRequest, same_content
from hudkit.log.payloads import Divergence, SentTranscript


class Segment(NamedTuple):
    """A message as a host sends it: its anchor, its role, and its characters. A change of a message that leaves its
    length as it was is not seen."""

    anchor: str
    role: str
    size: int


def common_prefix(before: Sequence[Segment] | None, now: Sequence[Segment]) -> SentTranscript:
    """What `now` has in common with the call `before` (`None`: not known). Linear in both.

    A transcript that only grew, or only ends earlier, departs nowhere.
    """
    size, last = sum(piece.size for piece in now), now[-1].size if now else 0
    if before is None:
        return SentTranscript(len(now), size, last)
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False))
    place = sum(1 for _ in alike)
    kept = sum(piece.size for piece in now[:place])
    first = _departure(before, now, place) if place < min(len(before), len(now)) else None
    return SentTranscript(len(now), size, last, kept, first)


def _departure(before: Sequence[Segment], now: Sequence[Segment], place: int) -> Divergence:
    old, new = before[place], now[place]
    known = set(before[place:])
    again = sum(piece.size for piece in now[place:] if piece in known)
    if old.anchor == new.anchor:
        return Divergence(new.anchor, new.role, "changed", place, old.size, new.size, again)
    if any(piece.anchor == old.anchor for piece in now[place:]):
        return Divergence(new.anchor, new.role, "new", place, 0, new.size, again)
    return Divergence(old.anchor, old.role, "gone", place, old.size, 0, again)


# -- Where a request stops being a continuation of the one before, and what that costs (D6).


class BlockDivergence(msgspec.Struct, frozen=True):
    """The first block in which a request departs from the one before it.

    `index` is its place, `offset` the tokens before it (they can still be read from the cache). `before` and
    `after` are the blocks found there. `processed` counts the tokens of the new request from there on: none
    of them can be read. `again` counts those among them whose blocks the old request had too: what the break
    costs, because a change at the end would have left them readable.
    """

    index: int
    offset: int
    before: CacheBlock
    after: CacheBlock
    processed: int
    again: int


class CacheBreak(msgspec.Struct, frozen=True):
    """A divergence within a run: `call` is the place of the later request, from 0."""

    call: int
    divergence: BlockDivergence


def find_divergence(before: CacheRequest, after: CacheRequest) -> BlockDivergence | None:
    """The divergence of two requests, `None` where one only continues (or is a shorter form of) the other."""
    pairs = zip(before.blocks, after.blocks, strict=False)
    index = next((place for place, (old, new) in enumerate(pairs) if not same_content(old, new)), None)
    if index is None:
        return None
    old, new = before.blocks[index:], after.blocks[index:]
    return BlockDivergence(
        index=index,
        offset=sum(block.tokens for block in after.blocks[:index]),
        before=old[0],
        after=new[0],
        processed=sum(block.tokens for block in new),
        again=_again(old, new),
    )


def _again(old: Sequence[CacheBlock], new: Sequence[CacheBlock]) -> int:
    """Tokens of the new blocks that were among the old, each old block counted once."""
    left = Counter((block.role, block.key) for block in old)
    tokens = 0
    for block in new:
        known = (block.role, block.key)
        if left[known]:
            left[known] -= 1
            tokens += block.tokens
    return tokens


def find_breaks(requests: Sequence[CacheRequest]) -> tuple[CacheBreak, ...]:
    """Every divergence between neighbouring requests of a run, in order."""
    found = (
        (call, find_divergence(before, after)) for call, (before, after) in enumerate(pairwise(requests), start=1)
    )
    return tuple(CacheBreak(call, divergence) for call, divergence in found if divergence is not None)
