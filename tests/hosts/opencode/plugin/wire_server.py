"""A daemon's side of the wire on a unix socket, with answers that a test writes down; real HTTP, bodies checked."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from hudkit.daemon.known_transcripts import KnownTranscripts
from hudkit.hosts import wire

ASKED: dict[str, type[Any]] = {
    "/v1/hello": wire.EmptyRequest,
    "/v1/stop": wire.EmptyRequest,
    "/v1/frame": wire.FrameRequestBody,
    "/v1/events": wire.EventsRequestBody,
    "/v1/tool": wire.ToolRequestBody,
    "/v1/compacting": wire.CompactingRequestBody,
    "/v1/compact": wire.CompactRequestBody,
}


class Answer(msgspec.Struct):
    """What goes back: a struct or raw bytes, after a pause in seconds; `protocol` as in the header."""

    body: Any
    status: int = 200
    pause: float = 0.0
    protocol: str | None = str(wire.PROTOCOL)


FIXED: dict[str, Answer] = {
    "/v1/hello": Answer(wire.Hello("0.0.0", wire.PROTOCOL, 1, 1)),
    "/v1/stop": Answer(wire.Acknowledgement()),
    "/v1/events": Answer(wire.EventsAccepted("a.1")),
    "/v1/tool": Answer(wire.ToolReply("Recorded.", True)),
    "/v1/compacting": Answer(wire.CompactingResponse("Carry on, with the HUD.")),
    "/v1/compact": Answer(wire.ToolReply("A compaction starts.", True)),
}

Answering = Callable[[str, bytes], Answer]


class WireServer:
    """Answers until it is closed. `answers` says what to; a test may change it. `requests` has what came, each body
    as the struct of `hudkit.hosts.wire` that it fits; one that fits none ends up in `wrong`. Questions that tell what
    changed are there with the whole transcript, as a daemon knows it; `sizes` has the bytes that were sent."""

    def __init__(self, socket: Path, answers: dict[str, Answer] | Answering | None = None) -> None:
        self.answers = answers or {}
        self.requests: list[tuple[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        self.wrong: list[str] = []
        self.version = "0.0.0"
        """As in the header."""
        self.sizes: list[tuple[str, int]] = []
        self._transcripts: dict[str, KnownTranscripts] = {}
        socket.unlink(missing_ok=True)
        self._server = _Server(str(socket), _Request)
        self._server.wire = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def of(self, path: str) -> list[Any]:
        return [body for asked, body in self.requests if asked == path]

    def take(self, path: str, body: bytes) -> None:
        """Note a request. Raises `RequestRefused` where it does not fit."""
        self.sizes.append((path, len(body)))
        ask = wire.decode(body, ASKED[path])
        if isinstance(ask, wire.FrameRequestBody):
            known = self._transcripts.setdefault(ask.session, KnownTranscripts()).resolve(ask)
            ask = msgspec.structs.replace(ask, transcript=known.entries, unsent=known.unsent)
        self.requests.append((path, ask))

    def forget(self) -> None:
        """Know no transcript any more, as a daemon that was started anew."""
        self._transcripts.clear()

    def answer(self, path: str, body: bytes) -> Answer:
        if callable(self.answers):
            return self.answers(path, body)
        return self.answers.get(path) or FIXED.get(path) or Answer(b"{}", 404)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    wire: WireServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left early is what these tests are about."""


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.wire.connections += 1

    def address_string(self) -> str:
        return "socket"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        seen = self.server.wire
        body = self.rfile.read(int(self.headers["content-length"]))
        path = "/" + self.path.removeprefix("http://").partition("/")[2]
        seen.headers.append({name.lower(): value for name, value in self.headers.items()})
        answer = None
        try:
            seen.take(path, body)
        except wire.TranscriptUnknown as error:
            answer = Answer(wire.ErrorResponse(wire.ErrorBody(error.code, error.message, error.hint)), 409)
        except (wire.RequestRefused, KeyError) as error:
            seen.wrong.append(f"{path}: {error}")
        answer = answer or seen.answer(path, body)
        time.sleep(answer.pause)
        said = answer.body if isinstance(answer.body, bytes) else msgspec.json.encode(answer.body)
        self.send_response(answer.status)
        if answer.protocol is not None:
            self.send_header(wire.PROTOCOL_HEADER, answer.protocol)
            self.send_header(wire.VERSION_HEADER, seen.version)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)


def frame(
    base: str = "# HUD\n",
    tail: str = "",
    deltas: tuple[wire.DeltaLayer, ...] = (),
    ack: str = "a.1",
    mark: str = "",
    pruned: tuple[wire.OutputStub, ...] = (),
) -> Answer:
    """A frame's answer. Its mark is that of its deltas in the first epoch, where none is given."""
    mark = mark or f"1.{len(deltas)}"
    return Answer(wire.FrameResponse(base, deltas, tail, 1, "000001", 10, 500, "", ack, mark, pruned))
