"""One session under one policy: the requests that it makes, and what a provider's cache and prices make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from bench.pruning.sessions import Step
from hudkit.context.caching import CacheBlock, CachePolicy, CacheRequest, CacheTree, CallCost

TOOLS, SYSTEM = 6_000, 3_000
STUBBED = 24
COMPACTION_TOOL = 500
"""Tokens of an output, at most, in the request for a summary: OpenCode shortens them to 2,000 characters."""
SUMMARY, KEPT = 2_000, 8_000
"""Tokens of a summary, and the most of the transcript's end that OpenCode keeps behind it."""
CALLED = 90
"""Tokens of a call that fetches an output again."""
ANSWER = {True: 5.0, False: 8.0}
"""The price of an answer's token in input tokens, by the kind of cache (explicit: Anthropic's, else OpenAI's)."""


@dataclass
class Item:
    """A block of the transcript. `number` counts outputs from 0 (-1: it is none); `stub` stands where it was
    pruned."""

    key: str
    role: str
    tokens: int
    number: int = -1
    message: int = 0
    user: bool = False
    stub: bool = False

    @property
    def cost(self) -> int:
        return STUBBED if self.stub else self.tokens


@dataclass
class Ride:
    """What a policy sees: `items` of the transcript, the time, and the figures of the window."""

    window: int
    cache: CachePolicy
    items: list[Item] = field(default_factory=list)
    at: int = 0
    last: int | None = None
    calls: int = 0
    extra: int = 0
    costs: list[CallCost] = field(default_factory=list)
    tag: int = 0
    breaks: int = 0
    compactions: int = 0
    fetched: int = 0
    turn_start: bool = False

    @property
    def fixed(self) -> int:
        return TOOLS + SYSTEM + self.extra

    @property
    def load(self) -> int:
        return self.fixed + sum(item.cost for item in self.items)

    @property
    def output(self) -> int:
        return min(20_000, self.window // 10)

    @property
    def usable(self) -> int:
        return self.window - self.output

    def __post_init__(self) -> None:
        self.tree = CacheTree(self.cache)

    def request(self, answer: int) -> None:
        """Make the call as the transcript is now."""
        items = self.items
        last_two = sorted({item.message for item in items})[-2:]
        ends = {max(n for n, item in enumerate(items) if item.message == message) for message in last_two}
        explicit = self.cache.explicit
        blocks = [
            CacheBlock("tools", TOOLS, "tools"),
            CacheBlock(f"system {self.extra}", SYSTEM + self.extra, "system", explicit),
        ]
        for n, item in enumerate(items):
            key = f"{item.key} stub" if item.stub else item.key
            blocks.append(CacheBlock(key, item.cost, item.role, explicit and n in ends))
        self.costs.append(self.tree.call(CacheRequest(tuple(blocks), self.at, answer)))
        self.last = self.at
        self.calls += 1

    def compact(self) -> None:
        """OpenCode's: the history is summarised in a request of its own, and the end of it is kept."""
        self.compactions += 1
        told = sum(min(item.cost, COMPACTION_TOOL) if item.number >= 0 else item.cost for item in self.items)
        self.costs.append(
            self.tree.call(
                CacheRequest((CacheBlock(f"summarise {self.compactions}", told + 1_000, "user"),), self.at, SUMMARY)
            )
        )
        kept: list[Item] = []
        room = min(KEPT, self.usable // 4)
        for item in reversed(self.items):
            room -= item.tokens
            if room < 0:
                break
            kept.append(item)
        message = self.items[-1].message
        summary = Item(f"summary {self.compactions}", "assistant", SUMMARY, message=message)
        self.items = [Item("what so far", "user", 12, message=message, user=True), summary, *reversed(kept)]


class Policy(Protocol):
    """`before` may stub outputs of the ride's items before a call; `after` may do so when a turn has ended.
    `extra` and `tag` are the tokens that it adds to the system prompt and to each block."""

    extra: int
    tag: int

    def before(self, ride: Ride) -> None: ...

    def after(self, ride: Ride) -> None: ...


class Outcome(NamedTuple):
    """What a session came to: its price in input tokens at full price, and what happened in it."""

    price: float
    calls: int
    breaks: int
    compactions: int
    fetched: int


def ride(steps: Sequence[Step], policy: Policy, window: int, cache: CachePolicy) -> Outcome:
    """A whole session."""
    one = Ride(window, cache, extra=policy.extra, tag=policy.tag)
    numbers = message = 0
    sizes = [size for step in steps for size in step.outputs]

    def add(role: str, tokens: int, number: int = -1, user: bool = False) -> None:
        one.items.append(
            Item(f"{role} {len(one.costs)} {len(one.items)} {number}", role, tokens + one.tag, number, message, user)
        )

    def call(answer: int) -> None:
        stubs = sum(item.stub for item in one.items)
        policy.before(one)
        one.breaks += sum(item.stub for item in one.items) != stubs
        one.request(answer)

    for step in steps:
        one.at = step.at
        one.turn_start = bool(step.asked)
        if step.asked:
            message += 1
            add("user", step.asked, user=True)
        there = any(item.number == step.needs and not item.stub for item in one.items)
        if step.needs >= 0 and not there:
            size = sizes[step.needs]
            one.fetched += 1
            call(CALLED)
            message += 1
            add("assistant", CALLED)
            add("tool", size, step.needs)
            if one.load >= one.usable:
                one.compact()
        call(step.said)
        message += 1
        add("assistant", step.said)
        for size in step.outputs:
            add("tool", size, numbers)
            numbers += 1
        if not step.outputs:
            policy.after(one)
        if one.load >= one.usable:
            one.compact()
    return Outcome(priced(one.costs, cache), one.calls, one.breaks, one.compactions, one.fetched)


def priced(costs: Sequence[CallCost], cache: CachePolicy) -> float:
    """The price of calls in input tokens at full price."""
    return sum(
        one.read * cache.read_factor
        + one.written * cache.write_factor
        + one.fresh
        + one.output * ANSWER[cache.explicit]
        for one in costs
    )


Make = Callable[[], Policy]
