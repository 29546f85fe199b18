"""Serving the page beside the world that is played: one process, one event loop, a port of this machine only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import uvicorn

from hudkit.errors import ConfigError
from hudkit.rooms.page.app import application
from hudkit.rooms.page.desk import Desk
from hudkit.web.loopback import loopback, names


async def serve_page(
    desk: Desk,
    token: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    end: Awaitable[object] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Play the world, where the desk has a player, and serve its page until `end` is done or the process is
    interrupted. `say` is told the address once it can be opened.

    Raises `ConfigError` where other machines could reach `host`, or the port is taken.
    """
    listening = listen(host, port)
    address = listening.getsockname()
    called = names(address[0])
    app = application(desk, token, address[1], called, lambda: server.should_exit)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
        ws="none",
    )
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve([listening]))
    if desk.player is not None:
        desk.play()
    say(f"http://{called[0]}:{address[1]}/")
    waiting = [serving] if end is None else [serving, asyncio.ensure_future(end)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if desk.playing:
            await desk.stop()
        server.should_exit = True
        await serving


def listen(host: str, port: int) -> socket.socket:
    """A socket on a loopback address; port 0: any that is free. Raises `ConfigError`."""
    address = loopback(host)
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address, port))
        made.listen(64)
    except OSError as error:
        made.close()
        raise ConfigError(f"port {port} of {address} cannot be used: {error.strerror}", hint="Name another") from None
    return made
