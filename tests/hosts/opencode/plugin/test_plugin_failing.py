"""A daemon that is dead, hung, slow, lying or old never costs a call: what was last good stays, byte for byte."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import pytest
from plugin_conversation import SESSION, assistant, compacting, sent, system, text, tool, transform, user, wait
from plugin_driver import Drive
from wire_server import Answer, WireServer, frame

from hudkit.hosts.wire import PROTOCOL, DeltaLayer, ErrorBody, Hello

pytestmark = pytest.mark.slow  # each starts a JavaScript process

CHANGE = "[hud 000001] note: x\n"
GOOD = frame("# HUD\n", "fresh tail\n", (DeltaLayer("1.1", "user:1:", "user", CHANGE),))
TURN = [user(1, "go"), assistant(2, tool("c1", "made"))]
NEXT = [*TURN, assistant(3, text("ok")), user(4, "more")]

WRONG: dict[str, tuple[Answer, str]] = {
    "hung": (Answer(b"{}", pause=600), "no answer within 200 ms"),
    "slow": (Answer(GOOD.body, pause=10), "no answer within 200 ms"),
    "garbage": (Answer(b"\x00\xff<html>"), "no JSON"),
    "nothing": (Answer(b""), "no JSON"),
    "a list": (Answer(b"[]"), "a wrong answer"),
    "null": (Answer(b"null"), "a wrong answer"),
    "no frame": (Answer(b"{}"), "no frame"),
    "half a frame": (
        Answer(b'{"base": "# X\\n", "deltas": [{"id": 1}], "tail": "", "ack": "a", "mark": "1.1"}'),
        "no frame",
    ),
    "no mark": (Answer(b'{"base":"# X\\n","deltas":[],"tail":"","ack":"a"}'), "no frame"),
    "another form": (
        Answer(
            b'{"base":"","deltas":[{"id":"1","anchor":"a","text":"t","form":"all"}],"tail":"","ack":"a","mark":"1.1"}'
        ),
        "no frame",
    ),
    "a giant": (frame("x" * 100_000), "no frame"),
    "an error": (Answer(ErrorBody("internal", "broken"), 500), "status 500"),
    "an error with words": (
        Answer(b'{"error": {"message": "the log\\u001b[2J is\\nfull"}}', 503),
        "the log [2J is full",
    ),
    "an older protocol": (Answer(GOOD.body, protocol="0.5"), f"protocol 0.5, not {PROTOCOL}"),
    "a newer protocol": (Answer(GOOD.body, protocol=str(PROTOCOL + 1)), f"protocol {PROTOCOL + 1}, not {PROTOCOL}"),
    "a stranger": (Answer(GOOD.body, protocol=None), "a stranger answered"),
}


@pytest.mark.parametrize("name", WRONG)
def test_without_an_answer_the_last_good_frame_stays(
    name: str, daemon: WireServer, drive: Drive, place: Path
) -> None:
    answer, why = WRONG[name]
    asked = 0

    def answering(path: str, body: bytes) -> Answer:
        nonlocal asked
        asked += path == "/v1/frame"
        good = {"/v1/frame": GOOD, "/v1/hello": Answer(Hello("0", 1, 1, 1)), "/v1/stop": Answer(b"{}")}
        if path != "/v1/frame" or asked == 1:
            return good[path]
        if answer.pause:
            (place / "late").touch()
        return answer

    daemon.answers = answering
    ran = drive(transform(*TURN), system(), transform(*TURN), system(), transform(*NEXT), system())
    assert [ran[n]["system"] for n in (1, 3, 5)] == [["You\n\n# HUD\n"]] * 3
    good, tools, turn = (ran[n]["messages"] for n in (0, 2, 4))
    assert tools == good  # in a tool step not one byte changes
    assert sent(turn, tail=False).startswith(sent(good))
    (said,) = [part["text"] for part in turn[-1]["parts"] if part["id"] == "prt_hudkit_tail"]
    assert said == "HUD: may be a turn old.\n"
    assert why in ran.logged
    assert all(line.isprintable() for line in ran.logged.splitlines())


@pytest.mark.parametrize("name", ["garbage", "an error with words", "a stranger"])
def test_without_any_frame_one_line_says_why_at_the_start_of_a_turn(
    name: str, daemon: WireServer, drive: Drive
) -> None:
    answer, why = WRONG[name]
    daemon.answers = {"/v1/frame": answer}
    ran = drive(transform(*TURN), system(), transform(*NEXT), system())
    assert ran[0]["messages"] == TURN, "not within a turn"
    assert [ran[n]["system"] for n in (1, 3)] == [["You"]] * 2, "the stable part of the prompt is not touched"
    assert ran[2]["messages"][:-1] == NEXT[:-1]
    (line,) = [part["text"] for part in ran[2]["messages"][-1]["parts"] if part["id"] == "prt_hudkit_tail"]
    assert line.startswith("hudkit: no HUD: ") and why in line and line.endswith("hudkit doctor\n")
    assert line.count("\n") == 1 and len(line) < 300


@pytest.mark.parametrize("whose", ["everybody's", "another user's"])
def test_a_socket_where_others_may_listen_is_told_nothing(
    whose: str, daemon: WireServer, drive: Drive, place: Path
) -> None:
    """A directory in `/tmp` that somebody made before the user's daemon did."""
    if whose == "everybody's":
        place.chmod(0o777)
    elif os.geteuid():
        pytest.skip("only root can give a directory away")
    else:
        os.chown(place, 65534, -1)
    daemon.answers = {"/v1/frame": GOOD}
    ran = drive(transform(user(1)), system())
    (line,) = [part["text"] for part in ran[0]["messages"][-1]["parts"] if part["id"] == "prt_hudkit_tail"]
    assert "others can write the directory of the socket" in line and ran[1]["system"] == ["You"]
    assert daemon.requests == [], "nothing was sent"


