"""What a fit gives back: the tree, its tokens, and what was left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hudkit.compose.nodes import Element

Measure = Callable[[Element], int]
"""Tokens of an element as it will be written."""

Grow = Callable[[int], Element]
"""A pure function from an offer in tokens to an element that costs no more."""


class Omission(msgspec.Struct, frozen=True):
    """Something that was left out: where, what (its text), its tokens, and why."""

    path: str
    text: str
    tokens: int
    reason: str


Left = Callable[[], Omission]
"""An omission that is not yet put into words: most are never asked for."""


class Fitted:
    """A tree within its budget, its exact tokens, and what it leaves out, in document order.

    `reserved` are the tokens held back by `reserve` elements (`tokens + reserved` is within the budget); `breaks` are
    the ends of the stable prefixes, each as the path of child positions of the node that follows it; `picks` are the
    alternatives that were taken, as (path, density or position); `short` is the least number of tokens more at which
    something would change (0: nothing would, or it was not asked for).
    """

    __slots__ = ("_left", "_omitted", "breaks", "picks", "reserved", "short", "tokens", "tree")

    def __init__(
        self,
        tree: Element,
        tokens: int,
        omitted: Sequence[Omission] = (),
        *,
        left: Callable[[], tuple[Omission, ...]] | None = None,
        reserved: int = 0,
        breaks: tuple[tuple[int, ...], ...] = (),
        picks: tuple[tuple[str, str], ...] = (),
        short: int = 0,
    ) -> None:
        self.tree = tree
        self.tokens = tokens
        self.reserved = reserved
        self.breaks = breaks
        self.picks = picks
        self.short = short
        self._left = left
        self._omitted = tuple(omitted)

    @property
    def omitted(self) -> tuple[Omission, ...]:
        """What is not in, in document order; put into words when first asked for."""
        if self._left is not None:
            self._omitted = self._left()
            self._left = None
        return self._omitted

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fitted) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash((self.tree, self.tokens))

    def __repr__(self) -> str:
        return f"Fitted({self.tree!r}, tokens={self.tokens}, omitted={self.omitted!r})"

    def _facts(self) -> tuple[object, ...]:
        return self.tree, self.tokens, self.omitted, self.reserved, self.breaks, self.picks
