"""Which old outputs of tools leave the window, and when that pays. Pure: outputs and figures in, a choice out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from hudkit.compose import shorten, visible
from hudkit.context.caching.policies import CachePolicy
from hudkit.context.compaction.cost_model import CallCosts, PrefixChange, net_saving, rewritten_tokens, upfront_cost
from hudkit.context.compaction.request_parts import CallOutput

STUB = 24
"""Tokens of a stub, about."""
WORTH_A_STUB = 100
"""Tokens below which an output is left as it is."""
AGAIN = 0.05
"""The share of pruned outputs that is counted as asked for again."""
RENT = 0.5
"""The share of a warm pruning's price that carrying the outputs must have cost already. Where outputs come evenly,
the cheapest time is when both are about equal; a little earlier, they are still in reach of a breakpoint."""
PROTECTED = ("hud", "hud_*", "memory", "memory_*", "skill", "task", "todo*")
"""Tools whose outputs stay: the HUD's own, what the agent plans by, instructions, and reports of subagents."""
PROTECT_SHARE, MINIMUM_SHARE = 12, 8
"""The largest parts of a window that are protected (a twelfth), and asked for at least (an eighth)."""


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
    """The bounds in a window of so many tokens: as they are set, but no more than a twelfth and an eighth of it."""
    return PruneBounds(min(protect, window // PROTECT_SHARE), min(minimum, window // MINIMUM_SHARE))


def is_protected(tool: str, names: Collection[str]) -> bool:
    """Whether a tool is among the names; one that ends in `*` stands for all that begin so."""
    return tool in names or any(name.endswith("*") and tool.startswith(name[:-1]) for name in names)


def prune_candidates(
    outputs: Sequence[CallOutput],
    pruned: Collection[str],
    kept: Collection[str],
    protect: float,
    per_character: float,
) -> tuple[PruneCandidate, ...]:
    """The outputs that may be pruned, oldest first: those that are not `pruned` already, not of a `kept` tool or
    call, not too small, and not within the protected end of the transcript. `outputs` are all of it, oldest first."""
    found = []
    gone = 0.0  # characters behind that are stubs already
    for one in reversed(outputs):
        if one.call in pruned:
            gone += one.size
            continue
        size, behind = one.size * per_character, max(0.0, one.behind - gone) * per_character
        if behind >= protect and size >= WORTH_A_STUB and not is_protected(one.tool, kept) and one.call not in kept:
            found.append(PruneCandidate(one.call, one.tool, size, behind, one.blocks))
    return tuple(reversed(found))


def choose_pruning(
    found: Sequence[PruneCandidate], standing: CallCosts, policy: CachePolicy, bounds: PruneBounds
) -> PruneChoice | None:
    """The candidates whose pruning saves the most, `None` where none pays: always the newest of them, from one on, so
    that what stands in front of that one stays in the cache; all of them where the cache is cold. O(candidates)."""
    if sum(one.size - STUB for one in found) < bounds.minimum:
        return None
    best: PruneChoice | None = None
    freed = rent = 0.0
    for place in range(len(found) - 1, -1, -1):
        one = found[place]
        freed += one.size - STUB
        calls = (one.behind - bounds.protect) / max(1.0, standing.pace)  # since it left the protected end
        rent += (one.size - STUB) * calls * policy.read_factor
        if freed < bounds.minimum or (standing.cold and place):
            continue
        change = PrefixChange(freed, one.behind + one.size, one.blocks)
        cost = upfront_cost(change, standing, policy)
        if rent < RENT * cost:
            continue
        count = len(found) - place
        loss = AGAIN * (freed * policy.write_factor + count * standing.load * policy.read_factor)
        saves = net_saving(change, standing, policy, loss)
        if saves > 0 and (best is None or saves > best.saves):
            again = 0.0 if standing.cold else rewritten_tokens(change, standing, policy)
            best = PruneChoice(tuple(found[place:]), freed, again, cost, saves)
    return best


def stub_text(number: int, tool: str, size: int) -> str:
    """The line that stands where an output was: what it was, and how to get it back. No name of a tool can end it."""
    name = shorten(visible(" ".join(tool.split())), 40).replace("[", "(").replace("]", ")")
    call = f'memory output {{"id":"p{number}"}}'
    return f"[pruned: {name}, {size:,} characters; {call} gets it]"
