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
from hudkit.daemon import place
from hudkit.daemon.client import greet, stop
from hudkit.daemon.journal import journal, keep, where
from hudkit.errors import ConfigError
from hudkit.hosts.wire import newer

if TYPE_CHECKING:
    from hudkit.daemon.app import Activity
    from hudkit.daemon.indexing import Indexing

WAIT_SECONDS = 15.0
"""Within which another daemon on the same socket must answer or end."""
BUSY_SECONDS = 0.5
"""How long an append waits for another process's; a host's own deadline is shorter."""


class Options(msgspec.Struct, frozen=True):
    """`idle` is in minutes, 0: never; `port` adds pages on loopback TCP at `host`."""

    socket: Path
    db: Path
    idle: float = 30.0
    port: int | None = None
    host: str = "127.0.0.1"
    settings: Settings = Settings()


def serve(options: Options, say: Callable[[str], None] = lambda _: None) -> None:
    """Serve until stopped or idle. `say` is told when it listens, and where one of this version or newer does so
    already, which ends the call. Raises `ConfigError`, and a `StoreError` where the socket's directory or the log
    cannot be used."""
    address = ""
    if options.port is not None:
        from hudkit.web.loopback import loopback

        address = loopback(options.host)
    os.umask(0o077)
    place.prepare(options.socket)
    held = _only(options.socket, say)
    if held is None:
        return
    try:
        place.clear(options.socket)
        _serve(options, address, say)
    finally:
        os.close(held)


def _only(path: Path, say: Callable[[str], None]) -> int | None:
    """The lock, once the daemon that had it is gone; `None` where it is there to stay."""
    until = time.monotonic() + WAIT_SECONDS
    asked = 0
    while True:
        held = place.lock(path)
        if held is not None:
            return held
        there = greet(path)
        if there is not None and not newer(hudkit.__version__, there.version):
            say(f"a daemon of version {there.version} listens on {path} already (process {there.pid})")
            return None
        if there is not None and there.pid != asked:
            asked = there.pid
            stop(path)
        if time.monotonic() > until:
            hint = "It may hang: end it, or name another --socket"
            raise ConfigError(f"another daemon holds {path} and does not answer", hint=hint)
        time.sleep(0.05)


def _serve(options: Options, address: str, say: Callable[[str], None]) -> None:
    import uvloop

    from hudkit.api import Hud
    from hudkit.daemon.indexing import Indexing
    from hudkit.daemon.listening import listen_tcp, listen_unix
    from hudkit.log.stores import open_log
    from hudkit.transcripts import OwnTranscript
    from hudkit.transcripts.search import open_past

    log = open_log(options.db, busy_timeout=BUSY_SECONDS)
    past = indexing = None
    apart = open_log(options.db, read_only=True)  # the index's own: it never waits for the writer, nor lets it wait
    if options.settings.memory.index:
        past = open_past(paths.index_path(options.db), also=(OwnTranscript(apart),), eager=False)
        indexing = Indexing(past)
    hud = Hud(log, settings=options.settings, sections=paths.section_places(), past=past)
    listening: list[socket.socket] = []
    try:
        keep(options.db.absolute().parent / "daemon.log")
        if options.port is not None:
            listening.append(listen_tcp(address, options.port))
        listening.insert(0, listen_unix(options.socket))
        journal.info("version %s listens on %s", hudkit.__version__, options.socket)
        say(f"listening on {options.socket}")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(options, hud, indexing, listening, address))
    except Exception as error:
        journal.error("ended by an error: %s", where(error))
        raise
    finally:
        options.socket.unlink(missing_ok=True)
        for each in listening:
            each.close()
        if indexing is not None:
            indexing.close()
        apart.close()
        hud.close()
        journal.info("ended")


def _unheard(_body: bytes) -> None:
    """Nothing is indexed."""


async def _run(
    options: Options, hud: hudkit.Hud, indexing: Indexing | None, listening: list[socket.socket], address: str
) -> None:
    from hudkit.daemon.answering import Answering
    from hudkit.daemon.app import Activity, application
    from hudkit.daemon.listening import server
    from hudkit.web.guard import Guard, token_at
    from hudkit.web.loopback import names

    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    activity = Activity()
    with ThreadPoolExecutor(1, "hudkit-log") as thread:
        heard = indexing.heard if indexing is not None else _unheard
        app = application(Answering(hud), thread, activity, end.set, heard)
        servers = [server(app, own_user=True)]
        if len(listening) > 1:
            port = listening[1].getsockname()[1]
            token = token_at(options.db.absolute().parent / "token")
            servers.append(server(Guard(app, token, port, names(address)), own_user=False))
        thread.submit(lambda: hud.counter.count("warm"))
        running = [asyncio.create_task(one.serve([at])) for one, at in zip(servers, listening, strict=True)]
        watch = asyncio.create_task(_until_idle(activity, options.idle * 60, end))
        await asyncio.wait([asyncio.create_task(end.wait()), *running], return_when=asyncio.FIRST_COMPLETED)
        for one in servers:
            one.should_exit = True
        watch.cancel()
        await asyncio.gather(*running)


async def _until_idle(activity: Activity, seconds: float, end: asyncio.Event) -> None:
    """Set `end` when nothing was asked for so long."""
    while seconds > 0 and not end.is_set():
        left = seconds - activity.idle_seconds
        if left <= 0:
            journal.info("idle for %.1f minutes", seconds / 60)
            end.set()
        await asyncio.sleep(max(left, 0.05))
