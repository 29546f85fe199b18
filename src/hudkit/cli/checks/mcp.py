"""MCP clients that hudkit was installed in: do they still start it?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hudkit.cli.checks.check import Finding, fail, gravest, warn
from hudkit.cli.checks.surroundings import Surroundings
from hudkit.errors import ConfigError
from hudkit.hosts.installing import user_environment
from hudkit.hosts.installing.config_files import read_text
from hudkit.hosts.mcp.client_install import CLIENTS, SERVER_NEEDS, InstalledServer, entry_program, recorded_servers


def clients(here: Surroundings) -> Finding:
    """Whether each configuration still has the entry, and what it starts is there with what it needs."""
    try:
        servers = recorded_servers(here.data)
    except ConfigError as error:
        return fail(error.message, error.hint)
    odd = [finding for server in servers for finding in _odd(server, here)]
    names = sorted({CLIENTS[server.client].title for server in servers if server.client in CLIENTS})
    return gravest(odd, f"configured in {', '.join(names)}" if names else "configured in no client")


def _odd(server: InstalledServer, here: Surroundings) -> Iterator[Finding]:
    again = f"hudkit install mcp --client {server.client}"
    path = Path(server.touched.file)
    try:
        text = read_text(path)
        program = (
            None
            if text is None or server.client not in CLIENTS
            else entry_program(text, path, CLIENTS[server.client])
        )
    except ConfigError as error:
        yield warn(error.message, f"Mend it: {server.client} cannot read it either")
        return
    if program is None:
        hint = f"{again}, or hudkit uninstall mcp --client {server.client}"
        yield warn(f"{path} does not start hudkit any more", hint)
        return
    try:
        user_environment.check_interpreter(program, None, here.env, SERVER_NEEDS)
    except ConfigError as error:
        yield fail(f"{server.client} cannot start hudkit: {error.message}", f"{again} ({error.hint})")
