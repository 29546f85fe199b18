"""What telemetry is told of an agent: observations in no host's words, and what makes them of our loop's events.

Spans and metrics are made of observations alone (`spans`). Times are Unix milliseconds. Texts are only read where
content is asked for; a host may leave them out otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from hudkit import models
from hudkit.agent import events
from hudkit.agent.records import StoredCall, StoredReasoning, StoredText
from hudkit.errors import ToolError
from hudkit.transcripts.transcript import ReportedUsage

if TYPE_CHECKING:
    from hudkit.agent.telemetry import Telemetry

AttributeValue = bool | int | float | str | tuple[str, ...]
"""A value that an attribute can have."""


class ObservedPart(msgspec.Struct, frozen=True):
    """A part of a message. `text` is words, reasoning, or a tool's result; `name` a tool's, or a file's."""

    kind: Literal["text", "reasoning", "call", "result", "media"]
    text: str = ""
    id: str = ""
    name: str = ""
    arguments: object = None
    media_type: str = ""


class ObservedMessage(msgspec.Struct, frozen=True):
    """A message of a request, or the answer."""

    role: Literal["user", "assistant", "tool"]
    parts: tuple[ObservedPart, ...]


class ObservedUsage(msgspec.Struct, frozen=True):
    """The tokens of one call, each counted once: `fresh`, `read` from and `written` to the cache make the request;
    `reasoning` is a part of `output`."""

    fresh: int
    read: int
    written: int
    output: int
    reasoning: int = 0

    @property
    def input(self) -> int:
        """Return the tokens of the request."""
        return self.fresh + self.read + self.written


class Observation(msgspec.Struct, frozen=True):
    """Something that happened in a session at a time."""

    session_id: str
    timestamp: int


class AgentBegan(Observation, frozen=True):
    """An agent took up work. `parent` is the session and the call id that it works for, where it is a sub-agent."""

    agent: str
    model: str = ""
    parent: tuple[str, str] | None = None


class AgentEnded(Observation, frozen=True):
    """An agent's work is over. `error` is the type of what went wrong (empty: nothing), `words` are for people."""

    reason: str
    error: str = ""
    words: str = ""
    steps: int = 0


class ModelCalled(Observation, frozen=True):
    """A request went out, or went out again after a `ModelRetry`. `limit` is the window in tokens (0: not known);
    `summary`: it is a compaction's."""

    model: str
    agent: str
    limit: int = 0
    summary: bool = False
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    system: tuple[str, ...] = ()
    messages: tuple[ObservedMessage, ...] = ()


class FirstChunk(Observation, frozen=True):
    """The answer began to come."""


class ModelRetry(Observation, frozen=True):
    """The request came to nothing, and goes out again after `seconds`."""

    attempt: int
    seconds: float
    error: str


class ModelAnswered(Observation, frozen=True):
    """The answer is there. `cost` is in US dollars (`None`: not known); `model` and `id` are the server's words."""

    reason: str
    usage: ObservedUsage | None = None
    cost: float | None = None
    model: str = ""
    id: str = ""
    answer: ObservedMessage | None = None


class ModelFailed(Observation, frozen=True):
    """There will be no answer."""

    error: str
    words: str = ""


class ToolBegan(Observation, frozen=True):
    """A call is about to run."""

    tool: str
    call_id: str
    arguments: Mapping[str, Any] = {}


class ToolEnded(Observation, frozen=True):
    """A call has its result; one that never ran has no `ToolBegan`."""

    tool: str
    call_id: str
    error: str = ""
    text: str = ""
    arguments: Mapping[str, Any] = {}


class CallFigures(Observation, frozen=True):
    """Figures of the model call that comes next, by the names of their attributes."""

    figures: Mapping[str, AttributeValue]


class CompactionBegan(Observation, frozen=True):
    """`trigger`: `auto` (the window was full), `overflow` (the provider said so), `asked`."""

    trigger: str


class CompactionEnded(Observation, frozen=True):
    """The summary is there; `by_model` is false where it was made of the records alone."""

    by_model: bool


class OutputsLeft(Observation, frozen=True):
    """The outputs of this many calls left the window."""

    calls: int


# -- our loop's events as observations -------------------------------------------------------------------------

_GOOD_REASONS = frozenset({"done", "steps", "length", "stopped"})
"""Reasons with which a turn ends without an error."""


