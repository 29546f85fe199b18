"""Elements to bytes and tokens: the writer and the counter as one, memoised by content."""

from __future__ import annotations

from hudkit.compose import Element, ElementCache, Node
from hudkit.compose.formats.markdown import render
from hudkit.tokens.counting import TokenCounter

MEMO_ENTRIES = 8192
"""Elements whose tokens are remembered; beyond, the memory starts anew."""

ORDERED_ITEM_TOKENS = 2
"""Tokens by which the number of an ordered item can cost more than a bullet."""


class MeasuredRenderer:
    """Writes elements as markdown and measures them on the bytes that are written.

    `measure` gives the tokens of an element as it is written. `bound` is the sum of its lines, each measured once:
    not less than these, but for a rare token where the end of a line reads otherwise before the next one.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self.render = render
        self.measure: ElementCache[int] = ElementCache(lambda element: counter.count(render(element)), MEMO_ENTRIES)
        self.bound: ElementCache[int] = ElementCache(self._sum, MEMO_ENTRIES)

    def _sum(self, element: Element) -> int:
        if element.tag != "section" or not any(map(_is_list, element.children)):
            return self.measure(element)
        total = self.measure(element.with_children(tuple([one for one in element.children if not _is_list(one)])))
        for one in element.children:
            if isinstance(one, Element) and one.tag == "list":
                total += sum([self.measure(item) for item in one.children if isinstance(item, Element)])
                total += ORDERED_ITEM_TOKENS * len(one.children) if one.get("ordered") else 0
        return total

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self.counter.count(text) if text else 0


def _is_list(node: Node) -> bool:
    return not isinstance(node, str) and node.tag == "list"
