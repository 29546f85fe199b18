"""A frame over the daemon's socket beside an empty round trip over the same socket; what it costs the processor; and
what it takes while the search index is made beside it."""

from __future__ import annotations

import gc
import json
import os
import socket
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any

from bench.figures import Figure
from hudkit.api import Hud
from hudkit.daemon.client import ensure_running, stop
from hudkit.daemon.handlers import RequestHandlers
from hudkit.hosts.wire import PROTOCOL, PROTOCOL_HEADER
from hudkit.paths import index_path

TITLE = (
    "the daemon: asking for a frame ÷ an empty round trip (GET /health) over the same socket; CPU; beside indexing"
)
ROUNDS = 1000
CPU_ROUNDS = 400
CPU_TARGETS_MS = {60: 3.0, 3_000: 6.0}
"""Milliseconds of the daemon's processor that a later frame may cost, by the messages of its session."""
MESSAGES = 60
"""Messages in the transcript of the call."""
EVENTS, CONTACTS = 10_000, 9
CONTACT_MS = 30
"""What a first call may wait for beside all else, in CPU of the daemon."""
AT = 1_795_187_733_000


class Caller:
    """A host without a library: requests as bytes; `reconnects` makes a connection for each, as a host's `fetch` over
    a unix socket does."""

    def __init__(self, path: Path, *, reconnects: bool) -> None:
        self._path = os.fspath(path)
        self._reconnects = reconnects
        self._socket: socket.socket | None = None

    def ask(self, head: str, body: bytes = b"") -> bytes:
        """The answer's body; it has to be a success."""
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(self._path)
        lines = f"{head} HTTP/1.1\r\nhost: x\r\n{PROTOCOL_HEADER}: {PROTOCOL}\r\ncontent-length: {len(body)}\r\n\r\n"
        self._socket.sendall(lines.encode() + body)
        got = self._socket.recv(1 << 16)
        assert got.startswith(b"HTTP/1.1 200"), got
        while b"\r\n\r\n" not in got:
            got += self._socket.recv(1 << 16)
        start = got.index(b"\r\n\r\n") + 4
        length = int(got.split(b"content-length: ")[1].partition(b"\r")[0])
        while len(got) < start + length:
            got += self._socket.recv(1 << 16)
        if self._reconnects:
            self.close()
        return got[start:]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Host:
    """An agent's session at work: what a plugin sends for each call, the transcript as changes."""

    def __init__(self, name: str, messages: int = MESSAGES) -> None:
        self._step = 0
        self._name = name
        self._order = 0
        self._at = messages
        self._transcript = [{"anchor": f"user:{n}:", "role": "user", "size": 2_000} for n in range(messages)]

    def first(self) -> bytes:
        """The first question, which tells all of the transcript."""
        self._order += 1
        return self._body(transcript=self._transcript)

    def repeated(self) -> bytes:
        """A question with nothing new."""
        self._order += 1
        return self._body(since=self._order - 1)

    def step(self) -> bytes:
        """The request after one more tool step: a file was read, usage was reported."""
        self._step += 1
        self._order += 1
        at = AT + 1000 * self._step
        call = f"call_{self._step}"
        state = {
            "status": "completed",
            "input": {"filePath": f"/tmp/part_{self._step % 12}.py"},
            "output": "x" * 2000,
            "time": {"start": at, "end": at + 100},
        }
        info = {
            "id": f"msg_{self._step}",
            "role": "assistant",
            "time": {"created": at, "completed": at + 200},
            "modelID": "m",
            "finish": "tool-calls",
            "tokens": {"total": 20_000 + 50 * self._step},
        }
        part = {"id": f"prt_{self._step}", "type": "tool", "tool": "read", "callID": call, "state": state}
        output = {"call": call, "tool": "read", "size": 2_000}
        entry = {"anchor": f"assistant:{at}:{call}", "role": "tool", "size": 2_040, "outputs": [output]}
        changes = [{"index": self._at, "removed": 0, "entries": [entry]}]
        self._at += 1
        return self._body({"info": info, "parts": [part]}, since=self._order - 1, changes=changes)

    def _body(self, *messages: dict[str, Any], **transcript: object) -> bytes:
        facts = {"title": "Port the report", "agent": "build", "parent": None}
        return json.dumps(
            {
                "host": "opencode",
                "session": self._name,
                "directory": "/tmp",
                "model": {"id": "m", "provider": "p", "limit": 4_000_000, "output": 8_000, "input": 0},
                "messages": messages,
                "facts": facts,
                "seen": None,
                "used": None,
                "order": self._order,
                **transcript,
            }
        ).encode()


