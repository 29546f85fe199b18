"""Operations on errors: what failed, and what works again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import ErrorEncountered, ErrorResolved, Payload
from hudkit.sections.errors import RecordedError
from hudkit.sections.state import HudState
from hudkit.tools.lines import Page, listing, row, stored
from hudkit.tools.naming import Name, named
from hudkit.tools.operation import (
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
from hudkit.tools.record import record


class ErrorPage(Page, frozen=True):
    all: Annotated[bool, Meta(description="Show the resolved ones too.")] = False


class NewError(Arguments, frozen=True):
    message: Annotated[Text, Meta(description="What failed, and how.")]
    key: Annotated[Loose, Meta(description="Groups repetitions of one failure (a command, say).")] = ""


class ThatError(Arguments, frozen=True):
    id: Annotated[Name, Meta(description="The error's id, its text, or a part of it that no other open error has.")]


@section("errors", "Errors", clears=True)
def rows(state: HudState) -> tuple[Row, ...]:
    return _rows(state.errors.open)


def _rows(failures: Sequence[RecordedError]) -> tuple[Row, ...]:
    return tuple(
        row(it, it.message, "resolved" if it.resolved else "", f"{it.times} times" if it.times > 1 else "")
        for it in failures
    )


@reading("errors.list", ErrorPage)
def list_(session: SessionCore, args: ErrorPage) -> Answer:
    """List the open errors in full, the newest last; on request the last resolved ones too."""
    errors = session.state.errors
    return listing(SHOWN["errors"], _rows(errors.items if args.all else errors.open), args, session.state.time)


@operation("errors.add", NewError, example={"message": "pytest: 3 tests fail in test_auth.py"})
def add(session: SessionCore, args: NewError, origin: Origin) -> Answer:
    """Report an error; one that is open already is counted, not listed twice."""
    change = record(session, origin, lambda _: (ErrorEncountered(args.message, key=args.key),))
    failure = next(it for it in change.after.errors.open if _is(it, stored(args.message), stored(args.key)))
    text = (
        f"Met again: error {failure.id}, {failure.times} times."
        if failure.times > 1
        else f"Added error {failure.id}."
    )
    return Answer(text + change.note, {"id": failure.id, "recorded": bool(change), "times": failure.times})


def _is(failure: RecordedError, message: str, key: str) -> bool:
    return failure.key == key if key else failure.message == message


@operation("errors.resolve", ThatError, example={"id": "e1"})
def resolve(session: SessionCore, args: ThatError, origin: Origin) -> Answer:
    """Say that an error is over."""
    over: list[RecordedError] = []

    def decide(state: HudState) -> Sequence[Payload]:
        known = state.errors.get(args.id)
        over[:] = [known or named(state.errors.open, args.id, "open error", lambda failure: failure.message)]
        return () if over[0].resolved else (ErrorResolved(over[0].id),)

    change = record(session, origin, decide)
    text = f"Resolved error {over[0].id}." if change else f"Resolved already: error {over[0].id}."
    return Answer(text, {"id": over[0].id, "recorded": bool(change)})


@alias("errors.report", NewError, writes=True, example={"message": "pytest: 3 tests fail in test_auth.py"})
def report(args: NewError) -> Call:
    """Report an error."""
    return Call("errors.add", args)
