"""Which old outputs of tools leave the window, and when that pays. Pure: outputs and figures in, a choice out.

**First, what may go at all.** What the agent works with stays, whatever it costs: the outputs of the current and the
last turn of the user, the end of the transcript, the last read of each file (of each part, where it is read in
parts), and what was read of a file before it was changed, since the agent's picture of such a file is made of the
read and the changes. Nothing goes while less than half of the window is in use.

**Then, what pays.** To let an output go, all that stands behind it has to be written to the cache anew: the price
grows with the distance from the end, the gain with what is freed. So it is always the newest candidates from one on
that go together, since they have most of the price in common; for each place where that row could begin, price and
gain are worked out, and the best place is taken. Two things keep it from happening too early or too often: a price is
only paid where carrying the outputs has cost half as much already (as one buys skis once renting them has cost as
much), and a pruning has to free a minimum. With a cold cache there is no price, and all candidates go.

**Example.** The outputs A (10,000 tokens), B (200) and C (6,000) stand 30,000, 29,000 and 12,000 tokens before the
end, 8,000 are protected. C alone frees 5,976 and writes 12,000 anew; C, B and A free 16,128 and write 29,872 - 200
... anew: the one with the larger saving in all is chosen, none while neither pays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from hudkit.compose import shorten, visible
from hudkit.context.budget import TOKENS_PER_CHARACTER
from hudkit.context.caching.policies import CachePolicy
from hudkit.context.compaction.cost_model import CallCosts, PrefixChange, net_saving, rewritten_tokens, upfront_cost
from hudkit.context.compaction.request_parts import CallOutput
from hudkit.sections.call_history import FileUse

STUB_TOKENS = 24
"""Tokens of a stub, about."""

MIN_OUTPUT_TOKENS = 100
"""Tokens below which an output is left as it is: its stub would free little."""

ASKED_AGAIN_SHARE = 0.05
"""The share of pruned outputs that is counted as asked for again."""

PRUNE_MARGIN = 4.0
"""By how much the gain has to exceed the price of a warm pruning. Twice, as for a new base, was too little: of the
simulated sessions every second one with such a pruning became dearer. What saves much is still done."""

MIN_RENT = 0.5
"""The share of a warm pruning's price that carrying the outputs must have cost already. Where outputs come evenly,
the cheapest time is when both are about equal; a little earlier, they are still in reach of a breakpoint."""

PROTECTED = ("hud", "hud_*", "memory", "memory_*", "skill", "task", "todo*")
"""Tools whose outputs stay: the HUD's own, what the agent plans by, instructions, and reports of subagents."""

READ_TOOLS = ("read",)
"""Tools that read files. Where nobody knows which file an output is of, it stays."""

PROTECTED_TURNS = 2
"""Turns of the user whose outputs stay: the current one, and the one before it."""

PROTECTED_TOKENS, MINIMUM_TOKENS = 8_000, 6_000
"""What is protected of the end of a transcript, and freed at least, where the user sets nothing."""

PROTECTED_PARTS, MINIMUM_PARTS = 12, 8
"""The largest parts of a window that these two may be (a twelfth, an eighth): in a small window they would leave
nothing to prune. What the user sets is taken as it is."""


class PruneBounds(NamedTuple):
    """In tokens: `protect` of the end of the transcript is never pruned, less than `minimum` is not pruned, and
    nothing is while fewer than `min_used` are in use."""

    protect: int
    minimum: int
    min_used: float = 0.0


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


