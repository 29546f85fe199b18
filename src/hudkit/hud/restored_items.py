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
    chosen: list[_Waiting] = []
    for item in sorted(_candidates(left_out, sections, before, now), key=lambda each: -each.priority):
        cost = count(item.line) + _LINE_TOKENS
        if cost <= room and len(chosen) < MAX_DELTA_LINES:
            room -= cost
            chosen.append(item)
    # The items first: a reason has what they leave.
    lines = []
    for item in chosen:
        cost = count(item.line_with_reason) - count(item.line) if item.line != item.line_with_reason else 0
        lines.append(item.line_with_reason if cost <= room else item.line)
        room -= cost if cost <= room else 0
    return RestoredItems(tuple(lines), tuple(item.path for item in chosen))


class _Waiting(msgspec.Struct, frozen=True):
    """An item that may be told again: its priority, its path, and its line without and with its reason."""

    priority: float
    path: str
    line: str
    line_with_reason: str


def _candidates(
    left_out: set[str], sections: Sequence[SectionItems], before: HudState, now: HudState
) -> Iterable[_Waiting]:
    """The items that are as the base knew them."""
    for section in sections:
        spec = section.spec
        waiting = [
            (priority, f"/{spec.name}/{item.key}", item.key)
            for item, priority in zip(section.items, section.priorities, strict=True)
            if not item.closed and f"/{spec.name}/{item.key}" in left_out
        ]
        if not waiting:
            continue
        old = {row.key: row for row in spec.rows(before)}
        new = {row.key: row for row in spec.rows(now)}
        for priority, path, key in waiting:
            row = new.get(key)
            if row is not None and key in old and old[key].text == row.text:
                lead = f"{spec.noun}: "
                yield _Waiting(priority, path, lead + row.without_reason, lead + row.with_reason)
