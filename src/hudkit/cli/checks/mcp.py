"""MCP clients that hudkit was installed in: do they still start it?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hudkit.cli.checks.check import Finding, fail, gravest, warn
from hudkit.cli.checks.surroundings import Surroundings
from hudkit.errors import ConfigError
from hudkit.hosts.installing import user_environment
from hudkit.hosts.installing.config_files import read_text
from hudkit.hosts.mcp.client_configs import CLIENTS, entry_program
from hudkit.hosts.mcp.client_install import SERVER_NEEDS, InstalledServer, recorded_servers


def clients(here: Surroundings) -> Finding:
    """Whether each configuration still has the entry, and what it starts is there with what it needs."""
    try:
        known = recorded_servers(here.data)
    except ConfigError as error:
        return fail(error.message, error.hint)
    odd = [finding for one in known for finding in _odd(one, here)]
    names = sorted({CLIENTS[one.client].title for one in known if one.client in CLIENTS})
    return gravest(odd, f"configured in {', '.join(names)}" if names else "configured in no client")


def _odd(one: InstalledServer, here: Surroundings) -> Iterator[Finding]:
    again = f"hudkit install mcp --client {one.client}"
    path = Path(one.touched.file)
    try:
        text = read_text(path)
        found = None if text is None or one.client not in CLIENTS else entry_program(text, path, CLIENTS[one.client])
    except ConfigError as error:
        yield warn(error.message, f"Mend it: {one.client} cannot read it either")
        return
    if found is None:
        hint = f"{again}, or hudkit uninstall mcp --client {one.client}"
        yield warn(f"{path} does not start hudkit any more", hint)
        return
    try:
        user_environment.check_interpreter(found, None, here.env, SERVER_NEEDS)
    except ConfigError as error:
        yield fail(f"{one.client} cannot start hudkit: {error.message}", f"{again} ({error.hint})")
