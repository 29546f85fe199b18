"""A daemon that dies, hangs, dawdles, lies or is of another version, in real OpenCode: no call, no byte is lost."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hud_plugin import written
from hud_seen import bash, hud
from opencode_host import Hosts, OpenCode
from opencode_shared import Guest, Shared
from wrong_daemon import (
    Between,
    Question,
    deaf,
    endless,
    half,
    http_of,
    late,
    nothing,
    says_always,
    silent,
    slow,
    stale,
)

from hudkit import __version__
from hudkit.daemon import client
from hudkit.hosts.wire import PROTOCOL, DeltaLayer, ErrorBody, ErrorResponse, FrameResponse
from hudkit.log.payloads import NoteAdd
from hudkit.log.stores import open_log, verify_file
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import prefix_breaks
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow


def fails(command: str) -> ScriptedCall:
    """A command that finds no file; each is an error of its own."""
    return bash(command)


def bases(request: CapturedRequest) -> list[str]:
    """What stands behind OpenCode's own text, from the line that names the HUD on."""
    return [found[0] for text in request.system if (found := re.search(r"^.*\bHUD\b[\s\S]*", text, re.M))]


def told(request: CapturedRequest) -> list[str]:
    """The lines of all blocks of changes in a request, in order."""
    texts = [piece.text for piece in request.pieces if piece.role in ("user", "tool")]
    blocks = [
        found for text in texts for found in re.findall(r"^\[hud \w+\](?: (.*\n)|\n\n((?:- .*\n)+))", text, re.M)
    ]
    return [line.removeprefix("- ") for one, several in blocks for line in (one or several).splitlines()]


def times(request: CapturedRequest, *words: str) -> list[int]:
    """In how many of the lines each of the words is."""
    return [sum(word in line for line in told(request)) for word in words]


def stored(host: OpenCode, session: str) -> list[tuple[str, str]]:
    """What OpenCode keeps of a conversation, as `(role, text or tool output)`."""
    found = []
    for message in host.messages(session):
        for part in message["parts"]:
            if part["type"] in ("text", "tool"):
                state = part.get("state", {})
                found.append((message["info"]["role"], part.get("text", state.get("output", state.get("error")))))
    return found


def text_of(answer: dict[str, Any]) -> str:
    return "".join(part["text"] for part in answer["parts"] if part["type"] == "text")


def answers(request: CapturedRequest) -> list[str]:
    """What the tools answered, in order."""
    return [text for role, text in request.messages if role == "tool"]


# -- kill -9 -------------------------------------------------------------------------------------------------------


def pid_at(socket: Path) -> int:
    there = client.greet(socket)
    assert there is not None
    return there.pid


def notes_in(db: Path) -> list[str]:
    with open_log(db, read_only=True) as log:
        (name,) = log.sessions()
        return [one.payload.content for one in log.read(name) if isinstance(one.payload, NoteAdd)]


def test_a_daemon_that_is_killed_in_a_tool_step_loses_nothing_and_the_turn_goes_on(
    opencode: Hosts, model: ScriptedModel, place: Path
) -> None:
    host = opencode(plugins=[written(place)], files={"a.txt": "alpha\n"})
    host.serve()
    session = host.create("a title")
    killed = pid_at(place / "run" / "d.sock")
    read = ScriptedCall("read", {"filePath": str(host.project / "a.txt")})
    model.play(
        uses(hud("task.set", description="Rename the parser"), fails("cat first.txt")),
        says("begun"),
        uses(bash(f"kill -9 {killed}; ls second.txt")),
        uses(read, hud("notes.add", content="after the kill")),
        says("done"),
        says("again"),
    )
    assert [text_of(host.prompt(session, text)) for text in ("begin", "go on")] == ["begun", "done"]
    assert pid_at(place / "run" / "d.sock") != killed
    assert text_of(host.prompt(session, "and on")) == "again"
    chats = model.chats
    assert (len(chats), model.left) == (6, 0)
    assert prefix_breaks(chats) == []
    assert {tuple(bases(chat)) for chat in chats} == {tuple(bases(chats[0]))}
    assert times(chats[2], "first.txt", "second.txt") == [1, 0]
    assert told(chats[3]) == told(chats[2]), "the last good frame"
    assert times(chats[5], "first.txt", "second.txt", "after the kill") == [1, 1, 1]
    assert not answers(chats[4])[-1].startswith("hudkit: ")
    assert notes_in(place / "hudkit.db") == ["after the kill"]
    assert list(verify_file(place / "hudkit.db")) == []


