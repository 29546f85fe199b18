"""A model that answers from a script over HTTP: a server on loopback that speaks three providers' shapes.

    with ScriptedModel([uses(ScriptedCall("read", {"filePath": "a.txt"})), says("done")]) as model:
        ...  # point a client at model.url
    assert model.chats[1].messages[-1][0] == "tool"

One thread per connection, keep-alive, chunked event streams; the standard library only.
"""

from __future__ import annotations

import contextlib
import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from threading import Condition, Event, Thread
from types import TracebackType
from typing import Any, Self

from hudkit.clock import unix_ms
from hudkit.context.caching import CallCost
from hudkit.errors import ConfigError
from hudkit.models.captured_request import (
    KIND_MARKS,
    CapturedRequest,
    PrefixMeter,
    RequestPiece,
    TextCounter,
    request_kind,
    tokens_by_bytes,
)
from hudkit.models.scripted_answers import Answer, Hang, Refusal, ScriptedCall, ScriptedReply
from hudkit.models.scripted_model import DONE_REPLY, SUMMARY_REPLY, TITLE_REPLY, AnswerFunction
from hudkit.testing.provider_shapes import SHAPES, WireReply

_NO_COST = CallCost(0, 0, 0)
_UNKNOWN_PATH = Refusal(404, "not_found_error", "", "the scripted model has no such path")
_NOT_JSON = Refusal(400, "invalid_request_error", "", "the body is not a JSON object in this shape")
_NO_WAY_OUT = Refusal(403, "permission_error", "", "the scripted model is no way out")

_POLL_SECONDS = 0.05
"""How often the server looks whether it is to end."""


