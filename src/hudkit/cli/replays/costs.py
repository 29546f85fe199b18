"""What a recorded session would have cost in each variant, with each kind of provider cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from hudkit.cli.replays.requests import VARIANTS
from hudkit.context.caching import (
    ANTHROPIC,
    OPENAI,
    CachePolicy,
    CacheRequest,
    CacheTree,
    CallCost,
    sum_costs,
    usd_cost,
)
from hudkit.tokens import Prices, prices_of

PRICED_AS = ((ANTHROPIC, "claude-sonnet-4-5"), (OPENAI, "gpt-5"))
"""The caches that are simulated, and the model whose list prices go with each."""


class VariantCost(msgspec.Struct, frozen=True):
    """The tokens and dollars of one variant. `input_tokens` are all tokens sent, of which `read` came from the cache;
    `processed` are the others, which the model had to work through. `times_*` compare with the first variant."""

    variant: str
    input_tokens: int
    processed: int
    read: int
    written: int
    output_tokens: int
    hit_ratio: float
    dollars: float
    times_dollars: float
    times_processed: float


class Costs(msgspec.Struct, frozen=True):
    """The variants under one cache's rules, at one model's list prices (USD per million tokens)."""

    cache: str
    model: str
    source: str
    input_price: float
    cached_price: float
    write_price: float
    output_price: float
    variants: tuple[VariantCost, ...]


class Tariff(msgspec.Struct, frozen=True):
    """A kind of cache and the prices that go with it."""

    policy: CachePolicy
    prices: Prices


def tariffs(price_as: str = "") -> tuple[Tariff, ...]:
    """Return the caches to simulate, the one that is asked for first.

    `price_as` names a model: Claude's are cached at explicit breakpoints, all others automatically. Raises
    `ConfigError` for a model without a price.
    """
    defaults = [Tariff(policy, prices_of(model)) for policy, model in PRICED_AS]
    if not price_as:
        return tuple(defaults)
    asked = ANTHROPIC if "claude" in price_as.lower() else OPENAI
    first = Tariff(asked, prices_of(price_as))
    return (first, *(tariff for tariff in defaults if tariff.policy is not asked))


class CostMeter:
    """Simulates every variant under every tariff, a call at a time."""

    def __init__(self, tariffs: Sequence[Tariff]) -> None:
        self._rows = tuple((tariff, tuple(_Run(tariff.policy) for _ in VARIANTS)) for tariff in tariffs)

    def take(self, requests: Sequence[CacheRequest]) -> None:
        """Take up the next call, in each of `VARIANTS`."""
        for _, runs in self._rows:
            for run, request in zip(runs, requests, strict=True):
                run.spent.append(run.tree.call(request))

    def read(self) -> tuple[Costs, ...]:
        """Return the costs so far."""
        return tuple(_costs(tariff, [run.spent for run in runs]) for tariff, runs in self._rows)


class _Run:
    def __init__(self, policy: CachePolicy) -> None:
        self.tree = CacheTree(policy)
        self.spent: list[CallCost] = []


def _costs(tariff: Tariff, variants: Sequence[Sequence[CallCost]]) -> Costs:
    rows = []
    for name, calls in zip(VARIANTS, variants, strict=True):
        sums = sum_costs(calls)
        spent = (sums.read + sums.processed, sums.processed, sums.read, sums.written, sums.output)
        rows.append(_Row(name, *spent, usd_cost(calls, tariff.prices)))
    prices = tariff.prices
    return Costs(
        cache=tariff.policy.name,
        model=prices.model,
        source=prices.source,
        input_price=prices.input,
        cached_price=prices.cached_read,
        write_price=prices.cache_write,
        output_price=prices.output,
        variants=_compared(rows),
    )


def sum_sessions(sessions: Iterable[Sequence[Costs]]) -> tuple[Costs, ...]:
    """Return the costs of several sessions together, each with a cache of its own."""
    out = []
    for alike in zip(*sessions, strict=True):
        rows = []
        for same in zip(*(costs.variants for costs in alike), strict=True):
            sums = {name: sum(getattr(spent, name) for spent in same) for name in _SUMMED}
            rows.append(_Row(same[0].variant, **sums))
        out.append(msgspec.structs.replace(alike[0], variants=_compared(rows)))
    return tuple(out)


class _Row(msgspec.Struct, frozen=True):
    variant: str
    input_tokens: int
    processed: int
    read: int
    written: int
    output_tokens: int
    dollars: float


_SUMMED = tuple(field.name for field in msgspec.structs.fields(_Row) if field.name != "variant")


def _compared(rows: Sequence[_Row]) -> tuple[VariantCost, ...]:
    first = rows[0]
    return tuple(
        VariantCost(
            **msgspec.structs.asdict(row),
            hit_ratio=_part(row.read, row.input_tokens),
            times_dollars=_part(row.dollars, first.dollars),
            times_processed=_part(row.processed, first.processed),
        )
        for row in rows
    )


def _part(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0
