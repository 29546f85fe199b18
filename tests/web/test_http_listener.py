"""What a stranger may cost: raw sockets against a real server, whose clock the test puts forward (B2, B10)."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from hudkit.errors import ConfigError
from hudkit.web.http_listener import ListenerLimits, listen_tcp, make_server
from waiting import PATIENCE, until

V = TypeVar("V")

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LIMITS = ListenerLimits(connections=8)


class _SteppedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock can be put forward."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


class Listener:
    """A server on a port of its own; `calls` are the paths that reached the application."""

    def __init__(self, limits: ListenerLimits = LIMITS) -> None:
        self.calls: list[str] = []
        self.gate = asyncio.Event()
        self.loop = _SteppedLoop()
        self._socket = listen_tcp("127.0.0.1", 0)
        self.port = int(self._socket.getsockname()[1])
        routes = [
            Route("/", self._page, methods=["GET", "POST"]),
            Route("/held", self._held),
            Route("/refused", self._refused, methods=["POST"]),
            Route("/early", self._early, methods=["POST"]),
            Route("/broken", self._broken),
            Route("/endless", self._endless),
        ]
        self.server = make_server(Starlette(routes=routes), limits, grace_seconds=1, signals=False)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        # The server keeps its own descriptor of a socket that listens already: a connection can be made from now on.
        self.ask(GET)

    def _run(self) -> None:
        self.loop.run_until_complete(self.server.serve([self._socket]))

    async def _page(self, request: Request) -> Response:
        body = await request.body()
        self.calls.append("/")
        return PlainTextResponse(f"{len(body)} bytes")

    async def _held(self, _: Request) -> Response:
        self.calls.append("/held")
        await self.gate.wait()
        return PlainTextResponse("held")

    async def _refused(self, _: Request) -> Response:
        return PlainTextResponse("no token", 401)

    async def _early(self, _: Request) -> Response:
        return PlainTextResponse("too many bytes", 413)

    async def _broken(self, _: Request) -> Response:
        raise RuntimeError("what somebody wrote")

    async def _endless(self, _: Request) -> Response:
        async def parts() -> Any:
            while True:
                await asyncio.sleep(0)
                yield b"x" * 65_536

        return StreamingResponse(parts())

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, data: bytes) -> bytes:
        """Send, and return all that comes until the server closes; the request says that it is the last."""
        with self.connect() as connected:
            connected.sendall(data.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            return everything(connected)

    def do(self, act: Callable[[], V]) -> V:
        """Run something on the server's loop."""

        async def call() -> V:
            return act()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(PATIENCE)

    def pass_time(self, seconds: float) -> None:
        self.do(lambda: self._forward(seconds))

    def _forward(self, seconds: float) -> None:
        self.loop.ahead += seconds

    @property
    def connections(self) -> set[Any]:
        """The open ones; to be looked at on the server's loop."""
        return set(self.server.server_state.connections)

    @property
    def open(self) -> int:
        return self.do(lambda: len(self.connections))

    def close(self) -> None:
        self.do(self.gate.set)
        self.server.should_exit = True
        while self._thread.is_alive():  # it looks ten times a second, by a clock that need not be waited for
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                self.loop.call_soon_threadsafe(self._forward, 1)
            self._thread.join(0.01)
        self.loop.close()


def everything(connected: socket.socket) -> bytes:
    """All that comes until the other side closes, or resets."""
    answer = b""
    try:
        while part := connected.recv(65_536):
            answer += part
    except ConnectionResetError:
        pass
    return answer


def exchange(connected: socket.socket, data: bytes = GET) -> bytes:
    """Send a request, and return one answer, of which the connection stays open."""
    connected.sendall(data)
    answer = b""
    while b"\r\n\r\n" not in answer or not answer.endswith(b"bytes"):
        part = connected.recv(65_536)
        assert part, answer
        answer += part
    return answer


@pytest.fixture
def start() -> Iterator[Callable[..., Listener]]:
    started: list[Listener] = []

    def begin(limits: ListenerLimits = LIMITS) -> Listener:
        started.append(Listener(limits))
        return started[-1]

    yield begin
    for listener in started:
        listener.close()


