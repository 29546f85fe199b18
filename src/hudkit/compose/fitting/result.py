"""The result of a fit: the tree, what it costs, and what was left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hudkit.compose.nodes import Element

Measure = Callable[[Element], int]
"""Tokens of an element as it will be written."""

Grow = Callable[[int], Element]
"""A pure function from an offer in tokens to an element that costs no more."""


class Omission(msgspec.Struct, frozen=True):
    """Something that was left out: its path, its text, what it costs in tokens, and why it is not there."""

    path: str
    text: str
    tokens: int
    reason: str


class FitResult:
    """A tree within its budget, its exact tokens, and what it leaves out, in document order.

    - `reserved`: tokens held back by `reserve` elements; `tokens + reserved` is within the budget.
    - `breaks`: the ends of the stable prefixes, each as the path of child positions of the node that follows it.
    - `picks`: the alternatives that were taken, as (path, density or position).
    - `shortfall`: the least number of tokens more at which something would change. 0: nothing would, or it was not
      asked for.
    """

    __slots__ = ("_describe", "_omitted", "breaks", "picks", "reserved", "shortfall", "tokens", "tree")

    def __init__(
        self,
        tree: Element,
        tokens: int,
        omitted: Sequence[Omission] = (),
        *,
        describe: Callable[[], tuple[Omission, ...]] | None = None,
        reserved: int = 0,
        breaks: tuple[tuple[int, ...], ...] = (),
        picks: tuple[tuple[str, str], ...] = (),
        shortfall: int = 0,
    ) -> None:
        self.tree = tree
        self.tokens = tokens
        self.reserved = reserved
        self.breaks = breaks
        self.picks = picks
        self.shortfall = shortfall
        self._describe = describe
        self._omitted = tuple(omitted)

    def last_breaks(self, most: int) -> tuple[tuple[int, ...], ...]:
        """Return the last `most` of `breaks`: a provider takes a few marks only (Anthropic four), and the last ones
        end the longest prefixes."""
        return self.breaks[-most:] if most > 0 else ()

    @property
    def omitted(self) -> tuple[Omission, ...]:
        """Return what is not in, in document order."""
        # Of a large tree thousands of nodes are left out, and most callers never ask: they are described on demand.
        if self._describe is not None:
            self._omitted = self._describe()
            self._describe = None
        return self._omitted

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FitResult) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash((self.tree, self.tokens))

    def __repr__(self) -> str:
        return f"FitResult({self.tree!r}, tokens={self.tokens}, omitted={self.omitted!r})"

    def _facts(self) -> tuple[object, ...]:
        # `shortfall` is left out: it is known only to a fit that was asked for it, and says nothing of the result.
        return self.tree, self.tokens, self.omitted, self.reserved, self.breaks, self.picks
