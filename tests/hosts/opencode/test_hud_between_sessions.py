"""Forks, sessions that take turns, and subagents in real OpenCode: each has its own, and what it was given."""

from __future__ import annotations

from pathlib import Path

import pytest
from hud_seen import asked, bash, hud, typed
from opencode_host import Hosts, OpenCode
from outside import meanwhile, tell

from hudkit.log.payloads import BlockerAdd, NoteAdd, SessionLink
from hudkit.log.stores import open_log
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.assertions import (
    delta_carriers,
    delta_lines,
    epoch_tag,
    hud_base,
    hud_tool_answers,
    prefix_breaks,
    prefix_difference,
    section_lines,
    without_tail,
)
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow


def each_has_its_own(host: OpenCode, model: ScriptedModel, session: str, fork: str) -> None:
    """After a compaction of each, a session and its fork have what was common, and none of the other's."""
    for one, own, other in (
        (session, "only in the first one", "in the fork"),
        (fork, "Writers first, in the fork", "only in"),
    ):
        assert host.summarize(one)
        host.prompt(one, "after a compaction")
        base = hud_base(model.chats[-1])
        assert section_lines(model.chats[-1], "Task") == ["Rename the parser"]
        assert "- Readers first" in section_lines(model.chats[-1], "Decisions")
        assert own in base
        assert other not in base


