"""How the daemon is called: its options and exit codes, for `hudkit serve` and for a client that starts it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hudkit import paths
from hudkit.config import Settings
from hudkit.daemon import socket_path
from hudkit.errors import ConfigError, HudkitError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a daemon to a parser."""
    parser.add_argument(
        "--socket",
        type=Path,
        metavar="PATH",
        help="the unix socket for hosts (default: $HUDKIT_SOCKET, else the user's own)",
    )
    parser.add_argument("--db", type=Path, metavar="FILE", help="the log (default: $HUDKIT_DB, else the user's own)")
    parser.add_argument(
        "--idle",
        type=float,
        default=30.0,
        metavar="MINUTES",
        help="end after this long without a request (0: never; default: 30)",
    )
    parser.add_argument("--port", type=int, metavar="N", help="also serve pages on this port of the loopback address")
    parser.add_argument("--host", default="127.0.0.1", metavar="H", help="the loopback address of --port")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Serve as the options say, and return the exit code. Raises a `HudkitError` where it cannot."""
    from hudkit.daemon.lifecycle import DaemonOptions, serve

    if args.idle < 0 or args.idle != args.idle:
        raise ConfigError(f"--idle {args.idle} is not a time", hint="Give minutes, or 0 for never")
    if args.port is None and args.host != "127.0.0.1":
        from hudkit.web.page_guard import loopback_address

        loopback_address(args.host)
    path = args.socket.absolute() if args.socket else socket_path.socket_path()
    db = args.db.absolute() if args.db else paths.log_path()
    serve(DaemonOptions(path, db, args.idle, args.port, args.host, settings), _say)
    return 0


def main(argv: list[str] | None = None) -> int:
    """Run `python -m hudkit.daemon`, which a client starts, and return the exit code.

    It prints one line of error at most, which the client reads.
    """
    from hudkit.config import load

    parser = argparse.ArgumentParser(prog="hudkit.daemon")
    arguments(parser)
    try:
        return run(parser.parse_args(argv), load(paths.config_path()).settings)
    except HudkitError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or 'the socket'}: {error.strerror}", file=sys.stderr)
        return 2


def _say(line: str) -> None:
    print(line, flush=True)
