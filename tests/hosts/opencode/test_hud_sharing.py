"""Several OpenCode processes at work at the same time on one daemon: what reaches the model of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import pytest
from hud_plugin import written
from hud_seen import bash, hud
from opencode_host import Hosts, OpenCode

from hudkit.daemon import client
from hudkit.log.stores import open_log, verify_file
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, ScriptedCall, says, uses
from hudkit.sections.state import fold
from hudkit.testing.assertions import hud_base, prefix_difference, without_tail
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

NAMES = ("amber", "birch", "coral", "delta")
"""The sessions: two of each process."""


def turn(name: str) -> list[Answer]:
    """What the model of a session answers, call by call; each session has as many calls as the others."""
    return [
        uses(hud("task.set", description=f"Paint the {name} wall"), hud("notes.add", content=f"{name} is dry")),
        uses(bash(f"echo no {name} left; exit 3"), bash(f"echo {name} > {name}.txt")),
        uses(
            ScriptedCall("read", {"filePath": f"{name}.txt"}), hud("decisions.record", summary=f"Two coats of {name}")
        ),
        says(f"{name} is painted"),
    ]


CALLS = len(turn(""))


def whose(request: CapturedRequest) -> str:
    """The name of the session that a request belongs to, as its user gave it."""
    (name,) = set(re.findall(r"I am (\w+)", " ".join(text for role, text in request.messages if role == "user")))
    return str(name)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """Holds each answer of a turn back until every session has asked for its own: they work at the same time."""
    together = Barrier(len(NAMES), timeout=600)
    left = {name: turn(name) for name in NAMES}

    def answer(request: CapturedRequest) -> Answer:
        name = whose(request)
        if not left[name]:
            return says(f"{name} goes on")
        together.wait()
        return left[name].pop(0)

    with ScriptedModel(answer) as server:
        yield server


def daemons(socket: Path) -> list[int]:
    """The processes that were started to listen on a socket (Linux only)."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"hudkit.daemon" in words and str(socket).encode() in words:
            found.append(int(folder.name))
    return found


def frame(request: CapturedRequest) -> str:
    """The base of a request's frame."""
    return hud_base(request)


def of(model: ScriptedModel, name: str) -> list[CapturedRequest]:
    return [chat for chat in model.chats if whose(chat) == name]


@pytest.mark.parametrize("apart", [True, False], ids=["two projects", "one project"])
def test_two_processes_share_a_daemon_and_no_frame(
    opencode: Hosts, model: ScriptedModel, place: Path, tmp_path: Path, apart: bool
) -> None:
    plugin, socket = written(place), place / "run" / "d.sock"
    homes = [tmp_path / "one", tmp_path / ("two" if apart else "one")]
    hosts = [opencode(place=home, plugins=[plugin]) for home in homes]
    if not apart:
        hosts[0].serve()  # OpenCode makes its database; two at once would both make it
    with ThreadPoolExecutor(len(NAMES)) as pool:
        list(pool.map(OpenCode.serve, hosts if apart else hosts[1:]))  # both find no daemon and start one
        where = {name: hosts[n // 2] for n, name in enumerate(NAMES)}
        sessions = {name: host.create(f"{name}'s wall") for name, host in where.items()}
        ends = [pool.submit(where[name].prompt, sessions[name], f"I am {name}.") for name in NAMES]
        said = [end.result()["parts"] for end in ends]
    assert [[part["text"] for part in parts if part["type"] == "text"] for parts in said] == [
        [f"{name} is painted"] for name in NAMES
    ]
    assert len(model.chats) == len(NAMES) * CALLS
    there = client.greet(socket)
    assert there is not None
    assert daemons(socket) == [there.pid]

    for name in NAMES:
        assert [found for a, b in pairwise(of(model, name)) if (found := prefix_difference(a, b, without_tail))] == []
    if not apart:  # a session goes on in the other process, and comes back
        for host in (*hosts[::-1], hosts[1]):
            host.prompt(sessions["amber"], "I am amber, still.")
        chats = of(model, "amber")
        assert [found for a, b in pairwise(chats) if (found := prefix_difference(a, b, without_tail))] == []
        assert len({frame(chat) for chat in chats}) == 1

    with ThreadPoolExecutor(len(NAMES)) as pool:
        assert all(pool.map(lambda name: where[name].summarize(sessions[name]), NAMES))
        list(pool.map(lambda name: where[name].prompt(sessions[name], f"I am {name}, compacted."), NAMES))
    for name in NAMES:
        last = frame(of(model, name)[-1])
        for words in (f"Paint the {name} wall", f"- {name} is dry\n", f"- Two coats of {name}\n", f"no {name} left"):
            assert words in last
    for chat in model.requests:
        if chat.kind in ("chat", "compaction"):
            assert [name for name in NAMES if name != whose(chat) and name in chat.text] == []

    with open_log(place / "hudkit.db", read_only=True) as log:
        logged = [fold(log.read(name)).session for name in log.sessions()]
    assert {(one.host_session, one.title, one.directory) for one in logged} == {
        (sessions[name], f"{name}'s wall", str(where[name].project)) for name in NAMES
    }
    assert len(logged) == len(NAMES)
    assert list(verify_file(place / "hudkit.db")) == []
