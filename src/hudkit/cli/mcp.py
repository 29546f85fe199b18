"""`hudkit mcp`: the HUD's tools for any MCP client, on standard input and output or on HTTP."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from hudkit.cli import CliCommand
from hudkit.cli.common import log_to_stderr
from hudkit.errors import ConfigError
from hudkit.hosts.installing.config_files import make_directory
from hudkit.hosts.mcp import require_sdk, server
from hudkit.paths import data_directory

_DETAILS = """\
Clients start `hudkit mcp` themselves and talk to it over its standard input and output: `hudkit install mcp --client
NAME` tells them how. Each process is a session of its own; --session or HUDKIT_SESSION names one to continue.

With --http it serves until it is stopped. Each request needs the token (`Authorization: Bearer ...`): the one in
HUDKIT_MCP_TOKEN, else the one in the token file, which is created on first use. Each client has a session of its own,
or names one in the header `Hudkit-Session` or as `?session=` in the address. Without HOST, only this machine is
served."""


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
    parser.add_argument("--db", type=Path, metavar="FILE", help="the log (default: $HUDKIT_DB, else the user's own)")


def _run(args: argparse.Namespace) -> int:
    require_sdk()
    from hudkit.hosts.mcp import transports

    if args.project is not None and not args.project.is_dir():
        raise ConfigError(
            f"--project {args.project} is not a directory", hint="Name the directory that clients work in"
        )
    log_to_stderr()
    session = args.session or os.environ.get("HUDKIT_SESSION", "")
    mcp_server = server(args.db, session=session, project=args.project)
    if args.http is None:
        if sys.stdin.isatty():
            print(
                "hudkit mcp: waiting for a client; clients start this themselves (--help says how)", file=sys.stderr
            )
        transports.run_stdio(mcp_server)
        return 0
    address = transports.parse_address(args.http)
    if not address.loopback:
        warning = (
            "other machines can reach this, and the token travels in clear: put a proxy with TLS before it. "
            "What they call this machine must be named with --allow-host"
        )
        print(f"hudkit mcp: {warning}", file=sys.stderr)
    transports.run_http(mcp_server, address, _token(args.token_file), others=args.allow_host)
    return 0


COMMAND = CliCommand(
    example="hudkit mcp --http 8765",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
    extra="mcp",
)


def _token(file: Path | None) -> str:
    """The token of HTTP: from a named file, the environment, or our own file; a file is made where it is missing, and
    which one it is, is said on the error stream. Raises `StoreUnsafe` where others can read it."""
    from hudkit.web.page_guard import page_token

    named = os.environ.get("HUDKIT_MCP_TOKEN", "")
    if file is None and named:
        return named
    path = file or data_directory() / "mcp-token"
    make_directory(path.absolute().parent)
    secret = page_token(path)
    print(f"hudkit mcp: the token is in {path}", file=sys.stderr)
    return secret
