"""Say of a fit what was kept, at which density, what was left out and why, and what would bring it back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from hudkit.compose.fit.fitter import Fitter
from hudkit.compose.fit.grower import Grower
from hudkit.compose.fit.parts import Box, Flexible, Options, Unit, name_of, omission
from hudkit.compose.fit.plan import Plan
from hudkit.compose.fit.result import Fitted, Grow, Measure
from hudkit.compose.fit.whole import named
from hudkit.compose.nodes import Element, text_of
from hudkit.errors import BudgetError

MOST = 400
"""Budgets that are looked at one by one; of more, so many at equal distances."""


class Entry(msgspec.Struct, frozen=True):
    """One node of a trace, in document order; `depth` counts the containers that it is in.

    `kind` is `box` (a container), `always` (no priority), `node`, `choice`, `flexible` or `grow`; `density` is the
    alternative that was taken; `tokens` what it costs by itself, `text` what it says, as it is in where it is.
    """

    path: str
    depth: int
    kind: str
    kept: bool
    tokens: int
    text: str
    priority: float | None = None
    density: str = ""
    reason: str = ""


class Trace:
    """A fit with its reasons. `at` gives that of another budget, and is cheap: costs are kept."""

    def __init__(self, tree: Element, budget: int, fitter: Fitter) -> None:
        self.tree = tree
        self.budget = budget
        self._fitter = fitter
        self.fitted: Fitted
        self.fitted, plan = fitter.planned(tree, budget)
        self.entries: tuple[Entry, ...] = tuple(_entries(plan, budget))
        self._states: tuple[Trace, ...] | None = None

    def at(self, budget: int) -> Trace:
        """The trace of the same tree at another budget. Raises `BudgetError` where nothing fits."""
        return Trace(self.tree, budget, self._fitter)

    def back(self, place: int) -> int | None:
        """Tokens that the budget lacks for the entry at `place` of `entries` to be in as it is meant (an alternative:
        the first; a long text: whole): 0 where it is. `None` where it never is. True of every tree; the least such
        number where at most `MOST` budgets matter."""
        for state in (self, *self.states()):
            if state.budget >= self.budget and _complete(state.entries[place]):
                return state.budget - self.budget
        return None

    def states(self) -> tuple[Trace, ...]:
        """The fits at the budgets where something changes, from the least budget at which there is one."""
        if self._states is None:
            self._states = tuple(_states(self))
        return self._states

    def text(self) -> str:
        """For people: a line for each node; `+` in, `-` left out, `~` in part."""
        head = f"{self.fitted.tokens} of {self.budget} tokens"
        if self.fitted.reserved:
            head += f", {self.fitted.reserved} reserved"
        return "\n".join((head, *(_line(n, one, self) for n, one in enumerate(self.entries)))) + "\n"


def trace(
    tree: Element,
    budget: int,
    measure: Measure,
    *,
    backfill: bool = True,
    grow: Mapping[str, Grow] | None = None,
) -> Trace:
    """Fit a tree, as `fit` does, and keep the reasons. Raises `BudgetError` where nothing fits."""
    return Trace(tree, budget, Fitter(measure, backfill=backfill, grow=grow, slow=True))


def _entries(plan: Plan, budget: int) -> Iterator[Entry]:
    yield from _box(plan.root, plan, budget, 0)


def _box(box: Box, plan: Plan, budget: int, depth: int) -> Iterator[Entry]:
    kept = box.open or (box.fallback is not None and box.fallback.present)
    priority = box.element.get("priority")
    title = str(box.element.get("title", ""))
    yield Entry(box.name or "/", depth, "box", kept, box.cost, title, priority, reason="" if kept else box.barred)
    for part in box.parts:
        if isinstance(part, Box):
            yield from _box(part, plan, budget, depth + 1)
        elif isinstance(part, Element):
            if part.tag not in ("break", "more"):
                path = f"{box.name}/{named(part)}"
                here = Entry(path, depth + 1, "always", box.open, plan.kit.measure(part), _words(part))
                yield here
        elif not isinstance(part, str):
            yield _entry(part, budget, depth + 1)
    if box.fallback is not None:
        shown = box.fallback.taken and not box.taken
        one = box.fallback
        yield Entry(one.label, depth + 1, "node", shown, one.cost, _words(one.element), density="fallback")


def _entry(part: Unit | Options | Grower, budget: int, depth: int) -> Entry:
    found = part.missing()
    reason = omission(found[0], budget).reason if found else ""
    if isinstance(part, Options):
        chosen = part.chosen or (part.levels[0] if part.levels else None)
        text, tokens = (_words(chosen.element), chosen.cost) if chosen else ("", 0)
        density = name_of(part.chosen) if part.chosen else ""
        rank = _rank(part.levels[0]) if part.levels else None
        return Entry(part.label, depth, "choice", part.present, tokens, text, rank, density, reason)
    if isinstance(part, Grower):
        text = _words(part.made) if part.made is not None else ""
        return Entry(part.label, depth, "grow", part.present, part.offer, text, reason=reason)
    if isinstance(part, Flexible):
        text = _words(part.now if part.now is not None else part.element)
        return Entry(part.label, depth, "flexible", part.present, part.cost, text, _rank(part), "", reason)
    return Entry(part.label, depth, "node", part.present, part.cost, _words(part.element), _rank(part), "", reason)


def _words(element: Element) -> str:
    """What an element says, a line for each element that holds text."""
    if any(isinstance(child, str) for child in element.children):
        return text_of(element)
    lines = [str(element.get("title", ""))]
    lines += [_words(child) for child in element.children if isinstance(child, Element)]
    return "\n".join(filter(None, lines))


def _rank(unit: Unit) -> float | None:
    rank = -unit.key[-2]
    return None if rank == float("inf") else rank


def _complete(entry: Entry) -> bool:
    return entry.kept and not entry.reason


def _states(start: Trace) -> Iterator[Trace]:
    """From the least budget to the one at which everything is in."""
    least = _least(start)
    if least is None:
        return
    seen: list[Trace] = [least]
    now = least
    while now.fitted.short and len(seen) < MOST:
        now = now.at(now.budget + now.fitted.short)
        if now.fitted.tree != seen[-1].fitted.tree or now.fitted.omitted != seen[-1].fitted.omitted:
            seen.append(now)
    if now.fitted.short:
        top = _whole(now)
        width = top.budget - least.budget
        seen = [least.at(least.budget + width * n // (MOST - 1)) for n in range(MOST)]
    yield from seen


def _least(start: Trace) -> Trace | None:
    budget = 0
    for _ in range(64):
        try:
            return start.at(budget)
        except BudgetError as error:
            need = error.details.get("need")
            limit = error.details.get("limit")
            if not isinstance(need, int) or limit != budget or need <= budget:
                return None
            budget = need
    return None


def _whole(start: Trace) -> Trace:
    """A budget at which nothing is short."""
    now, step = start, max(1, start.budget)
    for _ in range(40):
        now = start.at(start.budget + step)
        if not now.fitted.short:
            break
        step *= 2
    return now


def _line(place: int, entry: Entry, whole: Trace) -> str:
    mark = ("~" if entry.reason else "+") if entry.kept else "-"
    priority = "" if entry.priority is None else f" @{entry.priority:g}"
    density = f" [{entry.density}]" if entry.density else ""
    text = " ".join(entry.text.split())
    said = f" {text[:57]}…" if len(text) > 58 else f" {text}" if text else ""
    line = f"{mark} {'  ' * entry.depth}{entry.path}{priority}{density} ({entry.tokens}){said}"
    if not entry.reason:
        return line
    back = whole.back(place)
    more = "; never at any budget" if back is None else f"; in with {back} more"
    return f"{line}\n  {'  ' * entry.depth}  {entry.reason}{more}"
