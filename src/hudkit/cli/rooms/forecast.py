"""`hudkit rooms forecast`: a sample is played, and scaled to as many agents as are asked for."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import msgspec

from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.rooms.new import check_model
from hudkit.cli.rooms.worlds import plural
from hudkit.cli.styles import EXPERIMENT_STYLES, print_lines
from hudkit.compose import visible
from hudkit.rooms.experiments.scale import ScaleForecast, ScaleSample, forecast_scale, measure_scale
from hudkit.rooms.world_file import island_world, read_world_file

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.model:
        check_model(args.model)
    founding = read_world_file(args.file) if args.file is not None else island_world()
    sample = measure_scale(founding, args.sample, float(args.sample_minutes))
    minutes = args.long / 60
    forecasts = [forecast_scale(sample, agents, minutes, args.model) for agents in args.agents or _SIZES]
    if args.json:
        facts = {"sample": msgspec.to_builtins(sample), "forecasts": msgspec.to_builtins(forecasts)}
        print(as_json({"schema": SCHEMA, "model": args.model, **facts}))
    else:
        print_lines(map(visible, _lines(sample, forecasts, args.model)), EXPERIMENT_STYLES, long="keep")
    return 0


def _lines(sample: ScaleSample, forecasts: Iterable[ScaleForecast], model: str) -> Iterable[str]:
    yield (
        f"sample: {plural(sample.agents, 'agent')}, {sample.minutes:g} minutes: {plural(sample.beats, 'beat')}, "
        f"{sample.skipped:,} skipped; {plural(sample.rows, 'row')}, {_size(sample.bytes)}; "
        f"HUDs of {sample.hud_tokens / sample.beats:,.0f} tokens, {sample.full_hud:,.0f} at the end; "
        f"{1000 * sample.seconds / sample.beats:.2f} ms a beat"
    )
    head = ["agents", "beats", "rows", "log", "tokens in", "out", "dollars", "cores", "memory"]
    rows = [head]
    for forecast in forecasts:
        dollars = "–" if forecast.cost is None else f"{forecast.cost:,.2f}"
        counts = (forecast.agents, forecast.beats, forecast.rows)
        rows.append(
            [
                *(f"{count:,}" for count in counts),
                _size(forecast.bytes),
                f"{forecast.input_tokens:,}",
                f"{forecast.output_tokens:,}",
                dollars,
                f"{forecast.cores:,.2f}",
                _size(forecast.memory),
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    priced = f"prices of {model}, without a cache" if model else "no model named: no dollars"
    yield f"{priced}; neighbourhoods side by side; one process plays one world: more cores need more worlds"


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:,.0f} {unit}" if count >= 100 or unit == "B" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} {_UNITS[-1]}"
