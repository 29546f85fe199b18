"""Nodes that take what room there is at their turn: one long text that is cut, and history that goes in steps."""

from __future__ import annotations

from hudkit.compose.fit.cut import smallest, truncated
from hudkit.compose.fit.parts import Fill, Flexible
from hudkit.compose.fit.traits import alone
from hudkit.compose.fit.whole import Kit, cost_of, named, whole
from hudkit.compose.nodes import Element, Node, text_of
from hudkit.errors import TreeError

Lost = tuple[tuple[str, str, int, str], ...]


def flexible(unit: Flexible, sure: bool, host: Element, kit: Kit, label: str) -> None:
    """Give a node its way to fill room, its whole cost, and, where it has to be there (`sure`), its smallest form."""
    if unit.element.get("step") is not None:
        _steps(unit, sure, host, kit, label)
    else:
        _text(unit, sure, host, kit, label)


def _text(unit: Flexible, sure: bool, host: Element, kit: Kit, label: str) -> None:
    limit = unit.element.get("limit")
    element = whole(unit.element.with_props(limit=None), kit, label).with_props(limit=limit)
    unit.cost = cost_of(host, element, kit)

    def fill(room: int) -> tuple[Element, int, Lost] | None:
        room = room if limit is None else min(room, limit)
        if unit.cost <= room:
            return element, unit.cost, ()
        cut = truncated(element, room, lambda one: cost_of(host, one, kit))
        if cut is None:
            return None
        cost = cost_of(host, cut, kit)
        gone = len(text_of(element)) - len(text_of(cut))
        return (
            cut,
            cost,
            ((label, text_of(element), unit.cost - cost, f"{gone} characters were cut, to {cost} tokens"),),
        )

    _ready(unit, sure, fill, smallest(element), host, kit)


def _steps(unit: Flexible, sure: bool, host: Element, kit: Kit, label: str) -> None:
    """The oldest children go, as many tokens at a time as the step says: what is over, rounded up to whole steps.

    So the first bytes stay the same for many calls in a row.
    """
    step = unit.element.get("step")
    if step <= 0:
        raise TreeError(f"step={step} at {label}", hint="A step is a number of tokens, at least 1")
    limit = unit.element.get("limit")
    children = [
        whole(one, kit, f"{label}/{named(one)}") if isinstance(one, Element) else one for one in unit.element.children
    ]
    bare = unit.element.with_children(tuple([one for one in children if isinstance(one, str)]))
    least = cost_of(host, bare, kit)
    costs = [kit.measure(alone(unit.element, one)) if isinstance(one, Element) else 0 for one in children]
    unit.cost = least + sum(costs)

    def fill(room: int) -> tuple[Element, int, Lost] | None:
        room = room if limit is None else min(room, limit)
        if least > room:
            return None
        quota = -(-max(0, unit.cost - room) // step) * step
        kept: list[Node] = []
        lost: list[tuple[str, str, int, str]] = []
        gone = 0
        for child, cost in zip(children, costs, strict=True):
            if isinstance(child, Element) and gone < quota:
                gone += cost
                said = f"the oldest go first, in steps of {step} tokens, to {room}"
                lost.append((f"{label}/{named(child)}", text_of(child), cost, said))
            else:
                kept.append(child)
        if len(lost) == len([one for one in children if isinstance(one, Element)]) and not sure and lost:
            return None
        return unit.element.with_children(tuple(kept)), unit.cost - gone, tuple(lost)

    _ready(unit, sure, fill, bare, host, kit)


def _ready(unit: Flexible, sure: bool, fill: Fill, least: Element, host: Element, kit: Kit) -> None:
    unit.fill = fill
    unit.smallest = least if sure else None
    unit.least = cost_of(host, least, kit) if sure else 0
    unit.reset()
