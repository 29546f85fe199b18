"""What the page stands on: the book, the Architect, the one who plays the world, and the world as it was."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Protocol

import msgspec

from hudkit.errors import OperationError, StoreError
from hudkit.rooms.architect import Architect
from hudkit.rooms.hud import AgentHud, CachedRenderer, build_agent_hud
from hudkit.rooms.page.pulse import Pulse
from hudkit.rooms.world import AgentState, World
from hudkit.rooms.world_events import HudFormat
from hudkit.rooms.world_log import WorldLog

_KEPT = 4  # worlds as they were


class Player(Protocol):
    """Who plays the world in this process: `beats.Runner` does."""

    def now(self) -> int:
        """The world's time (Unix ms)."""
        ...

    def due(self, agent: int) -> int | None:
        """When an agent's next beat is due (Unix ms); `None` while it has one, or waits for its model."""
        ...

    async def run(self) -> None:
        """Play until `stop`."""
        ...

    async def step(self, agent: int | None = None) -> object:
        """Let one beat take place: an agent's, or the next one due."""
        ...

    def stop(self) -> None:
        """Let no beat begin any more, and what is under way have no effects; `run` returns soon."""
        ...


class Past(msgspec.Struct, frozen=True):
    """The world after an event, and how it had been going."""

    world: World
    pulse: Pulse


class Desk:
    """Without a `player` the world is only looked at: it cannot be played, and its time is the book's. `models` are
    those that an agent may be given; any where there are none."""

    def __init__(self, world_log: WorldLog, *, player: Player | None = None, models: tuple[str, ...] = ()) -> None:
        self.world_log = world_log
        self.player = player
        self.models = models
        self.architect = Architect(world_log, self.now)
        self.pulse = Pulse(world_log)
        self.fault = ""
        """Why the world is not played any more, where it was not told to stop."""
        self._run: asyncio.Task[None] | None = None
        self._renderer = CachedRenderer()
        self._typeset_past = CachedRenderer()
        self._past: OrderedDict[int, Past] = OrderedDict()

    @property
    def playing(self) -> bool:
        """Whether somebody plays the world here; it may be paused."""
        return self._run is not None and not self._run.done()

    def play(self) -> None:
        """Have the world played, in the event loop that runs. Raises `OperationError` where nobody can."""
        player = self._player()
        if not self.playing:
            self.fault = ""
            self._run = asyncio.get_running_loop().create_task(self._play(player))

    async def stop(self) -> None:
        """Have no beat begin any more; when this returns, none does. Raises `OperationError` where nobody plays."""
        player = self._player()
        if self._run is not None and not self._run.done():
            player.stop()
            await asyncio.wait({self._run})

    async def step(self, agent: int | None) -> None:
        """Let one beat take place. Raises `OperationError` where nobody plays."""
        await self._player().step(agent)

    def due(self, agent: AgentState) -> int:
        """When an agent's next beat is due (Unix ms)."""
        due = self.player.due(agent.id) if self.player is not None else None
        return agent.due if due is None else due

    async def _play(self, player: Player) -> None:
        try:
            await player.run()
        except StoreError as error:
            self.fault = str(error)

    def _player(self) -> Player:
        if self.player is None:
            raise OperationError("nobody plays this world here", hint="`hudkit rooms serve` does")
        return self.player

    def now(self) -> int:
        """The world's time: never before its last event."""
        clock = self.world_log.clock if self.player is None else self.player.now
        return max(clock(), self.world_log.world.now)

    def past(self, seq: int) -> Past:
        """The world after event `seq`. Raises `ConfigError` where there is no such event."""
        found = self._past.pop(seq, None) or Past(self.world_log.world_at(seq), Pulse(self.world_log, seq))
        self._past[seq] = found
        if len(self._past) > _KEPT:
            self._past.popitem(last=False)
        return found

    def seen(self, world: World, agent: int, now: int, format: HudFormat | None = None) -> AgentHud:
        """What an agent sees in a world at `now`; in another notation than its own where one is given."""
        if format is not None:
            other = msgspec.structs.replace(world.agents[agent], input_format=format)
            world = msgspec.structs.replace(world, agents={**world.agents, agent: other})
        return build_agent_hud(
            world, agent, now, self._renderer if world.rooms is self.world_log.world.rooms else self._typeset_past
        )
