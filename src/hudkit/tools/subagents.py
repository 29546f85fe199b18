"""Operations on sub-agents: who is at work, and who came back with what."""

from __future__ import annotations

from hudkit.hud import SessionCore
from hudkit.sections.state import HudState
from hudkit.sections.subagents import SubagentRun
from hudkit.tools.answer_text import PageArguments, list_rows
from hudkit.tools.operation import SECTION_LISTINGS, AnswerRow, OperationResult, reading, section_listing


@section_listing("subagents", "Sub-agents", ordered=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(map(_row, reversed(state.subagents.runs)))


def _row(run: SubagentRun) -> AnswerRow:
    tags = (f"session {run.session_id}",) if run.session_id else ()
    return AnswerRow("subagent", run.words, tags, run, run.mark.seq)


@reading("subagents.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the last sub-agents: those at work, and those that came back with the first words of their results."""
    return list_rows(SECTION_LISTINGS["subagents"], _rows(session.state), args, session.state.time)
