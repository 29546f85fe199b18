"""The HUD in calls: where it stands, what is never touched, and that the client sees nothing of it."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_provider import Answer, Pause, RawProvider, connect, receive

from campaigns import Campaign
from hudkit import Hud, paths
from hudkit.errors import StoreError
from hudkit.hosts.gateway.body_spans import Span, Splice, array_spans, object_spans, read_value, spliced
from hudkit.hosts.gateway.call_shapes import SHAPES
from hudkit.hosts.gateway.conversations import CallSigns, ConversationBook
from hudkit.hosts.gateway.hud_calls import HOST, HudCalls
from hudkit.hosts.gateway.relay import GatewayThread
from hudkit.hosts.host_session import Injection
from hudkit.hosts.in_process import InProcessHud
from hudkit.tokens import Window
from hudkit.tools import DEFINITIONS

Json = dict[str, Any]

pytestmark = pytest.mark.slow

LONG = Campaign("gateway", quick=40, full=300)
KEY = "sk-ant-api03-Never-Kept-0123456789"
WINDOW = Window(400_000, 8_000, None, "user")

# -- calls in three shapes, written as clients write them ----------------------------------------------------------

TOOL: Mapping[str, Json] = {
    "/v1/messages": {"name": "bash", "description": "x", "input_schema": {"type": "object"}},
    "/v1/chat/completions": {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}},
    "/v1/responses": {"type": "function", "name": "bash", "parameters": {"type": "object"}},
}
PATHS = tuple(TOOL)


def call_of(path: str, turns: int, **more: Any) -> Json:
    """A call of a conversation with so many tool calls behind it."""
    if path == "/v1/messages":
        messages: list[Json] = [{"role": "user", "content": "Never touch legacy/. Find the bug."}]
        for n in range(turns):
            use = {"type": "tool_use", "id": f"toolu_{n}", "name": "bash", "input": {"command": f"make part-{n}"}}
            thought = {"type": "thinking", "thinking": "hm é", "signature": f"EqRk{n}=="}
            result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"part {n}: 3 passed"}
            messages += [{"role": "assistant", "content": [thought, use]}, {"role": "user", "content": [result]}]
        marked = messages[-1]
        if isinstance(marked["content"], str):
            marked["content"] = [{"type": "text", "text": marked["content"]}]
        marked["content"][-1]["cache_control"] = {"type": "ephemeral"}
        system = [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}]
        tools = [TOOL[path] | {"cache_control": {"type": "ephemeral"}}]
        return {"model": "claude-sonnet-4-6", "max_tokens": 99, "system": system, "tools": tools,
                "messages": messages, "stream": True, **more}  # fmt: skip
    if path == "/v1/chat/completions":
        messages = [{"role": "system", "content": "You are an agent."}]
        messages.append({"role": "user", "content": "Never touch legacy/. Find the bug."})
        for n in range(turns):
            function = {"name": "bash", "arguments": f'{{"command": "make part-{n}"}}'}
            call = {"id": f"call_{n}", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"call_{n}", "content": f"part {n}: 3 passed"})
        return {"model": "gpt-5", "messages": messages, "tools": [TOOL[path]], "stream": True, **more}
    items: list[Json] = [{"type": "message", "role": "user", "content": "Never touch legacy/. Find the bug."}]
    for n in range(turns):
        items.append(
            {"type": "function_call", "call_id": f"call_{n}", "name": "bash", "arguments": '{"command":"x"}'}
        )
        items.append({"type": "function_call_output", "call_id": f"call_{n}", "output": f"part {n}: 3 passed"})
    return {"model": "gpt-5", "instructions": "You are an agent.", "input": items, "tools": [TOOL[path]],
            "store": False, "stream": True, **more}  # fmt: skip


def answer_of(path: str, calls: list[tuple[str, str, str]], text: str = "") -> bytes:
    """The events of an answer with tool calls (id, name, arguments)."""
    events: list[Any] = []
    if path == "/v1/messages":
        usage = {
            "input_tokens": 5,
            "cache_read_input_tokens": 900,
            "cache_creation_input_tokens": 95,
            "output_tokens": 1,
        }
        events.append({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "usage": usage}})
        blocks = [{"type": "text", "text": text}] if text else []
        blocks += [{"type": "tool_use", "id": id, "name": name, "input": {}} for id, name, _ in calls]
        for n, block in enumerate(blocks):
            written = text if block["type"] == "text" else calls[n - bool(text)][2]
            begun = block | ({"text": ""} if block["type"] == "text" else {})
            kind = {"type": "text_delta", "text": written}
            if block["type"] != "text":
                kind = {"type": "input_json_delta", "partial_json": written}
            events.append({"type": "content_block_start", "index": n, "content_block": begun})
            events.append({"type": "content_block_delta", "index": n, "delta": kind})
            events.append({"type": "content_block_stop", "index": n})
        stop = "tool_use" if calls else "end_turn"
        events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}})
        events.append({"type": "message_stop"})
        return b"".join(b"event: %b\ndata: %b\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events)
    if path == "/v1/chat/completions":
        deltas: list[Json] = [{"role": "assistant", "content": text}]
        for n, (id, name, written) in enumerate(calls):
            function = {"name": name, "arguments": ""}
            deltas.append({"tool_calls": [{"index": n, "id": id, "type": "function", "function": function}]})
            deltas.append({"tool_calls": [{"index": n, "function": {"arguments": written}}]})
        choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
        choices.append([{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}])
        events = [
            {"id": "c", "object": "chat.completion.chunk", "model": "gpt-5", "choices": each} for each in choices
        ]
        return b"".join(b"data: %b\n\n" % json.dumps(e).encode() for e in events) + b"data: [DONE]\n\n"
    items = [{"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
    items = items if text else []
    items += [
        {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": arguments}
        for id, name, arguments in calls
    ]
    events = [{"type": "response.created", "response": {"id": "resp_1", "output": []}}]
    for n, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": n, "item": item})
        events.append({"type": "response.output_item.done", "output_index": n, "item": item})
    usage = {"input_tokens": 1_000, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 900}}
    done = {"id": "resp_1", "status": "completed", "output": items, "usage": usage}
    events.append({"type": "response.completed", "response": done})
    return b"".join(b"event: %b\ndata: %b\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events)


def as_stream(events: bytes, *, head: bytes = b"HTTP/1.1 200 OK") -> list[bytes]:
    lines = b"\r\nContent-Type: text/event-stream\r\nanthropic-ratelimit-unified-5h-remaining: 3\r\nX-Y: z\r\n"
    return [
        head + lines + b"Transfer-Encoding: chunked\r\n\r\n",
        *(b"%x\r\n%b\r\n" % (len(part), part) for part in (events[n : n + 37] for n in range(0, len(events), 37))),
        b"0\r\n\r\n",
    ]


class Setup:
    """A gateway with the HUD before a provider whose answers a test tells."""

    def __init__(
        self, folder: Path, provider: RawProvider, calls: HudCalls, book: ConversationBook, url: str
    ) -> None:
        self.folder, self.provider, self.calls, self.book, self.url = folder, provider, calls, book, url

    def send(self, path: str, body: Json | bytes, *headers: str) -> tuple[bytes, bytes, Json | None]:
        """Send a call; return the head and the body of the answer, and what the provider got, read."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json", f"X-Api-Key: {KEY}", *headers]
        head = "\r\n".join([*lines, f"Content-Length: {len(raw)}", "", ""]).encode()
        with connect(self.url) as connection:
            connection.sendall(head + raw)
            response = b""
            while not response.partition(b"\r\n\r\n")[1]:
                response += receive(connection, 1)
            connection.settimeout(60)
            answer = _body(connection, response)
        try:
            return response, answer, json.loads(self.sent)
        except ValueError:
            return response, answer, None

    @property
    def sent(self) -> bytes:
        """The body that the provider got last."""
        return self.provider.requests[-1].partition(b"\r\n\r\n")[2]