class ScriptedModel:
    """A scripted model on 127.0.0.1, from construction to `close` (or as a context manager).

    `script` answers the chat calls: in order from a sequence, whose lines may be functions (called on the request's
    own thread), then `otherwise`; or each through one function. Title and compaction requests do not use it up: they
    get `title` and `compaction` (an answer or a function, may be set at any time). `marks` says by which system texts
    they are known. `requests` holds every request that arrived, in order of arrival. `count` counts tokens where a
    reply has no usage of its own.

    Used as an HTTP proxy, it refuses and keeps the request under the kind `other`: so a test can see what a program
    tried to reach.
    """

    def __init__(
        self,
        script: Iterable[Answer | AnswerFunction] | AnswerFunction = (),
        *,
        otherwise: Answer = DONE_REPLY,
        title: Answer | AnswerFunction = TITLE_REPLY,
        compaction: Answer | AnswerFunction = SUMMARY_REPLY,
        marks: Mapping[str, tuple[str, ...]] = KIND_MARKS,
        count: TextCounter = tokens_by_bytes,
    ) -> None:
        self.otherwise = otherwise
        self.title = title
        self.compaction = compaction
        self.marks = dict(marks)
        self.requests: list[CapturedRequest] = []
        self._function = script if callable(script) else None
        self._queue: deque[Answer | AnswerFunction] = deque(() if callable(script) else script)
        self._changed = Condition()
        self._meter = PrefixMeter(count)
        self._ids_made = 0
        self._closing = Event()
        self._server = _LoopbackServer(self)
        self._thread = Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="scripted-model", daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving and let go of connections that hang; twice is harmless."""
        if not self._closing.is_set():
            self._closing.set()
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    # -- what tests ask and add ------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`; every shape is below its `/v1`."""
        return self._server.url

    @property
    def chats(self) -> list[CapturedRequest]:
        """The chat calls so far."""
        return self.of("chat")

    def of(self, kind: str) -> list[CapturedRequest]:
        """Return the requests of a kind (chat, title, compaction, other) so far."""
        with self._changed:
            return [request for request in self.requests if request.kind == kind]

    @property
    def left(self) -> int:
        """Replies of the script that were not played yet."""
        with self._changed:
            return len(self._queue)

    def play(self, *answers: Answer | AnswerFunction) -> None:
        """Put answers at the end of the script."""
        with self._changed:
            self._queue.extend(answers)

    def wait(self, kind: str, number: int = 1, seconds: float = 60.0) -> list[CapturedRequest]:
        """Return the requests of a kind as soon as there are `number` of them. Raises `TimeoutError`."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.of(kind)) >= number, seconds):
                raise TimeoutError(f"{len(self.of(kind))} of {number} {kind} requests within {seconds} s")
            return self.of(kind)

    # -- what the server asks --------------------------------------------------------------------------------------

    def arrive(
        self, method: str, path: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[CapturedRequest, Answer]:
        """Keep a request and return it with its answer."""
        shape = next((name for name, each in SHAPES.items() if _ends_with(path, each.path_ending)), "")
        body, pieces = _read(shape, raw) if method == "POST" else ({}, ())
        kind = request_kind(pieces, self.marks) if pieces else "other"
        at = unix_ms()
        cost, refusal = self._cost(shape, pieces, at)
        with self._changed:
            number = len(self.requests)
            request = CapturedRequest(number, kind, shape, method, path, headers, raw, body, pieces, at, cost)
            self.requests.append(request)
            self._changed.notify_all()
        return request, refusal or self._refusal_of(request) or self._answer(request)

    def wire_reply(self, request: CapturedRequest, reply: ScriptedReply) -> WireReply:
        """Return the reply with ids for its calls and the usage to report."""
        calls = tuple(
            call if call.id else ScriptedCall(call.name, call.arguments, self._next_id()) for call in reply.calls
        )
        counted = request.cost.read, request.cost.written, request.cost.fresh
        reasoning = self._meter.answer([reply.reasoning]) if reply.reasoning else 0
        output = reasoning + self._meter.answer([reply.text, *(call.name + call.text for call in calls)])
        return WireReply(
            text=reply.text,
            calls=calls,
            cost=reply.usage or CallCost(*counted, output),
            name=f"{request.number:06d}",
            model=str(request.body.get("model", "")),
            created=request.at,
            usage_requested=bool((request.body.get("stream_options") or {}).get("include_usage")),
            reasoning=reply.reasoning,
            reasoning_tokens=reasoning,
            finish=reply.finish,
        )

    def rest(self, seconds: float) -> bool:
        """Wait; return false where the server is being closed."""
        return not self._closing.wait(seconds) if seconds else not self._closing.is_set()

    def _next_id(self) -> str:
        with self._changed:
            self._ids_made += 1
            return f"call_{self._ids_made:06d}"

    def _cost(self, shape: str, pieces: Sequence[RequestPiece], at: int) -> tuple[CallCost, Refusal | None]:
        if not pieces:
            return _NO_COST, None
        try:
            return self._meter.cost(shape, pieces, at), None
        except ConfigError as error:
            return _NO_COST, Refusal(400, "invalid_request_error", "", str(error))

    def _refusal_of(self, request: CapturedRequest) -> Refusal | None:
        if request.method == "CONNECT" or "://" in request.path:
            return _NO_WAY_OUT
        if not request.shape:
            return _UNKNOWN_PATH
        return None if request.pieces else _NOT_JSON

    def _answer(self, request: CapturedRequest) -> Answer:
        own = {"title": self.title, "compaction": self.compaction}.get(request.kind)
        if own is not None:
            return own(request) if callable(own) else own
        if self._function is not None:
            return self._function(request)
        with self._changed:
            line = self._queue.popleft() if self._queue else self.otherwise
        # Not under the lock: a function may wait until another request has arrived.
        return line(request) if callable(line) else line


def _ends_with(path: str, ending: str) -> bool:
    return "://" not in path and path.partition("?")[0].endswith(ending)


def _read(shape: str, raw: bytes) -> tuple[Mapping[str, Any], tuple[RequestPiece, ...]]:
    """Return the body and its pieces; empty where it is not a request of the shape."""
    try:
        body = json.loads(raw)
    except ValueError:
        return {}, ()
    if not isinstance(body, dict):
        return {}, ()
    try:
        return body, tuple(SHAPES[shape].pieces(body)) if shape else ()
    except (KeyError, TypeError, AttributeError):
        return body, ()


# -- HTTP ------------------------------------------------------------------------------------------------------


class _LoopbackServer(ThreadingHTTPServer):
    """A server on a free port of 127.0.0.1."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.model = model

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Exchange(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # an answer is several small writes
    protocol_version = "HTTP/1.1"
    server: _LoopbackServer

    def do_POST(self) -> None:
        """Answer any method: the model says what each is worth."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request, answer = self.server.model.arrive(self.command, self.path, headers, raw)
        with contextlib.suppress(ConnectionError):
            match answer:
                case ScriptedReply():
                    self._reply(request, answer)
                case Refusal():
                    self._refuse(request, answer)
                case Hang():
                    self.server.model.rest(answer.seconds)
                    self.close_connection = True

    do_GET = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_CONNECT = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the requests are kept."""

    def _refuse(self, request: CapturedRequest, refusal: Refusal) -> None:
        body = json.dumps(SHAPES[request.shape or "openai"].refusal(refusal)).encode()
        self._send(refusal.status, body, refusal.headers)
        self.close_connection = True

    def _reply(self, request: CapturedRequest, reply: ScriptedReply) -> None:
        if not self.server.model.rest(reply.delay):
            self.close_connection = True
            return
        wire_reply, shape = self.server.model.wire_reply(request, reply), SHAPES[request.shape]
        if request.body.get("stream") or request.shape == "gemini":
            self._stream(reply, list(shape.stream(wire_reply)))
        else:
            self._send(200, json.dumps(shape.answer(wire_reply)).encode(), {})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: ScriptedReply, events: Sequence[bytes]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in islice(events, len(events) // 2 if reply.cut else None):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            if reply.pace and not self.server.model.rest(reply.pace):
                break
        if reply.cut:
            self.close_connection = True  # without the last chunk: the client sees that the answer broke off
        else:
            self.wfile.write(b"0\r\n\r\n")
