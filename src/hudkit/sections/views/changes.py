"""What changed between two states, as the items of a delta."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from hudkit.compose import Element, h, shorten
from hudkit.sections.state import HudState
from hudkit.sections.views.board import READS, SECTIONS, same
from hudkit.sections.views.section import Row, Section

LONGEST = 400
"""Characters of one line of a delta."""

MOST = 24
"""Lines of one delta; what is beyond is counted, and the tools show it."""


_TOLD = tuple((section, READS[section.name]) for section in SECTIONS if section.pace != "never")


BRIEF_FROM = 2
"""Beyond so many changed rows, a section that can be told in one line is."""

PAST = 60
"""Characters that recall a row that is over."""


class Changes(msgspec.Struct, frozen=True):
    """Lines to be told; `pressing` when one of them is not to wait for the start of a turn."""

    lines: tuple[str, ...] = ()
    pressing: bool = False

    def __bool__(self) -> bool:
        return bool(self.lines)


Rows = tuple[Row, ...]
Known = dict[str, tuple[object, Rows]]


def changes(before: HudState, after: HudState, known: Known | None = None, heard: HudState | None = None) -> Changes:
    """Lines that bring a reader of `before` to `after`, in the order of the document.

    `known` remembers the rows of `before`, which stays the same until something is told. `heard` is what a reader of
    `before` has heard elsewhere: a row that is the same there as in `after` is not told again.
    """
    known = {} if known is None else known
    lines: list[str] = []
    pressing = False
    for section, read in _TOLD:
        old, new = read(before), read(after)
        if same(old, new):
            continue
        last = known.get(section.name)
        if last is None or not same(last[0], old):
            known[section.name] = last = (old, _rows(section, old))
        rows, there = _rows(section, new), last[1]
        if heard is not None and not same(old, read(heard)):
            there = _with_heard(there, _rows(section, read(heard)), rows)
        told = list(_compare(section, there, rows))
        if section.brief is not None and len(told) > BRIEF_FROM:
            told = [section.brief(*new) if len(section.reads) > 1 else section.brief(new)]
        lines += told
        pressing = pressing or (bool(told) and section.pace == "now")
    return Changes(tuple(lines), pressing)


def _rows(section: Section, read: Any) -> Rows:
    return section.rows(*read) if len(section.reads) > 1 else section.rows(read)


def _with_heard(old: Rows, heard: Rows, new: Rows) -> Rows:
    """The rows that a reader of the old ones knows who has heard of others; what differs from the new ones was not
    understood."""
    there = {row.key: row for row in new}
    ears = {row.key: row for row in heard}
    known = {row.key: row for row in old if row.key in ears or row.key in there}
    known |= {key: row for key, row in ears.items() if there.get(key) == row}
    first = [key for key in ears if key in known]
    return tuple(known[key] for key in (*first, *(key for key in known if key not in ears)))


def _compare(section: Section, before: tuple[Row, ...], after: tuple[Row, ...]) -> Iterator[str]:
    noun = section.noun
    old = {row.key: row for row in before}
    new = {row.key: row for row in after}
    for row in before:
        if row.key not in new and not row.closed:
            yield f"{noun} {section.closing}: {shorten(row.text, PAST)}"
    for row in after:
        known = old.get(row.key)
        if known is None:
            if not row.closed:
                yield f"{noun}: {row.text}"
        elif row.closed != known.closed:
            yield f"{noun} {'done' if row.closed else 'open again'}: {shorten(row.text, PAST)}"
        elif row.text != known.text:
            told_by_key = len(after) == 1 or row.text.startswith(row.key)
            yield f"{noun} now: {row.text}" if told_by_key else f"{noun} changed: {_both(known.text, row.text)}"
    kept = [row.key for row in before if row.key in new]
    if section.ordered and kept != [row.key for row in after if row.key in old]:
        yield f"{noun}s in order: " + "; ".join(shorten(row.text, 40) for row in after if not row.closed)


def _both(old: str, new: str) -> str:
    return f"{shorten(old, PAST)} -> {new}"


def block(tag: str, lines: tuple[str, ...]) -> Element:
    """A delta as a document: its tag, and an item a line; one line alone stands behind the tag."""
    kept = [shorten(line, LONGEST) for line in lines[:MOST]]
    if len(lines) == 1:
        return Element("document", (), (Element("text", (), (f"[hud {tag}] {kept[0]}",)),))
    items = [Element("item", (), (line,)) for line in kept]
    if len(lines) > MOST:
        items.append(h.more(hidden=len(lines) - MOST, noun="more", see="snapshot").element())
    head = Element("text", (), (f"[hud {tag}]",))
    return Element("document", (), (head, Element("list", (), tuple(items))))
