"""Earlier context: what the last compaction's summary says beside the other sections, and how many there were.

It is shown where the conversation does not have the summary itself: the log's own stands in for one that failed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec

from hudkit.compose import Density, Element, Node, h, shorten
from hudkit.compose.formats.markdown.verbatim import LINE_END, verbatim
from hudkit.lazy import lazy_pattern
from hudkit.log.event import Event
from hudkit.log.payloads import CompactAfter, CompactUndone, SectionClear, SectionReplace
from hudkit.sections.files import FilesState
from hudkit.sections.items import ItemList, ItemMark, mark_of
from hudkit.sections.section import KeyedRow, SectionLogic, ShownBlock
from hudkit.sections.steps import StepsState
from hudkit.sections.task import TaskState
from hudkit.sections.todos import TodosState

MAX_ANCHORS = 20
"""Compactions of which it is remembered where they stand in the transcript, the newest."""

SUMMARY_CHARS = {Density.FULL: 500, Density.COMPACT: 500, Density.MINIMAL: 200}
"""Characters of the summary that are shown (000: 500, 200 from red)."""

_PRIORITY = 15

_LISTS = ("constraints", "preferences", "blockers", "decisions", "errors", "notes")
"""The sections whose items the summary is not to repeat, beside the task, the todos and the steps."""

_MIN_LINE = 12
"""Characters of a line that is cut, at least."""

_POINT = lazy_pattern(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")

_MAX_ROW = 200
"""Characters of the summary in a row."""

_MARK = lazy_pattern(r"^(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|^>\s*")
_LABEL = lazy_pattern(
    r"^(?:task|goal|decision|decided|constraint|rule|preference|blocker|step|next step|todo|note|error)s?:\s+", re.I
)
_HEADING = lazy_pattern(r"^#{1,6}\s+(?=\S)|^\*\*(?=[^*]+:?\*\*:?$)|^\d{1,2}\.\s+(?=[A-Z][A-Za-z, ]{2,40}:$)")
"""How a heading begins in a summary: number signs, a line in bold, or a number before a title and a colon."""

_SAID_BY: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("task", lazy_pattern(r"task|goal|objective|(primary )?request( and intent)?|intent", re.I)),
    ("decisions", lazy_pattern(r"(key )?decisions?( made)?", re.I)),
    ("steps", lazy_pattern(r"((open|next|remaining|pending|optional) )*(steps?|todos?|tasks?|work)|plan", re.I)),
    ("blockers", lazy_pattern(r"(open )?(blockers?|blocked)", re.I)),
    ("files", lazy_pattern(r"((relevant|active|key|modified) )*files?( and code sections)?", re.I)),
)
"""The parts of a summary that a section says itself where it has items, by their headings."""

_RULES = lazy_pattern(r"(user )?(constraint|instruction|rule|preference)s?( (&|and) \w+)?", re.I)
_DONE = lazy_pattern(r"accomplished|done|completed|progress|finished|what (was|has been) done", re.I)
_CURRENT = lazy_pattern(r"in progress|current( work| state| status)?|state|status|where .* stopped", re.I)


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

    @property
    def in_transcript(self) -> bool:
        """Return whether the conversation itself has the summary, right behind the HUD."""
        return bool(self.summary_anchors) and self.summary_anchors[-1].seq == self.mark.seq


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


class _Part(msgspec.Struct, frozen=True):
    """A part of a summary: its heading, and the lines under it that say something."""

    heading: str
    lines: tuple[str, ...]


def _parts(summary: str) -> list[_Part]:
    """Return the parts of a summary; what stands before the first heading has none."""
    parts: list[_Part] = []
    heading, lines = "", []
    for line in [*summary.splitlines(), "# end"]:
        mark = _HEADING.match(line.strip())
        if mark is None:
            # A dash stands for a part that has nothing.
            lines += [line.rstrip()] if line.strip(" -—*") else []
            continue
        parts += [_Part(heading, tuple(lines))] if lines else []
        heading, lines = line.strip()[mark.end() :].strip("*: "), []
    return parts


def _own_parts(summary: str, sections: Collection[str]) -> list[_Part]:
    """Return the parts that no section says: what was accomplished first, then what is in progress, then the rest,
    rules last where the HUD has rules."""

    def rank(part: _Part) -> int:
        if _DONE.fullmatch(part.heading):
            return 0
        if _CURRENT.fullmatch(part.heading):
            return 1
        # A rule that only the summary has is worth its words, but not those of what was done.
        return 3 if "constraints" in sections and _RULES.fullmatch(part.heading) else 2

    def is_said(part: _Part) -> bool:
        return any(name in sections and pattern.fullmatch(part.heading) for name, pattern in _SAID_BY)

    return sorted((part for part in _parts(summary) if not is_said(part)), key=rank)


def _cut(parts: Sequence[_Part], chars: int) -> list[_Part]:
    """Return the first of the parts, and of their lines, in so many characters; the last line may be cut."""
    shown: list[_Part] = []
    left = chars
    for part in parts:
        left -= len(part.heading)
        lines: list[str] = []
        for line in part.lines:
            if left > 0:
                lines.append(shorten(line, max(left, _MIN_LINE)) if len(line) > left else line)
            left -= len(line) + 1
        if lines:
            shown.append(_Part(part.heading, tuple(lines)))
        elif left <= 0:
            break
    return shown


def _elements(parts: Sequence[_Part]) -> list[Element]:
    """Return parts as blocks: a heading as a line of its own, points as a list, other lines as they stand."""
    elements: list[Element] = []
    for part in parts:
        lines = (f"{part.heading}:", *part.lines) if part.heading else part.lines
        for is_point, group in groupby(lines, key=lambda line: bool(_POINT.match(line))):
            words = [verbatim(_POINT.sub("", line)) for line in group]
            if is_point:
                elements.append(Element("list", (), tuple([Element("item", (), each) for each in words])))
            else:
                elements += [Element("text", (), each) for each in words]
    return elements


def _in_one_line(parts: Sequence[_Part]) -> list[Node]:
    """Return parts as the nodes of one line."""
    nodes: list[Node] = []
    for part in parts:
        for n, line in enumerate(part.lines):
            lead = f"{part.heading}: " if part.heading and not n else ""
            nodes += [LINE_END] if nodes else []
            nodes += [lead, *verbatim(_POINT.sub("", line), first=False, alone=False)]
    return nodes


def _show(
    compacted: CompactedState,
    task: TaskState,
    todos: TodosState,
    steps: StepsState,
    files: FilesState,
    *others: ItemList[Any] | Density,
) -> tuple[ShownBlock, ...]:
    if not compacted.summary or compacted.in_transcript:
        return ()
    *lists, density = others
    assert isinstance(density, Density)
    summary = without_repeats(compacted.summary, tuple(_shown_texts(task, todos, (steps, *lists))))
    live = dict(zip(_LISTS, lists, strict=True), task=task, steps=steps.open or todos.open, files=files.active)
    live_names = {name for name, items in live.items() if items}
    parts = _own_parts(summary, live_names)
    shown = _cut(parts, SUMMARY_CHARS[density])
    if not shown:
        return ()
    if density is Density.FULL:
        section = h.section(title="Earlier Context", level=2, key="compacted", priority=_PRIORITY)
        element = section[_elements(shown)]
    else:
        element = h.text(key="compacted", priority=_PRIORITY)["Earlier: ", *_in_one_line(shown)]
    return (ShownBlock("compacted", _PRIORITY, (element,), summary, shown == parts),)


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
    reads=("compacted", "task", "todos", "steps", "files", *_LISTS),
)
