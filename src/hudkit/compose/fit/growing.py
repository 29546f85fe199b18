"""Make, after everything else, what is made of an offer of what is left."""

from __future__ import annotations

from hudkit.compose.fit.choose import Choice
from hudkit.compose.fit.flex import Claim, made, share
from hudkit.compose.fit.grower import Grower
from hudkit.compose.fit.weigh import Weight, weigh
from hudkit.errors import BudgetError


def grown(choice: Choice, weight: Weight) -> Weight:
    """What is left is offered: to the greatest `grow` first, then once more to what expands."""
    growers = choice.plan.growers
    groups = sorted({grower.grow for grower in growers if grower.first is None}, reverse=True)
    for grow in groups:
        group = [one for one in growers if one.first is None and one.grow == grow]
        room = choice.budget - weight.tokens + sum(one.reserve for one in group)
        for grower, offer in zip(group, share(room, [Claim(one.basis, one.limit) for one in group]), strict=True):
            weight = _offered(choice, grower, offer, weight)
    for grower in growers:
        if grower.first is not None:
            before = choice.plan.kit.measure(grower.first)
            weight = _offered(choice, grower, choice.budget - weight.tokens + before, weight)
    return weight


def _offered(choice: Choice, grower: Grower, offer: int, weight: Weight) -> Weight:
    """One node made of its offer; less is offered where the whole comes out over."""
    before = grower.made
    grower.offer = offer
    for _ in range(8):
        try:
            grower.made = made(grower.element, offer, choice.plan.tree, choice.plan.kit, grower.label)
        except BudgetError as error:
            grower.why = error.message
            break
        found = weigh(choice)
        if found.over is None:
            return found
        offer -= max(1, found.amount)
        grower.why = f"was offered {grower.offer} tokens, and with it the whole is {found.amount} over"
        if offer < 0:
            break
    grower.made = before
    return weight
