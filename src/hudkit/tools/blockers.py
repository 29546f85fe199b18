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
    TextOrTexts,
    alias,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import add_to_section, remove_from_section
from hudkit.tools.resolve_item import ItemNames, resolve_items


class _NewBlocker(OperationArguments, frozen=True):
    description: Annotated[TextOrTexts, Meta(description="What is in the way; of a list, each is one.")]


class _TheseBlockers(OperationArguments, frozen=True):
    id: Annotated[
        ItemNames, Meta(description="The blocker, or a list of blockers: id, text, or words that no other has.")
    ]


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
    """Add blockers; each is shown until it is removed."""
    return add_to_section(session, origin, "blockers", "blocker", args.description, BlockerAdd)


@operation("blockers.remove", _TheseBlockers, example={"id": "b1"})
def _remove(session: SessionCore, args: _TheseBlockers, origin: Origin) -> OperationResult:
    """Remove blockers that are over."""
    return remove_from_section(
        session,
        origin,
        "blocker",
        lambda state: resolve_items(state.blockers.items, args.id, "blocker", lambda blocker: blocker.description),
        BlockerRemove,
        several=not isinstance(args.id, str),
    )


@alias("hud_blocker", _HudBlocker, writes=True, example={"blocker": "Waiting for the database credentials"})
def _hud_blocker(args: _HudBlocker) -> OperationCall:
    """Add or remove a blocker."""
    if args.action == "remove":
        return OperationCall("blockers.remove", _TheseBlockers(args.blocker))
    return OperationCall("blockers.add", _NewBlocker(args.blocker))
