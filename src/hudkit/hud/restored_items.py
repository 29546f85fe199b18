"""What a base left out for want of room, told again as soon as there is room.

A base is frozen for its epoch, and so is what it left out. Where a later call has more room (a larger budget, or a
window that was relieved), the items that are worth most come back as lines of a delta. An item that has changed since
was told then, and one that is over is not told any more.

**Example.** A base of 180 tokens left out three notes. The next call has a budget of 1,500 tokens, of which a base
has 1,085: 905 are free, and a delta tells the three notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from hudkit.compose.fitting.sections import NO_ROOM
from hudkit.log.payloads import FrameBase, FrameDelta
from hudkit.sections.document_builder import MAX_DELTA_LINES
from hudkit.sections.forms import SectionItems
from hudkit.sections.state import HudState

_MIN_ROOM, _MIN_PART = 40, 8
"""Tokens, and the part of the share, that have to be free: a base that nearly filled its share has no room."""

_LINE_TOKENS = 3
"""Tokens of a line beside its text, at most."""


class RestoredItems(msgspec.Struct, frozen=True):
    """Lines to be told again, and the paths under which the base had left them out."""

    lines: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


def left_out_paths(base: FrameBase, deltas: Iterable[FrameDelta]) -> set[str]:
    """Return the paths of what the base left out for want of room and no delta has told since."""
    restored = {path for delta in deltas for path in delta.restored}
    return {item.path for item in base.omitted if item.reason.startswith(NO_ROOM)} - restored


def restore_items(
    left_out: set[str],
    sections: Sequence[SectionItems],
    before: HudState,
    now: HudState,
    share: int,
    used: int,
    count: Callable[[str], int],
) -> RestoredItems:
    """Return what of `left_out` has room again, the most important first, where `used` tokens of `share` are taken.

    `before` is the state that the base shows; what has changed since is not returned.
    """
    room = share - used
    if not left_out or room < max(_MIN_ROOM, share // _MIN_PART):
        return RestoredItems()
    lines: list[str] = []
    paths: list[str] = []
    for _, path, line in sorted(_candidates(left_out, sections, before, now), key=lambda each: -each[0]):
        cost = count(line) + _LINE_TOKENS
        if cost <= room and len(lines) < MAX_DELTA_LINES:
            room -= cost
            lines.append(line)
            paths.append(path)
    return RestoredItems(tuple(lines), tuple(paths))


def _candidates(
    left_out: set[str], sections: Sequence[SectionItems], before: HudState, now: HudState
) -> Iterable[tuple[float, str, str]]:
    """The items that are as the base knew them, each with its priority, its path and its line."""
    for section in sections:
        spec = section.spec
        waiting = [
            (priority, f"/{spec.name}/{item.key}", item.key)
            for item, priority in zip(section.items, section.priorities, strict=True)
            if not item.closed and f"/{spec.name}/{item.key}" in left_out
        ]
        if not waiting:
            continue
        old = {row.key: row.text for row in spec.rows(before)}
        new = {row.key: row.text for row in spec.rows(now)}
        for priority, path, key in waiting:
            if key in new and old.get(key) == new[key]:
                yield priority, path, f"{spec.noun}: {new[key]}"
