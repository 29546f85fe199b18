"""One response of the model: requested, streamed into the store, and requested again where that may help."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
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
from hudkit.agent.hooks import FinishedPart, PartText
from hudkit.agent.records import ReportedUsage, StoredCall, StoredMessage, StoredPart, StoredReasoning, StoredText
from hudkit.agent.run_context import RunContext
from hudkit.errors import StoreError, ToolError
from hudkit.models import (
    Completion,
    CompletionRequest,
    Model,
    ModelError,
    Reasoning,
    ReasoningDelta,
    TextContent,
    TextDelta,
    UnreadableAnswer,
)

_FLUSH_CHARACTERS = 2_000
"""Characters of a text that is still coming, after which it is stored anew: what a kill can lose of a response."""

CANCELLED = "cancelled"
"""The error of a response that was cancelled."""

_UNREADABLE = "unread"
"""The key in a stored call's metadata that holds what is wrong with its arguments; sessions on disk have it."""


async def stream_response(
    run: RunContext, request: CompletionRequest, model: Model, head: Callable[[], StoredMessage]
) -> tuple[StoredMessage, Completion]:
    """Request a response and return it with how it ended; it is stored, and still open where it has calls.

    `head` makes the empty message of each attempt. Raises the `ModelError` of the last attempt; each attempt that
    failed is stored with its error. A cancellation leaves the response closed, with what had come.
    """
    attempt = 0
    shown = replace(request, settings=replace(request.settings, headers={}))  # headers hold keys
    while True:
        message = run.history.put(head())
        # before it is sent: a request that a crash follows is the one to look at
        _log_request(run, message, model, request)
        run.emit(RequestSent(run.id, message, shown, model.window.limit_tokens))
        run.last_call_at = run.now()
        try:
            return await _stream_attempt(run, message, model, request)
        except ModelError as error:
            run.history.put(replace(message, parts=(), error=str(error), completed=run.now()))
            attempt += 1
            if not error.retry or attempt > run.settings.retries:
                run.emit(ModelCallFailed(run.id, error.code, str(error)))
                raise
            seconds = _retry_delay(attempt, error.after, run.settings.delay, run.settings.most_delay)
            run.emit(RetryScheduled(run.id, attempt, seconds, str(error), error.code))
            run.setup.events.notify_plugins("session.retry", run.id, attempt=attempt, error=str(error))
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            closed = replace(message, parts=(), error=CANCELLED, aborted=True, completed=run.now())
            run.history.put(closed)
            raise


def _retry_delay(attempt: int, after: float | None, first: float, most: float) -> float:
    """Return the seconds before the next attempt: what the server said, else doubled each time; at most `most`."""
    return min(most, after if after is not None else first * 2 ** (attempt - 1))


async def _stream_attempt(
    run: RunContext, message: StoredMessage, model: Model, request: CompletionRequest
) -> tuple[StoredMessage, Completion]:
    """Make one attempt; return the stored response and how the model ended it. Raises `ModelError`."""
    coming = _IncomingParts(run, message)
    end: Completion | None = None
    try:
        async with aclosing(model.stream(request)) as pieces:
            async for piece in pieces:
                match piece:
                    case TextDelta(text=text):
                        coming.add(StoredText, text)
                        run.emit(TextChunk(run.id, message.id, text))
                    case ReasoningDelta(text=text):
                        coming.add(StoredReasoning, text)
                        run.emit(ReasoningChunk(run.id, message.id, text))
                    case Completion():
                        end = piece
    finally:
        coming.flush()
    if end is None:
        raise UnreadableAnswer(f"{model.name} ended an answer without saying so")
    parts = await _hooked_parts(run, message, coming.finish(end.answer))
    calls = [_stored_call(run, call) for call in end.answer.calls]
    usage = _stored_usage(end)
    # a provider that tells no price costs nothing here, rather than a guess
    cost = (end.spent.cost or 0.0) if end.spent is not None else 0.0
    finish = "tool-calls" if calls else end.reason
    # a response with calls stays open until they have run: a kill in between leaves calls that have no result
    closing = {} if calls else {"finish": finish, "completed": run.now()}
    stored = run.history.put(replace(message, usage=usage, cost=cost, parts=(*parts, *calls), **closing))
    run.emit(ResponseReceived(run.id, stored, end.reason, end.model, end.id))
    for call in calls:
        report_call(run, stored, call)
    return stored, end


def report_call(run: RunContext, message: StoredMessage, call: StoredCall, failure: str = "") -> None:
    """Tell who listens, and the plugins, how a call is now; `failure` is the kind of its error. Returns nothing."""
    run.emit(ToolCallUpdated(run.id, message.id, call, failure))
    about = {"kind": "tool", "tool": call.tool, "call_id": call.call_id, "status": call.status}
    run.setup.events.notify_plugins("message.part.updated", run.id, message_id=message.id, id=call.id, **about)


async def _hooked_parts(run: RunContext, message: StoredMessage, parts: list[StoredPart]) -> list[StoredPart]:
    """Return the parts as the hook `text_complete` left them.

    Words that it changed lose their seals: a provider takes its seal back only with the words that it was given for.
    """
    hooked: list[StoredPart] = []
    for part in parts:
        if isinstance(part, StoredText):
            done = FinishedPart(run.id, message.id, part.id)
            left = await run.setup.hooks.run("text_complete", done, PartText(part.text))
            hooked.append(part if left.text == part.text else replace(part, text=left.text, meta={}))
        else:
            hooked.append(part)
    return hooked


