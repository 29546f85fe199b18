"""Build what was chosen, measure it on its final bytes, and say what is too small."""

from __future__ import annotations

import msgspec

from hudkit.compose.fit.breaks import without_breaks
from hudkit.compose.fit.choose import Choice
from hudkit.compose.fit.parts import Box
from hudkit.compose.fit.traits import traits
from hudkit.compose.nodes import Element
from hudkit.errors import BudgetError


class Weight(msgspec.Struct, frozen=True):
    """A tree as it would be sent, its `size` in tokens, the same with what is held back (`tokens`), and the box whose
    limit it breaks, by how much."""

    tree: Element
    size: int
    tokens: int
    breaks: tuple[tuple[int, ...], ...]
    over: Box | None = None
    amount: int = 0


def weigh(choice: Choice) -> Weight:
    """Build what was chosen and measure it."""
    plan = choice.plan
    measure = plan.kit.final
    found, breaks = without_breaks(plan.root.build(), plan.traits)
    size = measure(found)
    tokens = size + reserved(choice) + sum([one.reserve for one in plan.growers if one.made is None])
    for box in plan.limited:
        if box.open and box.built is not None and box.limit is not None and box is not plan.root:
            inside = measure(without_breaks(box.built, traits(box.element))[0])
            if inside > box.limit:
                return Weight(found, size, tokens, breaks, box, inside - box.limit)
    over = tokens - choice.budget
    return Weight(found, size, tokens, breaks, plan.root if over > 0 else None, max(0, over))


def reserved(choice: Choice) -> int:
    """Tokens held back by `reserve` elements."""
    held = sum([unit.cost for unit in choice.accepted if unit.taken and unit.element.tag == "reserve"])
    return choice.plan.reserved + held


def too_small(choice: Choice, weight: Weight, need: int) -> BudgetError:
    """What must stay is more than the budget, or than a limit."""
    plan = choice.plan
    box = weight.over
    if box is not None and box is not plan.root and box.limit is not None:
        need = box.limit + weight.amount
        return BudgetError(
            f"what must be shown of {box.name} needs {need} tokens and its limit is {box.limit}",
            hint=f"Give it a limit of at least {need}, or give nodes in it a priority so that they may be left out",
            path=box.name,
            need=need,
            limit=box.limit,
            tree=plan.tree,
        )
    path, cost = plan.dearest
    return BudgetError(
        f"what must be shown needs {need} tokens and the budget is {choice.budget}; "
        f"most of it is {path or '/'} ({cost})",
        hint=f"Give a budget of at least {need}, or give the node a priority so that it may be left out",
        path=path or "/",
        need=need,
        limit=choice.budget,
        tree=plan.tree,
    )
