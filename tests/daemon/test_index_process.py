"""The index is made in a process beside the daemon: it delays nobody, may be killed, and ends with the daemon."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hudkit.daemon import client
from hudkit.daemon.index_process import IndexProcess
from hudkit.daemon.socket_path import acquire_lock
from hudkit.paths import index_path
from hudkit.transcripts.search import open_past_sessions
from waiting import is_alive, until

pytestmark = pytest.mark.slow

OUTPUTS = [
    "x" * 50_000,
    "A" * 5_000_000,
    "ab1 " * 1_250_000,
    *(f"line {n} of the log, with a word{n}\n" * 120 for n in range(400)),
]


def _record(n: int, session: int, output: str) -> str:
    block = {"type": "tool_result", "tool_use_id": f"toolu_{session}_{n}", "content": output}
    record = {
        "type": "user",
        "uuid": f"u{session}-{n}",
        "sessionId": f"00000000-0000-4000-8000-{session:012d}",
        "cwd": "/work/kiln",
        "timestamp": f"2026-03-01T10:{n // 60:02d}:{n % 60:02d}.000Z",
        "message": {"role": "user", "content": [block, {"type": "text", "text": output[:2_000]}]},
    }
    return json.dumps(record) + "\n"


@pytest.fixture
def claude(daemon: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Transcripts that take a while to read: long outputs, of one letter and of many words."""
    home = daemon.db.parent.parent / "home"
    folder = home / ".claude" / "projects" / "-work-kiln"
    folder.mkdir(parents=True)
    for session in range(3):
        lines = (_record(n, session, output) for n, output in enumerate(OUTPUTS))
        (folder / f"00000000-0000-4000-8000-{session:012d}.jsonl").write_text("".join(lines))
    for name in ("XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home / ".claude" / "projects"


def _passages(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM entries").fetchone()[0])
    except sqlite3.OperationalError:  # it is being made
        return 0


def _texts(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as db:
        sql = "SELECT s.id, place, piece, text FROM entries JOIN sessions s ON s.key = session"
        return sorted(db.execute(f"{sql} WHERE host = 'claude-code'"))


def test_killed_while_it_writes_nothing_is_lost_and_the_daemon_answers(daemon: Any, claude: Path) -> None:
    daemon.start()
    index = index_path(daemon.db)
    until(lambda: _passages(index))
    first = daemon.index_processes()[-1]
    os.kill(first, signal.SIGSTOP)
    before = _passages(index)
    # It hangs in the middle of its work, and holds the index's lock or not: nobody waits for it.
    for n in range(20):
        frame = daemon.ask("/v1/frame", transcript=[{"anchor": "user:1:", "role": "user"}], used=1_000 + n)
        assert frame["ack"] and frame["base"]
        assert daemon.ask("/v1/events")["ack"]
        note = {"tool": "notes.add", "args": {"content": f"note {n}"}}
        answer = daemon.ask("/v1/tool", router="hud", arguments=note)
        assert answer["ok"], answer
    assert _passages(index) == before, "it was made by somebody else"
    os.kill(first, signal.SIGKILL)
    until(lambda: len(daemon.index_processes()) > 1)
    whole = index.with_name("whole.db")
    past = open_past_sessions(whole, claude=claude, opencode=index.parent / "none", codex=index.parent / "none")
    with closing(past):
        past.update()
    expected = _texts(whole)
    assert before < len(expected), "it was done before it was stopped: make the transcripts longer"
    until(lambda: _passages(index) >= len(expected))
    until(lambda: _texts(index) == expected)
    assert daemon.ask("/v1/tool", router="memory", arguments={"tool": "search", "args": {"query": "word399"}})["ok"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_the_daemon_however_that_ends(daemon: Any, claude: Path, number: signal.Signals) -> None:
    process = daemon.start()
    until(lambda: _passages(index_path(daemon.db)))
    (pid,) = daemon.index_processes()
    process.send_signal(number)
    process.wait()
    until(lambda: not is_alive(pid), "an index process without a daemon")


def test_it_is_gone_when_the_daemon_lets_go_of_its_lock(daemon: Any, claude: Path) -> None:
    """`hudkit uninstall --purge` deletes the files then: nobody may make one anew."""
    daemon.start()
    until(lambda: _passages(index_path(daemon.db)))
    (pid,) = daemon.index_processes()
    assert client.stop(daemon.socket)
    locks: list[int] = []

    def has_let_go() -> bool:
        lock = acquire_lock(daemon.socket)
        locks.extend([] if lock is None else [lock])
        return lock is not None

    until(has_let_go)
    assert not is_alive(pid)
    os.close(locks[0])


def test_a_process_that_reads_nothing_never_holds_an_upload_up() -> None:
    """The pipe is full after 64 kB; what is left out is found by the next reading of everything."""
    indexing = IndexProcess([sys.executable, "-c", "import time; time.sleep(600)"], start_after=0)
    try:
        until(lambda: indexing.process_id)
        for n in range(20_000):
            indexing.uploaded("opencode", f"ses_{n}")
    finally:
        pid = indexing.process_id
        assert pid
        os.kill(pid, signal.SIGKILL)
        indexing.close()
    assert not is_alive(pid)


def test_one_that_ends_at_once_is_started_again(tmp_path: Path) -> None:
    file = tmp_path / "starts"
    code = f"open({str(file)!r}, 'a').write('x')"
    indexing = IndexProcess([sys.executable, "-c", code], start_after=0)
    until(lambda: file.exists() and len(file.read_text()) >= 2)
    indexing.close()
    starts = file.read_text()
    assert len(starts) < 10, "it is started again without a pause"