def _time(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def _measure(path: Path, *, reconnects: bool) -> dict[str, list[float]]:
    """Seconds of interleaved rounds, sorted."""
    same, busy = Host(f"same-{reconnects}"), Host(f"busy-{reconnects}")
    times: dict[str, list[float]] = {"empty": [], "same": [], "news": []}
    with closing(Caller(path, reconnects=reconnects)) as caller:
        caller.ask("POST /v1/frame", same.first())
        caller.ask("POST /v1/frame", busy.first())
        for _ in range(50):
            caller.ask("POST /v1/frame", same.repeated())
            caller.ask("POST /v1/frame", busy.step())
        gc.collect()
        gc.disable()
        for n in range(ROUNDS):
            times["empty"].append(_time(lambda: caller.ask("GET /health")))
            body = same.repeated()
            times["same"].append(_time(lambda body=body: caller.ask("POST /v1/frame", body)))  # type: ignore[misc]
            if n % 5 == 0:
                body = busy.step()
                times["news"].append(_time(lambda body=body: caller.ask("POST /v1/frame", body)))  # type: ignore[misc]
        gc.enable()
    return {name: sorted(found) for name, found in times.items()}


def _first_contact() -> Figure:
    """CPU of the first frame of a session with a long log, in a process that has not met it yet."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        db, host, other = Path(folder) / "hudkit.db", Host("long"), Host("other")
        with Hud.open(db) as hud:
            handlers = RequestHandlers(hud)
            handlers.answer("/v1/frame", host.first())
            while not hud.sessions() or hud.log.last_seq(hud.sessions()[0]) < EVENTS:
                handlers.answer("/v1/frame", host.step())
        taken = []
        for _ in range(CONTACTS):
            with Hud.open(db) as hud:
                handlers = RequestHandlers(hud)
                handlers.answer("/v1/frame", other.first())  # loads what a daemon loads at its start
                body = host.first()
                start = process_time()
                status, _ = handlers.answer("/v1/frame", body)
                taken.append(1_000 * (process_time() - start))
                assert status == 200
    median = sorted(taken)[CONTACTS // 2]
    name = f"first contact with a log of {EVENTS:,} events, CPU ÷ {CONTACT_MS} ms"
    return Figure(name, median / CONTACT_MS, 1.0, f"{median:.1f} ms; {min(taken):.1f} to {max(taken):.1f}")


def _round_trips(path: Path) -> list[Figure]:
    """Ratios of medians and of 99th percentiles; the note has them in microseconds."""
    figures = []
    for reconnects in (True, False):
        times = _measure(path, reconnects=reconnects)
        how = "a connection for each request" if reconnects else "one connection"
        for name, words in (("same", "nothing new"), ("news", "one new message")):
            for place, label in ((0.5, "p50"), (0.99, "p99")):
                empty, it = (found[int(len(found) * place)] for found in (times["empty"], times[name]))
                most = 2.0 if reconnects and label == "p50" else None
                note = f"{it * 1e6:.0f} ÷ {empty * 1e6:.0f} µs"
                figures.append(Figure(f"{label}, {words}, {how}", it / empty, most, note))
    return figures


def _processor_seconds(pid: int) -> float:
    """What a process has used of the processor (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _processor(path: Path, pid: int) -> list[Figure]:
    """What a later frame costs the daemon, as a share of what it may cost; the note has milliseconds."""
    figures = []
    with closing(Caller(path, reconnects=True)) as caller:
        for messages, most in CPU_TARGETS_MS.items():
            host = Host(f"cpu-{messages}", messages)
            caller.ask("POST /v1/frame", host.first())
            for _ in range(20):
                caller.ask("POST /v1/frame", host.step())
            before = _processor_seconds(pid)
            for _ in range(CPU_ROUNDS):
                caller.ask("POST /v1/frame", host.step())
            each = (_processor_seconds(pid) - before) / CPU_ROUNDS * 1e3
            name = (
                f"processor of the daemon, a later frame with one new message at {messages:,} messages ÷ {most:g} ms"
            )
            figures.append(Figure(name, each / most, 1.0, f"{each:.2f} ms"))
    return figures


HISTORY_SESSIONS, HISTORY_MESSAGES = 10, 300
"""Of the transcripts that are indexed: 11 MB, half of it of one letter."""


def _write_history(home: Path) -> None:
    """Write transcripts of Claude Code with long texts, of words and of one letter."""
    folder = home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    for session in range(HISTORY_SESSIONS):
        name = f"00000000-0000-4000-8000-{session:012d}"
        lines = []
        for n in range(HISTORY_MESSAGES):
            words = "".join(f"line {session}x{n}x{line} of a log with words{line}\n" for line in range(50))
            text = "x" * 50_000 if n % 30 == 0 else words
            message = {"role": "user", "content": [{"type": "text", "text": text}]}
            record = {
                "type": "user",
                "uuid": f"u{session}-{n}",
                "sessionId": name,
                "cwd": "/work",
                "message": message,
            }
            lines.append(json.dumps({**record, "timestamp": f"2026-03-01T10:{n // 60:02d}:{n % 60:02d}.000Z"}) + "\n")
        (folder / f"{name}.jsonl").write_text("".join(lines))


def _indexed(index: Path) -> tuple[int, int]:
    """How many sessions are indexed to their end, and how many passages there are."""
    if not index.exists():
        return 0, 0
    try:
        with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as db:
            done = db.execute("SELECT count(*) FROM sessions WHERE seen >= 0 AND host = 'claude-code'").fetchone()
            return int(done[0]), int(db.execute("SELECT max(id) FROM entries").fetchone()[0] or 0)
    except sqlite3.OperationalError:  # it is being made
        return 0, 0


def _beside_indexing(folder: Path) -> list[Figure]:
    """Frames while a long history is indexed, and in the seconds before and after."""
    _write_history(folder / "home")
    db, path = folder / "busy" / "hudkit.db", folder / "run" / "b.sock"
    idle: list[float] = []
    busy: list[float] = []
    host = Host("beside")
    with _home(folder / "home"), closing(Caller(path, reconnects=True)) as caller:
        ensure_running(path, db=db, idle=5)
        caller.ask("POST /v1/frame", host.first())
        passages = sessions = 0
        gc.collect()
        gc.disable()
        while sessions < HISTORY_SESSIONS or len(idle) < ROUNDS:
            times = busy if passages and sessions < HISTORY_SESSIONS else idle
            for _ in range(20):
                body = host.step()
                times.append(_time(lambda body=body: caller.ask("POST /v1/frame", body)))  # type: ignore[misc]
            if sessions < HISTORY_SESSIONS:
                sessions, passages = _indexed(index_path(db))
        gc.enable()
        stop(path)
    figures = []
    for place, label, most in ((0.5, "p50", None), (0.99, "p99", 2.0)):
        quiet, it = (sorted(times)[int(len(times) * place)] for times in (idle, busy))
        note = f"{it * 1e3:.2f} ÷ {quiet * 1e3:.2f} ms, {len(busy)} and {len(idle)} frames, {passages:,} passages"
        name = f"{label}, one new message, while the index is made ÷ beside nothing"
        figures.append(Figure(name, it / quiet, most, note))
    return figures


@contextmanager
def _home(place: Path) -> Iterator[None]:
    """Have the daemons that are started here find the transcripts of another home."""
    names = ("HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_DB")
    before = {name: os.environ.pop(name, None) for name in names}
    os.environ["HOME"] = os.fspath(place)
    try:
        yield
    finally:
        os.environ.update({name: value for name, value in before.items() if value is not None})


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        place = Path(folder)
        path = place / "run" / "d.sock"
        (place / "empty").mkdir()
        with _home(place / "empty"):
            daemon = ensure_running(path, db=place / "data" / "hudkit.db", idle=5)
        try:
            figures = _round_trips(path)
            if Path("/proc/self/stat").exists():
                figures += _processor(path, daemon.pid)
        finally:
            stop(path)
            while path.exists():
                sleep(0.02)
        return [*figures, _first_contact(), *_beside_indexing(place)]
