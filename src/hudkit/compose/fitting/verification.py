"""Verify a selection on its final bytes, and bring it to agree with the budget.

The idea: a selection adds up the costs of parts, but the whole is rarely their sum: a separator is shared, a heading
goes up a level, a tokenizer merges words across a border. So the final tree is measured, and what differs is mended:

- a small plan (`exact` candidates or fewer) is decided anew, each decision on the final bytes;
- of a larger one, what the final bytes leave room for is filled in a few rounds;
- where the final bytes are over, the least important candidate goes, in the container that is over, until they agree.
  How many have to go is found by bisection, because each try writes and measures the whole tree.

With `trust` the caller vouches that the whole costs no more than its parts, and only the last step is left as a
check.

An example, one token a character and a comma between two texts: the budget is 8, and a, b and c have 3 characters
each. The parts add up to 6 for a and b; the whole "aaa,bbb" costs 7, which is within the budget, and c would make it
11. With a budget of 6 the parts fit and the whole does not: b goes, and "aaa" is what is sent.
"""

from __future__ import annotations

from functools import partial
from itertools import zip_longest

from hudkit.compose.fitting.candidates import (
    AlternativeGroup,
    FallbackCandidate,
    FitCandidate,
    FlexibleCandidate,
    alternative_name,
    is_inside,
    make_omission,
)
from hudkit.compose.fitting.growth import grow_remaining
from hudkit.compose.fitting.plan import FitPlan
from hudkit.compose.fitting.result import FitResult, Omission
from hudkit.compose.fitting.selection import Measurement, Selection, Undo, measure_selection, reserved_tokens
from hudkit.compose.nodes import text_of
from hudkit.errors import BudgetError

EXACT_CANDIDATES = 64
"""Up to so many candidates, a measure that is not the sum of the parts is asked about every decision.

Each decision writes and measures the whole tree, so the work grows with the square of their number.
"""


def verify(selection: Selection, *, trust: bool, exact: int = EXACT_CANDIDATES) -> FitResult:
    """Make a selection, verify it, and return the fit.

    With `trust` the caller vouches that the whole costs no more than its parts. Raises `BudgetError` where what is
    required alone is over the budget, or over a limit.
    """
    plan = selection.plan
    over_limit = any(container.initial_used > container.limit for container in plan.limited if container.limit)
    if plan.required_cost > selection.budget or over_limit:
        # The sum says that nothing fits. Unless the sum is to be trusted, the final bytes have the last word.
        selection.reset()
        measurement = measure_selection(selection)
        if trust or measurement.exceeded is not None:
            raise _too_small_error(selection, measurement, plan.required_cost)
        selection.used = measurement.tokens
        selection.select_more(measurement.tokens)
    else:
        selection.select()
    measurement = measure_selection(selection)
    if not trust and len(plan.ranked) <= exact and _can_be_exact(plan):
        # Where everything is in and fits, there is nothing to decide better.
        if measurement.exceeded is not None or not all(candidate.present for candidate in plan.ranked):
            measurement = _decide_on_final_bytes(selection)
    elif not trust:
        measurement = _fill_what_is_left(selection, measurement)
    measurement = _drop_until_it_fits(selection, measurement)
    if plan.growing:
        measurement = grow_remaining(selection, measurement)
    return _fit_result(selection, measurement)


def _can_be_exact(plan: FitPlan) -> bool:
    # A numbered list can lose items after a decision, and a flexible node changes its form with each: neither can be
    # decided one candidate at a time.
    return not plan.ordered and not any(isinstance(candidate, FlexibleCandidate) for candidate in plan.candidates)


def _decide_on_final_bytes(selection: Selection) -> Measurement:
    """Decide on every candidate by the final bytes; return the measurement of the result."""
    plan = selection.plan
    selection.reset()
    best = measure_selection(selection)
    if best.exceeded is not None:
        return best
    stop_reason = ""
    for candidate in plan.ranked:
        undo: list[Undo] = []
        together = plan.ties.closure(candidate) if candidate.ties else (candidate,)
        if stop_reason or not all(selection.put_in(member, undo, check=False) for member in together):
            candidate.reason = stop_reason or candidate.reason
            selection.take_back(undo)
            continue
        measurement = measure_selection(selection) if undo else best
        if measurement.exceeded is None:
            best = measurement
            selection.selected += [step[0] for step in undo]
            continue
        selection.take_back(undo)
        exceeded = measurement.exceeded
        if exceeded is plan.root:
            selection.note_shortfall(measurement.excess)
        else:
            name = exceeded.path or "/"
            candidate.reason = f"costs {candidate.cost} tokens, and {name} has a limit of {exceeded.limit}"
        if not selection.backfill:
            stop_reason = f"stands behind {candidate.label}, which does not fit into {selection.budget}"
    selection.used = best.tokens
    return measure_selection(selection)


