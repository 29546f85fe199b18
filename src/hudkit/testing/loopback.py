"""The HTTP side of a scripted model: one thread per connection, keep-alive, chunked event streams."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any, Protocol

from hudkit.context.caching import CallCost
from hudkit.testing import anthropic_shape, gemini_shape, openai_shape
from hudkit.testing.captured import Captured, Piece
from hudkit.testing.replies import Answer, Hang, Refusal, Reply, Said


class Shape(Protocol):
    """What a module that speaks one wire shape has."""

    PATH: str

    def pieces(self, body: Mapping[str, Any]) -> Iterable[Piece]: ...
    def usage(self, cost: CallCost) -> dict[str, object]: ...
    def refusal(self, answer: Refusal) -> dict[str, object]: ...
    def whole(self, said: Said) -> dict[str, object]: ...
    def stream(self, said: Said) -> Iterable[bytes]: ...


SHAPES: Mapping[str, Shape] = {"openai": openai_shape, "anthropic": anthropic_shape, "gemini": gemini_shape}


class Answering(Protocol):
    """What the server asks: a scripted model."""

    def arrive(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[Captured, Answer]:
        """Keeps a request and says what to answer."""

    def settle(self, request: Captured, reply: Reply) -> Said:
        """The reply ready for the wire."""

    def rest(self, seconds: float) -> bool:
        """Waits; false where the server is being closed."""


class Loopback(ThreadingHTTPServer):
    """A server on a free port of 127.0.0.1."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, model: Answering) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.model = model

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Exchange(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # an answer is several small writes
    protocol_version = "HTTP/1.1"
    server: Loopback

    def do_POST(self) -> None:
        """Any method: the model says what each is worth."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request, answer = self.server.model.arrive(self.command, self.path, headers, raw)
        with contextlib.suppress(ConnectionError):
            match answer:
                case Reply():
                    self._reply(request, answer)
                case Refusal():
                    self._refuse(request, answer)
                case Hang():
                    self.server.model.rest(answer.seconds)
                    self.close_connection = True

    do_GET = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_CONNECT = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed: the requests are kept."""

    def _refuse(self, request: Captured, answer: Refusal) -> None:
        body = json.dumps(SHAPES[request.shape or "openai"].refusal(answer)).encode()
        self._send(answer.status, body, answer.headers)
        self.close_connection = True

    def _reply(self, request: Captured, answer: Reply) -> None:
        if not self.server.model.rest(answer.delay):
            self.close_connection = True
            return
        said, shape = self.server.model.settle(request, answer), SHAPES[request.shape]
        if request.body.get("stream") or request.shape == "gemini":
            self._stream(answer, list(shape.stream(said)))
        else:
            self._send(200, json.dumps(shape.whole(said)).encode(), {})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, answer: Reply, events: Sequence[bytes]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in islice(events, len(events) // 2 if answer.cut else None):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            if answer.pace and not self.server.model.rest(answer.pace):
                break
        if answer.cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")
