"""The host's todo list; done ones are struck and leave the view first."""

from __future__ import annotations

from hudkit.compose import Element, component, shorten
from hudkit.log.payloads import TodoItem
from hudkit.sections.todos import Todos as TodosState
from hudkit.sections.views.section import Line, Row, Section, View, listed

CLOSED = ("completed", "cancelled")


def _status(todo: TodoItem) -> str:
    return "" if todo.status == "pending" or todo.status in CLOSED else f" ({todo.status.replace('_', ' ')})"


@component
def Todos(todos: TodosState, view: View) -> Element | None:
    lines = (Line(t.content, t.content, t.status in CLOSED, _status(t)) for t in todos.items)
    return listed("todos", "Todos", lines, view, plan=True)


def rows(todos: TodosState) -> tuple[Row, ...]:
    seen: dict[str, int] = {}
    told: list[Row] = []
    for todo in todos.items:
        again = seen[todo.content] = seen.get(todo.content, -1) + 1
        told.append(Row(todo.content + again * " ", todo.content + _status(todo), todo.status in CLOSED))
    return tuple(told)


def brief(todos: TodosState) -> str:
    left = "; ".join(shorten(t.content, 60) + _status(t) for t in todos.open)
    return f"todos, {len(todos) - len(todos.open)} of {len(todos)} done: {left or 'none left'}"


SECTION = Section("todos", "Todos", "todo", ("todos",), Todos, rows, pace="turn", brief=brief)
