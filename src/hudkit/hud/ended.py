"""What was so and is no longer: texts of items that were replaced, removed, done or resolved."""

from __future__ import annotations

from collections.abc import Iterable

from hudkit.log.event import Event
from hudkit.sections.section import SectionSpec
from hudkit.sections.state import HudState, apply
from hudkit.sections.table import SECTIONS

KINDS = ("constraints", "decisions", "steps", "blockers", "errors", "notes", "todos")
"""Sections whose items end; files are left rather than ended."""

_SECTIONS = tuple(section for section in SECTIONS if section.name in KINDS)


def ended(events: Iterable[Event], before: HudState, now: HudState) -> tuple[str, ...]:
    """Texts of items that ended in the events from `before` to `now`, in the order of their ends; what came back is
    not among them. An item whose text was changed ends with its old text."""
    state = before
    live = {section.name: _live(section, state) for section in _SECTIONS}
    over: dict[str, None] = {}
    for event in events:
        after = apply(state, event)
        for section in _SECTIONS:
            if any(getattr(after, name) is not getattr(state, name) for name in section.reads):
                shown = _live(section, after)
                over |= dict.fromkeys(text for text in live[section.name] if text not in shown)
                live[section.name] = shown
        state = after
    over |= dict.fromkeys(text for shown in live.values() for text in shown)  # what was undone has no end of its own
    standing = {text for section in _SECTIONS for text in _live(section, now)}
    return tuple(text for text in over if text not in standing)


def _live(section: SectionSpec, state: HudState) -> dict[str, None]:
    return dict.fromkeys(row.text for row in section.rows(state) if not row.closed)
