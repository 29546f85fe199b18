"""`hudkit rooms experiment`: all runs of an experiment are played, then its tables and its page are written."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from hudkit.cli import complain
from hudkit.cli.common import SCHEMA, as_json, progress_bar
from hudkit.cli.rooms.new import check_model
from hudkit.cli.rooms.worlds import plural
from hudkit.cli.styles import EXPERIMENT_STYLES, on_terminal, print_lines
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.rooms.experiments.experiment_file import Experiment, read_experiment
from hudkit.rooms.experiments.forecast import experiment_forecast, forecast_lines
from hudkit.rooms.experiments.report_page import write_report
from hudkit.rooms.experiments.results import summaries, table_lines, write_results
from hudkit.rooms.experiments.run_queue import (
    CAP_REACHED,
    Progress,
    RunQueue,
    check_results,
    finished_tables,
    locked_results,
)

_LINE_SECONDS = 10.0
"""Seconds between two lines of progress where the output is piped."""


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    experiment = read_experiment(args.file)
    _check_models(experiment)
    folder = args.output or args.file.parent / f"{experiment.name}-results"
    if args.dry_run:
        return _print_forecast(experiment, folder, as_facts=args.json)
    cap = experiment.cap if args.cap is None else args.cap
    with locked_results(folder) as lock:
        runs = check_results(experiment, folder, restart=args.restart)
        shown = _ShownProgress(quiet=args.json)
        queue = RunQueue(
            experiment,
            folder,
            runs,
            processes=args.processes or os.cpu_count() or 1,
            cap=cap,
            lock=lock,
            on_news=shown.show,
        )
        asyncio.run(_play(queue))
        shown.end(queue.progress)
        tables = finished_tables(experiment, folder)
        write_results(experiment, tables, folder)
        write_report(experiment, tables, folder / "report.html")
    if args.json:
        print(as_json(_facts(experiment, folder, queue, tables)))
    else:
        print_lines(map(visible, table_lines(experiment, tables)), EXPERIMENT_STYLES, long="keep")
        print(visible(f"results: {folder} (report.html)"))
    for error in queue.progress.errors:
        complain("rooms", visible(error))
    if queue.stopped == CAP_REACHED:
        complain("rooms", f"stopped: ${queue.progress.cost:.2f} were spent of ${cap:.2f}; go on with a higher --cap")
    if queue.stopped == "interrupted":
        complain("rooms", "interrupted; the same command goes on where it stood")
        return 130
    return 1 if queue.progress.errors or queue.stopped else 0


async def _play(queue: RunQueue) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # not the main thread
            loop.add_signal_handler(number, queue.stop, "interrupted")
    await queue.play()


class _ShownProgress:
    """Says how far it is: a bar on a terminal, else a line now and then."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._last = time.monotonic()
        self._bar = progress_bar() if not quiet and on_terminal() else None
        self._draw = self._bar.__enter__() if self._bar is not None else None

    def show(self, progress: Progress) -> None:
        if self._draw is not None:
            self._draw(progress.before + progress.finished, progress.total, f"runs, ${progress.cost:.2f}")
        elif not self._quiet and time.monotonic() - self._last > _LINE_SECONDS:
            self._last = time.monotonic()
            print(_progress_line(progress), file=sys.stderr, flush=True)

    def end(self, progress: Progress) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
        if not self._quiet:
            print(_progress_line(progress), file=sys.stderr, flush=True)


def _progress_line(progress: Progress) -> str:
    before = f", {progress.before:,} of them before" if progress.before else ""
    failed = f", {plural(progress.failed, 'run')} failed" if progress.failed else ""
    done = progress.before + progress.finished
    return (
        f"{done:,} of {plural(progress.total, 'run')}{before}{failed}; "
        f"{plural(progress.beats, 'beat')} now, ${progress.cost:.2f}"
    )


def _check_models(experiment: Experiment) -> None:
    """Raise `ConfigError` for what is no model, before the first run."""
    for variant in experiment.variants:
        if not variant.script:
            for entry in variant.founding.agents:
                check_model(entry.model or variant.founding.model)


def _print_forecast(experiment: Experiment, folder: Path, *, as_facts: bool) -> int:
    if experiment.beats == 0 and experiment.minutes == 0:
        raise ConfigError("nothing would be run")
    runs = check_results(experiment, folder, restart=False) if folder.is_dir() else experiment.runs()
    forecasts = experiment_forecast(experiment, runs)
    if as_facts:
        facts = [msgspec.to_builtins(forecast) for forecast in forecasts]
        print(as_json({"schema": SCHEMA, "runs": len(experiment.runs()), "left": len(runs), "variants": facts}))
    else:
        print_lines(map(visible, forecast_lines(experiment, runs, forecasts)), EXPERIMENT_STYLES, long="keep")
    return 0


def _facts(experiment: Experiment, folder: Path, queue: RunQueue, tables: list[Any]) -> dict[str, Any]:
    progress = queue.progress
    return {
        "schema": SCHEMA,
        "results": str(folder),
        "runs": progress.total,
        "finished": progress.before + progress.finished,
        "before": progress.before,
        "failed": progress.failed,
        "cost": round(progress.cost, 6),
        "stopped": queue.stopped,
        "errors": progress.errors,
        "variants": [msgspec.to_builtins(row) for row in summaries(experiment, tables)],
    }
