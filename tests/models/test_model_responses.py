"""OpenAI's responses, which `openai:NAME` speaks: one exchange with reasoning, text, a call and its result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from hudkit.models import (
    CallUsage,
    Completion,
    CompletionEvent,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolResult,
    complete,
    open_model,
)
from hudkit.testing.model_conformance import collect_events, make_request, user_message

pytestmark = pytest.mark.slow
SYSTEM = ("one ", "two\n", "three")


def reasoning(text: str) -> dict[str, Any]:
    return {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text}] if text else [],
        "encrypted_content": "c2VhbGVk" if text else None,
    }


def message(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}


def call(arguments: str) -> dict[str, Any]:
    return {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "read", "arguments": arguments}


def answer() -> Iterator[dict[str, Any]]:
    """The events of an answer, as OpenAI documents them."""
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_795_000_000,
        "model": "gpt-5",
        "output": [],
        "status": "in_progress",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    yield {"type": "response.created", "response": whole}
    yield {"type": "response.output_item.added", "output_index": 0, "item": reasoning("")}
    part = {"type": "summary_text", "text": ""}
    place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    yield {"type": "response.reasoning_summary_part.added", **place, "part": part}
    for text in ("two and ", "two"):
        yield {"type": "response.reasoning_summary_text.delta", **place, "delta": text}
    yield {"type": "response.output_item.done", "output_index": 0, "item": reasoning("two and two")}
    yield {"type": "response.output_item.added", "output_index": 1, "item": message("")}
    at = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    yield {
        "type": "response.content_part.added",
        **at,
        "part": {"type": "output_text", "text": "", "annotations": []},
    }
    for text in ("I lö", "ok."):
        yield {"type": "response.output_text.delta", **at, "delta": text, "logprobs": []}
    yield {"type": "response.output_item.done", "output_index": 1, "item": message("I löok.")}
    yield {"type": "response.output_item.added", "output_index": 2, "item": call("")}
    for text in ('{"path":', '"ä"}'):
        yield {
            "type": "response.function_call_arguments.delta",
            "item_id": "fc_1",
            "output_index": 2,
            "delta": text,
        }
    yield {"type": "response.output_item.done", "output_index": 2, "item": call('{"path":"ä"}')}
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 600},
        "output_tokens": 70,
        "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 1070,
    }
    output = [reasoning("two and two"), message("I löok."), call('{"path":"ä"}')]
    ended = {**whole, "status": "completed", "output": output, "usage": usage}
    yield {"type": "response.completed", "response": ended}


class Server:
    """Answers each request on one connection of its own, and keeps the bodies."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(int(line.split(":")[1]) for line in head.splitlines() if line.startswith("content-length:"))
        self.bodies.append(json.loads(await reader.readexactly(length)))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for number, event in enumerate(answer()):
            data = json.dumps({**event, "sequence_number": number})
            writer.write(f"event: {event['type']}\ndata: {data}\n\n".encode())
            await writer.drain()
        writer.close()


def test_an_exchange() -> None:
    server = Server()

    async def talk() -> list[CompletionEvent]:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        model = open_model("openai:gpt-5", key="a-key-of-the-test", base_url=f"http://127.0.0.1:{port}/v1")
        said = await collect_events(model, make_request(system=SYSTEM))
        end = said[-1]
        assert isinstance(end, Completion)
        result = ToolResult("call_1", "read", "no such file ", failed=True)
        await complete(
            model, make_request(user_message("hi"), end.answer, result, user_message("go on"), system=SYSTEM)
        )
        await model.close()
        listening.close()
        return said

    said = asyncio.run(talk())
    thoughts = [piece.text for piece in said if isinstance(piece, ReasoningDelta)]
    texts = [piece.text for piece in said if isinstance(piece, TextDelta)]
    (asked,) = [piece for piece in said if isinstance(piece, ToolCall)]
    end = said[-1]
    assert ("".join(thoughts), "".join(texts)) == ("two and two", "I löok.")
    assert (asked.name, asked.parse_arguments()) == ("read", {"path": "ä"})
    assert isinstance(end, Completion) and end.spent is not None
    assert (end.reason, end.answer.text) == ("tool-calls", "I löok.")
    assert CallUsage(400, 600, 0, 70, 30, end.spent.cost) == end.spent

    first, second = (body["input"] for body in server.bodies)
    assert first[0]["content"] == "\n\n".join(SYSTEM) and first[1]["role"] == "user"
    assert second[: len(first)] == first
    kinds = [item.get("type", item.get("role")) for item in second[len(first) :]]
    assert kinds == ["reasoning", "message", "function_call", "function_call_output", "user"]
    assert second[len(first)]["encrypted_content"] == "c2VhbGVk"
    assert second[4]["call_id"] == second[5]["call_id"]
    assert second[5]["output"] == "no such file "
    assert [body["store"] for body in server.bodies] == [False, False]
