"""`hudkit rooms serve`: a world is played, with its page on a port of this machine."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from hudkit.cli.common import SCHEMA, as_json, log_to_stderr
from hudkit.cli.rooms.new import check_free, removed_unless_finished
from hudkit.cli.rooms.run import (
    model_quotas,
    model_settings,
    open_played_world,
    open_player,
    place_of,
    played_by,
    shared_leases,
    world_telemetry,
)
from hudkit.cli.rooms.worlds import changed_at, files_of, known, open_world, path_of, picked, plural, worlds_directory
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.rooms.cost_forecast import forecast_cost, forecast_text, listed_models
from hudkit.rooms.players import open_players
from hudkit.rooms.recording import RecordingPlayer
from hudkit.rooms.scheduler import ModelQuota, WorldRunner, freeze_survivors
from hudkit.rooms.world_log import WorldLog
from hudkit.web.page_guard import loopback_address, page_token

if TYPE_CHECKING:  # the page needs a web server, which is in the extra `rooms`
    from hudkit.rooms.page.page_context import PageContext
    from hudkit.rooms.page.served_worlds import WorldFileEntry

_HOUR = 3600.0
TOKEN = "page-token"
"""The file of the page's token, beside the worlds."""


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    # The page needs a web server, which is in the extra `rooms`; the other operations do without it.
    from hudkit.rooms.page.page_context import PageContext
    from hudkit.rooms.page.server import serve_page

    loopback_address(args.host)
    if not 0 <= args.port <= 65535:
        raise ConfigError(f"--port {args.port} is not a port", hint="1 to 65535; 0 for one that is free")
    log_to_stderr()
    with open_played_world(args) as world_log, ExitStack() as stack:
        file = args.token_file or worlds_directory() / TOKEN
        _directory(file)
        token = page_token(file)
        players = open_players(settings=model_settings())
        leases = stack.enter_context(shared_leases(args.world))
        runner = open_player(place_of(args), world_log, players, quotas=model_quotas(args), leases=leases)
        # One in partitions is played by workers: here it is looked at, and the Architect takes part.
        player = None if world_log.world.partitions else runner
        context = PageContext(world_log, player=player, models=listed_models(), file_name=_file_name(place_of(args)))
        hour = forecast_text(forecast_cost(world_log.world, runner.now(), seconds=_HOUR))
        if hour and context.recorded is None:
            print(visible(f"an hour: {hour}"), file=sys.stderr)
        if args.paused:
            context.pause()

        addresses: list[str] = []

        def say_link(link: str) -> None:
            _say(world_log, runner, addresses[0], link, token, file, as_facts=args.json)

        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            # A script's background jobs begin with Ctrl-C ignored. The web server takes it all the same, but only
            # once it runs, and then ends as if nothing had happened: taken from here on, it means the same always.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        directory = UserWorlds(model_quotas(args), stack)
        serving = serve_page(
            context,
            token,
            directory=directory,
            host=args.host,
            port=args.port,
            say=addresses.append,
            say_link=say_link,
        )
        with world_telemetry(world_log), freeze_survivors():
            asyncio.run(serving)
    return 0


def _directory(file: Path) -> None:
    """A directory of the user's own for the token, where there is none."""
    from hudkit.hosts.installing.config_files import make_directory

    make_directory(file.absolute().parent)


def _file_name(place: Path | str) -> str:
    """Return the name that a world has among the user's; empty for one that lies elsewhere."""
    return place.stem if isinstance(place, Path) and place.parent == worlds_directory() else ""


class UserWorlds:
    """The worlds with names, for the page."""

    def __init__(self, quotas: Mapping[str, ModelQuota], until_end: ExitStack) -> None:
        """`until_end`: what lasts as long as the page."""
        self._quotas = quotas
        self._until_end = until_end

    def entries(self) -> list[WorldFileEntry]:
        from hudkit.rooms.page.served_worlds import WorldFileEntry

        return [
            WorldFileEntry(
                path.stem, round(1000 * changed_at(path)), sum(file.stat().st_size for file in files_of(path))
            )
            for path in known()
        ]

    def open(self, name: str) -> PageContext:
        from hudkit.rooms.page.page_context import PageContext

        world_log = open_world(picked(name))
        self._until_end.enter_context(world_telemetry(world_log))
        runner = open_player(picked(name), world_log, open_players(settings=model_settings()), quotas=self._quotas)
        return PageContext(world_log, player=runner, models=listed_models(), file_name=name)

    def fork(self, context: PageContext, name: str, seq: int) -> None:
        path = path_of(name)
        if not isinstance(path, Path) or path.parent != worlds_directory():
            raise ConfigError(f"{name!r} is not a name for a world", hint="Letters, digits, `-`, `_` and `.`")
        check_free(path)
        with removed_unless_finished(path):
            context.world_log.fork(path, seq, name=name).close()


def _say(
    world_log: WorldLog,
    player: WorldRunner | RecordingPlayer,
    address: str,
    link: str,
    token: str,
    file: Path,
    *,
    as_facts: bool,
) -> None:
    if as_facts:
        facts = {"world": world_log.world.name, "address": address, "link": link, "token_file": str(file)}
        print(as_json({"schema": SCHEMA, **facts}, lines=True), flush=True)
        return
    agents = plural(len(world_log.world.agents), "agent")
    print(visible(f"{world_log.world.name}: {agents}, {played_by(player, world_log)}"))
    if world_log.world.paused is not None:
        print(visible(f"paused ({world_log.world.paused}): the page, or --resume, lets it go on"))
    print(f"page:  {address}")
    print(f"token: {token}")
    print(f"open:  {link}  (logs in, once)")
    print("Ctrl-C ends it; everything that happened is saved.", flush=True)
