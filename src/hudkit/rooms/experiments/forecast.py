"""What an experiment will cost, before it is run: HUDs are measured in a trial that costs nothing, the rest is
assumed (`cost_forecast`).

The trial plays each variant's world with the improviser. It says how many tokens a HUD has as a world goes on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import msgspec

from hudkit.rooms import world_events as e
from hudkit.rooms.cost_forecast import OUTPUT_TOKENS, HudSizes, ModelForecast, forecast_model
from hudkit.rooms.experiments.experiment_file import Experiment, Variant
from hudkit.rooms.players import Improviser, PlayerRegistry
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_file import populate_world
from hudkit.rooms.world_log import WorldLog

_TRIAL_BEATS = 100
"""Beats of a trial at most."""
_MINUTE = 60_000


class VariantForecast(msgspec.Struct, frozen=True):
    """What one run of a variant takes; `runs`: how many are to be played."""

    variant: str
    runs: int
    beats: int
    models: tuple[ModelForecast, ...]

    @property
    def cost(self) -> float | None:
        """Return the dollars of all its runs; `None` where a price is not known."""
        costs = [model.cost for model in self.models]
        return None if None in costs else self.runs * sum(cost for cost in costs if cost is not None)


def experiment_forecast(experiment: Experiment, runs: Sequence[tuple[Variant, int]]) -> list[VariantForecast]:
    """Return what the runs will take, by variant. Raises `ConfigError` for a founding that cannot be."""
    counts = Counter(variant.name for variant, _ in runs)
    return [
        _variant_forecast(experiment, variant, counts[variant.name])
        for variant in experiment.variants
        if counts[variant.name]
    ]


def forecast_lines(
    experiment: Experiment, runs: Sequence[tuple[Variant, int]], forecasts: Sequence[VariantForecast]
) -> list[str]:
    """Return a forecast in words."""
    total = len(experiment.runs())
    before = f"; {total - len(runs):,} are finished" if len(runs) < total else ""
    lines = [
        f"{len(experiment.seeds):,} seeds × {len(experiment.variants):,} variants: {total:,} runs{before}",
    ]
    costs = [forecast.cost for forecast in forecasts]
    for forecast in forecasts:
        lines.append(f"{forecast.variant}: {forecast.runs:,} runs of {forecast.beats:,} beats")
        for model in forecast.models:
            price = "price unknown" if model.cost is None else f"${model.cost:.4f}"
            lines.append(
                f"    {model.model}: {model.beats:,} beats, {model.input_tokens:,} tokens in, "
                f"{model.output_tokens:,} out, {price} a run"
            )
    whole = "unknown: a price is missing" if None in costs else f"${sum(cost or 0 for cost in costs):.2f}"
    lines.append(f"all together: {whole}, without prefix caches; answers taken as {OUTPUT_TOKENS} tokens")
    if experiment.cap:
        lines.append(f"the cap is ${experiment.cap:.2f}")
    return lines


def _variant_forecast(experiment: Experiment, variant: Variant, runs: int) -> VariantForecast:
    founding = variant.founding
    scripted = bool(variant.script)
    trial = _trial(variant, experiment)
    beats, sizes, models = trial
    models_forecast = []
    for model, count in sorted(models.items()):
        share = count / max(1, sum(models.values()))
        asked = round(beats * share)
        models_forecast.append(forecast_model(model, asked, asked * sizes, is_free=scripted))
    assert founding.agents
    return VariantForecast(variant.name, runs, beats, tuple(models_forecast))


def _trial(variant: Variant, experiment: Experiment) -> tuple[int, float, Counter[str]]:
    """Return the beats of a run, the mean tokens of a HUD in it, and how many beats each model had in a trial."""
    founding = variant.founding
    limit = min(_TRIAL_BEATS, experiment.beats or _TRIAL_BEATS)
    clock = SimulatedClock()
    models: Counter[str] = Counter()
    sizes: list[int] = []
    with WorldLog.in_memory(
        seed=founding.seed, rules=founding.rules, prompts=variant.prompts, clock=clock.wall
    ) as world_log:
        populate_world(world_log, founding, f"{experiment.where}, variant {variant.name!r}")
        player = Improviser()
        runner = WorldRunner(world_log, PlayerRegistry({}, lambda _: player), clock=clock)

        async def play() -> None:
            going = asyncio.create_task(runner.run(beats=limit))
            end = world_log.world.created_at + round((experiment.minutes or 24 * 60.0) * _MINUTE)
            ending = asyncio.create_task(_stop_at(runner, clock, end))
            await going
            ending.cancel()

        asyncio.run(play())
        for _, event in world_log.events():
            if isinstance(event, e.BeatBegun):
                models[event.model] += 1
                sizes.append(event.tokens)
        seconds = (world_log.world.now - world_log.world.created_at) / 1000
    beats = len(sizes)
    if experiment.minutes and seconds:
        by_time = round(beats * experiment.minutes * 60 / seconds)
        beats = min(by_time, experiment.beats) if experiment.beats else by_time
    else:
        beats = experiment.beats
    return beats, HudSizes.measured(sizes).total(beats) / max(1, beats), models


async def _stop_at(runner: WorldRunner, clock: SimulatedClock, end: int) -> None:
    await clock.sleep(max(0.0, (end - runner.now()) / 1000))
    runner.stop()