def test_what_was_acknowledged_beside_the_kill_is_there_once(
    opencode: Hosts, model: ScriptedModel, place: Path
) -> None:
    host = opencode(plugins=[written(place)])
    host.serve()
    session = host.create("a title")
    killed = pid_at(place / "run" / "d.sock")
    names = [f"note {n}" for n in range(12)]
    notes = [hud("notes.add", content=name) for name in names]
    model.play(
        uses(hud("task.set", description="Rename the parser")),
        ScriptedReply(calls=(bash(f"kill -9 {killed}"), *notes), pace=0.02),  # each call runs as it comes
        says("done"),
        says("again"),
    )
    assert text_of(host.prompt(session, "begin")) == "done"
    client.ensure_running(place / "run" / "d.sock", db=place / "hudkit.db")
    assert text_of(host.prompt(session, "go on")) == "again"
    last = model.chats[-1]
    said = dict(zip(names, answers(last)[-len(names) :], strict=True))
    recorded = {name for name in names if not said[name].startswith("hudkit: ")}
    logged = notes_in(place / "hudkit.db")
    assert len(logged) == len(set(logged))
    assert set() < recorded <= set(logged)
    assert not {name for name in names if "Nothing was recorded" in said[name]} & set(logged)
    assert [name for name in logged if name not in recorded and f"note: {name}" not in told(last)] == []
    assert prefix_breaks(model.chats) == []
    assert list(verify_file(place / "hudkit.db")) == []


# -- dead, hung, slow, lying -----------------------------------------------------------------------------------------


class Stage(NamedTuple):
    """An OpenCode whose plugin (with nothing that it could start) speaks to `between`, and has its real deadline
    while the file `late` is there."""

    host: OpenCode
    model: ScriptedModel
    between: Between
    pid: int
    db: Path
    late: Path

    @contextmanager
    def failing(self, fault: AbstractContextManager[None]) -> Iterator[None]:
        """The daemon has a fault, and deadlines of what it does not answer pass; afterwards it was greeted."""
        with fault:
            self.late.touch()
            yield
            self.late.unlink()
        silent = self.late.with_name(f"{self.late.name}.silent")
        assert self.host.settled(lambda: not silent.exists())


def work(host: OpenCode, model: ScriptedModel, session: str) -> None:
    """A turn with a tool step that has something to tell, and ends as its script says."""
    read = ScriptedCall("read", {"filePath": str(host.project / "a.txt")})
    model.play(uses(read, fails("head third.txt")), says("spoken"))
    assert text_of(host.prompt(session, "work")) == "spoken"


def noted(stage: Stage, title: str) -> tuple[str, CapturedRequest]:
    """A session of which a failure was told and another is to be told, and its last request."""
    session = stage.host.create(title)
    stage.model.play(uses(hud("task.set", description="Rename the parser"), fails("cat first.txt")), says("noted"))
    stage.host.prompt(session, "begin")
    stage.host.prompt(session, "go on")
    stage.model.play(uses(fails("ls second.txt")), says("noted"))
    stage.host.prompt(session, "once more")
    good = stage.model.chats[-1]
    assert (len(bases(good)), times(good, "first.txt")) == (1, [1])
    return session, good


def everything(chat: CapturedRequest) -> bool:
    """Whether all is told, once, that happens in `noted` and `work`; what the agent read stands in the answer."""
    return times(chat, "first.txt", "second.txt", "third.txt", "a.txt") == [1, 1, 1, 0]


def again(stage: Stage, session: str) -> CapturedRequest:
    """The request of a turn after which the daemon is well again."""
    stage.host.prompt(session, "go on")
    return stage.model.chats[-1]


