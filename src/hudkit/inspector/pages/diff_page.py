"""Two calls compared: their frames as sent, or all that was known at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.inspector.links import call_link, diff_link, session_link
from hudkit.inspector.pages.page_shell import render_page, section, tabs
from hudkit.inspector.session_list import SessionSummary
from hudkit.inspector.session_record import SessionRecord
from hudkit.web.elements import Child, e
from hudkit.web.page_text import count_of, excerpt
from hudkit.web.text_changes import TextChange, compare_lines, compare_words

_WHOLE_STATE_BUDGET = 1_000_000
"""Tokens in which any state is shown whole."""

_SIGNS = {"same": "", "cut": "−", "add": "+", "skip": "⋯"}
_WORD_TAGS = {"cut": "del", "add": "ins"}


class DiffView(msgspec.Struct, frozen=True):
    """What the address of a comparison says: two events, what of them, and how it is compared."""

    before: int
    after: int
    what: Literal["frame", "state"] = "frame"
    by: Literal["line", "word"] = "line"


def diff_page(record: SessionRecord, summary: SessionSummary, view: DiffView) -> str:
    """Return the page that compares two events. Raises `ConfigError` beyond the last event."""
    before, after = (_text(record, seq, view.what) for seq in (view.before, view.after))
    names = _name(record, view.before), _name(record, view.after)
    title = f"{names[0]} and {names[1].lower()}"
    crumbs = [
        ("Sessions", "/"),
        (excerpt(summary.title, 40), session_link(record.id)),
        (names[1], call_link(record.id, view.after)),
    ]
    note = f"− {names[0].lower()}, + {names[1].lower()}"
    return render_page(
        title,
        crumbs,
        e("div", e("h1", title), class_="headline"),
        e("div", _choices(record, view), class_="line wrap"),
        section("What changed", _changes(before, after, view), note=note),
        session=record.id,
    )


def _text(record: SessionRecord, seq: int, what: str) -> str:
    if what == "frame":
        return record.frame_at(seq).text
    return record.frame_within(_WHOLE_STATE_BUDGET, seq).text


def _name(record: SessionRecord, seq: int) -> str:
    call = record.call_at(seq)
    return f"Call {call.number:,}" if call is not None and call.seq == seq else f"Event {seq:,}"


def _choices(record: SessionRecord, view: DiffView) -> list[HtmlElement]:
    def link(**changed: str) -> str:
        return diff_link(record.id, view.before, view.after, **{"what": view.what, "by": view.by, **changed})

    what = [
        ("Frames", link(what="frame"), view.what == "frame"),
        ("States", link(what="state"), view.what == "state"),
    ]
    by = [("by line", link(by="line"), view.by == "line"), ("by word", link(by="word"), view.by == "word")]
    return [tabs("What is compared", what), tabs("How it is compared", by)]


def _changes(before: str, after: str, view: DiffView) -> Child:
    if before == after:
        return e("p", f"Nothing: both {view.what}s are the same, byte for byte.", class_="soft")
    if view.by == "word":
        pieces = [_word(change) for change in compare_words(before, after)]
        return e("div", pieces, class_="prose", id="changes")
    changes = compare_lines(before, after)
    cut, new = (sum(change.kind == kind for change in changes) for kind in ("cut", "add"))
    words = f"{count_of(new, 'line')} new, {count_of(cut, 'line')} gone"
    return [e("p", words, class_="soft"), e("ul", _lines(changes), class_="changes", id="changes")]


def _lines(changes: Sequence[TextChange]) -> list[HtmlElement]:
    return [
        e("li", e("span", _SIGNS[change.kind], class_="sign"), e("span", change.text), class_=change.kind)
        for change in changes
    ]


def _word(change: TextChange) -> Child:
    tag = _WORD_TAGS.get(change.kind)
    return e(tag, change.text) if tag else change.text
