"""Operations on blockers: what keeps the agent from going on."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import BlockerAdd, BlockerRemove
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, item_row, list_rows
from hudkit.tools.operation import (
    SECTION_LISTINGS,
    AnswerRow,
    OperationArguments,
    OperationCall,
    OperationResult,
    Text,
    alias,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import add_to_section, remove_from_section
from hudkit.tools.resolve_item import ItemName, resolve_item


class _NewBlocker(OperationArguments, frozen=True):
    description: Annotated[Text, Meta(description="What is in the way.")]


class _ThatBlocker(OperationArguments, frozen=True):
    id: Annotated[ItemName, Meta(description="The blocker's id, its text, or a part of it that no other has.")]


class _HudBlocker(OperationArguments, frozen=True):
    blocker: Annotated[Text, Meta(description="What is in the way; to remove it, its id or a part of its text.")]
    action: Annotated[Literal["add", "remove"], Meta(description="What to do with it.")] = "add"


@section_listing("blockers", "Blockers", replaces="texts", clears=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(item_row(blocker, blocker.description) for blocker in state.blockers)


@reading("blockers.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the open blockers in full."""
    return list_rows(SECTION_LISTINGS["blockers"], _rows(session.state), args, session.state.time)


@operation("blockers.add", _NewBlocker, example={"description": "Waiting for the database credentials"})
def _add(session: SessionCore, args: _NewBlocker, origin: Origin) -> OperationResult:
    """Add a blocker; it is shown until it is removed."""
    return add_to_section(session, origin, "blockers", "blocker", BlockerAdd(args.description))


@operation("blockers.remove", _ThatBlocker, example={"id": "b1"})
def _remove(session: SessionCore, args: _ThatBlocker, origin: Origin) -> OperationResult:
    """Remove a blocker that is over."""
    return remove_from_section(
        session,
        origin,
        "blocker",
        lambda state: resolve_item(state.blockers.items, args.id, "blocker", lambda blocker: blocker.description),
        BlockerRemove,
    )


@alias("hud_blocker", _HudBlocker, writes=True, example={"blocker": "Waiting for the database credentials"})
def _hud_blocker(args: _HudBlocker) -> OperationCall:
    """Add or remove a blocker."""
    if args.action == "remove":
        return OperationCall("blockers.remove", _ThatBlocker(args.blocker))
    return OperationCall("blockers.add", _NewBlocker(args.blocker))
