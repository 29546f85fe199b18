"""What a plan is made of: candidates that may be left out, and the containers that hold them.

A candidate is one decision of a fit. There are five kinds: a node that stays or goes whole (`FitCandidate`), one of
several alternatives (`Alternative`), what stands in for something else (`FallbackCandidate`), a node that takes what
room there is (`FlexibleCandidate`), and one that is made of what is left in the end (`GrowingElement`).

Alternatives have their turn one by one, each at its own rank, and a preferred one takes the place of the one that is
in: it then costs the difference only. So a cheap form can be important and the full form a luxury.

An example, one token a word: "fix it" is required; of the group, "a b c d" (preferred) has priority 1 and "a"
priority 5; a text "x y" has priority 3. At a budget of 3, "a" is in. At 5, "x y" comes beside it, because its turn
is before that of the preferred form. At 8 the 3 tokens are there that "a b c d" costs more than "a", and it takes its
place.
"""

from __future__ import annotations

from collections.abc import Callable

from hudkit.compose.fitting.result import Measure, Omission
from hudkit.compose.fitting.traits import standalone
from hudkit.compose.nodes import Element, Node, text_of

Rank = tuple[float, ...]
"""Importance, the smallest first: (-priority, position) of the node, behind those of the local scopes it is in."""

BEFORE_ALL = float("-inf")
"""The rank of what has no priority and still has a choice: before all that has one."""


class FitCandidate:
    """A node that stays or goes whole.

    `ties` are the names of what it must be in together with. `reason` says why it is not in, empty for the usual
    reason; `exclusion` why it never can be. While `exact_measure` is set, `cost` is a lower bound.
    """

    __slots__ = ("container", "cost", "element", "exact_measure", "exclusion", "rank", "reason", "selected", "ties")

    def __init__(
        self, element: Element, container: Container, cost: int, rank: Rank, ties: tuple[str, ...] = ()
    ) -> None:
        self.element = element
        self.container = container
        self.cost = cost
        self.rank = rank
        self.ties = ties
        self.selected = False
        self.reason = self.exclusion = ""
        self.exact_measure: Measure | None = None

    def exact_cost(self) -> int:
        """Return the cost in tokens, measured where it was not yet."""
        # Once: most candidates far behind never have their turn, and are never measured.
        if self.exact_measure is not None:
            self.cost = self.exact_measure(standalone(self.container.element, self.element))
            self.exact_measure = None
        return self.cost

    @property
    def label(self) -> str:
        """Return its path, for people."""
        return f"{self.container.path}/{self.element.get('key') or self.element.tag}"

    @property
    def present(self) -> bool:
        """Return whether something of it is in."""
        return self.selected

    def reset(self) -> None:
        """Bring it to how it is before a fit."""
        self.selected = False
        self.reason = self.exclusion

    def append_to(self, output: list[Node]) -> None:
        """Add to `output` what is written of it."""
        if self.selected and self.element.tag != "reserve":
            output.append(self.element)

    def omissions(self, budget: int) -> list[Omission]:
        """Return what of it is not in."""
        if self.selected:
            return []
        return [make_omission(self.label, text_of(self.element), self.exact_cost(), self.reason, budget)]


class Alternative(FitCandidate):
    """One of the alternatives of a group; `position` is its place among them, the preferred one first."""

    __slots__ = ("group", "position")

    group: AlternativeGroup
    position: int

    @property
    def present(self) -> bool:
        """Return whether this alternative, or a preferred one, is in."""
        # A preferred one stands for all behind it: these have nothing to add.
        return self.group.current is not None and self.group.current.position <= self.position

    @property
    def label(self) -> str:
        """Return the path of its group, and which alternative it is."""
        return f"{self.group.label}/{alternative_name(self)}"


class FallbackCandidate(FitCandidate):
    """What stands in for a `<default>` of which nothing else is in."""

    __slots__ = ("replaces",)

    replaces: Container

    @property
    def present(self) -> bool:
        """Return whether it is in, or is not needed because what it stands in for is there."""
        return self.selected or self.replaces.selected_parts > 0

    def omissions(self, budget: int) -> list[Omission]:  # noqa: ARG002
        """Return nothing: it is no loss."""
        return []  # what it stands in for is reported itself


