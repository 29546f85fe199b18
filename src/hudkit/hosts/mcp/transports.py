"""The server on streamable HTTP: an address, a token, and which names of hosts and origins may stand in a request."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Sequence
from typing import Any, ClassVar

import anyio
import mcp_types as types
import msgspec
from mcp.server import Server
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hudkit.errors import ConfigError

_URL_PATH = "/mcp"
_IDLE_TIMEOUT_S = 24 * 3600.0
"""How long a client may say nothing before MCP's session of it ends (what it recorded stays)."""

_MAX_SESSIONS = 1000
_MIN_TOKEN_CHARS = 32
"""Characters that a token has at least."""

_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


class ListenAddress(msgspec.Struct, frozen=True):
    """Where to listen; port 0 is one that is free."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Return whether only programs of this machine reach the address."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def name(self) -> str:
        """Return the host as it stands in an address of the web."""
        return f"[{self.host}]" if ":" in self.host else self.host


def parse_address(text: str) -> ListenAddress:
    """Return the address for `[HOST:]PORT`; without a host it is this machine's own. Raises `ConfigError`."""
    host, _, port = text.strip().rpartition(":")
    host = host.strip("[]").lower() or "127.0.0.1"
    host = "127.0.0.1" if host == "localhost" else host
    hint = "Give PORT or HOST:PORT, where HOST is an IP address or localhost"
    try:
        ipaddress.ip_address(host)
        number = int(port)
    except ValueError:
        raise ConfigError(f"--http {text!r} is not an address", hint=hint) from None
    if not 0 <= number <= 65535:
        raise ConfigError(f"--http {text!r} has no port from 0 to 65535", hint=hint)
    return ListenAddress(host, number)


def transport_security(address: ListenAddress, others: Sequence[str] = ()) -> TransportSecuritySettings:
    """Return the names that may stand in `Host` and `Origin`: this machine's own, the address where it is a
    particular one, and `others` (`NAME` or `NAME:PORT`, as behind a proxy).
    """
    names = list(_LOOPBACK_NAMES)
    if not ipaddress.ip_address(address.host).is_unspecified and address.name not in names:
        names.append(address.name)
    hosts = [f"{name}:{address.port}" for name in names]
    for name in others:
        hosts += [name] if ":" in name.rpartition("]")[2] else [name, f"{name}:{address.port}"]
    origins = [f"http://{host}" for host in hosts] + [f"https://{name}" for name in others]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins
    )


def http_app(server: Server[object], address: ListenAddress, token: str, *, others: Sequence[str] = ()) -> Starlette:
    """Return the ASGI application of a server at an address (with its real port).

    A request without the token gets 401, one for another host 421, one from another site 403. Raises `ConfigError`
    where the token is too short.
    """
    if len(token) < _MIN_TOKEN_CHARS:
        hint = "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
        raise ConfigError(
            f"the token has {len(token)} characters, and should have {_MIN_TOKEN_CHARS} or more", hint=hint
        )
    issuer = AnyHttpUrl(f"http://{address.name}:{address.port}")
    # Said explicitly: the SDK guards against DNS rebinding by itself on loopback addresses only (seen on 2.3: on
    # 0.0.0.0 a foreign `Host` got 200).
    app = server.streamable_http_app(
        streamable_http_path=_URL_PATH,
        session_idle_timeout=_IDLE_TIMEOUT_S,
        max_sessions=_MAX_SESSIONS,
        transport_security=transport_security(address, others),
        host=address.host,
        auth=AuthSettings(issuer_url=issuer, resource_server_url=None),
        token_verifier=_TokenVerifier(token),
    )
    app.add_middleware(_PlainErrors)
    app.router.redirect_slashes = False
    return app


class _PlainErrors:
    """Says in our own words what the SDK says in its parser's, which quote the request and name a library."""

    _TEXTS: ClassVar = {
        types.PARSE_ERROR: "The body is not JSON.",
        types.INVALID_PARAMS: "The body is not one message of JSON-RPC.",
    }

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: Message | None = None
        body = b""

        async def send_plain(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and message["status"] == 400:
                start = message
                return
            if start is None:
                await send(message)
                return
            body += message.get("body", b"")
            if not message.get("more_body", False):
                plain = self._plain(body)
                headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
                headers.append((b"content-length", str(len(plain)).encode()))
                await send({**start, "headers": headers})
                await send({"type": "http.response.body", "body": plain})

        await self._app(scope, receive, send_plain)

    def _plain(self, body: bytes) -> bytes:
        """Return the body of an answer 400 without a parser's text; one about no request in particular has such."""
        try:
            answer = msgspec.json.decode(body, type=dict[str, Any])
            text = self._TEXTS.get(answer["error"]["code"]) if answer.get("id") is None else None
        except (msgspec.DecodeError, KeyError, TypeError):
            return body
        if text is None:
            return body
        return msgspec.json.encode({**answer, "error": {**answer["error"], "message": text}})


class _TokenVerifier:
    """The one token that is taken, compared in constant time."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        if not hmac.compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token=token, client_id="hudkit", scopes=[])


def run_http(server: Server[object], address: ListenAddress, token: str, *, others: Sequence[str] = ()) -> None:
    """Serve until the process is told to end. Raises `ConfigError` where the address cannot be had."""
    # Imported here: a client that starts the server on stdio need not wait for it.
    from hudkit.web.http_listener import ListenerLimits, listen_tcp, make_server

    with listen_tcp(address.host, address.port) as listener:
        bound = ListenAddress(address.host, listener.getsockname()[1])
        app = http_app(server, bound, token, others=others)
        limits = ListenerLimits(connections=512, keep_alive_seconds=5)
        print(f"hudkit serves MCP at http://{bound.name}:{bound.port}{_URL_PATH}", flush=True)
        make_server(app, limits, grace_seconds=2, lifespan=True).run(sockets=[listener])


# --- The server on standard input and output, as a client starts it.


def run_stdio(server: Server[object]) -> None:
    """Serve until the client closes the input."""

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)
