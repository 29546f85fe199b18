"""Patterns that take a word in either case, at the speed of those that take it in one.

Most patterns fit most sentences nowhere. With `re.IGNORECASE`, Python's engine tries each word of an alternative at
each place of the text; without, the first letters tell. So a pattern in lower case is first looked for in the text in
lower case, and only where it fits there is the text itself asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, cast


def any_case(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that ignores case, compiled when it is first used.

    A part in `(?-i:…)` does not ignore it; such a part may not stand where something must not follow (`(?!…)`).
    """
    return cast("re.Pattern[str]", _AnyCase(pattern, flags))


class _AnyCase:
    """Stands for the pattern; what it has no method for, it has not."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags | re.IGNORECASE

    @cached_property
    def _itself(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    @cached_property
    def _search_lower(self) -> Callable[..., re.Match[str] | None]:
        return self._lower.search

    @cached_property
    def _lower(self) -> re.Pattern[str]:
        return re.compile(in_lower_case(self.pattern), self.flags & ~re.IGNORECASE)

    def search(self, text: str, *bounds: int) -> re.Match[str] | None:
        lower = text.lower()
        if self._search_lower(lower, *bounds) is None and len(lower) == len(text):
            return None
        return self._itself.search(text, *bounds)

    def match(self, text: str, *bounds: int) -> re.Match[str] | None:
        lower = text.lower()
        if self._lower.match(lower, *bounds) is None and len(lower) == len(text):
            return None
        return self._itself.match(text, *bounds)

    def fullmatch(self, text: str, *bounds: int) -> re.Match[str] | None:
        lower = text.lower()
        if self._lower.fullmatch(lower, *bounds) is None and len(lower) == len(text):
            return None
        return self._itself.fullmatch(text, *bounds)

    def finditer(self, text: str, *bounds: int) -> Iterator[re.Match[str]]:
        return self._itself.finditer(text, *bounds) if self._is_in(text, *bounds) else iter(())

    def findall(self, text: str, *bounds: int) -> list[Any]:
        return self._itself.findall(text, *bounds) if self._is_in(text, *bounds) else []

    def sub(self, by: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self._itself.sub(by, text, count) if self._is_in(text) else text

    def split(self, text: str, maxsplit: int = 0) -> list[str | Any]:
        return self._itself.split(text, maxsplit) if self._is_in(text) else [text]

    def _is_in(self, text: str, *bounds: int) -> bool:
        lower = text.lower()
        return self._search_lower(lower, *bounds) is not None or len(lower) != len(text)


def in_lower_case(pattern: str) -> str:
    """Return the pattern that fits a text in lower case where this one, ignoring case, fits the text itself."""
    return _KEPT_OR_NOT.sub(lambda part: part["kept"] or part[0].lower(), pattern.replace("(?-i:", "(?:"))


_KEPT_OR_NOT = re.compile(r"(?s)(?P<kept>\\.|\(\?P[<=]\w+)|[^\\(]+|\(")
"""Escapes and names of groups, whose case means something, or what is between them."""
