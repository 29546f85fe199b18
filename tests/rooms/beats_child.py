"""Plays the world in a file until it is killed, and says which event is durable: `beats_child.py FILE`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from hudkit.rooms.players import DelayedPlayer, Improviser, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import WorldRunner
from hudkit.rooms.world_log import WorldLog


def talk(asked: Any) -> dict[str, Any]:
    actions = [{"type": "append", "path": "ai.goals", "value": asked.number}] if asked.number % 7 == 0 else []
    return {"responses": [{"room_id": 1, "message": f"beat {asked.number}"}], "actions": actions}


async def main(path: str) -> None:
    book = WorldLog.open(path)
    slow = DelayedPlayer(ScriptedPlayer(talk), lambda _: asyncio.sleep(0.003))
    runner = WorldRunner(book, PlayerRegistry({"improviser": Improviser(), "slow": slow}))
    going = asyncio.create_task(runner.run())
    while not going.done():
        print(book.world.seq, flush=True)
        await asyncio.sleep(0.002)
    going.result()


asyncio.run(main(sys.argv[1]))
