"""Addresses of this machine only, on which pages may listen, and what a browser may call them."""

from __future__ import annotations

import ipaddress

from hudkit.errors import ConfigError


def loopback(host: str) -> str:
    """The address to listen on for `--host`. Raises `ConfigError` for every other than this machine's own."""
    name = host.strip().strip("[]").lower()
    if name == "localhost":
        return "127.0.0.1"
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        raise ConfigError(f"--host {host!r} is no address", hint="Give 127.0.0.1 or ::1") from None
    if not address.is_loopback:
        hint = "No authentication for other machines is configured, so they get no port: use 127.0.0.1 or ::1"
        raise ConfigError(f"--host {host} can be reached by other machines", hint=hint)
    return str(address)


def names(address: str) -> tuple[str, ...]:
    """What a browser may call a loopback address, as in its `Host` header."""
    return (f"[{address}]" if ":" in address else address, "localhost")
