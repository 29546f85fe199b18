"""A small world to play with: agents in rooms, a clock that is set by hand, and one line to carry a reply out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.actions import execute_reply
from hudkit.rooms.architect import Architect
from hudkit.rooms.reply_parser import ParsedReply
from hudkit.rooms.scheduler.outbox import Outbox
from hudkit.rooms.world import AgentState, RoomState, World
from hudkit.rooms.world_log import WorldLog

START = 1_800_000_000_000


class WorldHarness:
    """A world in memory with an Architect and a clock; `minute` is a minute in its time."""

    minute = 60_000

    def __init__(self, **given: Any) -> None:
        self.now = START
        numbers = itertools.count(1)
        bits = itertools.count(1)
        self.world_log = WorldLog.in_memory(
            **{
                "name": "test",
                "seed": 7,
                "clock": lambda: self.now,
                "ids": lambda: f"01a00000-0000-7000-8000-{next(numbers):012x}",
                "secret": lambda: f"{next(bits):048x}",
                **given,
            }
        )
        self.architect = Architect(self.world_log)

    @property
    def world(self) -> World:
        return self.world_log.world

    def agent(self, id: int) -> AgentState:
        return self.world.agents[id]

    def room(self, id: int) -> RoomState:
        return self.world.rooms[id]

    def make(
        self, name: str = "", *, kind: e.AgentKind = "persona", rooms: tuple[int, ...] = (), **given: Any
    ) -> int:
        """An agent by the Architect; its number."""
        return self.architect.make_agent(kind, name, "You are here.", "scripted", rooms=rooms, **given)

    def wait(self, seconds: float) -> None:
        self.now += round(seconds * 1000)

    def do(self, agent: int, *actions: dict[str, Any], say: dict[int, str] | None = None) -> list[e.WorldEvent]:
        """Carry out a reply with these actions and responses by room; what was told."""
        responses = tuple({"room_id": room, "message": text} for room, text in (say or {}).items())
        return self.carry(agent, ParsedReply(responses, actions))

    def carry(self, agent: int, reply: ParsedReply) -> list[e.WorldEvent]:
        before = self.world.seq
        with self.world_log.transaction(Origin.AGENT) as transaction:
            execute_reply(transaction, self.world, agent, 1, reply, self.now)
        return [what for _, what in self.world_log.events(before)]

    def refused(self, agent: int, *actions: dict[str, Any], say: dict[int, str] | None = None) -> str:
        """The reason why the one action is refused, of which nothing else may be told but failed keys."""
        told = self.do(agent, *actions, say=say)
        kinds = {type(what) for what in told} - {e.AccessFailed}
        assert kinds == {e.ActionRefused}, told
        return next(what.why for what in told if isinstance(what, e.ActionRefused))

    def delayed(self, agent: int, *actions: dict[str, Any], say: dict[int, str] | None = None) -> e.MessageDelayed:
        """The one message that waits after this, of which nothing else may be told."""
        (event,) = self.do(agent, *actions, say=say)
        assert isinstance(event, e.MessageDelayed)
        return event

    def send(self) -> int:
        """Post what waits and is due; how many messages that were."""
        with self.world_log.transaction(Origin.SYSTEM) as transaction:
            return Outbox(self.world_log).post_due(transaction, self.now)

    def texts(self, room: int) -> list[tuple[int, str]]:
        """Who said what in a room."""
        said = (self.world.messages[id] for id in self.room(room).messages)
        return [(message.sender, message.content) for message in said]


@pytest.fixture
def make_harness() -> Iterator[Callable[..., WorldHarness]]:
    """Worlds, as many as a test needs."""
    made: list[WorldHarness] = []

    def make(**given: Any) -> WorldHarness:
        made.append(WorldHarness(**given))
        return made[-1]

    yield make
    for one in made:
        one.world_log.close()


@pytest.fixture
def harness(make_harness: Callable[..., WorldHarness]) -> WorldHarness:
    """Ann (1), Bob (2) and Cid (3); Bob and Cid are in Ann's room, too, where nothing was said but that they came."""
    made = make_harness()
    made.make("Ann")
    made.make("Bob", rooms=(1,))
    made.make("Cid", rooms=(1,))
    return made
