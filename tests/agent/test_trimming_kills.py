"""A session without summaries that is killed in its trims and behind them: nothing is lost or there twice."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from test_loop_kills import resumed
from trim_child import request_digest

from campaigns import Campaign
from hudkit import Hud
from hudkit.agent.message_history import trim_marker, visible_messages
from hudkit.agent.records import StoredCall, StoredMessage, find_faults
from hudkit.agent.request_builder import part_lookup, to_chat_messages, to_model_messages
from hudkit.agent.request_log import RequestLog
from hudkit.agent.session_store import SessionStore
from hudkit.agent.session_transcript import HOST
from hudkit.models import CompletionRequest
from hudkit.models.port import order_fault

KILLS = Campaign("trim-kills", quick=5, full=200)
CHILD = Path(__file__).with_name("trim_child.py")
LEFT = "left the window; nothing is lost."


class Kill(NamedTuple):
    """When a process is killed: so many seconds after so many of these lines, or by itself at a write of a trim."""

    line: str = "trimmed"
    lines: int = 1
    wait: float = 0.0
    writes: int = 0


class Killed(NamedTuple):
    session: str
    digests: list[str]
    trims: int


def killed(place: Path, session: str, kill: Kill) -> Killed:
    """Run a process until it is killed; return its session, the digests of its requests, and how often it trimmed."""
    arguments = [sys.executable, str(CHILD), str(place), session, str(kill.writes)]
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    id = child.stdout.readline().strip()
    seen = []
    left = kill.lines
    for line in child.stdout:
        seen.append(line.split())
        left -= line.startswith(kill.line)
        if not kill.writes and left <= 0:
            time.sleep(kill.wait)
            break
    child.kill()
    seen += [line.split() for line in child.stdout]
    child.stdout.close()
    assert child.wait() == -9, "it has worked until it was killed"
    return Killed(
        id, [words[1] for words in seen if words[0] == "asked"], sum(words == ["trimmed"] for words in seen)
    )


class Kept(NamedTuple):
    """What is stored: the ids of messages, the digests of all requests, and how many trims there were."""

    messages: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    trims: int = 0


def check(place: Path, session: str, before: Kept, asked: list[str]) -> Kept:
    """Check a session as it is once it was opened again; return what is stored of it."""
    with SessionStore.open(place / "data" / "sessions.db") as store:
        resumed(store, session)
        messages = store.messages(session)
    assert find_faults(messages) == ()
    ids = [message.id for message in messages]
    assert ids[: len(before.messages)] == list(before.messages), "nothing that was there is gone, or stands elsewhere"
    check_window(messages)
    calls = check_calls(place, messages)
    requests = check_requests(place, session, asked, before)
    check_hud(place, session, calls)
    return Kept(tuple(ids), requests, sum(trim_marker(message) is not None for message in messages))


def check_window(messages: tuple[StoredMessage, ...]) -> None:
    """The window is valid, begins with one note at most, and what the note says of what left is right."""
    window = visible_messages(messages)
    sent = to_model_messages(to_chat_messages(window), part_lookup(window))
    assert not window or order_fault(CompletionRequest((), sent)) == ""
    notes = [message for message in messages if trim_marker(message) is not None]
    for note in notes:
        marker = trim_marker(note)
        assert marker is not None
        tail = next(index for index, message in enumerate(messages) if message.id == (marker.tail_from or note.id))
        count = sum(trim_marker(message) is None for message in messages[:tail])
        assert marker.text.startswith(f"[{count} older message")
    assert str(sent).count(LEFT) == bool(notes)
    prompts = [
        part.text for message in window if message.role == "user" for part in message.parts if hasattr(part, "text")
    ]
    assert set(Counter(text for text in prompts if text.startswith("go on")).values()) <= {1}, "nothing is said twice"


def check_calls(place: Path, messages: tuple[StoredMessage, ...]) -> dict[str, StoredCall]:
    """No command ran twice, and what is told as done was done."""
    parts = [part for message in messages for part in message.parts if isinstance(part, StoredCall)]
    calls = {call.call_id: call for call in parts}
    assert len(calls) == len(parts)
    witness = place / "project" / "witness"
    ran = Counter(witness.read_text().split()) if witness.exists() else Counter[str]()
    assert set(ran.values()) <= {1}
    done = {id for id, call in calls.items() if call.tool == "bash" and call.status == "completed"}
    assert done <= set(ran) <= set(calls)
    assert all("900" in calls[id].output for id in done), "outputs that left the window are stored"
    return calls


def check_requests(place: Path, session: str, asked: list[str], before: Kept) -> tuple[str, ...]:
    """Every request that the model had can be built again, to the byte, and each is there once."""
    log = RequestLog(place / "data" / "requests.db")
    logged = list(log.requests(session))
    log.close()
    assert all(order_fault(one.request) == "" for one in logged)
    assert all(str(one.request.messages).count(LEFT) <= 1 for one in logged)
    digests = [request_digest(one.request) for one in logged]
    assert digests[: len(before.requests)] == list(before.requests)
    new = digests[len(before.requests) :]
    # what was about to be sent is stored before: the last one may not have come to the model
    assert new[: len(asked)] == asked and len(new) <= len(asked) + 1
    return tuple(digests)


def check_hud(place: Path, session: str, calls: dict[str, StoredCall]) -> None:
    """What the agent recorded stands once in the HUD, whatever left the window."""
    with Hud.open(place / "hud.db") as hud:
        assert list(hud.verify()) == []
        state = hud.session(session, project=place / "project", host=HOST).state
        notes = Counter(note.content for note in state.notes)
    recorded = {
        f"note of {id.removesuffix('-n')}"
        for id, call in calls.items()
        if call.tool == "hud" and call.status == "completed"
    }
    assert set(notes.values()) <= {1} and recorded <= set(notes)


@KILLS
@pytest.mark.slow
def test_a_trimmed_session_killed_at_many_points_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    chance = KILLS.chance(11)
    session, kept, trims, within = "", Kept(), 0, 0
    for round_ in range(KILLS.rounds):
        kill = (
            Kill(writes=chance.randrange(1, 9)),
            Kill("trimmed", chance.randrange(1, 3), chance.uniform(0, 0.01)),
            Kill("asked", chance.randrange(1, 12), chance.uniform(0, 0.05)),
        )[round_ % 3]
        end = killed(tmp_path, session, kill)
        session = end.session
        kept = check(tmp_path, session, kept, end.digests)
        trims += end.trims
        within += kill.writes > 0
    assert trims and within and kept.trims >= trims, "the kills have come in trims and behind them"
