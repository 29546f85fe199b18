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
    TextOrTexts,
    alias,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import as_texts, record, recorded_ids
from hudkit.tools.resolve_item import ItemNames, resolve_item


class _ErrorPage(PageArguments, frozen=True):
    all: Annotated[bool, Meta(description="Show the resolved ones too.")] = False


class _NewError(OperationArguments, frozen=True):
    message: Annotated[TextOrTexts, Meta(description="What failed, and how; of a list, each is one.")]
    key: Annotated[AnyText, Meta(description="Groups repetitions of one failure (a command, say).")] = ""


class _TheseErrors(OperationArguments, frozen=True):
    id: Annotated[
        ItemNames,
        Meta(description="The error, or a list of errors: id, text, or words that no other open error has."),
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
    """Report errors; one that is open already is counted, not listed twice."""
    messages = as_texts(args.message)
    change = record(session, origin, lambda _: [ErrorEncountered(message, key=args.key) for message in messages])
    # What was recorded has no secrets, so that is what the new error is looked up by.
    failures = [
        next(
            each
            for each in change.after.errors.open
            if _is_same_error(each, without_secrets(message), without_secrets(args.key))
        )
        for message in messages
    ]
    text = " ".join(
        f"Met again: error {failure.id}, {failure.times} times."
        if failure.times > 1
        else f"Added error {failure.id}."
        for failure in failures
    )
    several = not isinstance(args.message, str)
    data = recorded_ids([failure.id for failure in failures], change, several=several)
    return OperationResult(text + change.note, {**data, "times": failures[0].times})


def _is_same_error(failure: RecordedError, message: str, key: str) -> bool:
    # A key stands for the failure whatever its words are: a second run of a command fails with other line numbers.
    return failure.key == key if key else failure.message == message


@operation("errors.resolve", _TheseErrors, example={"id": "e1"})
def _resolve(session: SessionCore, args: _TheseErrors, origin: Origin) -> OperationResult:
    """Say that errors are over."""
    over: list[RecordedError] = []

    def decide(state: HudState) -> Sequence[Payload]:
        # By its id an error is known although it is resolved: saying so twice is no mistake.
        over[:] = [
            state.errors.get(name)
            or resolve_item(state.errors.open, name, "open error", lambda failure: failure.message)
            for name in as_texts(args.id)
        ]
        return [ErrorResolved(id) for id in {failure.id: failure for failure in over if not failure.resolved}]

    change = record(session, origin, decide)
    several = not isinstance(args.id, str)
    noun = f"error{'s' if several else ''} {', '.join(failure.id for failure in over)}"
    text = f"Resolved {noun}." if change else f"Resolved already: {noun}."
    return OperationResult(text, recorded_ids([failure.id for failure in over], change, several=several))


@alias("errors.report", _NewError, writes=True, example={"message": "pytest: 3 tests fail in test_auth.py"})
def _report(args: _NewError) -> OperationCall:
    """Report an error."""
    return OperationCall("errors.add", args)
