"""The daemon's HTTP server: one bounded body in, one answer from the thread that owns the log; and its sockets.

Hosts reach it over a unix socket that only its user may speak to; pages and hooks over a port on loopback.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

import hudkit
from hudkit.daemon.handlers import DONE, HANDLERS, RequestHandlers, error_response
from hudkit.daemon.logfile import LOGGER, error_location
from hudkit.errors import ConfigError
from hudkit.hosts.wire import MAX_BODY, PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER, Hello, encode

BODY_SECONDS = 10
"""Seconds within which a request's body must have arrived, so that a slow client holds no memory for long."""

MAX_WAITING = 64
"""Requests that wait for the log's thread or are being answered; further ones are told that the daemon is busy."""

UPLOADS = ("/v1/frame", "/v1/events")
"""Paths by which a host uploads messages, after which its session is worth indexing again."""

Answer = tuple[int, bytes]

_REASONS = {404: ("path", "there is no such path"), 405: ("method", "this path is asked with another method")}


class Activity:
    """When the daemon was last asked for something, and how many requests are under way."""

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
        """Return how long nothing was asked, in seconds; 0 while a request is under way."""
        return 0.0 if self.running else time.monotonic() - self.last


class _Endpoint:
    """An ASGI endpoint for one path: reads the body and has it answered on the log's thread."""

    def __init__(
        self,
        path: str,
        handlers: RequestHandlers,
        thread: Executor,
        activity: Activity,
        on_upload: Callable[[bytes], None],
    ) -> None:
        self._path = path
        self._on_upload = on_upload
        self._handlers = handlers
        self._thread = thread
        self._activity = activity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._activity:
            status, body = await self._answer(Request(scope, receive))
        await _response(status, body)(scope, receive, send)

    async def _answer(self, request: Request) -> Answer:
        protocol = request.headers.get(PROTOCOL_HEADER)
        if protocol != str(PROTOCOL):
            message = f"the header {PROTOCOL_HEADER} is missing"
            if protocol:
                message = f"the request speaks protocol {protocol[:20]!r}"
            hint = f"This daemon speaks protocol {PROTOCOL}, version {hudkit.__version__}"
            return error_response(426, "protocol", message, hint)
        # A request that would wait longer than its host does is better refused at once: the host goes on without.
        if self._activity.running > MAX_WAITING:
            return error_response(503, "busy", f"{MAX_WAITING} requests are waiting", "Try again")
        body = await _read_body(request)
        if isinstance(body, tuple):
            return body
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._thread, self._handlers.answer, self._path, body)
        if self._path in UPLOADS:
            self._on_upload(body)
        return answer


async def _read_body(request: Request) -> bytes | Answer:
    """Return a request's body, or the answer that refuses it: too long, or too slow."""
    declared = request.headers.get("content-length", "0")
    # Twelve digits are enough to be refused, and keep `int` from a number of a million digits.
    if not declared.isdecimal() or int(declared[:12]) > MAX_BODY:
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
        return error_response(408, "slow", f"the body did not come within {BODY_SECONDS} seconds")
    return b"".join(chunks)


def application(
    handlers: RequestHandlers,
    thread: Executor,
    activity: Activity,
    stop: Callable[[], None],
    on_upload: Callable[[bytes], None] = lambda _: None,
) -> Starlette:
    """Return the ASGI application with all routes; requests on the log are answered on `thread`, one at a time.

    `stop` is called when a stop is asked for, `on_upload` with the body of each answered upload. Both are called on
    the event loop, so they must only make a note of it.
    """

    # Asked by clients before they trust a socket, so it neither waits for the log nor needs a protocol.
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
            *(
                Route(path, _Endpoint(path, handlers, thread, activity, on_upload), methods=["POST"])
                for path in HANDLERS
            ),
        ],
        exception_handlers={HTTPException: _refuse, Exception: _fail},
    )


async def _refuse(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    code, message = _REASONS.get(status, ("request", "the request cannot be answered"))
    return _response(*error_response(status, code, message))


async def _fail(_: Request, error: Exception) -> Response:
    LOGGER.error("a request failed: %s", error_location(error))
    return _response(
        *error_response(500, "internal", "the daemon met an error of its own", "Its log file tells where")
    )


def _too_long() -> Answer:
    return error_response(413, "size", f"a request has at most {MAX_BODY} bytes", "Send fewer messages at once")


def _response(status: int, body: bytes) -> Response:
    headers = {PROTOCOL_HEADER: str(PROTOCOL), VERSION_HEADER: hudkit.__version__}
    return Response(body, status, headers, media_type="application/json")


MAX_CONNECTIONS = 128
GRACE_SECONDS = 5
"""Seconds within which requests under way are answered when the daemon ends."""


class _OwnUserProtocol(HttpToolsProtocol):
    """HTTP for the user that runs the daemon, and for nobody else.

    The socket's directory is closed to others already; this holds where somebody opened it.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or end it where the other end is another user."""
        super().connection_made(transport)
        uid = _peer_uid(transport.get_extra_info("socket"))
        if uid is not None and uid != os.geteuid():
            LOGGER.warning("refused a connection of user %d", uid)
            transport.abort()


class _SignalFreeServer(Server):
    """A server that leaves the process's signals alone: two of them run in one loop, which ends both."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _peer_uid(connected: Any) -> int | None:
    """Return the user id at the other end of a unix socket; `None` where the system does not tell."""
    system: str = sys.platform
    try:
        if system == "linux":
            return int(struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
        if system == "darwin":
            return int(struct.unpack_from("2I", connected.getsockopt(0, 1, 76))[1])  # LOCAL_PEERCRED, struct xucred
    except (AttributeError, OSError, struct.error):
        pass
    return None


def listen_unix(path: Path) -> socket.socket:
    """Return a listening unix socket (mode 0600) at a path that is free. Raises `OSError`."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # `bind` makes the file: the umask is what keeps it closed from its first moment.
    before = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
        path.chmod(0o600)
        listener.listen(MAX_CONNECTIONS)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    listener.setblocking(False)
    return listener


def listen_tcp(address: str, port: int) -> socket.socket:
    """Return a listening socket on a loopback address. Raises `ConfigError` where the port is taken or not a port."""
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(MAX_CONNECTIONS)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "it is not a port"
        raise ConfigError(f"cannot listen on {address} port {port}: {reason}", hint="Name another --port") from None
    listener.setblocking(False)
    return listener


def make_server(app: ASGIApp, *, own_user: bool) -> _SignalFreeServer:
    """Return a server for an application, without a log of its own and without signal handlers.

    `own_user` refuses connections of other users, which only a unix socket can tell.
    """
    http: Any = _OwnUserProtocol if own_user else HttpToolsProtocol
    return _SignalFreeServer(
        Config(
            app,
            http=http,
            ws="none",
            # Neither web sockets nor life cycle events: what is not served cannot be attacked.
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=MAX_CONNECTIONS,
            backlog=MAX_CONNECTIONS,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
