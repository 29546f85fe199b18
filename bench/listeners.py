"""What strangers cost a listener's own user: idle connections, slow heads and header bytes without end, from another
process, while the user goes on asking.

The daemon's user asks over the unix socket, on a connection for each request, while strangers are at its port; on the
page of the rooms and on MCP, where there is one port for all, over a connection that is kept, with the token.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import msgspec

from bench.figures import Figure, Skipped
from hudkit.daemon.client import DaemonConnection, greet

TITLE = "listeners under attack: 99th percentile of the user's own requests ÷ 50 ms, memory ÷ 20 MB"
CONNECTIONS = 300
"""Idle connections that the strangers hold, opened again where one is closed; a tenth as many send heads slowly."""

MAX_MS = 50.0
MAX_MEGABYTES = 20.0
MEGABYTES = 300
"""Bytes of headers that the strangers send, in millions."""

_WARM_REQUESTS = 150
_PATIENCE = 600.0

Ask = Callable[[], None]
"""One request of the listener's user; raises where it is not answered 200."""


class Measured(msgspec.Struct, frozen=True):
    """What one attack cost: latencies of the user's requests before and during it, memory beyond that before it."""

    quiet_ms: float
    attacked_ms: float
    requests: int
    grown_megabytes: float
    sent_megabytes: float


def measure(name: str, megabytes: int) -> Measured:
    """Return what an attack with so many million bytes of headers costs the listener `name` (`LISTENERS`).

    Raises `Skipped` where the memory of a process cannot be read, `AssertionError` where a request of the user's own
    is not answered.
    """
    if not Path("/proc/self/status").exists():
        raise Skipped("the memory of a process is read from /proc")
    with tempfile.TemporaryDirectory(prefix="hk") as folder, LISTENERS[name](Path(folder)) as (pid, port, ask):
        for _ in range(_WARM_REQUESTS):
            ask()
        quiet = sorted(_milliseconds(ask) for _ in range(_WARM_REQUESTS))
        before = highest = _resident_megabytes(pid)
        command = [sys.executable, "-m", "bench.listeners", str(port), str(megabytes)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent) as strangers:
            assert strangers.stdout is not None
            os.set_blocking(strangers.stdout.fileno(), False)
            attacked: list[float] = []
            while not (line := strangers.stdout.readline()):
                attacked.append(_milliseconds(ask))
                highest = max(highest, _resident_megabytes(pid))
            strangers.wait()
        attacked.sort()
    return Measured(_p99(quiet), _p99(attacked), len(attacked), highest - before, int(line) / 1e6)


def run() -> list[Figure]:
    """Return two figures a listener; the notes have them in milliseconds and megabytes."""
    figures = []
    for name in LISTENERS:
        measured = measure(name, MEGABYTES)
        note = f"{measured.attacked_ms:.1f} ms ({measured.quiet_ms:.1f} ms before), {measured.requests:,} requests"
        figures.append(Figure(f"{name}: its user's requests, p99", measured.attacked_ms / MAX_MS, 1.0, note))
        note = f"{measured.grown_megabytes:.1f} MB for {measured.sent_megabytes:.0f} MB of headers"
        figures.append(Figure(f"{name}: memory", measured.grown_megabytes / MAX_MEGABYTES, 1.0, note))
    return figures


def _milliseconds(ask: Ask) -> float:
    start = time.perf_counter()
    ask()
    return (time.perf_counter() - start) * 1000


