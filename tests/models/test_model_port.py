"""The values of the port: they survive the log, calls are read as objects, orders that servers refuse are named."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.errors import ToolError
from hudkit.models import (
    AssistantMessage,
    CallUsage,
    CompletionRequest,
    Media,
    Message,
    Reasoning,
    RequestRejected,
    RequestSettings,
    TextContent,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from hudkit.models.port import complete, order_fault, with_cost
from hudkit.models.scripted_model import InProcessModel, request_pieces
from hudkit.testing.assertions import expect_async_error
from hudkit.testing.model_conformance import make_request, user_message
from hudkit.tokens import Prices

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
MEDIA = st.builds(Media, st.binary(max_size=40), TEXT, TEXT)
MESSAGES = st.one_of(
    st.builds(UserMessage, st.lists(st.builds(TextContent, TEXT) | MEDIA, max_size=3).map(tuple)),
    st.builds(
        AssistantMessage,
        st.lists(
            st.builds(TextContent, TEXT, TEXT)
            | st.builds(Reasoning, TEXT, TEXT)
            | st.builds(ToolCall, TEXT, TEXT, TEXT),
            max_size=3,
        ).map(tuple),
    ),
    st.builds(ToolResult, TEXT, TEXT, TEXT, st.booleans(), st.lists(MEDIA, max_size=2).map(tuple)),
)
REQUESTS = st.builds(
    CompletionRequest,
    st.lists(TEXT, max_size=3).map(tuple),
    st.lists(MESSAGES, max_size=5).map(tuple),
    st.lists(st.builds(ToolSpec, TEXT, TEXT), max_size=2).map(tuple),
    st.builds(RequestSettings, st.none() | st.integers(1, 9), headers=st.dictionaries(TEXT, TEXT, max_size=2)),
)


@pytest.mark.slow
@given(REQUESTS)
def test_a_request_survives_the_log(request: CompletionRequest) -> None:
    again = msgspec.json.decode(msgspec.json.encode(request), type=CompletionRequest)
    assert again == request
    assert request_pieces(again) == request_pieces(request)


@given(st.dictionaries(TEXT, st.none() | st.booleans() | st.integers() | TEXT, max_size=4))
def test_arguments_are_read_as_an_object(given_arguments: dict[str, object]) -> None:
    call = ToolCall("1", "t", msgspec.json.encode(given_arguments).decode())
    assert call.parse_arguments() == given_arguments


@pytest.mark.parametrize("arguments", ['{"a": ', "[1]", "null", "7", "{} {}", "nonsense"])
def test_arguments_that_are_no_object(arguments: str) -> None:
    with pytest.raises(ToolError, match=r"read.*one JSON object"):
        ToolCall("1", "read", arguments).parse_arguments()


def test_a_call_without_arguments_has_none() -> None:
    assert ToolCall("1", "t", "").parse_arguments() == {}


def test_each_kind_of_token_has_its_price() -> None:
    prices = Prices(1.0, 10.0, 100.0, 1000.0, "test", "m")
    assert with_cost(CallUsage(1, 2, 3, 4, reasoning=4), prices).cost == pytest.approx(0.004321)
    assert with_cost(CallUsage(1, 2, 3, 4), None).cost is None


def calls(*ids: str) -> AssistantMessage:
    return AssistantMessage(tuple(ToolCall(one, "t") for one in ids))


def result(call: str) -> ToolResult:
    return ToolResult(call, "t", "")


SOUND: list[tuple[Message, ...]] = [
    (user_message("a"),),
    (user_message("a"), user_message("b")),
    (user_message("a"), calls("1", "2"), result("2"), result("1"), user_message("b")),
    (user_message("a"), AssistantMessage((Reasoning("hm"),)), user_message("b")),
    (UserMessage((Media(b"", "image/png"),)),),
]
FAULTY: list[tuple[tuple[Message, ...], str]] = [
    ((), "first message"),
    ((calls("1"), result("1")), "first message"),
    ((user_message("a"), calls("1")), "no result"),
    ((user_message("a"), calls("1"), user_message("b")), "before the result"),
    ((user_message("a"), calls("1", "2"), result("1"), calls("3")), "before the result of the call '2'"),
    ((user_message("a"), result("1")), "no call before"),
    ((user_message("a"), calls("1"), result("1"), result("1")), "no call before"),
    ((user_message("a"), calls("1", "1"), result("1"), result("1")), "same id"),
    ((user_message("a"), AssistantMessage(())), "empty"),
    ((user_message(""),), "empty"),
]


@pytest.mark.parametrize("messages", SOUND)
def test_orders_that_every_server_takes(messages: tuple[Message, ...]) -> None:
    assert order_fault(CompletionRequest((), messages)) == ""


@pytest.mark.parametrize(("messages", "named"), FAULTY)
def test_orders_that_a_strict_server_refuses(messages: tuple[Message, ...], named: str) -> None:
    assert named in order_fault(CompletionRequest((), messages))


def test_two_tools_of_one_name() -> None:
    assert "same name" in order_fault(
        CompletionRequest((), (user_message("a"),), (ToolSpec("t", ""), ToolSpec("t", "")))
    )


@pytest.mark.parametrize(("messages", "named"), FAULTY)
def test_the_scripted_model_refuses_them(messages: tuple[Message, ...], named: str) -> None:
    model = InProcessModel()
    error = asyncio.run(expect_async_error(RequestRejected, complete(model, CompletionRequest((), messages))))
    assert named in str(error) and len(model.port_requests) == 1


def test_kinds_of_calls_get_their_own_answers() -> None:
    model = InProcessModel()
    said = [
        asyncio.run(complete(model, make_request(system=(system,)))).answer.text
        for system in ("You are a title generator", "You are a context summarization agent", "You help")
    ]
    assert said == ["A scripted title", "A scripted summary.", "Done."]
    assert [request.kind for request in model.requests] == ["title", "compaction", "chat"]
