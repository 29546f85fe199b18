"""Marks by which a provider knows its own words: from its answer through the store into the next request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from loops import opened
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from hudkit.agent import hooks
from hudkit.agent.records import StoredText
from hudkit.models import CompletionEvent, CompletionRequest, TextDelta, open_model, pydantic_ai_model
from hudkit.models.scripted_answers import says
from hudkit.models.scripted_model import InProcessModel

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ANSWER = ModelResponse(
    parts=[
        ThinkingPart("hm", signature="sig", provider_name="openai", id="rs_1"),
        TextPart("Hello ", id="msg_1", provider_name="openai", provider_details={"phase": "commentary"}),
        TextPart("there", id="msg_2", provider_name="openai"),
        TextPart("", provider_name="openai", provider_details={"thought_signature": "c2ln"}),
        ToolCallPart("read", '{"path":"a"}', tool_call_id="c1", id="fc_1", provider_name="openai"),
    ],
    usage=RequestUsage(input_tokens=10, output_tokens=5),
    finish_reason="tool_call",
)


class Sealing(InProcessModel):
    """Answers first as a server that gives ids and signatures with its words; then from the script."""

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[CompletionEvent, None]:
        if self.port_requests:
            async for piece in super().stream(request):
                yield piece
            return
        self.port_requests.append(request)
        yield TextDelta("Hello there")
        end = pydantic_ai_model.completion(ANSWER, self.name, None)
        for call in end.answer.calls:
            yield call
        yield end


def sent(request: CompletionRequest) -> list[Any]:
    """The parts of the first answer in a request, as they go to the provider."""
    said = pydantic_ai_model.request_messages(request, "openai", breaks=False)
    return next(list(one.parts) for one in said if isinstance(one, ModelResponse))


def as_said(part: Any) -> tuple[Any, ...]:
    content = getattr(part, "content", None) or getattr(part, "args", "")
    signature = getattr(part, "signature", None)
    return (type(part).__name__, content, part.id, part.provider_name, part.provider_details, signature)


async def test_ids_and_signatures_of_texts_go_back_with_them(tmp_path: Path) -> None:
    model = Sealing([says("done"), says("more")])
    async with opened(tmp_path, model) as loop:
        await loop.prompt("go")
        assert list(map(as_said, sent(model.port_requests[1]))) == list(map(as_said, ANSWER.parts))
        id = loop.id
    model = InProcessModel([says("later")])
    async with opened(tmp_path, model, session=id) as loop:
        await loop.prompt("on")
        assert list(map(as_said, sent(model.port_requests[0]))) == list(map(as_said, ANSWER.parts)), (
            "also out of the file"
        )
        (text,) = [one for one in loop.messages[1].parts if isinstance(one, StoredText) and not one.ignored]
        assert text.text == "Hello there" and [length for length, _ in text.meta["seals"]] == [6, 5, 0]


@pytest.mark.parametrize("hook", ["text_complete", "messages_transform"])
async def test_words_that_a_plugin_changed_lose_the_marks_of_the_old_ones(tmp_path: Path, hook: str) -> None:
    def complete(given: hooks.FinishedPart, output: hooks.PartText) -> None:
        output.text = output.text.replace("Hello", "HELLO")

    def transform(given: hooks.ModelCallContext, output: hooks.Messages) -> None:
        for message in output.messages:
            for part in message.parts:
                part.text = part.text.replace("Hello", "HELLO")

    plugin = {"text_complete": complete} if hook == "text_complete" else {"messages_transform": transform}
    model = Sealing([says("done")])
    async with opened(tmp_path, model, plugins=[("loud", plugin)]) as loop:
        await loop.prompt("go")
        texts = [part for part in sent(model.port_requests[1]) if isinstance(part, TextPart)]
        assert [(part.content, part.id, part.provider_details) for part in texts] == [("HELLO there", None, None)]


async def test_google_s_signature_at_the_end_of_a_text_comes_back_over_the_wire(tmp_path: Path) -> None:
    """Over Google's own client and a server that speaks its stream."""
    bodies: list[dict[str, Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        bodies.append(json.loads(await reader.readexactly(length)))
        parts = [{"text": "Hello"}], [{"text": "", "thoughtSignature": "c2ln"}]
        chunks = [{"candidates": [{"content": {"role": "model", "parts": one}}]} for one in parts]
        chunks[1]["candidates"][0]["finishReason"] = "STOP"
        raw = b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + raw)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    model = open_model("google:gemini-3-pro", key="k", base_url=f"http://127.0.0.1:{port}")
    async with opened(tmp_path, model) as loop:
        assert (await loop.prompt("hi")).text == "Hello"
        await loop.prompt("on")
    await model.close()
    server.close()
    said = [part for content in bodies[1]["contents"] if content["role"] == "model" for part in content["parts"]]
    assert "".join(part.get("text", "") for part in said) == "Hello"
    assert [part["thoughtSignature"] for part in said if "thoughtSignature" in part] == ["c2ln"]
