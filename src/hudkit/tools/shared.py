"""Operations between a session and its subagents: what is shared, and reports to the parent."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import Payload, ShareReport
from hudkit.sections.state import HudState
from hudkit.tools.lines import Page, called, echo, listing
from hudkit.tools.operation import SHOWN, Answer, Arguments, Row, Text, operation, reading, section
from hudkit.tools.record import record


class Result(Arguments, frozen=True):
    text: Annotated[Text, Meta(description="What came out, in a sentence or two.")]


@section("shared", "From other agents", ordered=True)
def rows(state: HudState) -> tuple[Row, ...]:
    told = [
        Row(piece.kind, piece.text, (source.relation, source.session_id), piece)
        for source in state.shared.sources
        for piece in source.pieces
    ]
    own = [Row(report.id, report.text, ("yours, for the parent",), report) for report in state.shared.reports]
    return (*told, *own)


@reading("shared.list", Page)
def list_(session: SessionCore, args: Page) -> Answer:
    """List what the parent shares with this session, what subagents brought back, and your own reports."""
    return listing(SHOWN["shared"], rows(session.prepared()), args)


@operation("shared.report", Result, example={"text": "The parser fails on tabs; a test shows it"})
def report(session: SessionCore, args: Result, origin: Origin) -> Answer:
    """Report a result to the session that started this one; it is in that session's HUD from its next call on.

    Your live decisions are there as well.
    """

    def decide(state: HudState) -> tuple[Payload, ...]:
        if not any(link.relation == "parent" for link in state.session.links):
            raise OperationError(
                "this session was not started by another one", hint="notes.add keeps something for this session."
            )
        return (ShareReport(args.text),)

    change = record(session, origin, decide)
    item = change.after.shared.reports.find(change.payloads[0].text)  # type: ignore[attr-defined]
    assert item is not None
    text = f"Reported {called(item.id)}: {echo(item.text)}." if change else "That is reported already."
    return Answer(text + change.note, {"id": item.id, "recorded": bool(change)})
