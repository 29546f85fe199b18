"""The port to a game master: a program that gives a world places, goods or rules of its own.

hudkit has no model of a world beside talk. A game master is the place for one: it is told after each beat, acts
through the Architect, and carries out the tools that the world's rules name (`[rules.tools]` of a founding file).
What it says and what its tools come to is in the world's log, so that worlds with a game master replay without it.
What it keeps in itself is its own affair; one that must survive a restart reads the log when it is attached.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.scheduler import WorldRunner
from hudkit.rooms.world import World


class GameMaster(Protocol):
    """What runs beside a world. Both methods are called in the runner's event loop, and should be quick."""

    def use_tool(self, world: World, agent: int, tool: str, arguments: Mapping[str, Any]) -> str:
        """Carry out a tool for an agent and return what it reads of it, 800 characters at most.

        The world is not to be changed here: a transaction is under way. Raises `OperationError` to refuse.
        """
        ...

    def after_beat(self, architect: Architect, agent: int) -> None:
        """Do what follows from an agent's beat, through the Architect; the beat is durable."""
        ...


def attach_game_master(runner: WorldRunner, master: GameMaster) -> None:
    """Let a game master take part in a world that a runner plays. Returns at once; it takes part from now on."""
    world_log = runner.world_log
    architect = Architect(world_log, runner.now)
    finished: list[int] = []

    def tell() -> None:
        while finished:
            master.after_beat(architect, finished.pop(0))

    def watch(event: e.WorldEvent | None) -> None:
        if event is None:  # the transaction came to nothing, and is tried again
            finished.clear()
        elif isinstance(event, e.BeatFinished):
            # Not now: a transaction is under way. The loop has its next turn when that is durable.
            if not finished:
                asyncio.get_running_loop().call_soon(tell)
            finished.append(event.agent)

    world_log.use_tool = master.use_tool
    world_log.watchers.append(watch)
