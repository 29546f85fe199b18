"""What the daemon does while it lives: the HTTP server, and the thread that owns the log.

Hosts reach the server over a unix socket that only its user may speak to, hooks over a port on
loopback. One thread owns the log: a request is one bounded body in and one answer out.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import uvloop
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

import hudkit
from hudkit import paths
from hudkit.agent.databases import existing_databases
from hudkit.agent.session_transcript import session_sources
from hudkit.api import Hud
from hudkit.config import Settings
from hudkit.daemon.backup_timer import back_up_in_time
from hudkit.daemon.handlers import DONE, HANDLERS, RequestHandlers, error_response, refusal
from hudkit.daemon.index_process import IndexProcess
from hudkit.daemon.logfile import LOGGER, write_to_file
from hudkit.errors import ConfigError, HudkitError, StoreDamaged, StoreGone, StoreUnsafe
from hudkit.hosts.claude_code import plugin_install as claude_code
from hudkit.hosts.claude_code.session_file import SessionFiles
from hudkit.hosts.hook_address import HookAddress, hook_address_path, read_hook_address, write_hook_address
from hudkit.hosts.hook_deadlines import hook_seconds
from hudkit.hosts.hook_session import HookWishes, with_agent_file
from hudkit.hosts.hook_wire import (
    HOOK_HOSTS,
    NOTHING_NEW,
    HookAnswer,
    HookPayload,
    read_hook,
    write_answer,
)
from hudkit.hosts.opencode import plugin_install
from hudkit.hosts.pi.extension_install import renew_extension
from hudkit.hosts.wire import (
    MAX_BODY,
    PROTOCOL,
    PROTOCOL_HEADER,
    SPOKEN,
    VERSION_HEADER,
    Hello,
    RequestRefused,
    encode,
)
from hudkit.ingest.extraction import KnownStatements, extract
from hudkit.ingest.sentence_model import installed_model
from hudkit.log import EventLog
from hudkit.log.stores import SqliteLog, open_log
from hudkit.log.stores.recovery import LOG, DatabaseKind, SalvagedLog
from hudkit.log.stores.sqlite_files import OpenFiles
from hudkit.transcripts import OwnTranscript
from hudkit.transcripts.search import open_past_sessions
from hudkit.web.http_listener import ListenerLimits, error_location, listen_tcp, make_server
from hudkit.web.page_guard import PageGuard, bearer_check, browser_hosts, page_token

BUSY_SECONDS = 0.5
"""Seconds that an append waits for another process's; a host's own deadline is shorter."""


def serve_requests(
    socket_file: Path,
    db: Path,
    settings: Settings,
    *,
    idle_minutes: float,
    port: int | None,
    address: str,
    report: Callable[[str], None],
) -> bool:
    """Open the log and answer requests until stopped or idle; call it only while holding the socket's lock.

    Returns whether to call it again: another file took the place of the log while it was open, and all that is
    remembered here is of the one before.

    `port` adds a port on loopback TCP at `address`. `report` is called with a line once it listens. Raises a
    `StoreError` where the log cannot be used; one that can only be read can.
    """
    past = indexing = None
    log: EventLog
    try:
        # An agent on a read-only file system or a full disk has its HUD all the same; it says so.
        log = open_log(db, busy_timeout=BUSY_SECONDS, fail_open=True)
        # Conversations are read over a connection of their own: they never wait for the writer, nor it for them.
        index_log = open_log(db, read_only=True) if isinstance(log, SqliteLog) else log
    except StoreDamaged as error:
        # The same where SQLite cannot read the log any more.
        log = index_log = SalvagedLog.of(db.absolute(), error)
    # Where nothing can be written, there may be no file that could be taken away.
    files = OpenFiles(db) if isinstance(log, SqliteLog) else None
    if settings.memory.index and not isinstance(log, SalvagedLog):
        past = open_past_sessions(
            paths.index_path(db), also=[*session_sources(db), OwnTranscript(index_log)], eager=False
        )
        indexing = IndexProcess.of(db)
    hud = Hud(log, settings=settings, sections=paths.section_paths(), past=past)
    listening: list[socket.socket] = []
    try:
        write_to_file(db.absolute().parent / "daemon.log")
        hooks = _hook_listener(db) if port is None else None
        if hooks is not None:
            port, address = hooks.getsockname()[1], "127.0.0.1"
            listening.append(hooks)
        elif port is not None:
            listening.append(listen_tcp(address, port))
        listening.insert(0, _listen_unix(socket_file))
        if hooks is not None:
            token = page_token(_token_file(db))
            write_hook_address(hook_address_path(), HookAddress(port or 0, token, str(socket_file)))
        LOGGER.info("version %s listens on %s", hudkit.__version__, socket_file)
        report(f"listening on {socket_file}")
        if port is not None:
            own_address = f"http://{browser_hosts(address)[0]}:{listening[1].getsockname()[1]}"
            report(f"and on {own_address}, for requests with the token in {_token_file(db)}")
        _renew_plugins()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_run(hud, files, indexing, listening, db, address, idle_minutes))
    except Exception as error:
        LOGGER.error("ended by an error: %s", error_location(error))
        raise
    finally:
        # Before the log closes: a client that finds no socket starts a daemon, which waits for the lock.
        socket_file.unlink(missing_ok=True)
        for listener in listening:
            listener.close()
        if indexing is not None:
            indexing.close()
        if past is not None:
            past.close()
        index_log.close()
        hud.close()
        LOGGER.info("ended")


def _token_file(db: Path) -> Path:
    """Return the file of the token without which nothing is answered on the port."""
    return db.absolute().parent / "token"


def _hook_listener(db: Path) -> socket.socket | None:
    """Return a listener for hooks, on the port of before where that is free; `None` where no host calls over HTTP."""
    if db.absolute() != paths.log_path():
        return None
    try:
        wanted = read_hook_address(hook_address_path())
    except StoreUnsafe as error:
        LOGGER.warning("no port for hooks: %s", error)
        return None
    if wanted is None:
        return None
    for port in (wanted.port, 0):
        with contextlib.suppress(ConfigError):
            return listen_tcp("127.0.0.1", port)
    return None


def _renew_plugins() -> None:
    """Write the plugins of OpenCode, Claude Code and pi anew where an upgrade left those of an older version."""
    renewals = {
        "OpenCode": plugin_install.renew_plugin,
        "Claude Code": claude_code.renew_plugin,
        "pi": renew_extension,
    }
    for host, renew in renewals.items():
        try:
            if renew(paths.data_directory(), sys.executable):
                LOGGER.info("wrote the plugin of %s anew", host)
        except (HudkitError, OSError) as error:
            LOGGER.warning("the plugin of %s is of an older version and cannot be written: %s", host, error)


async def _run(
    hud: Hud,
    files: OpenFiles | None,
    indexing: IndexProcess | None,
    listening: list[socket.socket],
    db: Path,
    address: str,
    idle_minutes: float,
) -> bool:
    """Serve until it is to end; return whether the log was replaced."""
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    activity = _Activity()
    with ThreadPoolExecutor(1, "hudkit-log") as thread, ThreadPoolExecutor(2, "hudkit-files") as file_thread:
        # Compiles the patterns for plain words before anybody is answered: a first message would wait for them, and
        # a frame has no time for that.
        extract("The weather is fine today", KnownStatements(rules=("never push",)))
        if hud.settings.extraction.plain_words and hud.settings.extraction.sentence_model:
            file_thread.submit(installed_model)
        replaced = False

        def answered() -> None:
            nonlocal replaced
            if files is None:
                return
            try:
                files.check()
            except StoreGone as gone:
                replaced = bool(gone.details["replaced"])
                if replaced:
                    LOGGER.warning("another log took the place of the one that was open")
                    end.set()

        wishes = _hook_wishes(hud.settings)
        handlers = (
            RequestHandlers(hud, hook_wishes=wishes)
            if indexing is None
            else RequestHandlers(hud, on_upload=indexing.uploaded, hook_wishes=wishes)
        )
        app = _application(handlers, thread, file_thread, activity, end.set, answered)
        servers = [make_server(app, _OWN_USER, grace_seconds=_GRACE_SECONDS, signals=False, admits=_is_own_user)]
        if len(listening) > 1:
            port = listening[1].getsockname()[1]
            token = page_token(_token_file(db))
            guarded = _guard_pages(app, token, port, browser_hosts(address))
            servers.append(make_server(guarded, _ANYBODY, grace_seconds=_GRACE_SECONDS, signals=False))
        # The tokenizer takes longer to load than a host waits for its first frame.
        thread.submit(lambda: hud.counter.count("warm"))
        pairs = zip(servers, listening, strict=True)
        running = [asyncio.create_task(server.serve([listener])) for server, listener in pairs]
        watch = asyncio.create_task(_until_idle(activity, idle_minutes * 60, end))
        copying = asyncio.create_task(back_up_in_time(lambda: _databases(db), hud.settings.backup))
        await asyncio.wait([asyncio.create_task(end.wait()), *running], return_when=asyncio.FIRST_COMPLETED)
        for server in servers:
            server.should_exit = True
        watch.cancel()
        copying.cancel()
        await asyncio.gather(*running)
        return replaced


def _hook_wishes(settings: Settings) -> dict[str, HookWishes]:
    ours = settings.claude_code.remaining_tokens == "ours"
    files = SessionFiles(paths.data_directory())
    return {"claude-code": HookWishes(hides_remaining=ours, on_frame=files.write)}


def _databases(db: Path) -> list[tuple[Path, DatabaseKind]]:
    """Return what is backed up: the log, and with the user's own one the agent's databases."""
    log = db.absolute()
    return existing_databases(log, paths.data_directory()) if log == paths.log_path() else [(log, LOG)]


async def _until_idle(activity: _Activity, seconds: float, end: asyncio.Event) -> None:
    """Set `end` when nothing was asked for `seconds`; 0 is never."""
    while seconds > 0 and not end.is_set():
        left = seconds - activity.idle_seconds
        if left <= 0:
            LOGGER.info("idle for %.1f minutes", seconds / 60)
            end.set()
        await asyncio.sleep(max(left, 0.05))


_BODY_SECONDS = 10
"""Seconds within which a request's body must have arrived, so that a slow client holds no memory for long."""

