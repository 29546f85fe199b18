"""What a session tells, as the happenings that telemetry takes, with the session's own times."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hudkit import models
from hudkit.agent import events
from hudkit.agent.records import StoredCall, StoredReasoning, StoredText
from hudkit.agent.telemetry import Telemetry
from hudkit.agent.telemetry import happenings as happened
from hudkit.errors import ToolError
from hudkit.transcripts.transcript import Reported

_GOOD_REASONS = frozenset({"done", "steps", "length", "stopped"})
"""Reasons with which a turn ends without an error."""


class TelemetrySink:
    """The session and its sub-sessions, told to telemetry as they go."""

    def __init__(self, telemetry: Telemetry, clock: Callable[[], int]) -> None:
        self._telemetry = telemetry
        self._clock = clock
        self._working: set[str] = set()
        self._code = ""
        """Of the last model call that came to nothing."""

    def add(self, told: events.AgentEvent | None) -> None:
        try:
            for one in self._cut_off() if told is None else self._read(told):
                self._telemetry.tell(one)
        except Exception:
            self._telemetry.failed()

    def _cut_off(self) -> Iterable[happened.Happening]:
        """The session is closed: turns that nobody ended."""
        for id in sorted(self._working):
            yield happened.AgentEnded(id, self._clock(), "interrupted", "interrupted")
        self._working.clear()

    def _read(self, one: events.AgentEvent) -> Iterable[happened.Happening]:
        id, now = one.session_id, self._clock()
        match one:
            case events.TextChunk() | events.ReasoningChunk():
                yield happened.FirstPiece(id, now)
            case events.TurnStarted():
                self._working.add(id)
                parent = (one.parent_id, one.call_id) if one.parent_id else None
                yield happened.AgentBegan(id, now, one.agent, one.model, parent)
            case events.TurnEnded():
                self._working.discard(id)
                error = "" if one.reason in _GOOD_REASONS else self._code if one.reason == "error" else one.reason
                yield happened.AgentEnded(id, now, one.reason, error, one.error, one.steps)
            case events.RequestSent():
                yield self._called(one, now)
            case events.RetryScheduled():
                yield happened.Retried(id, now, one.attempt, one.seconds, one.code)
            case events.ResponseReceived():
                yield self._answered(one, now)
            case events.ModelCallFailed():
                self._code = one.code
                yield happened.ModelFailed(id, now, one.code, one.error)
            case events.ToolCallUpdated():
                yield from _tool(one)
            case events.MetricsReported():
                yield happened.Figured(id, now, one.figures)
            case events.CompactionStarted():
                trigger = "overflow" if one.overflow else "auto" if one.auto else "asked"
                yield happened.CompactionBegan(id, now, trigger)
            case events.CompactionFinished():
                yield happened.CompactionEnded(id, now, not one.without_model)
            case events.OutputsPruned():
                yield happened.Pruned(id, now, len(one.calls))

    def _called(self, one: events.RequestSent, now: int) -> happened.ModelCalled:
        settings, message = one.request.settings, one.message
        return happened.ModelCalled(
            one.session_id,
            now,
            message.model,
            message.agent,
            one.limit,
            message.summary,
            settings.max_output,
            settings.temperature,
            settings.top_p,
            one.request.system if self._telemetry.content else (),
            tuple(map(_said, one.request.messages)) if self._telemetry.content else (),
        )

    def _answered(self, one: events.ResponseReceived, now: int) -> happened.ModelAnswered:
        message = one.message
        return happened.ModelAnswered(
            one.session_id,
            message.completed or now,
            one.reason,
            _usage(message.usage),
            message.cost or None,
            one.model,
            one.response_id,
            happened.Said("assistant", tuple(_stored(message.parts))) if self._telemetry.content else None,
        )


def _tool(one: events.ToolCallUpdated) -> Iterable[happened.Happening]:
    call = one.call
    match call.status:
        case "running":
            yield happened.ToolBegan(one.session_id, call.started, call.tool, call.call_id, call.arguments)
        case "completed":
            yield happened.ToolEnded(one.session_id, call.ended, call.tool, call.call_id, "", call.output)
        case "error":
            error = one.failure or "tool"
            yield happened.ToolEnded(
                one.session_id, call.ended, call.tool, call.call_id, error, call.error, call.arguments
            )


def _usage(usage: Reported | None) -> happened.Usage | None:
    if usage is None:
        return None
    return happened.Usage(usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning)


def _said(message: models.Message) -> happened.Said:
    """A message of a request."""
    match message:
        case models.UserMessage():
            return happened.Said("user", tuple(_piece(part) for part in message.parts))
        case models.AssistantMessage():
            return happened.Said("assistant", tuple(_piece(part) for part in message.parts))
        case models.ToolResult():
            return happened.Said("tool", (happened.Piece("result", message.text, message.call_id, message.name),))


def _piece(part: models.TextContent | models.Reasoning | models.ToolCall | models.Media) -> happened.Piece:
    match part:
        case models.TextContent():
            return happened.Piece("text", part.text)
        case models.Reasoning():
            return happened.Piece("reasoning", part.text)
        case models.ToolCall():
            return happened.Piece("call", "", part.id, part.name, _given(part))
        case models.Media():
            return happened.Piece("media", name=part.name, media_type=part.media_type)


def _given(call: models.ToolCall) -> object:
    try:
        return call.parse_arguments()
    except ToolError:  # what the model wrote is no object
        return call.arguments


def _stored(parts: Iterable[object]) -> Iterable[happened.Piece]:
    """The parts of an answer as it was stored."""
    for part in parts:
        match part:
            case StoredText(ignored=False):
                yield happened.Piece("text", part.text)
            case StoredReasoning(text=text) if text:
                yield happened.Piece("reasoning", text)
            case StoredCall():
                yield happened.Piece("call", "", part.call_id, part.tool, part.arguments)
