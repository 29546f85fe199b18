"""A provider on loopback that keeps the very bytes of each connection and answers with the very bytes it is told."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Sequence
from threading import Event
from typing import NamedTuple

Answer = Sequence["bytes | Pause | Wait"]
"""What is written, piece by piece; `Pause` waits for an event."""


class Pause(NamedTuple):
    """Wait for an event before the next piece."""

    until: Event


class Wait(NamedTuple):
    """Wait until the client has gone."""


RESET = Pause(Event())
"""As the last piece: the connection is reset."""


class RawProvider:
    """Listens on a free port. `answer` gives the pieces of the answer to a request's bytes; after an answer whose
    bytes have `Connection: close`, or whose last piece is empty, the connection is closed."""

    def __init__(self, answer: Callable[[bytes], Answer], *, tls: ssl.SSLContext | None = None) -> None:
        self._answer = answer
        self._tls = tls
        self.requests: list[bytes] = []
        self.gone = Event()
        """A client went while an answer was waiting."""
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> RawProvider:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # else the thread that accepts keeps the port open
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        buffer = b""
        if self._tls is not None:
            try:
                connection = self._tls.wrap_socket(connection, server_side=True)
            except OSError:
                return  # the client did not like it
        with connection:
            while True:
                request, buffer = read_message(connection, buffer)
                if request is None:
                    return
                self.requests.append(request)
                for piece in self._answer(request):
                    if piece is RESET:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        return
                    if isinstance(piece, Pause):
                        piece.until.wait()
                    elif isinstance(piece, Wait):
                        while connection.recv(65536):
                            pass
                        self.gone.set()
                        return
                    elif not piece:
                        return
                    else:
                        connection.sendall(piece)


def read_message(connection: socket.socket, buffer: bytes = b"") -> tuple[bytes | None, bytes]:
    """Return the bytes of the next request, and what was read behind it; `None` at the end of a connection.

    Read by another rule than the gateway's: a chunked body ends with its last chunk's bytes.
    """
    while b"\r\n\r\n" not in buffer:
        data = connection.recv(65536)
        if not data:
            return None, buffer
        buffer += data
    end = buffer.index(b"\r\n\r\n") + 4
    lines = [line.partition(b":") for line in buffer[:end].lower().split(b"\r\n")[1:]]
    headers = {name.strip(): value.strip() for name, _, value in lines}
    if headers.get(b"transfer-encoding") == b"chunked":
        while b"\r\n0\r\n\r\n" not in buffer[end - 2 :]:
            buffer += connection.recv(65536)
        whole = buffer.index(b"\r\n0\r\n\r\n", end - 2) + 7
    else:
        whole = end + int(headers.get(b"content-length", b"0"))
        while len(buffer) < whole:
            buffer += connection.recv(65536)
    return buffer[:whole], buffer[whole:]


def connect(url: str) -> socket.socket:
    """Return a connection to the server at a URL."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=20)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def ask(connection: socket.socket, request: bytes, length: int) -> bytes:
    """Send a request and return so many bytes of what comes back, or all where the connection ends before."""
    connection.sendall(request)
    return receive(connection, length)


def receive(connection: socket.socket, length: int) -> bytes:
    """Return so many bytes, or all where the connection ends before."""
    out = b""
    while len(out) < length:
        data = connection.recv(min(65536, length - len(out)))
        if not data:
            break
        out += data
    return out
