"""What happens in a session, told to telemetry with the session's own times."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hudkit import models
from hudkit.agent import events
from hudkit.agent.records import StoredCall, StoredReasoning, StoredText
from hudkit.agent.telemetry import Telemetry
from hudkit.agent.telemetry import happenings as happened
from hudkit.errors import ToolError
from hudkit.transcripts.transcript import ReportedUsage

_GOOD_REASONS = frozenset({"done", "steps", "length", "stopped"})
"""Reasons with which a turn ends without an error."""


class TelemetrySink:
    """Turns the events of a session and its sub-sessions into what telemetry takes, as they come."""

    def __init__(self, telemetry: Telemetry, clock: Callable[[], int]) -> None:
        self._telemetry = telemetry
        self._clock = clock
        self._working: set[str] = set()
        self._code = ""
        """Of the last model call that came to nothing."""

    def add(self, event: events.AgentEvent | None) -> None:
        """Tell an event, or at `None` that the session is closed; return nothing.

        A fault in telemetry is counted, not raised.
        """
        try:
            # spans that nobody ends are never exported
            for happening in self._cut_off() if event is None else self._read(event):
                self._telemetry.tell(happening)
        # telemetry must not be able to hurt a session
        except Exception:
            self._telemetry.failed()

    def _cut_off(self) -> Iterable[happened.Happening]:
        """The session is closed: turns that nobody ended."""
        for id in sorted(self._working):
            yield happened.AgentEnded(id, self._clock(), "interrupted", "interrupted")
        self._working.clear()

    def _read(self, event: events.AgentEvent) -> Iterable[happened.Happening]:
        id, now = event.session_id, self._clock()
        match event:
            case events.TextChunk() | events.ReasoningChunk():
                yield happened.FirstPiece(id, now)
            case events.TurnStarted():
                self._working.add(id)
                parent = (event.parent_id, event.call_id) if event.parent_id else None
                yield happened.AgentBegan(id, now, event.agent, event.model, parent)
            case events.TurnEnded():
                self._working.discard(id)
                error = (
                    "" if event.reason in _GOOD_REASONS else self._code if event.reason == "error" else event.reason
                )
                yield happened.AgentEnded(id, now, event.reason, error, event.error, event.steps)
            case events.RequestSent():
                yield self._called(event, now)
            case events.RetryScheduled():
                yield happened.Retried(id, now, event.attempt, event.seconds, event.code)
            case events.ResponseReceived():
                yield self._answered(event, now)
            case events.ModelCallFailed():
                # kept for the end of the turn, which names only `error` as its reason
                self._code = event.code
                yield happened.ModelFailed(id, now, event.code, event.error)
            case events.ToolCallUpdated():
                yield from _tool(event)
            case events.MetricsReported():
                yield happened.Figured(id, now, event.figures)
            case events.CompactionStarted():
                trigger = "overflow" if event.overflow else "auto" if event.auto else "asked"
                yield happened.CompactionBegan(id, now, trigger)
            case events.CompactionFinished():
                yield happened.CompactionEnded(id, now, not event.without_model)
            case events.OutputsPruned():
                yield happened.Pruned(id, now, len(event.calls))

    def _called(self, event: events.RequestSent, now: int) -> happened.ModelCalled:
        settings, message = event.request.settings, event.message
        return happened.ModelCalled(
            event.session_id,
            now,
            message.model,
            message.agent,
            event.limit,
            message.summary,
            settings.max_output,
            settings.temperature,
            settings.top_p,
            # content only where the user has asked for it
            event.request.system if self._telemetry.content else (),
            tuple(map(_said, event.request.messages)) if self._telemetry.content else (),
        )

    def _answered(self, event: events.ResponseReceived, now: int) -> happened.ModelAnswered:
        message = event.message
        return happened.ModelAnswered(
            event.session_id,
            message.completed or now,
            event.reason,
            _usage(message.usage),
            message.cost or None,
            event.model,
            event.response_id,
            happened.Said("assistant", tuple(_stored(message.parts))) if self._telemetry.content else None,
        )


def _tool(event: events.ToolCallUpdated) -> Iterable[happened.Happening]:
    call = event.call
    match call.status:
        case "running":
            yield happened.ToolBegan(event.session_id, call.started, call.tool, call.call_id, call.arguments)
        case "completed":
            yield happened.ToolEnded(event.session_id, call.ended, call.tool, call.call_id, "", call.output)
        case "error":
            error = event.failure or "tool"
            yield happened.ToolEnded(
                event.session_id, call.ended, call.tool, call.call_id, error, call.error, call.arguments
            )


def _usage(usage: ReportedUsage | None) -> happened.Usage | None:
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