@pytest.fixture(scope="module")
def stage(shared_opencode: Callable[[str], Shared], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = Path(tempfile.mkdtemp(prefix="hk"))
    real, socket, late, db = (
        folder / "run" / "r.sock",
        folder / "run" / "d.sock",
        folder / "late",
        folder / "hudkit.db",
    )
    there = client.ensure_running(real, db=db)
    plugin = written(folder, python="/nowhere/python", late=late)
    place, files = tmp_path_factory.mktemp("failing"), {"a.txt": "alpha\n"}
    with (
        ScriptedModel() as model,
        Guest(shared_opencode(""), place, model.url, plugins=[plugin], files=files) as host,
    ):
        between = Between(socket, real)
        host.serve()
        yield Stage(host, model, between, there.pid, db, late)
        between.close()
    client.stop(real)
    shutil.rmtree(folder, ignore_errors=True)


def telling(lie: Callable[[Question], None]) -> Callable[[Stage], AbstractContextManager[None]]:
    return lambda stage: stage.between.telling(lie)


def away(
    instead: Callable[[Path], AbstractContextManager[object]],
) -> Callable[[Stage], AbstractContextManager[None]]:
    return lambda stage: stage.between.away(instead)


@contextmanager
def stopped(stage: Stage) -> Iterator[None]:
    """The daemon is suspended; what it was asked it answers later, to nobody."""
    os.kill(stage.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(stage.pid, signal.SIGCONT)


def moved(stage: Stage) -> AbstractContextManager[None]:
    """Whoever follows carries the conversation somewhere else."""
    return stage.between.telling(says_always(http_of(b"{}", 307, more=f"location: {stage.model.url}/elsewhere\r\n")))


def bomb(stage: Stage) -> AbstractContextManager[None]:
    """Small as long as nobody unpacks it."""
    packed = gzip.compress(bytes(100_000_000), 1)
    return stage.between.telling(says_always(http_of(packed, more="content-encoding: gzip\r\n")))


LATE = "no answer within"
GIANT = FrameResponse("# HUD\n" + "x" * 30_000_000, (), "", 1, "000001", 10, 500, "", "a.1")
FRAME = FrameResponse("# Another HUD\n", (), "", 1, "000001", 10, 500, "", "a.1")
FAILURES: dict[str, tuple[Callable[[Stage], AbstractContextManager[None]], str]] = {
    "nobody listens": (away(nothing), "cannot be run"),
    "a socket that was left behind": (away(stale), "cannot be run"),
    "nobody accepts": (away(deaf), LATE),
    "stopped": (stopped, LATE),
    "silent": (telling(silent), LATE),
    "slow to answer": (telling(slow), LATE),
    "slow to hear": (telling(late), LATE),
    "half an answer": (telling(half), LATE),
    "endless": (telling(endless), "too long"),
    "closes": (telling(says_always(b"")), "cannot be reached"),
    "not HTTP": (telling(says_always(b"\x00\xff220 welcome\r\n\r\n")), "cannot be reached"),
    "another site": (telling(says_always(http_of(b"<html>", 200, None))), "a stranger"),
    "no JSON": (telling(says_always(http_of(b"<html>"))), "no JSON"),
    "no frame": (telling(says_always(http_of({"base": "# HUD\n", "deltas": [{}]}))), "no frame"),
    "a giant": (telling(says_always(http_of(GIANT))), "too long"),
    "a bomb": (bomb, "no JSON"),
    "moved": (moved, "status 307"),
    "error 500": (telling(says_always(http_of(ErrorResponse(ErrorBody("internal", "it broke")), 500))), "it broke"),
    "newer": (
        telling(says_always(http_of(FRAME, protocol=PROTOCOL + 1))),
        f"protocol {PROTOCOL + 1}, not {PROTOCOL}",
    ),
}
"""What goes wrong, and the reason that the agent reads."""


@pytest.mark.parametrize("name", FAILURES)
def test_a_daemon_that_fails_costs_no_call_and_no_byte(stage: Stage, name: str) -> None:
    host, model = stage.host, stage.model
    fault, why = FAILURES[name]
    first = len(model.chats)
    session, good = noted(stage, name)
    other = host.create("without any frame")
    before = stored(host, session)

    with stage.failing(fault(stage)):
        work(host, model, session)
        model.play(says("without"))
        assert text_of(host.prompt(other, "begin")) == "without"
        turn, step, bare = model.chats[-3:]
    assert prefix_breaks([good, turn, step]) == []
    assert bases(good) == bases(turn) == bases(step)
    assert told(good) == told(turn) == told(step)
    (said,) = re.findall(r"^HUD: .*", turn.text, flags=re.M)
    assert said == "HUD: may be a turn old.", "an agent's line, not an operator's"
    assert bases(bare) == []
    ((role, begin),) = bare.messages
    reason = begin.removeprefix("begin")
    assert role == "user" and begin.startswith("begin")
    # A HUD that was never there is missed by nobody: the tail says why. What is late, or is started, comes yet.
    assert re.fullmatch(r"(\nhudkit: no HUD: .*; the user can run: hudkit doctor\n)?", reason)
    assert not reason or why in reason or LATE in reason
    assert reason or why in (LATE, "cannot be reached")
    outputs = ("1: alpha", "third.txt", "spoken")
    after = stored(host, session)
    assert after[: len(before) + 1] == [*before, ("user", "work")]
    assert all(want in text for (_, text), want in zip(after[len(before) + 1 :], outputs, strict=True))
    assert "HUD" not in "".join(text for _, text in after)
    assert stored(host, other) == [("user", "begin"), ("assistant", "without")]

    last = again(stage, session)
    assert everything(last), told(last)
    assert bases(last) == bases(good)
    assert prefix_breaks([chat for chat in model.chats[first:] if bases(chat) == bases(good)]) == []
    assert "/elsewhere" not in {request.path for request in model.requests}
    assert list(verify_file(stage.db)) == []


def test_a_compaction_without_a_daemon_leaves_the_whole_hud_as_last_known(stage: Stage) -> None:
    """What the agent recorded by its own calls stood in the conversation that the summary swallows."""
    host, model = stage.host, stage.model
    session, _ = noted(stage, "compacted")
    good = again(stage, session)
    with stage.failing(stage.between.away(nothing)):
        assert host.summarize(session)
        work(host, model, session)
        host.prompt(session, "go on")
    compaction = model.of("compaction")[-1]
    known = ("Rename the parser", "first.txt", "second.txt")
    assert [word for word in known if word not in compaction.text] == []
    without = model.chats[-3:]
    assert [role for role, _ in without[0].messages] == ["user", "assistant", "user"]
    assert [told(chat) for chat in without] == [[]] * 3
    (whole,) = bases(without[0])
    assert [word for word in known if word not in whole] == []
    assert "# Task\n\nRename the parser" not in bases(good)[0], "the base of before does not have it"
    assert [bases(chat) for chat in without] == [[whole]] * 3
    assert prefix_breaks(without) == []
    last = again(stage, session)
    words = ("Rename the parser", "first.txt", "second.txt", "third.txt", "a.txt")
    assert [word for word in words if word not in bases(last)[0]] == []
    assert told(last) == []


def test_a_frame_of_another_session_is_gone_with_the_next_answer(stage: Stage) -> None:
    """Nothing in an answer says whose it is; it costs no call, and nothing of it stays."""
    host, model = stage.host, stage.model
    session, good = noted(stage, "mistaken")
    change = DeltaLayer("9.1", "user:1:", "user", "[hud 000009]\n\n- note: of another\n")
    other = FrameResponse("# Another HUD\n", (change,), "Context: 99%\n", 9, "000009", 10, 500, "", "a.999999")
    with stage.between.telling(says_always(http_of(other))):
        work(host, model, session)
    assert [bases(chat) for chat in model.chats[-2:]] == [["# Another HUD\n"]] * 2
    assert "of another" not in "".join(chat.text for chat in model.chats[-2:])
    assert bases(again(stage, session)) == bases(good)
    last = again(stage, session)  # the daemon is told anew what the other's acknowledgement hid
    assert everything(last), told(last)
    assert bases(last) == bases(good)
    assert prefix_breaks([good, last]) == []


# -- another version -------------------------------------------------------------------------------------------------


def test_an_older_daemon_gives_way_to_ours(opencode: Hosts, model: ScriptedModel, place: Path) -> None:
    socket, db = place / "run" / "d.sock", place / "hudkit.db"
    code = "import sys, hudkit; from hudkit.hosts import wire; "
    code += f"hudkit.__version__, wire.PROTOCOL, wire.SPOKEN = '0.0.9', {PROTOCOL - 1}, ({PROTOCOL - 1},); "
    code += "from hudkit.daemon.lifecycle import main; sys.exit(main())"
    older = subprocess.Popen([sys.executable, "-c", code, "--socket", str(socket), "--db", str(db)])
    host = opencode(plugins=[written(place)])
    try:
        assert host.settled(lambda: (there := client.greet(socket)) is not None and there.pid == older.pid)
        host.serve()
        session = host.create("a title")
        model.play(says("as ever"))
        assert text_of(host.prompt(session, "begin")) == "as ever"
        assert host.settled(lambda: (there := client.greet(socket)) is not None and there.pid != older.pid)
        assert older.wait() == 0
    finally:
        older.kill()
    there = client.greet(socket)
    assert there is not None
    assert (there.version, there.protocol) == (__version__, PROTOCOL)
    model.play(uses(hud("task.set", description="Rename the parser")), says("done"))
    assert text_of(host.prompt(session, "go on")) == "done"
    chats = model.chats
    assert [len(bases(chat)) for chat in chats[1:]] == [1, 1], "the first call waits for the new one two seconds"
    assert answers(chats[-1])[0].startswith("Set the task")
    assert list(verify_file(db)) == []
