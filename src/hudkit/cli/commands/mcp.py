"""`hudkit mcp`: the HUD's tools for any MCP client, on standard input and output or on HTTP."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import db_argument
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Clients start `hudkit mcp` themselves and talk to it over its standard input and output: `hudkit install mcp --client
NAME` tells them how. Each process is a session of its own; --session or HUDKIT_SESSION names one to continue.

With --http it serves until it is stopped. Each request needs the token (`Authorization: Bearer ...`): the one in
HUDKIT_MCP_TOKEN, else the one in the token file, which is created on first use. Each client has a session of its own,
or names one in the header `Hudkit-Session` or as `?session=` in the address. Without HOST, only this machine is
served.

With --host it is what `hudkit install HOST` has the host start: the tools and the hooks of its sessions, which the
daemon answers."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--http", metavar="[HOST:]PORT", help="serve over HTTP; with port 0, on a port that is free")
    parser.add_argument("--session", metavar="ID", help="bind all clients to this session (default: $HUDKIT_SESSION)")
    parser.add_argument(
        "--project",
        metavar="DIR",
        type=Path,
        help="where clients work (default: their first root, else this directory)",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        type=Path,
        help="the file with the token for HTTP (default: in the data directory)",
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME[:PORT]",
        action="append",
        default=[],
        help="another host name that HTTP requests may be addressed to, as behind a proxy; repeatable",
    )
    parser.add_argument("--host", choices=("codex",), help="the host that starts it; nothing else is given with it")
    db_argument(parser)


COMMAND = CliCommand(
    example="hudkit mcp --http 8765",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.mcp:run",
    extra="mcp",
)