def prune_bounds(window: int, protect: int | None, minimum: int | None, min_used_percent: float) -> PruneBounds:
    """Return the bounds in a window of so many tokens: as they are set; for those that are `None`, what suits it."""
    return PruneBounds(
        min(PROTECTED_TOKENS, window // PROTECTED_PARTS) if protect is None else protect,
        min(MINIMUM_TOKENS, window // MINIMUM_PARTS) if minimum is None else minimum,
        window * min_used_percent / 100,
    )


def superseded_reads(uses: Iterable[FileUse]) -> frozenset[str]:
    """Return the calls that read what a later call read again, with no change of the file after the first of them.

    `uses` are the reads and changes of files in order. Example: a.py is read by c1 and c2, changed, and read by c3
    and c4. Only c3 is superseded: c1 and c2 are what was changed, c4 is the newest. O(uses).
    """
    superseded: set[str] = set()
    unchanged: dict[str, dict[str, list[str]]] = {}  # by path and part, the reads since the last change
    for use in uses:
        if not use.call:
            unchanged.pop(use.path, None)
            continue
        reads = unchanged.setdefault(use.path, {}).setdefault(use.part, [])
        reads.append(use.call)
    for parts in unchanged.values():
        for reads in parts.values():
            superseded.update(reads[:-1])
    return frozenset(superseded)


def is_protected_tool(tool: str, names: Collection[str] = ()) -> bool:
    """Return whether outputs of a tool stay: it is among `PROTECTED` or the names.

    One that ends in `*` stands for all that begin so.
    """
    every = (*PROTECTED, *names)
    return tool in every or any(name.endswith("*") and tool.startswith(name[:-1]) for name in every)


def prune_candidates(
    outputs: Sequence[CallOutput],
    pruned: Collection[str],
    bounds: PruneBounds,
    *,
    uses: Sequence[FileUse] = (),
    tools: Collection[str] = (),
    needed: Collection[str] = (),
) -> tuple[PruneCandidate, ...]:
    """Return the outputs that may be pruned, oldest first, of `outputs`: all of a transcript, oldest first.

    They are those that are not `pruned` already, not of one of our `PROTECTED` tools or of `tools`, not of a call in
    `needed`, not too small, and neither within the protected end of the transcript nor of the last turns of the user.
    Of what reads files (`uses`, in order), only what was superseded may go, and nothing of an unknown file.
    """
    superseded, reads = superseded_reads(uses), frozenset([use.call for use in uses])
    candidates = []
    gone = 0.0  # characters behind that are stubs already
    for output in reversed(outputs):
        if output.call in pruned:
            gone += output.size
            continue
        size = output.size * TOKENS_PER_CHARACTER
        behind = max(0.0, output.behind - gone) * TOKENS_PER_CHARACTER
        if behind < bounds.protect or size < MIN_OUTPUT_TOKENS or output.prompts < PROTECTED_TURNS:
            continue
        is_read = output.tool in READ_TOOLS or output.call in reads
        if output.call in needed or (is_read and output.call not in superseded):
            continue
        if not is_protected_tool(output.tool, tools):
            candidates.append(PruneCandidate(output.call, output.tool, size, behind, output.blocks))
    return tuple(reversed(candidates))


def choose_pruning(
    candidates: Sequence[PruneCandidate], costs: CallCosts, policy: CachePolicy, bounds: PruneBounds
) -> PruneChoice | None:
    """Return the candidates whose pruning saves the most, `None` where none pays. O(candidates).

    They are always the newest, from one on, so that what stands in front of that one stays in the cache; all of them
    where the cache is cold.
    """
    if (costs.load if costs.used is None else costs.used) < bounds.min_used:
        return None
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
        saves = net_saving(change, costs, policy, loss, PRUNE_MARGIN)
        if saves > 0 and (best is None or saves > best.saves):
            again = 0.0 if costs.cold else rewritten_tokens(change, costs, policy)
            best = PruneChoice(tuple(candidates[place:]), freed, again, cost, saves)
    return best


def stub_text(id: str, tool: str, size: int) -> str:
    """Return the line that stands where an output of so many characters was: what it was, and how to get it back.

    `id` is what `memory output` knows it by: its number among the pruned outputs (`p12`), or the id of the call.
    """
    import json  # few calls prune

    # A tool's name is somebody else's text: no bracket in it may end the stub.
    name = shorten(visible(" ".join(tool.split())), 40).replace("[", "(").replace("]", ")")
    call = f'memory output {{"id":{json.dumps(id)}}}'
    return f"[pruned: {name}, {size:,} characters; {call} gets it]"
