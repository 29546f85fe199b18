"""What is said over the wire: frames as the library's, uploads told once, sessions apart, hostile bodies refused."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from in_process import frame, post

from hudkit.api import Hud
from hudkit.clock import uuid7
from hudkit.daemon.client import DaemonConnection
from hudkit.daemon.handlers import RequestHandlers
from hudkit.hosts.wire import PROTOCOL
from hudkit.hud.frame import join_layers
from hudkit.log.payloads import ContextSnapshot, FrameBase, FrameDelta, type_of
from hudkit.log.stores.recovery import repair
from opencode_messages import anchored, bash, read, response, tool, user
from waiting import PATIENCE

pytestmark = pytest.mark.slow

MODEL = {"id": "m", "provider": "p", "limit": 40_000, "output": 4_000, "input": 0}
DAY = [
    user(1, "Make the tests pass"),
    response(2, read("c1", "a.py"), read("c2", "b.py")),
    response(3, bash("c3", "pytest tests/x.py", 1, "1 failed")),
    response(4, tool("c4", "edit", {"filePath": "/tmp/a.py"}), bash("c5", "pytest tests/x.py", 0, "1 passed")),
    response(5, finish="stop", used=31_000),
    user(6, "Now the docs"),
]


def facts(hud: Hud, name: str | None = None) -> list[tuple[str, Any]]:
    """What the log holds of a session, but for the calls' own events."""
    session = hud.session(name or hud.sessions()[0])
    own = (FrameBase, FrameDelta)
    kept = (event for event in session.events() if not isinstance(event.payload, own))
    calls = (event for event in kept if not (isinstance(event.payload, ContextSnapshot) and event.payload.call))
    return [(event.origin.value, event.payload) for event in calls]


def talk(daemon: Any, messages: list[dict[str, Any]], session: str = "ses_1", **more: Any) -> list[dict[str, Any]]:
    """One frame a message, each with what is new."""
    answers: list[dict[str, Any]] = []
    for n, message in enumerate(messages, 1):
        answers.append(
            daemon.ask(
                "/v1/frame",
                session=session,
                model=MODEL,
                transcript=[anchored(each) for each in messages[:n]],
                messages=[message],
                facts={"title": "Report", "agent": "build", "parent": None},
                seen=answers[-1]["ack"] if answers else None,
                used=None,
                **more,
            )
        )
    return answers


def test_frames_over_the_wire_are_the_librarys_byte_for_byte(running: Any) -> None:
    answers = talk(running, DAY)
    with Hud.open(running.db) as hud:
        session = hud.session(hud.sessions()[0])
        calls = [event.seq for event in session.events() if getattr(event.payload, "call", None)]
        frames = [session.frame_at(seq) for seq in calls]
        assert len(frames) == len(answers)
        for answer, frame in zip(answers, frames, strict=True):
            assert answer["base"] == frame.base and answer["tail"] == frame.tail
            assert answer["deltas"] == [msgspec.to_builtins(one) for one in frame.deltas]
            assert [answer[name] for name in ("epoch", "tag", "tokens", "budget")] == [
                frame.epoch,
                frame.tag,
                frame.tokens,
                frame.budget,
            ]
            whole = join_layers(answer["base"], *(delta["text"] for delta in answer["deltas"]), answer["tail"])
            assert whole == frame.text
    assert answers[-1]["deltas"] and len({answer["base"] for answer in answers}) == 1
    assert "78 %" in answers[-1]["tail"] or "31" in answers[-1]["tail"]


def test_uploads_are_told_once_also_after_a_restart(daemon: Any) -> None:
    process = daemon.start()
    daemon.ask("/v1/events", messages=DAY, facts={"title": "Report"}, todos=[{"content": "one", "status": "pending"}])
    with Hud.open(daemon.db) as hud:
        once = facts(hud)
    assert [type_of(payload) for _, payload in once] == [
        "session.start",
        "session.start",
        "file.open",
        "file.open",
        "context.snapshot",
        "command.ran",
        "error.encountered",
        "context.snapshot",
        "file.edit",
        "command.ran",
        "error.resolved",
        "context.snapshot",
        "context.snapshot",
        "session.start",
        "todo.sync",
    ]
    for again in (DAY, DAY[:2], DAY[3:], list(reversed(DAY))):
        daemon.ask("/v1/events", messages=again)
    process.kill()
    process.wait()
    daemon.start()
    for again in (DAY[:3], DAY[2:4], DAY, [DAY[0]]):
        daemon.ask("/v1/events", messages=again, facts={"title": "Report"}, todos=[{"content": "one"}])
    with Hud.open(daemon.db) as hud:
        assert facts(hud) == once


