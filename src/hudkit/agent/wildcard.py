"""Wildcard patterns, matched in time that grows with pattern times text: no pattern can be made to run away.

Over words, `*` stands for any characters and `?` for one. Over paths, `*` and `?` stop at `/`, `**` as a segment
crosses directories, `[a-z]` is a class, `{a,b}` are alternatives; a pattern without `/` counts at any depth.

A translation into a regular expression would try all ways to share the text among the stars, which is exponential in
their number. Here only the last star is ever extended, because a shorter match of the stars before it is as good as
any longer one: what follows it can only have more text to choose from.

    pattern a*b*c, text a1b2b3c
      a          matches, then the star before b takes "1"
      b          matches, then the star before c takes "2", "2b", "2b3"
      c          matches; the first star is never looked at again

Over paths the same is done for segments, with the set of places that can be reached in the pattern, since several
`**` are rare but their combinations are many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

MAX_PATTERN = 1_000
"""Characters of a pattern over paths; a longer one matches nothing."""

_MAX_ALTERNATIVES = 64
"""Patterns that braces may stand for: `{a,b}{a,b}…` doubles them with each pair."""


def matches_wildcard(pattern: str, text: str) -> bool:
    """Return whether the whole text matches a pattern of `*` and `?`."""
    return _match_tokens(pattern, text, _character_matches)


def wildcards_overlap(first: str, second: str) -> bool:
    """Return whether some text matches both patterns of `*` and `?`.

    A table over both: row i, column j says whether the first i characters of one and the first j of the other have a
    text in common. `git *` and `* push` overlap (`git push`), `git *` and `npm ?` do not.
    """
    row = [True] + [False] * len(second)
    for column, char in enumerate(second):
        row[column + 1] = row[column] and char == "*"
    for left in first:
        above, row = row, [row[0] and left == "*"]
        for column, right in enumerate(second):
            if "*" in (left, right):  # it stands for nothing, or takes what the other pattern has there
                row.append(above[column + 1] or row[column])
            else:
                row.append(above[column] and ("?" in (left, right) or left == right))
    return row[-1]


def matches_path(pattern: str, path: str) -> bool:
    """Return whether a relative or absolute POSIX path matches a pattern over paths."""
    if len(pattern) > MAX_PATTERN:
        return False
    parts = tuple(path.split("/"))
    return any(_match_segments(_split_pattern(single), parts) for single in _expand_braces(pattern))


@lru_cache(maxsize=256)
def _expand_braces(pattern: str) -> tuple[str, ...]:
    """Return the patterns that `{a,b}` stands for, at most `_MAX_ALTERNATIVES`."""
    expanded: list[str] = []
    # a stack instead of recursion: braces nest as deep as somebody writes them
    waiting = [pattern]
    while waiting and len(expanded) + len(waiting) <= _MAX_ALTERNATIVES:
        current = waiting.pop()
        start = current.find("{")
        end = current.find("}", start)
        if start < 0 or end < 0 or "," not in current[start:end]:
            expanded.append(current)
        else:
            choices = current[start + 1 : end].split(",")
            waiting += [current[:start] + choice + current[end + 1 :] for choice in choices]
    return tuple(expanded)


@lru_cache(maxsize=256)
def _split_pattern(pattern: str) -> tuple[str, ...]:
    # a bare name counts at any depth, as in `.gitignore`
    if "/" not in pattern and pattern != "**":
        return ("**", pattern)
    return tuple(pattern.removeprefix("./").split("/"))


def _match_segments(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Return whether the segments match, by the places of the pattern that each segment of the path can reach."""
    reachable = set(_with_empty_stars(pattern, 0))
    for part in path:
        after: set[int] = set()
        for index in reachable:
            if index < len(pattern):
                if pattern[index] == "**":
                    after.update(_with_empty_stars(pattern, index))
                elif _match_tokens(_tokens(pattern[index]), part, _token_matches):
                    after.update(_with_empty_stars(pattern, index + 1))
        reachable = after
        if not reachable:
            return False
    return len(pattern) in reachable


def _with_empty_stars(pattern: Sequence[str], index: int) -> Iterator[int]:
    """Yield a place of the pattern, and those behind it that need no segment: `**` may stand for none."""
    yield index
    while index < len(pattern) and pattern[index] == "**":
        index += 1
        yield index


def _match_tokens(tokens: Sequence[str], text: str, matches: Callable[[str, str], bool]) -> bool:
    """Return whether the whole text matches tokens, of which `*` stands for any characters."""
    token = position = 0
    star, star_end = -1, 0  # the last star, and the end of the text that it takes
    while position < len(text):
        if token < len(tokens) and tokens[token] == "*":
            star, star_end = token, position
            token += 1
        elif token < len(tokens) and matches(tokens[token], text[position]):
            token, position = token + 1, position + 1
        elif star >= 0:
            star_end += 1
            token, position = star + 1, star_end
        else:
            return False
    return all(rest == "*" for rest in tokens[token:])


def _character_matches(token: str, char: str) -> bool:
    return token == "?" or token == char


@lru_cache(maxsize=1024)
def _tokens(pattern: str) -> tuple[str, ...]:
    """Return stars, question marks, classes in their brackets, and single characters (a `\\` before each)."""
    tokens, index = [], 0
    while index < len(pattern):
        char = pattern[index]
        # from the second character on: `[]a]` is the class of a bracket and an a
        end = pattern.find("]", index + 2) if char == "[" else -1
        if end > 0:
            tokens.append(pattern[index : end + 1])
            index = end
        else:
            tokens.append(char if char in "*?" else "\\" + char)
        index += 1
    return tuple(tokens)


def _token_matches(token: str, char: str) -> bool:
    if token == "?" or token[0] == "\\":
        return token == "?" or token[1] == char
    inner = token[1:-1]
    negated = inner[:1] in ("!", "^")
    inner = inner[negated:]
    matched, index = False, 0
    while index < len(inner):
        if inner[index + 1 : index + 2] == "-" and index + 2 < len(inner):
            matched, index = matched or inner[index] <= char <= inner[index + 2], index + 3
        else:
            matched, index = matched or inner[index] == char, index + 1
    return matched != negated
