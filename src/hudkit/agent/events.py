"""What a session tells while it works: to a terminal as it happens, and to the plugins' hook `event` in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Literal, Protocol, TypeAlias

import msgspec

from hudkit.agent.hooks import Event, Failure, Hooks, Json, Nothing
from hudkit.agent.records import StoredCall, StoredMessage
from hudkit.models import CompletionRequest

MAX_WAITING = 10_000
"""Events that wait for one listener, or for the plugins; the oldest give way."""


class AgentEvent(msgspec.Struct, frozen=True):
    """Something that happened in a session; a sub-session's events have its own id."""

    session_id: str


class PromptAccepted(AgentEvent, frozen=True, tag="begun"):
    """A prompt was taken up and stored."""

    message: StoredMessage


class TurnStarted(AgentEvent, frozen=True, tag="working"):
    """A turn begins. A sub-session's has the session and the call (`call_id`) that it works for."""

    agent: str
    model: str
    parent_id: str = ""
    call_id: str = ""


class ModelCallStarted(AgentEvent, frozen=True, tag="step"):
    """A model call begins; `number` counts those of the turn from 1."""

    number: int
    message_id: str
    model: str


class RequestSent(AgentEvent, frozen=True, tag="requested"):
    """A request goes out, in a step or for a summary: one attempt, whose answer becomes `message`. The request is
    without its headers, which hold keys; `limit` is the model's window in tokens."""

    message: StoredMessage
    request: CompletionRequest
    limit: int


class TextChunk(AgentEvent, frozen=True, tag="text"):
    message_id: str
    text: str


class ReasoningChunk(AgentEvent, frozen=True, tag="reasoning"):
    message_id: str
    text: str


class ResponseReceived(AgentEvent, frozen=True, tag="received"):
    """A model's answer is complete and stored; its calls have not run. `model` and `response_id` are its server's
    words, empty where it said none."""

    message: StoredMessage
    reason: str
    model: str = ""
    response_id: str = ""


class ModelCallFailed(AgentEvent, frozen=True, tag="failed"):
    """A request came to nothing for good: the code of the error and its words."""

    code: str
    error: str


class ToolCallUpdated(AgentEvent, frozen=True, tag="call"):
    """A tool call as it is now: pending, running, completed or error; `failure` is the kind of the error."""

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
    auto: bool
    overflow: bool


class CompactionFinished(AgentEvent, frozen=True, tag="compacted"):
    """`message` is the summary; `without_model` says why no model wrote it (empty: one did)."""

    message: StoredMessage
    without_model: str = ""


class OutputsPruned(AgentEvent, frozen=True, tag="pruned"):
    """Outputs of these calls (ids) left the window."""

    calls: tuple[str, ...]


class MetricsReported(AgentEvent, frozen=True, tag="figured"):
    """Figures that a plugin gives of the model call that comes next, for telemetry."""

    figures: dict[str, bool | int | float | str | tuple[str, ...]]


class PluginFailed(AgentEvent, frozen=True, tag="plugin-failed"):
    failure: Failure


EndReason: TypeAlias = Literal[
    "done", "cancelled", "steps", "repeats", "window", "length", "refusal", "stopped", "error"
]


class TurnEnded(AgentEvent, frozen=True, tag="ended"):
    """A turn is over. `text` is the last response's, `error` what went wrong in one line."""

    reason: EndReason
    text: str = ""
    error: str = ""
    message_id: str = ""
    steps: int = 0
    cost: float = 0.0


class EventSink(Protocol):
    """Who is told at once, in the session's own thread; `None` ends it. It must neither raise nor wait."""

    def add(self, told: AgentEvent | None) -> None: ...


class EventStream:
    """An async iterator over what is told from its making on; it ends when the session is closed."""

    def __init__(self) -> None:
        self._waiting: deque[AgentEvent | None] = deque()
        self._there = asyncio.Event()
        self._over = False

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        return self

    async def __anext__(self) -> AgentEvent:
        while not self._waiting:
            if self._over:
                raise StopAsyncIteration
            self._there.clear()
            await self._there.wait()
        one = self._waiting.popleft()
        if one is None:
            raise StopAsyncIteration
        return one

    def take(self) -> list[AgentEvent]:
        """What is waiting, without waiting."""
        found = [one for one in self._waiting if one is not None]
        self._waiting.clear()
        return found

    def add(self, told: AgentEvent | None) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
        self._over = self._over or told is None
        self._waiting.append(told)
        self._there.set()


class EventBus:
    """Who is told. Nobody can hold up the session: plugins get their events from a task of its own."""

    def __init__(self, hooks: Hooks) -> None:
        self.session_id = ""
        self._hooks = hooks
        self._listeners: list[EventSink] = []
        self._events: deque[Event] = deque(maxlen=MAX_WAITING)
        self._task: asyncio.Task[None] | None = None

    def listen(self) -> EventStream:
        listener = EventStream()
        self._listeners.append(listener)
        return listener

    def attach(self, hearer: EventSink) -> None:
        self._listeners.append(hearer)

    def tell(self, told: AgentEvent) -> None:
        for listener in self._listeners:
            listener.add(told)

    def failed(self, failure: Failure) -> None:
        """A plugin's call went wrong; `Hooks.failures` keeps it too."""
        self.tell(PluginFailed(self.session_id, failure))

    def event(self, type: str, session_id: str, **properties: object) -> None:
        """Tell the plugins; `properties` must be plain data."""
        if self._hooks.using("event"):
            given: Json = dict(properties)
            self._events.append(Event(type, session_id, given))
            if self._task is None or self._task.done():
                self._task = asyncio.ensure_future(self._deliver())

    async def settled(self, seconds: float = 10.0) -> None:
        """Wait until the plugins have had all events so far, but not longer than so."""
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=seconds)

    async def close(self) -> None:
        await self.settled(1.0)
        if self._task is not None and not self._task.done():
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        for listener in self._listeners:
            listener.add(None)
        self._listeners.clear()

    async def _deliver(self) -> None:
        while self._events:
            await self._hooks.run("event", self._events.popleft(), Nothing())
