"""What the adapter to pydantic-ai puts on the wire of each provider, and how a model is opened."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from hudkit.errors import ConfigError
from hudkit.models import (
    AssistantMessage,
    CompletionRequest,
    Media,
    Message,
    Reasoning,
    RequestSettings,
    TextContent,
    ToolCall,
    ToolResult,
    ToolSpec,
    Unreachable,
    complete,
    open_model,
)
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, ScriptedReply, says
from hudkit.testing.model_conformance import TOOLS, make_request, user_message
from hudkit.testing.model_server import ScriptedModel
from hudkit.tokens import Prices, Window

NAMES = {"openai": ("openai-chat:gpt-4o", "/v1"), "anthropic": ("anthropic:claude-sonnet-4-6", "")}
both = pytest.mark.parametrize("shape", ["openai", "anthropic"])
pytestmark = pytest.mark.slow
KEY = "a-key-of-the-test"
PICTURE = Media(b"\x89PNG\r\n\x1a\n", "image/png")


def exchange(
    shape: str, *requests: CompletionRequest, answers: Sequence[Answer] = (), **options: Any
) -> tuple[list[CapturedRequest], list[Any]]:
    """The requests as they arrived, and the answers."""
    name, below = NAMES[shape]

    async def talk(url: str) -> list[Any]:
        model = open_model(name, key=KEY, base_url=url + below, **options)
        try:
            return [await complete(model, request) for request in requests]
        finally:
            await model.close()

    with ScriptedModel(answers) as server:
        ends = asyncio.run(talk(server.url))
        return server.requests, ends


def marked(request: CapturedRequest) -> list[str]:
    return [request.pieces[place].text for place in request.breakpoints]


def conversation(turns: int) -> list[Message]:
    """A conversation in which each turn calls two tools at once."""
    said: list[Message] = [user_message("begin")]
    for turn in range(turns):
        calls = [ToolCall(f"call-{turn}-{place}", "read", "{}") for place in range(2)]
        said.append(AssistantMessage((TextContent(f"turn {turn}"), *calls)))
        said += [ToolResult(call.id, "read", f"result of {call.id}") for call in calls]
    return said


# -- cache breakpoints -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 1, 2, 7])
@pytest.mark.parametrize("blocks", [0, 1, 2, 4])
def test_anthropic_gets_at_most_four_breakpoints(turns: int, blocks: int) -> None:
    system = tuple(f"block {number}" for number in range(blocks))
    ((request,), _) = exchange("anthropic", make_request(*conversation(turns), system=system))
    before = [text for text in marked(request) if text in system]
    behind = [text for text in marked(request) if text not in system]
    assert before == list(system[:2])
    last = f"result of call-{turns - 1}-1"
    assert behind == ([f"read {{}} #call-{turns - 1}-1", last] if turns else ["begin"])


def test_a_breakpoint_never_stands_on_reasoning() -> None:
    said = make_request(
        user_message("one"), AssistantMessage((TextContent("a"), Reasoning("hm"))), user_message("two")
    )
    ((request,), _) = exchange("anthropic", said)
    assert marked(request) == ["be brief", "one", "two"]


def test_breakpoints_can_be_switched_off() -> None:
    plain = msgspec.structs.replace(make_request(system=("one", "two")), settings=RequestSettings(cache=False))
    ((request,), _) = exchange("anthropic", plain)
    assert (request.breakpoints, request.system) == ((), ("one\n\ntwo",))


def test_a_server_that_caches_by_itself_gets_none() -> None:
    ((request,), _) = exchange("openai", make_request(*conversation(2), system=("one", "two")))
    assert request.breakpoints == ()
    assert b"cache" not in request.raw


def test_without_breakpoints_the_system_text_is_one_message() -> None:
    ((request,), _) = exchange("openai", make_request(*conversation(2), system=("one", "", "two")))
    assert [message["content"] for message in request.body["messages"] if message["role"] == "system"] == [
        "one\n\ntwo"
    ]
    ((request,), _) = exchange("anthropic", make_request(*conversation(2), system=("one", "", "two")))
    assert marked(request)[:2] == ["one", "two"]


def test_the_prefix_is_read_from_the_cache_of_an_anthropic_server() -> None:
    system = ("stable " * 1000, "base " * 1000)
    asked = [make_request(*conversation(turns), system=system) for turns in range(1, 5)]
    _, ends = exchange("anthropic", *asked)
    spent = [end.spent for end in ends]
    assert spent[0].written > 2000
    for before, after in pairwise(spent):
        assert after.read >= before.read + before.written
        assert after.fresh + after.written < 200


# -- settings --------------------------------------------------------------------------------------------------


@both
def test_settings_arrive(shape: str) -> None:
    settings = RequestSettings(
        max_output=321,
        temperature=0.5,
        headers={"x-session": "ses_1"},
        options={"stop_sequences": ["END"], "extra_body": {"metadata": {"user_id": "u"}}},
    )
    ((request,), _) = exchange(shape, msgspec.structs.replace(make_request(system=("one",)), settings=settings))
    body = request.body
    assert 321 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert body["temperature"] == 0.5
    assert body["metadata"] == {"user_id": "u"}
    assert ["END"] in (body.get("stop"), body.get("stop_sequences"))
    assert request.headers["x-session"] == "ses_1"
    assert request.system == ("one",)
    assert KEY in str(request.headers)


@both
def test_schemas_of_tools_arrive_as_they_are(shape: str) -> None:
    schema = {
        "type": "object",
        "properties": {"ä": {"type": ["string", "null"], "description": "x" * 300}, "n": {"enum": [1, 2]}},
        "required": ["n"],
        "additionalProperties": False,
    }
    ((request,), _) = exchange(
        shape, msgspec.structs.replace(make_request(), tools=(ToolSpec("t", "d", schema), *TOOLS))
    )
    tool = request.body["tools"][0]
    tool = tool.get("function", tool)
    assert (tool["name"], tool["description"]) == ("t", "d")
    assert tool.get("parameters", tool.get("input_schema")) == schema


@both
def test_media_of_a_tool_result_reach_the_model(shape: str) -> None:
    said = AssistantMessage((ToolCall("one", "shot"), ToolCall("two", "shot")))
    results = [ToolResult("one", "shot", "taken ", media=(PICTURE,)), ToolResult("two", "shot", "failed")]
    ((request,), _) = exchange(shape, make_request(user_message("look"), said, *results, user_message("and?")))
    assert "iVBORw0KGgo" in request.raw.decode()
    told = [text for role, text in request.messages if role == "tool"]
    assert [text.split("\n")[0] for text in told] == ["taken ", "failed"]
    assert request.messages[-1][1].endswith("and?")


@both
def test_empty_system_blocks_are_left_out(shape: str) -> None:
    ((request,), _) = exchange(shape, make_request(system=("", "one", "")))
    assert request.system == ("one",)


def test_a_reasoning_goes_back_with_its_signature() -> None:
    name, _ = NAMES["anthropic"]

    async def talk(url: str) -> None:
        model = open_model(name, key=KEY, base_url=url)
        end = await complete(model, make_request())
        # As the log of a session keeps it.
        kept = msgspec.json.decode(msgspec.json.encode(end.answer), type=AssistantMessage)
        assert kept == end.answer
        await complete(model, make_request(user_message("hi"), kept, user_message("go on")))
        await model.close()

    with ScriptedModel([ScriptedReply("four", reasoning="two and two")]) as server:
        asyncio.run(talk(server.url))
        _, second = server.requests
    block = second.body["messages"][1]["content"][0]
    assert (block["type"], block["thinking"], bool(block["signature"])) == ("thinking", "two and two", True)


def test_reasoning_of_another_provider_goes_along_as_text() -> None:
    said = make_request(
        user_message("hi"),
        AssistantMessage((Reasoning("two and two", '{"provider":"elsewhere"}'), TextContent("4"))),
        user_message("go on"),
    )
    ((request,), _) = exchange("anthropic", said)
    assert "two and two" in request.text and not [
        block for message in request.body["messages"] for block in message["content"] if block["type"] == "thinking"
    ]


# -- opening ---------------------------------------------------------------------------------------------------


def test_what_a_call_costs() -> None:
    prices = Prices(2.0, 0.5, 3.0, 10.0, "test", "m")
    _, (end,) = exchange("openai", make_request(), prices=prices)
    spent = end.spent
    assert spent.cost == pytest.approx((spent.fresh * 2.0 + spent.read * 0.5 + spent.output * 10.0) / 1_000_000)


def test_window_and_prices_are_looked_up() -> None:
    model = open_model("anthropic:claude-sonnet-4-5", key=KEY)
    assert (model.window.limit_tokens, model.window.source) == (200_000, "table")
    assert model.prices is not None and model.prices.cached_read < model.prices.input
    unknown = open_model("openai-chat:home-made", key=KEY, window=Window(8_000, 1_000, None, "user"))
    assert (unknown.window.limit_tokens, unknown.prices) == (8_000, None)


@pytest.mark.parametrize(
    ("name", "says_so"),
    [
        ("gpt-4o", "provider:name"),
        ("openai:", "provider:name"),
        (":m", "provider:name"),
        ("nobody:m", "nobody"),
        ("anthropic:claude-sonnet-4-5", "API_KEY"),
    ],
)
def test_a_name_that_cannot_be_opened(name: str, says_so: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=says_so):
        open_model(name)


def test_an_option_that_a_provider_does_not_know_says_nothing_of_the_key() -> None:
    with pytest.raises(ConfigError) as caught:
        open_model("anthropic:claude-sonnet-4-5", key=KEY, colour="red")
    assert "colour" in str(caught.value) and KEY not in str(caught.value)


def test_nobody_at_the_other_end() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def talk() -> None:
        model = open_model("openai-chat:m", key=KEY, base_url=f"http://127.0.0.1:{port}/v1")
        with pytest.raises(Unreachable) as caught:
            await complete(model, make_request())
        assert caught.value.retry and KEY not in str(caught.value)
        await model.close()
        await model.close()

    asyncio.run(talk())


def test_an_answer_that_is_no_answer() -> None:
    """A web page with status 200, as a captive portal sends it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        page = b"<html>log in first</html>"
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n" % len(page) + page)
        await writer.drain()
        writer.close()

    async def talk(name: str) -> object:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        model = open_model(name, key=KEY, base_url=f"http://127.0.0.1:{port}")
        try:
            return await complete(model, make_request())
        except Exception as error:
            return error
        finally:
            await model.close()
            server.close()

    told = [asyncio.run(talk(name)) for name, _ in NAMES.values()]
    assert [getattr(error, "code", error) for error in told] == ["model-unreadable"] * 2


def test_a_model_is_used_again_after_it_was_closed() -> None:
    async def talk(url: str) -> str:
        model = open_model("openai-chat:m", key=KEY, base_url=f"{url}/v1")
        await complete(model, make_request())
        await model.close()
        end = await complete(model, make_request())
        await model.close()
        return end.answer.text

    with ScriptedModel([says("one"), says("two")]) as server:
        assert asyncio.run(talk(server.url)) == "two"


def test_hudkit_loads_no_provider_before_a_model_is_opened() -> None:
    code = (
        "import sys, hudkit, hudkit.models, hudkit.models.scripted_model, hudkit.testing.model_conformance;"
        "print([name for name in ('pydantic_ai', 'pydantic', 'openai', 'anthropic') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
