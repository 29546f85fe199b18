"""Nothing that was acknowledged is lost with the power: of the log, of the agent's sessions and of its requests."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from campaigns import Campaign
from hudkit.agent.records import find_faults
from hudkit.agent.request_log import RequestLog
from hudkit.agent.session_store import SessionStore
from hudkit.errors import StoreDamaged
from hudkit.log.payloads import NoteAdd
from hudkit.log.stores import SqliteLog
from power_loss import PowerSupply

pytestmark = pytest.mark.slow

LOSSES = Campaign("powerloss", quick=3, full=200)
HERE = Path(__file__).parent
WRITER, STORE = HERE / "writer_child.py", HERE.parent / "agent" / "store_child.py"
REQUESTS = """
import os, sys
from pathlib import Path
from itertools import count
from hudkit.agent.request_log import RequestLog
from hudkit.models import CompletionRequest, TextContent, UserMessage
log = RequestLog(Path(sys.argv[1]), busy_timeout=30.0)
session = sys.argv[2]
begin = len(list(log.requests(session)))
for number in count(begin + 1):
    messages = tuple(UserMessage((TextContent(f"message {n}"),)) for n in range(1, number + 1))
    log.add(session, f"m{number}", "model", number, CompletionRequest(("system",), messages))
    os.write(1, b"%d\\n" % number)
"""
UNSYNCED = """
import os, sys
from itertools import count
from hudkit.log import Batch, EventDraft, Origin
from hudkit.log.payloads import NoteAdd
from hudkit.log.stores import open_log
log = open_log(sys.argv[1], busy_timeout=30.0)
for number in count():
    sync = not number % 5
    draft = EventDraft(f"{os.getpid()}-{number}", number, 0, Origin.AGENT, NoteAdd(f"{number}"))
    events = log.append_together([Batch(sys.argv[2], (draft,), sync=sync)])[0]
    os.write(1, b"%d %d\\n" % (sync, events[0].seq))
"""


@pytest.fixture
def supply(tmp_path: Path) -> PowerSupply:
    (tmp_path / "data").mkdir(mode=0o700)
    return PowerSupply(tmp_path / "data", tmp_path)


def acknowledged_until_killed(command: list[str], supply: PowerSupply, seconds: float) -> list[str]:
    """The lines that a process said, which is killed so long after the first."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, env=supply.environment) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(seconds)
        child.send_signal(signal.SIGKILL)
        said = (first + child.stdout.read()).split(b"\n")[:-1]
    return [line.decode() for line in said]


@LOSSES
@pytest.mark.parametrize("group", ["1", "4"])
def test_a_loss_of_power_takes_no_acknowledged_event(group: str, supply: PowerSupply) -> None:
    path, chance, undone = supply.under / "log.db", LOSSES.chance(int(group)), 0
    acknowledged: list[int] = []
    for _ in range(LOSSES.rounds):
        command = [str(WRITER), str(path), "s", "0", group]
        acknowledged += map(int, acknowledged_until_killed(command, supply, chance.uniform(0, 0.05)))
        undone += supply.lose(chance)
        with SqliteLog.open(path) as log:
            events = list(log.read("s"))
            assert list(log.verify()) == []
        assert events[-1].seq >= max(acknowledged)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert all(isinstance(event.payload, NoteAdd) for event in events)
    assert undone or LOSSES.rounds < LOSSES.full, "there was something to undo"


@LOSSES
def test_a_loss_of_power_takes_only_the_last_events_that_did_not_wait_for_the_disk(supply: PowerSupply) -> None:
    path, chance, lost = supply.under / "log.db", LOSSES.chance(7), 0
    appended: list[list[int]] = []
    for _ in range(LOSSES.rounds):
        command = ["-c", UNSYNCED, str(path), "s"]
        lines = acknowledged_until_killed(command, supply, chance.uniform(0, 0.05))
        appended = [[int(word) for word in line.split()] for line in lines]
        supply.lose(chance)
        with SqliteLog.open(path) as log:
            events = list(log.read("s"))
            assert list(log.verify()) == [], "what nobody was promised is no loss"
        assert events[-1].seq >= max((seq for synced, seq in appended if synced), default=0)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        lost += events[-1].seq < appended[-1][1]
    assert lost or LOSSES.rounds < LOSSES.full, "there was something to lose"


@LOSSES
def test_a_loss_of_power_takes_no_acknowledged_step_of_a_session(supply: PowerSupply, tmp_path: Path) -> None:
    path, chance, undone = supply.under / "sessions.db", LOSSES.chance(3), 0
    acknowledged: list[str] = []
    for _ in range(LOSSES.rounds):
        command = [str(STORE), str(path), "ses", str(tmp_path / "witness")]
        acknowledged += acknowledged_until_killed(command, supply, chance.uniform(0, 0.05))
        undone += supply.lose(chance)
        with SessionStore.open(path) as store:
            store.resume("ses", 99)
            messages = store.messages("ses")
        assert find_faults(messages) == ()
        ended = {message.id for message in messages if message.finish}
        calls = {getattr(part, "call_id", "") for message in messages for part in message.parts}
        assert {step for step in acknowledged if step != "ready"} <= ended | calls
    assert undone or LOSSES.rounds < LOSSES.full, "there was something to undo"


@LOSSES
def test_a_loss_of_power_takes_no_acknowledged_request(supply: PowerSupply) -> None:
    path, chance, undone = supply.under / "requests.db", LOSSES.chance(4), 0
    for number in range(LOSSES.rounds):
        session = f"s{number // 10}"  # what each request repeats of those before it stays small
        said = acknowledged_until_killed(["-c", REQUESTS, str(path), session], supply, chance.uniform(0, 0.05))
        undone += supply.lose(chance)
        log = RequestLog(path)
        requests = list(log.requests(session))
        log.close()
        assert len(requests) >= int(said[-1])
        assert [len(logged.request.messages) for logged in requests] == list(range(1, len(requests) + 1))
    assert undone or LOSSES.rounds < LOSSES.full, "there was something to undo"


def test_the_harness_sees_a_loss_where_nothing_is_synced(supply: PowerSupply) -> None:
    """Without it, the tests above would say nothing."""
    path, chance = supply.under / "log.db", LOSSES.chance(5)
    careless = (
        "import sys; from hudkit.log.stores import sqlite_files; "
        "sqlite_files._SETTINGS = tuple(one.replace('FULL', 'OFF') for one in sqlite_files._SETTINGS); "
        "sys.path.insert(0, sys.argv[1]); sys.argv = ['', *sys.argv[2:]]; import writer_child; writer_child.main()"
    )
    lost = 0
    for _ in range(4):
        command = ["-c", careless, str(HERE), str(path), "s", "0", "1"]
        acknowledged = acknowledged_until_killed(command, supply, 0.05)
        supply.lose(chance)
        try:
            with SqliteLog.open(path) as log:
                lost += max(0, int(acknowledged[-1]) - log.last_seq("s"))
        except StoreDamaged:
            lost += 1
        for file in supply.under.iterdir():
            file.unlink()
    assert lost
