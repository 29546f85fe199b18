"""What of a tree is required, and which of its nodes may be left out, in their order of importance."""

from __future__ import annotations

from operator import attrgetter

import msgspec

from hudkit.compose.fit.breaks import last_break, way_on
from hudkit.compose.fit.flexible import flexible
from hudkit.compose.fit.grower import Grower
from hudkit.compose.fit.parts import ALWAYS, Box, Fallback, Flexible, Key, Level, Options, Unit
from hudkit.compose.fit.ties import Ties, ties_of
from hudkit.compose.fit.traits import BREAK, FLEXIBLE, OPTIONS, PRUNABLE, SPECIAL, alone, amount, traits
from hudkit.compose.fit.whole import Kit, cost_of, named, whole
from hudkit.compose.nodes import Element, text_of
from hudkit.errors import BudgetError, TreeError


class Standing(msgspec.Struct, frozen=True):
    """Where a node stands: its local scopes, whether scopes are local, what a choice without priority inherits,
    the ties above, and the rest of the way to the last break (`None`: behind it; `()` before it)."""

    prefix: Key = ()
    local: bool = False
    inherit: float = ALWAYS
    ties: tuple[str, ...] = ()
    way: tuple[int, ...] | None = None


class Plan:
    """The boxes and nodes of a tree; `ranked` has what may be left out, the most important first.

    `required` is the cost of what must be there (`reserved` of it for nothing that is written), `dearest` the path
    and cost of its largest part.
    """

    def __init__(self, tree: Element, kit: Kit) -> None:
        self.tree = tree
        self.kit = kit
        self.boxes: list[Box] = []
        self.nodes: list[Unit | Options | Grower] = []
        self.units: list[Unit] = []
        self.growers: list[Grower] = []
        self.ties = Ties()
        self.dearest = ("", 0)
        self.reserved = 0
        self.count = 0
        self.traits = traits(tree)
        way = last_break(tree) if self.traits & BREAK else None
        self.root, self.required = self._box(tree, None, "", tree, Standing(way=way))
        self.ranked = sorted(self.units, key=attrgetter("key"))
        self.ties.close(self.units, self.ranked)
        for box in self.boxes:
            watched = not box.required or box.reserve or box.limit is not None or box.transparent
            box.up = box if watched else box.parent.up if box.parent is not None else None
            box.start_left = box.left
        self.released = any(box.reserve or box.fallback is not None for box in self.boxes)
        self.limited = [box for box in self.boxes if box.limit is not None]
        self.ordered = [box for box in self.boxes if box.ordered]
        self.plain = all(type(node) is Unit for node in self.nodes)
        self.simple = self.plain and all(
            unit.box.up is None and not unit.ties and not unit.barred for unit in self.units
        )
        self.pending = False
        if self.kit.floor is not None:
            self.pending = self.simple
            for unit in () if self.simple else self.units:
                unit.known()
        self.costs = [unit.cost for unit in self.ranked]

    def _box(self, node: Element, parent: Box | None, name: str, host: Element, at: Standing) -> tuple[Box, int]:
        """The box of a container, and the cost of what is required at and below it; `host` is the element in which
        its parts stand."""
        priority = node.get("priority") if parent is not None else None
        required = parent is None or at.way is not None or (parent.required and priority is None)
        box = Box(node, parent, name, required)
        box.limit = node.get("limit")
        self.boxes.append(box)
        at = self._inside(node, box, priority, at)
        if node.tag == "default":
            box.transparent = True
            box.required = False
        else:
            host = node
            box.cost = self.kit.measure(node.with_children(tuple([one for one in node.children if type(one) is str])))
        children = node.children[:-1] if box.transparent else node.children
        below = 0
        for place, child in enumerate(children):
            if isinstance(child, str):
                box.parts.append(child)
            elif child.tag == "more":
                box.more = child
                box.parts.append(child)
            else:
                below += self._part(child, box, host, at, place)
        if box.transparent:
            below += self._fallback(box, node, host, at)
        if box.more is not None:
            hidden = int(box.more.get("hidden", 0))
            cost = self.kit.measure(alone(host, box.more.with_props(hidden=hidden + box.left)))
            box.reserve = 0 if hidden else cost
            box.cost += cost
        total = (box.cost if box.required else 0) + below
        box.start_spent = total if box.required else 0
        return box, total

    def _inside(self, node: Element, box: Box, priority: float | None, at: Standing) -> Standing:
        """How the children of a container stand."""
        scope = node.get("scope")
        if scope is None and priority is None and not box.ties and at.way is None and node.get("keep") is None:
            return at
        if scope not in (None, "local", "across"):
            raise TreeError(f"scope={scope!r} at {box.name or '/'}", hint="It is local or across")
        local = at.local if scope is None else scope == "local"
        prefix, ties, inherit = at.prefix, at.ties, at.inherit
        if priority is not None:
            inherit = -float(priority)
            if local:
                self.count += 1
                prefix, inherit = (*prefix, -float(priority), self.count), ALWAYS
        if (tie := node.get("keep")) is not None:
            ties = (*ties, tie)
            self.ties.join(tie, box)
        return Standing(prefix, local, inherit, ties, at.way)

    def _part(self, child: Element, box: Box, host: Element, at: Standing, place: int) -> int:
        """Add a child to its box, and say what of it is required."""
        if at.way is not None:
            at = msgspec.structs.replace(at, way=way_on(at.way, place))
        found = traits(child)
        if not found:
            if child.get("priority") is None or at.way == ():
                return self._solid(child, box, host)
            self._unit(child, box, host, at)
            return 0
        return self._special(child, found, box, host, at)

    def _special(self, child: Element, found: int, box: Box, host: Element, at: Standing) -> int:
        label = f"{box.name}/{named(child)}"
        if child.tag == "break":
            box.parts.append(child)
            return 0
        if child.tag == "reserve":
            return self._reserve(child, box, at)
        if at.way == ():
            if child.tag in OPTIONS or child.tag == "default":
                return self._said(child, label, box, host)
            return self._solid(whole(child, self.kit, label), box, host)
        if child.get("isolate", False) or child.get("atomic", False):
            return self._settled(child, label, box, host, at)
        if child.get("grow", 0) > 0 or child.get("expand", False):
            return self._grower(child, label, box, host)
        if child.tag in OPTIONS:
            return self._options(child, label, box, host, at)
        if not FLEXIBLE.isdisjoint([name for name, _ in child.props]):
            return self._flexible(child, label, box, host, at)
        if child.tag == "default" and not found & PRUNABLE:
            return self._said(child, label, box, host)
        holds = found & PRUNABLE or (box.required and child.get("priority") is None)
        if holds and any(isinstance(one, Element) for one in child.children):
            inner, required = self._box(child, box, label, host, at)
            box.parts.append(inner)
            box.left += inner.left
            return required
        return self._settled(child, label, box, host, at)

    def _said(self, child: Element, label: str, box: Box, host: Element) -> int:
        """What a structural tag stands for where nothing is left out."""
        for one in whole(Element("fragment", (), (child,)), self.kit, label).children:
            self._solid(one if isinstance(one, Element) else Element("fragment", (), (one,)), box, host)
        return 0

    def _settled(self, child: Element, label: str, box: Box, host: Element, at: Standing) -> int:
        """A node that stays or goes whole; with a priority, one that breaks a limit in it is never in."""
        try:
            settled = whole(child, self.kit, label)
        except BudgetError as error:
            if child.get("priority") is None:
                if box.required:
                    raise
                box.barred = error.message
                return 0
            self._unit(child, box, host, at).barred = error.message
            return 0
        if child.get("priority") is None:
            return self._solid(settled, box, host)
        self._unit(settled, box, host, at)
        return 0

    def _solid(self, child: Element, box: Box, host: Element) -> int:
        cost = self.kit.measure(alone(host, child))
        box.cost += cost
        box.parts.append(child)
        if box.required and cost > self.dearest[1]:
            self.dearest = (f"{box.name}/{named(child)}", cost)
        return 0

    def _key(self, child: Element, at: Standing) -> Key:
        priority = child.get("priority")
        self.count += 1
        return (*at.prefix, at.inherit if priority is None else -float(priority), self.count)

    def _unit(self, child: Element, box: Box, host: Element, at: Standing) -> Unit:
        ties = (*at.ties, *ties_of(child)) if at.ties or traits(child) & SPECIAL else ()
        kit = self.kit
        shell = alone(host, child)
        unit = Unit(child, box, (kit.floor or kit.measure)(shell), self._key(child, at), ties)
        if kit.floor is not None:
            unit.pending = kit.measure
        for tie in ties[len(at.ties) :]:
            self.ties.join(tie, unit)
        return self._made(unit, box)

    def _made(self, unit: Unit, box: Box) -> Unit:
        self.units.append(unit)
        self.nodes.append(unit)
        box.parts.append(unit)
        box.left += 1
        return unit

    def _reserve(self, child: Element, box: Box, at: Standing) -> int:
        tokens = amount(child.get("tokens", 0), self.kit.budget)
        if child.get("priority") is not None:
            self._made(Unit(child, box, tokens, self._key(child, at)), box)
            return 0
        if box.required:
            self.reserved += tokens
            return tokens
        box.cost += tokens
        return 0

    def _grower(self, child: Element, label: str, box: Box, host: Element) -> int:
        """A node that is made of what is left: only what it reserves is held back for it."""
        reserve = amount(child.get("reserve", 0), self.kit.budget)
        grower = Grower(child, label, float(child.get("grow", 0)), float(child.get("basis", 1)), reserve)
        if child.get("expand", False):
            grower.first = self.kit.first.get(label)
            grower.reserve = reserve = cost_of(host, grower.first, self.kit) if grower.first is not None else 0
        self.growers.append(grower)
        self.nodes.append(grower)
        box.parts.append(grower)
        grower.reset()
        return reserve

    def _options(self, child: Element, label: str, box: Box, host: Element, at: Standing) -> int:
        """Alternatives; one that costs no less than one before it is never used, and its rank counts for that one."""
        options = Options(box, label, child.tag)
        inherit = at.inherit if child.get("priority") is None else -float(child.get("priority"))
        for place, one in enumerate(child.children):
            element = Element("fragment", (), (one,)) if isinstance(one, str) else one
            standing = Standing(at.prefix, at.local, inherit)
            key = self._key(element, standing)
            try:
                settled = whole(element, self.kit, label)
            except BudgetError:
                continue
            level = Level(settled, box, cost_of(host, settled, self.kit), key, (*at.ties, *ties_of(child)))
            level.options, level.place = options, place
            better = next((known for known in options.levels if known.cost <= level.cost), None)
            if better is not None:
                better.key = min(better.key, level.key)
            else:
                options.levels.append(level)
        if (tie := child.get("keep")) is not None and options.levels:
            self.ties.join(tie, options.levels[-1])
        if box.required and any(level.key[len(at.prefix)] == ALWAYS for level in options.levels):
            options.forced = options.levels[-1]
        else:
            box.left += 1
        self.units += options.levels
        self.nodes.append(options)
        box.parts.append(options)
        options.reset()
        return options.forced.cost if options.forced else 0

    def _flexible(self, child: Element, label: str, box: Box, host: Element, at: Standing) -> int:
        unit = Flexible(child, box, 0, self._key(child, at), (*at.ties, *ties_of(child)))
        sure = box.required and unit.key[len(at.prefix)] == ALWAYS
        flexible(unit, sure, host, self.kit, label)
        for tie in ties_of(child):
            self.ties.join(tie, unit)
        self._made(unit, box)
        box.left -= sure
        unit.reset()
        if sure and unit.least > self.dearest[1]:
            self.dearest = (label, unit.least)
        return unit.least if sure else 0

    def _fallback(self, box: Box, node: Element, host: Element, at: Standing) -> int:
        """What stands in for a default: there from the start, where it has no priority and its parent stays."""
        parent = box.parent
        assert parent is not None
        last = node.children[-1] if node.children else ""
        held = last if isinstance(last, Element) else Element("fragment", (), (last,))
        element = whole(held, self.kit, box.name)
        if any(text_of(part).strip() for part in box.parts if isinstance(part, Element)):
            box.required = parent.required
            return 0
        unit = Fallback(element, parent, cost_of(host, element, self.kit), self._key(element, at))
        unit.stands_for = box
        box.fallback = unit
        box.forced = parent.required and unit.key[len(at.prefix)] == ALWAYS
        if not box.forced:
            self.units.append(unit)
        return unit.cost if box.forced else 0
