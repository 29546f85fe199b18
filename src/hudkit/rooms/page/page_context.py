"""What the page of a world stands on: the log, the Architect, who plays the world, and the world as it was."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import msgspec

from hudkit.errors import OperationError, StoreError
from hudkit.rooms.architect import Architect
from hudkit.rooms.hud import AgentHud, CachedRenderer, build_agent_hud
from hudkit.rooms.page.metrics import BeatMetrics
from hudkit.rooms.recording import RecordingPlayer
from hudkit.rooms.world import AgentState, World
from hudkit.rooms.world_events import HudFormat
from hudkit.rooms.world_log import WorldLog

_PAST_WORLDS = 4
"""Worlds of the past that are remembered: folding one takes as long as its log, and people step back and forth."""


class _WorldPlayer(Protocol):
    """Who plays the world in this process: `scheduler.WorldRunner` does."""

    def now(self) -> int:
        """Return the world's time (Unix ms)."""
        ...

    def due(self, agent: int) -> int | None:
        """Return when an agent's next beat is due (Unix ms); `None` while it has one, or waits for its model."""
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


class PastWorld(msgspec.Struct, frozen=True):
    """The world after an event, and how it had been going."""

    world: World
    metrics: BeatMetrics


class PageContext:
    """What all requests to a world's page share. Without a `player` the world is only looked at: it cannot be played,
    and its time is the log's. `models` are those that an agent may be given, each with what it costs, in words; any
    other may be written. `file_name` is the name of the world among the user's."""

    def __init__(
        self,
        world_log: WorldLog,
        *,
        player: _WorldPlayer | None = None,
        models: Sequence[tuple[str, str]] = (),
        file_name: str = "",
    ) -> None:
        self.world_log = world_log
        self.file_name = file_name
        self.player = player
        self.models = models
        self.architect = Architect(world_log, self.now)
        self.metrics = BeatMetrics(world_log)
        self.fault = ""
        """Why the world is not played any more, where nobody stopped it."""
        self._run: asyncio.Task[None] | None = None
        # A renderer remembers what it wrote of each room. Two of them: looking back must not make the next HUD of
        # the world that is played slow.
        self._renderer = CachedRenderer()
        self._past_renderer = CachedRenderer()
        self._past: OrderedDict[int, PastWorld] = OrderedDict()

    @property
    def playing(self) -> bool:
        """Whether somebody plays the world here; it may be paused."""
        return self._run is not None and not self._run.done()

    @property
    def recorded(self) -> RecordingPlayer | None:
        """Return who plays a recording here, as long as the world is only that."""
        player = self.player
        return player if isinstance(player, RecordingPlayer) and player.is_recorded else None

    def pause(self) -> None:
        """Let no beat begin: a recording stands, any other world is paused by the Architect."""
        if self.recorded is not None:
            self.recorded.hold(paused=True)
        else:
            self.architect.pause()

    def resume(self) -> None:
        """Take a pause back, and have the world played."""
        if self.recorded is not None:
            self.recorded.hold(paused=False)
        else:
            self.architect.resume()
        if self.player is not None:
            self.play()

    def set_speed(self, factor: float) -> None:
        """Let time run `factor` times as fast."""
        if self.recorded is not None:
            self.recorded.set_pace(factor)
        else:
            self.architect.set_speed(factor)

    @property
    def speed(self) -> float:
        """Return how many times as fast as the clock the world's time runs."""
        return self.recorded.pace if self.recorded is not None else self.world_log.world.speed

    def play(self) -> None:
        """Have the world played, in the event loop that runs. Raises `OperationError` where nobody can."""
        player = self._required_player()
        if not self.playing:
            self.fault = ""
            self._run = asyncio.get_running_loop().create_task(self._play(player))

    async def stop(self) -> None:
        """Have no beat begin any more; when this returns, none does. Raises `OperationError` where nobody plays."""
        player = self._required_player()
        if self._run is not None and not self._run.done():
            player.stop()
            await asyncio.wait({self._run})

    async def step(self, agent: int | None) -> None:
        """Let one beat take place. Raises `OperationError` where nobody plays."""
        await self._required_player().step(agent)

    def due(self, agent: AgentState) -> int:
        """Return when an agent's next beat is due (Unix ms)."""
        due = self.player.due(agent.id) if self.player is not None else None
        return agent.due if due is None else due

    def now(self) -> int:
        """Return the world's time (Unix ms): never before its last event."""
        clock = self.world_log.clock if self.player is None else self.player.now
        return max(clock(), self.world_log.world.now)

    def past(self, seq: int) -> PastWorld:
        """Return the world after event `seq`. Raises `ConfigError` where there is no such event."""
        past = self._past.pop(seq, None)
        if past is None:
            past = PastWorld(self.world_log.world_at(seq), BeatMetrics(self.world_log, seq))
        self._past[seq] = past
        if len(self._past) > _PAST_WORLDS:
            self._past.popitem(last=False)
        return past

    def agent_hud(self, world: World, agent: int, now: int, format: HudFormat | None = None) -> AgentHud:
        """Return what an agent sees in a world at `now`; in another notation than its own where `format` is given."""
        if format is not None:
            other = msgspec.structs.replace(world.agents[agent], input_format=format)
            world = msgspec.structs.replace(world, agents={**world.agents, agent: other})
        is_live = world.rooms is self.world_log.world.rooms
        return build_agent_hud(world, agent, now, self._renderer if is_live else self._past_renderer)

    async def _play(self, player: _WorldPlayer) -> None:
        try:
            await player.run()
        except StoreError as error:
            self.fault = str(error)

    def _required_player(self) -> _WorldPlayer:
        if self.player is None:
            raise OperationError("nobody plays this world here", hint="`hudkit rooms serve` does")
        return self.player
