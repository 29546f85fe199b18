"""A gateway that runs: in this process until it is stopped, or in a thread of a program's own."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType
from typing import Self

from hudkit.errors import HudkitError
from hudkit.hosts.gateway.relay import ModelCalls, Relay, UpstreamUrl

_LOG = logging.getLogger("hudkit.hosts.gateway")

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
