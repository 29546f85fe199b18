"""What a scripted model answers: texts, tool calls, refusals and silences, as plain values."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from hudkit.context.caching import CallCost


class Call(msgspec.Struct, frozen=True):
    """A tool call. `arguments` is a JSON object, or a string that is sent as it is (to send broken JSON);
    an empty `id` is filled in by the server, in the order of the calls."""

    name: str
    arguments: Mapping[str, object] | str = {}
    id: str = ""

    @property
    def text(self) -> str:
        """The arguments as the model would have written them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return msgspec.json.encode(self.arguments).decode()


class Reply(msgspec.Struct, frozen=True):
    """An answer with status 200: `text`, then `calls` (several are parallel calls).

    `usage` are the tokens to report (`fresh`, `read` from the cache, `written` to it, `output`); `None` counts
    them. `delay` are seconds before the first byte, `pace` seconds between two pieces of a stream. `cut` ends
    the stream in the middle, without its last piece. `reasoning` comes before the text. `finish` is the end in
    other words than stop or tool calls: `length`, `refusal`, or `compact` (the window is full; OpenAI's shape
    has no word for it and says length).
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: CallCost | None = None
    delay: float = 0.0
    pace: float = 0.0
    cut: bool = False
    reasoning: str = ""
    finish: str = ""


class Refusal(msgspec.Struct, frozen=True):
    """An answer with an error status. `code` is OpenAI's `error.code`, `kind` the `error.type` of both shapes.

    An empty `message` is filled with the wording that the shape's clients look for.
    """

    status: int = 500
    kind: str = "api_error"
    code: str = ""
    message: str = ""
    headers: Mapping[str, str] = {}


class Hang(msgspec.Struct, frozen=True):
    """No answer: the connection stays open for `seconds` (or until the server is closed) and is then dropped."""

    seconds: float = 600.0


Answer = Reply | Refusal | Hang


class Said(msgspec.Struct, frozen=True):
    """A reply ready for the wire: its calls have ids, its usage is `cost`.

    `name` tells answers apart, `model` echoes the request, `made` is in Unix ms, `usage_asked` says whether a
    stream should tell its usage (OpenAI's shape does only where the request says so). `thought` are the tokens of
    the reasoning, which are among the output of `cost`.
    """

    text: str
    calls: tuple[Call, ...]
    cost: CallCost
    name: str
    model: str
    made: int
    usage_asked: bool
    reasoning: str = ""
    thought: int = 0
    finish: str = ""


CONTEXT_EXCEEDED = Refusal(400, "invalid_request_error", "context_length_exceeded")
"""The request is longer than the window, in both shapes' words."""

BROKEN = Refusal(500, "api_error", "", "internal error")
"""The server failed; clients try again."""


def says(text: str, *, used: int | None = None, output: int = 10) -> Reply:
    """A reply of text only; `used` reports a prompt of so many tokens, none of them cached."""
    return Reply(text, usage=None if used is None else CallCost(0, 0, used, output))


def uses(*calls: Call, text: str = "") -> Reply:
    """A reply that calls tools, in parallel where there are several."""
    return Reply(text, calls)
