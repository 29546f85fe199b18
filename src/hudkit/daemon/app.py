"""The daemon's front: HTTP in, one bounded body, one answer from the thread that owns the log."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import Executor

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import hudkit
from hudkit.daemon.answering import DONE, PATHS, Answering, wrong
from hudkit.daemon.journal import journal, where
from hudkit.hosts.wire import MAX_BODY, PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER, Hello, encode

BODY_SECONDS = 10
"""Within which a request's body must have come."""

MOST_WAITING = 64
"""Requests that wait for the thread or are answered; more are told that the daemon is busy."""

UPLOADS = ("/v1/frame", "/v1/events")
"""Paths by which a host tells what was said."""

Answer = tuple[int, bytes]

_REASONS = {404: ("path", "there is no such path"), 405: ("method", "this path is asked with another method")}


class Activity:
    """When the daemon was last asked for something, and what is under way."""

    def __init__(self) -> None:
        self.running = 0
        self.last = self.started = time.monotonic()

    def __enter__(self) -> None:
        self.running += 1

    def __exit__(self, *_: object) -> None:
        self.running -= 1
        self.last = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        return 0.0 if self.running else time.monotonic() - self.last


class Ask:
    """An ASGI endpoint for one path: reads the body, has it answered on the thread of the log."""

    def __init__(
        self, path: str, answering: Answering, thread: Executor, activity: Activity, heard: Callable[[bytes], None]
    ) -> None:
        self._path = path
        self._heard = heard
        self._answering = answering
        self._thread = thread
        self._activity = activity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._activity:
            status, body = await self._answer(Request(scope, receive))
        await _response(status, body)(scope, receive, send)

    async def _answer(self, request: Request) -> Answer:
        told = request.headers.get(PROTOCOL_HEADER)
        if told != str(PROTOCOL):
            said = (
                f"the request speaks protocol {told[:20]!r}" if told else f"the header {PROTOCOL_HEADER} is missing"
            )
            return wrong(
                426, "protocol", said, f"This daemon speaks protocol {PROTOCOL}, version {hudkit.__version__}"
            )
        if self._activity.running > MOST_WAITING:
            return wrong(503, "busy", f"{MOST_WAITING} requests are waiting", "Try again")
        body = await bounded(request)
        if isinstance(body, tuple):
            return body
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._thread, self._answering.answer, self._path, body)
        if self._path in UPLOADS:
            self._heard(body)
        return answer


async def bounded(request: Request) -> bytes | Answer:
    """A request's body, or the answer that refuses it: too long, or too slow."""
    said = request.headers.get("content-length", "0")
    if not said.isdecimal() or int(said[:12]) > MAX_BODY:
        return _too_long()
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)
                if size > MAX_BODY:
                    return _too_long()
                chunks.append(chunk)
    except TimeoutError:
        return wrong(408, "slow", f"the body did not come within {BODY_SECONDS} seconds")
    return b"".join(chunks)


def application(
    answering: Answering,
    thread: Executor,
    activity: Activity,
    stop: Callable[[], None],
    heard: Callable[[bytes], None] = lambda _: None,
) -> Starlette:
    """The routes. `stop` is called once a stop has been asked for, `heard` with each upload's body when it has been
    answered; both must only make a note of it."""

    async def hello(_: Request) -> Response:
        uptime = round((time.monotonic() - activity.started) * 1000)
        return _response(200, encode(Hello(hudkit.__version__, PROTOCOL, os.getpid(), uptime)))

    async def end(_: Request) -> Response:
        stop()
        return _response(200, DONE)

    return Starlette(
        routes=[
            Route("/health", hello, methods=["GET"]),
            Route("/v1/hello", hello, methods=["POST"]),
            Route("/v1/stop", end, methods=["POST"]),
            *(Route(path, Ask(path, answering, thread, activity, heard), methods=["POST"]) for path in PATHS),
        ],
        exception_handlers={HTTPException: _refuse, Exception: _fail},
    )


async def _refuse(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    code, message = _REASONS.get(status, ("request", "the request cannot be answered"))
    return _response(*wrong(status, code, message))


async def _fail(_: Request, error: Exception) -> Response:
    journal.error("a request failed: %s", where(error))
    return _response(*wrong(500, "internal", "the daemon met an error of its own", "Its log file tells where"))


def _too_long() -> Answer:
    return wrong(413, "size", f"a request has at most {MAX_BODY} bytes", "Send fewer messages at once")


def _response(status: int, body: bytes) -> Response:
    headers = {PROTOCOL_HEADER: str(PROTOCOL), VERSION_HEADER: hudkit.__version__}
    return Response(body, status, headers, media_type="application/json")
