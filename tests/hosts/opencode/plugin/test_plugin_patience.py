"""How long a call waits by what is at stake, what it goes out with where nothing comes, and when nobody waits."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from plugin_conversation import (
    SESSION,
    assistant,
    compacting,
    event,
    gone,
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

from hudkit.hosts.wire import (
    PROTOCOL,
    CompactingResponse,
    DeltaLayer,
    ErrorBody,
    ErrorResponse,
    EventsAccepted,
    FrameResponse,
    ToolReply,
)

pytestmark = pytest.mark.slow  # each starts a JavaScript process

CHANGE = "[hud 000001] note: x\n"
WHOLE = "# The whole HUD\n\n- note: x\n"
TURN = [user(1, "go"), assistant(2, tool("c1", "made"))]
SUMMARY = assistant(3, text("so far"), summary=True, finish="stop")
AFTER = [user(2, "What did we do so far?"), SUMMARY, user(5, "go on")]
HUD: dict[str, Any] = {"tool": "hud", "input": {"args": {"tool": "notes.add"}, "at": {"sessionID": SESSION}}}


def good(whole: str = WHOLE) -> Answer:
    made = frame("# HUD\n", "", (DeltaLayer("1.1", "user:1:", "user", CHANGE),))
    fields = {name: getattr(made.body, name) for name in FrameResponse.__struct_fields__}
    return Answer(FrameResponse(**{**fields, "whole": whole}))


BOUNDS = """
import { appendFileSync } from "node:fs";
performance.now = () => 1_000;
const unbounded = exchange;
exchange = (path, body, ms) => {
  appendFileSync("PLACE/bounds", `${path} ${ms}\\n`);
  return unbounded(path, body, 60_000);
};
"""


def test_a_call_waits_by_what_is_at_stake(daemon: WireServer, drive: Drive, place: Path) -> None:
    """Where an epoch begins the frame is all that the agent has; before a summary it is all that stays."""
    daemon.answers = {"/v1/frame": good()}
    other = [{**message, "info": {**message["info"], "sessionID": "ses_child"}} for message in TURN]
    drive(
        transform(*TURN),
        transform(*TURN),
        transform(*other),
        compacting(),
        transform(*TURN),
        transform(*AFTER),
        transform(*AFTER),
        by_the_clock=True,
        added=BOUNDS.replace("PLACE", str(place)),
    )
    asked = [line.split() for line in (place / "bounds").read_text().splitlines()]
    asked = [[path, ms] for path, ms in asked if path != "/v1/events"]
    first, later = ["/v1/frame", "2000"], ["/v1/frame", "200"]
    # the third question for a frame is of another session, the last two follow the compaction
    assert asked == [["/v1/hello", "200"], first, later, first, ["/v1/compacting", "4000"], first, later]


def test_a_daemon_that_is_just_starting_is_waited_for_where_it_counts(place: Path, drive: Drive) -> None:
    """OpenCode's start does not wait for it, the first call does."""
    (place / "d.sock").unlink(missing_ok=True)
    starting = place / "python"
    starting.write_text(f"#!/bin/sh\ntouch {place}/started\nexec sleep 1000\n")
    starting.chmod(0o700)
    serving = """
const unserved = exchange;
let frames = 0;
ready = async () => void startDaemon();
exchange = async (path, body, ms) => {
  if (path !== "/v1/frame" || ++frames > 3) return unserved(path, body, ms);
  throw new NoAnswer("it cannot be reached", false);
};
"""
    with WireServer(place / "d.sock", {"/v1/frame": good()}) as server:
        ran = drive(transform(*TURN), system(), python=str(starting), added=serving)
    assert ran[1]["system"] == ["You\n\n# HUD\n"]
    assert len(server.of("/v1/frame")) == 1


# -- nothing in time ---------------------------------------------------------------------------------------------


