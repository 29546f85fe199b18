"""A loop that is killed at any point goes on with a valid transcript, and runs nothing twice unsaid."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from campaigns import Campaign
from hudkit.agent.message_history import is_summary, visible_messages
from hudkit.agent.records import StoredCall, find_faults
from hudkit.agent.request_builder import part_lookup, to_chat_messages, to_model_messages
from hudkit.agent.request_log import RequestLog
from hudkit.agent.session_store import SessionStore
from hudkit.errors import SessionError
from hudkit.models import CompletionRequest, Message
from hudkit.models.port import order_fault
from waiting import PATIENCE

KILLS = Campaign("kills", quick=20, full=200)
CHILD = Path(__file__).with_name("loop_child.py")


def killed(place: Path, session: str, calls: int, wait: float) -> str:
    """The id of the session of a process that is killed `wait` seconds after that many calls of its model."""
    child = subprocess.Popen([sys.executable, str(CHILD), str(place), session], stdout=subprocess.PIPE)
    assert child.stdout is not None
    first = child.stdout.readline().decode().strip()
    for _ in range(calls):
        child.stdout.readline()
    time.sleep(wait)
    alive = child.poll() is None
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert alive, "it has worked until it was killed"
    return first


def resumed(store: SessionStore, session: str) -> None:
    """What the process had forked may hold its claim until it becomes the command: at most a moment."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            store.resume(session, 99)
            return
        except SessionError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def check(place: Path, session: str) -> tuple[int, int]:
    """The calls that were cut off, and the summaries."""
    with SessionStore.open(place / "data" / "sessions.db") as store:
        resumed(store, session)
        messages = store.messages(session)
    assert find_faults(messages) == ()
    window = visible_messages(messages)
    sent = to_model_messages(to_chat_messages(window), part_lookup(window))
    assert not window or order_fault(request_of(sent)) == ""
    calls = {part.call_id: part for message in messages for part in message.parts if isinstance(part, StoredCall)}
    witness = place / "project" / "witness"
    ran = Counter(witness.read_text().split()) if witness.exists() else Counter()
    assert set(ran.values()) <= {1}, "nothing is run twice"
    for call_id in ran:
        call = calls[call_id]
        assert call.status == "completed" or (call.interrupted and "may have had effects" in call.error)
    for call in calls.values():
        if call.tool == "bash" and call.status == "completed":
            assert ran[call.call_id] == 1, "what is told as done was done"
    log = RequestLog(place / "data" / "requests.db")
    for one in log.requests(session):
        assert order_fault(one.request) == ""
    log.close()
    return sum(call.interrupted for call in calls.values()), sum(map(is_summary, messages))


def request_of(messages: tuple[Message, ...]) -> CompletionRequest:
    return CompletionRequest((), messages)


def started(place: Path) -> None:
    (place / "project").mkdir()
    (place / "project" / "a.txt").write_text("a\n")


@KILLS
@pytest.mark.slow
def test_a_loop_killed_at_many_points_goes_on_each_time(tmp_path: Path) -> None:
    started(tmp_path)
    chance = KILLS.chance(7)
    session, cut, summaries = "", 0, 0
    for kill in range(10 * KILLS.rounds):
        session = killed(tmp_path, session, chance.randrange(8), chance.uniform(0, 0.1))
        cut, summaries = check(tmp_path, session)
        if kill + 1 >= KILLS.rounds and cut and summaries:
            break
    assert cut and summaries, "the kills have hit calls that ran, and compactions came in between"


@pytest.mark.slow
def test_a_loop_killed_twice(tmp_path: Path) -> None:
    started(tmp_path)
    session = killed(tmp_path, "", 5, 0.05)
    check(tmp_path, session)
    assert killed(tmp_path, session, 7, 0.05) == session
    check(tmp_path, session)