def _body(connection: Any, head: bytes) -> bytes:
    low = head.lower()
    if b"transfer-encoding: chunked" not in low:
        return receive(connection, int(low.partition(b"content-length:")[2].partition(b"\r\n")[0] or b"0"))
    out = b""
    while True:
        line = b""
        while not line.endswith(b"\r\n"):
            more = receive(connection, 1)
            if not more:
                return out
            line += more
        size = int(line, 16)
        out += receive(connection, size + 2)[:size]
        if not size:
            return out


@contextmanager
def gateway(folder: Path, answer: Callable[[bytes], Answer], **options: Any) -> Iterator[Setup]:
    attached = InProcessHud(folder / "hudkit.db", host=HOST, project=folder)
    book = ConversationBook(paths.gateway_path(folder / "hudkit.db"))
    calls = HudCalls(attached, book, window=WINDOW, **options)
    calls.warm_up()
    try:
        with RawProvider(answer) as provider, GatewayThread(provider.url, calls) as running:
            yield Setup(folder, provider, calls, book, running.url)
    finally:
        calls.close()
        book.close()
        attached.close()


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "30")


def without(text: bytes, insertions: bytes) -> bool:
    """Whether `insertions`, taken in order, is all of `text` with something between."""
    rest = iter(text)
    return all(byte in rest for byte in insertions)