def test_a_message_that_grows_is_told_as_it_grows(daemon: Any) -> None:
    process = daemon.start()
    first, second = read("c1", "a.py"), tool("c2", "read", {"filePath": "/tmp/b.py"}, status="running")
    growing = response(2, first, second, finish="")
    growing["info"]["time"].pop("completed")
    growing["info"]["tokens"]["total"] = 0
    daemon.ask("/v1/events", messages=[user(1), growing])
    process.kill()
    process.wait()
    daemon.start()
    second["state"]["status"] = "completed"
    daemon.ask("/v1/events", messages=[user(1), response(2, first, second)])
    with Hud.open(daemon.db) as hud:
        files = hud.session(hud.sessions()[0]).state.files
        opened = [payload.path for _, payload in facts(hud) if type_of(payload) == "file.open"]
    assert opened == ["a.py", "b.py"] and len(files) == 2


def test_an_old_message_settles_no_newer_error_after_a_restart(daemon: Any) -> None:
    process = daemon.start()
    passed, failed = response(2, bash("c1", "make test", 0)), response(3, bash("c2", "make test", 2, "broken"))
    daemon.ask("/v1/events", messages=[user(1), passed, failed])
    process.kill()
    process.wait()
    daemon.start()
    daemon.ask("/v1/events", messages=[passed])  # its output was pruned, say
    with Hud.open(daemon.db) as hud:
        assert [error.message for error in hud.session(hud.sessions()[0]).state.errors.open]
    daemon.ask("/v1/events", messages=[response(4, bash("c3", "make test", 0))])
    with Hud.open(daemon.db) as hud:
        assert not hud.session(hud.sessions()[0]).state.errors.open


def test_two_sessions_do_not_mix(running: Any) -> None:
    for name, words in (("ses_a", "alpha"), ("ses_b", "beta")):
        given = {"tool": "task.set", "args": {"description": f"Task {words}"}}
        assert running.ask("/v1/tool", session=name, router="hud", arguments=given)["ok"]
    frames = {name: running.ask("/v1/frame", session=name)["base"] for name in ("ses_a", "ses_b")}
    assert "alpha" in frames["ses_a"] and "beta" not in frames["ses_a"]
    assert "beta" in frames["ses_b"] and "alpha" not in frames["ses_b"]
    other = running.ask("/v1/frame", session="ses_a", directory="/")["base"]
    assert "alpha" not in other  # another project


def test_a_restart_keeps_the_bytes(daemon: Any) -> None:
    process = daemon.start()
    before = talk(daemon, DAY)[-1]
    process.kill()
    process.wait()
    daemon.start()
    again = daemon.ask(
        "/v1/frame",
        model=MODEL,
        transcript=[anchored(each) for each in DAY],
        messages=[],
        seen=before["ack"],
        used=None,
    )
    assert {**again, "ack": "", "whole": ""} == {**before, "ack": "", "whole": ""}


def test_a_lost_log_acknowledges_nothing(running: Any) -> None:
    assert running.ask("/v1/events", messages=DAY[:1], seen="a.9999")["ack"] == ""
    assert running.ask("/v1/events", messages=DAY[:1], seen=None)["ack"] != ""


def test_a_subagent_knows_its_parent_and_a_parent_its_child(running: Any) -> None:
    task = tool("c9", "task", {"description": "look"}, metadata={"sessionId": "ses_child"})
    running.ask("/v1/events", session="ses_main", messages=[user(1), response(2, task)])
    running.ask("/v1/events", session="ses_child", messages=[user(3)], facts={"parent": "ses_main"})
    with Hud.open(running.db) as hud:
        main, child = (hud.session(name, project="/tmp", host="opencode").state for name in ("ses_main", "ses_child"))
        spoken = [o for o, p in facts(hud, hud.sessions()[1]) if getattr(p, "request", "")]
    assert [(link.relation, link.session_id) for link in main.session.links] == [("child", "ses_child")]
    assert [(link.relation, link.session_id) for link in child.session.links] == [("parent", "ses_main")]
    assert spoken == ["agent"]


