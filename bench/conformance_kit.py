"""compaction-conformance-kit: what a frame still says of a session at fixed budgets, beside the kit's own compactors.

The kit plants statements in a transcript, compacts it again and again, and looks for their words. Here a "compaction"
is a frame: the user's messages are told to the rules once, and the largest frame that fits the budget is given back.
Everything is the kit's default: seeds 1 to 4, five rounds, budgets of 10, 20 and 30 % of the transcript's characters.
It is measured with the labels of its user lines ("FACT: ...") and with them stripped.

Run it in an environment with the dependency group `bench-outside`: `python -m bench conformance_kit`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from bench.figures import Figure, Skipped
from hudkit import Hud
from hudkit.api import HudSession

TITLE = "compaction-conformance-kit: what is lost at a budget of the transcript (rules only)"

_LABEL = re.compile(r"^[A-Z][A-Z ]+: (?=\S)")
_BUDGETS, _SEEDS, _ROUNDS = (0.1, 0.2, 0.3), (1, 2, 3, 4), 5
_LOST = {0.1: 0.60, 0.2: 0.15}
"""The most that may be lost, by budget."""
_MISSED_UPDATES = 0.1


class HudCompactor:
    """A session's frame as the kit's compactor; `stripped`: what the user says is told without its label."""

    name = "hudkit"

    def __init__(self, *, stripped: bool = False) -> None:
        self._stripped = stripped
        self._session: HudSession | None = None

    def compact(self, turns: Sequence[Any], round_num: int = 1, budget_chars: int | None = None) -> Any:
        """Return the largest frame within the budget. Later rounds bring nothing that a user said."""
        if round_num == 1 or self._session is None:
            self._session = self._told(turns)
        text = _largest_frame(self._session, budget_chars or 1_000_000)
        context = import_module("compaction_kit.compacted").CompactedContext
        return context(text=text, compactor_name=self.name, round_num=round_num)

    def _told(self, turns: Sequence[Any]) -> HudSession:
        ticks, numbers = itertools.count(1_795_000_000_000, 60_000), itertools.count(1)
        hud = Hud.in_memory(clock=lambda: next(ticks), ids=lambda: f"01a00000-0000-7000-8000-{next(numbers):012x}")
        session = hud.session("ses_1", project="/work/kit")
        for number, turn in enumerate(turns):
            text = _LABEL.sub("", turn.text) if self._stripped else turn.text
            if turn.role in ("user", "assistant"):
                at = 1_795_000_000_000 + 60_000 * number
                session.ingest([{"id": f"m{number}", "role": turn.role, "text": text, "time": at}])
        session.frame(used_tokens=10_000, limit_tokens=200_000)  # the call before the compaction
        return session


def _largest_frame(session: HudSession, chars: int) -> str:
    """Return the longest frame of at most so many characters that a budget in tokens gives."""
    best = ""
    low, high = 16, min(chars // 2, 6_000)
    while low <= high:
        budget = (low + high) // 2
        text = _frame(session, budget)
        if text is not None and len(text) <= chars:
            best, low = max(best, text, key=len), budget + 1
        elif text is None:
            low = budget + 1
        else:
            high = budget - 1
    return best


def _frame(session: HudSession, budget: int) -> str | None:
    from hudkit.errors import BudgetError

    try:
        return session.frame_within(budget).text
    except BudgetError:
        return None


def run() -> list[Figure]:
    """The shares that are lost, of updates that are not resolved, and of what is over and shown."""
    try:
        benchmark = import_module("compaction_kit.benchmark")
        compactors = import_module("compaction_kit.compactors")
        semantic = import_module("compaction_kit.semantic")
    except ImportError as error:
        raise Skipped(f"{error.name} is not installed (dependency group bench-outside)") from None
    factories: dict[str, Callable[[], Any]] = {
        "hudkit": HudCompactor,
        "hudkit, labels stripped": lambda: HudCompactor(stripped=True),
        "kit's semantic-checklist": semantic.SemanticChecklistCompactor,
        "kit's pinned-rules": compactors.PinnedRulesCompactor,
        "kit's llm-summary-sim": getattr(compactors, "RecursiveSummaryCompactor", compactors.PinnedRulesCompactor),
    }
    result = benchmark.run_budget_benchmark(factories, budgets=_BUDGETS, seeds=_SEEDS, rounds=_ROUNDS)
    figures: list[Figure] = []
    for entry in result["entries"]:
        ours = entry["compactor"].startswith("hudkit")
        name = f"{entry['compactor']} at {entry['budget_fraction']:.0%}"
        kinds = ", ".join(
            f"{kind} {share:.2f}" for kind, share in entry["randomized"]["final_median_by_type"].items()
        )
        conflicts = entry["semantic"]["conflicts"]
        lost = round(1 - entry["randomized"]["overall_final_survival"], 3)
        limit = _LOST.get(entry["budget_fraction"]) if ours else None
        figures.append(Figure(f"{name}: lost", lost, limit, f"kept: {kinds}"))
        at_20 = ours and entry["budget_fraction"] >= 0.2
        missed = round(1 - entry["semantic"]["resolved_rate"], 3)
        pairs = f"distinct pairs {conflicts['pairs_both_held']} of {conflicts['pairs']}"
        figures.append(Figure(f"{name}: updates not resolved", missed, _MISSED_UPDATES if at_20 else None, pairs))
        stale = f"{conflicts['stale']} of {conflicts['n']}"
        figures.append(
            Figure(f"{name}: stale shown", conflicts["stale"] / conflicts["n"], 0 if ours else None, stale)
        )
    return figures
