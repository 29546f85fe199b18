"""Earlier context: what the last compaction's summary says beside the other sections, and how many there were."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from hudkit.compose import Density, Element, h, shorten
from hudkit.log.event import Event
from hudkit.log.payloads import CompactAfter, CompactUndone, SectionClear, SectionReplace
from hudkit.sections.items import ItemList, ItemMark, mark_of
from hudkit.sections.section import KeyedRow, SectionLogic, SectionView
from hudkit.sections.task import TaskState
from hudkit.sections.todos import TodosState

MAX_ANCHORS = 20
"""Compactions of which it is remembered where they stand in the transcript, the newest."""

SUMMARY_CHARS = {Density.FULL: 500, Density.COMPACT: 500, Density.MINIMAL: 200}
"""Characters of the summary that are shown (000: 500, 200 from red)."""

_MAX_ROW = 200
"""Characters of the summary in a row."""

_MARK = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|^>\s*")
_LABEL = re.compile(
    r"^(?:task|goal|decision|decided|constraint|rule|blocker|step|next step|todo|note|error)s?:\s+", re.I
)
_HEADING = re.compile(r"^#{1,6}\s")


class SummaryAnchor(msgspec.Struct, frozen=True):
    """A compaction whose summary the transcript should have: its event, and how the message's anchor begins."""

    seq: int
    anchor: str


class CompactedState(msgspec.Struct, frozen=True, omit_defaults=True):
    """`summary` complements the sections; `count` counts the compactions of the session that were not undone;
    `summary_anchors` are the newest of those whose host told an anchor, in order."""

    summary: str = ""
    count: int = 0
    mark: ItemMark = ItemMark()
    summary_anchors: tuple[SummaryAnchor, ...] = msgspec.field(default=(), name="standing")


def _reduce(compacted: CompactedState, event: Event) -> CompactedState:
    match event.payload:
        case CompactAfter(summary=summary, anchor=anchor):
            new = (SummaryAnchor(event.seq, anchor),) if anchor else ()
            anchors = (*compacted.summary_anchors, *new)[-MAX_ANCHORS:]
            return CompactedState(summary, compacted.count + 1, mark_of(event), anchors)
        case CompactUndone(seq=seq, summary=summary):
            # It and those after it were anchored to messages that are gone.
            anchors = tuple(each for each in compacted.summary_anchors if each.seq < seq)
            return CompactedState(summary, max(0, compacted.count - 1), mark_of(event), anchors)
        case SectionReplace(section="compacted", values=values):
            return msgspec.structs.replace(compacted, summary="\n".join(values), mark=mark_of(event))
        case SectionClear(section="compacted" | ""):
            return msgspec.structs.replace(compacted, summary="") if compacted.summary else compacted
    return compacted


def without_repeats(summary: str, shown: Collection[str]) -> str:
    """Return the summary without the lines that say nothing but one of the texts in `shown`, and without headings
    that are left with nothing under them."""
    # Without live items there is nothing to repeat, and a summary stays as its model wrote it.
    if not shown:
        return summary
    shown_lines = {comparable_text(text) for text in shown}
    lines = summary.splitlines()
    remaining = [line for line in lines if comparable_text(line) not in shown_lines]
    if len(remaining) == len(lines):
        return summary
    return "\n".join(
        line for place, line in enumerate(remaining) if not _HEADING.match(line) or _is_followed(remaining, place)
    )


def comparable_text(line: str) -> str:
    """Return a line without its list mark, label, emphasis, case, and the punctuation at its end."""
    text = " ".join(line.split())
    text = _LABEL.sub("", _MARK.sub("", text).strip("*_`\"' "))
    return text.strip("*_`\"' ").rstrip(".;,!").casefold()


def _is_followed(lines: list[str], place: int) -> bool:
    """Whether a heading has a text under it, before the next heading."""
    for line in lines[place + 1 :]:
        if line.strip():
            return not _HEADING.match(line)
    return False


def _show(
    compacted: CompactedState, task: TaskState, todos: TodosState, *lists_and_view: ItemList[Any] | SectionView
) -> Element | None:
    if not compacted.summary:
        return None
    *lists, view = lists_and_view
    assert isinstance(view, SectionView)
    shown = tuple(_shown_texts(task, todos, lists))
    summary = without_repeats(compacted.summary, shown)
    text = shorten(" ".join(summary.split()), SUMMARY_CHARS[view.density])
    if not text:
        return None
    if view.density is Density.FULL:
        heading = h.section(title=view.spec.title, level=2, key="compacted", priority=view.spec.priority)
        return heading[h.text[text]]
    return h.text(key="compacted", priority=view.spec.priority)["Earlier: ", text]


def _shown_texts(task: TaskState, todos: TodosState, lists: Iterable[Any]) -> Iterable[str]:
    """The texts of the live items."""
    yield task.description
    yield from (todo.content for todo in todos.open)
    for items in lists:
        yield from (item.words for item in items)


def _rows(compacted: CompactedState, *_others: object) -> tuple[KeyedRow, ...]:
    if not compacted.summary:
        return ()
    return (KeyedRow("summary", shorten(" ".join(compacted.summary.split()), _MAX_ROW)),)


LOGIC = SectionLogic(
    handles=(CompactAfter, CompactUndone, SectionReplace, SectionClear),
    reduce=_reduce,
    show=_show,
    rows=_rows,
    # Beside its own field, all whose texts the summary is not to repeat.
    reads=("compacted", "task", "todos", "constraints", "blockers", "steps", "decisions", "errors", "notes"),
)
