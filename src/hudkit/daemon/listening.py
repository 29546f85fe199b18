"""Sockets and the servers on them: a unix socket that only its user may speak to, and a port on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp
from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hudkit.daemon.journal import journal
from hudkit.errors import ConfigError

MOST_CONNECTIONS = 128
GRACE_SECONDS = 5
"""Within which requests under way are answered when the daemon ends."""


class OwnUser(HttpToolsProtocol):
    """HTTP for the user that runs the daemon, and for nobody else."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        uid = peer(transport.get_extra_info("socket"))
        if uid is not None and uid != os.geteuid():
            journal.warning("refused a connection of user %d", uid)
            transport.abort()


class Quiet(Server):
    """A server whose signals are somebody else's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def peer(connected: Any) -> int | None:
    """The user id at the other end of a unix socket; `None` where the system does not tell."""
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
    """A listening socket (0600) at a path that is free. Raises `OSError`."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        made.bind(os.fspath(path))
        path.chmod(0o600)
        made.listen(MOST_CONNECTIONS)
    except BaseException:
        made.close()
        raise
    finally:
        os.umask(before)
    made.setblocking(False)
    return made


def listen_tcp(address: str, port: int) -> socket.socket:
    """A listening socket on a loopback address. Raises `ConfigError` where the port is taken or none."""
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address, port))
        made.listen(MOST_CONNECTIONS)
    except (OSError, OverflowError) as error:
        made.close()
        reason = error.strerror if isinstance(error, OSError) else "it is no port"
        raise ConfigError(f"cannot listen on {address} port {port}: {reason}", hint="Name another --port") from None
    made.setblocking(False)
    return made


def server(app: ASGIApp, *, own_user: bool) -> Quiet:
    """A server for an application, without a log of its own and without signal handlers."""
    http: Any = OwnUser if own_user else HttpToolsProtocol
    return Quiet(
        Config(
            app,
            http=http,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=MOST_CONNECTIONS,
            backlog=MOST_CONNECTIONS,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
