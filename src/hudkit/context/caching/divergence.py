"""Where a request stops being a continuation of the one before, and what that costs (D6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from hudkit.context.caching.requests import Block, Request, same


class Divergence(msgspec.Struct, frozen=True):
    """The first block in which a request departs from the one before it.

    `index` is its place, `offset` the tokens before it (they can still be read from the cache). `before` and
    `after` are the blocks found there. `processed` counts the tokens of the new request from there on: none
    of them can be read. `again` counts those among them whose blocks the old request had too: what the break
    costs, because a change at the end would have left them readable.
    """

    index: int
    offset: int
    before: Block
    after: Block
    processed: int
    again: int


class Break(msgspec.Struct, frozen=True):
    """A divergence within a run: `call` is the place of the later request, from 0."""

    call: int
    divergence: Divergence


def diverge(before: Request, after: Request) -> Divergence | None:
    """The divergence of two requests, `None` where one only continues (or is a shorter form of) the other."""
    pairs = zip(before.blocks, after.blocks, strict=False)
    index = next((place for place, (old, new) in enumerate(pairs) if not same(old, new)), None)
    if index is None:
        return None
    old, new = before.blocks[index:], after.blocks[index:]
    return Divergence(
        index=index,
        offset=sum(block.tokens for block in after.blocks[:index]),
        before=old[0],
        after=new[0],
        processed=sum(block.tokens for block in new),
        again=_again(old, new),
    )


def _again(old: Sequence[Block], new: Sequence[Block]) -> int:
    """Tokens of the new blocks that were among the old, each old block counted once."""
    left = Counter((block.role, block.key) for block in old)
    tokens = 0
    for block in new:
        known = (block.role, block.key)
        if left[known]:
            left[known] -= 1
            tokens += block.tokens
    return tokens


def breaks(requests: Sequence[Request]) -> tuple[Break, ...]:
    """Every divergence between neighbouring requests of a run, in order."""
    found = ((call, diverge(before, after)) for call, (before, after) in enumerate(pairwise(requests), start=1))
    return tuple(Break(call, divergence) for call, divergence in found if divergence is not None)
