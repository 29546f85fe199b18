"""Plays the world in a file until it is killed, and says which event is durable: `beats_child.py FILE`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from hudkit.rooms.beats import Runner
from hudkit.rooms.book import Book
from hudkit.rooms.minds import Improviser, Minds, Scripted, Unhurried


def talk(asked: Any) -> dict[str, Any]:
    actions = [{"type": "append", "path": "ai.goals", "value": asked.number}] if asked.number % 7 == 0 else []
    return {"responses": [{"room_id": 1, "message": f"beat {asked.number}"}], "actions": actions}


async def main(path: str) -> None:
    book = Book.open(path)
    slow = Unhurried(Scripted(talk), lambda _: asyncio.sleep(0.003))
    runner = Runner(book, Minds({"improviser": Improviser(), "slow": slow}))
    going = asyncio.create_task(runner.run())
    while not going.done():
        print(book.world.seq, flush=True)
        await asyncio.sleep(0.002)
    going.result()


asyncio.run(main(sys.argv[1]))
