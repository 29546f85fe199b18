"""`hudkit stop`: ask the resident process to end; requests under way are answered first."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.parsing import CliCommand

WAIT_SECONDS = 10.0


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--socket", type=Path, metavar="PATH", help="its unix socket (default: $HUDKIT_SOCKET, else the user's own)"
    )


def _run(args: argparse.Namespace) -> int:
    import time

    from hudkit.daemon import socket_path
    from hudkit.daemon.client import greet, stop

    path = args.socket.absolute() if args.socket else socket_path.socket_path()
    there = greet(path)
    if there is None:
        print(f"no daemon listens on {path}")
        return 0
    until = time.monotonic() + WAIT_SECONDS
    if stop(path):
        while time.monotonic() < until:
            now = greet(path)
            if now is None or now.pid != there.pid:
                print(f"stopped process {there.pid}")
                return 0
            time.sleep(0.05)
    print(f"process {there.pid} on {path} does not end")
    return 1


COMMAND = CliCommand(
    example="hudkit stop",
    arguments=_arguments,
    run=_run,
)
