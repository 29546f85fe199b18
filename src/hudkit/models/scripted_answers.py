"""What a scripted model answers: texts, tool calls, refusals and silences, as plain values.

A script is a sequence of these. `says` and `uses` make the two usual kinds:

    [uses(ScriptedCall("read", {"path": "a.py"})), says("It adds two numbers.")]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from hudkit.context.caching import CallCost


class ScriptedCall(msgspec.Struct, frozen=True):
    """A tool call. `arguments` is a JSON object, or a string that is sent as it is (to send broken JSON).

    An empty `id` is filled in by the model that plays the script, in the order of the calls.
    """

    name: str
    arguments: Mapping[str, object] | str = {}
    id: str = ""

    @property
    def text(self) -> str:
        """Return the arguments as JSON text, as the model would have written them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return msgspec.json.encode(self.arguments).decode()


class ScriptedReply(msgspec.Struct, frozen=True):
    """An answer with status 200: `text`, then `calls` (several are parallel calls).

    `usage` are the tokens to report (`fresh`, `read` from the cache, `written` to it, `output`); `None` counts
    them. `delay` are seconds before the first byte, `pace` seconds between two pieces of a stream. `cut` ends
    the stream in the middle, without its last piece. `reasoning` comes before the text. `finish` is the end in
    other words than stop or tool calls: `length`, `refusal`, or `compact` (the window is full; OpenAI's shape
    has no word for it and says length).
    """

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
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


Answer = ScriptedReply | Refusal | Hang
"""One line of a script."""


CONTEXT_EXCEEDED = Refusal(400, "invalid_request_error", "context_length_exceeded")
"""The request is longer than the window, in both shapes' words."""

BROKEN = Refusal(500, "api_error", "", "internal error")
"""The server failed; clients try again."""


def says(text: str, *, used: int | None = None, output: int = 10) -> ScriptedReply:
    """Return a reply of text only; `used` reports a prompt of so many tokens, none of them cached."""
    return ScriptedReply(text, usage=None if used is None else CallCost(0, 0, used, output))


def uses(*calls: ScriptedCall, text: str = "") -> ScriptedReply:
    """Return a reply that calls tools, in parallel where there are several."""
    return ScriptedReply(text, calls)


def split_in_two(text: str) -> Sequence[str]:
    """Return a text in two pieces; empty ones are left out.

    A reader of streams that never joins pieces would otherwise pass every test.
    """
    middle = len(text) // 2
    return [half for half in (text[:middle], text[middle:]) if half]


def refusal_message(refusal: Refusal, overflow: str) -> str:
    """Return what an error says: the script's words, else `overflow` where the window is exceeded, else a default.

    `overflow` is the provider's own wording, because clients tell an overflow by it.
    """
    return refusal.message or (overflow if refusal.code == CONTEXT_EXCEEDED.code else "refused by the script")
