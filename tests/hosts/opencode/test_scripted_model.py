"""The scripted model alone: both shapes, streamed and not, refusals, usage, and the comparison of requests."""

from __future__ import annotations

import http.client
import json
import threading
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.context.caching import CallCost
from hudkit.models.captured_request import CapturedRequest, RequestPiece, tokens_by_bytes
from hudkit.models.scripted_answers import CONTEXT_EXCEEDED, Hang, Refusal, ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import prefix_difference
from hudkit.testing.model_server import ScriptedModel

PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
both_shapes = pytest.mark.parametrize("shape", ["openai", "anthropic"])


def ask(model: ScriptedModel, path: str, body: object, *, seconds: float = 5) -> tuple[int, str]:
    where = urlsplit(model.url)
    line = http.client.HTTPConnection(where.hostname or "", where.port, timeout=seconds)
    try:
        line.request("POST", path, body if isinstance(body, bytes) else json.dumps(body))
        answer = line.getresponse()
        return answer.status, answer.read().decode()
    finally:
        line.close()


def request_of(shape: str, system: str, *texts: str, stream: bool = False, mark: int = 0) -> dict[str, Any]:
    """A request whose user and assistant take turns; `mark` texts from the end have a cache breakpoint."""
    messages: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[place % 2], "content": [{"type": "text", "text": text}]}
        for place, text in enumerate(texts)
    ]
    for message in messages[len(messages) - mark :]:
        message["content"][-1]["cache_control"] = {"type": "ephemeral"}
    if shape == "anthropic":
        return {"model": "m", "system": system, "messages": messages, "max_tokens": 9, "stream": stream}
    messages.insert(0, {"role": "system", "content": system})
    return {"model": "m", "messages": messages, "stream": stream, "stream_options": {"include_usage": True}}


