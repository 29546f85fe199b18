"""Names that are refused today are in worlds of before: those open, replay and go on; only a new name is judged."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from simulations import START, talk

from hudkit.errors import OperationError
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.hud import CachedRenderer, as_markdown, build_agent_hud
from hudkit.rooms.players import PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_log import WorldLog
from hudkit.rooms.world_replay import replay_log

NAMES = (
    "Ann",
    "\u0410nn",
    "System",
    "[system]",
    "Architect (0)",
    "a\u02f8b",
    "@all",
    "\u2800",
    "# Task",
    "8",
    "x" * 500,
)
"""The first one is fine; the others are another's in Cyrillic, words and signs with a meaning, hidden, too long."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A world of before: what made its agents asked for no more than a name."""
    path = tmp_path / "data" / "old.db"
    with (
        WorldLog.create(path, name="old", clock=lambda: START) as world_log,
        world_log.transaction(Origin.USER, timestamp=START) as transaction,
    ):
        for id, name in enumerate(NAMES, 1):
            transaction.append(e.AgentCreated(id=id, kind="persona", name=name, background="Here.", model="scripted"))
            transaction.append(e.RoomJoined(room=id, agent=id))
            if id > 1:
                transaction.append(e.RoomJoined(room=1, agent=id))
            transaction.append(
                e.MessagePosted(id=id, room=1, sender=id, content=f"I am {name}", words=3), timestamp=START + id
            )
    return path


def names(world_log: WorldLog) -> list[str]:
    return [agent.name for agent in world_log.world.agents.values()]


@pytest.mark.slow
def test_it_opens_replays_and_is_played_on(path: Path) -> None:
    with WorldLog.open(path) as world_log:
        assert names(world_log) == list(NAMES) and len(world_log.world.messages) == len(NAMES)
        clock = SimulatedClock(START + 1_000_000)
        runner = WorldRunner(world_log, PlayerRegistry({"scripted": ScriptedPlayer(talk)}), clock=clock)
        asyncio.run(runner.run(beats=len(NAMES)))
    with WorldLog.open(path, read_only=True) as world_log:
        report = replay_log(world_log)
        assert report.state and report.differ == () and report.beats >= len(NAMES) and report.gone == 0
        assert names(world_log) == list(NAMES) and world_log.damaged == []


@pytest.mark.slow
def test_no_name_changes_what_an_agents_hud_is_made_of(path: Path) -> None:
    """A name is text of one field in it, whatever it holds."""
    with WorldLog.open(path) as world_log:
        headings = {
            id: [line.split(" ")[0] for line in markdown(world_log, id).splitlines() if line.startswith("#")]
            for id in world_log.world.agents
        }
        others = [headings[id] for id in range(2, len(NAMES) + 1)]
        assert len(headings[1]) >= 5 and all(other == others[0] for other in others)
        assert len(headings[1]) == len(others[0]) - 1, "all are in the first one's room, and in their own"


def markdown(world_log: WorldLog, agent: int) -> str:
    return as_markdown(build_agent_hud(world_log.world, agent, START + 1_000, CachedRenderer()))


@pytest.mark.slow
def test_what_is_not_renamed_is_not_judged(path: Path) -> None:
    with WorldLog.open(path) as world_log:
        architect = Architect(world_log, lambda: START + 1_000_000)
        for id, name in enumerate(NAMES, 1):
            architect.alter(id, background=f"New for {id}.")
            if 0 < len(name) <= world_log.world.rules.caps.name:
                architect.alter(id, name=name, background="A form sends all of its fields.")
        assert names(world_log) == list(NAMES)
        with pytest.raises(OperationError, match="cannot be a name"):
            architect.alter(1, name="System")
        with pytest.raises(OperationError, match="looks like it"):
            architect.make_agent("persona", "\u0410nn", "Here.", "scripted")
        architect.alter(3, name="Bob")
        assert names(world_log)[2] == "Bob"


def test_a_fork_of_it_has_the_same_names(path: Path, tmp_path: Path) -> None:
    with WorldLog.open(path) as world_log, world_log.fork(tmp_path / "data" / "fork.db") as fork:
        assert names(fork) == list(NAMES)
