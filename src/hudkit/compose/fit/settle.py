"""Weigh the final tree on its final bytes, and bring a choice to agree with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import zip_longest

from hudkit.compose.fit.choose import Choice, Undo
from hudkit.compose.fit.growing import grown
from hudkit.compose.fit.parts import Fallback, Flexible, Options, Unit, name_of, omission, under
from hudkit.compose.fit.plan import Plan
from hudkit.compose.fit.result import Fitted, Omission
from hudkit.compose.fit.weigh import Weight, reserved, too_small, weigh
from hudkit.compose.nodes import text_of

EXACT = 64
"""Up to so many nodes, a measure that is not the sum of the parts is asked about every decision."""


def settle(choice: Choice, *, trust: bool, exact: int = EXACT) -> Fitted:
    """The fit of a choice. With `trust` the caller vouches that the whole costs no more than its parts."""
    plan = choice.plan
    doubt = plan.required > choice.budget or any(box.start_spent > box.limit for box in plan.limited if box.limit)
    if doubt:
        choice.reset()
        weight = weigh(choice)
        if trust or weight.over is not None:
            raise too_small(choice, weight, plan.required)
        choice.spent = weight.tokens
        choice.refill(weight.tokens)
    else:
        choice.run()
    weight = weigh(choice)
    if not trust and len(plan.ranked) <= exact and _can_be_exact(plan):
        if weight.over is not None or not all(unit.present for unit in plan.ranked):
            weight = _exactly(choice)
    elif not trust:
        weight = _filled(choice, weight)
    weight = _agreed(choice, weight)
    if plan.growers:
        weight = grown(choice, weight)
    return _fitted(choice, weight)


def _can_be_exact(plan: Plan) -> bool:
    return not plan.ordered and not any(isinstance(unit, Flexible) for unit in plan.units)


def _exactly(choice: Choice) -> Weight:
    """Every decision made on the final bytes."""
    choice.reset()
    best = weigh(choice)
    if best.over is not None:
        return best
    stop = ""
    for unit in choice.plan.ranked:
        undo: list[Undo] = []
        wanted = choice.plan.ties.closure(unit) if unit.ties else (unit,)
        if stop or not all(choice.enter(one, undo, check=False) for one in wanted):
            unit.why = stop or unit.why
            while undo:
                choice.leave(undo.pop())
            continue
        weight = weigh(choice) if undo else best
        if weight.over is None:
            best = weight
            choice.accepted += [one for one, *_ in undo]
            continue
        while undo:
            choice.leave(undo.pop())
        if not choice.short or weight.amount < choice.short:
            choice.short = weight.amount
        if weight.over is not choice.plan.root and weight.over is not None:
            unit.why = f"costs {unit.cost} tokens, and {weight.over.name or '/'} has a limit of {weight.over.limit}"
        if not choice.backfill:
            stop = f"stands behind {unit.label}, which does not fit into {choice.budget}"
    choice.spent = best.tokens
    return weigh(choice)


def _filled(choice: Choice, weight: Weight) -> Weight:
    """What the final bytes leave room for is taken too, a few times over."""
    for _ in range(max(2, len(choice.plan.ranked).bit_length())):
        if weight.over is not None or weight.tokens >= choice.spent or not choice.backfill:
            break
        kept = list(choice.accepted)
        if not choice.refill(weight.tokens):
            break
        found = weigh(choice)
        if found.over is not None:
            choice.keep(kept)
            return weigh(choice)
        weight = found
    return weight


def _agreed(choice: Choice, weight: Weight) -> Weight:
    """The least important of what is in goes, there where it is over, until the final bytes agree."""
    while weight.over is not None:
        region = weight.over
        ranked = sorted(choice.accepted, key=lambda unit: unit.key)
        inside = [unit for unit in ranked if unit.taken and under(unit, region)]
        if not inside:
            raise too_small(choice, weight, weight.tokens)
        outside = [unit for unit in ranked if not under(unit, region)]
        low, high = 0, len(inside)
        found = weight
        while high - low > 1:  # the most that can stay lies between
            middle = (low + high) // 2
            found = _only(choice, outside, inside[:middle])
            low, high = (middle, high) if found.over is not region else (low, middle)
        weight = _only(choice, outside, inside[:low])
        if weight.over is region and low == 0:
            raise too_small(choice, weight, weight.tokens)
    return weight


def _only(choice: Choice, outside: list[Unit], inside: list[Unit]) -> Weight:
    choice.keep(sorted([*outside, *inside], key=lambda unit: unit.key))
    return weigh(choice)


def _fitted(choice: Choice, weight: Weight) -> Fitted:
    plan, budget = choice.plan, choice.budget
    held = reserved(choice)
    left: Callable[[], tuple[Omission, ...]] | None = None
    found: list[Omission] = []
    picks: tuple[tuple[str, str], ...] = ()
    if plan.plain and choice.backfill and not plan.kit.isolates:
        gone = [unit for unit in plan.units if not unit.taken]
        left = partial(_said, gone, [unit.why for unit in gone] if not plan.simple else [], budget)
    else:
        nodes = [node for node in plan.nodes if not isinstance(node, Fallback)]
        found = [omission(one, budget) for node in nodes for one in node.missing()]
        for label, inner in plan.kit.isolates:
            found += [Omission(label + one.path, one.text, one.tokens, one.reason) for one in inner.omitted]
        picks = tuple(
            (node.label, name_of(node.chosen)) for node in nodes if isinstance(node, Options) and node.chosen
        )
    return Fitted(
        weight.tree,
        weight.size,
        found,
        left=left,
        reserved=held,
        breaks=weight.breaks,
        picks=picks,
        short=choice.short,
    )


def _said(gone: list[Unit], why: list[str], budget: int) -> tuple[Omission, ...]:
    """The omissions of nodes that stay or go whole, put into words."""
    return tuple(
        omission((unit.label, text_of(unit.element), unit.known(), said), budget)
        for unit, said in zip_longest(gone, why, fillvalue="")
        if isinstance(unit, Unit)
    )
