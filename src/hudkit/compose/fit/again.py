"""Bring a plan from the tree that it was made of to one that differs in few nodes."""

from __future__ import annotations

from bisect import bisect_left, insort
from operator import attrgetter, is_not

from hudkit.compose.fit.parts import Box, Unit
from hudkit.compose.fit.plan import Plan
from hudkit.compose.fit.traits import PRUNABLE, SPECIAL, alone, traits
from hudkit.compose.nodes import Element

MOST = 64
"""Nodes that may differ; with more, a plan is made anew."""

Change = tuple[Box, int, Element]


def updated(plan: Plan, tree: Element) -> Plan | None:
    """The plan, changed to fit `tree`; `None` where the trees differ in more than some nodes."""
    if not plan.simple or plan.traits & SPECIAL:
        return None
    changes: list[Change] = []
    boxes: list[tuple[Box, Element]] = []
    if not _compare(plan.root, tree, changes, boxes):
        return None
    for box, element in boxes:
        box.element = element
    for box, place, child in changes:
        old = box.parts[place]
        assert isinstance(old, Unit)
        _replace(plan, old, box, place, child)
    plan.tree = tree
    return plan


def _compare(box: Box, new: Element, changes: list[Change], boxes: list[tuple[Box, Element]]) -> bool:
    """Note what differs below a container; false where it is more than the nodes that may be left out."""
    old = box.element
    if old is new:
        return True
    if old.tag != new.tag or old.props != new.props or len(old.children) != len(new.children):
        return False
    if len(box.parts) != len(new.children):
        return False
    boxes.append((box, new))
    for place, differs in enumerate(map(is_not, old.children, new.children)):
        if not differs:
            continue
        was, now = old.children[place], new.children[place]
        if was == now:
            continue
        if isinstance(was, str) or isinstance(now, str) or was.tag != now.tag or len(changes) >= MOST:
            return False
        part = box.parts[place]
        if isinstance(part, Box) and traits(now) == PRUNABLE:
            if not _compare(part, now, changes, boxes):
                return False
        elif type(part) is Unit and not traits(now) and now.get("priority") is not None:
            changes.append((box, place, now))
        else:
            return False
    return True


_KEY = attrgetter("key")


def _replace(plan: Plan, old: Unit, box: Box, place: int, child: Element) -> None:
    """Another node where one that may be left out was."""
    key = (*old.key[:-2], -float(child.get("priority")), old.key[-1])
    unit = Unit(child, box, (plan.kit.floor or plan.kit.measure)(alone(box.element, child)), key)
    unit.pending = plan.kit.measure if plan.pending else None
    rank = bisect_left(plan.ranked, old.key, key=_KEY)
    if key == old.key:
        plan.ranked[rank], plan.costs[rank] = unit, unit.cost
    else:
        del plan.ranked[rank], plan.costs[rank]
        insort(plan.ranked, unit, key=_KEY)
        plan.costs.insert(bisect_left(plan.ranked, key, key=_KEY), unit.cost)
    box.parts[place] = unit
    where = plan.units.index(old)
    plan.units[where] = plan.nodes[where] = unit
