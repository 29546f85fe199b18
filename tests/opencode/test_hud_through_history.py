"""What the HUD holds over a long session of real OpenCode, and through restart, revert, fork and subagents."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hud_plugin import written
from opencode_host import Hosts, OpenCode

from hudkit.daemon import client
from hudkit.events.payloads import SessionLink
from hudkit.hosts.opencode.plugin.plugin import SUMMARIZER
from hudkit.store import open_log
from hudkit.testing.captured import Captured, departs
from hudkit.testing.model import ScriptedModel
from hudkit.testing.replies import Call, Reply, says, uses

pytestmark = pytest.mark.slow

both_shapes = pytest.mark.parametrize("shape", ["openai", "anthropic"])

TURNS, STEPS = 9, 5
"""A turn has one call more than steps, the answer: 54 calls."""


@pytest.fixture
def place() -> Iterator[Path]:
    """The folder of the daemon's log and socket."""
    folder = Path(tempfile.mkdtemp(prefix="hk"))
    yield folder
    client.stop(folder / "run" / "d.sock")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def plugin(place: Path) -> Path:
    return written(place)


@pytest.fixture(autouse=True)
def our_summarizer(model: ScriptedModel) -> None:
    """A compaction is known by the system prompt that the plugin gives its agent."""
    model.marks["compaction"] = (SUMMARIZER[:80],)


def hud(operation: str, **args: str) -> Call:
    return Call("hud", {"tool": operation, "args": args})


def bash(command: str) -> Call:
    return Call("bash", {"command": command, "description": "run"})


def base_of(request: Captured) -> str:
    found = [text for text in request.system if re.search(r"\bHUD\b", text)]
    assert len(found) == 1, request.system
    return found[0]


def tag_of(request: Captured) -> str:
    """The tag of the epoch that a request belongs to."""
    (tag,) = set(re.findall(r"\[hud (\w+)\]", base_of(request)))
    return str(tag)


def told(request: Captured) -> list[str]:
    """The lines of all blocks of changes in a request, in order; each block has the tag of the request's base."""
    lines: list[str] = []
    for piece in request.pieces:
        if piece.role in ("user", "tool"):
            for tag, block in re.findall(r"^\[hud (\w+)\]\n\n((?:- .*\n)+)", piece.text, flags=re.M):
                assert tag == tag_of(request)
                lines += [line.removeprefix("- ") for line in block.splitlines()]
    return lines


def under(request: Captured, title: str) -> list[str]:
    """The lines under a heading of the base, empty where it has none."""
    found = re.search(rf"^#+ {re.escape(title)}(?: \(\d+\))?\n\n((?:[^#\n].*\n)+)", base_of(request), flags=re.M)
    return found[1].splitlines() if found else []


def kept(text: str) -> str:
    """A text without the tail, the line that is never kept."""
    return re.sub(r"^Context: .*\n\Z", "", text, flags=re.M)


def breaks(chats: list[Captured]) -> list[str]:
    return [found for before, after in pairwise(chats) if (found := departs(before, after, kept))]


def typed(request: Captured) -> list[str]:
    """The first line of each of the user's messages."""
    return [text.partition("\n")[0] for role, text in request.messages if role == "user"]


def asked(host: OpenCode, session: str) -> list[str]:
    """The ids of the user's messages."""
    return [message["info"]["id"] for message in host.messages(session) if message["info"]["role"] == "user"]


def test_what_the_agent_does_is_told_without_its_help(opencode: Hosts, model: ScriptedModel, plugin: Path) -> None:
    host = opencode(plugins=[plugin], files={"a.txt": "alpha\n", "b.txt": "one\n"})
    host.serve()
    session = host.create("a title")
    todos = [
        {"content": "Port the reader", "status": "in_progress", "priority": "high"},
        {"content": "Port the writer", "status": "pending", "priority": "low"},
    ]
    b, c = str(host.project / "b.txt"), str(host.project / "sub" / "c.txt")
    model.play(
        uses(Call("read", {"filePath": str(host.project / "a.txt")})),
        uses(Call("read", {"filePath": b})),
        uses(Call("edit", {"filePath": b, "oldString": "one", "newString": "two"})),
        uses(Call("write", {"filePath": c, "content": "new\n"})),
        uses(Call("todowrite", {"todos": todos})),
        uses(bash("echo no such table; exit 3")),
        says("done"),
        says("noted"),
        uses(bash("echo no such table; exit 3")),
        says("again"),
    )
    host.prompt(session, "begin")
    host.prompt(session, "go on")
    chats = model.chats
    assert [len([line for line in told(chat) if line.startswith("error: ")]) for chat in chats[5:8]] == [0, 1, 1]
    lines = told(chats[7])
    assert [line for line in lines if line.startswith("file")] == [
        "file: a.txt (reading)",
        "file: b.txt (editing)",
        "file: sub/c.txt (editing)",
    ]
    assert [line for line in lines if line.startswith("todo: ")] == [
        "todo: Port the reader (in progress)",
        "todo: Port the writer",
    ]
    (failure,) = (line for line in lines if line.startswith("error: "))
    assert "no such table" in failure
    assert [piece.text for piece in chats[7].pieces if piece.form == "call" and piece.text.startswith("hud ")] == []

    host.prompt(session, "try again")
    assert host.summarize(session)
    host.prompt(session, "and now")
    last = model.chats[-1]
    assert told(last) == []
    assert under(last, "Active Files") == ["- a.txt (reading)", "- b.txt (editing)", "- sub/c.txt (editing)"]
    assert under(last, "Todos") == ["- Port the reader (in progress)", "- Port the writer"]
    (failure,) = under(last, "Open Errors")
    assert "no such table" in failure
    assert "×2" in failure