def test_a_fork_takes_up_state_and_bytes(daemon: Any) -> None:
    process = daemon.start()
    talk(daemon, DAY[:3])
    said = {"tool": "decisions.record", "args": {"summary": "Keep the columns"}}
    daemon.ask("/v1/tool", router="hud", arguments={"tool": "notes.add", "args": {"content": "before the fork"}})
    main = talk(daemon, DAY[:3])[-1]
    time.sleep(0.01)
    process.kill()
    process.wait()
    daemon.start()
    fork = [msgspec.json.decode(msgspec.json.encode(each)) for each in DAY[:3]]
    for n, each in enumerate(fork):
        each["info"]["id"] = f"msg_fork{n}"
        for part in each["parts"]:
            part["id"] = f"prt_fork{n}"
    whole = {"transcript": [anchored(each) for each in fork], "messages": fork, "model": MODEL}
    daemon.ask("/v1/events", session="ses_fork", facts={"title": "Report (fork)"})  # the host tells of it first
    late = daemon.ask("/v1/frame", session="ses_fork", **{**whole, "messages": []})  # its history comes later
    answer = daemon.ask("/v1/frame", session="ses_fork", facts={"title": "Report (fork)"}, **whole)
    assert late["base"] == answer["base"]
    with Hud.open(daemon.db) as hud:
        state = hud.session("ses_fork", project="/tmp", host="opencode").state
    assert [(link.relation, link.session_id) for link in state.session.links] == [("fork", "ses_1")]
    assert state.session.host_session == "ses_fork"
    assert [file.path for file in state.files] == ["a.py", "b.py"] and len(state.errors.open) == 1
    assert answer["base"] == main["base"] and answer["tag"] == main["tag"]
    assert answer["deltas"][: len(main["deltas"])] == main["deltas"] and state.notes[0].content == "before the fork"
    daemon.ask("/v1/tool", session="ses_fork", router="hud", arguments=said)
    assert "columns" not in str(daemon.ask("/v1/frame", **whole))
    stranger = daemon.ask("/v1/frame", session="ses_new", directory="/", **whole)
    assert stranger["tag"] != main["tag"]


def test_a_fork_in_the_middle_takes_up_nothing_from_after_it(running: Any) -> None:
    talk(running, DAY)
    running.ask("/v1/events", session="ses_fork", messages=DAY[:2])
    with Hud.open(running.db) as hud:
        state = hud.session("ses_fork", project="/tmp", host="opencode").state
        found = facts(hud, "ses_fork")
    assert [link.relation for link in state.session.links] == ["fork"]
    assert [file.path for file in state.files] == ["a.py", "b.py"] and not state.errors.items
    assert state.session.request == "Make the tests pass"
    running.ask("/v1/events", session="ses_fork", messages=DAY[:3])
    with Hud.open(running.db) as hud:
        new = [type_of(payload) for _, payload in facts(hud, "ses_fork")[len(found) :]]
    assert new == ["command.ran", "error.encountered", "context.snapshot"], "of the third message"


def test_compactions(running: Any) -> None:
    running.ask("/v1/tool", router="hud", arguments={"tool": "task.set", "args": {"description": "Port the report"}})
    unknown = running.ask("/v1/compact", router="hud")
    assert not unknown["ok"] and "not known" in unknown["text"]
    running.ask("/v1/frame", model=MODEL, used=10_000)
    little = running.ask("/v1/compact", router="memory")
    assert not little["ok"] and "25 %" in little["text"]
    running.ask("/v1/frame", model=MODEL, used=30_000)
    assert running.ask("/v1/compact", router="hud")["ok"]
    prompt = running.ask("/v1/compacting", used=30_000)["prompt"]
    assert "Port the report" in prompt
    for title in ("Goal", "Instructions", "Discoveries", "Accomplished", "Relevant files", "Notes"):
        assert f"## {title}\n" in prompt
    marker = user(7)
    marker["parts"] = [{"id": "p", "type": "compaction", "auto": True}]
    summary = response(8, {"id": "t", "type": "text", "text": "Where we are"}, finish="stop", summary=True)
    running.ask("/v1/events", messages=[marker, summary])
    with Hud.open(running.db) as hud:
        state = hud.session(hud.sessions()[0]).state
        kinds = [type_of(payload) for _, payload in facts(hud) if type_of(payload).startswith("compact.")]
    assert kinds == ["compact.before", "compact.before", "compact.after"]
    assert state.compacted.summary == "Where we are" and state.window.used_tokens is None
    assert state.task.description == "Port the report"


