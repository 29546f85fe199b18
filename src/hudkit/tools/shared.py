"""Operations between a session and its subagents: what is shared, and reports to the parent."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import Payload, ShareReport
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, id_text, list_rows, quote
from hudkit.tools.operation import (
    SECTION_LISTINGS,
    AnswerRow,
    OperationArguments,
    OperationResult,
    Text,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import record


class _ReportArguments(OperationArguments, frozen=True):
    text: Annotated[Text, Meta(description="What came out, in a sentence or two.")]


@section_listing("shared", "From other agents", ordered=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    received = [
        AnswerRow(piece.kind, piece.text, (source.relation, source.session_id), piece)
        for source in state.shared.sources
        for piece in source.pieces
    ]
    own = [AnswerRow(report.id, report.text, ("yours, for the parent",), report) for report in state.shared.reports]
    return (*received, *own)


@reading("shared.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List what the parent shares with this session, what subagents brought back, and your own reports."""
    return list_rows(SECTION_LISTINGS["shared"], _rows(session.prepare()), args)


@operation("shared.report", _ReportArguments, example={"text": "The parser fails on tabs; a test shows it"})
def _report(session: SessionCore, args: _ReportArguments, origin: Origin) -> OperationResult:
    """Report a result to the session that started this one; it is in that session's HUD from its next call on.

    Your live decisions are there as well.
    """

    def decide(state: HudState) -> tuple[Payload, ...]:
        # Without a parent nobody would ever read it.
        if not any(link.relation == "parent" for link in state.session.links):
            raise OperationError(
                "this session was not started by another one",
                hint="notes.add keeps something for this session.",
                instead=("shared.list", {}),
            )
        return (ShareReport(args.text),)

    change = record(session, origin, decide)
    item = change.after.shared.reports.find(change.payloads[0].text)  # type: ignore[attr-defined]
    assert item is not None
    text = f"Reported {id_text(item.id)}: {quote(item.text)}." if change else "That is reported already."
    return OperationResult(text + change.note, {"id": item.id, "recorded": bool(change)})
