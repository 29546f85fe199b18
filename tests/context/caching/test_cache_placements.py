"""The measured table (HUD placements over a long session) comes out of the simulator in order and size."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hudkit.context.caching import (
    ANTHROPIC,
    OPENAI,
    CacheBlock,
    CacheRequest,
    rates_for,
    simulate_cache,
    sum_costs,
    usd_cost,
)

CALLS = 120
WINDOW = 200_000
HEADER = (CacheBlock("tools", 8_000, "tools"), CacheBlock("system", 6_000, "system", breakpoint=True))
STEP = (0.57 * WINDOW - 14_000) / CALLS  # tokens that a call adds, so that the last is at 57 % of the window
HUD, DELTA, LINE = 160, 30, 12  # tokens of the HUD, of one change to it, of the line with the percentage
CHANGES = 3  # calls between changes of the content of the HUD

Placement = Callable[[int], tuple[tuple[CacheBlock, ...], tuple[CacheBlock, ...]]]  # call -> (system part, tail part)


def history(calls: int, deltas: bool) -> list[CacheBlock]:
    """Assistant's call and tool's result of each step; with deltas, each change behind the result it followed."""
    made: list[CacheBlock] = []
    for call in range(calls + 1):
        made += [
            CacheBlock(f"call{call}", round(STEP / 4), "assistant"),
            CacheBlock(f"result{call}", round(STEP * 3 / 4), "tool"),
        ]
        if deltas and call % CHANGES == 0:
            made.append(CacheBlock(f"delta{call}", DELTA, "tool"))
    return [
        CacheBlock(block.key, block.tokens, block.role, place >= len(made) - 2) for place, block in enumerate(made)
    ]


def session(
    system: Callable[[int], tuple[CacheBlock, ...]],
    tail: Callable[[int], tuple[CacheBlock, ...]],
    deltas: bool = False,
):
    return [
        CacheRequest((*HEADER, *system(call), *history(call, deltas), *tail(call)), call * 20_000)
        for call in range(CALLS)
    ]


def nothing(call: int) -> tuple[CacheBlock, ...]:
    return ()


def hud(version: int, role: str) -> tuple[CacheBlock, ...]:
    return (CacheBlock(f"hud{version}", HUD, role, breakpoint=role == "system"),)


PLACEMENTS = {
    "none": session(nothing, nothing),
    "system": session(lambda call: hud(call, "system"), nothing),
    "system, band only": session(lambda call: hud(call // CHANGES, "system"), nothing),
    "tail": session(nothing, lambda call: hud(call, "user")),
    "deltas": session(lambda call: hud(0, "system"), lambda call: (CacheBlock(f"line{call}", LINE),), deltas=True),
}


@pytest.fixture(scope="module")
def relative() -> dict[str, float]:
    prices = rates_for(ANTHROPIC, input=3.0)
    dollars = {name: usd_cost(simulate_cache(run, ANTHROPIC), prices) for name, run in PLACEMENTS.items()}
    return {name: amount / dollars["none"] for name, amount in dollars.items()}


def test_the_session_is_the_measured_one():
    last = PLACEMENTS["none"][-1]
    assert last.tokens / WINDOW == pytest.approx(0.57, abs=0.01)
    assert sum_costs(simulate_cache(PLACEMENTS["none"], ANTHROPIC)).hit_ratio == pytest.approx(0.985, abs=0.01)


@pytest.mark.slow
def test_order_of_the_placements(relative):
    order = sorted(relative, key=relative.__getitem__)
    assert order == ["none", "deltas", "tail", "system, band only", "system"]


@pytest.mark.parametrize(
    ("placement", "low", "high"),
    [("deltas", 1.0, 1.02), ("tail", 1.01, 1.05), ("system, band only", 2.6, 4.0), ("system", 6.5, 10.5)],
)
def test_size_of_the_surcharge(relative, placement, low, high):
    """Measured: 1.00, 1.02, 3.3 and 8.6 times the cost without a HUD."""
    assert low < relative[placement] < high


def test_hit_ratio_of_a_hud_in_the_system_prompt():
    """Measured: .213; only the header before the HUD is read."""
    assert sum_costs(simulate_cache(PLACEMENTS["system"], ANTHROPIC)).hit_ratio == pytest.approx(0.213, abs=0.05)


@pytest.mark.slow
def test_automatic_caching_has_the_same_order():
    processed = {name: sum_costs(simulate_cache(run, OPENAI)).processed for name, run in PLACEMENTS.items()}
    assert sorted(processed, key=processed.__getitem__) == ["none", "deltas", "tail", "system, band only", "system"]
    assert processed["deltas"] < 1.1 * processed["none"]
    assert processed["system"] > 10 * processed["none"]
