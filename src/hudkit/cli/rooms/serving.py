"""`hudkit rooms serve`: a world is played, with its page on a port of this machine."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path

from hudkit.cli.place import SCHEMA, as_json
from hudkit.cli.rooms import file_argument
from hudkit.cli.rooms.place import many, worlds_directory
from hudkit.cli.rooms.playing import opened, play_arguments, quotas, thinkers
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.rooms.players import open_players
from hudkit.rooms.scheduler import WorldRunner
from hudkit.rooms.world_log import WorldLog

TOKEN = "page-token"
"""The file of the page's token, beside the worlds."""


def serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="HOST", help="an address of this machine: 127.0.0.1, ::1"
    )
    parser.add_argument("--port", type=int, default=0, metavar="PORT", help="the port (default: one that is free)")
    file_argument(
        parser, "--token-file", "what a browser logs in with (default: beside the worlds, made at first use)"
    )
    parser.add_argument("--paused", action="store_true", help="begin paused")
    play_arguments(parser)


def serve(args: argparse.Namespace) -> int:
    try:
        from hudkit.rooms.page.desk import Desk
        from hudkit.rooms.page.serving import serve_page
        from hudkit.web.guard import token_at
        from hudkit.web.loopback import loopback
    except ImportError as error:
        raise ConfigError(f"no page without a web server ({error})", hint="install 'hudkit[daemon]'") from error
    loopback(args.host)
    if not 0 <= args.port <= 65535:
        raise ConfigError(f"--port {args.port} is no port", hint="1 to 65535; 0 for one that is free")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    with opened(args) as world_log:
        file = args.token_file or worlds_directory() / TOKEN
        _directory(file)
        token = token_at(file)
        desk = Desk(world_log, player=WorldRunner(world_log, open_players(), quotas=quotas(args)))
        if args.paused:
            desk.architect.pause()

        def say(address: str) -> None:
            _say(world_log, address, token, file, as_facts=args.json)

        asyncio.run(serve_page(desk, token, host=args.host, port=args.port, say=say))
    return 0


def _directory(file: Path) -> None:
    """A directory of the user's own for the token, where there is none."""
    from hudkit.hosts.installing.config_files import make_directory

    make_directory(file.absolute().parent)


def _say(world_log: WorldLog, address: str, token: str, file: Path, *, as_facts: bool) -> None:
    if as_facts:
        facts = {"world": world_log.world.name, "address": address, "token_file": str(file)}
        print(as_json({"schema": SCHEMA, **facts}, lines=True), flush=True)
        return
    print(visible(f"{world_log.world.name}: {many(len(world_log.world.agents), 'agent')}, {thinkers(world_log)}"))
    if world_log.world.paused is not None:
        print(visible(f"paused ({world_log.world.paused}): the page, or --resume, lets it go on"))
    print(f"page:  {address}")
    print(f"token: {token}")
    print("Ctrl-C ends it; what happened is kept.", flush=True)
