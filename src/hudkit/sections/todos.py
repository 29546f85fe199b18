"""Todos: the host's own list, as it stands there."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import TodoItem, TodoSync
from hudkit.sections.items import Mark, mark


class Todos(msgspec.Struct, frozen=True, omit_defaults=True):
    items: tuple[TodoItem, ...] = ()
    mark: Mark = Mark()

    def __len__(self) -> int:
        return len(self.items)

    @property
    def open(self) -> tuple[TodoItem, ...]:
        """The todos that are neither done nor cancelled."""
        return tuple(todo for todo in self.items if todo.status not in ("completed", "cancelled"))


HANDLES = (TodoSync,)


def reduce(todos: Todos, event: Event) -> Todos:
    match event.payload:
        case TodoSync(todos=items):
            return todos if items == todos.items else Todos(items, mark(event))
    return todos