def day(project: Path) -> Iterator[Reply]:
    """Turns with parallel tools, with failures and what the agent notes."""
    yield uses(hud("task.set", description="Port the report to the new API"), bash("echo begin"))
    for n in range(TURNS):
        if n:
            yield uses(bash(f"echo turn {n}"))
        read = Call("read", {"filePath": str(project / f"part_{n % 3}.txt")})
        yield uses(read, bash(f"seq {n} {n + 20}"), hud("notes.add", content=f"Part {n} has {n * 7} rows"))
        yield uses(bash(f"echo check {n}; exit {n % 2}"), bash("echo fine"), read)
        write = Call("write", {"filePath": str(project / f"out_{n}.txt"), "content": f"row {n}\n"})
        yield uses(write, hud("decisions.record", summary=f"Column {n} stays where it is"), bash("true"))
        yield uses(hud("steps.add", description=f"Check part {n}"), hud("steps.list"), text="Now the plan.")
        yield says(f"Turn {n} is done.")


@both_shapes
def test_a_call_is_a_prefix_of_the_next_one_but_where_an_epoch_begins(
    opencode: Hosts, model: ScriptedModel, plugin: Path, shape: str
) -> None:
    files = {f"part_{n}.txt": f"line {n}\n" * 9 for n in range(3)}
    host = opencode(shape=shape, plugins=[plugin], files=files, limit=(200_000, 8_000))
    host.serve()
    session = host.create("a day")
    model.play(*day(host.project))
    for turn in range(TURNS):
        host.prompt(session, f"Now part {turn}, please.")
        if turn == TURNS // 2:
            assert host.summarize(session)
    chats = model.chats
    assert (len(chats), model.left) == (TURNS * (STEPS + 1), 0)
    compaction = model.of("compaction")[0].number
    pairs = list(pairwise(chats))
    turned = [(before, after) for before, after in pairs if tag_of(before) != tag_of(after)]
    same = [(before, after) for before, after in pairs if tag_of(before) == tag_of(after)]
    assert [found for before, after in same if (found := departs(before, after, kept))] == []
    assert [base_of(before) == base_of(after) for before, after in same] == [True] * len(same)
    assert any(before.number < compaction < after.number for before, after in turned)
    assert len(turned) <= 4, [after.number for _, after in turned]
    assert all(told(before) for before, _ in turned), "no epoch ends that had nothing to fold in"
    last = chats[-1]
    for n in range(TURNS):
        for noun, title, text in (
            ("note", "Notes", f"Part {n} has {n * 7} rows"),
            ("decision", "Decisions", f"Column {n} stays where it is"),
        ):
            times = told(last).count(f"{noun}: {text}") + under(last, title).count(f"- {text}")
            assert times == 1, (text, base_of(last), told(last))
    assert {chat.text.count("Context: ") for chat in chats} == {0, 1}


