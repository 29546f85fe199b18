"""What stands before the pages on loopback TCP: host, origin, token and kind of body, in this order, on every route.

A browser's page of another site can reach a port on loopback. It cannot set a header of its own without being asked
first (which is refused), it cannot hide its origin, and a name that was rebound to 127.0.0.1 shows in `Host`.
Sources: abuse cases B1, B3, B4, B5, B7.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from hudkit.errors import StoreUnsafe
from hudkit.hosts.wire import ErrorBody, ErrorResponse, encode

_REFUSALS: Mapping[int, tuple[str, str]] = {
    401: ("token", "a token is needed"),
    403: ("origin", "the request comes from another site"),
    415: ("media", "the body must be application/json"),
    421: ("host", "the request names another host"),
}


class Guard:
    """An ASGI application behind checks. `port` is the one that the pages are on, `hosts` their names."""

    def __init__(self, app: ASGIApp, token: str, port: int, hosts: tuple[str, ...]) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset(f"{name}:{port}".encode() for name in hosts)
        self._origins = frozenset(b"http://" + name for name in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        status = self._status(scope)
        if status is None:
            await self._app(scope, receive, send)
        else:
            await _refuse(status, send)

    def _status(self, scope: Scope) -> int | None:
        """The status that refuses a request; `None` lets it pass."""
        if scope["type"] != "http":
            return 403
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        if [value.lower() for value in headers.get(b"host", [])] not in [[host] for host in self._hosts]:
            return 421
        if any(value not in self._origins for value in headers.get(b"origin", [])):
            return 403
        if any(value not in (b"same-origin", b"none") for value in headers.get(b"sec-fetch-site", [])):
            return 403
        if not self._knows(headers.get(b"authorization", [])):
            return 401
        if scope["method"] == "POST":
            media = headers.get(b"content-type", [b""])[0].partition(b";")[0].strip().lower()
            return None if media == b"application/json" else 415
        return None

    def _knows(self, given: list[bytes]) -> bool:
        scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        return hmac.compare_digest(token.strip(), self._token) and scheme.lower() == b"bearer"


async def _refuse(status: int, send: Send) -> None:
    code, message = _REFUSALS[status]
    body = encode(ErrorResponse(ErrorBody(code, message)))
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def token_at(path: Path) -> str:
    """The token of the pages, made at the first use, in a file that only its user can read. Raises `StoreUnsafe`
    where the file is a link, another user's, or readable by others."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        pass
    else:
        with os.fdopen(fd, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    found = path.lstat()
    if not path.is_file() or path.is_symlink() or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise StoreUnsafe(f"{path} is not a file that only its user can read", hint="Remove it, a new one is made")
    token = path.read_text("utf-8").strip()
    if len(token) < 32:
        raise StoreUnsafe(f"{path} holds no token", hint="Remove it, a new one is made")
    return token