_MAX_WAITING = 64
"""Requests that wait for the log's thread or are being answered; further ones are told that the daemon is busy."""

_Answer = tuple[int, bytes]

_REASONS = {
    401: ("token", "a token is needed"),
    403: ("origin", "the request comes from another site"),
    404: ("path", "there is no such path"),
    405: ("method", "this path is asked with another method"),
    415: ("media", "the body must be application/json"),
    421: ("host", "the request names another host"),
}


class _Activity:
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
        activity: _Activity,
        on_answer: Callable[[], None],
    ) -> None:
        self._path = path
        self._on_answer = on_answer
        self._handlers = handlers
        self._thread = thread
        self._activity = activity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._activity:
            request = Request(scope, receive)
            status, body = await self._answer(request)
        await _response(status, body, _spoken_with(request))(scope, receive, send)

    async def _answer(self, request: Request) -> _Answer:
        protocol = request.headers.get(PROTOCOL_HEADER)
        if protocol not in _SPOKEN:
            message = f"the header {PROTOCOL_HEADER} is missing"
            if protocol:
                message = f"the request speaks protocol {protocol[:20]!r}"
            hint = f"This daemon speaks protocol {PROTOCOL}, version {hudkit.__version__}"
            return error_response(426, "protocol", message, hint)
        # A request that would wait longer than its host does is better refused at once: the host goes on without.
        if self._activity.running > _MAX_WAITING:
            return error_response(503, "busy", f"{_MAX_WAITING} requests are waiting", "Try again")
        body = await _read_body(request)
        if isinstance(body, tuple):
            return body
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._thread, self._handlers.answer, self._path, body)
        self._on_answer()
        return answer