def test_after_a_compaction_the_whole_hud_stands_in(daemon: WireServer, drive: Drive, place: Path) -> None:
    """Base and changes of before leave out what the transcript told, which the summary has swallowed."""
    answers = {
        "/v1/frame": good(),
        "/v1/compacting": Answer(CompactingResponse("Carry on.", "# As of the summary\n")),
    }
    daemon.answers = answers
    late = place / "late"

    def answering(path: str, body: bytes) -> Answer:
        if path == "/v1/frame" and late.exists():
            return Answer(b"{}", pause=600)
        return answers.get(path) or Answer(EventsAccepted("a.1"))

    daemon.answers = answering
    ran = drive(
        transform(*TURN), system(), compacting(), transform(*TURN), touch(late), transform(*AFTER), system(),
        transform(*AFTER), system(),
    )  # fmt: skip
    assert [ran[n]["system"] for n in (6, 8)] == [["You\n\n# As of the summary\n"]] * 2
    assert CHANGE not in sent(ran[5]["messages"])
    assert sent(ran[5]["messages"]).endswith("HUD: may be a turn old.\n")


@pytest.mark.parametrize("whence", ["/v1/frame", "/v1/events", "/v1/tool"])
def test_each_answer_brings_the_whole_hud(whence: str, daemon: WireServer, drive: Drive, place: Path) -> None:
    late = place / "late"
    bodies = {
        "/v1/frame": good(WHOLE if whence == "/v1/frame" else "").body,
        "/v1/events": EventsAccepted("a.1", WHOLE if whence == "/v1/events" else ""),
        "/v1/tool": ToolReply("Added.", True, WHOLE if whence == "/v1/tool" else ""),
    }

    def answering(path: str, body: bytes) -> Answer:
        return Answer(b"{}", pause=600) if late.exists() else Answer(bodies.get(path, b"{}"))

    daemon.answers = answering
    done = assistant(2, tool("c1", "made"), finish="tool-calls")
    ran = drive(
        transform(*TURN), HUD, event("message.updated", info=done["info"]),
        event("session.compacted", sessionID=SESSION), wait(400), touch(late), transform(*AFTER), system(),
    )  # fmt: skip
    assert ran[7]["system"] == [f"You\n\n{WHOLE}"]


def test_a_restarted_plugin_has_the_last_frame_without_a_daemon(drive: Drive, place: Path) -> None:
    with WireServer(place / "d.sock", {"/v1/frame": good()}):
        first = drive(transform(*TURN), system(), wait(50))
    (place / "d.sock").unlink()
    again = drive(transform(*TURN), system(), transform(*AFTER), system())
    assert again[1]["system"] == first[1]["system"] == ["You\n\n# HUD\n"]
    assert sent(again[0]["messages"], tail=False) == sent(first[0]["messages"])
    assert again[3]["system"] == [f"You\n\n{WHOLE}"], "after a compaction"
    kept = place / "frames" / f"{SESSION}.json"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (kept, kept.parent)] == [0o600, 0o700]
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_only_so_many_frames_are_kept_and_a_strange_one_is_none(drive: Drive, place: Path) -> None:
    folder = place / "frames"
    folder.mkdir()
    for number in range(80):
        (folder / f"ses_old{number}.json").write_text("{}")
    (folder / f"{SESSION}.json").write_text('{"schema": 1, "base": 5, "summary": "", "whole": ""}')
    ran = drive(transform(*TURN), system())
    assert ran[1]["system"] == ["You"]
    with WireServer(place / "d.sock", {"/v1/frame": good()}):
        drive(transform(*TURN), wait(50))
    names = {path.name for path in folder.iterdir()}
    assert len(names) == 64 and f"{SESSION}.json" in names
    assert json.loads((folder / f"{SESSION}.json").read_text())["base"] == "# HUD\n"


# -- a daemon that is silent -------------------------------------------------------------------------------------


