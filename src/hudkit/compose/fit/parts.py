"""What a plan is made of: nodes that may be left out (whole, alternative or flexible), and what holds them."""

from __future__ import annotations

from collections.abc import Callable

from hudkit.compose.fit.grower import Grower
from hudkit.compose.fit.result import Measure, Omission
from hudkit.compose.fit.traits import alone
from hudkit.compose.nodes import Element, Node, text_of

Key = tuple[float, ...]
"""Importance, the smallest first: (-priority, place) of the node, behind those of the local scopes that it is in."""

ALWAYS = float("-inf")
"""The rank of what has no priority and still has a choice: before all that has one."""


class Unit:
    """A node that stays or goes whole. While `pending` is a measure, `cost` is only known to be no less."""

    __slots__ = ("barred", "box", "cost", "element", "key", "pending", "taken", "ties", "why")

    def __init__(self, element: Element, box: Box, cost: int, key: Key, ties: tuple[str, ...] = ()) -> None:
        self.element = element
        self.box = box
        self.cost = cost
        self.key = key
        self.ties = ties
        self.taken = False
        self.why = self.barred = ""
        self.pending: Measure | None = None

    def known(self) -> int:
        """The cost, measured where it was not yet."""
        if self.pending is not None:
            self.cost = self.pending(alone(self.box.element, self.element))
            self.pending = None
        return self.cost

    @property
    def label(self) -> str:
        """Its path, for people."""
        return f"{self.box.name}/{self.element.get('key') or self.element.tag}"

    @property
    def present(self) -> bool:
        return self.taken

    def reset(self) -> None:
        """As before a fit: `barred` says why it can never be in."""
        self.taken = False
        self.why = self.barred

    def emit(self, out: list[Node]) -> None:
        """Add what is written of it."""
        if self.taken and self.element.tag != "reserve":
            out.append(self.element)

    def missing(self) -> list[tuple[str, str, int, str]]:
        """What of it is not in: path, text, tokens, and why, if it is said already."""
        return [] if self.taken else [(self.label, text_of(self.element), self.known(), self.why)]


class Level(Unit):
    """One alternative of several."""

    __slots__ = ("options", "place")

    options: Options
    place: int

    @property
    def present(self) -> bool:
        return self.options.chosen is not None and self.options.chosen.place <= self.place

    @property
    def label(self) -> str:
        return f"{self.options.label}/{name_of(self)}"


class Fallback(Unit):
    """What stands in for a default of which nothing else is in."""

    __slots__ = ("stands_for",)

    stands_for: Box

    @property
    def present(self) -> bool:
        return self.taken or self.stands_for.taken > 0

    def missing(self) -> list[tuple[str, str, int, str]]:
        return []


class Options:
    """Alternatives, the preferred one first, of which at most one is in; `forced` is the one that always may be."""

    __slots__ = ("box", "chosen", "forced", "label", "levels", "tag")

    def __init__(self, box: Box, label: str, tag: str) -> None:
        self.box = box
        self.label = label
        self.tag = tag
        self.levels: list[Level] = []
        self.forced: Level | None = None
        self.chosen: Level | None = None

    @property
    def present(self) -> bool:
        return self.chosen is not None

    def reset(self) -> None:
        self.chosen = self.forced
        for level in self.levels:
            level.taken = level is self.forced

    def emit(self, out: list[Node]) -> None:
        if self.chosen is not None:
            element = self.chosen.element
            if element.tag == "fragment" and not element.props:
                out.extend(element.children)
            else:
                out.append(element)

    def missing(self) -> list[tuple[str, str, int, str]]:
        if not self.levels or self.chosen is self.levels[0]:
            return []
        best = self.levels[0]
        if self.chosen is None:
            return [(self.label, text_of(best.element), best.cost, best.why)]
        cost = best.cost - self.chosen.cost
        why = best.why or f"{cost} tokens more than there is room for at its turn"
        why = f"{name_of(self.chosen)} stands for it: {why}"
        return [(f"{self.label}/{name_of(best)}", text_of(best.element), best.cost - self.chosen.cost, why)]


def name_of(level: Level) -> str:
    """The density of an alternative, or its key, or its place from 1."""
    return str(level.element.get("density") or level.element.get("key") or level.place + 1)


Fill = Callable[[int], tuple[Element, int, tuple[tuple[str, str, int, str], ...]] | None]
"""From room in tokens to an element, its cost, and what of it is not in; `None` where there is too little room."""


