"""A frame over the daemon's socket beside an empty round trip over the same socket."""

from __future__ import annotations

import gc
import json
import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from bench.figures import Figure
from hudkit.daemon.client import ensure_running, stop
from hudkit.hosts.wire import PROTOCOL, PROTOCOL_HEADER

TITLE = "the daemon: asking for a frame ÷ an empty round trip (GET /health) over the same socket"
ROUNDS = 1000
MESSAGES = 60
"""Messages in the transcript of the call."""
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
    """An agent's session at work: what a plugin sends for each call."""

    def __init__(self, name: str) -> None:
        self._step = 0
        self._name = name
        self._transcript = [{"anchor": f"user:{n}:", "role": "user"} for n in range(MESSAGES)]

    def body(self, *messages: dict[str, Any]) -> bytes:
        facts = {"title": "Port the report", "agent": "build", "parent": None}
        return json.dumps(
            {
                "host": "opencode",
                "session": self._name,
                "directory": "/tmp",
                "model": {"id": "m", "provider": "p", "limit": 200_000, "output": 8_000, "input": 0},
                "transcript": self._transcript,
                "messages": messages,
                "facts": facts,
                "seen": None,
                "used": None,
            }
        ).encode()

    def step(self) -> bytes:
        """The request after one more tool step: a file was read, usage was reported."""
        self._step += 1
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
        self._transcript = [*self._transcript[1:], {"anchor": f"assistant:{at}:{call}", "role": "tool"}]
        return self.body({"info": info, "parts": [part]})


def _time(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def _measure(path: Path, *, reconnects: bool) -> dict[str, list[float]]:
    """Seconds of interleaved rounds, sorted."""
    same, busy = Host(f"same-{reconnects}"), Host(f"busy-{reconnects}")
    times: dict[str, list[float]] = {"empty": [], "same": [], "news": []}
    with closing(Caller(path, reconnects=reconnects)) as caller:
        repeated = same.body()
        for _ in range(50):
            caller.ask("POST /v1/frame", repeated)
            caller.ask("POST /v1/frame", busy.step())
        gc.collect()
        gc.disable()
        for n in range(ROUNDS):
            times["empty"].append(_time(lambda: caller.ask("GET /health")))
            times["same"].append(_time(lambda: caller.ask("POST /v1/frame", repeated)))
            if n % 5 == 0:
                body = busy.step()
                times["news"].append(_time(lambda body=body: caller.ask("POST /v1/frame", body)))  # type: ignore[misc]
        gc.enable()
    return {name: sorted(found) for name, found in times.items()}


def run() -> list[Figure]:
    """Ratios of medians and of 99th percentiles; the note has them in microseconds."""
    figures = []
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        path = Path(folder) / "run" / "d.sock"
        ensure_running(path, db=Path(folder) / "data" / "hudkit.db", idle=5)
        try:
            for reconnects in (True, False):
                times = _measure(path, reconnects=reconnects)
                how = "a connection for each request" if reconnects else "one connection"
                for name, words in (("same", "nothing new"), ("news", "one new message")):
                    for place, label in ((0.5, "p50"), (0.99, "p99")):
                        empty, it = (found[int(len(found) * place)] for found in (times["empty"], times[name]))
                        most = 2.0 if reconnects and label == "p50" else None
                        note = f"{it * 1e6:.0f} ÷ {empty * 1e6:.0f} µs"
                        figures.append(Figure(f"{label}, {words}, {how}", it / empty, most, note))
        finally:
            stop(path)
            while path.exists():
                sleep(0.02)
    return figures
