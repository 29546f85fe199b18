"""Operations on todos, the host's own list: it is read here and changed there."""

from __future__ import annotations

from hudkit.hud import SessionCore
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, list_rows
from hudkit.tools.operation import SECTION_LISTINGS, AnswerRow, OperationResult, reading, section_listing


@section_listing("todos", "Todos", ordered=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(
        AnswerRow(todo.status, todo.content, (todo.priority,) if todo.priority else (), todo, state.todos.mark.seq)
        for todo in state.todos.items
    )


@reading("todos.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the host's own todos."""
    return list_rows(SECTION_LISTINGS["todos"], _rows(session.state), args)
