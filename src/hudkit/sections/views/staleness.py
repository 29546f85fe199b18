"""Staleness: which open items nobody has touched for long, in one line of a base."""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_not

from hudkit.compose import Density, Element, component, h
from hudkit.config import StalenessSettings
from hudkit.sections.items import Mark
from hudkit.sections.state import HudState
from hudkit.sections.views.section import View

NAMED = 4
"""Items that the advice names."""

_HOUR = 3_600_000


class Ages:
    """Asks for the advice only where the oldest item could be stale: what is open is looked at when it changes."""

    def __init__(self) -> None:
        self._of: tuple[object, ...] = ()
        self._oldest: tuple[int, int] | None = None  # time and turn of the oldest

    def advice(self, state: HudState, view: View) -> Element | None:
        """`Stale`, as it would be without this memory."""
        of = (state.task, state.steps, state.blockers)
        if len(self._of) != len(of) or any(map(is_not, self._of, of)):
            marks = [mark for _, mark in _open(state)]
            self._of = of
            self._oldest = (min(mark.at for mark in marks), min(mark.turn for mark in marks)) if marks else None
        if self._oldest is None or not _old(state, Mark(at=self._oldest[0], turn=self._oldest[1]), view.staleness):
            return None
        return Stale(state, view)


@component
def Stale(state: HudState, view: View) -> Element | None:
    """Advice on items that are open and old, in words that stay the same for the same items."""
    if view.density is Density.MINIMAL:
        return None
    old = stale(state, view.staleness)
    if not old:
        return None
    more = f" and {len(old) - NAMED} more" if len(old) > NAMED else ""
    words = f"Not touched for long: {', '.join(old[:NAMED])}{more}. Update, complete or remove what is over."
    return h.text(key="staleness", priority=45)[words]


def stale(state: HudState, limits: StalenessSettings) -> tuple[str, ...]:
    """The ids (for the task, `task`) of open items that are older than the limits, by the time of the last event or
    by the calls since."""
    return tuple(name for name, mark in _open(state) if _old(state, mark, limits))


def _open(state: HudState) -> Iterator[tuple[str, Mark]]:
    if state.task.description:
        # A task lasts: hours count, calls do not.
        yield "task", Mark(state.task.seq, state.task.updated_at, state.window.calls)
    yield from ((step.id, step.mark) for step in state.steps.open)
    yield from ((blocker.id, blocker.mark) for blocker in state.blockers)


def _old(state: HudState, mark: Mark, limits: StalenessSettings) -> bool:
    hours, calls = (state.at - mark.at) / _HOUR, state.window.calls - mark.turn
    return bool(limits.hours and hours >= limits.hours) or bool(limits.model_calls and calls >= limits.model_calls)
