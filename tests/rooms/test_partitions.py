"""A world in partitions: what concerns another partition reaches it once, and the whole reads like one world."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hudkit.errors import ConfigError, SequenceConflict
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.partitions.split_world import assign_homes
from hudkit.rooms.players import Improviser, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_log import WorldLog, played_sessions
from hudkit.rooms.world_replay import replay_log

NOON = 1_800_000_000_000


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "world.db"


def found(place: Path, agents: int = 6, partitions: int = 2, halls: tuple[int, ...] = (1,)) -> WorldLog:
    """Agents who are all in these halls; the first half lives in partition 1."""
    with WorldLog.in_memory(name="town", seed=3, clock=lambda: NOON) as trial:
        architect = Architect(trial)
        for number in range(1, agents + 1):
            rooms = tuple(hall for hall in halls if hall < number)
            architect.make_agent("persona", f"A{number}", "You keep bees.", "improviser", rooms=rooms)
        return trial.found_elsewhere(place, partitions)


@pytest.fixture
def parts(place: Path) -> Iterator[Callable[[], list[WorldLog]]]:
    """The logs of the partitions, as a process has them that opens them now."""
    opened: list[WorldLog] = []

    def open_parts() -> list[WorldLog]:
        new = [WorldLog.open_session(place, session, clock=lambda: NOON) for session in played_sessions(place)]
        opened.extend(new)
        return new

    yield open_parts
    for part in opened:
        part.close()


def say(part: WorldLog, agent: int, room: int, text: str, reply_to: int = 0) -> int:
    with part.transaction(Origin.AGENT) as transaction:
        number = part.world.next_message
        transaction.append(e.MessagePosted(number, room, agent, text, reply_to=reply_to))
    return number


def hall(part: WorldLog, room: int = 1) -> list[tuple[int, str]]:
    messages = [part.world.messages[id] for id in part.world.rooms[room].messages]
    return [(message.sender, message.content) for message in messages if message.sender >= 0]


def receive_all(parts: list[WorldLog]) -> None:
    while any(part.receive(NOON) for part in parts):
        pass


@pytest.mark.slow
def test_every_agent_has_its_beats_in_one_partition_and_sees_who_is_in_its_rooms(
    place: Path, parts: Callable[[], list[WorldLog]]
) -> None:
    with found(place) as whole:
        assert [agent.home for agent in whole.world.agents.values()] == [1, 1, 1, 2, 2, 2]
        assert (whole.world.partitions, len(whole.world.messages)) == (2, 5)
    assert played_sessions(place) == ("world.1", "world.2")
    for number, part in enumerate(parts(), 1):
        own = [agent.id for agent in part.world.agents.values() if not agent.home]
        assert own == [[1, 2, 3], [4, 5, 6]][number - 1] and len(part.world.agents) == 6
        assert part.world.rooms[1].members == [1, 2, 3, 4, 5, 6]
        assert len(part.world.messages) == 5, "who came in was told"
        assert replay_log(part).sound


@pytest.mark.slow
def test_what_is_said_is_heard_once_in_each_partition_that_has_somebody_there(
    place: Path, parts: Callable[[], list[WorldLog]]
) -> None:
    found(place).close()
    first, second = parts()
    (_, twin) = parts()
    say(first, 2, 1, "from the first")
    say(first, 2, 2, "to myself")
    say(second, 5, 1, "from the second")
    assert hall(second) == [(5, "from the second")], "not yet"
    assert (first.receive(NOON), second.receive(NOON), first.receive(NOON)) == (1, 1, 0)
    assert hall(first) == [(2, "from the first"), (5, "from the second")]
    assert hall(second) == [(5, "from the second"), (2, "from the first")], "each in the order in which it heard"
    assert 2 not in second.world.rooms or not hall(second, 2), "what nobody of theirs hears stays at home"
    # Another process that plays the same partition, and has not seen that it was taken up, takes up nothing.
    assert twin.receive(NOON) == 0 and hall(twin) == hall(second)
    with WorldLog.open(place) as whole:
        assert sorted(hall(whole)) == [(2, "from the first"), (5, "from the second")]
        assert list(whole.log.verify()) == []


@pytest.mark.slow
def test_two_processes_that_take_up_the_same_do_so_once(place: Path, parts: Callable[[], list[WorldLog]]) -> None:
    found(place).close()
    first, second = parts()
    _, twin = parts()
    say(first, 1, 1, "once")
    refresh = twin.refresh
    twin.refresh = lambda: False  # type: ignore[method-assign]  # it looks before the other has written
    assert second.receive(NOON) == 1
    with pytest.raises(SequenceConflict):
        twin.receive(NOON)
    twin.refresh = refresh  # type: ignore[method-assign]
    assert twin.receive(NOON) == 0 and hall(twin) == [(1, "once")]


def test_nothing_is_sent_of_what_was_not_appended(place: Path, parts: Callable[[], list[WorldLog]]) -> None:
    found(place).close()
    first, second = parts()

    def fail() -> None:
        with first.transaction(Origin.AGENT) as transaction:
            transaction.append(e.MessagePosted(first.world.next_message, 1, 2, "never"))
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert second.receive(NOON) == 0 and hall(first) == hall(second) == []


@pytest.mark.slow
def test_replies_and_reactions_name_the_same_message_in_every_partition(
    place: Path, parts: Callable[[], list[WorldLog]]
) -> None:
    found(place, 6, 3).close()
    first, second, third = parts()
    for _ in range(3):
        say(third, 5, 1, "so that numbers differ")
    asked = say(first, 1, 1, "who has seen the lamp?")
    second.receive(NOON)
    heard = next(message for message in second.world.messages.values() if message.content.startswith("who"))
    assert heard.id != asked or third.world.next_message != second.world.next_message
    answer = say(second, 3, 1, "I have", reply_to=heard.id)
    with second.transaction(Origin.AGENT) as transaction:
        transaction.append(e.ReactionAdded(heard.id, 3, "heart"))
    receive_all([third, second, first])
    for part in (first, second, third):
        by_text = {message.content: message for message in part.world.messages.values()}
        assert by_text["I have"].reply_to == by_text["who has seen the lamp?"].id
        assert by_text["who has seen the lamp?"].reactions == {"heart": [3]}
    assert first.world.messages[asked].reactions and second.world.messages[answer].reply_to == heard.id
    with WorldLog.open(place) as whole:
        by_text = {message.content: message for message in whole.world.messages.values()}
        assert by_text["I have"].reply_to == by_text["who has seen the lamp?"].id
        assert by_text["who has seen the lamp?"].reactions == {"heart": [3]}


def test_who_wakes_another_wakes_it_at_home(place: Path, parts: Callable[[], list[WorldLog]]) -> None:
    found(place).close()
    first, second = parts()
    with first.transaction(Origin.AGENT) as transaction:
        transaction.append(e.AgentWoken(5, 1, "mention", NOON + 1))
    assert not second.world.agents[5].woken
    second.receive(NOON)
    assert second.world.agents[5].woken and second.world.agents[5].due <= NOON + 1


@pytest.mark.slow
def test_an_agent_that_is_made_is_known_where_its_rooms_are_and_has_a_number_of_its_own(
    place: Path, parts: Callable[[], list[WorldLog]]
) -> None:
    with found(place, 7, 3) as whole:
        made = {Architect(whole).make_agent("bot", f"B{n}", "You count.", "improviser", rooms=(1,)) for n in range(3)}
        homes = sorted(whole.world.agents[id].home for id in made)
        assert len(made) == 3 and homes != [1, 1, 1]
    everybody = parts()
    numbers = set(made)
    for part in everybody:
        with part.transaction(Origin.AGENT) as transaction:
            context_id = part.world.next_agent
            step = part.world.partitions + 1
            id = context_id + (part.world.partition - context_id) % step
            transaction.append(e.AgentCreated(id, "persona", f"C{id}", "You are new.", "improviser", by=1))
            transaction.append(e.RoomJoined(id, id))
            transaction.append(e.RoomJoined(1, id))
        assert id not in numbers
        numbers.add(id)
    receive_all(everybody)
    for part in everybody:
        assert set(part.world.rooms[1].members) == {*range(1, 8), *numbers}
        assert {id for id, agent in part.world.agents.items()} >= numbers
    with WorldLog.open(place) as whole:
        assert {agent.home for id, agent in whole.world.agents.items() if id in numbers} <= {1, 2, 3}
        assert set(whole.world.rooms[1].members) == {*range(1, 8), *numbers}


@pytest.mark.slow
def test_who_is_let_into_a_room_of_another_partition_hears_and_is_heard_from_then_on(
    place: Path, parts: Callable[[], list[WorldLog]]
) -> None:
    found(place, 4, 2, halls=()).close()
    first, second = parts()
    say(first, 1, 1, "before")
    assert 1 not in second.world.rooms
    with WorldLog.open(place) as whole:
        Architect(whole).set_billboard(1, "Knock.")
        Architect(whole).admit(4, 1)
    receive_all([first, second])
    say(first, 1, 1, "welcome")
    say(second, 4, 1, "thank you")
    receive_all([first, second])
    assert hall(second)[-2:] == [(4, "thank you"), (1, "welcome")] and (1, "before") not in hall(second)
    assert {(4, "thank you"), (1, "welcome"), (1, "before")} <= set(hall(first))
    assert second.world.rooms[1].billboard == "Knock." and second.world.agents[1].name == "A1"
    with second.transaction(Origin.AGENT) as transaction:
        transaction.append(e.RoomLeft(1, 4))
    receive_all([first, second])
    say(first, 1, 1, "gone?")
    assert second.receive(NOON) == 0 and 4 not in first.world.rooms[1].members


@pytest.mark.slow
def test_the_architect_takes_part_in_the_whole(place: Path, parts: Callable[[], list[WorldLog]]) -> None:
    found(place).close()
    first, second = parts()
    said = say(second, 5, 1, "who is there?")
    with WorldLog.open(place) as whole:
        architect = Architect(whole)
        message = next(message for message in whole.world.messages.values() if message.content == "who is there?")
        architect.react(message.id, "brain")
        answer = architect.say(1, "I am, A5.", reply_to=message.id)
        architect.teach(6, "goals", "to listen")
        architect.alter(2, name="Ada")
        architect.retire(3)
        architect.pause()
        assert whole.world.messages[answer].reply_to == message.id
        receive_all([first, second])
        # Read by another process, it is the same.
        with WorldLog.open(place) as again:
            assert again.world == whole.world
    for part in (first, second):
        by_text = {message.content: message for message in part.world.messages.values()}
        assert by_text["I am, A5."].reply_to == by_text["who is there?"].id
        assert by_text["who is there?"].reactions == {"brain": [0]}
        assert part.world.paused == "the Architect" and part.world.agents[2].name == "Ada"
        assert 3 not in part.world.rooms[1].members and 0 in part.world.rooms[1].members
    assert first.world.agents[3].retired
    assert second.world.messages[said].reactions == {"brain": [0]}
    assert second.world.agents[6].knowledge == {"goals": "to listen"} and not first.world.agents[6].knowledge
    assert second.world.agents[5].addressed


@pytest.mark.slow
def test_a_played_world_is_the_sum_of_its_partitions_and_each_replays(
    place: Path, parts: Callable[[], list[WorldLog]]
) -> None:
    found(place, 9, 3, halls=(1, 4)).close()
    everybody = parts()
    registry = PlayerRegistry({"improviser": Improviser()})
    for _ in range(6):
        for part in everybody:
            asyncio.run(WorldRunner(part, registry, clock=SimulatedClock(part.world.now)).run(beats=9))
    receive_all(everybody)
    with WorldLog.open(place) as whole:
        assert whole.world.beats == sum(part.world.beats for part in everybody) == 6 * 9 * 3
        assert list(whole.log.verify()) == []
        for part in everybody:
            assert replay_log(part).sound
            for agent in part.world.agents.values():
                same = whole.world.agents[agent.id]
                if not agent.home:
                    assert (same.beats, same.knowledge) == (agent.beats, agent.knowledge)
                    assert [one.action for one in same.recent] == [one.action for one in agent.recent]
            own = {id for id, agent in part.world.agents.items() if not agent.home}
            for room in (1, 4):
                if not own & set(part.world.rooms[room].members):
                    assert hall(part, room) == []
                    continue
                assert sorted(hall(part, room)) == sorted(hall(whole, room))
        fork = whole.fork(place.with_name("fork.db"))
        assert fork.world.partitions == 0 and len(fork.world.messages) == len(whole.world.messages)
        asyncio.run(WorldRunner(fork, registry, clock=SimulatedClock(fork.world.now)).run(beats=9))
        assert not any(agent.home for agent in fork.world.agents.values()) and replay_log(fork).state
        fork.close()


@pytest.mark.slow
def test_a_cap_of_cost_holds_for_all_partitions_together(place: Path, parts: Callable[[], list[WorldLog]]) -> None:
    found(place).close()
    first, second = parts()
    with first.transaction(Origin.SYSTEM) as transaction:
        transaction.append(e.ReplyReceived(1, 1, cost=2.6))
    registry = PlayerRegistry({"improviser": ScriptedPlayer({})})
    asyncio.run(_some(WorldRunner(first, registry, clock=SimulatedClock(NOON))))
    second.receive(NOON)
    assert first.world.paused and first.world.paused.startswith("cost: $2.60 of $2.50")
    assert second.world.paused == first.world.paused, "who is over its part stops all"


async def _some(runner: WorldRunner) -> None:
    task = asyncio.create_task(runner.run())
    while runner.world_log.world.paused is None:
        await asyncio.sleep(0)
    runner.stop()
    await task


def test_those_who_share_rooms_live_together_where_they_can() -> None:
    with WorldLog.in_memory(name="town") as world_log:
        architect = Architect(world_log)
        for number in range(1, 31):
            first = number - (number - 1) % 5
            rooms = (first,) if number != first else ()
            architect.make_agent("persona", f"A{number}", "b", "improviser", rooms=rooms)
        homes = assign_homes(world_log.world, 2)
        assert [homes[id] for id in range(1, 31)] == [1] * 15 + [2] * 15
        homes = assign_homes(world_log.world, 4)
        assert sorted(set(homes.values())) == [1, 2, 3, 4]
        # Seven or eight each, of groups of five: whoever would be cut at its end only stays whole.
        sizes = [sum(home == number for home in homes.values()) for number in range(1, 5)]
        assert max(sizes) <= 9 and min(sizes) >= 6
        with pytest.raises(ConfigError):
            world_log.found_elsewhere(None, 31)
