"""Mark what is in, and take out what may not stand as it is: gaps of numbered lists, and broken ties."""

from __future__ import annotations

from hudkit.compose.fit.parts import Box, Fallback, Flexible, Level, Unit
from hudkit.compose.fit.plan import Plan


def mark(unit: Unit, taken: bool, fresh: bool = True) -> None:
    """Note that a node is in, or not, in every box above it."""
    unit.taken = taken
    if not fresh:
        return
    box: Box | None = unit.box
    counts = True
    while box is not None:
        if not isinstance(unit, Fallback):
            box.left += -1 if taken else 1
        if counts:
            box.taken += 1 if taken else -1
            counts = box.taken == (1 if taken else 0)
        box = box.parent


def mend(plan: Plan, budget: int) -> None:
    """What may not stand as it is goes: gaps of numbered lists, and ties that were broken."""
    if not plan.ordered and not plan.ties.members:
        return
    for box in plan.ordered:
        _close_gaps(box)
    broken = True
    while broken:
        broken = False
        for unit in plan.units:
            if unit.ties and unit.taken and unit.present and not all(one.present for one in plan.ties.closure(unit)):
                _drop(unit, budget)
                broken = True
        for box in plan.ordered if broken else ():
            _close_gaps(box)


def _drop(unit: Unit, budget: int) -> None:
    if isinstance(unit, Level):
        unit.options.chosen = unit.options.forced
        mark(unit, False, unit.options.forced is None)
    elif isinstance(unit, Flexible):
        unit.now, unit.lost = unit.smallest, ()
        mark(unit, False, unit.smallest is None)
    else:
        mark(unit, False)
    unit.why = unit.why or f"something that it is tied to does not fit into {budget}"


def _close_gaps(box: Box) -> None:
    """In a numbered list what is shown is one run round its most important item, so that its numbers are the
    items' own."""
    run: list[Unit] = []
    runs: list[list[Unit]] = [run]
    held: list[Unit] | None = None
    for part in box.parts:
        if isinstance(part, Unit) and part.taken:
            run.append(part)
        elif isinstance(part, Unit):
            run = []
            runs.append(run)
        elif part is not box.more:
            held = run  # a required item: its run is the one that stays
    best = held if held is not None else min(runs, key=_first)
    for one in runs:
        if one is not best:
            for unit in one:
                mark(unit, False)


def _first(run: list[Unit]) -> tuple[float, ...]:
    """The rank of the most important node of a run; a run of none comes last."""
    return min((unit.key for unit in run), default=(float("inf"),))
