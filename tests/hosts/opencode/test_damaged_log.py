"""Random bytes over the log, before the daemon starts or while it lives: in real OpenCode the agent is told, and what
is acknowledged is there after a repair."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hud_plugin import written
from hud_seen import hud
from opencode_host import Hosts, OpenCode

from hudkit.daemon import client
from hudkit.log.payloads import NoteAdd
from hudkit.log.stores import open_log
from hudkit.models.scripted_answers import says, uses
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow


def damage(db: Path) -> None:
    """Thirty times 64 random bytes, anywhere behind the first page."""
    chance = random.Random(17)
    body = bytearray(db.read_bytes())
    for _ in range(30):
        start = chance.randrange(4_096, len(body) - 64)
        body[start : start + 64] = chance.randbytes(64)
    db.write_bytes(body)


def end_daemon(host: OpenCode, socket: Path) -> None:
    """Asks the daemon to end and waits until its files are closed; the plugin may start the next one at once."""
    daemon = client.greet(socket)
    assert daemon is not None and client.stop(socket)
    assert host.settled(lambda: lock_of(socket) != daemon.pid)


def lock_of(socket: Path) -> int | None:
    """The process that holds the daemon's lock; it lets go of it last."""
    return None if client.is_gone(socket) else int(socket.with_name(f"{socket.name}.lock").read_text() or 0)


def notes_in(db: Path) -> set[str]:
    with open_log(db, read_only=True) as log:
        events = [event for name in log.sessions() for event in log.read(name)]
    return {event.payload.content for event in events if isinstance(event.payload, NoteAdd)}


@pytest.mark.parametrize("lives", [False, True], ids=["before it starts", "while it lives"])
def test_damage_is_told_and_nothing_is_acknowledged_that_is_lost(
    opencode: Hosts, model: ScriptedModel, place: Path, lives: bool
) -> None:
    host = opencode(plugins=[written(place)])
    host.serve()
    session, db, socket = host.create("a title"), place / "hudkit.db", place / "run" / "d.sock"
    model.play(*(uses(hud("notes.add", content=f"early note {n}, {'x' * 300}")) for n in range(20)), says("done"))
    host.prompt(session, "Please begin.")
    if not lives:
        end_daemon(host, socket)
    damage(db)
    model.play(uses(hud("notes.add", content="late note")), says("done"), says("again"))
    host.prompt(session, "Please go on.")
    answers = [text for role, text in model.chats[-1].messages if role == "tool"]
    acknowledged = answers[-1].startswith("Added note")
    if lives:  # what SQLite has in memory is whole; the next start finds what is on the disk
        end_daemon(host, socket)
    host.prompt(session, "And on, please.")
    told = model.chats[-1].text
    assert "damaged" in told and "hudkit repair" in told, "the agent, and by it the user"
    command = [sys.executable, "-m", "hudkit", "repair", "--db", str(db)]
    done = subprocess.run(
        command, env={**os.environ, "HUDKIT_SOCKET": str(socket)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not acknowledged or "late note" in notes_in(db)