class Flexible(Unit):
    """A node that takes what room there is at its turn; `least` is what it costs where it has to be there."""

    __slots__ = ("fill", "least", "lost", "now", "smallest")

    fill: Fill
    least: int
    smallest: Element | None
    now: Element | None
    lost: tuple[tuple[str, str, int, str], ...]

    def reset(self) -> None:
        self.taken = False
        self.now, self.lost = self.smallest, ()

    @property
    def present(self) -> bool:
        return self.now is not None

    def emit(self, out: list[Node]) -> None:
        if self.now is not None:
            out.append(self.now)

    def missing(self) -> list[tuple[str, str, int, str]]:
        if self.now is None:
            return [(self.label, text_of(self.element), self.cost, self.why)]
        if not self.taken and self.now is self.smallest:
            return [(self.label, text_of(self.element), self.cost - self.least, self.why)]
        return list(self.lost)


class Box:
    """A container of nodes that may be left out: its parts in order, and what it costs to be there.

    `cost` has the marker in it where one is sure to be needed; `reserve` is held back for it until every node below
    is in. `left` counts the nodes below that are not in, `taken` the parts that are. `up` is the nearest box, from
    this one on, of which taking a node has to know. A `transparent` one, of a default, has no element of its own, and
    a `fallback` (`forced`: it may not be left out). `barred` says why it can never be there.
    """

    __slots__ = (
        "barred", "built", "cost", "element", "fallback", "forced", "left", "limit", "more", "name", "parent",
        "parts", "required", "reserve", "spent", "start_left", "start_spent", "taken", "ties", "transparent", "up",
    )  # fmt: skip

    def __init__(self, element: Element, parent: Box | None, name: str, required: bool) -> None:
        self.element = element
        self.parent = parent
        self.name = name
        self.required = required
        self.parts: list[Part] = []
        self.cost = 0
        self.more: Element | None = None
        self.reserve = 0
        self.left = self.start_left = 0
        self.taken = 0
        self.limit: int | None = None
        self.spent = self.start_spent = 0
        self.ties: tuple[str, ...] = ()
        self.transparent = False
        self.fallback: Fallback | None = None
        self.forced = False
        self.barred = ""
        self.built: Element | None = None
        self.up: Box | None = None

    @property
    def open(self) -> bool:
        return self.required or self.taken > 0

    @property
    def ordered(self) -> bool:
        return bool(self.element.get("ordered", False))

    def reset(self) -> None:
        self.left, self.spent, self.taken, self.built = self.start_left, self.start_spent, 0, None
        if self.fallback is not None:
            self.fallback.taken = self.forced

    def unsaid(self) -> int:
        """The nodes below that are left out and that no marker below speaks for."""
        count = 0
        for part in self.parts:
            if isinstance(part, Box):
                count += 0 if part.open and part.more is not None else part.unsaid()
            elif isinstance(part, Unit | Options) and part is not self.fallback:
                count += not part.present
        return count

    def emit(self, out: list[Node]) -> None:
        if self.transparent:
            if self.taken:
                out.extend(self.children()[0])
            elif self.fallback is not None and self.fallback.taken:
                out.append(self.fallback.element)
        elif self.open:
            out.append(self.build())

    def children(self) -> tuple[list[Node], int]:
        """What is in, and how many of an ordered list are left out before the first."""
        children: list[Node] = []
        skipped = 0
        for part in self.parts:
            if type(part) is Unit:
                if part.taken:
                    if part.element.tag != "reserve":
                        children.append(part.element)
                elif not children:
                    skipped += 1
            elif isinstance(part, str):
                children.append(part)
            elif isinstance(part, Element):
                if part is self.more:
                    children.append(part.with_props(hidden=int(part.get("hidden", 0)) + self.unsaid()))
                else:
                    children.append(part)
            elif part is not self.fallback:
                if not children and isinstance(part, Unit) and not part.present:
                    skipped += 1
                part.emit(children)
        return children, skipped

    def build(self) -> Element:
        """The container with what is in."""
        children, skipped = self.children()
        element = self.element
        if skipped and self.ordered:
            element = element.with_props(start=int(element.get("start", 1)) + skipped)
        self.built = element.with_children(tuple(children))
        return self.built


Part = Box | Unit | Options | Grower | Element | str


def under(unit: Unit, box: Box) -> bool:
    """Whether a node is in a box, or in one below it."""
    at: Box | None = unit.box
    while at is not None and at is not box:
        at = at.parent
    return at is box


def always(box: Box) -> bool:
    """Whether something of a box is there whatever is left out."""
    return box.required and any(
        isinstance(part, Element)
        or (isinstance(part, Options) and part.forced is not None)
        or (isinstance(part, Flexible) and part.smallest is not None)
        or (isinstance(part, Box) and always(part))
        for part in box.parts
    )


def omission(found: tuple[str, str, int, str], budget: int) -> Omission:
    """What is missing, with the reason said."""
    label, text, cost, why = found
    said = why or f"costs {cost} tokens, and more important nodes left less of the budget of {budget}"
    return Omission(label, text, cost, said)
