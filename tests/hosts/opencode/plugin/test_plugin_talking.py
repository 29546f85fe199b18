"""What the plugin tells the daemon, and its tools."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from plugin_conversation import (
    SESSION,
    assistant,
    compacting,
    event,
    remove,
    sent,
    system,
    text,
    there,
    tool,
    touch,
    transform,
    user,
    wait,
)
from plugin_driver import Drive
from wire_server import Answer, WireServer, frame

from hudkit import __version__
from hudkit.api import Hud
from hudkit.daemon.handlers import RequestHandlers
from hudkit.hosts.wire import PROTOCOL, ErrorBody, EventsAccepted, ToolReply
from hudkit.log import Origin
from hudkit.log.payloads import BlockerAdd
from hudkit.tools import DEFINITIONS

pytestmark = pytest.mark.slow  # each starts a JavaScript process

AT = {"sessionID": SESSION}


def call(name: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"tool": name, "input": {"args": args or {}, "at": AT}}


def ids(ask: Any) -> list[str]:
    return [message["info"]["id"] for message in ask.messages]


def test_only_what_is_new_or_changed_is_uploaded(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame(ack="a.7")}
    growing = assistant(2, tool("c1"), time={"created": 2})
    done = assistant(2, tool("c1"), finish="tool-calls")
    drive(
        transform(user(1), growing),
        transform(user(1), done),
        transform(user(1), done),
        transform(user(1), done, user(3)),
    )
    asks = daemon.of("/v1/frame")
    assert [ids(ask) for ask in asks] == [["msg_1", "msg_2"], ["msg_2"], [], ["msg_3"]]
    assert [ask.seen for ask in asks] == [None, "a.7", "a.7", "a.7"]
    assert {(head["hudkit-version"], head["hudkit-protocol"]) for head in daemon.headers} == {
        (__version__, str(PROTOCOL))
    }


def test_what_was_not_acknowledged_is_uploaded_again(daemon: WireServer, drive: Drive) -> None:
    answers = iter([Answer(ErrorBody("internal", "x"), 500), frame(ack=""), frame(ack="a.1"), frame(ack="a.2")])
    daemon.answers = lambda path, body: next(answers) if path == "/v1/frame" else Answer(b"{}")
    drive(*(transform(user(1)) for _ in range(4)))
    assert [ids(ask) for ask in daemon.of("/v1/frame")] == [["msg_1"], ["msg_1"], ["msg_1"], []]


def test_texts_are_cut_to_what_is_read(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame()}
    output = "begin" + "x" * 50_000 + "1 failed"
    heavy = tool("c1", output, metadata={"exit": 1, "diff": "d" * 9_000, "files": [{"before": "b"}]}, attachments=[1])
    image = {"id": "prt_i", "type": "file", "mime": "image/png", "url": "data:image/png;base64," + "A" * 10_000}
    summary = assistant(3, text("s" * 20_000), summary=True, finish="stop")
    before = [user(1, "go", image), assistant(2, {"id": "r", "type": "reasoning", "text": "secret"}, heavy), summary]
    ran = drive(transform(*before))
    assert ran[0]["messages"] == before
    (ask,) = daemon.of("/v1/frame")
    state = ask.messages[1]["parts"][0]["state"]
    assert state["output"].startswith("begin")
    assert state["output"].endswith("1 failed")
    assert 2_000 < len(state["output"]) < 2_100
    assert state["metadata"].keys() == {"exit", "diff"}
    assert len(state["metadata"]["diff"]) < 2_100
    assert ask.messages[0]["parts"][1]["url"] == ""
    assert len(ask.messages[2]["parts"][0]["text"]) == 20_000
    assert b"secret" not in msgspec.json.encode(ask)


def test_a_long_history_goes_beside_the_calls_in_order(daemon: WireServer, drive: Drive, place: Path) -> None:
    """A call in the middle of it brings nothing, though what is left would fit."""
    middle, go_on = place / "middle", place / "go on"

    def answering(path: str, body: bytes) -> Answer:
        if path != "/v1/events":
            return frame() if path == "/v1/frame" else Answer(b"{}")
        if len(daemon.of("/v1/events")) == 2:
            middle.touch()
            while not go_on.exists():
                time.sleep(0.01)
        return Answer(EventsAccepted("a.2"))

    daemon.answers = answering
    long = [user(n, "x" * 1_900) for n in range(1, 160)]
    drive(transform(*long), there(middle), transform(*long), touch(go_on), wait(1), transform(*long, user(500)))
    asks, told = daemon.of("/v1/frame"), daemon.of("/v1/events")
    assert [ids(ask) for ask in asks] == [[], [], ["msg_500"]]
    assert [one for ask in told for one in ids(ask)] == [f"msg_{n}" for n in range(1, 160)]
    assert len(told) == 2
    assert len(ids(told[1])) * 2_100 < 128 * 1024


SUMMARY = assistant(6, text("so far"), summary=True, tokens={"total": 9})
USED = {
    "nothing yet": ([user(1)], None),
    "the host's total": ([user(1), assistant(2, tokens={"total": 1220, "input": 600}), user(3)], 1220),
    "the cached part once": (
        [user(1), assistant(2, tokens={"input": 600, "output": 20, "cache": {"read": 600, "write": 0}})],
        1220,
    ),
    "the newest, wherever it stands": (
        [user(1), assistant(9, tokens={"total": 90}), assistant(2, tokens={"total": 20})],
        90,
    ),
    "unknown after a compaction": (
        [user(5), SUMMARY, user(1), assistant(2, tokens={"total": 80})],
        None,
    ),
    "known again": (
        [user(5), SUMMARY, user(7), assistant(8, tokens={"total": 30})],
        30,
    ),
    "an empty report": ([user(1), assistant(2, tokens={"total": 40}), assistant(3, tokens={"input": 0})], 40),
}


@pytest.mark.parametrize("name", USED)
def test_usage_is_what_the_host_reported_last(name: str, daemon: WireServer, drive: Drive) -> None:
    messages, used = USED[name]
    daemon.answers = {"/v1/frame": frame()}
    drive(transform(*messages), compacting())
    assert [one.used for path in ("/v1/frame", "/v1/compacting") for one in daemon.of(path)] == [used, used]


def test_the_models_limits_are_known_at_the_first_call(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame()}
    model = {"providerID": "fake", "modelID": "m"}
    prompt = {"hook": "chat.message", "input": {"sessionID": SESSION, "agent": "build", "model": model}, "output": {}}
    drive(prompt, transform(user(1)))
    drive(transform(user(1)), system(), transform(user(1)))
    first, unknown, later = daemon.of("/v1/frame")
    limits = [
        (ask.model.id, ask.model.provider, ask.model.limit, ask.model.output) for ask in (first, unknown, later)
    ]
    assert limits == [("m", "fake", 40_000, 4_000), ("m", "fake", 0, 0), ("m", "fake", 40_000, 4_000)]
    assert (first.facts.agent, later.facts.agent) == ("build", None)


def test_events_are_told_once_and_together(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame(ack="a.1"), "/v1/events": Answer(EventsAccepted("a.2"))}
    todos = [{"content": "test it", "status": "pending", "priority": "high", "id": "1"}]
    info = {"id": SESSION, "title": "Fix it", "directory": "/work/project"}
    answer = assistant(2, text("all done"), finish="stop", tokens={"total": 50})
    parts = [
        event("message.part.updated", part={**part, "sessionID": SESSION, "messageID": "msg_2"})
        for part in answer["parts"]
    ]
    drive(
        transform(user(1)),
        event("session.updated", info=info),
        event("todo.updated", sessionID=SESSION, todos=todos),
        event("message.updated", info={**answer["info"], "time": {"created": 2}}),
        *parts,
        event("message.updated", info=answer["info"]),
        event("session.updated", info=info),
        wait(400),
        event("session.idle", sessionID=SESSION),
        event("session.updated", info=info),
        wait(400),
        transform(user(1), answer),
    )
    told, idle = daemon.of("/v1/events")
    assert (ids(idle), idle.todos) == ([], None), "it asks for the whole HUD"
    assert (ids(told), told.facts.title, list(told.todos)) == (["msg_2"], "Fix it", todos)
    assert [part["type"] for part in told.messages[0]["parts"]] == ["text", "step-finish"]
    assert [(ids(ask), ask.seen) for ask in daemon.of("/v1/frame")] == [(["msg_1"], None), ([], "a.2")]


def test_what_could_not_be_told_is_told_later(daemon: WireServer, drive: Drive) -> None:
    answers = iter([Answer(ErrorBody("busy", "x"), 503), Answer(EventsAccepted("a.1"))])
    daemon.answers = lambda path, body: next(answers) if path == "/v1/events" else Answer(b"{}")
    todos = [{"content": "test it"}]
    drive(
        event("todo.updated", sessionID=SESSION, todos=todos),
        wait(400),
        event("session.idle", sessionID=SESSION),
        wait(400),
    )
    assert [list(told.todos or ()) for told in daemon.of("/v1/events")] == [todos, todos]


def test_four_tools_with_their_schemas(daemon: WireServer, drive: Drive) -> None:
    steps = [
        {"hook": "tool.definition", "input": {"toolID": name}, "output": {"jsonSchema": "theirs"}}
        for name in ("hud", "memory", "hud_compact", "memory_compact", "bash")
    ]
    ran = drive(*steps)
    tools = ran.results[0]["tools"]
    assert list(tools) == ["hud", "memory", "hud_compact", "memory_compact"]
    schemas = [ran[n]["jsonSchema"] for n in range(5)]
    assert schemas[:2] == [one["parameters"] for one in DEFINITIONS]
    assert not {"required", "additionalProperties"} & set(schemas[0])
    assert [schema["properties"] for schema in schemas[2:4]] == [{}, {}]
    assert schemas[4] == "theirs"
    assert [tools[one["name"]]["description"] for one in DEFINITIONS] == [one["description"] for one in DEFINITIONS]
    assert set(tools["hud"]["args"]) == {"operation", "text", "item", "details"}


def test_a_routers_call_reaches_the_daemon(daemon: WireServer, drive: Drive) -> None:
    args = {"tool": "task.set", "args": {"description": "é\u2028"}}
    ran = drive(call("hud", args), call("memory", {"tool": "help"}))
    assert [step["text"] for step in ran.results[1:]] == ["Recorded.", "Recorded."]
    assert [(ask.router, ask.arguments) for ask in daemon.of("/v1/tool")] == [
        ("hud", args),
        ("memory", {"tool": "help"}),
    ]


def test_what_a_tool_says_is_never_more_than_what_is_known(daemon: WireServer, drive: Drive) -> None:
    answers = iter(
        [Answer(ToolReply("There is no such step.", False)), Answer(b"{}"), Answer(ErrorBody("full", "x"), 503)]
    )
    daemon.answers = lambda path, body: next(answers) if path == "/v1/tool" else Answer(b"{}")
    ran = drive(*(call("hud", {"tool": "x"}) for _ in range(3)))
    assert [step["text"] for step in ran.results[1:]] == [
        "There is no such step.",
        "hudkit: an answer without text; look before you call again.",
        "hudkit: status 503. It is not certain that this was recorded; look before you call again.",
    ]


def test_a_compaction_that_is_granted_starts_after_the_tool(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": frame()}
    ran = drive(transform(user(1)), call("hud_compact"), call("memory_compact"), wait(50))
    assert ran.calls == [{"path": {"id": SESSION}, "body": {"providerID": "fake", "modelID": "m"}}] * 2
    assert [ask.router for ask in daemon.of("/v1/compact")] == ["hud", "memory"]
    daemon.answers = {"/v1/frame": frame(), "/v1/compact": Answer(ToolReply("Not yet: 10 % are in use.", False))}
    ran = drive(transform(user(1)), call("hud_compact"), wait(50))
    assert (ran.calls, ran.results[2]["text"]) == ([], "Not yet: 10 % are in use.")


def test_forty_calls_are_each_the_beginning_of_the_next(daemon: WireServer, drive: Drive, hud: Hud) -> None:
    """With the real answers: tool steps, parallel tools, new turns, and changes in between, of which the agent's own
    stand in what its calls were answered, and those from outside in blocks."""
    real = RequestHandlers(hud)
    outside = {4, 9, 14, 18, 21, 26, 31, 35, 38}  # before these calls, of which 14, 21 and 35 start a turn
    frames = 0

    def answering(path: str, body: bytes) -> Answer:
        nonlocal frames
        if path == "/v1/hello":
            return Answer(b"{}")
        frames += path == "/v1/frame"
        if path == "/v1/frame" and frames in outside:
            session = hud.session(SESSION, project="/work/project", host="opencode")
            session.append(BlockerAdd(f"asked for {frames}"), origin=Origin.USER)
        status, said = real.answer(path, body)
        return Answer(bytes(said), status)

    daemon.answers = answering
    steps, messages, noted = [], [user(1, "begin")], 0
    for n in range(2, 42):
        steps += [transform(*messages), system()]
        if n % 7 == 0:
            messages += [
                assistant(n * 10, text("done"), finish="stop", tokens={"total": 500 * n}),
                user(n * 10 + 1, "next"),
            ]
        else:
            path = f"/work/project/f{n}.py"
            parts = [
                tool(f"c{n}", f"contents {n}", tool="read", input={"filePath": path}),
                *([tool(f"d{n}", "ok")] if n % 3 == 0 else []),
            ]
            if n % 4 == 0:
                noted += 1
                given = {"tool": "notes.add", "args": {"content": f"found {n}"}}
                steps.append(call("hud", given))
                parts.append(tool(f"h{n}", answer_of(noted), tool="hud", input=given))
            messages.append(assistant(n * 10, *parts, finish="tool-calls", tokens={"total": 500 * n}))
    ran = drive(*steps)
    answers = [answer_of(m) for m, _ in enumerate((n for n in range(4, 42, 4) if n % 7), 1)]
    assert [step["text"] for step in ran.results[1:] if step.get("text")] == answers
    calls = [step["output"] for step in ran.results[1:] if step["output"]]
    bases = [one["system"] for one in calls if "system" in one]
    requests = [one["messages"] for one in calls if "messages" in one]
    assert len(requests) == len(bases) == 40
    assert {json.dumps(base) for base in bases} == {json.dumps(bases[0])}
    assert len(bases[0]) == 1
    for before, after in pairwise(requests):
        assert sent(after).startswith(sent(before, tail=False))
    last = sent(requests[-1])
    assert [last.count(answer) for answer in answers] == [1] * len(answers)
    notes = [last.count(f"note: found {n}\n") for n in range(4, 42, 4) if n % 7]
    assert notes == [1] * (len(answers) - 1) + [0], "each is told once, behind its answer; the newest is still near"
    first = {
        frame: next(n for n, one in enumerate(requests, 1) if f"asked for {frame}\n" in sent(one))
        for frame in outside
    }
    assert first == {frame: frame for frame in outside}, "each block came with the call before which it was asked for"
    assert [last.count(f"blocker: asked for {frame}\n") for frame in outside] == [1] * len(outside)
    turns = [request for request in requests if request[-1]["info"]["role"] == "user"]
    assert len(turns) == 6
    assert all(request[-1]["parts"][-1]["id"] == "prt_hudkit_tail" for request in turns)
    assert sum(sent(request).count("% used") > 0 for request in requests if request not in turns) == 0


def answer_of(note: int) -> str:
    """What the daemon answers to the call that adds a note."""
    return f"Added note n{note}."


def test_a_frame_that_came_too_late_is_not_the_one_that_the_daemon_goes_on_from(
    daemon: WireServer, drive: Drive, place: Path
) -> None:
    late = place / "late"
    answers = iter([frame(mark="1.1"), Answer(frame(mark="1.2").body, pause=600), frame(mark="1.3"), frame()])
    daemon.answers = lambda path, body: next(answers) if path == "/v1/frame" else Answer(b"{}")
    call = transform(user(1))
    drive(call, touch(late), call, remove(late), call, call)
    assert [ask.have for ask in daemon.of("/v1/frame")] == [None, None, "1.1", None]


def question_sizes(daemon: WireServer) -> list[int]:
    return [size for path, size in daemon.sizes if path == "/v1/frame"]


def long_session(length: int, more: int) -> list[Any]:
    """Calls of a session with so many messages, each with one message more; ids have the same number of digits."""
    first = 100_000 - length
    messages = [user(first), *(assistant(n, tool(f"c{n}"), finish="tool-calls") for n in range(first + 1, 100_000))]
    news = [assistant(n, tool(f"c{n}"), finish="tool-calls") for n in range(100_000, 100_000 + more)]
    return [transform(*messages, *news[:n]) for n in range(more + 1)]


def test_a_question_tells_what_changed_however_long_the_session_is(
    daemon: WireServer, drive: Drive, place: Path
) -> None:
    """In bytes: a question of a session of 3,000 messages is as long as one of 60, but for the place's digits."""
    daemon.answers = {"/v1/frame": frame()}
    sizes = {}
    for length in (60, 3_000):
        daemon.sizes.clear()
        daemon.requests.clear()
        first, *others = long_session(length, 3)
        drive(first, wait(1), *others)
        # The history was told beside the first call; the next one may still have some of it.
        *_, before, last = daemon.of("/v1/frame")
        assert len(last.transcript) == length + 3
        assert last.transcript[:-1] == before.transcript
        assert ids(last) == ["msg_100002"]
        sizes[length] = question_sizes(daemon)[-1]
    assert sizes[3_000] - sizes[60] == len("3002") - len("62")
    assert sizes[60] < 1_200


