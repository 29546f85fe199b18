"""Operations on errors: what failed, and what works again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import ErrorEncountered, ErrorResolved, Payload
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.errors import RecordedError
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, item_row, list_rows
from hudkit.tools.operation import (
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
from hudkit.tools.record import record
from hudkit.tools.resolve_item import ItemName, resolve_item


class _ErrorPage(PageArguments, frozen=True):
    all: Annotated[bool, Meta(description="Show the resolved ones too.")] = False


class _NewError(OperationArguments, frozen=True):
    message: Annotated[Text, Meta(description="What failed, and how.")]
    key: Annotated[AnyText, Meta(description="Groups repetitions of one failure (a command, say).")] = ""


class _ThatError(OperationArguments, frozen=True):
    id: Annotated[
        ItemName, Meta(description="The error's id, its text, or a part of it that no other open error has.")
    ]


@section_listing("errors", "Errors", clears=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return _error_rows(state.errors.open)


def _error_rows(failures: Sequence[RecordedError]) -> tuple[AnswerRow, ...]:
    return tuple(
        item_row(
            failure,
            failure.message,
            "resolved" if failure.resolved else "",
            f"{failure.times} times" if failure.times > 1 else "",
        )
        for failure in failures
    )


@reading("errors.list", _ErrorPage)
def _list(session: SessionCore, args: _ErrorPage) -> OperationResult:
    """List the open errors in full, the newest last; on request the last resolved ones too."""
    errors = session.state.errors
    return list_rows(
        SECTION_LISTINGS["errors"], _error_rows(errors.items if args.all else errors.open), args, session.state.time
    )


@operation("errors.add", _NewError, example={"message": "pytest: 3 tests fail in test_auth.py"})
def _add(session: SessionCore, args: _NewError, origin: Origin) -> OperationResult:
    """Report an error; one that is open already is counted, not listed twice."""
    change = record(session, origin, lambda _: (ErrorEncountered(args.message, key=args.key),))
    # What was recorded has no secrets, so that is what the new error is looked up by.
    failure = next(
        each
        for each in change.after.errors.open
        if _is_same_error(each, without_secrets(args.message), without_secrets(args.key))
    )
    text = (
        f"Met again: error {failure.id}, {failure.times} times."
        if failure.times > 1
        else f"Added error {failure.id}."
    )
    return OperationResult(text + change.note, {"id": failure.id, "recorded": bool(change), "times": failure.times})


def _is_same_error(failure: RecordedError, message: str, key: str) -> bool:
    # A key stands for the failure whatever its words are: a second run of a command fails with other line numbers.
    return failure.key == key if key else failure.message == message


@operation("errors.resolve", _ThatError, example={"id": "e1"})
def _resolve(session: SessionCore, args: _ThatError, origin: Origin) -> OperationResult:
    """Say that an error is over."""
    over: list[RecordedError] = []

    def decide(state: HudState) -> Sequence[Payload]:
        # By its id an error is known although it is resolved: saying so twice is no mistake.
        exact = state.errors.get(args.id)
        over[:] = [exact or resolve_item(state.errors.open, args.id, "open error", lambda failure: failure.message)]
        return () if over[0].resolved else (ErrorResolved(over[0].id),)

    change = record(session, origin, decide)
    text = f"Resolved error {over[0].id}." if change else f"Resolved already: error {over[0].id}."
    return OperationResult(text, {"id": over[0].id, "recorded": bool(change)})


@alias("errors.report", _NewError, writes=True, example={"message": "pytest: 3 tests fail in test_auth.py"})
def _report(args: _NewError) -> OperationCall:
    """Report an error."""
    return OperationCall("errors.add", args)