def test_why_no_daemon_starts_is_said_in_the_first_turn(place: Path, drive: Drive) -> None:
    """A fresh process of the plugin, whose daemon ends at its start."""
    failing = place / "python"
    failing.write_text(f"#!/bin/sh\nprintf 'the log is\\033[2J full\\n' > {place}/d.sock.failed\nexit 2\n")
    failing.chmod(0o700)
    ran = drive(transform(user(1)), system(), python=str(failing))
    (line,) = [part["text"] for part in ran[0]["messages"][-1]["parts"] if part["id"] == "prt_hudkit_tail"]
    assert line == "hudkit: no HUD: the log is [2J full; the user can run: hudkit doctor\n"
    assert ran[1]["system"] == ["You"]


@pytest.mark.parametrize("name", ["hung", "slow"])
def test_without_any_frame_the_call_goes_out_as_it_is(name: str, daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": WRONG[name][0], "/v1/compacting": WRONG[name][0]}
    ran = drive(transform(*TURN), system(), transform(*NEXT), compacting(), by_the_clock=True)
    assert ran[0]["messages"] == TURN
    assert ran[1]["system"] == ["You"]
    assert ran[2]["messages"] == NEXT
    assert ran[3] == {"context": [], "prompt": None}


def test_a_deadline_that_has_passed_already_asks_nothing(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": GOOD}
    ran = drive(transform(*TURN), system(), deadline_ms=0)
    assert (ran[0]["messages"], ran[1]["system"]) == (TURN, ["You"])
    assert daemon.of("/v1/frame") == []


SLOW_WRITING = """
import { appendFileSync } from "node:fs";
let clock = 1_000;
performance.now = () => clock;
const write = JSON.stringify;
JSON.stringify = (...given) => {
  if (given[0]?.transcript) clock += 150;
  return write(...given);
};
const bounded = within;
within = (promise, ms) => {
  appendFileSync("PLACE/bounds", `${ms}\\n`);
  return bounded(promise, 60_000);
};
"""


def test_the_time_to_write_a_question_is_a_part_of_its_deadline(
    place: Path, daemon: WireServer, drive: Drive
) -> None:
    daemon.answers = {"/v1/frame": GOOD}
    ran = drive(transform(*TURN), system(), deadline_ms=200, added=SLOW_WRITING.replace("PLACE", str(place)))
    assert ran[1]["system"] != ["You"]
    assert (place / "bounds").read_text().split() == ["200", "50"], "of the greeting, and of the frame"


@pytest.mark.slow
def test_each_question_has_a_connection_of_its_own(daemon: WireServer, drive: Drive) -> None:
    """One that is kept breaks when the daemon is killed, and the next question would be lost with it: nobody could
    say whether it was carried out, in place of starting a daemon and asking that."""
    drive(transform(*TURN), system(), transform(*NEXT), system())
    assert daemon.connections == len(daemon.headers) > 1


def test_nobody_on_the_socket(place: Path, drive: Drive) -> None:
    (place / "d.sock").unlink(missing_ok=True)
    ran = drive(
        transform(*TURN),
        system(),
        {"tool": "hud", "input": {"args": {}, "at": {"sessionID": SESSION}}},
        tools_ms=1_500,
    )
    assert (ran[0]["messages"], ran[1]["system"]) == (TURN, ["You"])
    assert ran.results[3]["text"] == "hudkit: its interpreter cannot be run (ENOENT). Nothing was recorded."


def test_a_socket_that_nobody_answers_on(place: Path, drive: Drive) -> None:
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(place / "d.sock"))
        deaf.listen()
        ran = drive(transform(*TURN), compacting(), by_the_clock=True)
    assert (ran[0]["messages"], ran[1]) == (TURN, {"context": [], "prompt": None})


def test_messages_that_no_host_sends(daemon: WireServer, drive: Drive) -> None:
    """Whatever the hooks are given, they do not throw."""
    daemon.answers = {"/v1/frame": GOOD}
    odd = [[{}], [{"info": {}, "parts": None}], [{"info": {"sessionID": SESSION}, "parts": [{}, {"type": "tool"}]}]]
    names = ("experimental.chat.messages.transform", "experimental.chat.system.transform")
    steps = [{"hook": name, "input": {}, "output": {"messages": one}} for one in odd for name in names]
    kinds = ("session.created", "todo.updated", "message.updated", "message.part.updated", "session.idle", "x")
    events = [{"hook": "event", "input": {"event": {"type": kind}}, "output": None} for kind in kinds]
    rest = [
        {"hook": name, "input": {}, "output": {}}
        for name in ("tool.definition", "config", "chat.message", "chat.params", "experimental.session.compacting")
    ]
    ran = drive(*steps, *events, *rest, transform(user(1)))
    assert sent(ran[len(steps) + len(events) + len(rest)]["messages"]).endswith("fresh tail\n")


def test_compaction_without_a_prompt_carries_the_last_frame(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": GOOD, "/v1/compacting": WRONG["an error"][0]}
    assert drive(transform(user(1)), compacting())[1] == {"context": [f"# HUD\n\n\n{CHANGE}"], "prompt": None}


def test_compaction_without_a_prompt_carries_a_base_that_stands_behind_a_message(
    daemon: WireServer, drive: Drive
) -> None:
    first = DeltaLayer("1.0", "user:1:", "user", "# HUD\n")
    daemon.answers = {"/v1/frame": frame("", "", (first,)), "/v1/compacting": WRONG["an error"][0]}
    assert drive(transform(user(1)), compacting())[1] == {"context": ["# HUD\n"], "prompt": None}


STAND_IN = """#!{python}
import os, sys, time
parent = os.getppid()
sys.path[:0] = {path!r}
from pathlib import Path
with open({said!r}, "a") as file: file.write(repr(sys.argv[1:]) + "\\n")
from wire_server import WireServer, frame
with WireServer(Path({socket!r}), {{"/v1/frame": frame("# started\\n")}}):
    while os.getppid() == parent: time.sleep(0.05)
"""


def stand_in(place: Path) -> str:
    """An executable in the interpreter's place that notes its arguments and answers for a while."""
    script = place / "python"
    fields = {"path": sys.path, "said": str(place / "said"), "socket": str(place / "d.sock")}
    script.write_text(STAND_IN.format(python=sys.executable, **fields))
    script.chmod(0o700)
    return str(script)


def test_the_daemon_is_started_where_there_is_none_and_is_there_for_the_first_call(place: Path, drive: Drive) -> None:
    ran = drive(transform(user(1)), system(), python=stand_in(place))
    assert ran[1]["system"] == ["You\n\n# started\n"]
    assert (place / "said").read_text().splitlines() == [
        repr(["-P", "-E", "-m", "hudkit.daemon", "--socket", str(place / "d.sock"), "--db", str(place / "hudkit.db")])
    ]


def test_it_is_started_once_in_ten_seconds_however_often_it_is_missed(place: Path, drive: Drive) -> None:
    failing = place / "python"
    failing.write_text(f"#!/bin/sh\necho x >> {place}/said\nexit 1\n")
    failing.chmod(0o700)
    drive(*(transform(user(n)) for n in range(1, 6)), wait(300), python=str(failing))
    assert (place / "said").read_text() == "x\n"


@pytest.mark.slow
def test_after_uninstalling_a_running_opencode_starts_nothing(place: Path, drive: Drive) -> None:
    ran = drive(transform(user(1)), python=stand_in(place), plugin=False, by_the_clock=True)
    time.sleep(0.1)
    assert ran[0]["messages"] == [user(1)]
    assert not (place / "said").exists()


def test_a_daemon_from_before_an_upgrade_is_asked_to_stop(daemon: WireServer, drive: Drive) -> None:
    old = Answer(Hello("0", 0, 1, 1), protocol="0.9")
    daemon.answers = {"/v1/hello": old, "/v1/frame": WRONG["an older protocol"][0]}
    drive(transform(user(1)), transform(user(1)), wait(50))
    assert len(daemon.of("/v1/stop")) == 1
