"""Todos: the host's own list, as it stands there; done ones are struck and leave the view first."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from hudkit.compose import shorten
from hudkit.log.event import Event
from hudkit.log.payloads import TodoItem, TodoSync
from hudkit.sections.items import ItemMark, mark_of
from hudkit.sections.section import CURRENT_PRIORITY, KeyedRow, SectionLogic, ShownItem

_CLOSED = ("completed", "cancelled")
"""Statuses of a todo that is over, as hosts name them."""


class TodosState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The host's todos in its order."""

    items: tuple[TodoItem, ...] = ()
    mark: ItemMark = ItemMark()

    def __len__(self) -> int:
        return len(self.items)

    @property
    def open(self) -> tuple[TodoItem, ...]:
        """Return the todos that are neither done nor cancelled."""
        return tuple(todo for todo in self.items if todo.status not in _CLOSED)


def _reduce(todos: TodosState, event: Event) -> TodosState:
    match event.payload:
        case TodoSync(todos=items):
            return todos if items == todos.items else TodosState(items, mark_of(event))
    return todos


def _status(todo: TodoItem) -> str:
    if todo.status == "pending" or todo.status in _CLOSED:
        return ""
    return f" ({todo.status.replace('_', ' ')})"


def _items(todos: TodosState) -> Iterator[ShownItem]:
    for todo in todos.items:
        # Behind the agent's own current step, where it has one.
        priority = CURRENT_PRIORITY - 1 if todo.status == "in_progress" else None
        yield ShownItem(todo.content, todo.content, todo.status in _CLOSED, _status(todo), priority)


def _rows(todos: TodosState) -> tuple[KeyedRow, ...]:
    repeats: dict[str, int] = {}
    rows: list[KeyedRow] = []
    for todo in todos.items:
        # A host may list one text twice; a space more makes each a key of its own.
        repeat = repeats[todo.content] = repeats.get(todo.content, -1) + 1
        rows.append(KeyedRow(todo.content + repeat * " ", todo.content + _status(todo), todo.status in _CLOSED))
    return tuple(rows)


def _summarize(todos: TodosState) -> str:
    left = "; ".join(shorten(todo.content, 60) + _status(todo) for todo in todos.open)
    return f"todos, {len(todos) - len(todos.open)} of {len(todos)} done: {left or 'none left'}"


LOGIC = SectionLogic(
    handles=(TodoSync,),
    reduce=_reduce,
    items=_items,
    rows=_rows,
    summarize=_summarize,
)