def test_every_change_of_a_transcript_arrives(daemon: WireServer, drive: Drive) -> None:
    """Growth, a cleared output, an answer that failed, a revert, a compaction: as one that is told as a whole."""
    daemon.answers = {"/v1/frame": frame()}
    cleared = tool("c2", time={"start": 1, "end": 2, "compacted": 3})
    refused = assistant(9, error={"name": "APIError"})
    marker = user(10, "", {"id": "prt_c", "type": "compaction"})
    summary = assistant(11, text("what was"), summary=True, finish="stop")
    days = [
        [user(1), assistant(2, tool("c2")), assistant(3, tool("c3"))],
        [user(1), assistant(2, tool("c2")), assistant(3, tool("c3")), refused, assistant(4, tool("c4"), tool("c5"))],
        [user(1), assistant(2, cleared), assistant(3, tool("c3", "longer than it was")), assistant(4, tool("c4"))],
        [user(1), assistant(2, cleared), assistant(3, tool("c3")), user(5)],
        [user(1), user(6)],
        [marker, summary, user(12)],
        [marker, summary, user(12), refused, assistant(13, tool("c13"))],
    ]
    drive(*(transform(*day) for day in days))
    told = daemon.of("/v1/frame")
    assert [ask.since is None for ask in told] == [True, *[False] * 6]
    for ask, day in zip(told, days, strict=True):
        daemon.requests.clear()
        drive(transform(*day))
        (alone,) = daemon.of("/v1/frame")
        assert (ask.transcript, ask.unsent, ask.whole) == (alone.transcript, alone.unsent, alone.whole)