def _stored_usage(end: Completion) -> ReportedUsage | None:
    """Return the usage of an answer as it is stored; `None` where the server told nothing."""
    spent = end.spent
    if spent is None:
        return None
    return ReportedUsage(None, spent.fresh, spent.output, spent.reasoning, spent.read, spent.written)


def _stored_call(run: RunContext, call: models.ToolCall) -> StoredCall:
    """Return a call as it is stored first.

    One whose arguments are not an object is stored with what is wrong, and answered with it when it would run.
    """
    metadata: dict[str, Any] = {"seal": call.seal} if call.seal else {}
    try:
        arguments = call.parse_arguments()
    except ToolError as error:
        arguments, metadata = {}, {_UNREADABLE: str(error)}
    call_id = run.history.new_call_id(call.id)
    return StoredCall(run.new_id("prt"), call.name, call_id, "pending", arguments, metadata=metadata)


def unreadable_arguments(call: StoredCall) -> str:
    """Return what is wrong with a call's arguments where they were not an object; empty otherwise."""
    return str(call.metadata.get(_UNREADABLE, ""))


def _log_request(run: RunContext, message: StoredMessage, model: Model, request: CompletionRequest) -> None:
    """Keep the request in the log. Where that fails, plugins are told, and the call is made all the same."""
    if run.setup.request_log is not None and run.settings.record:
        try:
            run.setup.request_log.add(run.id, message.id, model.name, run.now(), request)
        except StoreError as error:
            run.setup.events.notify_plugins("session.error", run.id, error=f"a request was not kept: {error}")


class _IncomingParts:
    """The texts and thoughts of a response while they come. Each run of one kind is a part, stored as it grows."""

    def __init__(self, run: RunContext, message: StoredMessage) -> None:
        self._run = run
        self._message = message
        self._runs: list[tuple[type[StoredText] | type[StoredReasoning], str, list[str]]] = []
        self._unsaved = 0

    def add(self, kind: type[StoredText] | type[StoredReasoning], text: str) -> None:
        """Append a piece; another kind than the last one's begins a new part."""
        if not text:
            return
        # words and thoughts may alternate: each change begins a new part, so that their order is stored
        if not self._runs or self._runs[-1][0] is not kind:
            self.flush()
            self._runs.append((kind, self._run.new_id("prt"), []))
        self._runs[-1][2].append(text)
        self._unsaved += len(text)
        if self._unsaved >= _FLUSH_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Store the run that grows, as far as it has come."""
        if self._unsaved:
            kind, id, texts = self._runs[-1]
            self._runs[-1] = (kind, id, ["".join(texts)])
            text = self._runs[-1][2][0]
            self._run.history.put_parts(self._message.id, [kind(id, text)])
            self._unsaved = 0
            # as often as it is stored: the text so far, so that a plugin that misses one has lost nothing
            about = {"kind": "text" if kind is StoredText else "reasoning", "text": text}
            message_id = self._message.id
            self._run.setup.events.notify_plugins(
                "message.part.updated", self._run.id, message_id=message_id, id=id, **about
            )

    def finish(self, answer: models.AssistantMessage) -> list[StoredPart]:
        """Return the runs as the whole answer has them, with their seals.

        A run that the answer does not have stays stored and is not sent: it has been shown to the user already.
        """
        wanted = _runs_of(answer)
        parts: list[StoredPart] = []
        # as a rule what was streamed is what the answer has; some providers leave thoughts out at the end
        if [kind for kind, _ in wanted] == [kind for kind, _, _ in self._runs]:
            ids = [id for _, id, _ in self._runs]
        else:
            ids = [self._run.new_id("prt") for _ in wanted]
            for kind, id, texts in self._runs:
                parts.append(
                    StoredText(id, "".join(texts), ignored=True) if kind is StoredText else StoredReasoning(id, "")
                )
        for (kind, pieces), id in zip(wanted, ids, strict=True):
            text = "".join(part.text for part in pieces)
            parts.append(kind(id, text, meta=_seal_metadata(pieces)))
        return parts


def _runs_of(
    answer: models.AssistantMessage,
) -> list[tuple[type[StoredText] | type[StoredReasoning], list[models.TextContent | models.Reasoning]]]:
    runs: list[tuple[type[StoredText] | type[StoredReasoning], list[models.TextContent | models.Reasoning]]] = []
    for part in answer.parts:
        # an empty thought with a seal is kept: the provider wants it back
        if isinstance(part, models.ToolCall) or not (part.text or part.seal):
            continue
        kind: type[StoredText] | type[StoredReasoning] = (
            StoredText if isinstance(part, models.TextContent) else StoredReasoning
        )
        if not runs or runs[-1][0] is not kind:
            runs.append((kind, []))
        runs[-1][1].append(part)
    return runs


def _seal_metadata(parts: Sequence[TextContent | Reasoning]) -> dict[str, list[list[object]]]:
    """Return the `meta` of a stored text that is made of these pieces: the length of each, and its seal."""
    if not any(part.seal for part in parts):
        return {}
    return {"seals": [[len(part.text), part.seal] for part in parts]}