# -- the client's bytes ----------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(value=st.dictionaries(st.text(max_size=6), VALUES, max_size=6), indent=st.sampled_from([None, 0, 2]),
       ascii=st.booleans(),
       gap=st.sampled_from([",", ", ", " ,\n"]), colon=st.sampled_from([":", " : "]))  # fmt: skip
def test_places_in_any_json_are_those_of_its_values(
    value: Json, indent: int | None, ascii: bool, gap: str, colon: str
) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=ascii, separators=(gap, colon)).encode("utf-8", "replace")
    spans = object_spans(body, Span(0, len(body)))
    assert {key: read_value(body, span) for key, span in spans.items()} == json.loads(body)
    for key, span in spans.items():
        if isinstance(value[key], list):
            inner = [read_value(body, each) for each in array_spans(body, span)]
            assert inner == json.loads(body)[key]
        put = spliced(body, [Splice(span.end, b" ")])
        assert json.loads(put) == json.loads(body)


def item_of(path: str, kind: str, n: int) -> Json:
    """One message: what the user said, an answer, a call, its result, a result with words behind."""
    use = {"type": "tool_use", "id": f"t{n}", "name": "bash", "input": {"command": f"make {n}"}}
    result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"part {n}"}
    words = {"type": "text", "text": f"go on {n}"}
    function = {"name": "bash", "arguments": f'{{"command": "make {n}"}}'}
    user, assistant = {"role": "user", "content": f"say {n}"}, {"role": "assistant", "content": f"said {n}"}
    shapes: dict[str, tuple[Json, Json, Json, Json]] = {
        "/v1/messages": (
            {"role": "assistant", "content": [words, use]},
            {"role": "user", "content": [result]},
            {"role": "user", "content": [result, words]},
            {"role": "user", "content": [words | {"cache_control": {"type": "ephemeral"}}]},
        ),
        "/v1/chat/completions": (
            {"role": "assistant", "tool_calls": [{"id": f"t{n}", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": f"t{n}", "content": f"part {n}"},
            {"role": "system", "content": f"mind {n}"},
            {"role": "user", "content": [words]},
        ),
        "/v1/responses": (
            {"type": "function_call", "call_id": f"t{n}", "name": "bash", "arguments": function["arguments"]},
            {"type": "function_call_output", "call_id": f"t{n}", "output": f"part {n}"},
            {"role": "developer", "content": f"mind {n}"},
            {"role": "user", "content": [{"type": "input_text", "text": f"go on {n}"}]},
        ),
    }
    return dict(zip(KINDS, (user, assistant, *shapes[path]), strict=True))[kind]


KINDS = ("user", "assistant", "call", "result", "mixed", "marked")
ITEMS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 2)), min_size=1, max_size=8)


@pytest.mark.parametrize("path", PATHS)
@given(steps=st.lists(st.tuples(st.integers(0, 12), ITEMS, st.integers(0, 3)), min_size=2, max_size=6))
def test_what_is_read_on_from_the_call_before_is_what_is_read_from_the_beginning(
    path: str, steps: list[tuple[int, list[tuple[str, int]], int]]
) -> None:
    items: list[Json] = []
    for stays, more, lead in steps:
        items = items[:stays] + [item_of(path, *each) for each in more]
        key = "input" if path == "/v1/responses" else "messages"
        body = json.dumps({"model": "x" * lead, key: items, "tools": [TOOL[path]]}).encode()
        after_others, alone = (
            SHAPES[path.removeprefix("/v1")](body),
            SHAPES[path.removeprefix("/v1")](body, str(body)),
        )
        assert after_others.items == alone.items
        assert after_others.entries == alone.entries


@pytest.mark.parametrize("path", PATHS)
@given(turns=st.integers(0, 6), indent=st.sampled_from([None, 2]), blocks=st.lists(st.text(max_size=30), max_size=3),
       base=st.text(min_size=1, max_size=60))  # fmt: skip
