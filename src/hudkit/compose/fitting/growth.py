"""Share tokens among siblings, and make of its share what is made of an offer.

The idea of a share: each sibling is offered the part of the budget that its `basis` is of the sum of all, rounded
down. One with a `limit` below its part gets its limit, and what it cannot take is shared again among the others,
until nobody is over a limit. Rounding down means that the offers never add up to more than the budget.

An example: 100 tokens for a (basis 1), b (basis 2) and c (basis 1, limit 10). By basis they get 25, 50 and 25. c is
over its limit: it gets 10, and 90 are shared again: a is offered 30 and b 60.

There are two times to share. Before the plan, siblings without `grow` are made of their part of their container's
budget (`resolve_shares`). After everything else, those with `grow` are made of what is left (`grow_remaining`): first
the group with the greatest `grow`, shared by `basis`, then the next; last, what expands is offered the rest once
more.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hudkit.compose.fitting.atomic import FitMeasures, cost_within, path_name
from hudkit.compose.fitting.candidates import GrowingElement
from hudkit.compose.fitting.selection import Measurement, Selection, measure_selection
from hudkit.compose.fitting.traits import SPECIAL, STRUCTURAL_TAGS, token_amount, traits
from hudkit.compose.nodes import Element, Node
from hudkit.errors import BudgetError

_MAX_OFFERS = 8
"""How often a smaller offer is tried where the whole comes out over the budget: separators cost a few tokens that no
part shows, and one or two tries settle that. After eight, what is made does not shrink with its offer."""


class FlexClaim(msgspec.Struct, frozen=True):
    """What one of several siblings says about its share; `cap` is the most that it takes, in tokens."""

    basis: float = 1
    cap: int | None = None


def share_budget(budget: int, claims: Sequence[FlexClaim]) -> list[int]:
    """Return the offer in tokens to each claim, in their order; the offers add up to at most the budget."""
    offers = [0] * len(claims)
    open_claims = list(range(len(claims)))
    room = max(0, budget)
    while open_claims:
        total_basis = sum(claims[index].basis for index in open_claims) or 1
        capped = []
        for index in open_claims:
            cap = claims[index].cap
            if cap is not None and cap < int(room * claims[index].basis / total_basis):
                capped.append(index)
        if not capped:
            for index in open_claims:
                offers[index] = int(room * claims[index].basis / total_basis)
            break
        # What these cannot take makes the shares of the others larger, so another may be over its cap now.
        for index in capped:
            offers[index] = claims[index].cap or 0
            room -= offers[index]
        open_claims = [index for index in open_claims if index not in capped]
    return offers


def resolve_shares(
    node: Element, budget: int, measures: FitMeasures, initial_forms: dict[str, Element], path: str = ""
) -> Element:
    """Return the tree with every element that does not grow and is registered by its key made of its offer.

    Siblings without `grow` are offered shares of the budget of their container, less what those with `grow` reserve.
    What expands is noted in `initial_forms`, by path, and stays as it is: it gets another offer at the end.
    """
    if not traits(node) & SPECIAL:
        return node
    elements = [child for child in node.children if isinstance(child, Element)]
    growing = [child for child in elements if child.get("grow", 0) > 0]
    reserve = sum(token_amount(child.get("reserve", 0), budget) for child in growing)
    claims = [_claim_of(child) for child in elements if _takes_a_share(child)]
    offers = iter(share_budget(budget - reserve, claims))
    children: list[Node] = []
    for child in node.children:
        if isinstance(child, str) or not _takes_a_share(child):
            children.append(child)
            continue
        offer, child_path = next(offers), f"{path}/{path_name(child)}"
        make = measures.grow.get(str(child.get("key", "")))
        if child.get("expand", False):
            initial_forms[child_path] = _make_of_offer(child, offer, node, measures, child_path)
            children.append(child)
        elif make is not None:
            children.append(make(offer))
        else:
            child_budget = min(offer, child.get("limit", offer))
            children.append(resolve_shares(child, child_budget, measures, initial_forms, child_path))
    return node.with_children(tuple(children))


def _claim_of(node: Element) -> FlexClaim:
    return FlexClaim(float(node.get("basis", 1)), node.get("limit"))


def _takes_a_share(node: Element) -> bool:
    if node.get("grow", 0) > 0 or node.tag == "more":
        return False
    return node.tag not in STRUCTURAL_TAGS or node.tag == "default"


def _make_of_offer(element: Element, offer: int, host: Element, measures: FitMeasures, path: str) -> Element:
    """Return what an element is at an offer: what its function gives, or itself, fitted.

    Raises `BudgetError` where that costs more than the offer.
    """
    make = measures.grow.get(str(element.get("key", "")))
    if make is not None:
        result = make(offer)
    else:
        # Without the props of growth, which would make the inner fit offer it a share of its own.
        bare = element.with_props(grow=None, basis=None, reserve=None, expand=None)
        result = _only_child(measures.fit(Element("fragment", (), (bare,)), offer).tree, bare)
    cost = cost_within(host, result, measures)
    if cost > offer:
        raise BudgetError(
            f"{path} was offered {offer} tokens and costs {cost}",
            hint="What grows must cost no more than it is offered",
            path=path,
            need=cost,
            limit=offer,
            tree=element,
        )
    return result


def _only_child(tree: Element, bare: Element) -> Element:
    child = tree.children[0] if tree.children else None
    return child if isinstance(child, Element) else bare.with_children(())


def grow_remaining(selection: Selection, measurement: Measurement) -> Measurement:
    """Offer what is left to what grows, and once more to what expands; return the measurement of the result."""
    growing = selection.plan.growing
    expanding = [element for element in growing if element.initial is not None]
    for grow in sorted({element.grow for element in growing if element.initial is None}, reverse=True):
        group = [element for element in growing if element.initial is None and element.grow == grow]
        # What a group reserves is held back in `tokens`; now it is what the group may use.
        room = selection.budget - measurement.tokens + sum(element.reserve for element in group)
        claims = [FlexClaim(element.basis, element.limit) for element in group]
        for element, offer in zip(group, share_budget(room, claims), strict=True):
            measurement = _offer(selection, element, offer, measurement)
    for element in expanding:
        assert element.initial is not None
        room = selection.budget - measurement.tokens + selection.plan.measures.measure(element.initial)
        measurement = _offer(selection, element, room, measurement)
    return measurement


def _offer(selection: Selection, element: GrowingElement, offer: int, measurement: Measurement) -> Measurement:
    """Make an element of its offer, of a smaller one where the whole comes out over; return the new measurement."""
    before = element.current
    element.offer = offer
    plan = selection.plan
    for _ in range(_MAX_OFFERS):
        try:
            element.current = _make_of_offer(element.element, offer, plan.tree, plan.measures, element.label)
        except BudgetError as error:
            element.reason = error.message
            break
        attempt = measure_selection(selection)
        if attempt.exceeded is None:
            return attempt
        offer -= max(1, attempt.excess)
        element.reason = f"was offered {element.offer} tokens, and with it the whole is {attempt.excess} over"
        if offer < 0:
            break
    element.current = before
    return measurement
