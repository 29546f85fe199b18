"""Select, in the order of importance, what is in; and measure what was selected on its final bytes.

The idea: candidates have their turn by rank. At its turn a candidate is put in if the sum of the costs so far allows
it, in every limit above it; else it is passed over, and the next has its turn. Putting one in also pays for what it
brings: the heading of a container that was not there yet, less the fallback that leaves; the others of its `keep`.
Everything that changes is noted, so that it can be taken back in reverse order when a later part of the same move
does not fit.

An example: a budget of 6 and the candidates a (5 tokens), b (4), c (1), in this order. a is in, 1 is left; b is
passed over; c is in. At a budget of 4: a is passed over, b is in. With `backfill=False` the fit ends at the first
that does not fit: at 4 nothing is in, though b would fit.

Where each candidate simply costs what it costs (`FitPlan.is_simple`), the same result is found faster: prefix sums
and one bisection give how many of the first fit, and of the rest only those are looked at that cost no more than what
is left.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import msgspec

from hudkit.compose.fitting.candidates import (
    Alternative,
    Container,
    FallbackCandidate,
    FitCandidate,
    FlexibleCandidate,
)
from hudkit.compose.fitting.plan import FitPlan
from hudkit.compose.fitting.result import Omission
from hudkit.compose.fitting.traits import BREAK, traits
from hudkit.compose.nodes import Element, Node

Undo = tuple[FitCandidate, object, int, list[tuple[Container, int]], bool]
"""What `Selection.put_in` did: the candidate, the form that was there before, its cost in all, the same in each
limited
container, and whether nothing of it was there before."""


class Selection:
    """What is in at one budget.

    `used` is the sum of the costs of the parts, `shortfall` the least number of tokens more at which another decision
    would be made (0 where no budget changes any), `steps` the number of decisions that were looked at (for tests that
    count work).
    """

    def __init__(self, plan: FitPlan, budget: int, *, backfill: bool = True, one_by_one: bool = False) -> None:
        self.plan = plan
        self.budget = budget
        self.backfill = backfill
        self.one_by_one = one_by_one
        self.selected: list[FitCandidate] = []
        self.used = plan.required_cost
        self.shortfall = 0
        self.steps = 0

    def reset(self) -> None:
        """Take out everything but what is required."""
        for container in self.plan.containers:
            container.reset()
        # Then nobody has a reason of his own, and the flag is all there is to reset: of thousands, this counts.
        if self.plan.is_simple and self.backfill:
            for candidate in self.plan.candidates:
                candidate.selected = False
        else:
            for decision in self.plan.decisions:
                decision.reset()
        self.selected = []
        self.used = self.plan.required_cost
        self.shortfall = 0

    def select(self) -> None:
        """Put candidates in, in order of importance, while they fit; then fill what was held back for markers."""
        self.reset()
        if self.plan.is_simple and not self.one_by_one and not self.plan.growing:
            if self.plan.costs_are_bounds:
                self._select_by_bounds()
            else:
                self._select_by_sums()
        else:
            waiting = self._offer_turns(self.plan.ranked)
            # A marker or a fallback that left has freed tokens: those passed over get another turn.
            while waiting and self.backfill and self.plan.may_release:
                still_waiting = self._offer_turns(waiting)
                if len(still_waiting) == len(waiting):
                    break
                waiting = still_waiting
        _repair(self.plan, self.budget)

    def select_more(self, tokens: int) -> bool:
        """Use what room there is when the whole was found to cost `tokens`; return whether anything came in."""
        self.used = tokens
        before = len(self.selected)
        self._offer_turns([candidate for candidate in self.plan.ranked if not candidate.present])
        _repair(self.plan, self.budget)
        return len(self.selected) > before

    def _offer_turns(self, candidates: list[FitCandidate]) -> list[FitCandidate]:
        """Give each candidate its turn; return those that are not in."""
        waiting: list[FitCandidate] = []
        for position, candidate in enumerate(candidates):
            if not self.add(candidate):
                waiting.append(candidate)
                if not self.backfill:
                    behind = candidates[position + 1 :]
                    self._stop_behind(candidate, behind)
                    return [*waiting, *behind]
        return waiting

    def _stop_behind(self, stopped_at: FitCandidate, candidates: list[FitCandidate]) -> None:
        reason = f"stands behind {stopped_at.label}, which does not fit into {self.budget}"
        for candidate in candidates:
            candidate.reason = reason

    def _select_by_sums(self) -> None:
        """Select candidates of which each costs what it costs: as many as fit, then each next that does."""
        ranked, costs = self.plan.ranked, self.plan.costs
        room = self.budget - self.used
        sums = list(accumulate(costs))
        end = bisect_right(sums, room)
        selected = ranked[:end]
        room -= sums[end - 1] if end else 0
        if end < len(ranked) and self.backfill:
            least_from = _least_from(costs)
            index = end
            while index < len(costs) and least_from[index] <= room:
                self.steps += 1
                if costs[index] <= room:
                    room -= costs[index]
                    selected.append(ranked[index])
                index += 1
        elif end < len(ranked):
            self._stop_behind(ranked[end], ranked[end + 1 :])
        for candidate in selected:
            candidate.selected = True
        self.steps += len(selected)
        self.selected = selected
        self.used = self.budget - room

    def _select_by_bounds(self) -> None:
        """Select where of most candidates only the least that they cost is known: few have to be measured."""
        ranked, costs = self.plan.ranked, self.plan.costs
        room = self.budget - self.used
        least_from = _least_from(costs)
        for index, candidate in enumerate(ranked):
            if least_from[index] > room:
                break
            if costs[index] <= room and candidate.exact_measure is not None:
                costs[index] = candidate.exact_cost()
            if costs[index] <= room:
                candidate.selected = True
                self.selected.append(candidate)
                room -= costs[index]
            elif not self.backfill:
                self._stop_behind(candidate, ranked[index + 1 :])
                break
        self.steps += len(ranked)
        self.used = self.budget - room

    def add(self, candidate: FitCandidate) -> bool:
        """Put a candidate in, with all that is tied to it, if it fits; return whether it is in."""
        undo: list[Undo] = []
        together = self.plan.ties.closure(candidate) if candidate.ties else (candidate,)
        for member in together:
            if not self.put_in(member, undo):
                # Who asks why this one is missing has to learn of the other, which is what does not fit.
                if member is not candidate:
                    reason = f"is tied to {member.label}, and together they do not fit into {self.budget}"
                    candidate.reason = candidate.exclusion or reason
                self.take_back(undo)
                return False
        self.selected += [step[0] for step in undo]
        return True

    def put_in(self, candidate: FitCandidate, undo: list[Undo], check: bool = True) -> bool:
        """Put one candidate in, if it fits (with `check=False`: in any case); return whether it is in.

        What was changed is added to `undo`.
        """
        self.steps += 1
        if candidate.present and not isinstance(candidate, FlexibleCandidate):
            return True
        if candidate.exclusion:
            return False
        is_new = True
        before: object = None
        if isinstance(candidate, FlexibleCandidate):
            before = candidate.current
            is_new = candidate.minimum is None
            form = self._fill(candidate, is_new)
            if form is None:
                return False
            cost = form[1] - candidate.minimum_cost
        elif isinstance(candidate, Alternative):
            before = current = candidate.group.current
            is_new = current is None
            cost = candidate.cost - (current.cost if current is not None else 0)
        else:
            cost = candidate.exact_cost()
        charge = self._charge(candidate, cost, is_new, check)
        if charge is None:
            return False
        cost, changes = charge
        # All checks are behind: from here on nothing fails, so a refusal never leaves half a change.
        for container, amount in changes:
            container.used += amount
        self.used += cost
        _mark(candidate, True, is_new)
        if isinstance(candidate, FlexibleCandidate):
            assert form is not None
            candidate.current, _, candidate.cuts = form
        elif isinstance(candidate, Alternative):
            candidate.group.current = candidate
        undo.append((candidate, before, cost, changes, is_new))
        return True

    def _charge(
        self, candidate: FitCandidate, cost: int, is_new: bool, check: bool
    ) -> tuple[int, list[tuple[Container, int]]] | None:
        """Add to a candidate's own cost what it changes above it.

        Returns the whole cost and the same in each limited container; `None` where it does not fit, with the reason
        on the candidate.
        """
        changes: list[tuple[Container, int]] = []
        container = candidate.container.next_tracked
        while container is not None:
            if container.exclusion:
                candidate.reason = container.exclusion
                return None
            if is_new:
                cost += _opening_cost(container)
                # It is the last one that was missing: the marker is not needed any more.
                if container.missing == 1 and not isinstance(candidate, FallbackCandidate):
                    cost -= container.marker_reserve
            if container.limit is not None:
                if check and container.used + cost > container.limit:
                    name = container.path or "/"
                    candidate.reason = f"costs {cost} tokens, and {name} has a limit of {container.limit}"
                    return None
                changes.append((container, cost))
            container = container.parent.next_tracked if container.parent is not None else None
        if check and self.used + cost > self.budget:
            self.note_shortfall(self.used + cost - self.budget)
            candidate.reason = ""
            return None
        return cost, changes

    def _fill(self, candidate: FlexibleCandidate, is_new: bool) -> tuple[Element, int, tuple[Omission, ...]] | None:
        """Return the form of a flexible candidate that fills the room it has, `None` where none fits."""
        room, limit_room = self._room_for(candidate, is_new)
        form = candidate.fill(room if limit_room is None else min(room, limit_room))
        own_limit = candidate.element.get("limit")
        is_limited = any(limit is not None and limit <= room for limit in (limit_room, own_limit))
        # One token more may let it in, or show more of it: how much more, only a fit at that budget can say. Where a
        # limit is what cuts it, no budget changes that.
        if (form is None or form[1] < candidate.cost) and not is_limited:
            self.note_shortfall(1)
        return form

    def take_back(self, undo: list[Undo]) -> None:
        """Take back what `put_in` did, the last first; `undo` is empty then."""
        while undo:
            candidate, before, cost, changes, was_new = undo.pop()
            self.used -= cost
            for container, amount in changes:
                container.used -= amount
            _mark(candidate, False, was_new)
            if isinstance(candidate, Alternative):
                candidate.group.current = before if isinstance(before, Alternative) else None
            elif isinstance(candidate, FlexibleCandidate):
                candidate.current, candidate.cuts = before if isinstance(before, Element) else None, ()

    def _room_for(self, candidate: FlexibleCandidate, is_new: bool) -> tuple[int, int | None]:
        """Return the tokens that a flexible candidate may cost by the budget, and by the limits above it."""
        extra = -candidate.minimum_cost
        limit_room: int | None = None
        container = candidate.container.next_tracked
        while container is not None:
            if is_new:
                extra += _opening_cost(container)
                if container.missing == 1:
                    extra -= container.marker_reserve
            if container.limit is not None:
                inside = container.limit - container.used
                limit_room = inside if limit_room is None else min(limit_room, inside)
            container = container.parent.next_tracked if container.parent is not None else None
        room = self.budget - self.used - extra
        return room, None if limit_room is None else limit_room - extra

    def note_shortfall(self, tokens: int) -> None:
        """Note that another decision would be made with so many tokens more of the budget (not of a limit)."""
        if not self.shortfall or tokens < self.shortfall:
            self.shortfall = tokens

    def restrict_to(self, candidates: list[FitCandidate]) -> None:
        """Take out all but these, which were in before."""
        # Noted before the reset, which puts flexible candidates back to their smallest form.
        forms = {
            candidate: (candidate.current, candidate.cuts)
            for candidate in candidates
            if isinstance(candidate, FlexibleCandidate)
        }
        shortfall = self.shortfall
        self.reset()
        undo: list[Undo] = []
        for candidate in candidates:
            if isinstance(candidate, FlexibleCandidate):
                # Its form stays as it was filled at its turn: with more room now it would be another one.
                candidate.current, candidate.cuts = forms[candidate]
                _mark(candidate, True, candidate.minimum is None)
            else:
                self.put_in(candidate, undo, check=False)
        self.selected, self.shortfall = candidates, shortfall
        _repair(self.plan, self.budget)


def _least_from(costs: list[int]) -> list[int]:
    """Return, for each index, the least cost from there on: where it is over the room, nothing more can fit."""
    least = list(accumulate(reversed(costs), min))
    least.reverse()
    return least


def _opening_cost(container: Container) -> int:
    """Return what it takes for a container to be there, less the fallback that leaves; 0 where it is there."""
    if container.present:
        return 0
    fallback = container.fallback
    return container.cost - (fallback.cost if fallback is not None and fallback.selected else 0)


def _mark(candidate: FitCandidate, selected: bool, is_new: bool = True) -> None:
    """Note that a candidate is in, or not, in every container above it.

    A candidate that replaces a form of itself (`is_new` is false) changes no count.
    """
    candidate.selected = selected
    if not is_new:
        return
    container: Container | None = candidate.container
    changes_parts = True
    while container is not None:
        if not isinstance(candidate, FallbackCandidate):
            container.missing += -1 if selected else 1
        if changes_parts:
            container.selected_parts += 1 if selected else -1
            # Only the first part to come in, and the last to leave, changes whether this container is a part.
            changes_parts = container.selected_parts == (1 if selected else 0)
        container = container.parent


# Repair: what a selection by cost alone may leave in a state that must not be shown.


def _repair(plan: FitPlan, budget: int) -> None:
    """Take out what may not stand as it is: gaps of numbered lists, and elements whose tie was broken by that."""
    if not plan.ordered and not plan.ties.members:
        return
    for container in plan.ordered:
        _close_gaps(container)
    # Each loss can break another tie or open another gap; there is an end, because candidates only leave.
    any_broken = True
    while any_broken:
        any_broken = False
        for candidate in plan.candidates:
            if candidate.ties and candidate.selected and candidate.present and not _is_tie_whole(plan, candidate):
                _drop(candidate, budget)
                any_broken = True
        for container in plan.ordered if any_broken else ():
            _close_gaps(container)


def _is_tie_whole(plan: FitPlan, candidate: FitCandidate) -> bool:
    return all(member.present for member in plan.ties.closure(candidate))


def _drop(candidate: FitCandidate, budget: int) -> None:
    if isinstance(candidate, Alternative):
        candidate.group.current = candidate.group.minimum
        _mark(candidate, False, candidate.group.minimum is None)
    elif isinstance(candidate, FlexibleCandidate):
        candidate.current, candidate.cuts = candidate.minimum, ()
        _mark(candidate, False, candidate.minimum is None)
    else:
        _mark(candidate, False)
    candidate.reason = candidate.reason or f"something that it is tied to does not fit into {budget}"


def _close_gaps(container: Container) -> None:
    """Leave one run of a numbered list, the one with its most important item, so that numbers are the items' own."""
    run: list[FitCandidate] = []
    runs: list[list[FitCandidate]] = [run]
    fixed_run: list[FitCandidate] | None = None
    for part in container.parts:
        if isinstance(part, FitCandidate) and part.selected:
            run.append(part)
        elif isinstance(part, FitCandidate):
            run = []
            runs.append(run)
        elif part is not container.marker:
            fixed_run = run  # a required item: its run is the one that stays
    best = fixed_run if fixed_run is not None else min(runs, key=_best_rank)
    for other in runs:
        if other is not best:
            for candidate in other:
                _mark(candidate, False)


