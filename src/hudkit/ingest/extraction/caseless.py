"""Patterns that take a word in either case, at the speed of those that take it in one.

Most patterns fit most sentences nowhere. With `re.IGNORECASE`, Python's engine tries each word of an alternative at
each place of the text; without, the first letters tell. So a pattern in lower case is looked for in the text in lower
case, and what fits is told in the words of the text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, cast


def any_case(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that ignores case, compiled when it is first used.

    A part in `(?-i:…)` does not ignore it; such a part may not stand where something must not follow (`(?!…)`).
    """
    return cast("re.Pattern[str]", _AnyCase(pattern, flags))


def any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    """Return one that fits where one of some does: it is asked in their place by those whom none fits, as a rule.

    Their groups have no names in it, so none may speak of one.
    """
    return any_case("|".join(f"(?:{_NAMED.sub('(?:', pattern)})" for pattern in patterns))


_NAMED = re.compile(r"\(\?P<\w+>")


class _AnyCase:
    """Stands for the pattern; what it has no method for, it has not."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags | re.IGNORECASE
        self._is_told_by_lower = "(?-i:" not in pattern

    @cached_property
    def _itself(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    @cached_property
    def _lower(self) -> re.Pattern[str]:
        return re.compile(in_lower_case(self.pattern), self.flags & ~re.IGNORECASE)

    @cached_property
    def _search_lower(self) -> Callable[..., re.Match[str] | None]:
        return self._lower.search

    @cached_property
    def _match_lower(self) -> Callable[..., re.Match[str] | None]:
        return self._lower.match

    def search(self, text: str, begin: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        lower = text.lower()
        match = self._search_lower(lower, begin, end)
        if match is None and len(lower) == len(text):
            return None
        return self._told(match, lower, text) or self._itself.search(text, begin, end)

    def match(self, text: str, begin: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        lower = text.lower()
        match = self._match_lower(lower, begin, end)
        if match is None and len(lower) == len(text):
            return None
        return self._told(match, lower, text) or self._itself.match(text, begin, end)

    def _told(self, match: re.Match[str] | None, lower: str, text: str) -> re.Match[str] | None:
        """A match in a text in lower case as one in the text itself; `None`: the pattern must be asked again."""
        if match is None or not self._is_told_by_lower or len(lower) != len(text):
            return None
        return match if lower == text else _told(match, text)

    def fullmatch(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._itself.fullmatch(text, *bounds) if self.match(text, *bounds) is not None else None

    def finditer(self, text: str, *bounds: int) -> Iterator[re.Match[str]]:
        lower = text.lower()
        if len(lower) != len(text) or not self._is_told_by_lower:
            return self._itself.finditer(text, *bounds)
        return (_told(match, text) for match in self._lower.finditer(lower, *bounds))

    def findall(self, text: str, *bounds: int) -> list[Any]:
        return self._itself.findall(text, *bounds) if self.search(text, *bounds) is not None else []

    def sub(self, by: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self._itself.sub(by, text, count) if self.search(text) is not None else text

    def split(self, text: str, maxsplit: int = 0) -> list[str | Any]:
        return self._itself.split(text, maxsplit) if self.search(text) is not None else [text]


def _told(match: re.Match[str], text: str) -> re.Match[str]:
    return cast("re.Match[str]", _MatchOfText(match, text))


class _MatchOfText:
    """A match in a text in lower case, told in the words of the text; what it has no method for, it has not."""

    __slots__ = ("_match", "end", "span", "start", "string")

    def __init__(self, match: re.Match[str], text: str) -> None:
        self._match = match
        self.string = text
        self.start, self.end, self.span = match.start, match.end, match.span

    def __getitem__(self, group: int | str) -> str | None:
        start, end = self._match.span(group)
        return None if start < 0 else self.string[start:end]

    def group(self, group: int | str = 0) -> str | None:
        return self[group]

    def groups(self) -> tuple[str | None, ...]:
        return tuple(self[number + 1] for number in range(self._match.re.groups))

    @property
    def lastgroup(self) -> str | None:
        return self._match.lastgroup

    def groupdict(self) -> dict[str, str | None]:
        return {name: self[name] for name in self._match.re.groupindex}


def in_lower_case(pattern: str) -> str:
    """Return the pattern that fits a text in lower case where this one, ignoring case, fits the text itself."""
    return _KEPT_OR_NOT.sub(lambda part: part["kept"] or part[0].lower(), pattern.replace("(?-i:", "(?:"))


_KEPT_OR_NOT = re.compile(r"(?s)(?P<kept>\\.|\(\?P[<=]\w+)|[^\\(]+|\(")
"""Escapes and names of groups, whose case means something, or what is between them."""
