"""`hudkit mcp`: the HUD's tools for any MCP client, on standard input and output or on HTTP."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from hudkit.cli.common import log_to_stderr
from hudkit.daemon import mcp_bridge
from hudkit.errors import ConfigError
from hudkit.hosts.installing.config_files import make_directory
from hudkit.hosts.mcp import require_sdk, server
from hudkit.paths import data_directory


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.host is not None:
        return mcp_bridge.main(args.host)
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
