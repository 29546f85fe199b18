"""Which old outputs of tools leave the window, and when that pays. Pure: outputs and figures in, a choice out.

**The idea.** To let an output go, all that stands behind it has to be written to the cache anew: the price grows with
the distance from the end, the gain with what is freed. So it is always the newest candidates from one on that go
together, since they have most of the price in common; for each place where that row could begin, price and gain are
worked out, and the best place is taken. Two things keep it from happening too early or too often: a price is only
paid where carrying the outputs has cost half as much already (as one buys skis once renting them has cost as much),
and a pruning has to free a minimum. With a cold cache there is no price, and all candidates go.

**Example.** The outputs A (10,000 tokens), B (200) and C (6,000) stand 30,000, 29,000 and 12,000 tokens before the
end, 8,000 are protected. C alone frees 5,976 and writes 12,000 anew; C, B and A free 16,128 and write 29,872 - 200
... anew: the one with the larger saving in all is chosen, none while neither pays.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from hudkit.compose import shorten, visible
from hudkit.context.budget import TOKENS_PER_CHARACTER
from hudkit.context.caching.policies import CachePolicy
from hudkit.context.compaction.cost_model import CallCosts, PrefixChange, net_saving, rewritten_tokens, upfront_cost
from hudkit.context.compaction.request_parts import CallOutput

STUB_TOKENS = 24
"""Tokens of a stub, about."""

MIN_OUTPUT_TOKENS = 100
"""Tokens below which an output is left as it is: its stub would free little."""

ASKED_AGAIN_SHARE = 0.05
"""The share of pruned outputs that is counted as asked for again."""

MIN_RENT = 0.5
"""The share of a warm pruning's price that carrying the outputs must have cost already. Where outputs come evenly,
the cheapest time is when both are about equal; a little earlier, they are still in reach of a breakpoint."""

PROTECTED = ("hud", "hud_*", "memory", "memory_*", "skill", "task", "todo*")
"""Tools whose outputs stay: the HUD's own, what the agent plans by, instructions, and reports of subagents."""

PROTECTED_PARTS, MINIMUM_PARTS = 12, 8
"""The largest parts of a window that are protected (a twelfth), and asked for at least (an eighth): in a small window
the settings, made for a large one, would leave nothing to prune."""


class PruneBounds(NamedTuple):
    """In tokens: `protect` of the end of the transcript is never pruned, and less than `minimum` is not pruned."""

    protect: int
    minimum: int


class PruneCandidate(NamedTuple):
    """An output that may be pruned, in tokens; `behind` is what stands after it as the request is now."""

    call: str
    tool: str
    size: float
    behind: float
    blocks: int


class PruneChoice(NamedTuple):
    """What to prune, oldest first. In tokens: `freed` by it, `again` what has to be written again that could have
    been read, `cost` at this call and `saves` in all, both in input tokens at full price (a negative cost saves at
    once)."""

    outputs: tuple[PruneCandidate, ...]
    freed: float
    again: float
    cost: float
    saves: float


def prune_bounds(window: int, protect: int, minimum: int) -> PruneBounds:
    """Return the bounds in a window of so many tokens: as they are set, but no more than their part of it."""
    return PruneBounds(min(protect, window // PROTECTED_PARTS), min(minimum, window // MINIMUM_PARTS))


def _is_protected(tool: str, names: Collection[str]) -> bool:
    """Return whether a tool is among the names; one that ends in `*` stands for all that begin so."""
    return tool in names or any(name.endswith("*") and tool.startswith(name[:-1]) for name in names)


def prune_candidates(
    outputs: Sequence[CallOutput], pruned: Collection[str], protected: Collection[str], bounds: PruneBounds
) -> tuple[PruneCandidate, ...]:
    """Return the outputs that may be pruned, oldest first, of `outputs`: all of a transcript, oldest first.

    They are those that are not `pruned` already, not of one of our `PROTECTED` tools, nor of a tool or call that is
    `protected` beside, not too small, and not within the protected end of the transcript.
    """
    names = (*PROTECTED, *protected)
    candidates = []
    gone = 0.0  # characters behind that are stubs already
    for output in reversed(outputs):
        if output.call in pruned:
            gone += output.size
            continue
        size = output.size * TOKENS_PER_CHARACTER
        behind = max(0.0, output.behind - gone) * TOKENS_PER_CHARACTER
        if behind < bounds.protect or size < MIN_OUTPUT_TOKENS:
            continue
        if not _is_protected(output.tool, names) and output.call not in protected:
            candidates.append(PruneCandidate(output.call, output.tool, size, behind, output.blocks))
    return tuple(reversed(candidates))


def choose_pruning(
    candidates: Sequence[PruneCandidate], costs: CallCosts, policy: CachePolicy, bounds: PruneBounds
) -> PruneChoice | None:
    """Return the candidates whose pruning saves the most, `None` where none pays. O(candidates).

    They are always the newest, from one on, so that what stands in front of that one stays in the cache; all of them
    where the cache is cold.
    """
    if sum(candidate.size - STUB_TOKENS for candidate in candidates) < bounds.minimum:
        return None
    best: PruneChoice | None = None
    freed = rent = 0.0
    for place in range(len(candidates) - 1, -1, -1):
        candidate = candidates[place]
        freed += candidate.size - STUB_TOKENS
        calls = (candidate.behind - bounds.protect) / max(1.0, costs.pace)  # since it left the protected end
        rent += (candidate.size - STUB_TOKENS) * calls * policy.read_factor
        if freed < bounds.minimum or (costs.cold and place):
            continue
        change = PrefixChange(freed, candidate.behind + candidate.size, candidate.blocks)
        cost = upfront_cost(change, costs, policy)
        if rent < MIN_RENT * cost:
            continue
        count = len(candidates) - place
        # An output that is asked for again comes back at the end, by one call more.
        loss = ASKED_AGAIN_SHARE * (freed * policy.write_factor + count * costs.load * policy.read_factor)
        saves = net_saving(change, costs, policy, loss)
        if saves > 0 and (best is None or saves > best.saves):
            again = 0.0 if costs.cold else rewritten_tokens(change, costs, policy)
            best = PruneChoice(tuple(candidates[place:]), freed, again, cost, saves)
    return best


def stub_text(id: str, tool: str, size: int) -> str:
    """Return the line that stands where an output of so many characters was: what it was, and how to get it back.

    `id` is what `memory output` knows it by: its number among the pruned outputs (`p12`), or the id of the call.
    """
    # A tool's name is somebody else's text: no bracket in it may end the stub.
    name = shorten(visible(" ".join(tool.split())), 40).replace("[", "(").replace("]", ")")
    call = f'memory output {{"id":{json.dumps(id)}}}'
    return f"[pruned: {name}, {size:,} characters; {call} gets it]"