@settings(max_examples=40)
def test_all_bytes_of_a_call_are_there_in_their_order_and_those_before_the_hud_untouched(
    path: str, turns: int, indent: int | None, blocks: list[str], base: str
) -> None:
    body = json.dumps(call_of(path, turns), indent=indent).encode()
    call = SHAPES[path.removeprefix("/v1")](body)
    last = len(call.entries) - 1
    changed = call.with_hud(Injection(base, {last: tuple(blocks)}, "the tail"), {}, DEFINITIONS)
    assert without(changed, body), "nothing of the client's is gone"
    first = next(n for n, (own, other) in enumerate(zip(body, changed, strict=False)) if own != other)
    # Up to the first insertion, tools or system prompt, all is the client's; and each message up to the last one.
    sent, asked = json.loads(changed), json.loads(body)
    assert changed[:first] == body[:first]
    assert sent["tools"][: len(asked["tools"])] == asked["tools"]
    key = "input" if path == "/v1/responses" else "messages"
    system = path == "/v1/chat/completions"
    assert sent[key][system : len(asked[key]) - 1] == asked[key][system : len(asked[key]) - 1]
    assert changed.count(b"cache_control") == body.count(b"cache_control") <= 4, "no breakpoint of ours"
    assert all(json.dumps(text)[1:-1] in json.dumps(sent) for text in [base, *blocks, "the tail"])


def test_blocks_stand_in_front_of_a_prompt_that_its_client_marks_for_the_cache() -> None:
    """What stands behind the mark is processed at full price, and once more when it is written. Results are first."""
    mark = {"cache_control": {"type": "ephemeral"}}
    results = [{"type": "tool_result", "tool_use_id": "c1", "content": "done"} | mark]
    for content, order in (
        ([{"type": "text", "text": "Go on."} | mark], ["[hud 1] a", "[hud 1] b", "Go on.", "the tail"]),
        ("Go on.", ["[hud 1] a", "[hud 1] b", "Go on.", "the tail"]),
        (results, ["done\n[hud 1] a\n[hud 1] b", "the tail"]),
        (
            [{**results[0], "content": [{"type": "text", "text": "done"}]}],
            [["done", "[hud 1] a", "[hud 1] b"], "the tail"],
        ),
    ):
        body = call_of("/v1/messages", 0)
        body["messages"] = [
            {"role": "user", "content": "Begin."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {}}]},
            {"role": "user", "content": content},
        ]
        call = SHAPES["/messages"](json.dumps(body).encode())
        behind = {len(call.entries) - 1: ("[hud 1] a", "[hud 1] b")}
        for tail, last in (("the tail", order), ("", order[:-1])):
            sent = json.loads(call.with_hud(Injection("base", behind, tail), {}, DEFINITIONS))["messages"][-1]
            texts = [block.get("text") or block["content"] for block in sent["content"]]
            assert [[part["text"] for part in each] if isinstance(each, list) else each for each in texts] == last


@pytest.mark.parametrize("path", PATHS)
def test_a_call_goes_out_with_the_hud_and_its_answer_comes_back_byte_for_byte(path: str, tmp_path: Path) -> None:
    events = answer_of(path, [("c1", "bash", '{"command": "ls"}')], "I look.")
    with gateway(tmp_path, lambda _: as_stream(events)) as setup:
        head, answer, sent = setup.send(path, call_of(path, 0), "Accept-Encoding: gzip, br")
        assert answer == events
        assert b"anthropic-ratelimit-unified-5h-remaining: 3\r\n" in head, "every header of the answer is there"
        assert b"X-Y: z\r\n" in head and head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert f"X-Api-Key: {KEY}".encode() in setup.provider.requests[-1], "and every header of the call"
        text = json.dumps(sent)
        assert "Your HUD" in text and "Never touch legacy/" in text and '"hud"' in text
        state = _state(setup)
        assert [rule.text for rule in state.constraints] == ["Never touch legacy/"]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
def test_an_answer_to_a_call_with_the_hud_is_not_held_back(path: str, tmp_path: Path) -> None:
    """Each event but the last ones, which say whether more is asked for, is there before the next one is made."""
    *events, _ = answer_of(path, [("c1", "bash", '{"command": "ls"}')], "I look.").split(b"\n\n")
    shown = [event for event in events if b"I look." in event or b"bash" in event]
    steps = [Event() for _ in events]
    head, *_ = as_stream(b"")
    chunks = [b"%x\r\n%b\n\n\r\n" % (len(event) + 2, event) for event in events]
    answer = [head, *(piece for step, chunk in zip(steps, chunks, strict=True) for piece in (Pause(step), chunk))]
    with gateway(tmp_path, lambda _: [*answer, b"0\r\n\r\n"]) as setup, connect(setup.url) as connection:
        raw = json.dumps(call_of(path, 0)).encode()
        lines = [f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(raw)}"]
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + raw)
        seen = b""
        for step, event in zip(steps, events, strict=True):
            step.set()
            while event in shown and event not in seen:
                part = connection.recv(65536)
                assert part
                seen += part
        while not seen.endswith(b"0\r\n\r\n"):
            part = connection.recv(65536)
            assert part
            seen += part
        assert b"Your HUD" in setup.sent and len(shown) == 2


