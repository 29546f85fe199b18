"""Explain a fit: what was kept, at which density, what was left out and why, and what would bring it back.

The idea: nobody can say from one fit how many tokens more bring a node back, because more room may first let in
something else that takes it again. So the tree is fitted at every budget at which anything changes. Each fit notes
its shortfall, the least number of tokens more at which one of its decisions would be another one; that is the next
budget to look at, and the walk ends when nothing is short. Costs are remembered, so most of these fits measure one
tree.

An example, one token a word: "retry uploads" is required, n1 (priority 5) and n2 (priority 4) have four words each.
At a budget of 2 the shortfall is 4, at 6 it is 4 again, at 10 it is 0. The states are 2, 6 and 10, and at a budget of
7 the trace says of n2 that it is in with 3 tokens more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from hudkit.compose.fitting.atomic import path_name
from hudkit.compose.fitting.candidates import (
    AlternativeGroup,
    Container,
    FitCandidate,
    FlexibleCandidate,
    GrowingElement,
    alternative_name,
)
from hudkit.compose.fitting.fitter import Fitter
from hudkit.compose.fitting.plan import FitPlan
from hudkit.compose.fitting.result import FitResult, Grow, Measure
from hudkit.compose.nodes import Element, text_of
from hudkit.errors import BudgetError

_MAX_STATES = 400
"""Budgets that are looked at one by one; of more, so many at equal distances. A page with more would be too large."""

_MAX_LEAST_BUDGETS = 64
"""How often a budget is raised to what its error says is needed. Each round settles one limit further in."""

_MAX_DOUBLINGS = 40
"""Doublings of a step in the search for a budget that is enough: 2**40 tokens are more than any tree has."""

_SUMMARY_CHARS = 58
"""Characters of a node's text in a line for people."""


class TraceEntry(msgspec.Struct, frozen=True):
    """One node of a trace, in document order; `depth` counts the containers that it is in.

    `kind` is `box` (a container), `always` (no priority), `node`, `choice`, `flexible` or `grow`. `present` says
    whether it is in, `density` which alternative was taken, `tokens` what it costs by itself, `text` what it says, as
    it is in where it is, and `reason` why it is not in, or not as it is meant.
    """

    path: str
    depth: int
    kind: str
    present: bool
    tokens: int
    text: str
    priority: float | None = None
    density: str = ""
    reason: str = ""


class Trace:
    """A fit with its reasons: `result` is the fit, `entries` its nodes."""

    def __init__(self, tree: Element, budget: int, fitter: Fitter) -> None:
        self.tree = tree
        self.budget = budget
        self._fitter = fitter
        self.result: FitResult
        self.result, plan = fitter.fit_with_plan(tree, budget)
        self.entries: tuple[TraceEntry, ...] = tuple(_container_entries(plan.root, plan, budget, 0))
        self._states: tuple[Trace, ...] | None = None

    def at(self, budget: int) -> Trace:
        """Return the trace of the same tree at another budget; cheap. Raises `BudgetError` where nothing fits."""
        return Trace(self.tree, budget, self._fitter)

    def tokens_lacking(self, index: int) -> int | None:
        """Return the tokens that the budget lacks for `entries[index]` to be in as it is meant.

        As it is meant: of alternatives the first, of a long text the whole. 0 where it is, `None` where it never is.
        True of every tree; the least such number where at most 400 budgets matter.
        """
        # This state first: beyond 400 budgets the states are samples, and may pass over the present budget.
        for state in (self, *self.states()):
            entry = state.entries[index]
            if state.budget >= self.budget and entry.present and not entry.reason:
                return state.budget - self.budget
        return None

    def states(self) -> tuple[Trace, ...]:
        """Return the fits at the budgets where something changes, from the least budget at which there is one."""
        if self._states is None:
            self._states = tuple(_find_states(self))
        return self._states

    def text(self) -> str:
        """Return the trace for people: a line for each node; `+` in, `-` left out, `~` in part."""
        head = f"{self.result.tokens} of {self.budget} tokens"
        if self.result.reserved:
            head += f", {self.result.reserved} reserved"
        lines = [_entry_line(index, entry, self) for index, entry in enumerate(self.entries)]
        return "\n".join((head, *lines)) + "\n"


def trace(
    tree: Element,
    budget: int,
    measure: Measure,
    *,
    backfill: bool = True,
    grow: Mapping[str, Grow] | None = None,
) -> Trace:
    """Fit a tree, as `fit` does, and return the fit with its reasons. Raises `BudgetError` where nothing fits."""
    return Trace(tree, budget, Fitter(measure, backfill=backfill, grow=grow, one_by_one=True))


