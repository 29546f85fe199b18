"""Each rule of the provider caches, one small table at a time."""

from __future__ import annotations

import msgspec
import pytest

from hudkit.context.caching import (
    ANTHROPIC,
    OPENAI,
    CacheBlock,
    CacheRequest,
    CallCost,
    TokenRates,
    rates_for,
    simulate_cache,
    sum_costs,
    usd_cost,
)
from hudkit.context.caching.policies import MINUTE
from hudkit.errors import ConfigError


def blocks(*tokens: int, marks: tuple[int, ...] = (), first: str = "b") -> tuple[CacheBlock, ...]:
    """Blocks b0, b1, … of these sizes, with breakpoints at the places `marks`."""
    return tuple(CacheBlock(f"{first}{place}", size, breakpoint=place in marks) for place, size in enumerate(tokens))


def run(policy, *calls: tuple[int, tuple[CacheBlock, ...]]) -> list[tuple[int, int, int]]:
    """(read, written, fresh) of calls given as (minute, blocks)."""
    costs = simulate_cache((CacheRequest(given, int(minute * MINUTE)) for minute, given in calls), policy)
    return [(call.read, call.written, call.fresh) for call in costs]


def test_anthropic_keeps_only_what_ends_at_a_breakpoint():
    marked = blocks(2_000, 500, 300, marks=(1,))
    assert run(ANTHROPIC, (0, marked), (1, marked)) == [(0, 2_500, 300), (2_500, 0, 300)]
    unmarked = blocks(2_000, 500, 300)
    assert run(ANTHROPIC, (0, unmarked), (1, unmarked)) == [(0, 0, 2_800)] * 2


def test_anthropic_extends_what_it_has():
    assert run(
        ANTHROPIC,
        (0, blocks(2_000, marks=(0,))),
        (1, blocks(2_000, 700, 100, marks=(1,))),
        (2, blocks(2_000, 700, 100, 50, marks=(3,))),
    ) == [(0, 2_000, 0), (2_000, 700, 100), (2_700, 150, 0)]


@pytest.mark.parametrize(
    ("size", "second"),
    [(1_023, (0, 0, 1_023)), (1_024, (1_024, 0, 0))],
    ids=["one token short", "just long enough"],
)
def test_anthropic_minimum_prefix(size, second):
    given = blocks(size, marks=(0,))
    assert run(ANTHROPIC, (0, given), (1, given))[1] == second


def test_anthropic_minimum_is_of_the_prefix_not_of_the_block():
    given = blocks(1_000, 100, marks=(0, 1))
    assert run(ANTHROPIC, (0, given), (1, given)) == [(0, 1_100, 0), (1_100, 0, 0)]


@pytest.mark.parametrize(
    ("new", "read"), [(1, 2_000), (19, 2_000), (20, 0), (30, 0)], ids=["next", "last within", "first out", "far out"]
)
def test_anthropic_looks_back_over_twenty_positions(new, read):
    old = blocks(2_000, marks=(0,))
    grown = blocks(2_000, *[10] * new, marks=(new,))
    assert run(ANTHROPIC, (0, old), (1, grown))[1][0] == read


def test_anthropic_a_second_breakpoint_bridges_the_look_back():
    old = blocks(2_000, marks=(0,))
    grown = blocks(2_000, *[10] * 30, marks=(15, 30))
    assert run(ANTHROPIC, (0, old), (1, grown))[1] == (2_000, 300, 0)


def test_anthropic_four_breakpoints_and_no_more():
    four = blocks(2_000, 10, 10, 10, 10, marks=(0, 1, 2, 3))
    assert run(ANTHROPIC, (0, four), (1, four)) == [(0, 2_030, 10), (2_030, 0, 10)]
    with pytest.raises(ConfigError, match="5 cache breakpoints") as caught:
        run(ANTHROPIC, (0, blocks(2_000, 10, 10, 10, 10, marks=(0, 1, 2, 3, 4))))
    assert caught.value.details == {"found": 5, "limit": 4}