class TelemetrySink:
    """Turns the events of a session and its sub-sessions into what telemetry takes, as they come."""

    def __init__(self, telemetry: Telemetry, clock: Callable[[], int]) -> None:
        self._telemetry = telemetry
        self._clock = clock
        self._working: set[str] = set()
        self._error_code = ""
        """Of the last model call that came to nothing."""

    def add(self, event: events.AgentEvent | None) -> None:
        """Tell an event, or at `None` that the session is closed; return nothing.

        A fault in telemetry is counted, not raised.
        """
        try:
            # spans that nobody ends are never exported
            for observation in self._interrupted() if event is None else self._observe(event):
                self._telemetry.tell(observation)
        # telemetry must not be able to hurt a session
        except Exception:
            self._telemetry.failed()

    def _interrupted(self) -> Iterable[Observation]:
        """Yield the end of the turns that nobody ended: the session is closed."""
        for id in sorted(self._working):
            yield AgentEnded(id, self._clock(), "interrupted", "interrupted")
        self._working.clear()

    def _observe(self, event: events.AgentEvent) -> Iterable[Observation]:
        id, now = event.session_id, self._clock()
        match event:
            case events.TextChunk() | events.ReasoningChunk():
                yield FirstChunk(id, now)
            case events.TurnStarted():
                self._working.add(id)
                parent = (event.parent_id, event.call_id) if event.parent_id else None
                yield AgentBegan(id, now, event.agent, event.model, parent)
            case events.TurnEnded():
                self._working.discard(id)
                error = self._error_type(event.reason)
                yield AgentEnded(id, now, event.reason, error, event.error, event.steps)
            case events.RequestSent():
                yield self._model_called(event, now)
            case events.RetryScheduled():
                yield ModelRetry(id, now, event.attempt, event.seconds, event.code)
            case events.ResponseReceived():
                yield self._model_answered(event, now)
            case events.ModelCallFailed():
                # kept for the end of the turn, which names only `error` as its reason
                self._error_code = event.code
                yield ModelFailed(id, now, event.code, event.error)
            case events.ToolCallUpdated():
                yield from _tool_call(event)
            case events.MetricsReported():
                yield CallFigures(id, now, event.figures)
            case events.CompactionStarted():
                trigger = "overflow" if event.overflow else "auto" if event.auto else "asked"
                yield CompactionBegan(id, now, trigger)
            case events.CompactionFinished():
                yield CompactionEnded(id, now, not event.without_model)
            case events.OutputsPruned() | events.MessagesTrimmed() if event.calls:
                yield OutputsLeft(id, now, len(event.calls))

    def _error_type(self, reason: str) -> str:
        """Return the type of error with which a turn ended for a reason; empty where there was none."""
        if reason in _GOOD_REASONS:
            return ""
        return self._error_code if reason == "error" else reason

    def _model_called(self, event: events.RequestSent, now: int) -> ModelCalled:
        settings, message = event.request.settings, event.message
        return ModelCalled(
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
            tuple(map(_observed_message, event.request.messages)) if self._telemetry.content else (),
        )

    def _model_answered(self, event: events.ResponseReceived, now: int) -> ModelAnswered:
        message = event.message
        return ModelAnswered(
            event.session_id,
            message.completed or now,
            event.reason,
            _observed_usage(message.usage),
            message.cost or None,
            event.model,
            event.response_id,
            ObservedMessage("assistant", tuple(_stored_parts(message.parts))) if self._telemetry.content else None,
        )


def _tool_call(event: events.ToolCallUpdated) -> Iterable[Observation]:
    call = event.call
    match call.status:
        case "running":
            yield ToolBegan(event.session_id, call.started, call.tool, call.call_id, call.arguments)
        case "completed":
            yield ToolEnded(event.session_id, call.ended, call.tool, call.call_id, "", call.output)
        case "error":
            error = event.failure or "tool"
            yield ToolEnded(event.session_id, call.ended, call.tool, call.call_id, error, call.error, call.arguments)


def _observed_usage(usage: ReportedUsage | None) -> ObservedUsage | None:
    if usage is None:
        return None
    return ObservedUsage(usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning)


def _observed_message(message: models.Message) -> ObservedMessage:
    """Return a message of a request as telemetry takes it."""
    match message:
        case models.UserMessage():
            return ObservedMessage("user", tuple(_observed_part(part) for part in message.parts))
        case models.AssistantMessage():
            return ObservedMessage("assistant", tuple(_observed_part(part) for part in message.parts))
        case models.ToolResult():
            return ObservedMessage("tool", (ObservedPart("result", message.text, message.call_id, message.name),))


def _observed_part(part: models.TextContent | models.Reasoning | models.ToolCall | models.Media) -> ObservedPart:
    match part:
        case models.TextContent():
            return ObservedPart("text", part.text)
        case models.Reasoning():
            return ObservedPart("reasoning", part.text)
        case models.ToolCall():
            return ObservedPart("call", "", part.id, part.name, _arguments(part))
        case models.Media():
            return ObservedPart("media", name=part.name, media_type=part.media_type)


def _arguments(call: models.ToolCall) -> object:
    try:
        return call.parse_arguments()
    except ToolError:  # what the model wrote is no object
        return call.arguments


def _stored_parts(parts: Iterable[object]) -> Iterable[ObservedPart]:
    """Yield the parts of an answer as it was stored."""
    for part in parts:
        match part:
            case StoredText(ignored=False):
                yield ObservedPart("text", part.text)
            case StoredReasoning(text=text) if text:
                yield ObservedPart("reasoning", text)
            case StoredCall():
                yield ObservedPart("call", "", part.call_id, part.tool, part.arguments)
