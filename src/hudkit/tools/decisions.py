"""Operations on decisions: recorded once, superseded rather than contradicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import DecisionConfirm, DecisionRecord, DecisionRemove, DecisionSupersede, Payload
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.decisions import Decision
from hudkit.sections.state import HudState, state_after
from hudkit.tools.answer_text import PageArguments, item_row, list_rows, quote
from hudkit.tools.operation import (
    MAX_VALUES,
    SECTION_LISTINGS,
    AnswerRow,
    AnyText,
    OperationArguments,
    OperationCall,
    OperationResult,
    Text,
    alias,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import item_with_text, record, remove_from_section
from hudkit.tools.resolve_item import ItemName, resolve_item

DecisionName = Annotated[
    ItemName, Meta(description="The decision's id, its text, or a part of it that no other has.")
]
Names = Annotated[tuple[ItemName, ...], Meta(max_length=MAX_VALUES)]


class _NewDecision(OperationArguments, frozen=True):
    summary: Annotated[Text, Meta(description="What was decided, in one line.")]
    details: Annotated[AnyText, Meta(description="Why, and what else was considered.")] = ""
    supersedes: Annotated[
        ItemName | Names, Meta(description="The decision, or a list of them, that this one replaces (id or text).")
    ] = ()


class _ThatDecision(OperationArguments, frozen=True):
    id: DecisionName


class _Replacement(OperationArguments, frozen=True):
    id: DecisionName
    by: Annotated[ItemName, Meta(description="The recorded decision that replaces it (id or text).")]


class _HudDecision(OperationArguments, frozen=True):
    decision: Annotated[Text, Meta(description="What was decided, in one line.")]


@section_listing("decisions", "Decisions", also=("keyDecisions",), replaces="texts", clears=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(
        item_row(
            decision,
            f"{decision.summary} — {decision.details}" if decision.details else decision.summary,
            "derived" if decision.derived else "",
        )
        for decision in state.decisions
    )


def _resolve(state: HudState, name: str) -> Decision:
    return resolve_item(state.decisions.items, name, "decision", lambda decision: decision.summary)


@reading("decisions.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the live decisions with their details, the newest last."""
    return list_rows(SECTION_LISTINGS["decisions"], _rows(session.state), args, session.state.time)


@operation(
    "decisions.record",
    _NewDecision,
    example={"summary": "Sign tokens with RS256", "details": "Other services verify them"},
)
def _record(session: SessionCore, args: _NewDecision, origin: Origin) -> OperationResult:
    """Record a decision; with `supersedes` it replaces earlier ones, which never come back.

    The same summary with other details replaces the decision that has it.
    """
    gone: list[str] = []

    def decide(state: HudState) -> Sequence[Payload]:
        names = (args.supersedes,) if isinstance(args.supersedes, str) else args.supersedes
        olds = {old.id: old for old in (_resolve(state, name) for name in names)}
        new = DecisionRecord(args.summary, args.details)
        # One text stands once: the same summary is the same decision, or replaces it.
        twin = state.decisions.find(without_secrets(args.summary))
        if twin is not None:
            if args.details and twin.details != without_secrets(args.details):
                olds[twin.id] = twin
            elif twin.id in olds:
                raise OperationError(
                    f"decision {twin.id} says this already and cannot supersede itself",
                    hint="Say what is decided now, or name another decision.",
                )
        gone[:] = olds
        if twin is not None and twin.id not in olds:
            return tuple(DecisionSupersede(id, twin.id) for id in olds)
        # The new one's id is needed in the events that come before it. It is found as it will be stored.
        stored = DecisionRecord(without_secrets(args.summary), without_secrets(args.details))
        after = state_after(state, *(DecisionSupersede(id, "") for id in olds), stored)
        by = item_with_text(after, "decisions", without_secrets(args.summary)).id
        return (*(DecisionSupersede(id, by) for id in olds), new)

    change = record(session, origin, decide)
    id = item_with_text(change.after, "decisions", without_secrets(args.summary)).id
    existed = change.before.decisions.get(id) is not None
    text = (
        f"Already there: decision {id}."
        if existed
        else f"Recorded decision {id}: {quote(without_secrets(args.summary))}."
    )
    if gone:
        text += f" It supersedes {', '.join(gone)}."
    return OperationResult(text + change.note, {"id": id, "recorded": bool(change), "superseded": list(gone)})


@operation("decisions.supersede", _Replacement, example={"id": "d1", "by": "d2"})
def _supersede(session: SessionCore, args: _Replacement, origin: Origin) -> OperationResult:
    """Say that a recorded decision replaces another, which never comes back."""
    ids = ["", ""]

    def decide(state: HudState) -> Sequence[Payload]:
        ids[:] = _resolve(state, args.id).id, _resolve(state, args.by).id
        if ids[0] == ids[1]:
            raise OperationError(f"decision {ids[0]} cannot supersede itself", hint="Name another decision in `by`.")
        return (DecisionSupersede(*ids),)

    record(session, origin, decide)
    return OperationResult(
        f"Decision {ids[1]} supersedes {ids[0]}.", {"id": ids[1], "recorded": True, "superseded": ids[:1]}
    )


@operation("decisions.confirm", _ThatDecision, example={"id": "d1"})
def _confirm(session: SessionCore, args: _ThatDecision, origin: Origin) -> OperationResult:
    """Say that a derived decision is right; it is not marked as derived any more."""
    return remove_from_section(
        session, origin, "decision", lambda state: _resolve(state, args.id), DecisionConfirm, verb="Confirmed"
    )


@operation("decisions.remove", _ThatDecision, example={"id": "d1"})
def _remove(session: SessionCore, args: _ThatDecision, origin: Origin) -> OperationResult:
    """Remove a decision that holds no longer; the log keeps it."""
    return remove_from_section(session, origin, "decision", lambda state: _resolve(state, args.id), DecisionRemove)


@alias("hud_decision", _HudDecision, writes=True, example={"decision": "Sign tokens with RS256"})
def _hud_decision(args: _HudDecision) -> OperationCall:
    """Record a decision."""
    return OperationCall("decisions.record", _NewDecision(args.decision))


@alias("hud_decisions", PageArguments)
def _hud_decisions(args: PageArguments) -> OperationCall:
    """List the live decisions with their details."""
    return OperationCall("decisions.list", args)
