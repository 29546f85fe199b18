"""One response of the model: asked for, streamed into the store, and asked for again where that may help."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from msgspec.structs import replace

from hudkit import models
from hudkit.agent.course import Course
from hudkit.agent.hooks import Text as TextOutput
from hudkit.agent.hooks import TextDone
from hudkit.agent.outgoing import seals_of
from hudkit.agent.records import Call, Message, Part, Reasoning, Reported, Text
from hudkit.agent.told import CallTold, Failed, ReasoningPiece, Received, Requested, Retrying, TextPiece
from hudkit.errors import StoreError, ToolError
from hudkit.models import Finished, Model, ModelError, ReasoningDelta, Request, TextDelta, Unreadable

FLUSH = 2_000
"""Characters of a text that is still coming, after which it is stored anew."""

CANCELLED = "cancelled"
"""The error of a response that was cancelled."""

_UNREAD = "unread"


async def respond(
    course: Course, request: Request, model: Model, head: Callable[[], Message]
) -> tuple[Message, Finished]:
    """The model's response, stored and still open where it has calls; `head` makes the empty message of each attempt.

    Raises the `ModelError` of the last attempt; each attempt that failed is stored with its error. A cancellation
    leaves the response closed, with what had come.
    """
    attempt = 0
    shown = replace(request, settings=replace(request.settings, headers={}))  # headers hold keys
    while True:
        message = course.kept.put(head())
        _record(course, message, model, request)
        course.tell(Requested(course.id, message, shown, model.window.limit_tokens))
        course.last_call = course.now()
        try:
            return await _answered(course, message, model, request)
        except ModelError as error:
            course.kept.put(replace(message, parts=(), error=str(error), completed=course.now()))
            attempt += 1
            if not error.retry or attempt > course.rules.retries:
                course.tell(Failed(course.id, error.code, str(error)))
                raise
            seconds = delay(attempt, error.after, course.rules.delay, course.rules.most_delay)
            course.tell(Retrying(course.id, attempt, seconds, str(error), error.code))
            course.setup.telling.event("session.retry", course.id, attempt=attempt, error=str(error))
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            closed = replace(message, parts=(), error=CANCELLED, aborted=True, completed=course.now())
            course.kept.put(closed)
            raise


def delay(attempt: int, after: float | None, first: float, most: float) -> float:
    """Seconds before attempt `attempt` + 1: what the server said, else doubled each time; at most `most`."""
    return min(most, after if after is not None else first * 2 ** (attempt - 1))


async def _answered(course: Course, message: Message, model: Model, request: Request) -> tuple[Message, Finished]:
    coming = _Coming(course, message)
    end: Finished | None = None
    try:
        async with aclosing(model.stream(request)) as pieces:
            async for piece in pieces:
                match piece:
                    case TextDelta(text=text):
                        coming.add(Text, text)
                        course.tell(TextPiece(course.id, message.id, text))
                    case ReasoningDelta(text=text):
                        coming.add(Reasoning, text)
                        course.tell(ReasoningPiece(course.id, message.id, text))
                    case Finished():
                        end = piece
    finally:
        coming.flush()
    if end is None:
        raise Unreadable(f"{model.name} ended an answer without saying so")
    said = await _completed(course, message, coming.settled(end.answer))
    calls = [_call(course, call) for call in end.answer.calls]
    usage = reported(end)
    cost = (end.spent.cost or 0.0) if end.spent is not None else 0.0
    finish = "tool-calls" if calls else end.reason
    closing = {} if calls else {"finish": finish, "completed": course.now()}
    stored = course.kept.put(replace(message, usage=usage, cost=cost, parts=(*said, *calls), **closing))
    course.tell(Received(course.id, stored, end.reason, end.model, end.id))
    for call in calls:
        course.tell(CallTold(course.id, message.id, call))
    return stored, end


async def _completed(course: Course, message: Message, parts: list[Part]) -> list[Part]:
    """The parts after the hook `text_complete`; words that it changed are kept, without the marks of the old ones."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Text):
            done = TextDone(course.id, message.id, part.id)
            left = await course.setup.hooks.run("text_complete", done, TextOutput(part.text))
            found.append(part if left.text == part.text else replace(part, text=left.text, meta={}))
        else:
            found.append(part)
    return found