HOSTILE = [
    (b"", 400),
    (b"{", 400),
    (b"[]", 400),
    (b"\xff\xfe", 400),
    (b'{"host":"opencode"}', 400),
    (b"[" * 100_000, 400),
    (b'{"a":' * 100_000, 400),
    (
        b'{"host":"opencode","session":"s","directory":"","messages":['
        + b'{"a":' * 20_000
        + b"1"
        + b"}" * 20_000
        + b"]}",
        400,
    ),
    (b'{"host":"opencode","session":"s","directory":"","messages":{}}', 400),
    (b'{"host":"opencode","session":7,"directory":""}', 400),
    (b'{"host":"evil","session":"s","directory":""}', 400),
    (b'{"host":"opencode","session":"s","directory":"","origin":"user"}', 400),
    (b'{"host":"opencode","session":"s","directory":"","trust":"system"}', 400),
    (b'{"host":"opencode","session":"s","directory":"","used":1e400}', 400),
    (b'{"host":"opencode","session":"s","directory":"","used":-1}', 400),
    (b'{"host":"opencode","session":"' + b"s" * 300 + b'","directory":""}', 400),
    (b'{"host":"opencode","session":"a\\u0000b","directory":""}', 400),
    (b'{"host":"opencode","session":"s","directory":"a\\u0000b"}', 400),
    (b'{"host":"opencode","session":"s","directory":"","facts":{"title":"half \\ud83d"}}', 200),
    (
        b'{"host":"opencode","session":"s","directory":"","messages":[{},{"info":3},{"info":{"role":"user"},"parts":7}]}',
        200,
    ),
    (b" " * (2 * 1024 * 1024), 413),
]


def test_hostile_bodies_are_refused_and_the_daemon_goes_on(running: Any) -> None:
    for body, expected in HOSTILE:
        for path in ("/v1/frame", "/v1/events"):
            if b'"used"' in body and path == "/v1/events":
                continue
            status, answer = running.sent(path, body)
            assert status == expected, (body[:80], path, answer)
            if status != 200:
                assert set(answer) == {"error"} and set(answer["error"]) == {"code", "message", "hint"}
                assert "Traceback" not in str(answer) and len(str(answer)) < 600
        assert DaemonConnection(running.socket).exchange("/health", None)[0] == 200
    assert running.asked("/v1/tool", router="rm", arguments={})[0] == 400
    assert running.asked("/v1/tool", router="hud", arguments={"tool": "nonsense"})[1]["ok"] is False
    assert running.sent("/v1/nowhere", b"{}")[0] == 404
    assert DaemonConnection(running.socket).exchange("/v1/frame", None)[0] == 405


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE events SET body = CAST(replace(body, '\"', ' ') AS BLOB)",
        "UPDATE events SET turn = turn + 1",
        "UPDATE events SET link = zeroblob(32)",
        "DELETE FROM events",
    ],
)
def test_one_damaged_event_makes_no_session_dark(running: Any, edit: str) -> None:
    note = {"tool": "notes.add", "args": {"content": "the port is 8080"}}
    assert running.ask("/v1/tool", session="ses_bad", router="hud", arguments=note)["ok"]
    running.ask("/v1/events", session="ses_bad", messages=DAY[:2])
    running.ask("/v1/events", session="ses_good", messages=DAY[:2])
    with sqlite3.connect(running.db) as db:
        db.execute(f"{edit} WHERE session_id LIKE '%ses_bad%' AND seq = 2")
    assert running.sent("/v1/stop", b"{}")[0] == 200
    running.processes[0].wait(10)
    running.start()
    frame = running.ask(
        "/v1/frame",
        session="ses_bad",
        messages=[*DAY[:2], DAY[5]],
        transcript=[anchored(each) for each in [*DAY[:2], DAY[5]]],
    )
    assert "event 2 is damaged and left out; to mend the log: hudkit repair" in frame["tail"]
    assert "the port is 8080" in frame["base"] and frame["ack"] and not frame["notice"]
    second = {"tool": "notes.add", "args": {"content": "the user is bob"}}
    assert running.ask("/v1/tool", session="ses_bad", router="hud", arguments=second)["ok"]
    assert running.ask("/v1/events", session="ses_bad", messages=DAY[:4])["ack"]
    assert "the user is bob" in running.ask("/v1/compacting", session="ses_bad")["prompt"]
    good = running.ask(
        "/v1/frame",
        session="ses_good",
        messages=[*DAY[:2], DAY[5]],
        transcript=[anchored(each) for each in [*DAY[:2], DAY[5]]],
    )
    assert good["ack"] and "damaged" not in good["tail"]


