"""Operations on constraints: rules that hold until they are removed."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import ConstraintAdd, ConstraintConfirm, ConstraintRemove
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, item_row, list_rows
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
from hudkit.tools.record import add_to_section, remove_from_section
from hudkit.tools.resolve_item import ItemName, resolve_item


class _NewConstraint(OperationArguments, frozen=True):
    text: Annotated[Text, Meta(description="The rule.")]


class _ThatConstraint(OperationArguments, frozen=True):
    id: Annotated[ItemName, Meta(description="The constraint's id, its text, or a part of it that no other has.")]


@section_listing("constraints", "Constraints", replaces="texts", clears=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(item_row(rule, rule.text, "derived" if rule.derived else "") for rule in state.constraints)


@reading("constraints.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the constraints in full, the newest last."""
    return list_rows(SECTION_LISTINGS["constraints"], _rows(session.state), args, session.state.time)


@operation("constraints.add", _NewConstraint, example={"text": "The public API stays as it is"})
def _add(session: SessionCore, args: _NewConstraint, origin: Origin) -> OperationResult:
    """Add a rule that holds until it is removed."""
    return add_to_section(session, origin, "constraints", "constraint", ConstraintAdd(args.text))


@operation("constraints.confirm", _ThatConstraint, example={"id": "c1"})
def _confirm(session: SessionCore, args: _ThatConstraint, origin: Origin) -> OperationResult:
    """Say that a derived rule is right; it is not marked as derived any more."""
    return remove_from_section(
        session,
        origin,
        "constraint",
        lambda state: resolve_item(state.constraints.items, args.id, "constraint", lambda rule: rule.text),
        ConstraintConfirm,
        verb="Confirmed",
    )


@operation("constraints.remove", _ThatConstraint, example={"id": "c1"})
def _remove(session: SessionCore, args: _ThatConstraint, origin: Origin) -> OperationResult:
    """Remove a rule that holds no longer."""
    return remove_from_section(
        session,
        origin,
        "constraint",
        lambda state: resolve_item(state.constraints.items, args.id, "constraint", lambda rule: rule.text),
        ConstraintRemove,
    )
