"""The options of a daemon: of `hudkit serve`, and of `python -m hudkit.daemon`, which a client starts."""

from __future__ import annotations

import argparse
from pathlib import Path


def daemon_arguments(parser: argparse.ArgumentParser) -> None:
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
        metavar="MINUTES",
        help="end after this long without a request (0: never; default: [daemon] idle_minutes of the settings)",
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help="also answer hooks on this port of the loopback address; the file of the token is printed",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="H", help="the loopback address for --port (default: 127.0.0.1)"
    )
