"""Operations on blockers: what keeps the agent from going on."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import BlockerAdd, BlockerRemove
from hudkit.sections.state import HudState
from hudkit.tools.lines import Page, listing, row
from hudkit.tools.naming import Name, named
from hudkit.tools.operation import SHOWN, Answer, Arguments, Call, Row, Text, alias, operation, reading, section
from hudkit.tools.record import added, removed


class NewBlocker(Arguments, frozen=True):
    description: Annotated[Text, Meta(description="What is in the way.")]


class ThatBlocker(Arguments, frozen=True):
    id: Annotated[Name, Meta(description="The blocker's id, its text, or a part of it that no other has.")]


class HudBlocker(Arguments, frozen=True):
    blocker: Annotated[Text, Meta(description="What is in the way; to remove it, its id or a part of its text.")]
    action: Annotated[Literal["add", "remove"], Meta(description="What to do with it.")] = "add"


@section("blockers", "Blockers", replaces="texts", clears=True)
def rows(state: HudState) -> tuple[Row, ...]:
    return tuple(row(blocker, blocker.description) for blocker in state.blockers)


@reading("blockers.list", Page)
def list_(session: SessionCore, args: Page) -> Answer:
    """List the open blockers in full."""
    return listing(SHOWN["blockers"], rows(session.state), args, session.state.time)


@operation("blockers.add", NewBlocker, example={"description": "Waiting for the database credentials"})
def add(session: SessionCore, args: NewBlocker, origin: Origin) -> Answer:
    """Add a blocker; it is shown until it is removed."""
    return added(session, origin, "blockers", "blocker", BlockerAdd(args.description))


@operation("blockers.remove", ThatBlocker, example={"id": "b1"})
def remove(session: SessionCore, args: ThatBlocker, origin: Origin) -> Answer:
    """Remove a blocker that is over."""
    return removed(
        session,
        origin,
        "blocker",
        lambda state: named(state.blockers.items, args.id, "blocker", lambda blocker: blocker.description),
        BlockerRemove,
    )


@alias("hud_blocker", HudBlocker, writes=True, example={"blocker": "Waiting for the database credentials"})
def hud_blocker(args: HudBlocker) -> Call:
    """Add or remove a blocker."""
    if args.action == "remove":
        return Call("blockers.remove", ThatBlocker(args.blocker))
    return Call("blockers.add", NewBlocker(args.blocker))
