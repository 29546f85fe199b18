"""The relay: each client's connection has one of its own to the provider, and bytes go to and fro as they come.

What a client sees is what it would see without us: the same heads, chunks, resets and silences, in the same order.
Nothing is read before it is passed on but heads, and the bodies of calls that `ModelCalls` wants to see. Whatever
goes wrong there, the call goes out as the client sent it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import struct
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from threading import Event, Thread
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

from hudkit.errors import ConfigError, HudkitError
from hudkit.hosts.gateway.http_framing import (
    MAX_HEAD,
    BodyEnd,
    HeadError,
    MessageHead,
    read_request_head,
    read_response_head,
)

_LOG = logging.getLogger("hudkit.hosts.gateway")

_MAX_CALL_BYTES = 64 * 1024 * 1024
"""A call with a longer body goes through as it comes; providers refuse half of that."""

_READ = 128 * 1024


class UpstreamUrl(NamedTuple):
    """Where the provider is: what stands before the path of each request."""

    scheme: str
    host: str
    port: int
    prefix: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Return the parts of a URL. Raises `ConfigError` where it is none of a provider."""
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or parts.query or parts.username:
            raise ConfigError(
                f"--upstream {url!r} is not the URL of a provider",
                hint="Give scheme, host and, where it has one, port and path: https://api.anthropic.com",
            )
        return cls(
            parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), parts.path.rstrip("/")
        )

    @property
    def authority(self) -> bytes:
        """Return what the header `Host` says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.scheme == "https" else 80
        return (host if self.port == default else f"{host}:{self.port}").encode()


AnswerMode = Literal["as it is", "stream", "whole"]
"""What becomes of an answer: its bytes go on as they came; it is looked at event by event; as one body."""


class NextRound(NamedTuple):
    """What the client gets at the end of an answer, and the body of a request that is sent before its end."""

    out: bytes
    request: bytes | None = None


class PreparedCall(Protocol):
    """One call, as it goes out, and what is done with its answer. Nothing of it may raise."""

    head: bytes
    body: bytes
    """The very object that was given, where the call goes as it came."""

    def begin(self, response: MessageHead) -> AnswerMode:
        """Say what becomes of an answer. Of one that goes on as it is, `feed` gets a copy; else it undoes a
        content coding."""
        ...

    def feed(self, part: bytes) -> bytes:
        """Take a part of the answer's body, and return what the client gets now."""
        ...

    async def end(self) -> NextRound:
        """Take the end of the answer."""
        ...

    def refused(self, response: MessageHead, body: bytes) -> bytes:
        """Return what the client gets where a further request of the same call was refused."""
        ...


class ModelCalls(Protocol):
    """Who puts something into calls. Nothing of it may raise."""

    def wants(self, head: MessageHead) -> bool:
        """Return whether the body of a request is to be seen before it goes out."""
        ...

    async def prepare(self, head: MessageHead, body: bytes) -> PreparedCall | None:
        """Return the call as it goes out; `None`: as it came."""
        ...


class Relay:
    """Listens, and relays what comes to one provider. `calls` may put something into calls; none does without."""

    def __init__(self, upstream: UpstreamUrl, calls: ModelCalls | None = None) -> None:
        self.upstream = upstream
        self.calls = calls
        self._tls = ssl.create_default_context() if upstream.scheme == "https" else None
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> int:
        """Begin to listen, and return the port."""
        self._server = await asyncio.start_server(self._accept, host, port, limit=_READ, backlog=512)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening, and end what is under way."""
        if self._server is not None:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def connect(self) -> _Stream:
        """Open a connection to the provider. Raises `OSError`."""
        reader, writer = await asyncio.open_connection(
            self.upstream.host,
            self.upstream.port,
            ssl=self._tls,
            server_hostname=self.upstream.host if self._tls else None,
            limit=_READ,
        )
        return _Stream(reader, writer)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        # `drain` waits until all has gone to the kernel: what came is with the client before the provider's end is.
        writer.transport.set_write_buffer_limits(high=0)
        connection = _ClientConnection(self, _Stream(reader, writer))
        try:
            await connection.run()
        except asyncio.CancelledError:
            pass  # the gateway ends
        finally:
            self._open.discard(task)
            connection.close()


class _Gone(Exception):
    """A side has gone; `reset` says that it did so without a word."""

    def __init__(self, *, reset: bool = False) -> None:
        self.reset = reset


class _Stream:
    """One side of a connection: what was read and not used yet, and the way to write."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.buffer = b""

    async def more(self) -> bytes:
        """Read on, into the buffer; nothing at the end."""
        data = await self._reader.read(_READ)
        self.buffer += data
        return data

    async def some(self) -> bytes:
        """Return what is there, as soon as there is anything; nothing at the end."""
        if not self.buffer:
            return await self._reader.read(_READ)
        data, self.buffer = self.buffer, b""
        return data

    async def head(self) -> bytes | None:
        """Return the next head; `None` where the other side has gone before one began."""
        while True:
            end = self.buffer.find(b"\r\n\r\n")
            if end >= 0:
                raw, self.buffer = self.buffer[: end + 4], self.buffer[end + 4 :]
                return raw
            if len(self.buffer) > MAX_HEAD:
                message = "the head is too long"
                raise HeadError(message)
            if not await self.more():
                if self.buffer:
                    raise _Gone
                return None

    async def send(self, data: bytes) -> None:
        """Write, and wait until the other side can take more."""
        if data:
            self._writer.write(data)
            await self._writer.drain()

    def say_end(self) -> None:
        """Tell the other side that nothing more comes, where a connection can say so."""
        if self._writer.can_write_eof():
            with suppress(OSError):
                self._writer.write_eof()
        else:
            self.close()

    def close(self, *, reset: bool = False) -> None:
        """Close; with a reset where the other side had one."""
        if reset:
            with suppress(OSError, AttributeError):
                own = self._writer.get_extra_info("socket")
                own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with suppress(OSError, RuntimeError):
            self._writer.close()