@pytest.fixture
def listener(start: Callable[..., Listener]) -> Listener:
    return start()


def test_an_answer_says_nothing_about_the_server(listener: Listener) -> None:
    head = listener.ask(GET).partition(b"\r\n\r\n")[0].lower()
    assert head.startswith(b"http/1.1 200")
    assert b"server:" not in head and b"date:" not in head


def test_an_answer_is_sent_without_delay(listener: Listener) -> None:
    """Each on a kept connection waited 40 ms for the acknowledgement of the one before."""
    with listener.connect() as connected:
        exchange(connected)
        sockets = listener.do(lambda: [c.transport.get_extra_info("socket") for c in listener.connections])
        assert [one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in sockets] == [1]


def test_a_head_of_sixteen_kibibytes_is_taken_and_one_byte_more_is_not(listener: Listener) -> None:
    def request(size: int) -> bytes:
        frame = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: \r\n\r\n"
        return frame.replace(b"X: ", b"X: " + b"x" * (size - len(frame)))

    with listener.connect() as connected:
        connected.sendall(request(16_384))
        assert everything(connected).startswith(b"HTTP/1.1 200")
    with listener.connect() as connected:
        connected.sendall(request(16_385))
        assert everything(connected).startswith(b"HTTP/1.1 431")


def test_header_bytes_without_end_are_cut_off(listener: Listener) -> None:
    """B10: 300 MB of them were taken in."""
    sent = 0
    with listener.connect() as connected:
        connected.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        with pytest.raises(OSError):  # reset, or a broken pipe: this side went on
            while sent < 300_000_000:
                sent += connected.send(b"X-Filler: " + b"x" * 60_000 + b"\r\n")
    assert sent < 300_000_000
    assert listener.calls == ["/"]


