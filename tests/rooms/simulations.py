"""Worlds that are played on a simulated clock: a day of beats takes a moment."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.players import PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import ModelQuota, SimulatedClock, WorldRunner
from hudkit.rooms.world import WorldRules
from hudkit.rooms.world_log import WorldLog

START = 1_800_000_000_000
T = TypeVar("T")


class Simulation:
    """A world, a simulated clock, and a runner. `names` are agents; all but the first are in its room, too."""

    def __init__(
        self,
        players: PlayerRegistry | Any,
        *names: str,
        rules: WorldRules | None = None,
        path: Path | None = None,
        quotas: Mapping[str, ModelQuota] | None = None,
        model: str = "scripted",
        **more: Any,
    ) -> None:
        self.clock = SimulatedClock(START)
        numbers = itertools.count(1)
        self.world_log = WorldLog.create(
            path,
            name="played",
            seed=11,
            rules=rules,
            clock=self.clock.wall,
            ids=lambda: f"01a00000-0000-7000-8000-{next(numbers):012x}",
            secret=lambda: "5e" * 24,
        )
        self.players = players if isinstance(players, PlayerRegistry) else PlayerRegistry({model: players})
        self.model = model
        for name in names:
            self.make(name, **more)
        self.runner = self.run_anew(quotas)

    def run_anew(self, quotas: Mapping[str, ModelQuota] | None = None) -> WorldRunner:
        """Another runner over the same log, as after a restart."""
        self.runner = WorldRunner(self.world_log, self.players, clock=self.clock, quotas=quotas)
        self.architect = Architect(self.world_log, self.runner.now)
        return self.runner

    def make(self, name: str, *, rooms: tuple[int, ...] | None = None, **more: Any) -> int:
        architect = Architect(self.world_log, self.world_log.clock)
        given = {"background": "You are here.", "model": self.model, **more}
        rooms = ((1,) if self.world_log.world.agents else ()) if rooms is None else rooms
        return architect.make_agent("persona", name, rooms=rooms, **given)

    def run(self, beats: int) -> None:
        asyncio.run(self.runner.run(beats=beats))

    def events_of(self, kind: type[T], after: int = 0) -> list[T]:
        """Everything of a kind that happened."""
        return [what for _, what in self.world_log.events(after) if isinstance(what, kind)]

    def beats(self, agent: int) -> list[e.BeatBegun]:
        return [beat for beat in self.events_of(e.BeatBegun) if beat.agent == agent]


def talk(prompt: Any) -> dict[str, Any]:
    """Says something new in room 1 in every beat."""
    return {"responses": [{"room_id": 1, "message": f"{prompt.number} agent{prompt.agent} says word{prompt.number}"}]}


def talking(*names: str, **given: Any) -> Simulation:
    return Simulation(ScriptedPlayer(talk), *names, **given)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)
