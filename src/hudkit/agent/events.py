"""What happens in a session: one union of events, and the bus that tells them.

Listeners in the program (a terminal, telemetry) get each event as it happens. Plugins get a few of them, as plain
data, through the hook `event`, in order and from a task of their own, so that no plugin holds up the session.

A turn tells, in this order:

    PromptAccepted, TurnStarted,
      ModelCallStarted, RequestSent, TextChunk …, ResponseReceived, ToolCallUpdated …, ResponseFinished,   (each step)
    TurnEnded
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from hudkit.agent.hooks import Failure, HookEvent, Hooks, Json, NoOutput
from hudkit.agent.records import StoredCall, StoredMessage
from hudkit.models import CompletionRequest

MAX_WAITING = 10_000
"""Events that wait for one listener, or for the plugins; the oldest give way: a slow reader costs no memory."""


class AgentEvent(msgspec.Struct, frozen=True):
    """Something that happened in a session. The events of a sub-session have its own id."""

    session_id: str


class PromptAccepted(AgentEvent, frozen=True, tag="begun"):
    """A prompt was taken up and stored."""

    message: StoredMessage


class TurnStarted(AgentEvent, frozen=True, tag="working"):
    """A turn begins. That of a sub-session names the session and the call (`call_id`) that it works for."""

    agent: str
    model: str
    parent_id: str = ""
    call_id: str = ""


class ModelCallStarted(AgentEvent, frozen=True, tag="step"):
    """A model call begins. `number` counts those of the turn, from 1."""

    number: int
    message_id: str
    model: str


class RequestSent(AgentEvent, frozen=True, tag="requested"):
    """A request goes out, in a step or for a summary: one attempt, whose answer becomes `message`.

    The request is without its headers, which hold keys. `limit` is the model's window in tokens.
    """

    message: StoredMessage
    request: CompletionRequest
    limit: int


class TextChunk(AgentEvent, frozen=True, tag="text"):
    """The next piece of the model's words."""

    message_id: str
    text: str


class ReasoningChunk(AgentEvent, frozen=True, tag="reasoning"):
    """The next piece of the model's thoughts."""

    message_id: str
    text: str


class ResponseReceived(AgentEvent, frozen=True, tag="received"):
    """A model's answer is complete and stored; its calls have not run.

    `model` and `response_id` are the words of its server, empty where it gave none.
    """

    message: StoredMessage
    reason: str
    model: str = ""
    response_id: str = ""


class ModelCallFailed(AgentEvent, frozen=True, tag="failed"):
    """A request has failed for good: the code of the error and its words."""

    code: str
    error: str


class ToolCallUpdated(AgentEvent, frozen=True, tag="call"):
    """A tool call as it is now: pending, running, completed or error. `failure` is the kind of the error."""

    message_id: str
    call: StoredCall
    failure: str = ""


class ResponseFinished(AgentEvent, frozen=True, tag="answered"):
    """A response has ended, with its calls, its usage and its cost."""

    message: StoredMessage


class RetryScheduled(AgentEvent, frozen=True, tag="retrying"):
    """A model call failed (`code` says in which way) and is made again after `seconds`."""

    attempt: int
    seconds: float
    error: str
    code: str = ""


class CompactionStarted(AgentEvent, frozen=True, tag="compacting"):
    """A compaction begins. `auto`: the loop asked for it. `overflow`: a request was too long."""

    auto: bool
    overflow: bool


class CompactionFinished(AgentEvent, frozen=True, tag="compacted"):
    """A compaction has ended with the summary `message`.

    `without_model` says why no model wrote it; it is empty where one did.
    """

    message: StoredMessage
    without_model: str = ""


class MessagesTrimmed(AgentEvent, frozen=True, tag="trimmed"):
    """The oldest `messages` (a number) have left the window, and of those that stay the outputs of `calls` (ids)."""

    messages: int
    calls: tuple[str, ...] = ()


class OutputsPruned(AgentEvent, frozen=True, tag="pruned"):
    """The outputs of these calls (ids) have left the window."""

    calls: tuple[str, ...]


class MetricsReported(AgentEvent, frozen=True, tag="figured"):
    """Figures that a plugin gives of the model call that comes next, for telemetry."""

    figures: dict[str, bool | int | float | str | tuple[str, ...]]


class ModelSubstituted(AgentEvent, frozen=True, tag="substituted"):
    """Another model than the one that was asked for works: `model` instead of `wanted`, and why in one line."""

    wanted: str
    model: str
    reason: str


class PluginFailed(AgentEvent, frozen=True, tag="plugin-failed"):
    """A plugin's call went wrong; what it had changed was dropped."""

    failure: Failure


