"""Google's generateContent on the wire: a request as pieces, a reply as JSON or as a stream of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hudkit.context.caching import CallCost
from hudkit.testing.captured import Piece
from hudkit.testing.openai_shape import canonical, halves
from hudkit.testing.replies import Refusal, Said

PATH = ":streamGenerateContent"
"""How the path of a call ends whose answer is streamed; the path, not the body, says that it is."""

_ROLES = {"model": "assistant", "function": "tool"}


def pieces(body: Mapping[str, Any]) -> Iterator[Piece]:
    """The content of a request in the order in which a cache reads it."""
    for tool in body.get("tools") or ():
        for one in tool.get("functionDeclarations") or ():
            yield Piece("tools", canonical(one), "schema")
    for part in (body.get("systemInstruction") or {}).get("parts") or ():
        yield Piece("system", part["text"])
    for place, content in enumerate(body.get("contents") or ()):
        role = _ROLES.get(content["role"], content["role"])
        for part in content["parts"]:
            if "functionCall" in part:
                call = part["functionCall"]
                yield Piece(role, f"{call['name']} {canonical(call.get('args', {}))}", "call", place)
            elif "functionResponse" in part:
                response = part["functionResponse"]["response"]
                said = response.get("content", response)
                yield Piece("tool", said if isinstance(said, str) else canonical(said), "result", place)
            elif part.get("text"):
                yield Piece(role, part["text"], "text", place)


# -- answers ---------------------------------------------------------------------------------------------------


def refusal(answer: Refusal) -> dict[str, object]:
    """The body of an error."""
    words = "The input token count exceeds the maximum number of tokens allowed."
    text = answer.message or (words if answer.code == "context_length_exceeded" else "refused by the script")
    return {"error": {"code": answer.status, "message": text, "status": "INVALID_ARGUMENT"}}


def usage(cost: CallCost) -> dict[str, object]:
    """Tokens in this shape's words: the prompt includes what was cached."""
    return {
        "promptTokenCount": cost.total,
        "cachedContentTokenCount": cost.read,
        "candidatesTokenCount": cost.output,
        "totalTokenCount": cost.total + cost.output,
    }


def whole(said: Said) -> dict[str, object]:
    """The answer as one object."""
    return _chunk(said, [*([{"text": said.text}] if said.text else ()), *_calls(said)], last=True)


def stream(said: Said) -> Iterator[bytes]:
    """The answer as server-sent events; usage and the reason of the end come with the last."""
    for text in halves(said.text):
        yield _event(_chunk(said, [{"text": text}]))
    yield _event(_chunk(said, _calls(said) or [{"text": ""}], last=True))


def _calls(said: Said) -> list[dict[str, object]]:
    return [
        {"functionCall": {"name": call.name, "args": msgspec.json.decode(call.text), "id": call.id}}
        for call in said.calls
    ]


_ENDS = {"length": "MAX_TOKENS", "compact": "MAX_TOKENS", "refusal": "SAFETY"}
"""Google's words for ends other than stop; tool calls stop, too."""


def _chunk(said: Said, parts: list[dict[str, object]], *, last: bool = False) -> dict[str, object]:
    candidate: dict[str, object] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if not last:
        return {"candidates": [candidate]}
    return {
        "candidates": [{**candidate, "finishReason": _ENDS.get(said.finish, "STOP")}],
        "usageMetadata": usage(said.cost),
        "responseId": said.name,
    }


def _event(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\r\n\r\n"