def test_a_restart_of_all_goes_on_with_the_same_bytes(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(
        uses(hud("task.set", description="Rename the parser")),
        uses(bash("exit 3"), hud("notes.add", content="tabs are four wide")),
        says("done"),
    )
    host.prompt(session, "begin")
    host.prompt(session, "go on")
    host.stop()
    host.serve()
    host.prompt(session, "after the server's restart")
    host.stop(kill=True)
    client.stop(place / "run" / "d.sock")
    host.serve()
    model.play(uses(hud("decisions.record", summary="Readers first")), says("recorded"))
    host.prompt(session, "after a restart of both")
    chats = model.chats
    assert len(chats) == 7
    assert breaks(chats) == []
    assert {base_of(chat) for chat in chats} == {base_of(chats[0])}
    last = told(chats[-1])
    assert last.count("task now: Rename the parser") == 1
    assert last.count("note: tabs are four wide") == 1
    assert last.count("decision: Readers first") == 1
    assert len([line for line in last if line.startswith("error: ")]) == 1


def test_what_a_revert_took_away_is_told_again_once(opencode: Hosts, model: ScriptedModel, plugin: Path) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(
        uses(hud("task.set", description="Rename the parser")),
        says("first"),
        uses(hud("decisions.record", summary="Readers first"), hud("notes.add", content="tabs are four wide")),
        says("second"),
        says("third"),
    )
    for text in ("one", "two", "three"):
        host.prompt(session, text)
    before = model.chats
    assert told(before[-1]) == ["task now: Rename the parser", "decision: Readers first", "note: tabs are four wide"]
    _, second, third = asked(host, session)

    host.revert(session, third)
    host.unrevert(session)
    host.prompt(session, "four")
    assert breaks(model.chats) == []
    assert told(model.chats[-1]) == told(before[-1])

    host.revert(session, second)
    model.play(uses(bash("echo again")), says("other"))
    host.prompt(session, "two, otherwise")
    host.prompt(session, "and on")
    after = model.chats[-3:]
    assert typed(after[-1]) == ["one", "two, otherwise", "and on"]
    assert departs(before[1], after[0], kept) == "", "what stands before the revert is as it was"
    assert breaks(after) == []
    for chat in after:
        assert base_of(chat) == base_of(before[0])
        assert sorted(told(chat)) == sorted(told(before[-1]))


def test_a_fork_takes_up_what_was_there_and_goes_its_own_way(
    opencode: Hosts, model: ScriptedModel, plugin: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(
        uses(hud("task.set", description="Rename the parser")),
        uses(hud("decisions.record", summary="Readers first"), bash("exit 3")),
        says("first"),
    )
    host.prompt(session, "one")
    source = model.chats
    fork = host.fork(session)
    model.play(uses(hud("decisions.record", summary="Writers first, in the fork")), says("forked"))
    host.prompt(fork, "two, in the fork")
    first, second = model.chats[len(source) :]
    assert typed(first) == ["one", "two, in the fork"]
    assert departs(source[-1], first, kept) == "", "what the source has cached serves the fork"
    assert base_of(first) == base_of(source[0])
    assert told(first) == told(source[-1])
    assert told(first)[:1] == ["task now: Rename the parser"]
    assert told(second) == [*told(first), "decision: Writers first, in the fork"]

    model.play(uses(hud("notes.add", content="only in the first one")), says("noted"))
    host.prompt(session, "two")
    last = model.chats[-1]
    assert departs(source[-1], last, kept) == ""
    assert told(last) == [*told(first), "note: only in the first one"]

    for one, own, other in (
        (session, "only in the first one", "in the fork"),
        (fork, "Writers first, in the fork", "only in"),
    ):
        assert host.summarize(one)
        host.prompt(one, "after a compaction")
        base = base_of(model.chats[-1])
        assert under(model.chats[-1], "Task") == ["Rename the parser"]
        assert "- Readers first" in under(model.chats[-1], "Decisions")
        assert own in base
        assert other not in base


def test_sessions_that_take_turns_do_not_mix(opencode: Hosts, model: ScriptedModel, plugin: Path) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    sessions = [host.create(f"title {n}") for n in range(3)]
    for n, session in enumerate(sessions):
        model.play(uses(hud("task.set", description=f"Task {n}"), hud("notes.add", content=f"note {n}")), says("so"))
        host.prompt(session, f"begin {n}")
    for n, session in enumerate(sessions):
        host.prompt(session, "go on")
        assert told(model.chats[-1]) == [f"task now: Task {n}", f"note: note {n}"]
        assert under(model.chats[-1], "Task") == [f"title {n} (from the session's title)"]
    assert len({tag_of(chat) for chat in model.chats}) == 3


def test_a_subagent_knows_its_parent_and_has_a_hud_of_its_own(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    task = Call("task", {"description": "look", "prompt": "look around", "subagent_type": "general"})
    model.play(
        uses(hud("task.set", description="Rename the parser")),
        uses(task),
        uses(hud("notes.add", content="seen by the subagent")),
        says("looked"),
        says("done"),
    )
    host.prompt(session, "delegate")
    chats = model.chats
    assert len(chats) == 5
    parents, children = [*chats[:2], chats[4]], chats[2:4]
    assert all(f"parent {session}" in base_of(chat) for chat in children)
    assert breaks(parents) + breaks(children) == []
    assert told(children[-1]) == ["note: seen by the subagent"]
    assert told(parents[-1])[:1] == ["task now: Rename the parser"]
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


def test_a_fork_takes_up_nothing_that_came_after_it(opencode: Hosts, model: ScriptedModel, plugin: Path) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(
        uses(hud("task.set", description="Rename the parser")),
        uses(hud("decisions.record", summary="Readers first")),
        says("first"),
        uses(hud("notes.add", content="only in the first one")),
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
    assert departs(source[2], first, kept) == "", "the fork's cache is the source's"
    assert told(first) == ["task now: Rename the parser", "decision: Readers first"]
    assert told(second) == [*told(first), "decision: Writers first, in the fork"]

    host.prompt(session, "three")
    last = model.chats[-1]
    assert departs(source[-1], last, kept) == ""
    assert told(last) == [*told(first), "note: only in the first one"]

    for one, own, other in (
        (session, "only in the first one", "in the fork"),
        (fork, "Writers first, in the fork", "only in"),
    ):
        assert host.summarize(one)
        host.prompt(one, "after a compaction")
        base = base_of(model.chats[-1])
        assert under(model.chats[-1], "Task") == ["Rename the parser"]
        assert "- Readers first" in under(model.chats[-1], "Decisions")
        assert own in base
        assert other not in base
