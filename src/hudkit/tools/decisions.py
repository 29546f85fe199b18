"""Operations on decisions: recorded once, superseded rather than contradicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import DecisionConfirm, DecisionRecord, DecisionRemove, DecisionSupersede, Payload
from hudkit.sections.decisions import Decision
from hudkit.sections.state import HudState
from hudkit.tools.lines import Page, echo, listing, row, stored
from hudkit.tools.naming import Name, named
from hudkit.tools.operation import (
    MOST_VALUES,
    SHOWN,
    Answer,
    Arguments,
    Call,
    Loose,
    Row,
    Text,
    alias,
    operation,
    reading,
    section,
)
from hudkit.tools.record import found, peek, record, removed

DecisionName = Annotated[Name, Meta(description="The decision's id, its text, or a part of it that no other has.")]
Names = Annotated[tuple[Name, ...], Meta(max_length=MOST_VALUES)]


class NewDecision(Arguments, frozen=True):
    summary: Annotated[Text, Meta(description="What was decided, in one line.")]
    details: Annotated[Loose, Meta(description="Why, and what else was considered.")] = ""
    supersedes: Annotated[
        Name | Names, Meta(description="The decision, or a list of them, that this one replaces (id or text).")
    ] = ()


class ThatDecision(Arguments, frozen=True):
    id: DecisionName


class Replacement(Arguments, frozen=True):
    id: DecisionName
    by: Annotated[Name, Meta(description="The recorded decision that replaces it (id or text).")]


class HudDecision(Arguments, frozen=True):
    decision: Annotated[Text, Meta(description="What was decided, in one line.")]


@section("decisions", "Decisions", also=("keyDecisions",), replaces="texts", clears=True)
def rows(state: HudState) -> tuple[Row, ...]:
    return tuple(
        row(it, f"{it.summary} — {it.details}" if it.details else it.summary, "derived" if it.derived else "")
        for it in state.decisions
    )


def _named(state: HudState, name: str) -> Decision:
    return named(state.decisions.items, name, "decision", lambda decision: decision.summary)


@reading("decisions.list", Page)
def list_(session: SessionCore, args: Page) -> Answer:
    """List the live decisions with their details, the newest last."""
    return listing(SHOWN["decisions"], rows(session.state), args, session.state.time)


@operation(
    "decisions.record",
    NewDecision,
    example={"summary": "Sign tokens with RS256", "details": "Other services verify them", "supersedes": "d1"},
)
def record_(session: SessionCore, args: NewDecision, origin: Origin) -> Answer:
    """Record a decision; with `supersedes` it replaces earlier ones, which never come back.

    The same summary with other details replaces the decision that has it.
    """
    gone: list[str] = []

    def decide(state: HudState) -> Sequence[Payload]:
        names = (args.supersedes,) if isinstance(args.supersedes, str) else args.supersedes
        olds = {old.id: old for old in (_named(state, name) for name in names)}
        new = DecisionRecord(args.summary, args.details)
        twin = state.decisions.find(stored(args.summary))
        if twin is not None:
            if args.details and twin.details != stored(args.details):
                olds[twin.id] = twin
            elif twin.id in olds:
                raise OperationError(
                    f"decision {twin.id} says this already and cannot supersede itself",
                    hint="Say what is decided now, or name another decision.",
                )
        gone[:] = olds
        if twin is not None and twin.id not in olds:
            return tuple(DecisionSupersede(id, twin.id) for id in olds)
        after = peek(state, *(DecisionSupersede(id, "") for id in olds), new)
        by = found(after, "decisions", stored(args.summary)).id
        return (*(DecisionSupersede(id, by) for id in olds), new)

    change = record(session, origin, decide)
    id = found(change.after, "decisions", stored(args.summary)).id
    known = change.before.decisions.get(id) is not None
    text = f"Already there: decision {id}." if known else f"Recorded decision {id}: {echo(stored(args.summary))}."
    if gone:
        text += f" It supersedes {', '.join(gone)}."
    return Answer(text + change.note, {"id": id, "recorded": bool(change), "superseded": list(gone)})


@operation("decisions.supersede", Replacement, example={"id": "d1", "by": "d2"})
def supersede(session: SessionCore, args: Replacement, origin: Origin) -> Answer:
    """Say that a recorded decision replaces another, which never comes back."""
    ids = ["", ""]

    def decide(state: HudState) -> Sequence[Payload]:
        ids[:] = _named(state, args.id).id, _named(state, args.by).id
        if ids[0] == ids[1]:
            raise OperationError(f"decision {ids[0]} cannot supersede itself", hint="Name another decision in `by`.")
        return (DecisionSupersede(*ids),)

    record(session, origin, decide)
    return Answer(f"Decision {ids[1]} supersedes {ids[0]}.", {"id": ids[1], "recorded": True, "superseded": ids[:1]})


@operation("decisions.confirm", ThatDecision, example={"id": "d1"})
def confirm(session: SessionCore, args: ThatDecision, origin: Origin) -> Answer:
    """Say that a derived decision is right; it is not marked as derived any more."""
    return removed(
        session, origin, "decision", lambda state: _named(state, args.id), DecisionConfirm, verb="Confirmed"
    )


@operation("decisions.remove", ThatDecision, example={"id": "d1"})
def remove(session: SessionCore, args: ThatDecision, origin: Origin) -> Answer:
    """Remove a decision that holds no longer; the log keeps it."""
    return removed(session, origin, "decision", lambda state: _named(state, args.id), DecisionRemove)


@alias("hud_decision", HudDecision, writes=True, example={"decision": "Sign tokens with RS256"})
def hud_decision(args: HudDecision) -> Call:
    """Record a decision."""
    return Call("decisions.record", NewDecision(args.decision))


@alias("hud_decisions", Page)
def hud_decisions(args: Page) -> Call:
    """List the live decisions with their details."""
    return Call("decisions.list", args)
