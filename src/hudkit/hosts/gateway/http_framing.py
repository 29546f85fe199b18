"""Heads and bodies of HTTP/1.1 messages as bytes: what a head says, and where a body ends. Pure.

The gateway relays bytes as they come. It has to know only where a message ends and what its head says, so that
everything else, the order and case of headers and the sizes of chunks among it, stays as it was sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, HttpResponseParser

_Framing = Literal["none", "length", "chunked", "until close"]

MAX_HEAD = 256 * 1024
"""Most bytes of a head; providers take less."""

_MAX_CHUNK_LINE = 4_096


class HeadError(ValueError):
    """A head is not HTTP/1.1, or says two things of where its body ends."""


class MessageHead(NamedTuple):
    """A head: its bytes up to the empty line, and its headers with names in small letters."""

    raw: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    framing: _Framing
    length: int
    method: bytes = b""
    target: bytes = b""
    status: int = 0

    def get(self, name: bytes) -> bytes:
        """Return the value of a header, empty where it is not there; several are joined as the standard says."""
        return b", ".join(value for key, value in self.headers if key == name)

    def with_lines(
        self, *, start: bytes | None = None, drop: Iterable[bytes] = (), add: Iterable[bytes] = ()
    ) -> bytes:
        """Return the head's bytes with another start line, without some headers, and with lines at its end.

        Every line that is not named stays as it is, in its place.
        """
        first, *lines = self.raw.removesuffix(b"\r\n\r\n").split(b"\r\n")
        names = frozenset(drop)
        stay = [line for line in lines if line.partition(b":")[0].strip().lower() not in names]
        return b"\r\n".join((first if start is None else start, *stay, *add)) + b"\r\n\r\n"


class _Collected:
    """What httptools tells of a head."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.url = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_url(self, url: bytes) -> None:
        self.url += url


def read_request_head(raw: bytes) -> MessageHead:
    """Return what the head of a request says. Raises `HeadError`."""
    collected = _Collected()
    parser = HttpRequestParser(collected)
    _feed(parser, raw)
    headers = tuple(collected.headers)
    framing, length = _framing(headers, "none")
    return MessageHead(raw, headers, framing, length, parser.get_method(), collected.url)


def read_response_head(raw: bytes, method: bytes) -> MessageHead:
    """Return what the head of the response to a request with this method says. Raises `HeadError`."""
    collected = _Collected()
    parser = HttpResponseParser(collected)
    _feed(parser, raw)
    status, headers = parser.get_status_code(), tuple(collected.headers)
    framing, length = _framing(headers, "until close")
    if method == b"HEAD" or status < 200 or status in (204, 304):
        framing, length = "none", 0
    return MessageHead(raw, headers, framing, length, status=status)


def _feed(parser: HttpRequestParser | HttpResponseParser, raw: bytes) -> None:
    try:
        parser.feed_data(raw)
    except HttpParserUpgrade:
        pass  # a websocket begins: all is read
    except HttpParserError as error:
        raise HeadError(str(error)) from None


def _framing(headers: tuple[tuple[bytes, bytes], ...], otherwise: _Framing) -> tuple[_Framing, int]:
    coding = b", ".join(value for name, value in headers if name == b"transfer-encoding").lower()
    if coding:
        return ("chunked", 0) if coding.rpartition(b",")[2].strip() == b"chunked" else ("until close", 0)
    lengths = {value.strip() for name, value in headers if name == b"content-length"}
    if not lengths:
        return otherwise, 0
    (length, *others) = lengths
    if others or not length.isdigit():
        message = "no content-length that can be read"
        raise HeadError(message)
    return "length", int(length)


class BodyEnd:
    """Finds where a body ends in the bytes of a connection, and what the body is without its chunks' frames.

    For example, chunks that come in two pieces:

    >>> body = BodyEnd("chunked")
    >>> body.feed(b"5\\r\\nhel"), body.is_over
    ((6, b'hel'), False)
    >>> body.feed(b"lo\\r\\n0\\r\\n\\r\\nHTTP/1.1"), body.is_over
    ((9, b'lo'), True)
    """

    def __init__(self, framing: _Framing, length: int = 0) -> None:
        self._framing = framing
        self._left = length  # of the body, or of the chunk and the line break behind it
        self._line = b""  # of a chunk's size, or of a trailer, as far as it came
        self._part = "size"
        self.is_over = framing == "none" or (framing == "length" and not length)

    def feed(self, data: bytes) -> tuple[int, bytes]:
        """Return how many of these bytes belong to the message, and the part of the body that is in them.

        Raises `HeadError` where chunks cannot be read.
        """
        if self.is_over:
            return 0, b""
        if self._framing == "until close":
            return len(data), data
        if self._framing == "length":
            part = data[: self._left]
            self._left -= len(part)
            self.is_over = not self._left
            return len(part), part
        return self._feed_chunks(data)

    def _feed_chunks(self, data: bytes) -> tuple[int, bytes]:
        place, parts = 0, []
        while place < len(data) and not self.is_over:
            if self._part == "data":
                piece = data[place : place + self._left]
                place += len(piece)
                # The last two bytes of what is left are the line break.
                parts.append(piece[: max(0, self._left - 2)])
                self._left -= len(piece)
                if not self._left:
                    self._part = "size"
                continue
            end = data.find(b"\n", place)
            self._line += data[place:] if end < 0 else data[place : end + 1]
            if len(self._line) > _MAX_CHUNK_LINE:
                message = "a chunk's size is too long"
                raise HeadError(message)
            if end < 0:
                return len(data), b"".join(parts)
            place = end + 1
            self._take_line(self._line.strip())
            self._line = b""
        return place, b"".join(parts)

    def _take_line(self, line: bytes) -> None:
        if self._part == "trailer":
            self.is_over = not line
            return
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            message = f"a chunk begins with {line[:40]!r}"
            raise HeadError(message) from None
        if size < 0:
            message = "a chunk's size is negative"
            raise HeadError(message)
        self._part, self._left = ("data", size + 2) if size else ("trailer", 0)