class _ClientConnection:
    """One client's connection, and the one to the provider that stands behind it."""

    def __init__(self, relay: Relay, client: _Stream) -> None:
        self._relay = relay
        self._client = client
        self._upstream: _Stream | None = None
        self._upload: asyncio.Task[None] | None = None

    def close(self, *, reset: bool = False) -> None:
        self._client.close(reset=reset)
        if self._upstream is not None:
            self._upstream.close(reset=reset)

    async def run(self) -> None:
        """Relay one request after the other, until a side has gone."""
        try:
            while (raw := await self._next_head()) is not None:
                if not await self._exchange(raw):
                    break
        except _Gone as gone:
            self.close(reset=gone.reset)
        except ConnectionError:
            self.close(reset=True)
        except HeadError as error:
            _LOG.warning("a connection is closed: %s", error)
        except (OSError, EOFError) as error:
            _LOG.warning("a connection is closed: %s: %s", type(error).__name__, error)

    async def _next_head(self) -> bytes | None:
        """Return the head of the next request; `None` where either side has gone meanwhile."""
        if self._upstream is None:
            return await self._client.head()
        request = asyncio.ensure_future(self._client.head())
        unasked = asyncio.ensure_future(self._upstream.more())
        try:
            await asyncio.wait((request, unasked), return_when=asyncio.FIRST_COMPLETED)
            if unasked.done() and not request.done():
                # What a provider says unasked, as that it waited too long, is said before it goes.
                await self._client.send(await self._upstream.some() if unasked.result() else b"")
                return None
            return await request
        finally:
            for task in (request, unasked):
                task.cancel()
            await asyncio.gather(request, unasked, return_exceptions=True)

    # -- one request -------------------------------------------------------------------------------------------

    async def _exchange(self, raw: bytes) -> bool:
        """Relay a request and its answer; return whether the connection goes on."""
        head = read_request_head(raw)
        if head.method == b"CONNECT":
            await self._client.send(
                b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            return False
        body = BodyEnd(head.framing, head.length)
        lines, held, payload, prepared = self._addressed(head), b"", None, None
        if self._wants(head):
            held, payload = await self._whole_body(head, body)
            if body.is_over and payload is not None:
                prepared = await self._prepared(head, payload)
        if prepared is not None and prepared.body is not payload:
            lines, held = self._addressed(head._replace(raw=prepared.head)), prepared.body
        upstream = await self._connected()
        await upstream.send(lines + held)
        self._upload = asyncio.ensure_future(self._pass_on(body))
        try:
            return await self._download(head, prepared) and await self._uploaded(self._upload, body)
        finally:
            await self._stop_upload()

    async def _stop_upload(self) -> None:
        if self._upload is not None:
            self._upload.cancel()
            await asyncio.gather(self._upload, return_exceptions=True)

    def _addressed(self, head: MessageHead) -> bytes:
        """Return the head as the provider gets it: addressed to it, and else as it came."""
        upstream = self._relay.upstream
        lines = head.raw.removesuffix(b"\r\n\r\n").split(b"\r\n")
        lines = [
            b"Host: " + upstream.authority if line[:5].lower() == b"host:" and number else line
            for number, line in enumerate(lines)
        ]
        if upstream.prefix:
            method, target, version = lines[0].split(b" ", 2)
            lines[0] = b" ".join((method, upstream.prefix.encode() + target, version))
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def _wants(self, head: MessageHead) -> bool:
        calls = self._relay.calls
        return calls is not None and head.length <= _MAX_CALL_BYTES and calls.wants(head)

    async def _prepared(self, head: MessageHead, payload: bytes) -> PreparedCall | None:
        assert self._relay.calls is not None
        return await self._relay.calls.prepare(head, payload)

    async def _whole_body(self, head: MessageHead, body: BodyEnd) -> tuple[bytes, bytes | None]:
        """Return the body of a call as it came, and what it says: `None` where it is too long to be looked at."""
        if head.get(b"expect").lower() == b"100-continue" and not body.is_over:
            await self._client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        raw, parts, size = [], [], 0
        while not body.is_over:
            data = await self._client.some()
            if not data:
                raise _Gone
            taken, part = body.feed(data)
            raw.append(data[:taken])
            parts.append(part)
            size += len(part)
            if data[taken:]:
                self._client.buffer = data[taken:]
            if size > _MAX_CALL_BYTES:
                return b"".join(raw), None
        return b"".join(raw), b"".join(parts)

    async def _connected(self) -> _Stream:
        if self._upstream is None:
            try:
                self._upstream = await self._relay.connect()
            except OSError as error:
                _LOG.warning("%s cannot be reached: %s", self._relay.upstream.host, error)
                raise _Gone(reset=True) from None
        return self._upstream

    async def _pass_on(self, body: BodyEnd) -> None:
        """Pass on the rest of the request's body, and see whether the client goes."""
        assert self._upstream is not None
        upstream = self._upstream
        while True:
            if body.is_over:
                if len(self._client.buffer) > _READ:
                    await asyncio.Event().wait()  # it asks on and on before it is answered: enough
                if not await self._client.more():
                    upstream.say_end()
                    return
                continue
            data = await self._client.some()
            if not data:
                upstream.say_end()
                return
            taken, _ = body.feed(data)
            if data[taken:]:
                self._client.buffer = data[taken:]
            await upstream.send(data[:taken])

    async def _uploaded(self, upload: asyncio.Task[None], body: BodyEnd) -> bool:
        """Wait for the end of a body that was answered before its end; return whether it came."""
        while not body.is_over:
            if upload.done():
                return False
            await asyncio.wait((upload,), timeout=0.05)
        return not upload.done()

    # -- its answer --------------------------------------------------------------------------------------------

    async def _download(self, head: MessageHead, prepared: PreparedCall | None) -> bool:
        """Relay the answer; return whether another may follow on this connection."""
        response = await self._response_head(head)
        if response is None:
            return False
        if response.status == 101:
            await self._client.send(response.raw)
            await self._tunnel()
            return False
        mode = prepared.begin(response) if prepared is not None else "as it is"
        if prepared is None or mode == "as it is":
            await self._client.send(response.raw)
            async for data, part in self._body(response):
                await self._client.send(data)
                if prepared is not None:
                    prepared.feed(part)
            if prepared is not None:
                await prepared.end()
        elif mode == "stream":
            await self._download_stream(head, response, prepared)
        else:
            await self._download_whole(head, response, prepared)
        return response.framing != "until close"

    async def _response_head(self, head: MessageHead) -> MessageHead | None:
        """Return the head of the answer; `None` where what came is no HTTP, and was passed on as it is."""
        assert self._upstream is not None
        while True:
            try:
                raw = await self._upstream.head()
                if raw is None:
                    raise _Gone
                response = read_response_head(raw, head.method)
            except HeadError:
                await self._client.send(raw if raw is not None else b"")
                await self._tunnel()
                return None
            if response.status >= 200 or response.status == 101:
                return response
            await self._client.send(raw)

    async def _body(self, response: MessageHead) -> AsyncIterator[tuple[bytes, bytes]]:
        """Yield the bytes of a body as they come, each with what they say."""
        assert self._upstream is not None
        body = BodyEnd(response.framing, response.length)
        while not body.is_over:
            data = await self._upstream.some()
            if not data:
                if response.framing == "until close":
                    return
                raise _Gone
            taken, part = body.feed(data)
            if data[taken:]:
                self._upstream.buffer = data[taken:]
            yield data[:taken], part

    async def _download_stream(self, head: MessageHead, response: MessageHead, prepared: PreparedCall) -> None:
        own = (b"content-length", b"transfer-encoding", b"content-encoding")
        chunked = not response.raw.startswith(b"HTTP/1.0")
        await self._client.send(
            response.with_lines(drop=own, add=(b"Transfer-Encoding: chunked",) if chunked else ())
        )

        async def send(out: bytes) -> None:
            await self._client.send(b"%x\r\n%b\r\n" % (len(out), out) if chunked and out else out)

        while True:
            async for _, part in self._body(response):
                await send(prepared.feed(part))
            following = await prepared.end()
            await send(following.out)
            if following.request is None:
                break
            answer = await self._next_round(head, response, prepared, following.request)
            if prepared.begin(answer) != "stream":
                rest = b"".join([part async for _, part in self._body(answer)])
                await send(prepared.refused(answer, rest))
                break
            response = answer
        await self._client.send(b"0\r\n\r\n" if chunked else b"")

    async def _download_whole(self, head: MessageHead, response: MessageHead, prepared: PreparedCall) -> None:
        while True:
            raw = []
            async for data, part in self._body(response):
                raw.append(data)
                prepared.feed(part)
            following = await prepared.end()
            if following.request is None:
                break
            response = await self._next_round(head, response, prepared, following.request)
            if prepared.begin(response) != "whole":
                # The client sees the refusal, and asks again if it wants to.
                following, raw = NextRound(b""), [data async for data, _ in self._body(response)]
                break
        if not following.out:
            await self._client.send(response.raw + b"".join(raw))
            return
        length = b"Content-Length: %d" % len(following.out)
        own = (b"content-length", b"transfer-encoding", b"content-encoding")
        lines = response.with_lines(drop=own, add=(length,))
        await self._client.send(lines + following.out)

    async def _next_round(
        self, head: MessageHead, before: MessageHead, prepared: PreparedCall, body: bytes
    ) -> MessageHead:
        """Send a further request of the same call, and return the head of its answer."""
        if before.framing == "until close" or b"close" in before.get(b"connection").lower():
            assert self._upstream is not None
            self._upstream.close()
            self._upstream = None
        upstream = await self._connected()
        await upstream.send(self._addressed(head._replace(raw=with_length(prepared.head, len(body)))) + body)
        answer = await self._response_head(head)
        if answer is None:
            raise _Gone
        return answer

    async def _tunnel(self) -> None:
        """Pass on bytes both ways until both sides have ended."""
        assert self._upstream is not None
        await self._stop_upload()  # both would read from the client
        upstream, client = self._upstream, self._client

        async def pump(source: _Stream, sink: _Stream) -> None:
            while data := await source.some():
                await sink.send(data)
            sink.say_end()

        ways = [asyncio.ensure_future(pump(*way)) for way in ((upstream, client), (client, upstream))]
        try:
            await asyncio.gather(*ways)
        finally:
            for way in ways:
                way.cancel()


def with_length(head: bytes, length: int) -> bytes:
    """Return the head of a request with a body of so many bytes, which is sent in one piece."""
    read = read_request_head(head)
    dropped = (b"content-length", b"transfer-encoding", b"expect")
    return read.with_lines(drop=dropped, add=(b"Content-Length: %d" % length,))


# -- a relay that runs: in this process until it is stopped, or in a thread of a program's own -------------------

_DEFAULT_PORT = 8788


def _new_loop() -> asyncio.AbstractEventLoop:
    if sys.implementation.name == "cpython":
        import uvloop

        return uvloop.new_event_loop()
    return asyncio.new_event_loop()


def serve(
    upstream: UpstreamUrl,
    calls: ModelCalls | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = _DEFAULT_PORT,
    listening: Callable[[int], object] = lambda _port: None,
) -> None:
    """Relay until the process is interrupted; `listening` is told the port. Raises `HudkitError` for a port that is
    taken."""

    async def run() -> None:
        relay = Relay(upstream, calls)
        listening(await _listen(relay, host, port))
        try:
            await asyncio.Event().wait()
        finally:
            await relay.close()

    with asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(run())


async def _listen(relay: Relay, host: str, port: int) -> int:
    try:
        return await relay.listen(host, port)
    except OSError as error:
        raise HudkitError(
            f"the gateway cannot listen on {host}:{port}: {error.strerror or error}", hint="Name another with --port"
        ) from None


class GatewayThread:
    """A gateway in a thread of this process, from construction to `close` (or as a context manager)."""

    def __init__(self, upstream: str, calls: ModelCalls | None = None, *, port: int = 0) -> None:
        """Begin to listen on 127.0.0.1. Raises `HudkitError` where that is not possible."""
        self._upstream = UpstreamUrl.parse(upstream)
        self._calls = calls
        self._wanted = port
        self._loop = _new_loop()
        self._ready = Event()
        self._stop: asyncio.Event | None = None
        self._error: HudkitError | None = None
        self.port = 0
        self._thread = Thread(target=self._run, name="hudkit-gateway", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            raise self._error

    @property
    def url(self) -> str:
        """Return the base URL for clients, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Stop; twice is harmless."""
        if self._thread.is_alive() and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        relay = Relay(self._upstream, self._calls)
        self._stop = asyncio.Event()
        try:
            self.port = await _listen(relay, "127.0.0.1", self._wanted)
        except HudkitError as error:
            self._error = error
            return
        self._ready.set()
        await self._stop.wait()
        await relay.close()
