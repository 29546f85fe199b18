"""What the HUD holds over a long session of real OpenCode, and through restart, revert and fork."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hud_seen import asked, bash, hud, typed
from opencode_host import Hosts
from outside import meanwhile, tell

from hudkit.daemon import client
from hudkit.log.payloads import BlockerAdd, NoteAdd
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, ScriptedCall, says, uses
from hudkit.testing.assertions import (
    delta_carriers,
    delta_lines,
    epoch_tag,
    hud_base,
    hud_tool_answers,
    item_counts,
    prefix_breaks,
    prefix_difference,
    section_lines,
    without_tail,
)
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

both_shapes = pytest.mark.parametrize("shape", ["openai", "anthropic"])

STEPS = 5
"""Tool steps of a turn of `part`; a turn has one call more, the answer."""


def test_what_the_agent_does_is_told_without_its_help(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path
) -> None:
    host = opencode(plugins=[plugin], files={"a.txt": "alpha\n", "b.txt": "one\n"})
    host.serve()
    session = host.create("a title")
    todos = [
        {"content": "Port the reader", "status": "in_progress", "priority": "high"},
        {"content": "Port the writer", "status": "pending", "priority": "low"},
    ]
    b, c = str(host.project / "b.txt"), str(host.project / "sub" / "c.txt")
    model.play(
        uses(ScriptedCall("read", {"filePath": str(host.project / "a.txt")})),
        uses(ScriptedCall("read", {"filePath": b})),
        uses(ScriptedCall("edit", {"filePath": b, "oldString": "one", "newString": "two"})),
        uses(ScriptedCall("write", {"filePath": c, "content": "new\n"})),
        uses(ScriptedCall("todowrite", {"todos": todos})),
        uses(bash("echo no such table; exit 3")),
        says("done"),
        says("noted"),
        meanwhile(
            lambda: tell(place / "hudkit.db", session, NoteAdd("The table is being moved")),
            uses(bash("echo no such table; exit 3"), bash("echo out of disk; exit 4")),
        ),
        says("again"),
    )
    host.prompt(session, "begin")
    host.prompt(session, "go on")
    chats = model.chats
    assert [len([line for line in delta_lines(chat) if line.startswith("error: ")]) for chat in chats[5:8]] == [
        0,
        0,
        1,
    ]
    assert chats[6].messages[-1][0] == "tool", "a failure stands in its own output until the next turn"
    assert delta_carriers(chats[7]) == ["user"]
    lines = delta_lines(chats[7])
    assert [line for line in lines if line.startswith("file")] == [], "the agent's own calls stand there"
    assert [line for line in lines if line.startswith("todo: ")] == [
        "todo: Port the reader (in progress)",
        "todo: Port the writer",
    ]
    (failure,) = (line for line in lines if line.startswith("error: "))
    assert "no such table" in failure
    assert [piece.text for piece in chats[7].pieces if piece.form == "call" and piece.text.startswith("hud ")] == []

    host.prompt(session, "try again")
    start, pressed = model.chats[-2:]
    assert delta_lines(start) == lines
    assert delta_carriers(pressed) == ["user", "tool"]
    failure, note = delta_lines(pressed)[len(lines) :]
    assert note == "note: The table is being moved"
    assert failure.startswith("error: ") and "out of disk" in failure, "what presses brings the rest along"
    assert host.summarize(session)
    host.prompt(session, "and now")
    last = model.chats[-1]
    assert delta_lines(last) == []
    assert "read: `a.txt`" in last.text, "it stands with what was done before the compaction"
    assert section_lines(last, "Active Files") == [
        "- `b.txt` (editing)",
        "- `sub/c.txt` (editing)",
    ]
    assert section_lines(last, "Todos") == ["- Port the reader (in progress)", "- Port the writer"]
    (failure,) = (line for line in section_lines(last, "Open Errors") if "out of disk" not in line)
    assert "no such table" in failure
    assert "×2" in failure
    assert len(section_lines(last, "Open Errors")) == 2
    assert section_lines(last, "Notes") == ["- The table is being moved"]


def part(
    n: int, project: Path, outside: Callable[[str], None]
) -> Iterator[Answer | Callable[[CapturedRequest], Answer]]:
    """A turn with parallel tools, with a failure every other time, what the agent notes, and a note from outside."""
    first = [hud("task.set", description="Port the report to the new API")] if n == 0 else []
    yield uses(bash(f"echo turn {n}"), *first)
    read = ScriptedCall("read", {"filePath": str(project / f"part_{n % 3}.txt")})
    yield uses(read, bash(f"seq {n} {n + 20}"), hud("notes.add", content=f"Part {n} has {n * 7} rows"))
    yield meanwhile(
        lambda: outside(f"Part {n} is asked for"),
        uses(bash(f"echo check {n}; exit {n % 2}"), bash("echo fine"), read),
    )
    write = ScriptedCall("write", {"filePath": str(project / f"out_{n}.txt"), "content": f"row {n}\n"})
    yield uses(write, hud("decisions.record", summary=f"Column {n} stays where it is"), bash("true"))
    yield uses(hud("steps.add", description=f"Check part {n}"), hud("steps.list"), text="Now the plan.")
    yield says(f"Turn {n} is done.")


def holds_all(request: CapturedRequest, parts: list[int]) -> None:
    """A request says everything that was noted of these parts, and nothing twice in the HUD."""
    for n in parts:
        for noun, title, text in (
            ("note", "Notes", f"Part {n} has {n * 7} rows"),
            ("note", "Notes", f"Part {n} is asked for"),
            ("decision", "Decisions", f"Column {n} stays where it is"),
        ):
            base, deltas, calls = item_counts(request, noun, title, text)
            assert base + deltas <= 1 <= base + deltas + calls, (text, hud_base(request), delta_lines(request))


@both_shapes
def test_a_call_is_a_prefix_of_the_next_one_but_where_an_epoch_begins(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path, shape: str
) -> None:
    """Through a restart of all, a compaction, an unrevert, a revert and a fork, with changes from outside."""
    files = {f"part_{n}.txt": f"line {n}\n" * 9 for n in range(3)}
    host = opencode(own=True, shape=shape, plugins=[plugin], files=files, limit=(200_000, 8_000))
    host.serve()
    session = host.create("a day")

    def turn(n: int, one: str = session) -> list[CapturedRequest]:
        before = len(model.chats)
        model.play(*part(n, host.project, lambda note: tell(place / "hudkit.db", one, NoteAdd(note))))
        if n:
            tell(place / "hudkit.db", one, NoteAdd(f"Before part {n}"))
        host.prompt(one, f"Now part {n}, please.")
        assert model.left == 0
        return model.chats[before:]

    line = [*turn(0), *turn(1)]
    host.stop(kill=True)
    client.stop(place / "run" / "d.sock")
    host.serve()
    line += [*turn(2), *turn(3)]
    assert host.summarize(session)
    line += [*turn(4), *turn(5)]
    host.revert(session, asked(host, session)[-1])
    host.unrevert(session)
    line += turn(6)
    away = turn(7)
    host.revert(session, asked(host, session)[-1])
    line += turn(8)
    fork = turn(9, host.fork(session))
    line += turn(10)

    assert len(model.chats) == len(line) + len(away) + len(fork) == 11 * (STEPS + 1)
    pairs = [*pairwise(line), *pairwise([line[-STEPS * 2 - 3], *away]), *pairwise([line[-STEPS - 2], *fork])]
    assert len(pairs) == len(model.chats) - 1
    assert [typed(line[-STEPS * 2 - 3])[-1], typed(line[-STEPS - 2])[-1]] == [
        f"Now part {n}, please." for n in (6, 8)
    ]
    compaction = model.of("compaction")[0].number
    turned = [(before, after) for before, after in pairs if epoch_tag(before) != epoch_tag(after)]
    same = [(before, after) for before, after in pairs if epoch_tag(before) == epoch_tag(after)]
    assert [found for before, after in same if (found := prefix_difference(before, after, without_tail))] == []
    assert [hud_base(before) == hud_base(after) for before, after in same] == [True] * len(same)
    assert any(before.number < compaction < after.number for before, after in turned)
    assert len(turned) <= 4, [after.number for _, after in turned]
    assert all(delta_lines(before) for before, _ in turned), "no epoch ends that had nothing to fold in"
    grown = [(before, after) for before, after in same if len(delta_lines(after)) > len(delta_lines(before))]
    new = [delta_carriers(after)[-1] for before, after in grown]
    assert new.count("tool") >= 10 and new.count("user") >= 8, "blocks came in outputs and on the user's messages"
    assert sum(after.messages[-1][0] == "tool" for _, after in grown) == new.count("tool")

    holds_all(line[-1], [0, 1, 2, 3, 4, 5, 6, 8, 10])
    holds_all(fork[-1], [0, 1, 2, 3, 4, 5, 6, 8, 9])
    for request in (line[-1], fork[-1]):
        assert "Part 7 has 49 rows" not in request.text and "Column 7" not in request.text, "both were reverted"
        assert sum(item_counts(request, "note", "Notes", "Part 7 is asked for")) == 1, "told from outside"
    assert "art 9 " not in line[-1].text and "art 10 " not in fork[-1].text
    assert {chat.text.count("Context: ") for chat in model.chats} == {0, 1}


def test_a_restart_of_all_goes_on_with_the_same_bytes(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path
) -> None:
    host = opencode(own=True, plugins=[plugin])
    host.serve()
    session = host.create("a title")

    def outside(what: str) -> None:
        tell(place / "hudkit.db", session, BlockerAdd(what))

    model.play(
        uses(hud("task.set", description="Rename the parser")),
        meanwhile(lambda: outside("No key yet"), uses(bash("exit 3"), hud("notes.add", content="tabs are wide"))),
        says("done"),
    )
    host.prompt(session, "begin")
    host.prompt(session, "go on")
    host.stop()
    host.serve()
    host.prompt(session, "after the server's restart")
    host.stop(kill=True)
    client.stop(place / "run" / "d.sock")
    outside("No disk left")
    host.serve()
    model.play(uses(hud("decisions.record", summary="Readers first")), says("recorded"))
    host.prompt(session, "after a restart of both")
    chats = model.chats
    assert len(chats) == 7
    assert prefix_breaks(chats) == []
    assert {hud_base(chat) for chat in chats} == {hud_base(chats[0])}
    task, first, failure, note, later = delta_lines(chats[-1])
    assert (task, note) == ("task now: Rename the parser", "note: tabs are wide")
    assert (first, later) == ("blocker: No key yet", "blocker: No disk left")
    assert failure.startswith("error: ") and "exit 3" in failure
    assert delta_carriers(chats[-1]) == ["tool", "tool", "user"]
    assert hud_tool_answers(chats[-1]) == [
        "Set the task.",
        "Added note n1.",
        "Recorded d1.",
    ]


@pytest.mark.parametrize("through", ["a restart", "a fork"])
def test_what_the_agent_was_answered_is_told_once_after(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path, through: str
) -> None:
    """With what else waits to be told at the start of a turn."""
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(uses(hud("decisions.record", summary="Readers first"), bash("exit 3")), says("done"))
    host.prompt(session, "begin")
    if through == "a fork":
        session = host.fork(session)
    else:
        there = client.greet(place / "run" / "d.sock")
        assert there is not None
        os.kill(there.pid, signal.SIGKILL)
        host.prompt(session, "without")  # and a new one is started
        client.ensure_running(place / "run" / "d.sock", db=place / "hudkit.db")
    host.prompt(session, "go on")
    last = model.chats[-1]
    assert hud_tool_answers(last) == ["Recorded d1."]
    decision, failure = delta_lines(last)
    assert decision == "decision: Readers first" and failure.startswith("error: ")


def test_what_reverted_messages_recorded_is_told_no_more(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(
        uses(hud("task.set", description="Rename the parser")),
        says("first"),
        meanwhile(
            lambda: tell(place / "hudkit.db", session, BlockerAdd("No key yet")),
            uses(hud("decisions.record", summary="Readers first"), hud("notes.add", content="tabs are four wide")),
        ),
        says("second"),
        says("third"),
    )
    for text in ("one", "two", "three"):
        host.prompt(session, text)
    before = model.chats
    task, *gone = answers = [
        "Set the task.",
        "Recorded d1.",
        "Added note n1.",
    ]
    assert hud_tool_answers(before[-1]) == answers
    now, outside, *recorded = delta_lines(before[-1])
    assert (now, outside) == ("task now: Rename the parser", "blocker: No key yet")
    assert recorded == ["decision: Readers first", "note: tabs are four wide"]
    _, second, third = asked(host, session)

    host.revert(session, third)
    host.unrevert(session)
    host.prompt(session, "four")
    assert prefix_breaks(model.chats) == []
    assert (delta_lines(model.chats[-1]), hud_tool_answers(model.chats[-1])) == (delta_lines(before[-1]), answers)

    host.revert(session, second)
    model.play(uses(bash("echo again")), says("other"))
    host.prompt(session, "two, otherwise")
    host.prompt(session, "and on")
    after = model.chats[-3:]
    assert typed(after[-1]) == ["one", "two, otherwise", "and on"]
    assert prefix_difference(before[1], after[0], without_tail) == "", "what stands before the revert is as it was"
    assert prefix_breaks(after) == []
    for chat in after:
        assert hud_base(chat) == hud_base(before[0])
        assert hud_tool_answers(chat) == [task]
        assert not any(line in chat.text for line in (*gone, "Readers first", "tabs are four wide"))
        assert delta_lines(chat) == [now, outside], "what was told from outside stands, and is told again"
        assert delta_carriers(chat) == ["tool", "user"]
