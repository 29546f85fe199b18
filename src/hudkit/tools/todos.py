"""Operations on todos, the host's own list: it is read here and changed there."""

from __future__ import annotations

from hudkit.hud import SessionCore
from hudkit.sections.state import HudState
from hudkit.tools.lines import Page, listing
from hudkit.tools.operation import SHOWN, Answer, Row, reading, section


@section("todos", "Todos", ordered=True)
def rows(state: HudState) -> tuple[Row, ...]:
    return tuple(
        Row(todo.status, todo.content, (todo.priority,) if todo.priority else (), todo, state.todos.mark.seq)
        for todo in state.todos.items
    )


@reading("todos.list", Page)
def list_(session: SessionCore, args: Page) -> Answer:
    """List the host's own todos."""
    return listing(SHOWN["todos"], rows(session.state), args)
