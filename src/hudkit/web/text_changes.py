"""Two texts compared, by line or by word: what stayed, what was cut, what is new."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

ChangeKind = Literal["same", "cut", "add", "skip"]

CONTEXT_LINES = 3
"""Unchanged lines that are shown beside a change; of a longer run, the number is told."""

MAX_WORDS = 6_000
"""Words beyond which a text is compared by line: by word it would take seconds."""

_WORD = re.compile(r"\w+|\s+|[^\w\s]")


class TextChange(NamedTuple):
    """A piece of a comparison. `skip` stands for unchanged lines that are left out, `text` then says how many."""

    kind: ChangeKind
    text: str


def compare_lines(before: str, after: str) -> list[TextChange]:
    """Return the lines of two texts in order, each with what became of it; long unchanged runs in short."""
    changes: list[TextChange] = []
    for kind, lines in _pieces(before.splitlines(), after.splitlines()):
        if kind == "same":
            changes += _shortened(lines)
        else:
            changes += [TextChange(kind, line) for line in lines]
    return changes


def compare_words(before: str, after: str) -> list[TextChange]:
    """Return the pieces of two texts in order, compared word by word; very long ones line by line."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > MAX_WORDS:
        old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return [TextChange(kind, "".join(pieces)) for kind, pieces in _pieces(old, new)]


def _pieces(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[ChangeKind, Sequence[str]]]:
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, old, old_end, new, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield "same", before[old:old_end]
            continue
        if old < old_end:
            yield "cut", before[old:old_end]
        if new < new_end:
            yield "add", after[new:new_end]


def _shortened(lines: Sequence[str]) -> Iterator[TextChange]:
    """An unchanged run: its first and last lines, and between them how many there are."""
    hidden = len(lines) - 2 * CONTEXT_LINES
    if hidden < 2:
        yield from (TextChange("same", line) for line in lines)
        return
    yield from (TextChange("same", line) for line in lines[:CONTEXT_LINES])
    yield TextChange("skip", f"{hidden:,} unchanged lines")
    yield from (TextChange("same", line) for line in lines[-CONTEXT_LINES:])
