"""HTTP for every listener of ours: how much a connection may cost before anybody knows who asks.

A stranger who reaches a port can open connections, send bytes and wait. Each of these has a bound here, below the
application, so that a check of tokens need not think of them (abuse case B10):

    connection made -> first request complete   10 s, and at most 16 KiB and 100 headers for its head
    a request's head, on a connection in use    10 s from its first byte, the same bounds
    an answer that nobody reads                 10 s without a byte taken, then the connection is aborted
    one request after the other                 what is sent before the answer is dropped, and the connection closed
    too many connections                        the one that waits the longest is closed, strangers' first

The number of connections is bounded for each listener alone, as a share of the process's descriptors: a flood on a
port takes none of those that the user's own socket needs. Nothing is answered 503 for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import resource
import socket
import traceback
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httptools
import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from hudkit.errors import ConfigError

_LOGGER = logging.getLogger("hudkit.web")

_BACKLOG = 128
"""Connections that the system holds until they are accepted; they cost this process nothing."""

_USUAL_DESCRIPTORS = 1024
"""The common limit on a process's descriptors, which `ListenerLimits.connections` is a part of."""

_TEXTS = {
    400: "The request cannot be read.",
    408: "The request did not come in time.",
    431: "The request's headers are too long.",
}


_ENDING = frozenset({401, 403, 421})
"""Statuses of refusals after which a connection is closed: what has an answer and stays open is in use."""


class ListenerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What connections may cost. All hold before anybody is asked for a token."""

    connections: int
    """Connections at once, where the process may have 1,024 descriptors; in proportion fewer where it has less."""

    header_bytes: int = 16 * 1024
    """Bytes of a request's head: its first line and its headers."""

    header_count: int = 100
    """Headers of a request: many short ones cost more memory than their bytes tell."""

    request_seconds: float = 10.0
    """Seconds within which a request must come, and an answer be taken; see the module."""

    keep_alive_seconds: int = 60
    """Seconds for which a connection may wait for its next request."""

    def open_connections(self) -> int:
        """Return how many connections this process has room for; at least 8."""
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if not 0 <= descriptors < _USUAL_DESCRIPTORS:
            return self.connections
        return max(8, self.connections * descriptors // _USUAL_DESCRIPTORS)


def listen_tcp(address: str, port: int) -> socket.socket:
    """Return a listening socket at an IP address; port 0 is one that is free.

    Raises `ConfigError` where the port is taken, is no port, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # With the protocol named, asyncio sends without delay; else each answer on a kept connection waits 40 ms for an
    # acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "it is not a port"
        raise ConfigError(f"cannot listen on {address} port {port}: {reason}", hint="Name another port") from None
    listener.setblocking(False)
    return listener


def make_server(
    app: ASGIApp,
    limits: ListenerLimits,
    *,
    grace_seconds: int,
    lifespan: bool = False,
    signals: bool = True,
    admits: Callable[[Any], bool] = lambda _: True,
) -> Server:
    """Return a server for an application, to be run on sockets that listen already.

    It writes no log of its own, and says in no answer what it is. When it ends, requests under way have
    `grace_seconds`. `lifespan` tells the application of start and end. Without `signals` those of the process are
    left alone. `admits` gets the socket of a new connection, and returns whether it may stay.
    """
    config = Config(
        _contain_errors(app),
        http=functools.partial(_BoundedProtocol, limits, admits),  # type: ignore[arg-type]
        # No web sockets: what is not served cannot be attacked.
        ws="none",
        lifespan="on" if lifespan else "off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=limits.keep_alive_seconds,
        timeout_graceful_shutdown=grace_seconds,
    )
    return Server(config) if signals else _SignalFreeServer(config)


def error_location(error: BaseException) -> str:
    """Return an error's type and the places in the code that it came through, without its text.

    The text of an error may hold what somebody wrote, which has no place in a log file.
    """
    places = traceback.extract_tb(error.__traceback__)[-6:]
    return f"{type(error).__name__} at " + " < ".join(f"{Path(p.filename).name}:{p.lineno}" for p in reversed(places))


class _SignalFreeServer(Server):
    """A server that leaves the process's signals alone: two of them run in one loop, which ends both."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _contain_errors(app: ASGIApp) -> ASGIApp:
    """Return the application without its errors: what it raises is one line of the log, and an answer 500.

    A client that went away in the middle of its request is no error at all. Who is refused is not kept connected.
    """

    async def contained(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        started = False

        async def send_noting_start(message: Message) -> None:
            nonlocal started
            started = True
            if message["type"] == "http.response.start" and message["status"] in _ENDING:
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        try:
            await app(scope, receive, send_noting_start)
        except ClientDisconnect:
            return
        except Exception as error:
            _LOGGER.error("a request failed: %s", error_location(error))
            if not started:
                headers = [(b"content-length", b"0"), (b"connection", b"close")]
                await send({"type": "http.response.start", "status": 500, "headers": headers})
                await send({"type": "http.response.body", "body": b""})

    return contained


class _StopParsing(Exception):
    """Raised in a callback of the parser, which then takes no more bytes."""


class _BoundedProtocol(HttpToolsProtocol):
    """One connection, within limits. It is told of bytes by the loop, and of the parts of a request by the parser."""

    def __init__(
        self,
        limits: ListenerLimits,
        admits: Callable[[Any], bool],
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._admits = admits
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._in_head = True
        self._request_complete = False
        self._answered = False
        self._waiting_since = 0.0
        self._refusal = 400
        self._drops_input = False

    # -- the loop's side ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, and close another where there are too many."""
        super().connection_made(transport)
        self._waiting_since = self.loop.time()
        if not self._admits(transport.get_extra_info("socket")):
            self._abort()
            return
        self._set_deadline(self._end_wait)
        if len(self.connections) > self._limits.open_connections():
            self._close_longest_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._clear_deadline()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand bytes to the parser, of a head no more than it may have."""
        rest = memoryview(data)
        while rest and not (self._drops_input or self.transport.is_closing()):
            # Bodies in shares of that size, too: a head may begin behind one.
            share = rest[: self._limits.header_bytes - self._head_bytes]
            rest = rest[len(share) :]
            began_in_head = self._in_head
            try:
                self.parser.feed_data(share)
            except httptools.HttpParserUpgrade:
                # Nothing here speaks another protocol: the request is answered as what it is, and what follows it
                # is not HTTP any more.
                self._answer_and_close()
            except httptools.HttpParserError:
                if not self._drops_input:
                    self._refuse(self._refusal)
            else:
                if began_in_head and self._in_head:
                    self._head_bytes += len(share)
                    if self._head_bytes >= self._limits.header_bytes:
                        self._refuse(431)

    def pause_writing(self) -> None:
        """Stop the application until the answer is taken, which it has to be in time."""
        super().pause_writing()
        self._set_deadline(self._abort)

    def resume_writing(self) -> None:
        """Let the application go on."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._clear_deadline()

    # -- the parser's side -------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request, unless one is being answered."""
        if self._is_answering:
            # No client of ours does this, and each request that waits would cost memory.
            self._answer_and_close()
            raise _StopParsing
        super().on_message_begin()
        self._unset_keepalive_if_required()
        self._request_complete = False
        # The first request's time runs from the connection on.
        if self._answered:
            self._set_deadline(self._end_wait)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those behind a body are dropped."""
        if not self._in_head:
            return
        if len(self.headers) >= self._limits.header_count:
            self._refusal = 431
            raise _StopParsing
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the answer, unless the head names two hosts: the second could be the one that is looked at."""
        self._in_head, self._head_bytes = False, 0
        if sum(name == b"host" for name, _ in self.headers) > 1:
            raise _StopParsing
        super().on_headers_complete()
        # The application has its own time for the bodies of who has shown a token.
        if self._answered:
            self._clear_deadline()

    def on_message_complete(self) -> None:
        """Note that the request is there."""
        self._request_complete = True
        self._clear_deadline()
        super().on_message_complete()
        if not self._is_answering:
            self._expect_head()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of this one, which is dropped."""
        super().on_response_complete()
        self._answered = True
        self._waiting_since = self.loop.time()
        if self.transport.is_closing() or not self._request_complete:
            # Closing waits until the answer is taken. A client that sends a long body looks for its answer behind it.
            self._set_deadline(self._abort)
        else:
            self._expect_head()

    # -- ending ------------------------------------------------------------------------------------------------------

    @property
    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _expect_head(self) -> None:
        self._in_head, self._head_bytes = True, 0

    def _close_longest_waiting(self) -> None:
        """Close the connection that waits the longest for a request; this one where all others are being answered.

        First those that never had an answer: who floods a port does not push out who uses it.
        """
        waiting = [other for other in self.connections if isinstance(other, _BoundedProtocol)]
        waiting = [other for other in waiting if other is not self and not other._is_answering]
        victim = min(waiting, key=lambda other: (other._answered, other._waiting_since), default=self)
        victim._abort()

    def _end_wait(self) -> None:
        """End a connection whose request did not come in time; who sent a part of one is told."""
        if self._head_bytes or self._is_answering:
            self._refuse(408)
        else:
            self._abort()

    def _refuse(self, status: int) -> None:
        """Answer a request that never reached the application, and close."""
        self._drops_input = True
        if self._is_answering and self.cycle.response_started:
            self._abort()
            return
        text = _TEXTS[status].encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
            f"content-length: {len(text)}\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + text)
        self.transport.close()
        self._set_deadline(self._abort)

    def _answer_and_close(self) -> None:
        """Answer the request that is under way, and take nothing after it."""
        self._drops_input = True
        if self._is_answering:
            self.cycle.keep_alive = False

    def _abort(self) -> None:
        """Close at once, whatever was not sent."""
        self._clear_deadline()
        # The loop tells of the end a moment later: until then it would be counted, and chosen again.
        self.connections.discard(self)
        self.transport.abort()

    def _set_deadline(self, end: Callable[[], None]) -> None:
        self._clear_deadline()
        self._deadline = self.loop.call_later(self._limits.request_seconds, end)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