def _container_entries(container: Container, plan: FitPlan, budget: int, depth: int) -> Iterator[TraceEntry]:
    fallback = container.fallback
    present = container.present or (fallback is not None and fallback.present)
    reason = "" if present else container.exclusion
    title = str(container.element.get("title", ""))
    priority = container.element.get("priority")
    yield TraceEntry(container.path or "/", depth, "box", present, container.cost, title, priority, reason=reason)
    for part in container.parts:
        if isinstance(part, Container):
            yield from _container_entries(part, plan, budget, depth + 1)
        elif isinstance(part, Element):
            if part.tag not in ("break", "more"):
                path = f"{container.path}/{path_name(part)}"
                cost = plan.measures.measure(part)
                yield TraceEntry(path, depth + 1, "always", container.present, cost, _lines_of(part))
        elif not isinstance(part, str):
            yield _decision_entry(part, budget, depth + 1)
    if fallback is not None:
        shown = fallback.selected and not container.selected_parts
        text = _lines_of(fallback.element)
        yield TraceEntry(fallback.label, depth + 1, "node", shown, fallback.cost, text, density="fallback")


def _decision_entry(part: FitCandidate | AlternativeGroup | GrowingElement, budget: int, depth: int) -> TraceEntry:
    omissions = part.omissions(budget)
    reason = omissions[0].reason if omissions else ""
    if isinstance(part, AlternativeGroup):
        return _group_entry(part, reason, depth)
    if isinstance(part, GrowingElement):
        text = _lines_of(part.current) if part.current is not None else ""
        return TraceEntry(part.label, depth, "grow", part.present, part.offer, text, reason=reason)
    kind, element = "node", part.element
    if isinstance(part, FlexibleCandidate):
        kind, element = "flexible", part.current or part.element
    text, priority = _lines_of(element), _priority(part)
    return TraceEntry(part.label, depth, kind, part.present, part.cost, text, priority, "", reason)


def _group_entry(group: AlternativeGroup, reason: str, depth: int) -> TraceEntry:
    if not group.alternatives:  # each of them breaks a limit of its own
        return TraceEntry(group.label, depth, "choice", False, 0, "", None, "", reason)
    preferred = group.alternatives[0]
    shown = group.current or preferred
    density = alternative_name(group.current) if group.current else ""
    text, priority = _lines_of(shown.element), _priority(preferred)
    return TraceEntry(group.label, depth, "choice", group.present, shown.cost, text, priority, density, reason)


def _lines_of(element: Element) -> str:
    """Return what an element says, a line for each element that holds text."""
    if any(isinstance(child, str) for child in element.children):
        return text_of(element)
    lines = [str(element.get("title", ""))]
    lines += [_lines_of(child) for child in element.children if isinstance(child, Element)]
    return "\n".join(filter(None, lines))


def _priority(candidate: FitCandidate) -> float | None:
    priority = -candidate.rank[-2]  # behind it is only the running number
    return None if priority == float("inf") else priority


def _find_states(start: Trace) -> Iterator[Trace]:
    """Yield the fits that differ, from the least budget to the one at which everything is in."""
    least = _at_least_budget(start)
    if least is None:
        return
    states = [least]
    current = least
    # Beyond a limit of the whole tree no budget changes anything, however short it is.
    limit = start.tree.get("limit", float("inf"))
    while current.result.shortfall and current.budget < limit and len(states) < _MAX_STATES:
        current = current.at(current.budget + current.result.shortfall)
        last = states[-1].result
        if current.result.tree != last.tree or current.result.omitted != last.omitted:
            states.append(current)
    if current.result.shortfall and current.budget < limit:
        # There are more than can be shown: the whole range in equal steps instead of its beginning alone.
        width = _at_enough(current).budget - least.budget
        budgets = [least.budget + width * n // (_MAX_STATES - 1) for n in range(_MAX_STATES)]
        states = [least.at(budget) for budget in budgets]
    yield from states


def _at_least_budget(start: Trace) -> Trace | None:
    """Return the trace at the least budget at which there is one, `None` where a limit in the tree is too small."""
    budget = 0
    for _ in range(_MAX_LEAST_BUDGETS):
        try:
            return start.at(budget)
        except BudgetError as error:
            need = error.details.get("need")
            limit = error.details.get("limit")
            if not isinstance(need, int) or limit != budget or need <= budget:
                return None
            budget = need
    return None


def _at_enough(start: Trace) -> Trace:
    """Return the trace at a budget at which nothing is short."""
    state, step = start, max(1, start.budget)
    for _ in range(_MAX_DOUBLINGS):
        state = start.at(start.budget + step)
        if not state.result.shortfall:
            break
        step *= 2
    return state


def _entry_line(index: int, entry: TraceEntry, whole: Trace) -> str:
    mark = "-"
    if entry.present:
        mark = "~" if entry.reason else "+"
    priority = "" if entry.priority is None else f" @{entry.priority:g}"
    density = f" [{entry.density}]" if entry.density else ""
    text = " ".join(entry.text.split())
    if len(text) > _SUMMARY_CHARS:
        text = f"{text[: _SUMMARY_CHARS - 1]}…"
    indent = "  " * entry.depth
    line = f"{mark} {indent}{entry.path}{priority}{density} ({entry.tokens}) {text}".rstrip(" ")
    if not entry.reason:
        return line
    lacking = whole.tokens_lacking(index)
    outlook = "; never at any budget" if lacking is None else f"; in with {lacking} more"
    return f"{line}\n  {indent}  {entry.reason}{outlook}"
