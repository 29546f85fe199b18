"""The table of docs/a-day.md and of the README, from what the runs of the day came to.

`make hosts` (or `pytest tests/day -m hosts`) leaves what it saw in `.cache/day`; `python tests/day/day_table.py`
writes the tables anew.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import msgspec
from day_paths import add_host_folders
from day_result import DayCost, DayResult

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / ".cache" / "day"
PAGE = ROOT / "docs" / "a-day.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- the day, as it was run: python tests/day/day_table.py -->", "<!-- end of the day -->"


def write_result(result: DayResult) -> None:
    """Keep what a day came to, for the tables."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{result.host}.json").write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1))


def write_cost(name: str, cost: DayCost) -> None:
    """Keep what the work of a day costs in a host."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    _cost_file(name).write_bytes(msgspec.json.format(msgspec.json.encode(cost), indent=1))


def read_costs(names: Mapping[str, object]) -> dict[str, DayCost]:
    """Return what the work was last measured to cost in each host. Raises `FileNotFoundError` where it never was."""
    return {name: msgspec.json.decode(_cost_file(name).read_bytes(), type=DayCost) for name in names}


def _cost_file(name: str) -> Path:
    return RESULTS / f"{name}-cost.json"


def read_results(names: Mapping[str, object]) -> list[DayResult]:
    """Return what the last run of each host came to. Raises `FileNotFoundError` where there was none."""
    return [msgspec.json.decode((RESULTS / f"{name}.json").read_bytes(), type=DayResult) for name in names]


def day_table(results: list[DayResult], costs: Mapping[str, DayCost]) -> str:
    """Return the table of docs/a-day.md: steps by hosts, then what was known and what it cost."""
    lines = [_row("", *(result.title for result in results)), _row(*["---"] * (len(results) + 1))]
    for number, step in enumerate(results[0].steps):
        cells = [str(result.steps[number].compared) if result.steps[number].done else "–" for result in results]
        lines.append(_row(f"{number + 1}. {step.title}", *cells))
    lines.append(_row("**differences**", *(f"**{len(result.differences)}**" for result in results)))
    lines.append(_row("calls and commands that were named, and done", *(str(result.named) for result in results)))
    lines.append(_row("items still known at the end", *(f"{result.known} of {result.items}" for result in results)))
    measured = (f"× {costs[result.host].times:.2f} ({costs[result.host].calls} calls)" for result in results)
    lines.append(_row("cost of the work with the HUD ÷ without it, measured", *measured))
    lines.append(_row("cost of the whole day, by its receipt", *(_ratio(result) for result in results)))
    return "\n".join(lines)


def short_table(results: list[DayResult], costs: Mapping[str, DayCost]) -> str:
    """Return the table of the README: what the day came to, by hosts."""
    rows = {
        "": [result.title for result in results],
        "---": ["---"] * len(results),
        "steps, comparisons, differences": [
            f"{sum(step.done for step in result.steps)} of {len(result.steps)}, "
            f"{sum(step.compared for step in result.steps):,}, {len(result.differences)}"
            for result in results
        ],
        "known at the end, cost": [
            f"{result.known} of {result.items}, × {costs[result.host].times:.2f}" for result in results
        ],
    }
    return "\n".join(_row(name, *cells) for name, cells in rows.items())


def _ratio(result: DayResult) -> str:
    return f"× {result.cost:.2f}" if result.cost else "–"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def put(file: Path, table: str) -> None:
    """Put a table in the place of the one that a page has."""
    head, _, rest = file.read_text("utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    file.write_text(f"{head}{BEGIN}\n{table}\n{END}{tail}", "utf-8")


if __name__ == "__main__":
    add_host_folders()
    from day_hosts import HOSTS

    results, costs = read_results(HOSTS), read_costs(HOSTS)
    put(PAGE, day_table(results, costs))
    put(README, short_table(results, costs))
