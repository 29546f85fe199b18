"""OpenAI's chat completions on the wire: a request as pieces, a reply as JSON or as a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hudkit.context.caching import CallCost
from hudkit.testing.captured import Piece
from hudkit.testing.replies import Call, Refusal, Said

PATH = "/chat/completions"

_ROLES = {"developer": "system", "function": "tool"}


def pieces(body: Mapping[str, Any]) -> Iterator[Piece]:
    """The content of a request in the order in which a cache reads it."""
    for tool in body.get("tools") or ():
        yield Piece("tools", canonical(tool), "schema")
    for place, message in enumerate(body.get("messages") or ()):
        role = _ROLES.get(message["role"], message["role"])
        form = "result" if role == "tool" else "text"
        marked = "cache_control" in message
        found = list(_content(message.get("content"), role, form, place))
        found += [Piece(role, _called(call), "call", place) for call in message.get("tool_calls") or ()]
        if marked and found:
            found[-1] = msgspec.structs.replace(found[-1], breakpoint=True)
        yield from found


def _content(content: Any, role: str, form: str, place: int) -> Iterator[Piece]:
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
        text = part["text"] if part.get("type") == "text" else canonical(part)
        if text:
            yield Piece(role, text, form, place, "cache_control" in part)


def _called(call: Mapping[str, Any]) -> str:
    function = call["function"]
    return f"{function['name']} {function['arguments']} #{call.get('id', '')}"


def canonical(value: object) -> str:
    """JSON as compact text, keys in the order in which they came."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# -- answers ---------------------------------------------------------------------------------------------------


def refusal(answer: Refusal) -> dict[str, object]:
    """The body of an error."""
    words = "This model's maximum context length is exceeded. Please reduce the length of the messages."
    text = answer.message or (words if answer.code == "context_length_exceeded" else "refused by the script")
    return {"error": {"message": text, "type": answer.kind, "param": None, "code": answer.code or None}}


def usage(cost: CallCost, thought: int = 0) -> dict[str, object]:
    """Tokens in this shape's words: the prompt includes what was cached, the completion what was thought."""
    details = {"completion_tokens_details": {"reasoning_tokens": thought}} if thought else {}
    return {
        "prompt_tokens": cost.total,
        "completion_tokens": cost.output,
        "total_tokens": cost.total + cost.output,
        "prompt_tokens_details": {"cached_tokens": cost.read},
        **details,
    }


def whole(said: Said) -> dict[str, object]:
    """The answer as one object."""
    message: dict[str, object] = {"role": "assistant", "content": said.text or None}
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    if said.calls:
        message["tool_calls"] = [_call(call) for call in said.calls]
    choice = {"index": 0, "message": message, "finish_reason": _finish(said), "logprobs": None}
    return {**_envelope("chat.completion", said), "choices": [choice], "usage": usage(said.cost, said.thought)}


def stream(said: Said) -> Iterator[bytes]:
    """The answer as server-sent events; usage comes last, where the request asked for it."""
    envelope = _envelope("chat.completion.chunk", said)

    def chunk(delta: object, finish: str | None = None) -> bytes:
        return _event({**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    for text in halves(said.reasoning):
        yield chunk({"reasoning_content": text})
    for text in halves(said.text):
        yield chunk({"content": text})
    for index, call in enumerate(said.calls):
        opened = _call(call) | {"index": index, "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [opened]})
        for text in halves(call.text):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
    yield chunk({}, _finish(said))
    if said.usage_asked:
        yield _event({**envelope, "choices": [], "usage": usage(said.cost, said.thought)})
    yield b"data: [DONE]\n\n"


def halves(text: str) -> Sequence[str]:
    """A text in two pieces, so that readers of streams have something to join; empty ones are left out."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def _call(call: Call) -> dict[str, object]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}


def _finish(said: Said) -> str:
    other = {"length": "length", "compact": "length", "refusal": "content_filter"}.get(said.finish)
    return other or ("tool_calls" if said.calls else "stop")


def _envelope(form: str, said: Said) -> dict[str, object]:
    return {"id": f"chatcmpl-{said.name}", "object": form, "created": said.made // 1000, "model": said.model}


def _event(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
