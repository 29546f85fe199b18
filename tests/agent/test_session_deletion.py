"""Sessions that are deleted: nothing of them is left in any file, and nothing of another one goes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loops import opened
from msgspec.structs import replace

from hudkit.agent.hooks import HookEvent, NoOutput
from hudkit.agent.hud_hooks import hud_plugin
from hudkit.agent.records import StoredMessage, StoredSession, StoredText
from hudkit.agent.request_log import RequestLog
from hudkit.agent.session_deletion import delete_session, finish_deletions, trim_sessions
from hudkit.agent.session_store import SessionStore
from hudkit.api import Hud
from hudkit.errors import SessionError
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

LONG = "yes zanzibar-output | head -n 20000"


async def worked(place: Path, word: str) -> str:
    """A session that has something everywhere: its id."""
    note = ScriptedCall("hud", {"operation": "notes.add", "text": f"{word}-note"})
    bash = ScriptedCall("bash", {"command": LONG.replace("zanzibar", word)})
    task = ScriptedCall("task", {"description": "look", "prompt": f"{word}-task", "agent": "general"})
    model = InProcessModel([uses(note, bash), uses(task), says("sub"), says(f"{word}-answer")])
    async with opened(place, model, plugins=[("hud", hud_plugin(place / "data" / "hudkit.db"))]) as loop:
        await loop.prompt(f"{word}-prompt")
        return loop.id


def holding(place: Path, word: str) -> list[str]:
    """The files of the data that hold a word."""
    files = [path for path in (place / "data").rglob("*") if path.is_file()]
    return sorted(path.name for path in files if word.encode() in path.read_bytes())


@pytest.mark.parametrize("hud", [False, True])
async def test_nothing_is_left_of_a_deleted_session(tmp_path: Path, hud: bool) -> None:
    first, second = await worked(tmp_path, "zanzibar"), await worked(tmp_path, "bornholm")
    log = tmp_path / "data" / "hudkit.db"
    assert len(holding(tmp_path, "zanzibar")) >= 4
    kept = holding(tmp_path, "bornholm")
    with SessionStore.open(tmp_path / "data" / "sessions.db") as store:
        before = store.messages(second)
        ids = delete_session(store, first, log=log, hud=hud)
        assert ids[0] == first and len(ids) == 2, "with its sub-agent's"
        assert [one.id for one in store.sessions() if not one.parent_id] == [second]
        assert store.messages(second) == before and store.pending_deletions() == ()
        with pytest.raises(SessionError):
            delete_session(store, first, log=log)
    assert holding(tmp_path, "zanzibar") == ([] if hud else ["hudkit.db"])
    assert holding(tmp_path, "bornholm") == kept
    requests = RequestLog(tmp_path / "data" / "requests.db")
    assert len(list(requests.requests(second))) == 3 and list(requests.requests(first)) == []
    requests.close()
    with Hud.open(log) as opened_log:
        assert list(opened_log.verify()) == []


async def test_an_open_session_is_not_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path, InProcessModel([says("ok")])) as loop:
        await loop.prompt("hello")
        with SessionStore.open(tmp_path / "data" / "sessions.db") as other:
            with pytest.raises(SessionError, match="another process"):
                delete_session(other, loop.id)
            assert trim_sessions(other, keep_days=1, now=2**50) == ()
        assert len(loop.setup.store.messages(loop.id)) == 2


async def test_plugins_hear_that_a_session_is_deleted_and_of_parts_as_they_come(tmp_path: Path) -> None:
    heard: list[HookEvent] = []

    def event(hook_input: HookEvent, output: NoOutput) -> None:
        heard.append(hook_input)

    model = InProcessModel([uses(ScriptedCall("bash", {"command": "true"}), text="look " * 900), says("done")])
    async with opened(tmp_path, model, plugins=[("listener", {"event": event})]) as loop:
        await loop.prompt("hello")
        await loop.delete()
        assert heard[-1].type == "session.deleted" and heard[-1].session_id == loop.id
    parts = [one.properties for one in heard if one.type == "message.part.updated"]
    texts = [part["text"] for part in parts if part["kind"] == "text"]
    assert len(texts) > 2 and texts[1].startswith(texts[0]), "the text so far, again and again"
    calls = [part["status"] for part in parts if part["kind"] == "tool"]
    assert calls == ["pending", "running", "completed"]
    with SessionStore.open(tmp_path / "data" / "sessions.db") as store:
        assert store.sessions() == () and store.pending_deletions() == ()


CHILD = """
import sys
from pathlib import Path
from hudkit.agent.session_deletion import delete_session
from hudkit.agent.session_store import SessionStore
store = SessionStore.open(sys.argv[1])
print("ready", flush=True)
delete_session(store, sys.argv[2], log=Path(sys.argv[3]), hud=True)
"""


async def test_a_deletion_that_was_killed_is_not_begun_or_is_carried_on(tmp_path: Path) -> None:
    log = tmp_path / "data" / "hudkit.db"
    path = tmp_path / "data" / "sessions.db"
    for wait in (0.0, 0.005, 0.02, 0.05):
        session = await worked(tmp_path, "zanzibar")
        child = subprocess.Popen([sys.executable, "-c", CHILD, path, session, log], stdout=subprocess.PIPE)
        assert child.stdout is not None and child.stdout.readline()
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        with SessionStore.open(path) as store:
            if store.session(session) is not None:
                assert len(store.messages(session)) > 2, "not begun: it is whole"
                delete_session(store, session, log=log, hud=True)
            finish_deletions(store, log)
            assert store.sessions() == () and store.pending_deletions() == ()
        assert holding(tmp_path, "zanzibar") == []


def test_the_oldest_sessions_go_until_the_limits_hold(tmp_path: Path) -> None:
    with SessionStore.open(tmp_path / "sessions.db") as store:
        for n in range(6):
            day = n * 86_400_000
            store.create(StoredSession(f"ses_{n}", created=day))
            words = StoredText(f"prt_{n}", "x" * 400_000)
            store.put(StoredMessage(f"msg_{n}", f"ses_{n}", "user", day, parts=(words,)))
            store.put(
                replace(StoredMessage(f"ans_{n}", f"ses_{n}", "assistant", day), parent_id=f"msg_{n}", finish="x")
            )
            store.release(f"ses_{n}")
        now = 6 * 86_400_000
        assert trim_sessions(store, keep_days=5, now=now) == ("ses_0",)
        assert trim_sessions(store, keep_megabytes=1.5, now=now, keep=("ses_1",)) == ("ses_2", "ses_3")
        assert [one.id for one in store.sessions()] == ["ses_1", "ses_4", "ses_5"]
        assert trim_sessions(store, now=now) == ()
