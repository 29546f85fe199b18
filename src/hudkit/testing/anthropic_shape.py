"""Anthropic's messages on the wire: a request as pieces, a reply as JSON or as a stream of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hudkit.context.caching import CallCost
from hudkit.testing.captured import Piece
from hudkit.testing.openai_shape import canonical, halves
from hudkit.testing.replies import Call, Refusal, Said

PATH = "/messages"


def pieces(body: Mapping[str, Any]) -> Iterator[Piece]:
    """The content of a request in the order in which a cache reads it."""
    for tool in body.get("tools") or ():
        plain = {key: value for key, value in tool.items() if key != "cache_control"}
        yield Piece("tools", canonical(plain), "schema", breakpoint="cache_control" in tool)
    for part in _parts(body.get("system")):
        yield _piece(part, "system", -1)
    for place, message in enumerate(body.get("messages") or ()):
        for part in _parts(message["content"]):
            yield _piece(part, message["role"], place)


def _parts(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def _piece(part: Mapping[str, Any], role: str, place: int) -> Piece:
    marked = "cache_control" in part
    match part["type"]:
        case "text":
            return Piece(role, part["text"], "text", place, marked)
        case "tool_use":
            text = f"{part['name']} {canonical(part['input'])} #{part['id']}"
            return Piece(role, text, "call", place, marked)
        case "tool_result":
            inner = _parts(part.get("content"))
            text = "\n".join(one["text"] if one["type"] == "text" else canonical(one) for one in inner)
            return Piece("tool", text, "result", place, marked)
        case _:
            plain = {key: value for key, value in part.items() if key != "cache_control"}
            return Piece(role, canonical(plain), "text", place, marked)


# -- answers ---------------------------------------------------------------------------------------------------


def refusal(answer: Refusal) -> dict[str, object]:
    """The body of an error. This shape has no code: a window that is too small is told by the message."""
    words = "prompt is too long: 210000 tokens > 200000 maximum"
    text = answer.message or (words if answer.code == "context_length_exceeded" else "refused by the script")
    return {"type": "error", "error": {"type": answer.kind, "message": text}}


SIGNATURE = "c2lnbmVk"
"""What stands under every reasoning, so that it can be sent back."""


def usage(cost: CallCost, thought: int = 0) -> dict[str, object]:
    """Tokens in this shape's words: the input excludes what was read from the cache or written to it."""
    details = {"output_tokens_details": {"thinking_tokens": thought}} if thought else {}
    return {
        "input_tokens": cost.fresh,
        "cache_creation_input_tokens": cost.written,
        "cache_read_input_tokens": cost.read,
        "output_tokens": cost.output,
        **details,
    }


def whole(said: Said) -> dict[str, object]:
    """The answer as one object."""
    thinking = {"type": "thinking", "thinking": said.reasoning, "signature": SIGNATURE}
    content: list[object] = [thinking] if said.reasoning else []
    content += [{"type": "text", "text": said.text}] if said.text else []
    content += [{**_opened(call), "input": _parsed(call)} for call in said.calls]
    return {**_message(said), "content": content, "stop_reason": _stop(said), "usage": usage(said.cost, said.thought)}


def stream(said: Said) -> Iterator[bytes]:
    """The answer as server-sent events: a start with the prompt's usage, blocks, a delta with the answer's."""
    started = usage(msgspec.structs.replace(said.cost, output=1))
    yield _event("message_start", message={**_message(said), "usage": started})
    yield _event("ping")
    blocks: list[tuple[dict[str, object], list[dict[str, str]]]] = []
    if said.reasoning:
        texts = [{"type": "thinking_delta", "thinking": text} for text in halves(said.reasoning)]
        texts.append({"type": "signature_delta", "signature": SIGNATURE})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, texts))
    if said.text:
        texts = [{"type": "text_delta", "text": text} for text in halves(said.text)]
        blocks.append(({"type": "text", "text": ""}, texts))
    for call in said.calls:
        texts = [{"type": "input_json_delta", "partial_json": text} for text in halves(call.text)]
        blocks.append(({**_opened(call), "input": {}}, texts))
    for index, (opened, deltas) in enumerate(blocks):
        yield _event("content_block_start", index=index, content_block=opened)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    stopped = {"stop_reason": _stop(said), "stop_sequence": None}
    told = usage(said.cost, said.thought)
    ended = {name: told[name] for name in ("output_tokens", "output_tokens_details") if name in told}
    yield _event("message_delta", delta=stopped, usage=ended)
    yield _event("message_stop")


def _message(said: Said) -> dict[str, object]:
    return {
        "id": f"msg_{said.name}",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _opened(call: Call) -> dict[str, object]:
    return {"type": "tool_use", "id": call.id, "name": call.name}


def _parsed(call: Call) -> object:
    return msgspec.json.decode(call.arguments) if isinstance(call.arguments, str) else call.arguments


def _stop(said: Said) -> str:
    other = {"length": "max_tokens", "compact": "model_context_window_exceeded", "refusal": "refusal"}
    return other.get(said.finish) or ("tool_use" if said.calls else "end_turn")


def _event(name: str, **fields: object) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode({"type": name, **fields}) + b"\n\n"
