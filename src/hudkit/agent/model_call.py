"""One response of the model: asked for, streamed into the store, and asked for again where that may help."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from msgspec.structs import replace

from hudkit import models
from hudkit.agent.events import (
    ModelCallFailed,
    ReasoningChunk,
    RequestSent,
    ResponseReceived,
    RetryScheduled,
    TextChunk,
    ToolCallUpdated,
)
from hudkit.agent.hooks import Text as TextOutput
from hudkit.agent.hooks import TextDone
from hudkit.agent.records import Reported, StoredCall, StoredMessage, StoredPart, StoredReasoning, StoredText
from hudkit.agent.request_builder import seal_metadata
from hudkit.agent.run_context import RunContext
from hudkit.errors import StoreError, ToolError
from hudkit.models import (
    Completion,
    CompletionRequest,
    Model,
    ModelError,
    ReasoningDelta,
    TextDelta,
    UnreadableAnswer,
)

_FLUSH_CHARACTERS = 2_000
"""Characters of a text that is still coming, after which it is stored anew."""

CANCELLED = "cancelled"
"""The error of a response that was cancelled."""

_UNREADABLE = "unread"


async def stream_response(
    course: RunContext, request: CompletionRequest, model: Model, head: Callable[[], StoredMessage]
) -> tuple[StoredMessage, Completion]:
    """The model's response, stored and still open where it has calls; `head` makes the empty message of each attempt.

    Raises the `ModelError` of the last attempt; each attempt that failed is stored with its error. A cancellation
    leaves the response closed, with what had come.
    """
    attempt = 0
    shown = replace(request, settings=replace(request.settings, headers={}))  # headers hold keys
    while True:
        message = course.kept.put(head())
        _log_request(course, message, model, request)
        course.tell(RequestSent(course.id, message, shown, model.window.limit_tokens))
        course.last_call = course.now()
        try:
            return await _stream_attempt(course, message, model, request)
        except ModelError as error:
            course.kept.put(replace(message, parts=(), error=str(error), completed=course.now()))
            attempt += 1
            if not error.retry or attempt > course.rules.retries:
                course.tell(ModelCallFailed(course.id, error.code, str(error)))
                raise
            seconds = _retry_delay(attempt, error.after, course.rules.delay, course.rules.most_delay)
            course.tell(RetryScheduled(course.id, attempt, seconds, str(error), error.code))
            course.setup.telling.event("session.retry", course.id, attempt=attempt, error=str(error))
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            closed = replace(message, parts=(), error=CANCELLED, aborted=True, completed=course.now())
            course.kept.put(closed)
            raise


def _retry_delay(attempt: int, after: float | None, first: float, most: float) -> float:
    """Seconds before attempt `attempt` + 1: what the server said, else doubled each time; at most `most`."""
    return min(most, after if after is not None else first * 2 ** (attempt - 1))


async def _stream_attempt(
    course: RunContext, message: StoredMessage, model: Model, request: CompletionRequest
) -> tuple[StoredMessage, Completion]:
    coming = _IncomingParts(course, message)
    end: Completion | None = None
    try:
        async with aclosing(model.stream(request)) as pieces:
            async for piece in pieces:
                match piece:
                    case TextDelta(text=text):
                        coming.add(StoredText, text)
                        course.tell(TextChunk(course.id, message.id, text))
                    case ReasoningDelta(text=text):
                        coming.add(StoredReasoning, text)
                        course.tell(ReasoningChunk(course.id, message.id, text))
                    case Completion():
                        end = piece
    finally:
        coming.flush()
    if end is None:
        raise UnreadableAnswer(f"{model.name} ended an answer without saying so")
    said = await _hooked_parts(course, message, coming.settled(end.answer))
    calls = [_call(course, call) for call in end.answer.calls]
    usage = _stored_usage(end)
    cost = (end.spent.cost or 0.0) if end.spent is not None else 0.0
    finish = "tool-calls" if calls else end.reason
    closing = {} if calls else {"finish": finish, "completed": course.now()}
    stored = course.kept.put(replace(message, usage=usage, cost=cost, parts=(*said, *calls), **closing))
    course.tell(ResponseReceived(course.id, stored, end.reason, end.model, end.id))
    for call in calls:
        course.tell(ToolCallUpdated(course.id, message.id, call))
    return stored, end


async def _hooked_parts(course: RunContext, message: StoredMessage, parts: list[StoredPart]) -> list[StoredPart]:
    """The parts after the hook `text_complete`; words that it changed are kept, without the marks of the old ones."""
    found: list[StoredPart] = []
    for part in parts:
        if isinstance(part, StoredText):
            done = TextDone(course.id, message.id, part.id)
            left = await course.setup.hooks.run("text_complete", done, TextOutput(part.text))
            found.append(part if left.text == part.text else replace(part, text=left.text, meta={}))
        else:
            found.append(part)
    return found


def _stored_usage(end: Completion) -> Reported | None:
    """The usage of an answer as it is stored; `None` where the server told nothing."""
    spent = end.spent
    if spent is None:
        return None
    return Reported(None, spent.fresh, spent.output, spent.reasoning, spent.read, spent.written)


def _call(course: RunContext, call: models.ToolCall) -> StoredCall:
    """A call as it is stored first. One whose arguments are no object is stored with that, to be answered so."""
    metadata: dict[str, Any] = {"seal": call.seal} if call.seal else {}
    try:
        arguments = call.parse_arguments()
    except ToolError as error:
        arguments, metadata = {}, {_UNREADABLE: str(error)}
    call_id = course.kept.fresh_call_id(call.id)
    return StoredCall(course.new_id("prt"), call.name, call_id, "pending", arguments, metadata=metadata)


def unreadable_arguments(call: StoredCall) -> str:
    """What is wrong with a call's arguments, where they were no object; empty otherwise."""
    return str(call.metadata.get(_UNREADABLE, ""))


