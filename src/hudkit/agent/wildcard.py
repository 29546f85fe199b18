"""Wildcard patterns, matched in time that grows with pattern times text: nothing here can be made to run away.

Over words, `*` stands for any characters and `?` for one. Over paths, `*` and `?` stop at `/`, `**` as a segment
crosses directories, `[a-z]` is a class, `{a,b}` are alternatives; a pattern without `/` counts at any depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

MAX_PATTERN = 1_000
_MAX_ALTERNATIVES = 64


def matches_wildcard(pattern: str, text: str) -> bool:
    """Whether the whole text matches a pattern of `*` and `?`."""
    at = place = 0
    star, mark = -1, 0
    while place < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, mark = at, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            mark += 1
            at, place = star + 1, mark
        else:
            return False
    return all(char == "*" for char in pattern[at:])


def wildcards_overlap(one: str, two: str) -> bool:
    """Whether some text matches both patterns of `*` and `?`."""
    row = [True] + [False] * len(two)
    for column, char in enumerate(two):
        row[column + 1] = row[column] and char == "*"
    for left in one:
        above, row = row, [row[0] and left == "*"]
        for column, right in enumerate(two):
            if "*" in (left, right):  # it stands for nothing, or takes what the other pattern has there
                row.append(above[column + 1] or row[column])
            else:
                row.append(above[column] and ("?" in (left, right) or left == right))
    return row[-1]


def literal_pattern(text: str) -> str:
    """A pattern over words or paths that matches little but this text: each special character by `?`."""
    return "".join("?" if char in "*?[]{}" else char for char in text)


def matches_path(pattern: str, path: str) -> bool:
    """Whether a relative or absolute POSIX path matches a pattern over paths."""
    if len(pattern) > MAX_PATTERN:
        return False
    parts = tuple(path.split("/"))
    return any(_match_segments(_split(one), parts) for one in _expand_braces(pattern))


@lru_cache(maxsize=256)
def _expand_braces(pattern: str) -> tuple[str, ...]:
    """The patterns that `{a,b}` stands for, at most `MOST_ALTERNATIVES`."""
    found: list[str] = []
    waiting = [pattern]
    while waiting and len(found) + len(waiting) <= _MAX_ALTERNATIVES:
        one = waiting.pop()
        start = one.find("{")
        end = one.find("}", start)
        if start < 0 or end < 0 or "," not in one[start:end]:
            found.append(one)
        else:
            waiting += [one[:start] + choice + one[end + 1 :] for choice in one[start + 1 : end].split(",")]
    return tuple(found)


@lru_cache(maxsize=256)
def _split(pattern: str) -> tuple[str, ...]:
    if "/" not in pattern and pattern != "**":
        return ("**", pattern)
    return tuple(pattern.removeprefix("./").split("/"))


def _match_segments(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Whether the segments match: the reachable places of the pattern, one segment of the path after the other."""
    places = set(_reachable(pattern, 0))
    for part in path:
        after: set[int] = set()
        for at in places:
            if at < len(pattern):
                if pattern[at] == "**":
                    after.update(_reachable(pattern, at))
                elif _match_segment(pattern[at], part):
                    after.update(_reachable(pattern, at + 1))
        places = after
        if not places:
            return False
    return len(pattern) in places


def _reachable(pattern: Sequence[str], at: int) -> Iterator[int]:
    """A place and those behind it that need no segment: `**` may stand for none."""
    yield at
    while at < len(pattern) and pattern[at] == "**":
        at += 1
        yield at


def _match_segment(pattern: str, text: str) -> bool:
    tokens = _tokens(pattern)
    at = place = 0
    star, mark = -1, 0
    while place < len(text):
        if at < len(tokens) and tokens[at] == "*":
            star, mark = at, place
            at += 1
        elif at < len(tokens) and _token_matches(tokens[at], text[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            mark += 1
            at, place = star + 1, mark
        else:
            return False
    return all(token == "*" for token in tokens[at:])


@lru_cache(maxsize=1024)
def _tokens(pattern: str) -> tuple[str, ...]:
    """Stars, question marks, classes in their brackets, and single characters (a `\\` before each)."""
    tokens, at = [], 0
    while at < len(pattern):
        char = pattern[at]
        end = pattern.find("]", at + 2) if char == "[" else -1
        if end > 0:
            tokens.append(pattern[at : end + 1])
            at = end
        else:
            tokens.append(char if char in "*?" else "\\" + char)
        at += 1
    return tuple(tokens)


def _token_matches(token: str, char: str) -> bool:
    if token == "?" or token[0] == "\\":
        return token == "?" or token[1] == char
    inner = token[1:-1]
    negated = inner[:1] in ("!", "^")
    inner = inner[negated:]
    found, at = False, 0
    while at < len(inner):
        if inner[at + 1 : at + 2] == "-" and at + 2 < len(inner):
            found, at = found or inner[at] <= char <= inner[at + 2], at + 3
        else:
            found, at = found or inner[at] == char, at + 1
    return found != negated