def _best_rank(run: list[FitCandidate]) -> tuple[float, ...]:
    """Return the rank of the most important candidate of a run; an empty run comes last."""
    return min((candidate.rank for candidate in run), default=(float("inf"),))


# Measure: the sum of the parts is a promise; only the final bytes say what the whole costs.


class Measurement(msgspec.Struct, frozen=True):
    """A tree as it would be sent: `size` is what it costs, `tokens` the same with what is held back.

    `exceeded` is the container whose limit it breaks (the root for the budget), by `excess` tokens.
    """

    tree: Element
    size: int
    tokens: int
    breaks: tuple[tuple[int, ...], ...]
    exceeded: Container | None = None
    excess: int = 0


def measure_selection(selection: Selection) -> Measurement:
    """Build what was selected and measure it; return the tree with its tokens and the first limit that it breaks."""
    plan = selection.plan
    measure = plan.measures.final
    tree, breaks = _strip_breaks(plan.root.build(), plan.traits)
    size = measure(tree)
    tokens = size + reserved_tokens(selection)
    tokens += sum([growing.reserve for growing in plan.growing if growing.current is None])
    for container in plan.limited:
        # The root's limit is part of the budget; what is not built is not written.
        if container is plan.root or not container.present or container.output is None or container.limit is None:
            continue
        inside = measure(_strip_breaks(container.output, traits(container.element))[0])
        if inside > container.limit:
            return Measurement(tree, size, tokens, breaks, container, inside - container.limit)
    excess = max(0, tokens - selection.budget)
    return Measurement(tree, size, tokens, breaks, plan.root if excess else None, excess)


def reserved_tokens(selection: Selection) -> int:
    """Return the tokens held back by `reserve` elements."""
    with_priority = [
        candidate.cost
        for candidate in selection.selected
        if candidate.selected and candidate.element.tag == "reserve"
    ]
    return selection.plan.reserved + sum(with_priority)


def _strip_breaks(tree: Element, bits: int) -> tuple[Element, tuple[tuple[int, ...], ...]]:
    """Take the breaks out of a tree whose traits are `bits`; return it and the paths where they were.

    A break with nothing before it, or nothing since the last one, ends no prefix and is not returned.
    """
    if not bits & BREAK:
        return tree, ()
    paths: list[tuple[int, ...]] = []

    def strip(node: Element, path: tuple[int, ...]) -> Element:
        children: list[Node] = []
        for child in node.children:
            if isinstance(child, str):
                children.append(child)
            elif child.tag == "break":
                paths.append((*path, len(children)))
            elif traits(child) & BREAK:
                children.append(strip(child, (*path, len(children))))
            else:
                children.append(child)
        return node.with_children(tuple(children))

    stripped = strip(tree, ())
    distinct = dict.fromkeys(paths)
    return stripped, tuple(path for path in distinct if any(path))
