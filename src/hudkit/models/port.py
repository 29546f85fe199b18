"""The port to language models: what a request says, what comes back event by event, and who answers it.

Everything here is a plain value without a provider in it. An adapter turns a `CompletionRequest` into its provider's
request and the provider's stream into `CompletionEvent`s; nothing else in hudkit knows a provider.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Literal, Protocol

import msgspec

from hudkit.errors import ToolError
from hudkit.models.model_errors import UnreadableAnswer
from hudkit.tokens import Prices, Window

# --- What a request says


class TextContent(msgspec.Struct, frozen=True, tag="text"):
    """A text, byte for byte. `seal` is set in answers only: opaque marks by which a provider knows its own words.

    A part with a seal goes back as it came, text and seal together; who changes the text drops the seal.
    """

    text: str
    seal: str = ""


class Reasoning(msgspec.Struct, frozen=True, tag="reasoning"):
    """What a model thought before it answered. Most providers refuse it without its `seal`."""

    text: str
    seal: str = ""


class ToolCall(msgspec.Struct, frozen=True, tag="call"):
    """A call of a tool. `arguments` is the text that the model wrote, which may not be a JSON object."""

    id: str
    name: str
    arguments: str = "{}"
    seal: str = ""

    def parse_arguments(self) -> dict[str, Any]:
        """Return the arguments as an object; an empty text counts as an empty object.

        Raises `ToolError`, worded for the model, for a text that is not a JSON object.
        """
        try:
            value = msgspec.json.decode(self.arguments or "{}")
        except msgspec.DecodeError as error:
            raise ToolError(
                f"the arguments of {self.name} are not JSON ({error})", hint="call it again with one JSON object"
            ) from error
        if not isinstance(value, dict):
            raise ToolError(
                f"the arguments of {self.name} are not a JSON object", hint="call it again with one JSON object"
            )
        return value


class Media(msgspec.Struct, frozen=True, tag="media"):
    """A picture, a document or a sound: its bytes and their media type (`image/png`). `name` is for people."""

    data: bytes
    media_type: str
    name: str = ""


class UserMessage(msgspec.Struct, frozen=True, tag="user"):
    """What the user says: texts and media, in order."""

    parts: tuple[TextContent | Media, ...]


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant"):
    """What the model said, in the order in which it said it."""

    parts: tuple[TextContent | Reasoning | ToolCall, ...]

    @property
    def text(self) -> str:
        """Return the texts, joined, without the reasoning."""
        return "".join(part.text for part in self.parts if isinstance(part, TextContent))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Return the tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


class ToolResult(msgspec.Struct, frozen=True, tag="result"):
    """What a tool call returned; `failed` reaches the providers whose interface has a field for it."""

    call_id: str
    name: str
    text: str
    failed: bool = False
    media: tuple[Media, ...] = ()


Message = UserMessage | AssistantMessage | ToolResult


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool that the model may call: `parameters` is the JSON Schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})


Effort = Literal["", "off", "minimal", "low", "medium", "high"]


class RequestSettings(msgspec.Struct, frozen=True):
    """How to answer. What is `None` or empty is left to the provider.

    `max_output` is in tokens; `silence` is how many seconds without a byte mean that the server is gone. `cache` asks
    for cache breakpoints where a provider wants them named, `cache_messages` for breakpoints in messages too: leave
    it off for a request whose messages no later one repeats, which would pay for nothing. `headers` go with the HTTP
    request; `options` are one provider's settings under the names that pydantic-ai gives them, and win over all.
    """

    max_output: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    effort: Effort = ""
    silence: float = 300.0
    cache: bool = True
    cache_messages: bool = True
    headers: Mapping[str, str] = {}
    options: Mapping[str, Any] = {}


class CompletionRequest(msgspec.Struct, frozen=True):
    """One call of a model. System texts are blocks, in order; empty ones are left out on the wire.

    They are separate on the wire only where each can end a cached prefix (Anthropic's models); elsewhere they are one
    system message, joined by a blank line, because chat templates refuse or drop a second one.

    Equal requests give equal bytes on the wire, and a request whose messages begin with those of another request
    begins with its bytes: that is what keeps the provider's prefix cache. Encoded with msgspec it comes back equal.
    """

    system: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    settings: RequestSettings = RequestSettings()


# --- What comes back


class TextDelta(msgspec.Struct, frozen=True, tag="text-delta"):
    """More of the answer's text."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning-delta"):
    """More of the model's reasoning."""

    text: str


class CallUsage(msgspec.Struct, frozen=True):
    """The tokens of one call, each counted once.

    `read` came from the cache, `written` went to it, `fresh` is the rest of the request; `reasoning` is a part of
    `output`. `cost` is in USD by list prices, so an estimate; `None` where the model's price is unknown.
    """

    fresh: int
    read: int
    written: int
    output: int
    reasoning: int = 0
    cost: float | None = None

    @property
    def used(self) -> int:
        """Return the tokens in the window after the call: those of the request and of the answer."""
        return self.fresh + self.read + self.written + self.output


FinishReason = Literal["stop", "length", "tool-calls", "compact", "refusal", "other"]


class Completion(msgspec.Struct, frozen=True, tag="finished"):
    """The end of an answer.

    `reason`: `stop`, `length` (the output limit), `tool-calls`, `compact` (the window was full before the answer was
    over), `refusal` (held back for safety) or `other`. `answer` is the message to send back with the next request.
    `spent` is `None` where the server reported nothing. `model` and `id` are the server's names for the model that
    answered and for the answer; empty where it gave none.
    """

    reason: FinishReason
    answer: AssistantMessage
    spent: CallUsage | None = None
    model: str = ""
    id: str = ""


CompletionEvent = TextDelta | ReasoningDelta | ToolCall | Completion


class Model(Protocol):
    """Something that answers requests. `name` is as it was asked for (`anthropic:claude-sonnet-4-5`)."""

    @property
    def name(self) -> str:
        """Return the model's name as it was asked for."""
        ...

    @property
    def window(self) -> Window:
        """Return the model's window, in tokens, and who says so."""
        ...

    @property
    def prices(self) -> Prices | None:
        """Return what tokens cost; `None` where nobody knows."""
        ...

    def stream(self, request: CompletionRequest) -> AsyncGenerator[CompletionEvent, None]:
        """Yield the answer: deltas as they arrive, then the tool calls, whole and in order, then one `Completion`.

        Tool calls come only when the answer is over, so that an answer that breaks off has none. Raises a
        `ModelError` instead of the `Completion`, and nothing else but the caller's own cancellation; then, and when
        the generator is closed, the connection is closed. The model does not retry by itself.
        """

    async def close(self) -> None:
        """Close connections. A second call is harmless."""


async def complete(model: Model, request: CompletionRequest) -> Completion:
    """Return the whole answer, for requests whose stream nobody watches. Raises as `Model.stream` does."""
    last: CompletionEvent | None = None
    async with aclosing(model.stream(request)) as pieces:
        async for piece in pieces:
            last = piece
    if not isinstance(last, Completion):
        raise UnreadableAnswer(f"{model.name} ended an answer without saying so")
    return last


def with_cost(spent: CallUsage, prices: Prices | None) -> CallUsage:
    """Return the usage with its cost by these prices, which are in USD per million tokens."""
    if prices is None:
        return spent
    dollars = (
        spent.fresh * prices.input
        + spent.read * prices.cached_read
        + spent.written * prices.cache_write
        + spent.output * prices.output
    )
    return msgspec.structs.replace(spent, cost=dollars / 1_000_000)


def order_fault(request: CompletionRequest) -> str:
    """Return in words what a strict server would refuse about the order of a request; empty where nothing is wrong.

    The first message is the user's; each tool call has exactly one result before anything else is said; no result
    without its call; no message is empty; no two tools have the same name.
    """
    names = [tool.name for tool in request.tools]
    if len(set(names)) < len(names):
        return "two tools have the same name"
    if not request.messages or not isinstance(request.messages[0], UserMessage):
        return "the first message is not the user's"
    waiting: list[str] = []
    for place, message in enumerate(request.messages):
        if isinstance(message, ToolResult):
            if message.call_id not in waiting:
                return f"message {place} is the result of {message.call_id!r}, which no call before it asks for"
            waiting.remove(message.call_id)
            continue
        if waiting:
            return f"message {place} comes before the result of the call {waiting[0]!r}"
        if not _says(message):
            return f"message {place} is empty"
        if isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.calls]
            if len(set(waiting)) < len(waiting):
                return f"two calls in message {place} have the same id"
    return f"the call {waiting[0]!r} has no result" if waiting else ""


def _says(message: UserMessage | AssistantMessage) -> bool:
    return any(not isinstance(part, TextContent) or part.text for part in message.parts)
