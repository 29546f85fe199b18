"""What a sample says of a larger world is true of it."""

from __future__ import annotations

import json

import msgspec
import pytest
from tests.campaigns import Campaign

from hudkit.cli import main
from hudkit.rooms.cost_forecast import OUTPUT_TOKENS
from hudkit.rooms.experiments.scale import forecast_scale, measure_scale, neighbourhoods
from hudkit.rooms.world_file import island_world

pytestmark = pytest.mark.slow

SCALE = Campaign("scale", quick=200, full=100_000)
"""Agents of the world that a sample of a hundred is compared with; the full form does smaller ones, too. The largest
takes 6 GB of memory, and half an hour."""

MINUTES = 0.5


@SCALE
def test_a_sample_foretells_a_larger_world() -> None:
    island = msgspec.structs.replace(island_world(), seed=SCALE.seed(island_world().seed))
    sample = measure_scale(island, 100, MINUTES)
    for agents in sorted({min(size, SCALE.rounds) for size in (1_000, 10_000, 100_000)}):
        measured = measure_scale(island, agents, MINUTES, snapshots=True)
        forecast = forecast_scale(sample, agents, MINUTES)
        rows, size = measured.rows + measured.founding_rows, measured.bytes + measured.founding_bytes
        pairs = {
            "beats": (forecast.beats, measured.beats),
            "rows": (forecast.rows, rows),
            "bytes": (forecast.bytes, size),
            "HUD tokens": (forecast.input_tokens, measured.hud_tokens),
            "cores": (forecast.cores, measured.seconds / (MINUTES * 60)),
            "memory": (forecast.memory, measured.memory),
        }
        for what, (foretold, came) in pairs.items():
            print(f"{agents:,} agents, {what}: {foretold:,.2f} foretold, {came:,.2f} measured", flush=True)
        # Seconds and memory are the machine's affair, and no part of the claim.
        for what in ("beats", "rows", "bytes", "HUD tokens"):
            foretold, came = pairs[what]
            assert foretold == pytest.approx(came, rel=0.15), what


def test_copies_stand_side_by_side() -> None:
    founding = neighbourhoods(island_world(), 12)
    assert len(founding.agents) == 12 and len({agent.name for agent in founding.agents}) == 12
    assert founding.agents[6].name == "Tobiah 2" and founding.agents[6].rooms == ("Maren 2",)
    there = {agent.name for agent in founding.agents}
    assert all(room in there for agent in founding.agents for room in agent.rooms)


def test_the_command_prices_a_million_agents(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["rooms", "forecast", "--sample", "10", "--sample-minutes", "1", "--for", "2m"]
    assert main([*words, "--model", "openai:gpt-4o-mini", "--agents", "1000000", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    (forecast,) = facts["forecasts"]
    assert forecast["beats"] == pytest.approx(facts["sample"]["beats"] * 200_000, rel=0.001)
    assert forecast["output_tokens"] == pytest.approx(forecast["beats"] * OUTPUT_TOKENS)
    assert forecast["cost"] == pytest.approx(
        (forecast["input_tokens"] * 0.15 + forecast["output_tokens"] * 0.6) / 1e6
    )
    assert main(words) == 0
    assert "1,000,000" in capsys.readouterr().out
