"""A fork: the same past, another future; the session that it came from stays as it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loops import opened, texts

from hudkit.agent.hud_hooks import hud_plugin
from hudkit.agent.records import find_faults
from hudkit.agent.session_fork import fork_session
from hudkit.agent.session_store import SessionStore
from hudkit.api import Hud
from hudkit.errors import SessionError
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


async def test_a_fork_goes_on_from_a_message_and_the_original_stays(tmp_path: Path) -> None:
    log = tmp_path / "hudkit.db"
    note = ScriptedCall("hud", {"operation": "notes.add", "text": "the small kiln leaks"})
    later = ScriptedCall("hud", {"operation": "notes.add", "text": "the big kiln is booked"})
    write = ScriptedCall("write", {"path": "a.txt", "content": "first\n"})
    model = InProcessModel([uses(note, write), says("noted"), uses(later), says("booked")])
    async with opened(tmp_path, model, plugins=[("hud", hud_plugin(log))]) as loop:
        await loop.prompt("Never fire above cone 6")
        middle = loop.messages[-1].id
        await loop.prompt("Book the big kiln")
        before = loop.messages
        fork = loop.fork(middle)
        with pytest.raises(SessionError, match="no message"):
            loop.fork("msg_nothing")
        assert loop.messages == before == loop.setup.store.messages(loop.id)
        original = loop.session
    assert fork.title == f"{original.title} (fork)" and (fork.cost, fork.usage.input) == (0.0, 0)
    other = InProcessModel([says("from here")])
    async with opened(tmp_path, other, session=fork.id, plugins=[("hud", hud_plugin(log))]) as loop:
        assert texts(loop.messages) == texts(before[: len(loop.messages)])
        assert len(loop.messages) == 3 and not {one.id for one in loop.messages} & {one.id for one in before}
        await loop.prompt("And now the small one")
        sent = str(other.port_requests[0])
        assert "the small kiln leaks" in sent and "Never fire above cone 6" in sent
        assert "the big kiln is booked" not in sent, "what came later is not of the fork"
        result = await loop.undo()
        assert result.text == "And now the small one"
        result = await loop.undo()
        assert result.restored == ("a.txt",) and not (tmp_path / "project" / "a.txt").exists()
    with Hud.open(log) as hud:
        keys = {key.split("/")[1].split("@")[0]: key for key in hud.sessions() if key.startswith("session/")}
        assert "the big kiln is booked" in str(hud.session(keys[original.id]).state.notes)
        events = [event.type for event in hud.session(keys[fork.id]).events()]
        assert "session.link" in events and "note.add" in events, "the log of its HUD is a fork, too"
        assert list(hud.verify()) == []


async def test_a_fork_of_a_session_that_works_has_what_has_ended(tmp_path: Path) -> None:
    model = InProcessModel([says("one"), uses(ScriptedCall("bash", {"command": "echo two"})), says("three")])
    async with opened(tmp_path, model) as loop:
        with pytest.raises(SessionError, match="nothing to be copied"):
            loop.fork()
        await loop.prompt("first")
        forks = []
        stream = loop.events()
        loop.setup.events.attach(_Sink(lambda: forks.append(loop.fork())))
        await loop.prompt("second")
        stream.take()
        store = loop.setup.store
        assert forks and all(find_faults(store.messages(fork.id)) == () for fork in forks)
        assert texts(store.messages(forks[0].id)) == [("user", "first"), ("assistant", "one"), ("user", "second")]


class _Sink:
    def __init__(self, act: object) -> None:
        self._act = act

    def add(self, event: object) -> None:
        if type(event).__name__ == "RequestSent":
            self._act()  # type: ignore[operator]


CHILD = """
import sys
from hudkit.agent.session_fork import fork_session
from hudkit.agent.session_store import SessionStore
store = SessionStore.open(sys.argv[1])
print("ready", flush=True)
while True:
    fork_session(store, sys.argv[2])
"""


async def test_a_fork_that_was_killed_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    model = InProcessModel([*[uses(ScriptedCall("bash", {"command": f"echo {n}"})) for n in range(20)], says("done")])
    async with opened(tmp_path, model) as loop:
        await loop.prompt("work")
        session, whole, path = loop.id, texts(loop.messages), loop.setup.store.path
    total = 0
    for n in range(5):
        child = subprocess.Popen([sys.executable, "-c", CHILD, path, session], stdout=subprocess.PIPE)
        assert child.stdout is not None and child.stdout.readline()
        time.sleep(0.02 + 0.013 * n)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    with SessionStore.open(path) as store:
        for fork in store.sessions():
            assert texts(store.messages(fork.id)) == whole
            store.resume(fork.id, 99)
            total += 1
        assert total > 1
        fork_session(store, session)
