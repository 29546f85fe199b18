"""The tables of an experiment over all its runs: mean and spread by variant, and files for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import msgspec

from hudkit.rooms.experiments.experiment_file import Experiment
from hudkit.rooms.experiments.parquet_file import parquet_bytes
from hudkit.rooms.experiments.run_tables import (
    AttentionRow,
    BeatRow,
    MessageRow,
    NetworkRow,
    OpinionRow,
    RunTables,
)

TABLES: Mapping[str, type[msgspec.Struct]] = {
    "beats": BeatRow,
    "messages": MessageRow,
    "network": NetworkRow,
    "attention": AttentionRow,
    "opinions": OpinionRow,
}
"""The tables of a run, with what a row of each is."""

_SHOWN = (
    "beats",
    "minutes",
    "failed beats",
    "beats without effect",
    "messages",
    "delayed",
    "words",
    "answers",
    "reactions",
    "actions",
    "refused",
    "hud tokens",
    "hud tokens per message",
    "input tokens",
    "cached tokens",
    "output tokens",
    "cost",
)
"""The figures of the printed table, before those of opinions; the files have all."""


class FigureSummary(msgspec.Struct, frozen=True):
    """One figure of one variant over its runs; `sd` is the standard deviation of the sample, 0 of one run."""

    variant: str
    figure: str
    runs: int
    mean: float
    sd: float
    least: float
    most: float


def summaries(experiment: Experiment, runs: Sequence[RunTables]) -> list[FigureSummary]:
    """Return each figure of each variant that has a finished run, in the order of the file and of the figures."""
    rows = []
    for variant in experiment.variants:
        own = [run.figures for run in runs if run.variant == variant.name]
        for figure in own[0] if own else ():
            values = [figures[figure] for figures in own]
            spread = stdev(values) if len(values) > 1 else 0.0
            # Rounded: sums of the same values may differ in their last digit from one Python to the next.
            summary = round(fmean(values), 6), round(spread, 6), min(values), max(values)
            rows.append(FigureSummary(variant.name, figure, len(values), *summary))
    return rows


def table_lines(experiment: Experiment, runs: Sequence[RunTables]) -> list[str]:
    """Return the printed table: a row for each figure, a column for each variant; mean ± standard deviation."""
    rows = summaries(experiment, runs)
    variants = list(dict.fromkeys(row.variant for row in rows))
    by_place = {(row.figure, row.variant): row for row in rows}
    # Those of opinions come behind all others, and are always shown; the rest only where there is something.
    opinions = {f"{opinion.name}: {choice}" for opinion in experiment.opinions for choice in opinion.choices}
    figures = [
        figure
        for figure in dict.fromkeys(row.figure for row in rows)
        if figure in opinions or (figure in _SHOWN and any(by_place[figure, name].most for name in variants))
    ]
    cells = (
        [["", *variants], ["runs", *(str(by_place[figures[0], name].runs) for name in variants)]] if figures else []
    )
    cells += [[figure, *(_amount(by_place[figure, name]) for name in variants)] for figure in figures]
    widths = [max(len(row[column]) for row in cells) for column in range(len(variants) + 1)] if cells else []
    lines = []
    for row in cells:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join((row[0].ljust(widths[0]), *rest)).rstrip())
    done, total = len(runs), len(experiment.runs())
    if done < total:
        lines.append(f"{done:,} of {total:,} runs are finished")
    return lines


def write_results(experiment: Experiment, runs: Sequence[RunTables], folder: Path) -> list[Path]:
    """Write all tables into a folder and return their paths: the printed table, and each as CSV and as Parquet."""
    tables: dict[str, list[Mapping[str, Any]]] = {
        "variants": [msgspec.structs.asdict(row) for row in summaries(experiment, runs)],
        "runs": [{"variant": run.variant, "seed": run.seed, **run.figures} for run in runs],
        "interventions": [
            {"variant": run.variant, "seed": run.seed, "minute": minute, "text": text}
            for run in runs
            for minute, text in run.interventions
        ],
    }
    for name in TABLES:
        tables[name] = [
            {"variant": run.variant, "seed": run.seed, **msgspec.structs.asdict(row)}
            for run in runs
            for row in getattr(run, name)
        ]
    text = "".join(f"{line}\n" for line in table_lines(experiment, runs))
    paths = [_write(folder / "table.txt", text.encode())]
    for name, rows in tables.items():
        columns = list(_columns(name, rows))
        paths.append(_write(folder / f"{name}.csv", _csv_text(columns, rows).encode()))
        paths.append(_write(folder / f"{name}.parquet", parquet_bytes(columns, rows)))
    return paths


def _columns(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Return the columns of a table, also of one without rows."""
    if rows:
        return rows[0]
    if name in TABLES:
        return ("variant", "seed", *(field.name for field in msgspec.structs.fields(TABLES[name])))
    if name == "variants":
        return (field.name for field in msgspec.structs.fields(FigureSummary))
    return ("variant", "seed", *(("minute", "text") if name == "interventions" else ()))


def _csv_text(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> str:
    output = io.StringIO()
    writer = csv.DictWriter(output, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return output.getvalue()


def _write(path: Path, content: bytes) -> Path:
    # Whole or not at all: a command that is killed here leaves the table of before.
    draft = path.with_name(f"{path.name}.draft")
    draft.write_bytes(content)
    draft.replace(path)
    return path


def _amount(row: FigureSummary) -> str:
    digits = 4 if row.figure == "cost" else 1
    mean = f"{row.mean:,.{digits}f}"
    return f"{mean} ± {row.sd:,.{digits}f}" if row.runs > 1 else mean