def reported(end: Finished) -> Reported | None:
    """The usage of an answer as it is stored; `None` where the server told nothing."""
    spent = end.spent
    if spent is None:
        return None
    return Reported(None, spent.fresh, spent.output, spent.reasoning, spent.read, spent.written)


def _call(course: Course, call: models.ToolCall) -> Call:
    """A call as it is stored first. One whose arguments are no object is stored with that, to be answered so."""
    metadata: dict[str, Any] = {"seal": call.seal} if call.seal else {}
    try:
        arguments = call.given()
    except ToolError as error:
        arguments, metadata = {}, {_UNREAD: str(error)}
    call_id = course.kept.fresh_call_id(call.id)
    return Call(course.new_id("prt"), call.name, call_id, "pending", arguments, metadata=metadata)


def unread(call: Call) -> str:
    """What is wrong with a call's arguments, where they were no object; empty otherwise."""
    return str(call.metadata.get(_UNREAD, ""))


def _record(course: Course, message: Message, model: Model, request: Request) -> None:
    """Keep the request. Where that fails, the call is made all the same, and it is said."""
    if course.setup.sent is not None and course.rules.record:
        try:
            course.setup.sent.add(course.id, message.id, model.name, course.now(), request)
        except StoreError as error:
            course.setup.telling.event("session.error", course.id, error=f"a request was not kept: {error}")


class _Coming:
    """The texts and thoughts of a response while they come: each run of one kind is a part, stored as it grows."""

    def __init__(self, course: Course, message: Message) -> None:
        self._course = course
        self._message = message
        self._runs: list[tuple[type[Text] | type[Reasoning], str, list[str]]] = []
        self._unsaved = 0

    def add(self, kind: type[Text] | type[Reasoning], text: str) -> None:
        if not text:
            return
        if not self._runs or self._runs[-1][0] is not kind:
            self.flush()
            self._runs.append((kind, self._course.new_id("prt"), []))
        self._runs[-1][2].append(text)
        self._unsaved += len(text)
        if self._unsaved >= FLUSH:
            self.flush()

    def flush(self) -> None:
        """Store the run that grows, as far as it has come."""
        if self._unsaved:
            kind, id, texts = self._runs[-1]
            self._runs[-1] = (kind, id, ["".join(texts)])
            self._course.kept.put_parts(self._message.id, [kind(id, self._runs[-1][2][0])])
            self._unsaved = 0

    def settled(self, answer: models.Assistant) -> list[Part]:
        """The runs as the whole answer has them, with their seals. A run that the answer does not have stays stored,
        and is not sent."""
        wanted = _runs_of(answer)
        found: list[Part] = []
        if [kind for kind, _ in wanted] == [kind for kind, _, _ in self._runs]:
            ids = [id for _, id, _ in self._runs]
        else:
            ids = [self._course.new_id("prt") for _ in wanted]
            for kind, id, texts in self._runs:
                found.append(Text(id, "".join(texts), ignored=True) if kind is Text else Reasoning(id, ""))
        for (kind, parts), id in zip(wanted, ids, strict=True):
            text = "".join(part.text for part in parts)
            found.append(kind(id, text, meta=seals_of(parts)))
        return found


def _runs_of(
    answer: models.Assistant,
) -> list[tuple[type[Text] | type[Reasoning], list[models.Text | models.Reasoning]]]:
    runs: list[tuple[type[Text] | type[Reasoning], list[models.Text | models.Reasoning]]] = []
    for part in answer.parts:
        if isinstance(part, models.ToolCall) or not (part.text or part.seal):
            continue
        kind: type[Text] | type[Reasoning] = Text if isinstance(part, models.Text) else Reasoning
        if not runs or runs[-1][0] is not kind:
            runs.append((kind, []))
        runs[-1][1].append(part)
    return runs


__all__ = ["CANCELLED", "delay", "reported", "respond", "unread"]