class _HookEndpoint:
    """An ASGI endpoint for the hooks of one host.

    The session's file is read on a thread of its own, then the hook is answered on the log's. A host waits for its
    hooks: each has a deadline of ours, behind which there is nothing new, and what was late comes with the next one.
    """

    def __init__(
        self,
        host: str,
        handlers: RequestHandlers,
        threads: tuple[Executor, Executor],
        activity: _Activity,
        on_answer: Callable[[], None],
    ) -> None:
        """`threads` are the log's and the one that reads files."""
        self._host = host
        self._sessions = handlers.hooks[host]
        self._log_thread, self._file_thread = threads
        self._activity = activity
        self._on_answer = on_answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._activity:
            status, body = await self._answer(Request(scope, receive))
        await _response(status, body)(scope, receive, send)

    async def _answer(self, request: Request) -> _Answer:
        if self._activity.running > _MAX_WAITING:
            return error_response(503, "busy", f"{_MAX_WAITING} requests are waiting", "Try again")
        body = await _read_body(request)
        if isinstance(body, tuple):
            return body
        try:
            payload = with_agent_file(read_hook(body), self._host)
        except RequestRefused as error:
            return refusal(error)
        answer = NOTHING_NEW
        seconds = hook_seconds(payload.hook_event_name)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                answer = await self._answered(request, payload, seconds / 2)
        self._on_answer()
        return 200, encode(write_answer(payload, answer))

    async def _answered(self, request: Request, payload: HookPayload, seconds: float) -> HookAnswer:
        """Read the session's file, for so many seconds at most, and answer."""
        loop = asyncio.get_running_loop()
        session = await loop.run_in_executor(self._log_thread, self._sessions.of, payload)
        if session is None:
            return NOTHING_NEW
        reading = loop.run_in_executor(self._file_thread, session.follow, payload)
        done, _ = await asyncio.wait([reading], timeout=seconds)
        if done and (error := reading.exception()) is not None:
            LOGGER.error("a transcript cannot be read: %s", error_location(error))
        if await request.is_disconnected():
            return NOTHING_NEW  # what nobody hears would count as told
        return await loop.run_in_executor(self._log_thread, session.answer, payload)