def test_a_fork_takes_up_what_was_there_and_goes_its_own_way(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(
        uses(hud("task.set", description="Rename the parser")),
        meanwhile(
            lambda: tell(place / "hudkit.db", session, BlockerAdd("No key yet")),
            uses(hud("decisions.record", summary="Readers first"), bash("exit 3")),
        ),
        says("first"),
    )
    host.prompt(session, "one")
    source = model.chats
    fork = host.fork(session)
    model.play(uses(hud("decisions.record", summary="Writers first, in the fork")), says("forked"))
    host.prompt(fork, "two, in the fork")
    first, second = model.chats[len(source) :]
    assert typed(first) == ["one", "two, in the fork"]
    assert prefix_difference(source[-1], first, without_tail) == "", "what the source has cached serves the fork"
    assert hud_base(first) == hud_base(source[0])
    common = ["Set the task.", "Recorded d1."]
    theirs = delta_lines(source[-1])
    assert theirs[:3] == ["task now: Rename the parser", "blocker: No key yet", "decision: Readers first"]
    assert theirs[3].startswith("error: ") and delta_carriers(source[-1]) == ["tool", "tool"]
    assert (delta_lines(first), hud_tool_answers(first)) == (theirs, common)
    assert (delta_lines(second), hud_tool_answers(second)) == (
        theirs,
        [*common, "Recorded d2."],
    )

    tell(place / "hudkit.db", session, BlockerAdd("seen only in the first one"))
    model.play(uses(hud("notes.add", content="only in the first one")), says("noted"))
    host.prompt(session, "two")
    last = model.chats[-1]
    assert prefix_difference(source[-1], last, without_tail) == ""
    assert delta_lines(last) == [*theirs, "blocker: seen only in the first one"]
    assert hud_tool_answers(last) == [*common, "Added note n1."]
    assert "in the fork" not in last.text

    each_has_its_own(host, model, session, fork)


def test_sessions_that_take_turns_do_not_mix(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    sessions = [host.create(f"title {n}") for n in range(3)]
    for n, session in enumerate(sessions):
        model.play(uses(hud("task.set", description=f"Task {n}"), hud("notes.add", content=f"note {n}")), says("so"))
        host.prompt(session, f"begin {n}")
    for n, session in enumerate(sessions):
        tell(place / "hudkit.db", session, NoteAdd(f"from outside, for {n}"))
    for n, session in enumerate(sessions):
        host.prompt(session, "go on")
        told = [f"task now: Task {n}", f"note: note {n}", f"note: from outside, for {n}"]
        assert delta_lines(model.chats[-1]) == told
        assert hud_tool_answers(model.chats[-1]) == ["Set the task.", "Added note n1."]
        assert section_lines(model.chats[-1], "Task") == [f"title {n} (from the session's title)"]
    assert len({epoch_tag(chat) for chat in model.chats}) == 3
    for n, session in enumerate(sessions):
        assert host.summarize(session)
        host.prompt(session, "after a compaction")
        assert section_lines(model.chats[-1], "Task") == [f"Task {n}"]
        assert section_lines(model.chats[-1], "Notes") == [f"- note {n}", f"- from outside, for {n}"]


def test_a_subagent_knows_its_parent_and_has_a_hud_of_its_own(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    task = ScriptedCall("task", {"description": "look", "prompt": "look around", "subagent_type": "general"})
    model.play(
        uses(hud("task.set", description="Rename the parser")),
        uses(task),
        meanwhile(
            lambda: tell(place / "hudkit.db", host.sessions()[-1], BlockerAdd("for the subagent")),
            uses(
                hud("notes.add", content="seen by the subagent"),
                hud("shared.report", text="3 callers need the old name"),
            ),
        ),
        says("looked"),
        says("done"),
    )
    host.prompt(session, "delegate")
    chats = model.chats
    assert len(chats) == 5
    parents, children = [*chats[:2], chats[4]], chats[2:4]
    assert all("work for another session" in hud_base(chat) and session not in chat.text for chat in children)
    assert prefix_breaks(parents) + prefix_breaks(children) == []
    assert delta_lines(children[-1]) == ["blocker: for the subagent", "note: seen by the subagent"]
    assert all("- the parent, task: Rename the parser" in hud_base(chat) for chat in children)
    reported = 'Reported r1: "3 callers need the old name".'
    assert hud_tool_answers(children[-1]) == ["Added note n1.", reported]
    assert hud_tool_answers(parents[-1]) == ["Set the task."]
    assert delta_lines(parents[-1]) == [
        "task now: Rename the parser",
        "from another agent: subagent general, reports: 3 callers need the old name",
    ]
    assert "seen by the subagent" not in parents[-1].text
    (child,) = (one for one in host.sessions() if one != session)
    with open_log(place / "hudkit.db", read_only=True) as log:
        links = {
            (event.session_id.rpartition("@")[0].rpartition("/")[2], event.payload.relation, event.payload.session_id)
            for name in log.sessions()
            for event in log.read(name)
            if isinstance(event.payload, SessionLink)
        }
    assert (child, "parent", session) in links
    assert (session, "child", child) in links


def test_a_task_goes_on_in_another_session(opencode: Hosts, model: ScriptedModel, plugin: Path) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    first, second = host.create("a title"), host.create("another title")
    model.play(
        uses(
            hud("task.set", description="Rename the parser"),
            hud("decisions.record", summary="Readers first"),
            hud("project.add", kind="conventions", text="Dates are UTC"),
        ),
        says("so far"),
    )
    host.prompt(first, "begin")
    model.play(uses(hud("task.resume", session=first)), says("taken up"))
    host.prompt(second, "go on with it")
    begun, after = model.chats[-2:]
    assert f'task.resume {{"session": "{first}"}} takes it up' in hud_base(begun)
    assert "- Dates are UTC (set by an agent)" in hud_base(begun)
    assert hud_tool_answers(after) == [f'Took up from {first}: the task "Rename the parser"; 1 decision.']
    assert delta_lines(after) == ["task now: Rename the parser", "decision: Readers first"]
    assert host.summarize(second)
    host.prompt(second, "after a compaction")
    last = model.chats[-1]
    assert section_lines(last, "Task") == ["Rename the parser"]
    assert section_lines(last, "Decisions") == ["- Readers first"]
    assert "takes it up" not in hud_base(last)


def test_a_fork_takes_up_nothing_that_came_after_it(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(
        uses(hud("task.set", description="Rename the parser")),
        meanwhile(
            lambda: tell(place / "hudkit.db", session, BlockerAdd("for both of them")),
            uses(hud("decisions.record", summary="Readers first")),
        ),
        says("first"),
        meanwhile(
            lambda: tell(place / "hudkit.db", session, BlockerAdd("only in the first")),
            uses(hud("notes.add", content="only in the first one")),
        ),
        says("second"),
    )
    host.prompt(session, "one")
    host.prompt(session, "two")
    source = model.chats
    fork = host.fork(session, asked(host, session)[1])
    model.play(uses(hud("decisions.record", summary="Writers first, in the fork")), says("forked"))
    host.prompt(fork, "two, in the fork")
    first, second = model.chats[len(source) :]
    assert typed(first) == ["one", "two, in the fork"]
    assert prefix_difference(source[2], first, without_tail) == "", "the fork's cache is the source's"
    common = ["Set the task.", "Recorded d1."]
    blocks = ["task now: Rename the parser", "blocker: for both of them", "decision: Readers first"]
    assert (delta_lines(first), hud_tool_answers(first)) == (blocks, common)
    assert delta_lines(second) == delta_lines(first)
    assert hud_tool_answers(second) == [*common, "Recorded d2."]

    host.prompt(session, "three")
    last = model.chats[-1]
    assert prefix_difference(source[-1], last, without_tail) == ""
    assert delta_lines(last) == [*blocks, "blocker: only in the first", "note: only in the first one"]
    assert hud_tool_answers(last) == [*common, "Added note n1."]

    each_has_its_own(host, model, session, fork)