def test_anthropic_falls_back_to_the_prefix_of_an_earlier_breakpoint():
    old = blocks(2_000, 400, marks=(0, 1))
    changed = (*blocks(2_000, marks=(0,)), CacheBlock("other", 400, breakpoint=True))
    assert run(ANTHROPIC, (0, old), (1, changed))[1] == (2_000, 400, 0)


@pytest.mark.parametrize("policy", [ANTHROPIC, OPENAI], ids=lambda policy: policy.name)
def test_expiry_and_refresh(policy):
    given = blocks(2_048, marks=(0,))
    ttl = policy.ttl_ms / MINUTE
    reads = [call[0] for call in run(policy, (0, given), (ttl, given), (2 * ttl, given), (3 * ttl + 0.1, given))]
    assert reads == [0, 2_048, 2_048, 0], "kept for the time-to-live, renewed by use, gone after it"


def test_anthropic_use_of_a_long_prefix_renews_the_short_one():
    long = blocks(2_000, 500, marks=(0, 1))
    short = (*blocks(2_000, marks=(0,)), CacheBlock("other", 100))
    assert run(ANTHROPIC, (0, long), (4, long), (8, short))[2] == (2_000, 0, 100)


def test_a_clock_that_goes_back_expires_nothing():
    given = blocks(2_000, marks=(0,))
    assert run(ANTHROPIC, (100, given), (1, given))[1] == (2_000, 0, 0)


@pytest.mark.parametrize(
    ("size", "read"), [(1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152), (1_500, 1_408)]
)
def test_openai_steps(size, read):
    given = blocks(size)
    assert run(OPENAI, (0, given), (1, given)) == [(0, 0, size), (read, 0, size - read)]


def test_openai_needs_no_breakpoint_and_has_no_look_back():
    old, grown = blocks(2_048), blocks(2_048, *[10] * 100)
    assert run(OPENAI, (0, old), (1, grown))[1] == (2_048, 0, 1_000)


def test_openai_reuses_up_to_the_first_change():
    old = blocks(1_280, 640, 640)
    changed = (*blocks(1_280), CacheBlock("other", 640), CacheBlock("b2", 640))
    assert run(OPENAI, (0, old), (1, changed))[1] == (1_280, 0, 1_280)


def test_role_is_part_of_the_prefix_and_the_breakpoint_is_not():
    marked, moved = blocks(2_000, 100, marks=(0, 1)), blocks(2_000, 100, marks=(1,))
    assert run(ANTHROPIC, (0, marked), (1, moved))[1] == (2_100, 0, 0)
    as_system = tuple(msgspec.structs.replace(block, role="system") for block in marked)
    assert run(ANTHROPIC, (0, marked), (1, as_system))[1] == (0, 2_100, 0)


def test_cost_and_totals():
    calls = (CallCost(0, 1_000_000, 0, 10_000), CallCost(1_000_000, 0, 200_000, 0))
    assert usd_cost(calls, TokenRates(3.0, 0.3, 3.75, 15.0)) == pytest.approx(3.75 + 0.15 + 0.3 + 0.6)
    summed = sum_costs(calls)
    assert (summed.calls, summed.read, summed.processed, summed.output) == (2, 1_000_000, 1_200_000, 10_000)
    assert summed.hit_ratio == pytest.approx(1 / 2.2)
    assert sum_costs(()).hit_ratio == 0


def test_rates_follow_the_policy():
    made = rates_for(ANTHROPIC, input=3.0, output=15.0)
    assert (made.input, made.output) == (3.0, 15.0)
    assert (made.cached_read, made.cache_write) == pytest.approx((0.3, 3.75))


def test_negative_tokens_are_refused():
    with pytest.raises(ConfigError, match="-1 tokens"):
        CacheBlock("b", -1)
