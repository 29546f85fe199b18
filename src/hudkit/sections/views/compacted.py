"""What the last compaction's summary said, shortened (000: 500 characters, 200 from red), but for what other sections
say already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hudkit.compose import Density, Element, component, h, shorten
from hudkit.sections.compacted import Compacted as CompactedState
from hudkit.sections.items import Items
from hudkit.sections.task import Task
from hudkit.sections.todos import Todos
from hudkit.sections.views.joined import unrepeated
from hudkit.sections.views.section import PRIORITIES, Row, Section, View

LENGTHS = {Density.FULL: 500, Density.COMPACT: 500, Density.MINIMAL: 200}


@component
def Compacted(compacted: CompactedState, said: tuple[str, ...], view: View) -> Element | None:
    text = shorten(" ".join(unrepeated(compacted.summary, said).split()), LENGTHS[view.density])
    if not text:
        return None
    rank = PRIORITIES["compacted"]
    if view.density is Density.FULL:
        return h.section(title="Earlier Context", level=2, key="compacted", priority=rank)[h.text[text]]
    return h.text(key="compacted", priority=rank)["Earlier: ", text]


def show(compacted: CompactedState, task: Task, todos: Todos, *lists: Items[Any] | View) -> Element | None:
    if not compacted.summary:
        return None
    *items, view = lists
    assert isinstance(view, View)
    return Compacted(compacted, tuple(_said(task, todos, items)), view)


def _said(task: Task, todos: Todos, lists: Iterable[Any]) -> Iterable[str]:
    """The texts of the live items."""
    yield task.description
    yield from (todo.content for todo in todos.open)
    for items in lists:
        yield from (item.words for item in items)


def rows(compacted: CompactedState, *_others: object) -> tuple[Row, ...]:
    return (Row("summary", shorten(" ".join(compacted.summary.split()), 200)),) if compacted.summary else ()


SECTION = Section(
    "compacted",
    "Earlier Context",
    "earlier context",
    ("compacted", "task", "todos", "constraints", "blockers", "steps", "decisions", "errors", "notes"),
    show,
    rows,
    pace="never",
)
