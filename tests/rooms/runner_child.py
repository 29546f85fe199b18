"""Plays the world in a file until it is killed, and says which event is durable: `beats_child.py FILE`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from hudkit.rooms.players import DelayedPlayer, Improviser, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import WorldRunner
from hudkit.rooms.world_log import WorldLog


def talk(prompt: Any) -> dict[str, Any]:
    actions = [{"type": "append", "path": "ai.goals", "value": prompt.number}] if prompt.number % 7 == 0 else []
    return {"responses": [{"room_id": 1, "message": f"beat {prompt.number}"}], "actions": actions}


async def main(path: str) -> None:
    world_log = WorldLog.open(path)
    slow = DelayedPlayer(ScriptedPlayer(talk), lambda _: asyncio.sleep(0.003))
    runner = WorldRunner(world_log, PlayerRegistry({"improviser": Improviser(), "slow": slow}))
    going = asyncio.create_task(runner.run())
    while not going.done():
        print(world_log.world.seq, flush=True)
        await asyncio.sleep(0.002)
    going.result()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
