"""A model that answers from a script: a loopback HTTP server that speaks OpenAI's and Anthropic's shapes.

with ScriptedModel([uses(Call("read", {"filePath": "a.txt"})), says("done")]) as model:
    ...  # point a client at model.url
assert model.chats[1].messages[-1][0] == "tool"
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Condition, Event, Thread
from types import TracebackType
from typing import Any, Self

from hudkit.clock import unix_ms
from hudkit.context.caching import CallCost
from hudkit.errors import ConfigError
from hudkit.testing.captured import MARKS, Captured, Count, Piece, by_bytes, kind_of
from hudkit.testing.loopback import SHAPES, Loopback
from hudkit.testing.prefix_meter import PrefixMeter
from hudkit.testing.replies import Answer, Call, Refusal, Reply, Said

Answers = Callable[[Captured], Answer]
"""A script as a function; it is called on the request's own thread."""

DONE = Reply("Done.")
TITLE = Reply("A scripted title")
SUMMARY = Reply("A scripted summary.")

_NOTHING = CallCost(0, 0, 0)
_UNKNOWN_PATH = Refusal(404, "not_found_error", "", "the scripted model has no such path")
_NO_JSON = Refusal(400, "invalid_request_error", "", "the body is not a JSON object in this shape")
_NO_WAY_OUT = Refusal(403, "permission_error", "", "the scripted model is no way out")


class ScriptedModel:
    """A scripted model on 127.0.0.1, from construction to `close` (or as a context manager).

    `script` answers the chat calls: in order from a sequence, whose lines may be functions, then `otherwise`; or each
    through one function.
    Title and compaction requests do not use it up: they get `title` and `compaction` (an answer or a function,
    may be set at any time). `marks` says by which system texts they are known. `requests` holds every request
    that arrived, in order of arrival. `count` counts tokens where a reply has no usage of its own.

    Used as an HTTP proxy, it refuses and keeps what was asked for as a request of the kind `other`: so a test can
    see what a program tried to reach.
    """

    def __init__(
        self,
        script: Iterable[Answer | Answers] | Answers = (),
        *,
        otherwise: Answer = DONE,
        title: Answer | Answers = TITLE,
        compaction: Answer | Answers = SUMMARY,
        marks: Mapping[str, tuple[str, ...]] = MARKS,
        count: Count = by_bytes,
    ) -> None:
        self.otherwise = otherwise
        self.title = title
        self.compaction = compaction
        self.marks = dict(marks)
        self.requests: list[Captured] = []
        self._function = script if callable(script) else None
        self._queue: deque[Answer | Answers] = deque(() if callable(script) else script)
        self._changed = Condition()
        self._meter = PrefixMeter(count)
        self._named = 0
        self._closing = Event()
        self._server = Loopback(self)
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), name="scripted-model", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stops serving and lets go of connections that hang; twice is harmless."""
        if not self._closing.is_set():
            self._closing.set()
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    # -- what tests ask and tell -----------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`; both shapes are below its `/v1`."""
        return self._server.url

    @property
    def chats(self) -> list[Captured]:
        """The chat calls so far."""
        return self.of("chat")

    def of(self, kind: str) -> list[Captured]:
        """The requests of a kind (chat, title, compaction, other) so far."""
        with self._changed:
            return [request for request in self.requests if request.kind == kind]

    @property
    def left(self) -> int:
        """Replies of the script that were not played yet."""
        with self._changed:
            return len(self._queue)

    def play(self, *answers: Answer | Answers) -> None:
        """Puts answers at the end of the script."""
        with self._changed:
            self._queue.extend(answers)

    def wait(self, kind: str, number: int = 1, seconds: float = 60.0) -> list[Captured]:
        """The requests of a kind as soon as there are `number` of them. Raises `TimeoutError` after `seconds`."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.of(kind)) >= number, seconds):
                raise TimeoutError(f"{len(self.of(kind))} of {number} {kind} requests within {seconds} s")
            return self.of(kind)

    # -- answering -------------------------------------------------------------------------------------------------

    def arrive(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[Captured, Answer]:
        """Keeps a request and says what to answer."""
        shape = next((name for name, one in SHAPES.items() if _is_path(path, one.PATH)), "")
        body, pieces = _read(shape, raw) if method == "POST" else ({}, ())
        kind = kind_of(pieces, self.marks) if pieces else "other"
        at = unix_ms()
        cost, refused = self._cost(shape, pieces, at)
        with self._changed:
            number = len(self.requests)
            request = Captured(number, kind, shape, method, path, headers, raw, body, pieces, at, cost)
            self.requests.append(request)
            self._changed.notify_all()
        return request, refused or self._refusal_of(request) or self._answer(request)

    def settle(self, request: Captured, reply: Reply) -> Said:
        """The reply with ids for its calls and the usage to report."""
        calls = tuple(call if call.id else Call(call.name, call.arguments, self._next_id()) for call in reply.calls)
        counted = request.cost.read, request.cost.written, request.cost.fresh
        thought = self._meter.answer([reply.reasoning]) if reply.reasoning else 0
        output = thought + self._meter.answer([reply.text, *(call.name + call.text for call in calls)])
        return Said(
            text=reply.text,
            calls=calls,
            cost=reply.usage or CallCost(*counted, output),
            name=f"{request.number:06d}",
            model=str(request.body.get("model", "")),
            made=request.at,
            usage_asked=bool((request.body.get("stream_options") or {}).get("include_usage")),
            reasoning=reply.reasoning,
            thought=thought,
            finish=reply.finish,
        )

    def _next_id(self) -> str:
        with self._changed:
            self._named += 1
            return f"call_{self._named:06d}"

    def rest(self, seconds: float) -> bool:
        """Waits; false where the server is being closed."""
        return not self._closing.wait(seconds) if seconds else not self._closing.is_set()

    def _cost(self, shape: str, pieces: Sequence[Piece], at: int) -> tuple[CallCost, Refusal | None]:
        if not pieces:
            return _NOTHING, None
        try:
            return self._meter.cost(shape, pieces, at), None
        except ConfigError as error:
            return _NOTHING, Refusal(400, "invalid_request_error", "", str(error))

    def _refusal_of(self, request: Captured) -> Refusal | None:
        if request.method == "CONNECT" or "://" in request.path:
            return _NO_WAY_OUT
        if not request.shape:
            return _UNKNOWN_PATH
        return None if request.pieces else _NO_JSON

    def _answer(self, request: Captured) -> Answer:
        own = {"title": self.title, "compaction": self.compaction}.get(request.kind)
        if own is not None:
            return own(request) if callable(own) else own
        if self._function is not None:
            return self._function(request)
        with self._changed:
            line = self._queue.popleft() if self._queue else self.otherwise
        return line(request) if callable(line) else line


def _is_path(path: str, end: str) -> bool:
    return "://" not in path and path.partition("?")[0].endswith(end)


def _read(shape: str, raw: bytes) -> tuple[Mapping[str, Any], tuple[Piece, ...]]:
    """The body and its pieces; empty where it is no request of the shape."""
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