def _log_request(course: RunContext, message: StoredMessage, model: Model, request: CompletionRequest) -> None:
    """Keep the request. Where that fails, the call is made all the same, and it is said."""
    if course.setup.sent is not None and course.rules.record:
        try:
            course.setup.sent.add(course.id, message.id, model.name, course.now(), request)
        except StoreError as error:
            course.setup.telling.event("session.error", course.id, error=f"a request was not kept: {error}")


class _IncomingParts:
    """The texts and thoughts of a response while they come: each run of one kind is a part, stored as it grows."""

    def __init__(self, course: RunContext, message: StoredMessage) -> None:
        self._course = course
        self._message = message
        self._runs: list[tuple[type[StoredText] | type[StoredReasoning], str, list[str]]] = []
        self._unsaved = 0

    def add(self, kind: type[StoredText] | type[StoredReasoning], text: str) -> None:
        if not text:
            return
        if not self._runs or self._runs[-1][0] is not kind:
            self.flush()
            self._runs.append((kind, self._course.new_id("prt"), []))
        self._runs[-1][2].append(text)
        self._unsaved += len(text)
        if self._unsaved >= _FLUSH_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Store the run that grows, as far as it has come."""
        if self._unsaved:
            kind, id, texts = self._runs[-1]
            self._runs[-1] = (kind, id, ["".join(texts)])
            self._course.kept.put_parts(self._message.id, [kind(id, self._runs[-1][2][0])])
            self._unsaved = 0

    def settled(self, answer: models.AssistantMessage) -> list[StoredPart]:
        """The runs as the whole answer has them, with their seals. A run that the answer does not have stays stored,
        and is not sent."""
        wanted = _runs_of(answer)
        found: list[StoredPart] = []
        if [kind for kind, _ in wanted] == [kind for kind, _, _ in self._runs]:
            ids = [id for _, id, _ in self._runs]
        else:
            ids = [self._course.new_id("prt") for _ in wanted]
            for kind, id, texts in self._runs:
                found.append(
                    StoredText(id, "".join(texts), ignored=True) if kind is StoredText else StoredReasoning(id, "")
                )
        for (kind, parts), id in zip(wanted, ids, strict=True):
            text = "".join(part.text for part in parts)
            found.append(kind(id, text, meta=seal_metadata(parts)))
        return found


def _runs_of(
    answer: models.AssistantMessage,
) -> list[tuple[type[StoredText] | type[StoredReasoning], list[models.TextContent | models.Reasoning]]]:
    runs: list[tuple[type[StoredText] | type[StoredReasoning], list[models.TextContent | models.Reasoning]]] = []
    for part in answer.parts:
        if isinstance(part, models.ToolCall) or not (part.text or part.seal):
            continue
        kind: type[StoredText] | type[StoredReasoning] = (
            StoredText if isinstance(part, models.TextContent) else StoredReasoning
        )
        if not runs or runs[-1][0] is not kind:
            runs.append((kind, []))
        runs[-1][1].append(part)
    return runs


__all__ = ["CANCELLED", "_retry_delay", "_stored_usage", "stream_response", "unreadable_arguments"]
