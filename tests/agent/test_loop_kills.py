"""A loop that is killed at any point goes on with a valid transcript, and runs nothing twice unsaid."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from loops import texts

from campaigns import Campaign
from hudkit.agent.message_history import is_summary, visible_messages
from hudkit.agent.records import StoredCall, StoredMessage, find_faults
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


class Seen(NamedTuple):
    """What a check came upon: calls that were cut off, those of sub-agents among them, and summaries."""

    cut: int
    cut_below: int
    summaries: int


def check(place: Path, session: str) -> Seen:
    """Check a session and its sub-sessions, as they are once it was opened again."""
    with SessionStore.open(place / "data" / "sessions.db") as store:
        resumed(store, session)
        below = store.changes.sub_sessions(session)
        transcripts = {id: store.messages(id) for id in (session, *below)}
    calls: dict[str, StoredCall] = {}
    for messages in transcripts.values():
        assert find_faults(messages) == ()
        window = visible_messages(messages)
        sent = to_model_messages(to_chat_messages(window), part_lookup(window))
        assert not window or order_fault(request_of(sent)) == ""
        calls |= {
            part.call_id: part for message in messages for part in message.parts if isinstance(part, StoredCall)
        }
    messages = transcripts[session]
    check_reports(messages, {id: texts(transcripts[id]) for id in below})
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
    for id in (session, *below):
        for one in log.requests(id):
            assert order_fault(one.request) == ""
    log.close()
    cut = [call for call in calls.values() if call.interrupted]
    return Seen(len(cut), sum(call.call_id.endswith("-c") for call in cut), sum(map(is_summary, messages)))


def check_reports(messages: tuple[StoredMessage, ...], below: dict[str, list[tuple[str, str]]]) -> None:
    """Whoever was begun in the background is told of once at most, and as finished only where it has finished."""
    begun = Counter(
        str(part.metadata["session"])
        for message in messages
        for part in message.parts
        if isinstance(part, StoredCall) and part.metadata.get("background") and part.status == "completed"
    )
    told = Counter[str]()
    for role, text in texts(messages):
        for id, state in re.findall(r'<task id="(\S+)" state="(completed|error)">', text if role == "user" else ""):
            told[id] += 1
            assert state == "error" or below[id][-1][1].endswith("is done")
    assert not told - begun
    assert set(begun.values()) <= {1}


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
    session, seen = "", Seen(0, 0, 0)
    for kill in range(10 * KILLS.rounds):
        session = killed(tmp_path, session, chance.randrange(12), chance.uniform(0, 0.1))
        seen = check(tmp_path, session)
        if kill + 1 >= KILLS.rounds and all(seen):
            break
    assert all(seen), "the kills have hit calls that ran, sub-agents' too, and compactions came in between"


@pytest.mark.slow
def test_a_loop_killed_twice(tmp_path: Path) -> None:
    started(tmp_path)
    session = killed(tmp_path, "", 5, 0.05)
    check(tmp_path, session)
    assert killed(tmp_path, session, 7, 0.05) == session
    check(tmp_path, session)
