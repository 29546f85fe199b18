"""`hudkit rooms worker`: plays what of a world nobody else plays, until it is ended."""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import suppress

from hudkit.cli.common import SCHEMA, as_json, log_to_stderr
from hudkit.cli.rooms.run import model_quotas, model_settings
from hudkit.cli.rooms.worlds import open_world
from hudkit.compose import visible
from hudkit.paths import shown_place
from hudkit.rooms.cost_forecast import check_players
from hudkit.rooms.players import open_players
from hudkit.rooms.scheduler import freeze_survivors
from hudkit.rooms.workers import Worker


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    log_to_stderr()
    # Before any lease is taken: what cannot play a world should not keep others from it.
    with open_world(args.db, read_only=True) as world_log:
        check_players(world_log.world, open_players())
        name = world_log.world.name

    def say(words: str) -> None:
        if args.json:
            facts = {"world": name, "place": shown_place(args.db), "worker": words}
            print(as_json({"schema": SCHEMA, **facts}, lines=True), flush=True)
        else:
            print(visible(f"{name}: {words}"), flush=True)

    settings = model_settings()
    worker = Worker(args.db, lambda: open_players(settings=settings), quotas=model_quotas(args), say=say)
    with freeze_survivors():
        return asyncio.run(_work(worker, args.long))


async def _work(worker: Worker, seconds: float | None) -> int:
    loop = asyncio.get_running_loop()
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        worker.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # not the main thread
            loop.add_signal_handler(number, interrupt)
    if seconds is not None:
        loop.call_later(seconds, worker.stop)
    await worker.run()
    return 130 if interrupted else 0
