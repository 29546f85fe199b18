"""The daemon's life: be the only one, open the log, listen, answer, and end when asked to or when idle."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import hudkit
from hudkit import paths
from hudkit.config import Settings
from hudkit.daemon import socket_path
from hudkit.daemon.client import greet, stop
from hudkit.daemon.logfile import LOGGER, error_location, write_to_file
from hudkit.errors import ConfigError
from hudkit.hosts.wire import newer
from hudkit.ingest.extraction import KnownStatements, extract

if TYPE_CHECKING:
    from hudkit.daemon.http_server import Activity
    from hudkit.daemon.transcript_indexer import TranscriptIndexer

WAIT_SECONDS = 15.0
"""Seconds within which another daemon on the same socket must answer or end."""

BUSY_SECONDS = 0.5
"""Seconds that an append waits for another process's; a host's own deadline is shorter."""


class DaemonOptions(msgspec.Struct, frozen=True):
    """How a daemon runs: `idle` is in minutes, 0 is never; `port` adds a port on loopback TCP at `host`."""

    socket: Path
    db: Path
    idle: float = 30.0
    port: int | None = None
    host: str = "127.0.0.1"
    settings: Settings = Settings()


def serve(options: DaemonOptions, report: Callable[[str], None] = lambda _: None) -> None:
    """Serve until stopped or idle.

    `report` is called with a line when it listens, and when a daemon of this version or newer does so already, which
    ends the call. Raises `ConfigError`, and a `StoreError` where the socket's directory or the log cannot be used.
    """
    address = ""
    if options.port is not None:
        from hudkit.web.loopback import loopback

        address = loopback(options.host)
    # Whatever the daemon makes from here on (socket, log, index, token) is its user's alone.
    os.umask(0o077)
    socket_path.prepare_directory(options.socket)
    lock = _exclusive_lock(options.socket, report)
    if lock is None:
        return
    try:
        socket_path.remove_stale(options.socket)
        _serve(options, address, report)
    finally:
        os.close(lock)


def _exclusive_lock(path: Path, report: Callable[[str], None]) -> int | None:
    """Return the socket's lock, once the daemon that had it is gone; `None` where that one stays.

    A daemon of an older version is asked to end, once; one of this version or newer stays.
    """
    until = time.monotonic() + WAIT_SECONDS
    asked = 0
    while True:
        lock = socket_path.acquire_lock(path)
        if lock is not None:
            return lock
        other = greet(path)
        if other is not None and not newer(hudkit.__version__, other.version):
            report(f"a daemon of version {other.version} listens on {path} already (process {other.pid})")
            return None
        if other is not None and other.pid != asked:
            # Once for each process: a daemon that ends takes the time that its requests take.
            asked = other.pid
            stop(path)
        if time.monotonic() > until:
            hint = "It may hang: end it, or name another --socket"
            raise ConfigError(f"another daemon holds {path} and does not answer", hint=hint)
        time.sleep(0.05)


def _serve(options: DaemonOptions, address: str, report: Callable[[str], None]) -> None:
    import uvloop

    from hudkit.api import Hud
    from hudkit.daemon.http_server import listen_tcp, listen_unix
    from hudkit.daemon.transcript_indexer import TranscriptIndexer
    from hudkit.log.stores import open_log
    from hudkit.transcripts import OwnTranscript
    from hudkit.transcripts.search import open_past_sessions

    log = open_log(options.db, busy_timeout=BUSY_SECONDS)
    past = indexing = None
    # The indexer has a connection of its own: it never waits for the writer, and the writer never for it.
    index_log = open_log(options.db, read_only=True)
    if options.settings.memory.index:
        past = open_past_sessions(paths.index_path(options.db), also=(OwnTranscript(index_log),), eager=False)
        indexing = TranscriptIndexer(past)
    hud = Hud(log, settings=options.settings, sections=paths.section_paths(), past=past)
    listening: list[socket.socket] = []
    try:
        write_to_file(options.db.absolute().parent / "daemon.log")
        if options.port is not None:
            listening.append(listen_tcp(address, options.port))
        listening.insert(0, listen_unix(options.socket))
        LOGGER.info("version %s listens on %s", hudkit.__version__, options.socket)
        report(f"listening on {options.socket}")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(options, hud, indexing, listening, address))
    except Exception as error:
        LOGGER.error("ended by an error: %s", error_location(error))
        raise
    finally:
        # Before the log closes: a client that finds no socket starts a daemon, which waits for the lock.
        options.socket.unlink(missing_ok=True)
        for each in listening:
            each.close()
        if indexing is not None:
            indexing.close()
        index_log.close()
        hud.close()
        LOGGER.info("ended")


def _ignore_upload(_body: bytes) -> None:
    """Do nothing: nothing is indexed."""


async def _run(
    options: DaemonOptions,
    hud: hudkit.Hud,
    indexing: TranscriptIndexer | None,
    listening: list[socket.socket],
    address: str,
) -> None:
    from hudkit.daemon.handlers import RequestHandlers
    from hudkit.daemon.http_server import Activity, application, make_server
    from hudkit.web.guard import Guard, token_at
    from hudkit.web.loopback import names

    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    activity = Activity()
    with ThreadPoolExecutor(1, "hudkit-log") as thread:
        # Compiles the patterns for plain words before anybody is answered: a first message would wait for them, and
        # a frame has no time for that.
        extract("The weather is fine today", KnownStatements(rules=("never push",)))
        on_upload = indexing.uploaded if indexing is not None else _ignore_upload
        app = application(RequestHandlers(hud), thread, activity, end.set, on_upload)
        servers = [make_server(app, own_user=True)]
        if len(listening) > 1:
            port = listening[1].getsockname()[1]
            token = token_at(options.db.absolute().parent / "token")
            servers.append(make_server(Guard(app, token, port, names(address)), own_user=False))
        # The tokenizer takes longer to load than a host waits for its first frame.
        thread.submit(lambda: hud.counter.count("warm"))
        pairs = zip(servers, listening, strict=True)
        running = [asyncio.create_task(server.serve([listener])) for server, listener in pairs]
        watch = asyncio.create_task(_until_idle(activity, options.idle * 60, end))
        await asyncio.wait([asyncio.create_task(end.wait()), *running], return_when=asyncio.FIRST_COMPLETED)
        for server in servers:
            server.should_exit = True
        watch.cancel()
        await asyncio.gather(*running)


async def _until_idle(activity: Activity, seconds: float, end: asyncio.Event) -> None:
    """Set `end` when nothing was asked for `seconds`; 0 is never."""
    while seconds > 0 and not end.is_set():
        left = seconds - activity.idle_seconds
        if left <= 0:
            LOGGER.info("idle for %.1f minutes", seconds / 60)
            end.set()
        await asyncio.sleep(max(left, 0.05))
