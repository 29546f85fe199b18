"""Share a budget among siblings by basis, growth and reserve, and make what is made of an offer."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hudkit.compose.fit.traits import SPECIAL, STRUCTURAL, amount, traits
from hudkit.compose.fit.whole import Kit, cost_of, named
from hudkit.compose.nodes import Element, Node
from hudkit.errors import BudgetError


class Claim(msgspec.Struct, frozen=True):
    """What one of several says about its share: `cap` is the most that it takes."""

    basis: float = 1
    cap: int | None = None


def share(budget: int, claims: Sequence[Claim]) -> list[int]:
    """The offer to each: the budget by basis, rounded down; what one with a cap cannot take goes to the others."""
    offers = [0] * len(claims)
    left = list(range(len(claims)))
    room = max(0, budget)
    while left:
        whole = sum(claims[n].basis for n in left) or 1
        capped = []
        for n in left:
            cap = claims[n].cap
            if cap is not None and cap < int(room * claims[n].basis / whole):
                capped.append(n)
        if not capped:
            for n in left:
                offers[n] = int(room * claims[n].basis / whole)
            break
        for n in capped:
            offers[n] = claims[n].cap or 0
            room -= offers[n]
        left = [n for n in left if n not in capped]
    return offers


def claim(node: Node) -> Claim:
    """What a node claims; text and elements that say nothing claim an equal share."""
    return Claim() if isinstance(node, str) else Claim(float(node.get("basis", 1)), node.get("limit"))


def sized(node: Element, budget: int, kit: Kit, first: dict[str, Element], name: str = "") -> Element:
    """The tree with every element that does not grow and is registered by its key made of its offer.

    Siblings without `grow` are offered shares of the budget of their container, less what those with `grow` reserve.
    What expands is noted in `first`, and offered what is left once more at the end.
    """
    if not traits(node) & SPECIAL:
        return node
    plain = [one for one in node.children if isinstance(one, Element) and _plain(one)]
    reserve = sum(
        amount(one.get("reserve", 0), budget)
        for one in node.children
        if isinstance(one, Element) and one.get("grow", 0) > 0
    )
    offers = iter(share(budget - reserve, [claim(one) for one in plain]))
    children: list[Node] = []
    for child in node.children:
        if isinstance(child, str) or not _plain(child):
            children.append(child)
            continue
        offer, label = next(offers), f"{name}/{named(child)}"
        make = kit.grow.get(str(child.get("key", "")))
        if child.get("expand", False):
            first[label] = made(child, offer, node, kit, label)
            children.append(child)
        elif make is not None:
            children.append(make(offer))
        else:
            children.append(sized(child, min(offer, child.get("limit", offer)), kit, first, label))
    return node.with_children(tuple(children))


def _plain(node: Element) -> bool:
    return (
        not node.get("grow", 0) > 0 and (node.tag not in STRUCTURAL or node.tag == "default") and node.tag != "more"
    )


def made(element: Element, offer: int, host: Element, kit: Kit, label: str) -> Element:
    """What an element is at an offer: what its callable gives, or itself, fitted; raises `BudgetError` where that
    costs more."""
    make = kit.grow.get(str(element.get("key", "")))
    if make is not None:
        found = make(offer)
    else:
        bare = element.with_props(grow=None, basis=None, reserve=None, expand=None)
        found = _inner(kit.fit(Element("fragment", (), (bare,)), offer).tree, bare)
    cost = cost_of(host, found, kit)
    if cost > offer:
        raise BudgetError(
            f"{label} was offered {offer} tokens and costs {cost}",
            hint="What grows must cost no more than it is offered",
            path=label,
            need=cost,
            limit=offer,
            tree=element,
        )
    return found


def _inner(tree: Element, bare: Element) -> Element:
    found = tree.children[0] if tree.children else None
    return found if isinstance(found, Element) else bare.with_children(())
