"""How the daemon is called: its options and exit codes, for `hudkit serve` and for a client that starts it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hudkit import paths
from hudkit.config import Settings
from hudkit.daemon import place
from hudkit.errors import ConfigError, HudkitError


def arguments(one: argparse.ArgumentParser) -> None:
    """The options of a daemon."""
    one.add_argument("--socket", type=Path, metavar="PATH", help="the unix socket for hosts (or $HUDKIT_SOCKET)")
    one.add_argument("--db", type=Path, metavar="FILE", help="the log (default: the user's own, or $HUDKIT_DB)")
    one.add_argument(
        "--idle",
        type=float,
        default=30.0,
        metavar="MINUTES",
        help="end when nothing was asked for so long (0: never)",
    )
    one.add_argument("--port", type=int, metavar="N", help="pages on this port of the loopback address too")
    one.add_argument("--host", default="127.0.0.1", metavar="H", help="the loopback address of --port")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Serve as the options say; gives the exit code. Raises a `HudkitError` where it cannot."""
    from hudkit.daemon.serving import Options, serve

    if given.idle < 0 or given.idle != given.idle:
        raise ConfigError(f"--idle {given.idle} is no time", hint="Give minutes, or 0 for never")
    if given.port is None and given.host != "127.0.0.1":
        from hudkit.web.loopback import loopback

        loopback(given.host)
    path = given.socket.absolute() if given.socket else place.socket_path()
    db = given.db.absolute() if given.db else paths.log_path()
    serve(Options(path, db, given.idle, given.port, given.host, settings), _say)
    return 0


def main(argv: list[str] | None = None) -> int:
    """`python -m hudkit.daemon`: what a client starts. It writes to nobody's terminal but its last words."""
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