def test_after_two_questions_without_an_answer_nobody_waits_until_a_greeting_is_answered(
    daemon: WireServer, drive: Drive, place: Path
) -> None:
    late = place / "late"

    def answering(path: str, body: bytes) -> Answer:
        if late.exists() and path != "/v1/stop":
            while late.exists():
                time.sleep(0.01)
            time.sleep(0.3)  # nobody reads this answer
        return good() if path == "/v1/frame" else Answer(ToolReply("Added.", True))

    daemon.answers = answering
    count = place / "count"
    bounds = f"""
import {{ appendFileSync as add }} from "node:fs";
const counted = exchange;
exchange = (path, body, ms) => {{
  add("{count}", `${{path}} ${{ms > 0 ? "asked" : "not asked"}} ${{path === "/v1/tool" ? ms < 1_000 : ""}}\\n`);
  return counted(path, body, ms);
}};
"""
    turn = transform(*TURN)
    ran = drive(
        turn, touch(late), turn, turn, turn, system(), HUD, compacting(), turn, system(), remove(late),
        gone(place / "late.silent"), turn, added=bounds,
    )  # fmt: skip
    asked = [line.strip() for line in count.read_text().splitlines() if "hello" not in line and "stop" not in line]
    frames = [line for line in asked if "frame" in line]
    assert frames == ["/v1/frame asked"] * 3 + ["/v1/frame not asked"] + ["/v1/frame asked"]
    assert "/v1/tool asked true" in asked, "a tool waits half a second"
    assert "/v1/compacting not asked" in asked
    assert ran[5]["system"] == ["You\n\n# HUD\n"], "with what it last had"
    assert "It is not certain" in ran.results[7]["text"]


def test_a_daemon_that_refuses_a_call_has_recorded_nothing(daemon: WireServer, drive: Drive) -> None:
    answers = iter(
        [
            Answer(ErrorResponse(ErrorBody("protocol", "another protocol")), 426, protocol=str(PROTOCOL + 2)),
            Answer(ErrorResponse(ErrorBody("busy", "256 requests are waiting")), 503),
            Answer(ErrorResponse(ErrorBody("internal", "an error of its own")), 500),
        ]
    )
    daemon.answers = lambda path, body: next(answers) if path == "/v1/tool" else Answer(b"{}")
    ran = drive(HUD, HUD, HUD)
    said = [step["text"] for step in ran.results[1:]]
    assert [text.endswith("Nothing was recorded.") for text in said] == [True, True, False]
    assert "not certain" in said[2]
    (toast,) = [text for text in ran.toasts if "protocol" in text]
    assert "start OpenCode again" in toast


@pytest.mark.parametrize("broken", [1, 2])
def test_what_a_killed_daemon_leaves_without_an_answer_is_asked_once_more_where_it_only_reads(
    broken: int, daemon: WireServer, drive: Drive
) -> None:
    asked = {"hud": 0, "memory": 0}

    def hangs_up_at_first(path: str, body: bytes) -> Answer:
        if path != "/v1/tool":
            return Answer(b"{}")
        router = json.loads(body)["router"]
        asked[router] += 1
        if asked[router] <= broken:
            raise ConnectionAbortedError
        return Answer(ToolReply("It was said in March.", True))

    daemon.answers = hangs_up_at_first
    search = {"tool": "memory", "input": {"args": {"operation": "search"}, "at": {"sessionID": SESSION}}}
    read, wrote = (step["text"] for step in drive(search, HUD).results[1:])
    assert asked == {"hud": 1, "memory": 2}
    assert "not certain" in wrote and (read == "It was said in March.") is (broken == 1)


def test_why_no_daemon_starts_is_in_the_answer_of_a_tool_and_on_the_screen(place: Path, drive: Drive) -> None:
    failing = place / "python"
    failing.write_text(f"#!/bin/sh\necho 'the log is damaged' > {place}/d.sock.failed\nexit 2\n")
    failing.chmod(0o700)
    ran = drive(HUD, python=str(failing))
    assert ran.results[1]["text"] == "hudkit: the log is damaged. Nothing was recorded."
    assert ran.toasts == ["no HUD: the log is damaged; run: hudkit doctor"]


def test_a_newer_daemon_is_told_to_the_user_once(daemon: WireServer, drive: Drive) -> None:
    daemon.answers = {"/v1/frame": good()}
    daemon.version = "999.1"
    ran = drive(transform(*TURN), system(), transform(*TURN))
    assert ran[1]["system"] == ["You\n\n# HUD\n"]
    (toast,) = ran.toasts
    assert toast.startswith("hudkit 999.1 is installed; start OpenCode again")


def test_nothing_is_told_of_a_wait_that_is_over(daemon: WireServer, drive: Drive, place: Path) -> None:
    daemon.answers = {"/v1/frame": good()}
    ran = drive(transform(*TURN), there(place / "hudkit.mjs"), transform(*TURN))
    assert ran.said == []