async def _read_body(request: Request) -> bytes | _Answer:
    """Return a request's body, or the answer that refuses it: too long, or too slow."""
    declared = request.headers.get("content-length", "0")
    # Twelve digits are enough to be refused, and keep `int` from a number of a million digits.
    if not declared.isdecimal() or int(declared[:12]) > MAX_BODY:
        return _too_long()
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)
                if size > MAX_BODY:
                    return _too_long()
                chunks.append(chunk)
    except TimeoutError:
        return error_response(408, "slow", f"the body did not come within {_BODY_SECONDS} seconds")
    return b"".join(chunks)


def _application(
    handlers: RequestHandlers,
    thread: Executor,
    file_thread: Executor,
    activity: _Activity,
    stop: Callable[[], None],
    on_answer: Callable[[], None],
) -> Starlette:
    """Return the ASGI application with all routes; requests on the log are answered on `thread`, one at a time, and
    transcripts read on `file_thread`.

    `stop` is called when a stop is asked for, `on_answer` after each answered request. Both are called on the event
    loop, so they must only make a note of it.
    """

    # Asked by clients before they trust a socket, so it neither waits for the log nor needs a protocol.
    async def health(request: Request) -> Response:
        uptime = round((time.monotonic() - activity.started) * 1000)
        hello = Hello(hudkit.__version__, PROTOCOL, os.getpid(), uptime)
        return _response(200, encode(hello), _spoken_with(request))

    # Asked by hosts that had no answer in time: who gets this one can have a frame.
    async def hello(request: Request) -> Response:
        await asyncio.get_running_loop().run_in_executor(thread, lambda: None)
        return await health(request)

    async def end(request: Request) -> Response:
        stop()
        return _response(200, DONE, _spoken_with(request))

    app = Starlette(
        routes=[
            Route("/health", health, methods=["GET"]),
            Route("/v1/hello", hello, methods=["POST"]),
            Route("/v1/stop", end, methods=["POST"]),
            *(
                Route(path, _Endpoint(path, handlers, thread, activity, on_answer), methods=["POST"])
                for path in HANDLERS
            ),
            *(
                Route(
                    f"/v1/hook/{host}",
                    _HookEndpoint(host, handlers, (thread, file_thread), activity, on_answer),
                    methods=["POST"],
                )
                for host in HOOK_HOSTS
            ),
        ],
        exception_handlers={HTTPException: _refuse, Exception: _fail},
    )
    # A path that is not in the table is answered 404, also where one with another slash is in it.
    app.router.redirect_slashes = False
    return app