class AlternativeGroup:
    """Alternatives, the preferred one first, of which at most one is in.

    `current` is the one that is in; `minimum` the one that is in from the start, where one of them always has to be.
    """

    __slots__ = ("alternatives", "current", "label", "minimum", "tag")

    def __init__(self, label: str, tag: str) -> None:
        self.label = label
        self.tag = tag
        self.alternatives: list[Alternative] = []
        self.minimum: Alternative | None = None
        self.current: Alternative | None = None

    @property
    def present(self) -> bool:
        """Return whether one of them is in."""
        return self.current is not None

    def reset(self) -> None:
        """Bring it to how it is before a fit."""
        self.current = self.minimum
        for alternative in self.alternatives:
            alternative.selected = alternative is self.minimum

    def append_to(self, output: list[Node]) -> None:
        """Add to `output` the alternative that is in."""
        if self.current is not None:
            element = self.current.element
            # Several nodes as one alternative: the fragment was only their wrapper.
            if element.tag == "fragment" and not element.props:
                output.extend(element.children)
            else:
                output.append(element)

    def omissions(self, budget: int) -> list[Omission]:
        """Return the preferred alternative, where it is not the one that is in."""
        if not self.alternatives or self.current is self.alternatives[0]:
            return []
        preferred = self.alternatives[0]
        text = text_of(preferred.element)
        if self.current is None:
            return [make_omission(self.label, text, preferred.cost, preferred.reason, budget)]
        lacking = preferred.cost - self.current.cost
        reason = preferred.reason or f"{lacking} tokens more than there is room for at its turn"
        reason = f"{alternative_name(self.current)} stands for it: {reason}"
        return [Omission(f"{self.label}/{alternative_name(preferred)}", text, lacking, reason)]


def alternative_name(alternative: Alternative) -> str:
    """Return the density of an alternative, or its key, or its place from 1."""
    element = alternative.element
    return str(element.get("density") or element.get("key") or alternative.position + 1)


Fill = Callable[[int], tuple[Element, int, tuple[Omission, ...]] | None]
"""From room in tokens to an element, its cost, and what of it is not in; `None` where there is too little room."""


class FlexibleCandidate(FitCandidate):
    """A node that takes what room there is at its turn.

    `minimum` is its smallest form and `minimum_cost` what that costs, where it always has to be there; `current` is
    the form that is in, and `cuts` what that form leaves out.
    """

    __slots__ = ("current", "cuts", "fill", "minimum", "minimum_cost")

    fill: Fill
    minimum_cost: int
    minimum: Element | None
    current: Element | None
    cuts: tuple[Omission, ...]

    def reset(self) -> None:
        """Bring it to how it is before a fit: in its smallest form, where it has to be there."""
        self.selected = False
        self.current, self.cuts = self.minimum, ()

    @property
    def present(self) -> bool:
        """Return whether a form of it is in."""
        return self.current is not None

    def append_to(self, output: list[Node]) -> None:
        """Add to `output` the form that is in."""
        if self.current is not None:
            output.append(self.current)

    def omissions(self, budget: int) -> list[Omission]:
        """Return what its form leaves out, or the whole where there is no form."""
        if self.current is not None and (self.selected or self.current is not self.minimum):
            return list(self.cuts)
        shown_cost = 0 if self.current is None else self.minimum_cost
        return [make_omission(self.label, text_of(self.element), self.cost - shown_cost, self.reason, budget)]


class GrowingElement:
    """A node that is made of an offer of what is left, after everything else.

    `initial` is its first form, where it expands; `current` the form that is in; `offer` what it was offered last.
    """

    __slots__ = ("basis", "current", "element", "grow", "initial", "label", "limit", "offer", "reason", "reserve")

    def __init__(self, element: Element, label: str, grow: float, basis: float, reserve: int) -> None:
        self.element = element
        self.label = label
        self.grow = grow
        self.basis = basis
        self.reserve = reserve
        self.limit: int | None = element.get("limit")
        self.initial: Element | None = None
        self.current: Element | None = None
        self.offer = 0
        self.reason = ""

    @property
    def present(self) -> bool:
        """Return whether it was made."""
        return self.current is not None

    def reset(self) -> None:
        """Bring it to how it is before a fit."""
        self.current = self.initial

    def append_to(self, output: list[Node]) -> None:
        """Add to `output` what was made."""
        if self.current is not None:
            output.append(self.current)

    def omissions(self, budget: int) -> list[Omission]:
        """Return it, where nothing was made of it."""
        if self.current is not None:
            return []
        return [make_omission(self.label, text_of(self.element), 0, self.reason, budget)]