EndReason: TypeAlias = Literal[
    "done", "cancelled", "steps", "limit", "repeats", "window", "length", "refusal", "answer", "stopped", "error"
]
"""Why a turn is over.

`done`: the model had nothing more to do. `steps`, `length`: a limit of calls, or of the answer's length. `limit`: one
of cost or tokens. `repeats`: the same call came again and again. `window`: the request does not fit, even after a
compaction. `refusal`: the answer was held back. `answer`: it was not of the type that was asked for, after several
attempts. `stopped`: a plugin did not want the work to go on behind a
compaction. `error`: the model failed for good.
"""


class TurnEnded(AgentEvent, frozen=True, tag="ended"):
    """A turn is over.

    `text` is the last response's, `error` what went wrong in one line, `steps` the number of model calls, and `cost`
    what the turn cost (US dollars). `answer` is the value of the type that was asked for, where one was.
    """

    reason: EndReason
    text: str = ""
    error: str = ""
    message_id: str = ""
    steps: int = 0
    cost: float = 0.0
    answer: Any = None


class EventSink(Protocol):
    """Who is told events at once, in the session's own thread."""

    def add(self, event: AgentEvent | None) -> None:
        """Take an event, or `None` at the end; return nothing. Must neither raise nor wait."""


class EventStream:
    """An async iterator over the events from its making on; it ends when the session is closed."""

    def __init__(self) -> None:
        self._waiting: deque[AgentEvent | None] = deque()
        self._available = asyncio.Event()
        self._over = False

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        return self

    async def __anext__(self) -> AgentEvent:
        while not self._waiting:
            if self._over:
                raise StopAsyncIteration
            # cleared before waiting, and set after each `add`: no event can come between the two unseen, as all runs
            # in one thread
            self._available.clear()
            await self._available.wait()
        event = self._waiting.popleft()
        if event is None:
            raise StopAsyncIteration
        return event

    def take(self) -> list[AgentEvent]:
        """Return what is waiting, without waiting for more."""
        events = [event for event in self._waiting if event is not None]
        self._waiting.clear()
        return events

    def add(self, event: AgentEvent | None) -> None:
        """Put an event behind the others, `None` at the end; return nothing."""
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
        # remembered apart: the `None` itself may have to give way, or be taken by `take`
        self._over = self._over or event is None
        self._waiting.append(event)
        self._available.set()


class EventBus:
    """Tells events to who listens. Nobody can hold up the session."""

    def __init__(self, hooks: Hooks) -> None:
        self.session_id = ""
        self._hooks = hooks
        self._sinks: list[EventSink] = []
        self._posted: deque[AgentEvent] = deque(maxlen=MAX_WAITING)
        self._for_plugins: deque[HookEvent] = deque(maxlen=MAX_WAITING)
        self._delivery: asyncio.Task[None] | None = None

    def subscribe(self) -> EventStream:
        """Return a new stream of what happens from now on."""
        stream = EventStream()
        self._sinks.append(stream)
        return stream

    def attach(self, sink: EventSink) -> None:
        """Tell a sink what happens from now on; return nothing."""
        self._sinks.append(sink)

    def post(self, event: AgentEvent) -> None:
        """Have an event told before the next one, and return nothing. May be called from any thread."""
        self._posted.append(event)

    def publish(self, event: AgentEvent) -> None:
        """Tell an event to all sinks; return nothing."""
        while self._posted:
            posted = self._posted.popleft()
            for sink in self._sinks:
                sink.add(posted)
        for sink in self._sinks:
            sink.add(event)

    def plugin_failed(self, failure: Failure) -> None:
        """Tell that a plugin's call went wrong; `Hooks.failures` keeps it too. Returns nothing."""
        self.publish(PluginFailed(self.session_id, failure))

    def notify_plugins(self, type: str, session_id: str, **properties: object) -> None:
        """Tell the plugins, by their hook `event`; `properties` must be plain data. Returns at once, and nothing."""
        # most sessions have no plugin that listens to most types: they pay nothing
        if self._hooks.listens_to(type):
            data: Json = dict(properties)
            self._for_plugins.append(HookEvent(type, session_id, data))
            if self._delivery is None or self._delivery.done():
                # one task at a time: plugins get events in their order
                self._delivery = asyncio.ensure_future(self._deliver())

    async def delivered(self, seconds: float = 10.0) -> None:
        """Wait until the plugins have had all events so far, at most so many seconds; return nothing."""
        if self._delivery is not None and not self._delivery.done():
            await asyncio.wait({self._delivery}, timeout=seconds)

    async def close(self) -> None:
        """End all streams, after a last second for the plugins; return nothing."""
        # a last moment for what is under way; a plugin that hangs must not hold up the end
        await self.delivered(1.0)
        if self._delivery is not None and not self._delivery.done():
            self._delivery.cancel()
            with suppress(asyncio.CancelledError):
                await self._delivery
        for sink in self._sinks:
            sink.add(None)
        self._sinks.clear()

    async def _deliver(self) -> None:
        while self._for_plugins:
            await self._hooks.run("event", self._for_plugins.popleft(), NoOutput())
