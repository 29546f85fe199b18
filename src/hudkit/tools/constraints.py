"""Operations on constraints: rules that hold until they are removed."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import ConstraintAdd, ConstraintConfirm, ConstraintRemove
from hudkit.sections.state import HudState
from hudkit.tools.lines import Page, listing, row
from hudkit.tools.naming import Name, named
from hudkit.tools.operation import SHOWN, Answer, Arguments, Row, Text, operation, reading, section
from hudkit.tools.record import added, removed


class NewConstraint(Arguments, frozen=True):
    text: Annotated[Text, Meta(description="The rule.")]


class ThatConstraint(Arguments, frozen=True):
    id: Annotated[Name, Meta(description="The constraint's id, its text, or a part of it that no other has.")]


@section("constraints", "Constraints", replaces="texts", clears=True)
def rows(state: HudState) -> tuple[Row, ...]:
    return tuple(row(rule, rule.text, "derived" if rule.derived else "") for rule in state.constraints)


@reading("constraints.list", Page)
def list_(session: SessionCore, args: Page) -> Answer:
    """List the constraints in full, the newest last."""
    return listing(SHOWN["constraints"], rows(session.state), args, session.state.time)


@operation("constraints.add", NewConstraint, example={"text": "The public API stays as it is"})
def add(session: SessionCore, args: NewConstraint, origin: Origin) -> Answer:
    """Add a rule that holds until it is removed."""
    return added(session, origin, "constraints", "constraint", ConstraintAdd(args.text))


@operation("constraints.confirm", ThatConstraint, example={"id": "c1"})
def confirm(session: SessionCore, args: ThatConstraint, origin: Origin) -> Answer:
    """Say that a derived rule is right; it is not marked as derived any more."""
    return removed(
        session,
        origin,
        "constraint",
        lambda state: named(state.constraints.items, args.id, "constraint", lambda rule: rule.text),
        ConstraintConfirm,
        verb="Confirmed",
    )


@operation("constraints.remove", ThatConstraint, example={"id": "c1"})
def remove(session: SessionCore, args: ThatConstraint, origin: Origin) -> Answer:
    """Remove a rule that holds no longer."""
    return removed(
        session,
        origin,
        "constraint",
        lambda state: named(state.constraints.items, args.id, "constraint", lambda rule: rule.text),
        ConstraintRemove,
    )
