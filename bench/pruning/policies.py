"""The policies that are compared: none, three rules that others use, and ours."""

from __future__ import annotations

from bench.pruning.ride import Item, Make, Ride
from hudkit.context.compaction.cost_model import CallCosts
from hudkit.context.compaction.pruning import choose_pruning, prune_bounds, prune_candidates
from hudkit.context.compaction.request_parts import CallOutput
from hudkit.sections.call_history import FileUse


def outputs(ride: Ride) -> list[Item]:
    """The outputs that are not pruned, oldest first."""
    return [item for item in ride.items if item.number >= 0 and not item.stub]


class Nothing:
    """No pruning: the window fills, and the host compacts."""

    extra = tag = 0

    def before(self, ride: Ride) -> None:
        pass

    def after(self, ride: Ride) -> None:
        pass


class ClearToolUses(Nothing):
    """Anthropic's `clear_tool_uses_20250919`: from 100,000 input tokens on, all outputs but those of the last 3 uses.

    The edit is made on the server for each request; the client sends the whole history. `clear_at_least` is off by
    default.
    """

    def __init__(self, trigger: int = 100_000, keep: int = 3, at_least: int = 0) -> None:
        self.trigger, self.keep, self.at_least = trigger, keep, at_least

    def before(self, ride: Ride) -> None:
        whole = ride.fixed + sum(item.tokens for item in ride.items)
        if whole < self.trigger:
            return
        found = outputs(ride)[: -self.keep]
        if sum(item.tokens for item in found) >= self.at_least:
            for item in found:
                item.stub = True


class OpenCodePrune(Nothing):
    """OpenCode's `compaction.prune`: at the end of a turn, outputs beyond the newest 40,000 tokens of outputs, where
    they are more than 20,000; the last two turns are left alone."""

    def after(self, ride: Ride) -> None:
        turns = total = 0
        found: list[Item] = []
        for item in reversed(ride.items):
            turns += item.user
            if turns < 2 or item.number < 0:
                continue
            if item.stub:
                break
            total += item.tokens
            if total > 40_000:
                found.append(item)
        if sum(item.tokens for item in found) > 20_000:
            for item in found:
                item.stub = True


class Compress(Nothing):
    """DCP 3: a tool by which the model replaces a range by a summary, urged to from 100,000 tokens on. Taken at its
    best: the model follows at once, keeps the newest 20,000 tokens, and a tenth of the rest is its summary."""

    extra, tag = 1_700, 14
    """Its tool and its instructions; and the tag by which each message and output can be named."""

    def __init__(self) -> None:
        self.count = 0

    def before(self, ride: Ride) -> None:
        if ride.load < 100_000:
            return
        room, place = 20_000, len(ride.items)
        while place and room > 0:
            place -= 1
            room -= ride.items[place].cost
        old, end = ride.items[:place], ride.items[place:]
        size = sum(item.cost for item in old)
        if size < 20_000:
            return
        self.count += 1
        summary = Item(f"compressed {self.count}", "user", max(500, size // 10), message=end[0].message)
        ride.request(summary.tokens + 100)  # the call of the tool, its summary as argument
        ride.breaks += 1
        ride.items = [summary, *end]


class Ours(Nothing):
    """The rule of `hudkit.context.compaction`, with its defaults. Every second output is the only read of a file, and
    stays: in the recorded day such reads have about half of the characters that tools bring."""

    def __init__(self, min_used_percent: float = 50, protects: bool = True) -> None:
        self.min_used_percent, self.protects = min_used_percent, protects

    def before(self, ride: Ride) -> None:
        found, behind, prompts = [], 0, 0
        pruned, uses = set(), []
        for blocks, item in enumerate(reversed(ride.items)):
            if item.number >= 0:
                turns = prompts if self.protects else 99
                found.append(CallOutput(item.key, "bash", 4 * item.tokens, 4 * behind, blocks, turns))
                if self.protects is True and item.number % 2:
                    uses.append(FileUse(str(item.number), item.key))
                if item.stub:
                    pruned.add(item.key)
            behind += item.tokens
            prompts += item.user
        bounds = prune_bounds(ride.window, None, None, self.min_used_percent)
        whole = sum(item.cost for item in ride.items) or 1
        retold = sum(min(item.cost, 500) if item.number >= 0 else item.cost for item in ride.items) / whole
        idle = ride.last is not None and ride.at - ride.last > ride.cache.ttl_ms
        calls = max(1, ride.calls)
        standing = CallCosts(ride.load, ride.fixed, *self.growth(ride), calls, ride.usable, retold, idle)
        options = prune_candidates(found[::-1], pruned, bounds, uses=uses)
        choice = choose_pruning(options, standing, ride.cache, bounds)
        if choice:
            gone = {one.call for one in choice.outputs}
            for item in ride.items:
                if item.key in gone:
                    item.stub = True

    def growth(self, ride: Ride) -> tuple[float, float]:
        messages = len({item.message for item in ride.items}) or 1
        return sum(item.tokens for item in ride.items) / messages, (ride.load - ride.fixed) / messages


BY_PRICE = "ours, by price alone"
"""Our cost model without what protects the agent's work: all that is old may go, whatever the window holds."""

POLICIES: dict[str, Make] = {
    "none": Nothing,
    "clear-tool-uses": ClearToolUses,
    "clear-tool-uses, 5k at least": lambda: ClearToolUses(at_least=5_000),
    "OpenCode 40k/20k": OpenCodePrune,
    "DCP compress at 100k": Compress,
    BY_PRICE: lambda: Ours(min_used_percent=0, protects=False),
    "ours": Ours,
}
