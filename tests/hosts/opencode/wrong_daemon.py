"""Something in the daemon's place: it passes questions on to the real one, or does with them what a test says."""

from __future__ import annotations

import contextlib
import http.client
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import msgspec

from hudkit.daemon.client import DaemonConnection
from hudkit.hosts import wire


class Between:
    """Listens at `path` until it is closed, in front of the daemon at `behind`."""

    def __init__(self, path: Path, behind: Path) -> None:
        self.path = path
        self.behind = behind
        self.lie: Lie = passed_on
        self.over = threading.Event()
        self._server = _Server(str(path), Question)
        self._server.between = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    @contextlib.contextmanager
    def telling(self, lie: Lie) -> Iterator[None]:
        """Does with each question what `lie` does; at the end lets go of those that hang."""
        self.lie = lie
        try:
            yield
        finally:
            self.lie = passed_on
            self.over.set()
            self.over = threading.Event()

    @contextlib.contextmanager
    def away(self, instead: Callable[[Path], contextlib.AbstractContextManager[object]]) -> Iterator[None]:
        """Something else, or nothing, is in its place for a while."""
        hidden = self.path.with_name("away")
        self.path.rename(hidden)
        try:
            with instead(self.path):
                yield
        finally:
            self.path.unlink(missing_ok=True)
            hidden.rename(self.path)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 64
    between: Between

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A plugin that does not wait any longer is what these tests are about."""


class Question(BaseHTTPRequestHandler):
    """One question of the plugin's, and what can be done with it."""

    server: _Server
    body: bytes

    def address_string(self) -> str:
        return "socket"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers["content-length"]))
        self.path = "/" + self.path.removeprefix("http://").partition("/")[2]
        self.close_connection = True
        self.server.between.lie(self)

    def hang(self) -> None:
        """Keeps the connection open and says nothing more."""
        self.server.between.over.wait(60)

    def say(self, raw: bytes) -> None:
        self.wfile.write(raw)
        self.wfile.flush()

    def real(self) -> tuple[int, bytes]:
        """Status and body of the real daemon's answer."""
        connection = DaemonConnection(self.server.between.behind, 20)
        try:
            told = {name: value for name, value in self.headers.items() if name.startswith("hudkit-")}
            connection.request("POST", self.path, self.body, told | {"content-type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


Lie = Callable[[Question], None]


def http_of(
    body: object, status: int = 200, protocol: float | None = wire.PROTOCOL, more: str = "", length: int | None = None
) -> bytes:
    """An answer's bytes; `protocol` as its header has it."""
    said = body if isinstance(body, bytes) else msgspec.json.encode(body)
    head = f"HTTP/1.1 {status} {http.client.responses[status]}\r\ncontent-type: application/json\r\n{more}"
    head += f"content-length: {len(said) if length is None else length}\r\nconnection: close\r\n"
    head += "" if protocol is None else f"{wire.PROTOCOL_HEADER}: {protocol}\r\n"
    return head.encode() + b"\r\n" + said


def passed_on(question: Question) -> None:
    status, body = question.real()
    question.say(http_of(body, status))


def says_always(raw: bytes) -> Lie:
    """The same to whatever is asked."""
    return lambda question: question.say(raw)


def slow(question: Question) -> None:
    """Two seconds late; the real daemon has long answered."""
    status, body = question.real()
    time.sleep(2)
    question.say(http_of(body, status))


def late(question: Question) -> None:
    """The question itself reaches the real daemon after two seconds."""
    time.sleep(2)
    passed_on(question)


def too_late_for(late: Path) -> Lie:
    """The real daemon answers each question for a frame, and the answer does not come: once the question was
    answered, the plugin's deadline passes (see `plugin_clock`). All else is passed on."""

    def withhold(question: Question) -> None:
        if question.path != "/v1/frame":
            return passed_on(question)
        question.real()
        late.touch()
        return question.hang()

    return withhold


def silent(question: Question) -> None:
    question.hang()


def half(question: Question) -> None:
    """The half of an answer, and then nothing."""
    _, body = question.real()
    question.say(http_of(body[: len(body) // 2], length=len(body)))
    question.hang()


def endless(question: Question) -> None:
    """An answer that has no end."""
    question.say(http_of(b'{"base": "', length=10**12))
    until = time.monotonic() + 20
    while time.monotonic() < until:
        question.say(b"x" * 65_536)


@contextlib.contextmanager
def nothing(_: Path) -> Iterator[None]:
    """Nobody listens, and there is no socket."""
    yield


@contextlib.contextmanager
def stale(path: Path) -> Iterator[None]:
    """The socket of a daemon that died."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    yield


@contextlib.contextmanager
def deaf(path: Path) -> Iterator[None]:
    """A socket that is listened on, and nobody takes up a connection."""
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))
        one.listen(64)
        yield
