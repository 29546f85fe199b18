"""The port to language models: what a call says, what comes back piece by piece, and who answers it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Literal, Protocol

import msgspec

from hudkit.errors import ToolError
from hudkit.models.failures import Unreadable
from hudkit.tokens import Prices, Window

# -- what is said ----------------------------------------------------------------------------------------------


class Text(msgspec.Struct, frozen=True, tag="text"):
    """A text, byte for byte. `seal` is set only in answers: opaque marks by which a model knows its own words.

    A part with a seal goes back as it came, text and seal together, or its seal is dropped with the change.
    """

    text: str
    seal: str = ""


class Reasoning(msgspec.Struct, frozen=True, tag="reasoning"):
    """What a model thought before it answered. Without its `seal`, most models do not take it back."""

    text: str
    seal: str = ""


class ToolCall(msgspec.Struct, frozen=True, tag="call"):
    """A call of a tool. `arguments` is the text that the model wrote: it should be a JSON object, and may be none."""

    id: str
    name: str
    arguments: str = "{}"
    seal: str = ""

    def given(self) -> dict[str, Any]:
        """The arguments as an object; an empty text counts as an empty object.

        Raises `ToolError`, worded for the model, for a text that is no JSON object.
        """
        try:
            value = msgspec.json.decode(self.arguments or "{}")
        except msgspec.DecodeError as error:
            raise ToolError(
                f"the arguments of {self.name} are no JSON ({error})", hint="call it again with one JSON object"
            ) from error
        if not isinstance(value, dict):
            raise ToolError(
                f"the arguments of {self.name} are no JSON object", hint="call it again with one JSON object"
            )
        return value


class Media(msgspec.Struct, frozen=True, tag="media"):
    """A picture, a document or a sound: bytes and what they are (`image/png`). `name` is for people."""

    data: bytes
    media_type: str
    name: str = ""


class User(msgspec.Struct, frozen=True, tag="user"):
    """What the user's side says: texts and media, in order."""

    parts: tuple[Text | Media, ...]


class Assistant(msgspec.Struct, frozen=True, tag="assistant"):
    """What the model said, in the order in which it said it."""

    parts: tuple[Text | Reasoning | ToolCall, ...]

    @property
    def text(self) -> str:
        """The texts joined; reasoning is not among them."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


class ToolResult(msgspec.Struct, frozen=True, tag="result"):
    """What one call gave; `failed` is told to the models whose servers have a word for it."""

    call_id: str
    name: str
    text: str
    failed: bool = False
    media: tuple[Media, ...] = ()


Message = User | Assistant | ToolResult


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool that the model may call: `parameters` is the JSON Schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})


Effort = Literal["", "off", "minimal", "low", "medium", "high"]


class Settings(msgspec.Struct, frozen=True):
    """How to answer. What is `None` or empty is left to the model's server.

    `max_output` are tokens; `silence` are the seconds without a byte after which a server counts as gone; `cache`
    asks for cache breakpoints where a server wants them named, `cache_messages` for those in messages too (a request
    whose messages no later one repeats would pay for nothing); `headers` go with the HTTP request; `options` are
    settings of one provider under the names that pydantic-ai gives them, and win over the others.
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


class Request(msgspec.Struct, frozen=True):
    """One call. System texts are separate blocks in order; empty ones are left out on the wire.

    Equal requests give equal bytes on the wire, and a request whose messages begin with those of another one begins
    with its bytes. Encoded with msgspec it comes back equal.
    """

    system: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    settings: Settings = Settings()


# -- what comes back -------------------------------------------------------------------------------------------


class TextDelta(msgspec.Struct, frozen=True, tag="text-delta"):
    """More of the answer's text."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning-delta"):
    """More of the model's reasoning."""

    text: str


class Spent(msgspec.Struct, frozen=True):
    """The tokens of one call, each counted once.

    `read` came from the cache, `written` went to it, `fresh` is the rest of the request; `reasoning` is a part of
    `output`. `cost` is in USD by list prices, so an estimate, and `None` where the model has no known price.
    """

    fresh: int
    read: int
    written: int
    output: int
    reasoning: int = 0
    cost: float | None = None

    @property
    def used(self) -> int:
        """Tokens in the window after the call: the request and the answer."""
        return self.fresh + self.read + self.written + self.output


Reason = Literal["stop", "length", "tool-calls", "compact", "refusal", "other"]


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """The end of an answer.

    `reason`: `stop`, `length` (the output limit), `tool-calls`, `compact` (the window was full before the answer was
    over), `refusal` (held back for safety) or `other`. `answer` is the message to send back with the next request.
    `spent` is `None` where the server told nothing. `model` and `id` are the server's names for who answered and for
    the answer; empty where it told none.
    """

    reason: Reason
    answer: Assistant
    spent: Spent | None = None
    model: str = ""
    id: str = ""


Piece = TextDelta | ReasoningDelta | ToolCall | Finished


class Model(Protocol):
    """Somebody who answers. `name` is as it was asked for (`anthropic:claude-sonnet-4-5`)."""

    @property
    def name(self) -> str: ...
    @property
    def window(self) -> Window: ...
    @property
    def prices(self) -> Prices | None: ...

    def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """The answer: deltas as they arrive, then the tool calls, whole and in order, then one `Finished`.

        Tool calls come only when the answer is over: one that breaks off gives none. Raises a `ModelError` instead
        of the `Finished`, never anything else but the caller's own cancellation; then, and when the generator is
        closed, the connection is given up. The model does not try again by itself.
        """

    async def close(self) -> None:
        """Gives up connections; twice is harmless."""


async def finished(model: Model, request: Request) -> Finished:
    """The whole answer, for calls that nobody watches. Raises as `Model.stream` does."""
    last: Piece | None = None
    async with aclosing(model.stream(request)) as pieces:
        async for piece in pieces:
            last = piece
    if not isinstance(last, Finished):
        raise Unreadable(f"{model.name} ended an answer without saying so")
    return last


def priced(spent: Spent, prices: Prices | None) -> Spent:
    """The same with its cost by these prices (USD per million tokens)."""
    if prices is None:
        return spent
    dollars = (
        spent.fresh * prices.input
        + spent.read * prices.cached_read
        + spent.written * prices.cache_write
        + spent.output * prices.output
    )
    return msgspec.structs.replace(spent, cost=dollars / 1_000_000)
