"""A node that is made of an offer."""

from __future__ import annotations

from hudkit.compose.nodes import Element, Node, text_of


class Grower:
    """A node that is made of an offer of what is left, after everything else."""

    __slots__ = ("basis", "element", "first", "grow", "label", "limit", "made", "offer", "reserve", "why")

    def __init__(self, element: Element, label: str, grow: float, basis: float, reserve: int) -> None:
        self.element = element
        self.label = label
        self.grow = grow
        self.basis = basis
        self.reserve = reserve
        self.limit: int | None = element.get("limit")
        self.first: Element | None = None
        self.made: Element | None = None
        self.offer = 0
        self.why = ""

    @property
    def present(self) -> bool:
        return self.made is not None

    def reset(self) -> None:
        self.made = self.first

    def emit(self, out: list[Node]) -> None:
        if self.made is not None:
            out.append(self.made)

    def missing(self) -> list[tuple[str, str, int, str]]:
        return [] if self.made is not None else [(self.label, text_of(self.element), 0, self.why)]