def test_an_hour_that_a_client_asks_of_the_cache_is_asked_of_the_provider(tmp_path: Path) -> None:
    """Its header and its marks go on as they are, and every other header but the two that change."""
    body = call_of("/v1/messages", 1)
    body["system"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    own = [
        "anthropic-beta: extended-cache-ttl-2025-04-11,other",
        "X-Twice: 1",
        "X-Twice: 2",
        "Authorization: Bearer t",
    ]
    with gateway(tmp_path, lambda _: as_stream(answer_of("/v1/messages", [], "ok"))) as setup:
        sent = setup.send("/v1/messages", body, *own)[2]
        lines = setup.provider.requests[-1].partition(b"\r\n\r\n")[0].decode().split("\r\n")
    assert sent is not None and "Your HUD" in json.dumps(sent["system"])
    assert sent["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert json.dumps(sent).count('"ttl"') == 1
    assert [line for line in lines if line in own] == own


def _state(setup: Setup) -> Any:
    session = setup.book.all()[-1].session
    with Hud.open(setup.folder / "hudkit.db") as board:
        return board.session(session, project=setup.folder, host=HOST).state


UNTOUCHED: Mapping[str, tuple[str, Json]] = {
    "count_tokens": ("/v1/messages/count_tokens", call_of("/v1/messages", 2)),
    "batches": ("/v1/messages/batches", call_of("/v1/messages", 2)),
    "no tools": ("/v1/chat/completions", call_of("/v1/chat/completions", 2, tools=[])),
    "no tools at all": ("/v1/messages", {"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
    "a title": ("/v1/messages", call_of("/v1/messages", 0, system="You are a title generator. Be short.")),
    "a summary of OpenCode": (
        "/v1/chat/completions",
        {
            **call_of("/v1/chat/completions", 2),
            "messages": [
                {"role": "system", "content": "You are an anchored context summarization agent."},
                {"role": "user", "content": "Summarize."},
            ],
        },
    ),
    "a summary of Claude Code": (
        "/v1/messages",
        call_of(
            "/v1/messages",
            0,
            messages=[
                {"role": "user", "content": "Fix it."},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."},
            ],
        ),
    ),
    "kept by the provider": ("/v1/responses", call_of("/v1/responses", 0, previous_response_id="resp_0")),
    "kept there later": ("/v1/responses", call_of("/v1/responses", 0, store=True)),
    "a HUD of its own": (
        "/v1/messages",
        call_of("/v1/messages", 0, tools=[{"name": "mcp__hudkit__hud", "input_schema": {"type": "object"}}]),
    ),
    "several answers": ("/v1/chat/completions", call_of("/v1/chat/completions", 1, n=2)),
    "no calls allowed": ("/v1/chat/completions", call_of("/v1/chat/completions", 1, tool_choice="none")),
    "no object": ("/v1/messages", {"messages": 7}),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_calls_that_are_no_step_of_an_agent_go_as_they_came(name: str, tmp_path: Path) -> None:
    path, body = UNTOUCHED[name]
    with gateway(tmp_path, lambda _: as_stream(b"data: {}\n\n")) as setup:
        raw = json.dumps(body, indent=1).encode()
        setup.send(path, raw)
        assert setup.sent == raw
        assert not setup.book.all(), "and nothing is recorded"


def test_bodies_that_are_no_json_or_compressed_go_as_they_came(tmp_path: Path) -> None:
    whole = json.dumps(call_of("/v1/messages", 1)).encode()
    with gateway(tmp_path, lambda _: as_stream(b"data: {}\n\n")) as setup:
        for raw, header in (
            (whole[:-1], "X-A: b"),
            (b'{"model": "a", ' + whole[1:], "X-A: b"),  # a key that is there twice
            (gzip.compress(whole), "Content-Encoding: gzip"),
            (whole, "Hudkit: off"),
            (whole, "Origin: https://elsewhere.example"),
        ):
            setup.send("/v1/messages", raw, header)
            assert setup.sent == raw, header


# -- the provider's cache --------------------------------------------------------------------------------------


@LONG
@pytest.mark.parametrize("path", PATHS)
def test_what_was_once_forwarded_is_never_written_anew(path: str, tmp_path: Path) -> None:
    """Each call's content is a prefix of the next one's, but for the tail of a turn's start: also where the agent
    records something with each call, where the gateway starts anew, and where a client marks other messages."""
    key = "input" if path == "/v1/responses" else "messages"
    requests: list[Json] = []

    def answer(request: bytes) -> list[bytes]:
        requests.append(json.loads(request.partition(b"\r\n\r\n")[2]))
        n = len(requests)
        if n % 5 == 2:
            note = json.dumps({"operation": "notes.add", "text": f"fact number {n}"})
            return as_stream(answer_of(path, [(f"own_{n}", "hud", note)]))
        return as_stream(answer_of(path, [(f"c_{n}", "bash", "{}")]))

    half = LONG.rounds // 2
    for rounds in (range(half), range(half, LONG.rounds)):
        with gateway(tmp_path, answer) as setup:
            for turns in rounds:
                setup.send(path, call_of(path, turns))
    assert len(requests) > LONG.rounds
    assert {len(each["tools"]) for each in requests} == {3}
    prompts = (each.get("system") or each.get("instructions") or each[key][0] for each in requests)
    systems = {json.dumps(_unmarked(prompt)) for prompt in prompts}
    assert len(systems) == 1, "one base"
    for before, after in pairwise(requests):
        old, new = _content(before[key]), _content(after[key])
        assert old == new[: len(old)]


def _content(items: list[Json]) -> list[str]:
    """What a provider's cache reads of messages, a text for each block: marks are none of it, and the tail may go."""
    out = []
    for item in items:
        content = item.get("content", item.get("output"))
        for block in [content] if isinstance(content, str) else content or [item]:
            # A text alone is one block of text.
            is_text = isinstance(block, dict) and str(block.get("type")).endswith("text")
            value = block["text"] if is_text else block
            text = value if isinstance(value, str) else json.dumps(_unmarked(value), sort_keys=True)
            if not text.startswith("Context: "):
                out.append(text.partition("\n\nContext: ")[0])
    return out


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(each) for key, each in value.items() if key not in ("cache_control", "status")}
    return [_unmarked(each) for each in value] if isinstance(value, list) else value


# -- tools -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_calls_of_the_hud_are_answered_inside_and_never_shown(path: str, tmp_path: Path) -> None:
    note = json.dumps({"operation": "notes.add", "text": "prices are in cents"})
    answers = iter([
        answer_of(path, [("own_1", "hud", note)], "Noted. "),
        answer_of(path, [("own_2", "hud", note), ("c_1", "bash", '{"command": "ls"}')], "Now."),
        answer_of(path, []),
    ])  # fmt: skip
    with gateway(tmp_path, lambda _: as_stream(next(answers))) as setup:
        _, seen, sent = setup.send(path, call_of(path, 0))
        assert b"own_1" not in seen and b"own_2" not in seen and b'"hud"' not in seen and b"notes.add" not in seen
        assert b"Noted. " in seen and b"Now." in seen and b"c_1" in seen
        begin, end = {
            "/v1/messages": (b'"message_start"', b'"message_stop"'),
            "/v1/chat/completions": (b'"finish_reason": null', b"[DONE]"),
            "/v1/responses": (b'"response.created"', b'"response.completed"'),
        }[path]
        assert seen.count(end) == 1, "it ends once"
        assert path == "/v1/chat/completions" or seen.count(begin) == 1, "and begins once"
        assert "Added note" in json.dumps(sent), "the model was told"
        assert [each.content for each in _state(setup).notes] == ["prices are in cents"]
        setup.send(path, call_of(path, 1))
        assert "own_1" in json.dumps(json.loads(setup.sent)), "what it said stands where it stood"
        assert "own_2" in json.dumps(json.loads(setup.sent))


@pytest.mark.parametrize("path", PATHS)
def test_where_the_model_cannot_be_asked_again_the_client_is_told_why(path: str, tmp_path: Path) -> None:
    first = as_stream(answer_of(path, [("own_1", "hud", "{}")]))
    error = b'{"error": {"type": "rate_limit_error", "message": "slow down"}}'
    refused = (
        b"HTTP/1.1 429 Too Many\r\nRetry-After: 9\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    )
    answers = iter([first, [refused % (len(error), error)]])
    with gateway(tmp_path, lambda _: next(answers)) as setup:
        _, seen, _ = setup.send(path, call_of(path, 0))
        assert b"slow down" in seen and b"error" in seen


@pytest.mark.parametrize("path", PATHS[:2])
def test_an_answer_that_is_no_stream_is_merged_into_one(path: str, tmp_path: Path) -> None:
    def whole(calls: list[str], text: str) -> list[bytes]:
        if path == "/v1/messages":
            content = [{"type": "text", "text": text}]
            content += [{"type": "tool_use", "id": f"i_{name}", "name": name, "input": {}} for name in calls]
            value: Json = {
                "content": content,
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 3, "output_tokens": 1},
            }
        else:
            tool_calls = [
                {"id": f"i_{name}", "type": "function", "function": {"name": name, "arguments": "{}"}}
                for name in calls
            ]
            message = {"role": "assistant", "content": text, "tool_calls": tool_calls}
            value = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": None}
        raw = json.dumps(value, indent=1).encode()
        return [
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Y: z\r\nContent-Length: %d\r\n\r\n" % len(raw),
            raw,
        ]

    answers = iter([whole(["hud"], "One. "), whole(["bash"], "Two."), whole(["bash"], "Three.")])
    with gateway(tmp_path, lambda _: next(answers)) as setup:
        head, seen, _ = setup.send(path, call_of(path, 0, stream=False))
        read = json.loads(seen)
        assert b"X-Y: z" in head and "i_hud" not in json.dumps(read) and "i_bash" in json.dumps(read)
        assert "One. " in json.dumps(read) and "Two." in json.dumps(read)
        _, seen, _ = setup.send(path, call_of(path, 1, stream=False))
        assert seen == whole(["bash"], "Three.")[1], "without a call of ours, the very bytes"


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_that_is_compressed_all_the_same_shows_no_call_of_ours(path: str, tmp_path: Path) -> None:
    packed = [gzip.compress(answer_of(path, [(id, name, "{}")])) for id, name in (("own_1", "hud"), ("c_1", "bash"))]
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    )
    answers = iter([[head % len(each), each] for each in packed])
    with gateway(tmp_path, lambda _: next(answers)) as setup:
        head, seen, _ = setup.send(path, call_of(path, 0))
        assert b"c_1" in seen and b"own_1" not in seen and b"content-encoding" not in head.lower()


def test_without_a_hud_a_call_in_chunks_passes_as_it_came(tmp_path: Path) -> None:
    body = json.dumps(call_of("/v1/messages", 1)).encode()
    lines = b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
    answer = as_stream(answer_of("/v1/messages", []))
    calls = HudCalls(None, ConversationBook(None))
    with RawProvider(lambda _: answer) as provider, GatewayThread(provider.url, calls) as running:
        rest = b"Transfer-Encoding: chunked\r\n\r\n7\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n"
        call = lines % provider.port + rest % (body[:7], len(body) - 7, body[7:])
        with connect(running.url) as connection:
            connection.sendall(call)
            assert receive(connection, sum(map(len, answer))) == b"".join(answer)
        assert provider.requests == [call]
    assert [row.hud for row in calls.book.receipts()] == [False]
    calls.close()
    calls.book.close()


# -- failing open ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_with_a_log_that_does_not_answer_calls_go_with_what_stood_before(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gateway(tmp_path, lambda _: as_stream(b"data: {}\n\n")) as setup:
        setup.send(path, call_of(path, 0))
        _, _, before = setup.send(path, call_of(path, 1))
        monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "1")
        blocker = sqlite3.connect(tmp_path / "hudkit.db", isolation_level=None)
        blocker.execute("begin exclusive")
        _, _, after = setup.send(path, call_of(path, 2))
        blocker.execute("rollback")
        blocker.close()
        assert before is not None and after is not None
        key = "input" if path == "/v1/responses" else "messages"
        old, new = _content(before[key]), _content(after[key])
        assert old == new[: len(old)] and len(new) > len(old)
        for name in ("system", "instructions", "tools"):
            assert _unmarked(before.get(name)) == _unmarked(after.get(name))


def test_without_a_log_calls_go_as_they_came(tmp_path: Path) -> None:
    (tmp_path / "hudkit.db").write_bytes(b"no log" * 1_000)
    with gateway(tmp_path, lambda _: as_stream(b"data: {}\n\n")) as setup:
        raw = json.dumps(call_of("/v1/messages", 2)).encode()
        setup.send("/v1/messages", raw)
        assert setup.sent == raw


def test_with_a_full_disk_calls_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gateway(tmp_path, lambda _: as_stream(b"data: {}\n\n")) as setup:
        _, _, before = setup.send("/v1/messages", call_of("/v1/messages", 0))

        def full(*_: Any, **__: Any) -> Any:
            raise StoreError("the disk is full")

        monkeypatch.setattr(setup.calls.attached.hud.log, "append", full)  # type: ignore[union-attr]
        _, seen, after = setup.send("/v1/messages", call_of("/v1/messages", 1))
        assert seen == b"data: {}\n\n" and before is not None and after is not None
        assert _unmarked(before["system"]) == _unmarked(after["system"])


def test_the_kill_switch_works_on_a_gateway_that_runs(tmp_path: Path) -> None:
    on = [True]
    with gateway(tmp_path, lambda _: as_stream(b"data: {}\n\n"), switch=lambda: on[0]) as setup:
        raw = json.dumps(call_of("/v1/messages", 1)).encode()
        setup.send("/v1/messages", raw)
        assert setup.sent != raw
        on[0] = False
        setup.send("/v1/messages", raw)
        assert setup.sent == raw


def test_keys_are_nowhere_afterwards(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with gateway(tmp_path, lambda _: as_stream(answer_of("/v1/messages", [("a", "hud", "{}")]))) as setup:
        setup.send("/v1/messages", call_of("/v1/messages", 1), f"Authorization: Bearer {KEY}")
    files = [Path(folder, name) for folder, _, names in os.walk(tmp_path) for name in names]
    assert len(files) > 2 and not [file for file in files if KEY.encode() in file.read_bytes()]
    assert KEY not in caplog.text


# -- conversations ---------------------------------------------------------------------------------------------


def test_conversations_are_told_apart_and_known_again(tmp_path: Path) -> None:
    path = "/v1/messages"
    with gateway(tmp_path, lambda _: as_stream(answer_of(path, []))) as setup:
        for turns in range(4):
            setup.send(path, call_of(path, turns))
        (first,) = setup.book.all()
        other = call_of(path, 2)
        other["messages"][0]["content"] = "Count the files."
        setup.send(path, other)
        assert len(setup.book.all()) == 2, "other words are another conversation"
        branch = call_of(path, 2)
        branch["messages"].append({"role": "user", "content": "No, do it the other way."})
        setup.send(path, branch)
        assert len(setup.book.all()) == 3, "a fork is another session"
        setup.send(path, call_of(path, 4))
        assert len(setup.book.all()) == 3, "and the conversation goes on beside it"
        newest = setup.book.all()[-1]
        assert newest.session == first.session
    with gateway(tmp_path, lambda _: as_stream(answer_of(path, []))) as setup:
        setup.send(path, call_of(path, 5))
        assert setup.book.all()[-1].session == first.session, "also in another process"


def test_the_newest_conversation_is_the_one_that_was_called_last_where_the_clock_went_back(tmp_path: Path) -> None:
    own = ConversationBook(tmp_path / "gateway.db")
    first = own.find(CallSigns(["a", "b"], list, 1))
    own.remember(first, ["a", "b"], 90_000)
    other = ConversationBook(tmp_path / "gateway.db")
    assert [each.session for each in other.all()] == [first.session]
    fork = own.find(CallSigns(["a", "c"], list, 0))
    known = [*own.remember(first, ["a", "b"], 1_000), *own.remember(fork, ["a", "c"], 1_000)]
    assert len(set(known)) == 3, "what a fork adds has times that its source has not"
    later = ConversationBook(tmp_path / "gateway.db")
    for book in (own, other, later):
        assert [each.session for each in book.all()] == [first.session, fork.session]
        book.close()


# -- receipts --------------------------------------------------------------------------------------------------


def test_receipts_have_the_providers_own_figures(tmp_path: Path) -> None:
    path = "/v1/messages"
    with gateway(tmp_path, lambda _: as_stream(answer_of(path, []))) as setup:
        for turns in range(3):
            setup.send(path, call_of(path, turns))
        (row,) = setup.book.receipts()
        assert (row.calls, row.reported, row.hud) == (3, 3, True)
        assert (row.cost.read, row.cost.written, row.cost.fresh, row.cost.output) == (2_700, 285, 15, 27)
        assert row.times is not None and row.times > 1


def test_half_of_the_conversations_can_go_without_the_hud(tmp_path: Path) -> None:
    book = ConversationBook(None, half=True)
    attached = InProcessHud(tmp_path / "hudkit.db", host=HOST, project=tmp_path)
    calls = HudCalls(attached, book, window=WINDOW)
    answer = as_stream(answer_of("/v1/messages", []))
    with RawProvider(lambda _: answer) as provider, GatewayThread(provider.url, calls) as running:
        setup = Setup(tmp_path, provider, calls, book, running.url)
        for n in range(4):
            body = call_of("/v1/messages", 1)
            body["messages"][0]["content"] = f"Task {n}."
            setup.send("/v1/messages", body)
    assert sorted(row.hud for row in book.receipts()) == [False, False, True, True]
    calls.close()
    attached.close()
    book.close()
