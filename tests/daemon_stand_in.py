"""Something else in the daemon's place: it hangs, lies, is of another version, or answers when nobody listens."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from hudkit import __version__
from hudkit.daemon.socket_path import acquire_lock
from hudkit.hosts.wire import VERSION_HEADER

Answer = Callable[[socket.socket, bytes], None]
"""What is done with a request on its connection."""

BROKEN = "500 Internal Server Error"


@contextlib.contextmanager
def stand_in(path: Path, answer: Answer) -> Iterator[list[bytes]]:
    """Put something on the daemon's socket that answers so; give the requests that it had."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    requests: list[bytes] = []
    lock = acquire_lock(path)  # nobody takes its place
    assert lock is not None
    os.ftruncate(lock, 0)  # it names no process: this one must not be ended

    def talk(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            requests.append(whole_request(connection))
            answer(connection, requests[-1])

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(64)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=talk, args=(server.accept()[0],), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield requests
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(60)
            path.unlink(missing_ok=True)
            os.close(lock)


def whole_request(connection: socket.socket) -> bytes:
    """What is sent over a connection, up to the length that it says."""
    request = b""
    while chunk := connection.recv(1 << 20):
        request += chunk
        head, end, body = request.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if end and len(body) >= (int(length[1]) if length else 0):
            break
    return request


def http(body: object, status: str = "200 OK", version: str = __version__) -> bytes:
    """An answer of a daemon; what is not bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{VERSION_HEADER}: {version}\r\n"
    return f"{head}content-length: {len(content)}\r\nconnection: close\r\n\r\n".encode() + content


def sends(body: bytes) -> Answer:
    """The same answer to everything."""
    return lambda connection, _: connection.sendall(body)


def silent(connection: socket.socket, _: bytes) -> None:
    """Hold the connection until the other end gives up."""
    while connection.recv(65_536):
        pass


def late(daemon: Path) -> Answer:
    """The answers of a real daemon, which believes that they arrive; each is sent when who asked has given it up."""

    def answer(connection: socket.socket, request: bytes) -> None:
        with socket.socket(socket.AF_UNIX) as real:
            real.connect(str(daemon))
            real.sendall(request.replace(b"\r\n", b"\r\nconnection: close\r\n", 1))
            words = b"".join(iter(lambda: real.recv(1 << 20), b""))
        silent(connection, request)
        connection.sendall(words)

    return answer
