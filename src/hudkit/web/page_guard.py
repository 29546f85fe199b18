"""What every page on loopback TCP stands behind: addresses of this machine only, a token, and checks of each request.

A browser's page of another site can reach a port on loopback. It cannot set a header of its own without being asked
first (which is refused), it cannot hide its origin, and a name that was rebound to 127.0.0.1 shows in `Host`.
Sources: abuse cases B1, B3, B4, B5, B7.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from hudkit.errors import ConfigError, StoreUnsafe

if TYPE_CHECKING:  # addresses and tokens are asked for in installs without a web server
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Headers: TypeAlias = Mapping[bytes, list[bytes]]
"""A request's headers: all values by name in lower case."""

_MIN_TOKEN = 32
"""Characters below which a token's file is taken as damaged: a token that we make has 43."""


class PageGuard:
    """Checks before an ASGI application, the same for all pages: `Host`, `Origin`, `Sec-Fetch-Site`, access, and the
    kind of a body, in this order, on every route.

    `port` is the one that the pages are on, `hosts` the names that a browser may call them by. A `POST` must have the
    media type `media`, and where `max_body` is not `None`, a length that is declared and not above it (bytes).
    `check_access` gets scope and headers and returns the answer for who may not come in, `None` for who may; `refuse`
    returns the answer with a status: 403 (another site), 413 (too long), 415 (another kind of body), 421 (another
    host). `headers` are set on every answer that does not set them itself.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        port: int,
        hosts: tuple[str, ...],
        media: str,
        check_access: Callable[[Scope, Headers], ASGIApp | None],
        refuse: Callable[[int], ASGIApp],
        max_body: int | None = None,
        headers: Mapping[str, str] = {},
    ) -> None:
        self._app = app
        self._hosts = frozenset(f"{name}:{port}".encode() for name in hosts)
        self._origins = frozenset(b"http://" + name for name in self._hosts)
        self._media = media.encode()
        self._check_access = check_access
        self._refuse = refuse
        self._max_body = max_body
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a WebSocket, which nothing here speaks
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                missing = [(name, value) for name, value in self._headers if name not in present]
                message["headers"] = [*message["headers"], *missing]
            await send(message)

        answer = self._refusal(scope) or self._app
        await answer(scope, receive, send_with_headers if self._headers else send)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Return the answer that refuses a request; `None` lets it pass."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        # One host, and one of ours: a second header could be the one that the application looks at.
        if [value.lower() for value in headers.get(b"host", [])] not in [[host] for host in self._hosts]:
            return self._refuse(421)
        if any(value not in self._origins for value in headers.get(b"origin", [])):
            return self._refuse(403)
        if any(value not in (b"same-origin", b"none") for value in headers.get(b"sec-fetch-site", [])):
            return self._refuse(403)
        if answer := self._check_access(scope, headers):
            return answer
        if scope["method"] == "POST":
            if headers.get(b"content-type", [b""])[0].partition(b";")[0].strip().lower() != self._media:
                return self._refuse(415)
            if self._max_body is not None:
                length = headers.get(b"content-length", [b""])[0]
                # Twelve digits are enough to be refused, and keep `int` from a number of a million digits.
                if not length.isdigit() or int(length[:12]) > self._max_body:
                    return self._refuse(413)
        return None


class OneTimeToken:
    """The way in by a link that works once: its `token` stands in the address `/?once=…`, and in no other."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.is_used = False

    def redeem(self, token: str) -> bool:
        """Return whether the token opens the pages, which it does once."""
        if self.is_used or not hmac.compare_digest(token.encode(), self.token.encode()):
            return False
        self.is_used = True
        return True


def bearer_check(token: str, refuse: Callable[[int], ASGIApp]) -> Callable[[Scope, Headers], ASGIApp | None]:
    """Return the check of access by a token in the header `Authorization: Bearer …`; without it `refuse(401)` is the
    answer. A token in the address is not looked at: addresses stand in logs and histories."""
    expected = token.encode()

    def check(_: Scope, headers: Headers) -> ASGIApp | None:
        values = headers.get(b"authorization", [])
        scheme, _space, value = (values[0] if len(values) == 1 else b"").partition(b" ")
        is_known = hmac.compare_digest(value.strip(), expected) and scheme.lower() == b"bearer"
        return None if is_known else refuse(401)

    return check


def page_token(path: Path) -> str:
    """Return the token of the pages, made at the first use, in a file that only its user can read.

    Raises `StoreUnsafe` where the file is a link, another user's, readable by others, or holds no token.
    """
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        pass
    else:
        with os.fdopen(fd, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    status = path.lstat()
    if not path.is_file() or path.is_symlink() or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise StoreUnsafe(f"{path} is not a file that only its user can read", hint="Remove it, a new one is made")
    token = path.read_text("utf-8").strip()
    if len(token) < _MIN_TOKEN:
        raise StoreUnsafe(f"{path} holds no token", hint="Remove it, a new one is made")
    return token


def loopback_address(host: str) -> str:
    """Return the address to listen on for `--host`, such as `127.0.0.1` for `localhost` and `::1` for `[::1]`.

    Raises `ConfigError` for every other than this machine's own.
    """
    name = host.strip().strip("[]").lower()
    if name == "localhost":
        return "127.0.0.1"
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        raise ConfigError(f"--host {host!r} is not an address", hint="Give 127.0.0.1 or ::1") from None
    if not address.is_loopback:
        hint = "No authentication for other machines is configured, so they get no port: use 127.0.0.1 or ::1"
        raise ConfigError(f"--host {host} can be reached by other machines", hint=hint)
    return str(address)


def browser_hosts(address: str) -> tuple[str, ...]:
    """Return what a browser may call a loopback address in its `Host` header, without the port."""
    return (f"[{address}]" if ":" in address else address, "localhost")