def _fill_what_is_left(selection: Selection, measurement: Measurement) -> Measurement:
    """Fill the room that the final bytes leave; return the measurement of the result."""
    # Each round writes and measures the whole tree, and what it frees is soon too little for anything.
    rounds = max(2, len(selection.plan.ranked).bit_length())
    for _ in range(rounds):
        no_room = measurement.exceeded is not None or measurement.tokens >= selection.used
        if no_room or not selection.backfill:
            break
        before = list(selection.selected)
        if not selection.select_more(measurement.tokens):
            break
        attempt = measure_selection(selection)
        if attempt.exceeded is not None:
            selection.restrict_to(before)
            return measure_selection(selection)
        measurement = attempt
    return measurement


def _drop_until_it_fits(selection: Selection, measurement: Measurement) -> Measurement:
    """Drop the least important candidates where it is over, until the final bytes agree; return the measurement.

    Raises `BudgetError` where it is over with nothing but what is required.
    """
    while measurement.exceeded is not None:
        region = measurement.exceeded
        ranked = sorted(selection.selected, key=lambda candidate: candidate.rank)
        inside = [candidate for candidate in ranked if candidate.selected and is_inside(candidate, region)]
        if not inside:
            raise _too_small_error(selection, measurement, measurement.tokens)
        outside = [candidate for candidate in ranked if not is_inside(candidate, region)]
        fits, too_many = 0, len(inside)  # of `inside`, so many of the first
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            attempt = _restrict_and_measure(selection, outside, inside[:middle])
            if attempt.exceeded is region:
                too_many = middle
            else:
                fits = middle
        measurement = _restrict_and_measure(selection, outside, inside[:fits])
        if measurement.exceeded is region and fits == 0:
            raise _too_small_error(selection, measurement, measurement.tokens)
    return measurement


def _restrict_and_measure(
    selection: Selection, outside: list[FitCandidate], inside: list[FitCandidate]
) -> Measurement:
    selection.restrict_to(sorted([*outside, *inside], key=lambda candidate: candidate.rank))
    return measure_selection(selection)


def _fit_result(selection: Selection, measurement: Measurement) -> FitResult:
    plan, budget = selection.plan, selection.budget
    reserved = reserved_tokens(selection)
    if plan.is_all_whole and selection.backfill and not plan.measures.isolates:
        # The plan and its candidates live on in the fitter: what is said later must not depend on their state then.
        missing = [candidate for candidate in plan.candidates if not candidate.selected]
        reasons = [] if plan.is_simple else [candidate.reason for candidate in missing]
        return FitResult(
            measurement.tree,
            measurement.size,
            describe=partial(_describe_omissions, missing, reasons, budget),
            reserved=reserved,
            breaks=measurement.breaks,
            shortfall=selection.shortfall,
        )
    decisions = [decision for decision in plan.decisions if not isinstance(decision, FallbackCandidate)]
    omitted: list[Omission] = []
    picks: list[tuple[str, str]] = []
    for decision in decisions:
        omitted += decision.omissions(budget)
        if isinstance(decision, AlternativeGroup) and decision.current is not None:
            picks.append((decision.label, alternative_name(decision.current)))
    for path, isolate in plan.measures.isolates:
        for omission in isolate.omitted:
            omitted.append(Omission(path + omission.path, omission.text, omission.tokens, omission.reason))
    return FitResult(
        measurement.tree,
        measurement.size,
        omitted,
        reserved=reserved,
        breaks=measurement.breaks,
        picks=tuple(picks),
        shortfall=selection.shortfall,
    )


def _describe_omissions(candidates: list[FitCandidate], reasons: list[str], budget: int) -> tuple[Omission, ...]:
    """Return the omissions of nodes that stay or go whole; `reasons` is empty where all have the usual one."""
    return tuple(
        make_omission(candidate.label, text_of(candidate.element), candidate.exact_cost(), reason, budget)
        for candidate, reason in zip_longest(candidates, reasons, fillvalue="")
        if isinstance(candidate, FitCandidate)
    )


def _too_small_error(selection: Selection, measurement: Measurement, need: int) -> BudgetError:
    """Return the error for what must stay and is more than the budget, or than a limit."""
    plan = selection.plan
    container = measurement.exceeded
    if container is not None and container is not plan.root and container.limit is not None:
        need = container.limit + measurement.excess
        return BudgetError(
            f"what must be shown of {container.path} needs {need} tokens and its limit is {container.limit}",
            hint=f"Give it a limit of at least {need}, or give nodes in it a priority so that they may be left out",
            path=container.path,
            need=need,
            limit=container.limit,
            tree=plan.tree,
        )
    path, cost = plan.largest
    return BudgetError(
        f"what must be shown needs {need} tokens and the budget is {selection.budget}; "
        f"most of it is {path or '/'} ({cost})",
        hint=f"Give a budget of at least {need}, or give the node a priority so that it may be left out",
        path=path or "/",
        need=need,
        limit=selection.budget,
        tree=plan.tree,
    )