def _p99(latencies: list[float]) -> float:
    return latencies[len(latencies) * 99 // 100]


def _resident_megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    raise AssertionError("the process has ended")


# -- listeners, and how their users ask ------------------------------------------------------------------------------


@contextmanager
def _process(command: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    config = folder / "config.toml"
    config.touch()
    named = {"HOME": str(folder), "HUDKIT_DATA": str(folder / "data"), "HUDKIT_CONFIG": str(config)}
    environment = {**os.environ, **named, "PYTHONUNBUFFERED": "1"}
    arguments = [sys.executable, "-P", "-m", *command]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=quiet, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def _line(process: subprocess.Popen[str], beginning: str) -> str:
    """What stands behind the beginning of the first line that has it."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(beginning):
            return line.removeprefix(beginning).strip()
    raise AssertionError(f"it ended without {beginning!r}")


@contextmanager
def _daemon(folder: Path) -> Iterator[tuple[int, int, Ask]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    path = folder / "run" / "d.sock"
    options = ["--socket", str(path), "--db", str(folder / "log.db"), "--port", str(port)]
    with _process(["hudkit.daemon", *options], folder) as process:
        until = time.monotonic() + _PATIENCE
        while greet(path) is None:
            assert time.monotonic() < until and process.poll() is None, "the daemon does not answer"
            time.sleep(0.02)
        asked = itertools.count()

        def ask() -> None:
            # One session may ask a hundred times a second; these are many people.
            session = {"host": "opencode", "session": f"ses_{next(asked) // 500}", "directory": str(folder)}
            body = json.dumps({**session, "router": "hud", "arguments": {"tool": "help"}}).encode()
            connection = DaemonConnection(path, _PATIENCE)
            status, _ = connection.exchange("/v1/tool", body)
            connection.close()
            assert status == 200, status

        yield process.pid, port, ask


@contextmanager
def _page(folder: Path) -> Iterator[tuple[int, int, Ask]]:
    with _process(["hudkit", "rooms", "serve", "--paused"], folder) as process:
        address = urlsplit(_line(process, "page: "))
        token = _line(process, "token: ")
        assert address.hostname is not None and address.port is not None
        host, port = address.hostname, address.port
        connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE)
        form = {"content-type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/login", urlencode({"token": token}), form)
        answer = connection.getresponse()
        answer.read()
        cookie = str(answer.getheader("set-cookie")).partition(";")[0]
        connection.close()

        def ask() -> None:
            connection.request("GET", "/static/page.js", headers={"cookie": cookie})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status

        yield process.pid, port, ask


@contextmanager
def _mcp(folder: Path) -> Iterator[tuple[int, int, Ask]]:
    with _process(["hudkit", "mcp", "--http", "0"], folder) as process:
        address = urlsplit(_line(process, "hudkit serves MCP at "))
        assert address.hostname is not None and address.port is not None
        host, port = address.hostname, address.port
        token = (folder / "data" / "mcp-token").read_text().strip()
        headers = {
            "authorization": f"Bearer {token}",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }

        connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE)

        def post(method: str, params: Mapping[str, object]) -> http.client.HTTPResponse:
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            connection.request("POST", address.path, body, headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            return answer

        facts = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        headers["mcp-session-id"] = str(post("initialize", facts).getheader("mcp-session-id"))

        def ask() -> None:
            post("ping", {})

        yield process.pid, port, ask


LISTENERS = {"daemon": _daemon, "rooms": _page, "mcp": _mcp}
"""How each listener is started: gives its process, its port, and how its user asks."""


# -- the strangers, in a process of their own ------------------------------------------------------------------------


def _attack(port: int, megabytes: int) -> int:
    """Hold idle connections, send heads slowly, and send header bytes until there were enough; return how many."""
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        opened: list[socket.socket | None] = [None] * (CONNECTIONS + CONNECTIONS // 10)
        sent, turn = 0, 0
        while sent < megabytes * 1_000_000:
            sent += _send_header_bytes(port)
            # What the listener has closed is opened again, and the slow ones send a little more.
            for key, _ in selector.select(0):
                closed = opened[key.data]
                selector.unregister(key.fileobj)
                assert closed is not None
                closed.close()
                opened[key.data] = None
            for number, connected in enumerate(opened):
                if connected is None:
                    fresh = opened[number] = socket.create_connection(("127.0.0.1", port))
                    selector.register(fresh, selectors.EVENT_READ, number)
                    stack.callback(fresh.close)
                elif number >= CONNECTIONS and turn % 10 == 0:
                    with suppress(OSError):
                        connected.send(b"X: y\r\n" if turn else b"GET / HTTP/1.1\r\n")
            turn += 1
    return sent


def _send_header_bytes(port: int) -> int:
    """Send headers on one connection until it is closed; return how many bytes went out."""
    sent = 0
    with socket.create_connection(("127.0.0.1", port)) as connected, suppress(OSError):
        sent += connected.send(b"GET / HTTP/1.1\r\nHost: x\r\n")
        while True:
            sent += connected.send(b"X-Filler: " + b"x" * 60_000 + b"\r\n")
    return sent


if __name__ == "__main__":
    print(_attack(int(sys.argv[1]), int(sys.argv[2])))
