"""Where a request stops being a continuation of the one before: what a cache can still read, and what not (D6).

Two readings of the same question. `find_divergence` compares requests block by block, where their bytes are known.
`common_prefix` compares transcripts by the anchors and lengths of their messages: that is all that a host tells of
them, and it is recorded with every call.

Example: a call had the messages a (10 characters), b (20), c (30); the next has a (10), b (5), c (30), d (8). They
have a in common: `kept` is 10. The first divergence is b, `changed` from 20 to 5; behind it c is sent again, 30
characters that a change at the end would have left readable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

import msgspec

from hudkit.context.caching.simulation import CacheBlock, CacheRequest
from hudkit.log.payloads import Divergence, SentTranscript


class Segment(NamedTuple):
    """A message as a host sends it: its anchor, its role, and its characters.

    A change of a message that leaves its length as it was is not seen.
    """

    anchor: str
    role: str
    size: int


def common_prefix(before: Sequence[Segment] | None, now: Sequence[Segment]) -> SentTranscript:
    """Return what `now` has in common with the call `before` (`None`: not known). Linear in both.

    A transcript that only grew, or only ends earlier, diverges nowhere.
    """
    size, last = sum([segment.size for segment in now]), now[-1].size if now else 0
    if before is None:
        return SentTranscript(len(now), size, last)
    place = min(len(before), len(now))
    if before[:place] != now[:place]:  # as a rule they are the same objects, which costs next to nothing to see
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False))
        place = sum(1 for _ in alike)
    shared_size = size - sum([segment.size for segment in now[place:]])
    first = _divergence(before, now, place) if place < min(len(before), len(now)) else None
    return SentTranscript(len(now), size, last, shared_size, first)


def _divergence(before: Sequence[Segment], now: Sequence[Segment], place: int) -> Divergence:
    old, new = before[place], now[place]
    former = set(before[place:])
    again = sum(segment.size for segment in now[place:] if segment in former)
    if old.anchor == new.anchor:
        return Divergence(new.anchor, new.role, "changed", place, old.size, new.size, again)
    if any(segment.anchor == old.anchor for segment in now[place:]):
        return Divergence(new.anchor, new.role, "new", place, 0, new.size, again)
    return Divergence(old.anchor, old.role, "gone", place, old.size, 0, again)


# -- by blocks -------------------------------------------------------------------------------------------------


class BlockDivergence(msgspec.Struct, frozen=True):
    """The first block in which a request departs from the one before it.

    `index` is its place, `offset` the tokens before it (they can still be read from the cache). `before` and
    `after` are the blocks at that place. `processed` counts the tokens of the new request from there on: none
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
    """Return the divergence of two requests, `None` where one only continues (or is a shorter form of) the other."""
    pairs = zip(before.blocks, after.blocks, strict=False)
    index = next((place for place, (old, new) in enumerate(pairs) if not _same_content(old, new)), None)
    if index is None:
        return None
    old, new = before.blocks[index:], after.blocks[index:]
    return BlockDivergence(
        index=index,
        offset=sum(block.tokens for block in after.blocks[:index]),
        before=old[0],
        after=new[0],
        processed=sum(block.tokens for block in new),
        again=_tokens_again(old, new),
    )


def _tokens_again(old: Sequence[CacheBlock], new: Sequence[CacheBlock]) -> int:
    """Tokens of the new blocks that were among the old, each old block counted once."""
    left = Counter((block.role, block.key) for block in old)
    tokens = 0
    for block in new:
        content = (block.role, block.key)
        if left[content]:
            left[content] -= 1
            tokens += block.tokens
    return tokens


def find_breaks(requests: Sequence[CacheRequest]) -> tuple[CacheBreak, ...]:
    """Return every divergence between neighbouring requests of a run, in order."""
    breaks = []
    for call, (before, after) in enumerate(pairwise(requests), start=1):
        divergence = find_divergence(before, after)
        if divergence is not None:
            breaks.append(CacheBreak(call, divergence))
    return tuple(breaks)


def _same_content(block: CacheBlock, other: CacheBlock) -> bool:
    """Return whether a cache takes two blocks for the same: same bytes in the same part.

    A breakpoint is not content.
    """
    return block.key == other.key and block.role == other.role
