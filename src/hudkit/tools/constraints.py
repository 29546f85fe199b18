"""Operations on constraints: rules that hold until they are removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import ConstraintAdd, ConstraintConfirm, ConstraintRemove
from hudkit.sections.constraints import Constraint
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, derived_word, item_row, list_rows
from hudkit.tools.operation import (
    SECTION_LISTINGS,
    AnswerRow,
    OperationArguments,
    OperationCall,
    OperationResult,
    TextOrTexts,
    alias,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import add_to_section, remove_from_section
from hudkit.tools.resolve_item import ItemNames, resolve_items


class _NewConstraint(OperationArguments, frozen=True):
    text: Annotated[TextOrTexts, Meta(description="The rule; of a list, each is one.")]


class _TheseConstraints(OperationArguments, frozen=True):
    id: Annotated[ItemNames, Meta(description="The rule, or a list of rules: id, text, or words that no other has.")]


@section_listing("constraints", "Constraints", replaces="texts", clears=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(item_row(rule, rule.text, derived_word(rule)) for rule in state.constraints)


def _resolve_all(state: HudState, names: str | Sequence[str]) -> list[Constraint]:
    return resolve_items(state.constraints.items, names, "constraint", lambda rule: rule.text)


@reading("constraints.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the constraints in full, the newest last."""
    return list_rows(SECTION_LISTINGS["constraints"], _rows(session.state), args, session.state.time)


@operation("constraints.add", _NewConstraint, example={"text": "The public API stays as it is"})
def _add(session: SessionCore, args: _NewConstraint, origin: Origin) -> OperationResult:
    """Add rules that hold until they are removed."""
    return add_to_section(session, origin, "constraints", "constraint", args.text, ConstraintAdd)


@operation("constraints.confirm", _TheseConstraints, example={"id": "c1"})
def _confirm(session: SessionCore, args: _TheseConstraints, origin: Origin) -> OperationResult:
    """Say that derived rules are right; they are not marked as derived any more."""
    return remove_from_section(
        session,
        origin,
        "constraint",
        lambda state: _resolve_all(state, args.id),
        ConstraintConfirm,
        several=not isinstance(args.id, str),
        verb="Confirmed",
    )


@operation("constraints.remove", _TheseConstraints, example={"id": "c1"})
def _remove(session: SessionCore, args: _TheseConstraints, origin: Origin) -> OperationResult:
    """Remove rules that hold no longer."""
    return remove_from_section(
        session,
        origin,
        "constraint",
        lambda state: _resolve_all(state, args.id),
        ConstraintRemove,
        several=not isinstance(args.id, str),
    )


@alias("pin", _NewConstraint, writes=True, example={"text": "Releases go out on Tuesdays"})
def _pin(args: _NewConstraint) -> OperationCall:
    """Keep a line in sight whatever happens: the same as constraints.add."""
    return OperationCall("constraints.add", args)
