"""What a run costs at most is said before its first beat, and a model that cannot be had is named then."""

from __future__ import annotations

from typing import Any

import pytest

from hudkit.errors import ConfigError
from hudkit.rooms.cost_forecast import HudSizes, check_players, forecast_cost, forecast_text
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.players import PlayerRegistry, ScriptedPlayer
from hudkit.rooms.world import CapRules, WorldRules
from hudkit.tokens.model_facts import prices_of


def test_agents_of_a_priced_model_cost_their_huds_and_answers(harness: Any) -> None:
    for agent in (1, 2):
        harness.architect.alter(agent, model="anthropic:claude-haiku-4-5")
    harness.architect.alter(3, model="improviser")
    told = forecast_cost(harness.world, harness.now, seconds=600)
    assert told.beats == 240, "two agents every five seconds"
    assert 5_000 < told.input_tokens / told.beats < 10_000
    prices = prices_of("claude-haiku-4-5")
    assert told.cost == pytest.approx((told.input_tokens * prices.input + told.output_tokens * prices.output) / 1e6)
    assert "at most 240 beats" in forecast_text(told) and "pauses at $5.00" in forecast_text(told)


def test_beats_are_shared_among_all_who_live(harness: Any) -> None:
    harness.architect.alter(1, model="anthropic:claude-haiku-4-5")
    for agent in (2, 3):
        harness.architect.alter(agent, model="improviser")
    assert forecast_cost(harness.world, harness.now, beats=300).beats == 100
    harness.architect.alter(1, model="improviser")
    nothing = forecast_cost(harness.world, harness.now, beats=300)
    assert (nothing.beats, nothing.cost, forecast_text(nothing)) == (0, 0.0, "")


def test_a_model_without_a_price_is_named(harness: Any) -> None:
    told = forecast_cost(harness.world, harness.now, seconds=60)
    assert told.unpriced == ("scripted",) and "no list price known" in forecast_text(told)
    harness.architect.alter(1, model="anthropic:claude-haiku-4-5")
    assert "without scripted" in forecast_text(forecast_cost(harness.world, harness.now, seconds=60))


def test_a_world_pauses_at_five_dollars_unless_it_says_otherwise(make_harness: Any) -> None:
    assert make_harness().world.rules.caps.cost == 5.0
    unlimited = make_harness(rules=WorldRules(caps=CapRules(cost=0)))
    unlimited.make("Ann")
    assert "no limit is set" in forecast_text(forecast_cost(unlimited.world, unlimited.now, seconds=60))


def test_a_model_that_cannot_be_had_is_named_before_the_first_beat(harness: Any) -> None:
    check_players(harness.world, PlayerRegistry({"scripted": ScriptedPlayer({})}))
    harness.architect.alter(2, model="nowhere:x")
    with pytest.raises(ConfigError, match="nowhere:x cannot play: There is no model"):
        check_players(harness.world, PlayerRegistry({"scripted": ScriptedPlayer({})}))
    harness.architect.retire(2)
    check_players(harness.world, PlayerRegistry({"scripted": ScriptedPlayer({})}))


def test_all_forecasts_take_huds_to_grow_in_one_way(harness: Any) -> None:
    sizes = HudSizes.measured([100, 200, 300, 400, 500, 600])
    assert sizes.later == 550 and sizes.total(6) == 2100 and sizes.total(3) == 1050
    assert sizes.total(16) == 2100 + 10 * 550
    assert sizes.scaled(10).total(60) == 21_000 and sizes.scaled(10).total(61) == 21_550
    hud = build_agent_hud(harness.world, 1, harness.now, CachedRenderer())
    assert HudSizes.of_now(hud).total(4) == 4 * ((hud.tokens + hud.limit) // 2) > 4 * hud.tokens
