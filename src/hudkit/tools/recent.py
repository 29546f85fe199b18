"""Operations on what was done last: commands; and what a frame after a compaction shows beside them."""

from __future__ import annotations

from hudkit.hud import SessionCore
from hudkit.sections.recent import RanCommand, recent_items
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, list_rows
from hudkit.tools.operation import SECTION_LISTINGS, AnswerRow, OperationResult, reading, section_listing


@section_listing("recent", "Commands", ordered=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(map(_command_row, reversed(state.recent.commands)))


def _command_row(ran: RanCommand) -> AnswerRow:
    tags = (ran.ending, "before later edits") if ran.outdated else (ran.ending,)
    return AnswerRow("command", ran.command, tags, ran, ran.mark.seq)


@reading("recent.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the last commands with how they ended, and steps finished and files read before the last compaction."""
    state = session.state
    rows = [*_rows(state)]
    for shown, item in recent_items(state.recent, state.steps, state.files, state.errors):
        if not isinstance(item, RanCommand):
            kind, _, text = shown.text.partition(": ")
            rows.append(AnswerRow(kind, text, (), item, item.mark.seq))
    return list_rows(SECTION_LISTINGS["recent"], rows, args, state.time)