def test_a_daemon_that_was_started_anew_is_told_all_of_it(daemon: WireServer, drive: Drive) -> None:
    def answering(path: str, body: bytes) -> Answer:
        if path == "/v1/frame" and len(daemon.of("/v1/frame")) == 2:
            daemon.forget()
        return frame() if path == "/v1/frame" else Answer(b"{}")

    daemon.answers = answering
    calls = long_session(5, 3)
    drive(*calls)
    told = daemon.of("/v1/frame")
    assert [len(ask.transcript) for ask in told] == [5, 6, 7, 8]
    assert [ask.since for ask in told] == [None, told[0].order, None, told[2].order]
    assert len(question_sizes(daemon)) == 5, "one question more than calls"


def test_what_was_answered_too_late_is_not_built_on(daemon: WireServer, drive: Drive, place: Path) -> None:
    late, asked = place / "late", place / "asked"

    def answering(path: str, body: bytes) -> Answer:
        if path == "/v1/frame" and len(daemon.of(path)) == 2:
            asked.touch()
            while not (place / "over").exists():
                time.sleep(0.01)
        return frame() if path == "/v1/frame" else Answer(b"{}")

    daemon.answers = answering
    first, second, third, fourth = long_session(5, 3)
    drive(first, touch(late), second, remove(late), touch(place / "over"), third, fourth)
    told = daemon.of("/v1/frame")
    assert [ask.since for ask in told] == [None, told[0].order, told[0].order, told[2].order]
    assert [len(ask.transcript) for ask in told] == [5, 6, 7, 8]
