"""The server on streamable HTTP: an address, a token, and which names of hosts and origins may stand in a request."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Sequence

import anyio
import msgspec
from mcp.server import Server
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette

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


def _open_socket(address: ListenAddress) -> socket.socket:
    """Return an open socket at the address. Raises `ConfigError` where it cannot be had."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        where = f"{address.name}:{address.port}"
        raise ConfigError(f"{where} cannot be listened on ({error.strerror})", hint="Name another port") from None
    return listener


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
    return server.streamable_http_app(
        streamable_http_path=_URL_PATH,
        session_idle_timeout=_IDLE_TIMEOUT_S,
        max_sessions=_MAX_SESSIONS,
        transport_security=transport_security(address, others),
        host=address.host,
        auth=AuthSettings(issuer_url=issuer, resource_server_url=None),
        token_verifier=_TokenVerifier(token),
    )


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
    import uvicorn

    with _open_socket(address) as listener:
        config = uvicorn.Config(
            http_app(server, ListenAddress(address.host, listener.getsockname()[1]), token, others=others),
            log_level="warning",
            timeout_graceful_shutdown=2,
        )
        print(f"hudkit serves MCP at http://{address.name}:{listener.getsockname()[1]}{_URL_PATH}", flush=True)
        uvicorn.Server(config).run(sockets=[listener])


# --- The server on standard input and output, as a client starts it.


def run_stdio(server: Server[object]) -> None:
    """Serve until the client closes the input."""

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)
