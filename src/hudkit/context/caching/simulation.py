"""A provider's prefix cache, simulated: what each call reads, writes and processes anew, and what that costs.

A request is a row of blocks, known by their bytes. The cache is a tree of the prefixes that were seen: one node a
prefix, with the time of its last use. A request walks the tree from the root; the last node on its way that is still
kept is what it can read. Two kinds of server: one keeps every prefix (in steps of so many tokens), the other only
those that end at a breakpoint of the request, and finds them within a few blocks before each breakpoint.

Example, explicit breakpoints: the blocks S (2,000 tokens) and A (100, with a breakpoint) are written, 2,100 tokens.
The next call S, A, B (50, with a breakpoint) looks back from B, finds the prefix that ends with A, reads 2,100 and
writes 50. A call S, X, B reads nothing: no kept prefix is on its way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Protocol

import msgspec

from hudkit.context.caching.policies import CachePolicy
from hudkit.errors import ConfigError


class CacheBlock(msgspec.Struct, frozen=True):
    """One content block: `key` identifies its exact bytes (a hash), `role` the part of the request it is in.

    Roles are the host's words (`tools`, `system`, `user`, `assistant`, `tool`). `breakpoint` marks the end of
    a prefix that the request asks to have cached.
    """

    key: str
    tokens: int
    role: str = "user"
    breakpoint: bool = False

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise ConfigError(f"block {self.key!r} has {self.tokens} tokens", hint="a block has zero or more")


class CacheRequest(msgspec.Struct, frozen=True):
    """One call: its blocks in the order in which the server reads them, and when it was made (Unix ms)."""

    blocks: tuple[CacheBlock, ...]
    timestamp: int
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Return the tokens of the request, without the answer."""
        return sum(block.tokens for block in self.blocks)


# -- costs -----------------------------------------------------------------------------------------------------


class CallCost(msgspec.Struct, frozen=True):
    """The tokens of one call: `read` from the cache, `written` to it, `fresh` beside it; and the answer's."""

    read: int
    written: int
    fresh: int
    output: int = 0

    @property
    def total(self) -> int:
        """Return the tokens of the request; the answer is not among them."""
        return self.read + self.written + self.fresh


class CostTotals(msgspec.Struct, frozen=True):
    """The sums over calls; `hit_ratio` is read tokens per request token, 0 where there are none."""

    calls: int
    read: int
    written: int
    fresh: int
    output: int
    hit_ratio: float

    @property
    def processed(self) -> int:
        """Return the request tokens that the model had to work through."""
        return self.written + self.fresh


class TokenPrices(Protocol):
    """Prices in USD per million tokens; `hudkit.tokens.Prices` has this shape.

    Of tokens that the cache had not, that it had, that were written to it, and of the answer.
    """

    @property
    def input(self) -> float: ...
    @property
    def cached_read(self) -> float: ...
    @property
    def cache_write(self) -> float: ...
    @property
    def output(self) -> float: ...


class TokenRates(msgspec.Struct, frozen=True):
    """Prices in USD per million tokens."""

    input: float
    cached_read: float
    cache_write: float
    output: float


class CacheTree:
    """One provider's cache over a run of calls: a tree of the prefixes seen, with the time of their last use.

    Calls are taken in the order given; a clock that goes backwards expires nothing. The tree keeps every
    prefix it has seen (expired ones are ignored, not freed), so it grows with the new blocks of a session.
    """

    def __init__(self, policy: CachePolicy) -> None:
        self.policy = policy
        self._children: dict[tuple[int, str, str], int] = {}
        self._used: list[int | None] = [None]  # by node: when its prefix was last used, None while it is not kept

    def call(self, request: CacheRequest) -> CallCost:
        """Take the next call and return its cost. Time and memory O(blocks).

        Raises `ConfigError` for too many breakpoints, which such a server refuses.
        """
        path = self._path(request.blocks)
        ends = list(accumulate(block.tokens for block in request.blocks))
        return (self._explicit if self.policy.explicit else self._automatic)(request, path, ends)

    def _path(self, blocks: Iterable[CacheBlock]) -> list[int]:
        """The node of each prefix of the request, made where it is new."""
        node, path = 0, []
        for block in blocks:
            step = (node, block.role, block.key)
            node = self._children.setdefault(step, len(self._used))
            if node == len(self._used):
                self._used.append(None)
            path.append(node)
        return path

    def _live(self, node: int, now: int) -> bool:
        used = self._used[node]
        return used is not None and now - used <= self.policy.ttl_ms

    def _explicit(self, request: CacheRequest, path: list[int], ends: list[int]) -> CallCost:
        marks = [place for place, block in enumerate(request.blocks) if block.breakpoint]
        if len(marks) > self.policy.breakpoints:
            raise ConfigError(
                f"the request has {len(marks)} cache breakpoints",
                hint=f"{self.policy.name} takes at most {self.policy.breakpoints}",
                found=len(marks),
                limit=self.policy.breakpoints,
            )
        long_enough = [mark for mark in marks if ends[mark] >= self.policy.minimum]
        hit = self._look_back(path, long_enough, request.timestamp)
        read = ends[hit] if hit >= 0 else 0
        for place in range(hit + 1):  # what is used on the way is renewed too
            if self._live(path[place], request.timestamp):
                self._used[path[place]] = request.timestamp
        for mark in long_enough:
            self._used[path[mark]] = request.timestamp
        written = ends[long_enough[-1]] - read if long_enough else 0
        return _split(request, read, written)

    def _look_back(self, path: list[int], marks: list[int], now: int) -> int:
        """The place of the longest kept prefix within reach of a breakpoint, -1 for none."""
        for mark in reversed(marks):
            for place in range(mark, max(-1, mark - self.policy.lookback), -1):
                if self._live(path[place], now):
                    return place
        return -1

    def _automatic(self, request: CacheRequest, path: list[int], ends: list[int]) -> CallCost:
        common = 0
        for node, end in zip(path, ends, strict=True):
            if not self._live(node, request.timestamp):
                break
            common = end
        for node in path:  # such a server keeps every prefix of what it was sent
            self._used[node] = request.timestamp
        whole = common - common % self.policy.step
        return _split(request, whole if whole >= self.policy.minimum else 0, 0)


def _split(request: CacheRequest, read: int, written: int) -> CallCost:
    return CallCost(read, written, request.tokens - read - written, request.output_tokens)


def simulate_cache(requests: Iterable[CacheRequest], policy: CachePolicy) -> tuple[CallCost, ...]:
    """Return the cost of each call of a run that starts with an empty cache."""
    tree = CacheTree(policy)
    return tuple(tree.call(request) for request in requests)


def sum_costs(calls: Sequence[CallCost]) -> CostTotals:
    """Return the sums over a run."""
    read, written, fresh, output, total = (
        sum(getattr(call, field) for call in calls) for field in ("read", "written", "fresh", "output", "total")
    )
    return CostTotals(len(calls), read, written, fresh, output, read / total if total else 0.0)


def rates_for(policy: CachePolicy, *, input: float, output: float = 0.0) -> TokenRates:
    """Return the prices that follow from an input price (USD per million tokens) and the policy's factors."""
    return TokenRates(input, input * policy.read_factor, input * policy.write_factor, output)


def usd_cost(calls: Iterable[CallCost], prices: TokenPrices) -> float:
    """Return the price of a run in US dollars, answers included."""
    micro = sum(
        call.read * prices.cached_read
        + call.written * prices.cache_write
        + call.fresh * prices.input
        + call.output * prices.output
        for call in calls
    )
    return micro / 1_000_000