def test_many_short_headers_are_refused_before_they_fill_the_memory(listener: Listener) -> None:
    answer = listener.ask(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 100 + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize("second", [b"Host: y", b"HOST: x", b"hOst:"])
def test_two_hosts_are_refused(listener: Listener, second: bytes) -> None:
    """B2."""
    assert listener.ask(b"GET / HTTP/1.1\r\nHost: x\r\n" + second + b"\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert listener.calls == ["/"]


def test_what_is_no_request_is_refused_in_our_own_words(listener: Listener) -> None:
    for junk in (b"\x16\x03\x01\x00\x00\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"G\xffT / HTTP/1.1\r\nHost: x\r\n\r\n"):
        with listener.connect() as connected:
            connected.sendall(junk)
            answer = everything(connected)
        assert answer.startswith(b"HTTP/1.1 400") and answer.endswith(b"The request cannot be read.")


@pytest.mark.parametrize("beginning", [b"", b"\r\n", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_connection_without_a_complete_head_ends_after_ten_seconds(listener: Listener, beginning: bytes) -> None:
    with listener.connect() as connected:
        connected.sendall(beginning)
        until(lambda: listener.open)
        listener.pass_time(9.0)
        assert listener.open == 1
        listener.pass_time(1.5)
        answer = everything(connected)
    assert answer == b"" if not beginning else answer.startswith(b"HTTP/1.1 408")
    assert listener.calls == ["/"]


@pytest.mark.slow
def test_a_drop_of_bytes_now_and_then_does_not_lengthen_the_time(listener: Listener) -> None:
    """A slow loris sends a header every few seconds."""
    with listener.connect() as connected:
        connected.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(4):
            listener.pass_time(2.0)
            connected.sendall(b"X: y\r\n")
        listener.pass_time(2.5)
        assert everything(connected).startswith(b"HTTP/1.1 408")


def test_a_first_body_that_does_not_come_ends_the_connection(listener: Listener) -> None:
    with listener.connect() as connected:
        connected.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
        until(lambda: listener.open)
        listener.pass_time(10.5)
        assert everything(connected).startswith(b"HTTP/1.1 408")
    assert listener.calls == ["/"]


def test_a_head_on_a_connection_in_use_has_ten_seconds_from_its_first_byte(listener: Listener) -> None:
    with listener.connect() as connected:
        assert exchange(connected).startswith(b"HTTP/1.1 200")
        listener.pass_time(30.0)
        assert exchange(connected).startswith(b"HTTP/1.1 200"), "it may wait between requests"
        connected.sendall(b"GET / HTTP/1.1\r\n")
        until(lambda: listener.do(lambda: not any(c.timeout_keep_alive_task for c in listener.connections)))
        listener.pass_time(10.5)
        assert everything(connected).startswith(b"HTTP/1.1 408")


def test_of_too_many_connections_the_one_that_waits_longest_is_closed(listener: Listener) -> None:
    connections = [listener.connect() for _ in range(8)]
    assert exchange(connections[0]).endswith(b"bytes"), "the first is in use from now on"
    late = [listener.connect() for _ in range(40)]
    assert exchange(late[-1]).startswith(b"HTTP/1.1 200"), "nobody is answered 503"
    assert listener.open == 8
    assert [everything(one) for one in connections[1:]] == [b""] * 7
    assert exchange(connections[0]).startswith(b"HTTP/1.1 200"), "a flood does not push out who uses the listener"
    for one in (*connections, *late):
        one.close()


def test_a_request_that_is_being_answered_is_never_closed_for_another(listener: Listener) -> None:
    held = [listener.connect() for _ in range(8)]
    for one in held:
        one.sendall(b"GET /held HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    until(lambda: len(listener.calls) == 9)
    with listener.connect() as late:
        assert everything(late) == b""
    listener.do(listener.gate.set)
    assert all(everything(one).endswith(b"held") for one in held)


def test_fewer_descriptors_are_fewer_connections() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        assert ListenerLimits(connections=512).open_connections() == 128
        assert ListenerLimits(connections=8).open_connections() == 8
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_requests_sent_ahead_cost_nothing(listener: Listener) -> None:
    with listener.connect() as connected:
        connected.sendall(GET * 3000)
        answer = everything(connected)
    assert answer.count(b"HTTP/1.1 200") == 1
    assert listener.calls == ["/", "/"]


def test_a_refused_request_is_not_read_to_its_end(listener: Listener) -> None:
    with listener.connect() as connected:
        connected.sendall(b"POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nxxx")
        answer = everything(connected)
    assert answer.startswith(b"HTTP/1.1 401") and b"connection: close" in answer


def test_the_rest_of_an_answered_request_is_dropped_and_has_ten_seconds(listener: Listener) -> None:
    """A client looks for the answer behind its body: closed before, it would see a broken pipe instead."""
    head = b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    with listener.connect() as connected:
        assert b" 413 " in exchange(connected, head)
        connected.sendall(b"x" * 100_000)
        assert exchange(connected).startswith(b"HTTP/1.1 200")
        exchange(connected, head)
        listener.pass_time(10.5)
        assert everything(connected) == b""


def test_an_answer_that_nobody_reads_ends_after_ten_seconds(listener: Listener) -> None:
    with listener.connect() as connected:
        connected.sendall(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        until(lambda: listener.do(lambda: any(c.flow.write_paused for c in listener.connections)))
        listener.pass_time(10.5)
        until(lambda: not listener.open)


def test_an_error_of_the_application_is_one_line_without_its_text(
    listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    answer = listener.ask(b"GET /broken HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 500")
    assert "what somebody wrote" not in caplog.text and "Traceback" not in caplog.text
    assert "RuntimeError at test_http_listener.py" in caplog.text


def test_a_client_that_goes_away_in_the_middle_is_no_error(
    listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    with listener.connect() as connected:
        connected.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
        until(lambda: listener.do(lambda: listener.server.server_state.tasks))
    until(lambda: not listener.do(lambda: listener.server.server_state.tasks))
    assert not caplog.records


def test_a_port_that_is_taken_or_none_is_a_typed_error(listener: Listener) -> None:
    for port in (listener.port, 70_000):
        with pytest.raises(ConfigError, match=f"port {port}"):
            listen_tcp("127.0.0.1", port)