def _guard_pages(app: ASGIApp, token: str, port: int, hosts: tuple[str, ...]) -> PageGuard:
    """Return the application as it is served on loopback: for who has the token, and no other site or host."""
    return PageGuard(
        app,
        port=port,
        hosts=hosts,
        media="application/json",
        check_access=bearer_check(token, _refuse_stranger),
        refuse=_refuse_stranger,
    )


def _refuse_stranger(status: int) -> Response:
    """Return a refusal before anything is known of who asks, so it does not say which program and version this is."""
    _, body = error_response(status, *_REASONS[status])
    headers = {"x-content-type-options": "nosniff", "connection": "close"}
    return Response(body, status, headers, media_type="application/json")


async def _refuse(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    code, message = _REASONS.get(status, ("request", "the request cannot be answered"))
    return _response(*error_response(status, code, message))


async def _fail(_: Request, error: Exception) -> Response:
    LOGGER.error("a request failed: %s", error_location(error))
    return _response(
        *error_response(500, "internal", "the daemon met an error of its own", "Its log file tells where")
    )


def _too_long() -> _Answer:
    return error_response(413, "size", f"a request has at most {MAX_BODY} bytes", "Send fewer messages at once")


_SPOKEN = tuple(map(str, SPOKEN))


def _spoken_with(request: Request) -> str:
    """Return the version of the wire that a request is answered in: its own, where that is spoken."""
    protocol = request.headers.get(PROTOCOL_HEADER, "")
    return protocol if protocol in _SPOKEN else str(PROTOCOL)


def _response(status: int, body: bytes, protocol: str = str(PROTOCOL)) -> Response:
    headers = {PROTOCOL_HEADER: protocol, VERSION_HEADER: hudkit.__version__}
    return Response(body, status, headers, media_type="application/json")


_OWN_USER = ListenerLimits(connections=256)
"""Limits on the unix socket: its user's hosts may keep many connections, and no stranger takes one of them."""

_ANYBODY = ListenerLimits(connections=384)
"""Limits on the port, which every program of this machine can reach."""

_GRACE_SECONDS = 5
"""Seconds within which requests under way are answered when the daemon ends."""


def _is_own_user(connected: socket.socket) -> bool:
    """Return whether the other end of a unix socket is the user that runs the daemon.

    The socket's directory is closed to others already; this holds where somebody opened it.
    """
    uid = _peer_uid(connected)
    if uid is None or uid == os.geteuid():
        return True
    LOGGER.warning("refused a connection of user %d", uid)
    return False


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


def _listen_unix(path: Path) -> socket.socket:
    """Return a listening unix socket (mode 0600) at a path that is free. Raises `OSError`."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # `bind` makes the file: the umask is what keeps it closed from its first moment.
    before = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
        path.chmod(0o600)
        listener.listen()
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    listener.setblocking(False)
    return listener
