"""Elements to bytes and tokens: the writer and the counter as one, memoised by content."""

from __future__ import annotations

from typing import Protocol

from hudkit.document.nodes import Element
from hudkit.formats.markdown import render

MEMO = 8192
"""Elements whose tokens are remembered; beyond, the memory starts anew."""


class Counter(Protocol):
    """Counts tokens; `name` says how, and marks an estimate as one."""

    @property
    def name(self) -> str: ...
    def count(self, text: str) -> int: ...


class Typeset:
    """Writes elements as markdown and measures them on the bytes that are written."""

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self.render = render
        self._tokens: dict[Element, int] = {}

    def measure(self, element: Element) -> int:
        """Tokens of an element as it is written."""
        tokens = self._tokens.get(element)
        if tokens is None:
            if len(self._tokens) >= MEMO:
                self._tokens.clear()
            tokens = self._tokens[element] = self.counter.count(self.render(element))
        return tokens

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self.counter.count(text) if text else 0