class Container:
    """A container of candidates: its parts in order, and what it costs to be there.

    - `cost`: tokens of what is there whenever the container is, the `<more>` marker included where it is sure to be
      needed. `marker_reserve`: held back for the marker until every candidate below is in.
    - `missing`: the candidates below that are not in; `selected_parts`: the parts that are.
    - `limit`, `used`: the most that it may cost, and the tokens that are in it.
    - `next_tracked`: the nearest container, from this one up, whose figures change when a candidate comes in. Most
      containers have none to keep, and are passed over.
    - `transparent`: it belongs to a `<default>` and has no element of its own; `fallback` stands in for it, and
      `fallback_required` says that the fallback may not be left out.
    - `exclusion`: why it can never be there.
    - `output`: the element as it was last built.
    """

    __slots__ = (
        "cost", "element", "exclusion", "fallback", "fallback_required", "initial_missing", "initial_used", "limit",
        "marker", "marker_reserve", "missing", "next_tracked", "output", "parent", "parts", "path", "required",
        "selected_parts", "transparent", "used",
    )  # fmt: skip

    def __init__(self, element: Element, parent: Container | None, path: str, required: bool) -> None:
        self.element = element
        self.parent = parent
        self.path = path
        self.required = required
        self.parts: list[ContainerPart] = []
        self.cost = 0
        self.marker: Element | None = None
        self.marker_reserve = 0
        self.missing = self.initial_missing = 0
        self.selected_parts = 0
        self.limit: int | None = None
        self.used = self.initial_used = 0
        self.transparent = False
        self.fallback: FallbackCandidate | None = None
        self.fallback_required = False
        self.exclusion = ""
        self.output: Element | None = None
        self.next_tracked: Container | None = None

    @property
    def present(self) -> bool:
        """Return whether it is written."""
        return self.required or self.selected_parts > 0

    @property
    def ordered(self) -> bool:
        """Return whether it is a numbered list."""
        return bool(self.element.get("ordered", False))

    def reset(self) -> None:
        """Bring it to how it is before a fit."""
        self.missing, self.used, self.selected_parts = self.initial_missing, self.initial_used, 0
        self.output = None
        if self.fallback is not None:
            self.fallback.selected = self.fallback_required

    def count_unannounced(self) -> int:
        """Return how many candidates below are left out that no marker below speaks for."""
        count = 0
        for part in self.parts:
            if isinstance(part, Container):
                has_own_marker = part.present and part.marker is not None
                count += 0 if has_own_marker else part.count_unannounced()
            elif isinstance(part, FitCandidate | AlternativeGroup) and part is not self.fallback:
                count += not part.present
        return count

    def append_to(self, output: list[Node]) -> None:
        """Add to `output` what is written of it."""
        # A `<default>` is not written itself: its children stand in its place, or its fallback does.
        if self.transparent:
            if self.selected_parts:
                output.extend(self.present_children()[0])
            elif self.fallback is not None and self.fallback.selected:
                output.append(self.fallback.element)
        elif self.present:
            output.append(self.build())

    def present_children(self) -> tuple[list[Node], int]:
        """Return the children that are in, and how many are left out before the first of them."""
        children: list[Node] = []
        skipped = 0
        for part in self.parts:
            # By exact type first: nearly all parts of a large tree are plain candidates.
            if type(part) is FitCandidate:
                if part.selected:
                    if part.element.tag != "reserve":
                        children.append(part.element)
                elif not children:
                    skipped += 1
            elif isinstance(part, str):
                children.append(part)
            elif isinstance(part, Element):
                if part is self.marker:
                    hidden = int(part.get("hidden", 0)) + self.count_unannounced()
                    children.append(part.with_props(hidden=hidden))
                else:
                    children.append(part)
            elif part is not self.fallback:
                if not children and isinstance(part, FitCandidate) and not part.present:
                    skipped += 1
                part.append_to(children)
        return children, skipped

    def build(self) -> Element:
        """Return the container with what is in."""
        children, skipped = self.present_children()
        element = self.element
        # What is shown of a numbered list keeps its own numbers: they are how the agent refers to steps.
        if skipped and self.ordered:
            element = element.with_props(start=int(element.get("start", 1)) + skipped)
        self.output = element.with_children(tuple(children))
        return self.output


ContainerPart = Container | FitCandidate | AlternativeGroup | GrowingElement | Element | str


def is_inside(candidate: FitCandidate, container: Container) -> bool:
    """Return whether a candidate is in a container, or in one below it."""
    ancestor: Container | None = candidate.container
    while ancestor is not None and ancestor is not container:
        ancestor = ancestor.parent
    return ancestor is container


def is_always_present(container: Container) -> bool:
    """Return whether something of a container is there whatever is left out."""
    return container.required and any(map(_is_fixed, container.parts))


def _is_fixed(part: ContainerPart) -> bool:
    if isinstance(part, Container):
        return is_always_present(part)
    if isinstance(part, AlternativeGroup):
        return part.minimum is not None
    if isinstance(part, FlexibleCandidate):
        return part.minimum is not None
    return isinstance(part, Element)


def make_omission(path: str, text: str, tokens: int, reason: str, budget: int) -> Omission:
    """Return the omission of something; an empty `reason` becomes the usual one, that there was no room."""
    usual = f"costs {tokens} tokens, and more important nodes left less of the budget of {budget}"
    return Omission(path, text, tokens, reason or usual)
