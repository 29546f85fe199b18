"""Names that look alike: who has one is looked up, in a world of any size, and whatever became of its agents."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hudkit.errors import OperationError
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.agent_names import NameIndex
from hudkit.rooms.architect import Architect
from hudkit.rooms.experiments.scale import neighbourhoods
from hudkit.rooms.world import AgentState, World
from hudkit.rooms.world_file import island_world, populate_world
from hudkit.rooms.world_log import WorldLog

ALIKE = ("Maria", "rnaria", "MARIA", "Ann", "\u0410nn", "Al", "AI", "Bo", "Bo 1", "B\u043e")
"""Names of which many look like another one."""


class CountedAgents(dict[int, AgentState]):
    """A world's agents, which count how often one is looked up or walked over."""

    visits = 0

    def __getitem__(self, id: int) -> AgentState:
        self.visits += 1
        return super().__getitem__(id)

    def __iter__(self) -> Iterator[int]:
        for id in super().__iter__():
            self.visits += 1
            yield id

    def keys(self) -> Any:
        return iter(self)

    def values(self) -> Any:
        return (super(CountedAgents, self).__getitem__(id) for id in self)

    def items(self) -> Any:
        return ((id, super(CountedAgents, self).__getitem__(id)) for id in self)


def visits_of_founding(agents: int) -> int:
    with WorldLog.in_memory(seed=1) as world_log:
        world_log.world.agents = counted = CountedAgents()
        populate_world(world_log, neighbourhoods(island_world(), agents))
        assert len(world_log.world.agents) == agents and world_log.world.agents is counted
        return counted.visits


def test_founding_an_agent_is_as_much_work_in_a_large_world_as_in_a_small_one() -> None:
    small, large = visits_of_founding(20), visits_of_founding(80)
    assert 0 < large <= 4 * small


def architect_with(*names: str) -> Architect:
    architect = Architect(WorldLog.in_memory(seed=1))
    for name in names:
        architect.make_agent("persona", name, "Here.", "scripted")
    return architect


def make(architect: Architect, name: str) -> int:
    return architect.make_agent("persona", name, "Here.", "scripted")


def test_a_name_is_taken_until_its_agent_has_another_one_or_is_retired() -> None:
    architect = architect_with("Maria", "Ann")
    with pytest.raises(OperationError, match="is agent 1's name, or looks like it"):
        make(architect, "rnaria")
    architect.alter(1, name="Eve")
    with pytest.raises(OperationError, match="agent 1's name"):
        make(architect, "EVE")
    assert make(architect, "rnaria") == 3
    architect.retire(2)
    assert make(architect, "\u0410nn") == 4


def test_a_name_that_came_to_nothing_is_free() -> None:
    architect = architect_with("Maria")
    world_log = architect.world_log
    with pytest.raises(KeyError), world_log.transaction(Origin.USER) as transaction:
        transaction.append(e.AgentCreated(2, "persona", "Ann", "Here.", "scripted"))
        transaction.append(e.AgentAltered(1, name="Eve"))
        transaction.append(e.RoomJoined(9, 9))  # of no such room
    assert make(architect, "Ann") == 2 and make(architect, "Eve") == 3
    with pytest.raises(OperationError, match="agent 1's name"):
        make(architect, "rnaria")


def test_a_name_that_another_process_gave_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    with WorldLog.create(path, name="two") as one, WorldLog.open(path) as other:
        make(Architect(one), "Maria")
        with pytest.raises(OperationError, match="agent 1's name"):
            make(Architect(other), "rnaria")
        make(Architect(other), "Ann")
        with pytest.raises(OperationError, match="agent 2's name"):
            make(Architect(one), "\u0410nn")


def names_by_walking(world: World) -> NameIndex:
    return NameIndex((agent.id, agent.name) for agent in world.agents.values() if not agent.retired)


@pytest.mark.parametrize("seed", range(20))
def test_who_has_a_name_is_what_walking_all_agents_says(seed: int) -> None:
    chance = random.Random(seed)
    with WorldLog.in_memory(seed=1) as world_log:
        world = world_log.world
        assert not world.living_names.numbers_like("Maria")
        for _ in range(60):
            with suppress(TakenBack), world_log.transaction(Origin.USER) as transaction:
                for _ in range(chance.randrange(1, 4)):
                    transaction.append(any_event(chance, world))
                if chance.random() < 0.2:
                    raise TakenBack
            expected = names_by_walking(world)
            assert all(world.living_names.numbers_like(name) == expected.numbers_like(name) for name in ALIKE)
        assert any(agent.retired for agent in world.agents.values())


class TakenBack(Exception):
    """Ends a transaction of which nothing is to happen."""


def any_event(chance: random.Random, world: World) -> e.WorldEvent:
    """An event of those that change who has which name, also one that no action would make."""
    kind, name = chance.random(), chance.choice(ALIKE)
    if kind < 0.5 or not world.agents:
        return e.AgentCreated(world.next_agent, "persona", name, "Here.", "scripted")
    id = chance.choice(list(world.agents))
    return e.AgentAltered(id, name=name) if kind < 0.8 else e.AgentRetired(id)