def events(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


@both_shapes
def test_a_whole_answer(shape: str) -> None:
    reply = ScriptedReply(
        "hé", (ScriptedCall("read", {"path": "ä"}), ScriptedCall("ls", {}, "own-id")), CallCost(5, 3, 2, 7)
    )
    with ScriptedModel([reply]) as model:
        status, text = ask(model, PATHS[shape], request_of(shape, "be brief", "hi"))
    said = json.loads(text)
    assert status == 200
    if shape == "openai":
        (choice,) = said["choices"]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["content"] == "hé"
        calls = [
            (c["id"], c["function"]["name"], c["function"]["arguments"]) for c in choice["message"]["tool_calls"]
        ]
        assert calls == [("call_000001", "read", '{"path":"ä"}'), ("own-id", "ls", "{}")]
        tokens = said["usage"]
        assert (tokens["prompt_tokens"], tokens["completion_tokens"], tokens["total_tokens"]) == (10, 7, 17)
        assert tokens["prompt_tokens_details"]["cached_tokens"] == 5
    else:
        assert [part["type"] for part in said["content"]] == ["text", "tool_use", "tool_use"]
        assert said["content"][1] == {"type": "tool_use", "id": "call_000001", "name": "read", "input": {"path": "ä"}}
        assert said["stop_reason"] == "tool_use"
        assert list(said["usage"].values()) == [2, 3, 5, 7]


def test_openai_events() -> None:
    with ScriptedModel([uses(ScriptedCall("a", {"x": 1}), ScriptedCall("b"), text="so")]) as model:
        _, text = ask(model, PATHS["openai"], request_of("openai", "s", "hi", stream=True))
        plain = request_of("openai", "s", "hi", stream=True) | {"stream_options": None}
        _, without = ask(model, PATHS["openai"], plain)
    assert text.endswith("data: [DONE]\n\n")
    *told, last = events(text)
    deltas = [event["choices"][0]["delta"] for event in told]
    assert "".join(delta.get("content") or "" for delta in deltas) == "so"
    joined = {0: "", 1: ""}
    for delta in deltas:
        for call in delta.get("tool_calls", []):
            joined[call["index"]] += call["function"].get("name", "") + call["function"]["arguments"]
    assert joined == {0: 'a{"x":1}', 1: "b{}"}
    assert told[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert last["choices"] == [] and last["usage"]["completion_tokens"] > 0
    assert not any("usage" in event for event in events(without))


def test_anthropic_events() -> None:
    with ScriptedModel([uses(ScriptedCall("a", {"x": 1}), text="so")]) as model:
        _, text = ask(model, PATHS["anthropic"], request_of("anthropic", "s", "hi", stream=True))
    told = events(text)
    kinds = [event["type"] for event in told if not event["type"].endswith("block_delta")]
    block = ["content_block_start", "content_block_stop"]
    assert kinds == ["message_start", "ping", *block, *block, "message_delta", "message_stop"]
    deltas = [event["delta"] for event in told if event["type"] == "content_block_delta"]
    assert "".join(delta.get("text", "") for delta in deltas) == "so"
    assert "".join(delta.get("partial_json", "") for delta in deltas) == '{"x":1}'
    assert told[-2]["delta"]["stop_reason"] == "tool_use"


@both_shapes
def test_titles_and_compactions_do_not_use_up_the_script(shape: str) -> None:
    title, compaction = "You are a title generator.", "You are a context summarization agent."
    expected = [("chat", "one"), (title, "T"), (compaction, "S"), ("chat", "two"), ("chat", "Done.")]
    with ScriptedModel([says("one"), says("two")], title=says("T"), compaction=lambda request: says("S")) as model:
        for system, answer in expected:
            _, text = ask(model, PATHS[shape], request_of(shape, system, "hi"))
            said = json.loads(text)
            got = said["choices"][0]["message"]["content"] if shape == "openai" else said["content"][0]["text"]
            assert got == answer
        assert [request.kind for request in model.requests] == ["chat", "title", "compaction", "chat", "chat"]


@both_shapes
def test_refusals(shape: str) -> None:
    with ScriptedModel([CONTEXT_EXCEEDED, Refusal(429, "rate_limit_error", headers={"retry-after": "1"})]) as model:
        status, text = ask(model, PATHS[shape], request_of(shape, "s", "hi"))
        error = json.loads(text)["error"]
        assert (status, error["type"]) == (400, "invalid_request_error")
        if shape == "openai":
            assert error["code"] == "context_length_exceeded"
        else:
            assert error["message"].startswith("prompt is too long")
        assert ask(model, PATHS[shape], request_of(shape, "s", "hi"))[0] == 429
        for bad in (b"", b"{", b"[]", b'{"messages": 5}', b'{"messages": [{"content": "no role"}]}', b"\xff"):
            assert ask(model, PATHS[shape], bad)[0] == 400
        assert ask(model, "/v1/elsewhere", {})[0] == 404
        assert [request.kind for request in model.requests[2:]] == ["other"] * 7
        assert model.requests[3].raw == b"{"


def test_a_hanging_answer_ends_with_the_server() -> None:
    model = ScriptedModel([Hang()])
    seen: list[BaseException] = []

    def wait() -> None:
        try:
            ask(model, PATHS["openai"], request_of("openai", "s", "hi"))
        except (OSError, http.client.HTTPException) as error:
            seen.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    model.wait("chat")
    model.close()
    thread.join(5)
    assert [type(error) for error in seen] == [http.client.RemoteDisconnected]
    model.close()


@both_shapes
def test_a_cut_stream_has_no_end(shape: str) -> None:
    with (
        ScriptedModel([ScriptedReply("never told in full", cut=True)]) as model,
        pytest.raises(http.client.IncompleteRead) as cut,
    ):
        ask(model, PATHS[shape], request_of(shape, "s", "hi", stream=True))
    assert b"never" in cut.value.partial
    assert not any(end in cut.value.partial for end in (b"[DONE]", b'"stop"', b"message_stop", b"end_turn"))


def test_lone_surrogates_are_no_bad_request() -> None:
    with ScriptedModel() as model:
        assert ask(model, PATHS["openai"], request_of("openai", "s", "a\ud800b"))[0] == 200
        assert model.chats[0].messages == [("user", "a\ud800b")]


def test_usage_follows_the_prefix() -> None:
    system, history = "s" * 8_000, "h" * 8_000
    with ScriptedModel() as model:
        for shape in ("openai", "anthropic"):
            ask(model, PATHS[shape], request_of(shape, system, history, mark=1))
            ask(model, PATHS[shape], request_of(shape, system, history, "ok", "more", mark=1))
            ask(model, PATHS[shape], request_of(shape, "S" + system, history, "ok", "more", mark=1))
        first, second, changed, *explicit = (request.cost for request in model.chats)
        assert first.read == 0 and first.total == 4_000
        assert second.total - 128 <= second.read + 128 and second.read % 128 == 0
        assert changed.read == 0, "one byte at the front makes everything new"
        assert explicit[0] == CallCost(0, 4_000, 0)
        assert (explicit[1].read, explicit[1].written) == (4_000, tokens_by_bytes("ok") + tokens_by_bytes("more"))
        assert explicit[2].read == 0
        status, text = ask(model, PATHS["anthropic"], request_of("anthropic", "s", *"abcdef", mark=5))
        assert status == 400 and "5 cache breakpoints" in text


# -- comparing -------------------------------------------------------------------------------------------------


def captured(*pieces: RequestPiece) -> CapturedRequest:
    return CapturedRequest(0, "chat", "openai", "POST", "/", {}, b"", {}, pieces, 0, CallCost(0, 0, 0))


texts = st.text(min_size=1, max_size=8)
histories = st.lists(texts, min_size=1, max_size=8).map(
    lambda found: [RequestPiece(("user", "assistant")[n % 2], text, message=n) for n, text in enumerate(found)]
)


@pytest.mark.slow
@given(histories, histories)
def test_a_continued_history_departs_nowhere(history: list[RequestPiece], more: list[RequestPiece]) -> None:
    later = [RequestPiece(piece.role, piece.text, message=len(history) + n) for n, piece in enumerate(more)]
    assert prefix_difference(captured(*history), captured(*history, *later)) == ""


@given(histories, st.data())
def test_any_change_is_named_with_its_place(history: list[RequestPiece], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(history) - 1))
    offset = data.draw(st.integers(0, len(history[place].text)))
    old = history[place]
    text = old.text[:offset] + "\0" + old.text[offset:]
    changed = [*history[:place], RequestPiece(old.role, text, message=place), *history[place + 1 :]]
    same = offset if "\0" not in old.text else None
    found = prefix_difference(captured(*history), captured(*changed))
    assert found.startswith(f"piece {place} of {len(history)}")
    assert same is None or f"parts at character {same}:" in found
    assert prefix_difference(captured(*history), captured(*history[:place])).startswith(f"piece {place} ")


def test_a_tail_may_go_only_where_it_is_the_end() -> None:
    def tail(text: str) -> str:
        return text.partition("[now")[0]

    user, said = RequestPiece("user", "go", message=0), RequestPiece("assistant", "ok", message=1)
    with_part = captured(user, RequestPiece("user", "[now 5 %]", message=0))
    within = captured(RequestPiece("user", "go[now 5 %]", message=0))
    for before in (with_part, within):
        assert prefix_difference(before, captured(user, said), tail) == ""
        assert prefix_difference(before, captured(user, said)) != ""
        kept = captured(*before.pieces, said)
        assert prefix_difference(before, kept, tail) == "", "a tail that stays is content"
        assert prefix_difference(kept, captured(user, said), tail) != "", "it may not go later"
    moved = captured(RequestPiece("system", "base[now 5 %]"), user)
    assert prefix_difference(moved, captured(RequestPiece("system", "base"), user), tail) != "", (
        "nor stand in the system text"
    )
