"""A bounded memory of what was made of elements, by their content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from hudkit.compose.nodes import Element

V = TypeVar("V")


class Memo(Generic[V]):
    """`memo(element)` is `make(element)`, made once for equal elements; beyond `limit` entries it starts anew.

    Faster than `functools.lru_cache` where most elements are the same objects as the last time.
    """

    __slots__ = ("_entries", "_limit", "_make")

    def __init__(self, make: Callable[[Element], V], limit: int = 8192) -> None:
        self._make = make
        self._limit = limit
        self._entries: dict[int, tuple[Element, V]] = {}

    def __call__(self, element: Element) -> V:
        known = self._entries.get(element.content_hash)
        if known is not None and (known[0] is element or known[0] == element):
            return known[1]
        made = self._make(element)
        if len(self._entries) >= self._limit:
            self._entries.clear()
        self._entries[element.content_hash] = (element, made)
        return made
