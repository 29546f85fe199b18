"""Operations on decisions: recorded once, superseded rather than contradicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from textwrap import indent
from typing import Annotated

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import DecisionConfirm, DecisionRecord, DecisionRemove, DecisionSupersede, Payload
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.decisions import Decision
from hudkit.sections.state import HudState, state_after
from hudkit.tools.answer_text import (
    PageArguments,
    derived_word,
    indented_block,
    item_row,
    list_rows,
    quote,
    row_lines,
)
from hudkit.tools.operation import (
    MAX_VALUES,
    SECTION_LISTINGS,
    AnswerRow,
    AnyText,
    OperationArguments,
    OperationCall,
    OperationResult,
    Text,
    TextOrTexts,
    alias,
    operation,
    plain_values,
    reading,
    section_listing,
)
from hudkit.tools.record import add_to_section, item_with_text, record, remove_from_section, stored_words
from hudkit.tools.replaced_item import refuse_copy, refuse_request, replaced_item, same_item, with_another_number
from hudkit.tools.resolve_item import ItemName, ItemNames, OneItem, resolve_item, resolve_items
from hudkit.tools.spellings import looks_like_id

DecisionName = Annotated[
    ItemName, Meta(description="The decision's id, its text, or a part of it that no other has.")
]


class _NewDecision(OperationArguments, frozen=True):
    summary: Annotated[TextOrTexts, Meta(description="What was decided, in one line; of a list, each is a decision.")]
    details: Annotated[AnyText, Meta(description="Why, and what else was considered.")] = ""
    supersedes: Annotated[
        OneItem | Annotated[tuple[ItemName, ...], Meta(max_length=MAX_VALUES)],
        Meta(description="The decision, or a list of them, that this one replaces (id or text)."),
    ] = ()
    item: Annotated[
        AnyText,
        Meta(description="Words of the decision that this one replaces; where none has them, none is replaced."),
    ] = ""


class _ThatDecision(OperationArguments, frozen=True):
    id: DecisionName


class _TheseDecisions(OperationArguments, frozen=True):
    id: Annotated[
        ItemNames, Meta(description="The decision, or a list of decisions: id, text, or words that no other has.")
    ]


class _Replacement(OperationArguments, frozen=True):
    id: Annotated[
        AnyText,
        Meta(description="The decision's id, its text, or a part of it; or none: the one most like the text."),
    ] = ""
    by: Annotated[AnyText, Meta(description="The recorded decision that replaces it (id or text).")] = ""
    text: Annotated[AnyText, Meta(description="What is decided instead, where that is not recorded yet.")] = ""


class _HudDecision(OperationArguments, frozen=True):
    decision: Annotated[Text, Meta(description="What was decided, in one line.")]


@section_listing("decisions", "Decisions", also=("keyDecisions",), replaces="texts", clears=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(
        item_row(
            decision,
            f"{decision.summary} — {decision.details}" if decision.details else decision.summary,
            derived_word(decision),
        )
        for decision in state.decisions
    )


def _resolve(state: HudState, name: str) -> Decision:
    return resolve_item(state.decisions.items, name, "decision", lambda decision: decision.summary)


_MIN_WORDS = 3
"""Words from which on the name of a decision that nobody recorded is one that was just made."""


@reading("decisions.get", _ThatDecision, example={"id": "d1"})
def _get(session: SessionCore, args: _ThatDecision) -> OperationResult:
    """Read one decision in full, with its reason, where the HUD shows "…" instead."""
    decision = _resolve(session.state, args.id)
    head = row_lines((item_row(decision, decision.summary, derived_word(decision)),))
    # Two columns further than elsewhere: behind an item of a list, four are its own text and no block.
    details = indent(indented_block(decision.details), "  ") if decision.details else "No reason was given."
    text = f"{head}\n\n{details}"
    return OperationResult(text, {"decision": plain_values(decision)})


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
    if not isinstance(args.summary, str):
        return _record_each(session, args, args.summary, origin)
    return _record_one(session, args.summary, args, origin)


def record_decision(
    session: SessionCore, summary: str, supersedes: tuple[str, ...], origin: Origin
) -> OperationResult:
    """Record a decision that was announced in other words than `decisions.record`, in the place of earlier ones."""
    return _record_one(session, summary, _NewDecision(summary, supersedes=supersedes), origin)


def _record_each(
    session: SessionCore, args: _NewDecision, summaries: Sequence[str], origin: Origin
) -> OperationResult:
    if args.details or args.supersedes or args.item:
        raise OperationError(
            "details and supersedes belong to one decision", hint="Record each of these decisions by itself."
        )
    return add_to_section(session, origin, "decisions", "decision", summaries, DecisionRecord)


def _record_one(session: SessionCore, summary: str, args: _NewDecision, origin: Origin) -> OperationResult:
    gone: list[str] = []
    if looks_like_id(args.item):
        raise OperationError(
            f"a new decision has no id yet: {quote(args.item)}",
            hint="Leave it out, or name what is replaced in words.",
        )

    def decide(state: HudState) -> Sequence[Payload]:
        nonlocal summary
        refuse_request(state, summary)
        refuse_copy(state, "decisions", summary)
        same = same_item(state.decisions.items, summary)
        summary = summary if same is None else same.summary
        names = (args.supersedes,) if isinstance(args.supersedes, str) else args.supersedes
        olds = {old.id: old for old in (_resolve(state, name) for name in names)}
        # Models also say there what the new decision is about.
        if args.item and args.item.casefold() not in summary.casefold():
            with suppress(OperationError):
                old = _resolve(state, args.item)
                olds[old.id] = old
        new = DecisionRecord(summary, args.details)
        # One text stands once: the same summary is the same decision, or replaces it.
        twin = state.decisions.find(without_secrets(summary))
        if twin is None and not olds:
            live = state.decisions.items
            replaced = replaced_item(live, summary) or with_another_number(live, summary)
            if replaced is not None:
                olds[replaced.id] = replaced
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
        stored = DecisionRecord(without_secrets(summary), without_secrets(args.details))
        after = state_after(state, *(DecisionSupersede(id, "") for id in olds), stored)
        by = item_with_text(after, "decisions", without_secrets(summary)).id
        return (*(DecisionSupersede(id, by) for id in olds), new)

    change = record(session, origin, decide)
    id = item_with_text(change.after, "decisions", without_secrets(summary)).id
    existed = change.before.decisions.get(id) is not None
    recorded = f"Recorded {id}{stored_words(change, without_secrets(summary))}."
    text = f"Already there: decision {id}." if existed else recorded
    if args.item and not gone:
        text += f" No decision is named {quote(args.item, 40)}: none was replaced."
    if gone:
        text += f" It supersedes {', '.join(gone)}."
    return OperationResult(text + change.note, {"id": id, "recorded": bool(change), "superseded": list(gone)})


@operation("decisions.supersede", _Replacement, example={"id": "d1", "by": "d2"})
def _supersede(session: SessionCore, args: _Replacement, origin: Origin) -> OperationResult:
    """Say that a decision replaces another, which never comes back: a recorded one (`by`), or a new one (`text`)."""
    new = args.text.strip()
    if not new and not args.by.strip():
        raise OperationError(
            'decisions.supersede needs the argument "by" or "text"', hint="The decision that holds from now on."
        )
    if new or not _is_recorded(session.state, args.by):
        return _record_one(session, new or args.by, _NewDecision("", supersedes=args.id or new), origin)
    if not args.id:
        raise OperationError('decisions.supersede needs the argument "item"', hint="The decision that is replaced.")
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


def _is_recorded(state: HudState, name: str) -> bool:
    """Return whether a name is to be looked up among the decisions; else it is the text of a new one."""
    if len(name.split()) < _MIN_WORDS:
        return True
    part = name.strip().casefold()
    return any(part in decision.summary.casefold() for decision in state.decisions)


@operation("decisions.confirm", _TheseDecisions, example={"id": "d1"})
def _confirm(session: SessionCore, args: _TheseDecisions, origin: Origin) -> OperationResult:
    """Say that derived decisions are right; they are not marked as derived any more."""
    return _each_of(session, origin, args, DecisionConfirm, "Confirmed")


@operation("decisions.remove", _TheseDecisions, example={"id": "d1"})
def _remove(session: SessionCore, args: _TheseDecisions, origin: Origin) -> OperationResult:
    """Remove decisions that hold no longer; the log keeps them."""
    return _each_of(session, origin, args, DecisionRemove, "Removed")


def _each_of(
    session: SessionCore,
    origin: Origin,
    args: _TheseDecisions,
    payload: Callable[[str], Payload],
    verb: str,
) -> OperationResult:
    def pick(state: HudState) -> Sequence[Decision]:
        return resolve_items(state.decisions.items, args.id, "decision", lambda decision: decision.summary)

    several = not isinstance(args.id, str)
    return remove_from_section(session, origin, "decision", pick, payload, several=several, verb=verb)


@alias("hud_decision", _HudDecision, writes=True, example={"decision": "Sign tokens with RS256"})
def _hud_decision(args: _HudDecision) -> OperationCall:
    """Record a decision."""
    return OperationCall("decisions.record", _NewDecision(args.decision))


@alias("hud_decisions", PageArguments)
def _hud_decisions(args: PageArguments) -> OperationCall:
    """List the live decisions with their details."""
    return OperationCall("decisions.list", args)