def test_a_log_that_cannot_be_opened_is_served_from_what_verifies(daemon: Any) -> None:
    daemon.start()
    note = {"tool": "notes.add", "args": {"content": "the port is 8080"}}
    daemon.ask("/v1/tool", router="hud", arguments=note)
    assert daemon.sent("/v1/stop", b"{}")[0] == 200
    daemon.processes[0].wait(10)
    data = bytearray(daemon.db.read_bytes())
    data[16:24] = b"\xff" * 8  # the size of a page, which SQLite cannot do without
    daemon.db.write_bytes(data)
    daemon.start()
    frame = daemon.ask("/v1/frame", messages=DAY[:1], transcript=[anchored(DAY[0])])
    assert "the port is 8080" in frame["base"] and frame["ack"] == ""
    assert "state: read-only (damaged)" in frame["tail"] and "hudkit repair" in frame["tail"]
    other = {"tool": "notes.add", "args": {"content": "the user is bob"}}
    answer = daemon.ask("/v1/tool", router="hud", arguments=other)
    assert not answer["ok"], "nothing is acknowledged that is not recorded"
    assert daemon.sent("/v1/stop", b"{}")[0] == 200
    daemon.processes[1].wait(10)
    assert repair(daemon.db, 1, uuid7).lost == ()
    daemon.start()
    assert daemon.ask("/v1/frame", messages=DAY[:1], transcript=[anchored(DAY[0])])["ack"]


def test_a_log_that_refuses_stops_no_call_and_acknowledges_nothing(running: Any) -> None:
    before = talk(running, DAY[:2])[-1]
    other = sqlite3.connect(running.db, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(running.ask, "/v1/frame", messages=DAY[:3], seen=before["ack"], model=MODEL)
        assert DaemonConnection(running.socket, PATIENCE).exchange("/health", None)[0] == 200
        assert not waiting.done(), "who asks for its health does not wait for the log"
        answer = waiting.result()
    assert answer["base"] == before["base"] and answer["ack"] == "" and "read-only" in answer["notice"]
    assert running.asked("/v1/events", messages=DAY[:3])[0] == 503
    other.close()
    assert running.ask("/v1/events", messages=DAY[:3])["ack"]
    with Hud.open(running.db) as hud:
        assert len(hud.session(hud.sessions()[0]).state.errors.open) == 1


def test_the_protocol_is_asked_for(running: Any) -> None:
    import http.client

    refused = ("", str(PROTOCOL - 2), str(PROTOCOL + 1), f"{PROTOCOL}.0")
    spoken = {str(PROTOCOL): 200} | dict.fromkeys(refused, 426)
    for told, expected in (({}, 426), *(({"hudkit-protocol": one}, status) for one, status in spoken.items())):
        connection = DaemonConnection(running.socket)
        body = b'{"host":"opencode","session":"s","directory":""}'
        http.client.HTTPConnection.request(connection, "POST", "/v1/frame", body, told)
        answer = connection.getresponse()
        assert answer.status == expected, answer.read()
        assert answer.headers["hudkit-protocol"] == str(PROTOCOL) and answer.headers["hudkit-version"]
        connection.close()


@pytest.mark.parametrize("directory", ["/tmp/" + "a" * 300, "/proc/1/root/x", "relative"])
def test_a_directory_that_cannot_be_looked_at_has_its_frame(answering: RequestHandlers, directory: str) -> None:
    said = post(
        answering, "/v1/tool", directory=directory, router="hud", arguments={"tool": "notes.add", "content": "kept"}
    )
    assert said["ok"]
    assert "kept" in frame(answering, directory=directory)["base"]
