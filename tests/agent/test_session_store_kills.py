"""A session that was killed at any point resumes with a valid transcript, and no call is run twice unsaid."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from campaigns import Campaign
from hudkit.agent.records import StoredCall, find_faults
from hudkit.agent.session_store import SessionStore
from hudkit.errors import SessionError

KILLS = Campaign("kills", quick=40, full=400)
CHILD = Path(__file__).with_name("store_child.py")


def play(path: Path, witness: Path, wait: float) -> list[str]:
    """The acknowledged steps of a process that is killed `wait` seconds after it began to write."""
    command = [sys.executable, str(CHILD), str(path), "ses", str(witness)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout is not None
    first = child.stdout.readline()
    time.sleep(wait)
    child.send_signal(signal.SIGKILL)
    said = (first + child.stdout.read()).split(b"\n")
    child.wait()
    child.stdout.close()
    return [line.decode() for line in said[1:-1]]  # after `ready`; the last piece is empty or cut off


def check(path: Path, witness: Path, acknowledged: list[str]) -> int:
    with SessionStore.open(path) as store:
        store.resume("ses", 99)
        messages = store.messages("ses")
        session = store.session("ses")
    assert find_faults(messages) == ()
    calls = {part.call_id: part for message in messages for part in message.parts if isinstance(part, StoredCall)}
    ended = {message.id for message in messages if message.finish}
    for step in acknowledged:
        assert step in ended or calls[step].status == "completed", "no acknowledged step is lost"
    ran = Counter(witness.read_text().split()) if witness.exists() else Counter()
    assert set(ran.values()) <= {1}, "nothing is run twice"
    for call_id in ran:
        call = calls[call_id]
        assert call.status == "completed" or (call.interrupted and "may have had effects" in call.error)
    finished = sum(1 for message in messages if message.finish)
    assert session is not None
    assert (session.usage.input, session.cost) == (10 * finished, 0.5 * finished), "sums are those of the responses"
    return sum(call.interrupted for call in calls.values())


@KILLS
@pytest.mark.slow
def test_a_session_killed_at_random_points_is_valid_when_it_is_resumed(tmp_path: Path) -> None:
    path, witness = tmp_path / "sessions.db", tmp_path / "witness"
    chance = KILLS.chance(4)
    acknowledged: list[str] = []
    cut = 0
    for kill in range(10 * KILLS.rounds):
        acknowledged += play(path, witness, chance.uniform(0, 0.03))
        cut = check(path, witness, acknowledged)
        if kill + 1 >= KILLS.rounds and cut and acknowledged:
            break
    assert acknowledged
    assert cut, "the kills have hit running calls"


@pytest.mark.slow
def test_one_kill(tmp_path: Path) -> None:
    path, witness = tmp_path / "sessions.db", tmp_path / "witness"
    check(path, witness, play(path, witness, 0.02))


@pytest.mark.slow
def test_a_session_that_another_process_writes_is_not_resumed(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    command = [sys.executable, str(CHILD), str(path), "ses", str(tmp_path / "witness")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        with SessionStore.open(path, busy_timeout=30.0) as store:
            with pytest.raises(SessionError, match="another process"):
                store.resume("ses", 9)
            child.kill()
            child.wait()
            store.resume("ses", 9)  # the claim ended with its process
            assert find_faults(store.messages("ses")) == ()
    finally:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()
