"""What exceeds a pace waits, is shown to its author, can be taken back, and is sent; and no beat is paid for that can
come to nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from simulations import Simulation

from hudkit.compose import shorten
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.players import ScriptedPlayer
from hudkit.rooms.scheduler import heartbeat
from hudkit.rooms.scheduler.outbox import Outbox
from hudkit.rooms.world import IntervalRules, WorldRules
from hudkit.rooms.world_log import WorldLog
from hudkit.rooms.world_replay import replay_log

RENDERER = CachedRenderer()
TEXT = (
    "the frost will come tonight and we should cover what grows outside of the old house she said by noon it may "
    "rain again could you ask where the seeds are most of them were sown in march near the wall behind the boat shed"
)
Speech = Callable[[random.Random, int], int]


def words(number: int) -> str:
    return " ".join(["word"] * number)


def ignores(chance: random.Random, budget: int) -> int:
    return chance.randint(25, 60)


def obeys(chance: random.Random, budget: int) -> int:
    return budget


def hall(speech: Speech, **rules: Any) -> Simulation:
    """Twelve agents in one hall, the first one's, who speak in every beat in which they may."""
    chance = random.Random(3)

    def say(prompt: Any) -> dict[str, Any]:
        budget = next(room["word_budget"] for room in prompt.hud.document["rooms"] if room["id"] == 1)
        number = speech(chance, budget)
        return {
            "responses": [{"room_id": 1, "message": " ".join(chance.choices(TEXT.split(), k=number))}]
            if number
            else []
        }

    names = ("Hana", "Ivo", "Juno", "Kato", "Lara", "Milo", "Nora", "Otto", "Pia", "Quin", "Rosa", "Sven")
    return Simulation(ScriptedPlayer(say), *names, rules=WorldRules(**rules))


def effects(sim: Simulation) -> dict[str, Any]:
    """How many beats were paid for, how many had an effect, and what a message cost."""
    begun: dict[tuple[int, int], int] = {}
    done: set[tuple[int, int]] = set()
    current: dict[int, int] = {}
    waiting: dict[int, tuple[int, int]] = {}
    messages = 0
    for _, event in sim.world_log.events():
        match event:
            case e.BeatBegun(agent=agent, number=number, tokens=tokens):
                begun[agent, number], current[agent] = tokens, number
            case e.MessageDelayed(id=id, sender=sender, number=number):
                waiting[id] = (sender, number)
            case e.MessagePosted(sender=sender, pending=pending) if sender > 0:
                messages += 1
                done.add(waiting[pending] if pending else (sender, current[sender]))
            case e.ActionApplied(agent=agent, number=number):
                done.add((agent, number))
    return {
        "beats": len(begun),
        "without": 1 - len(done) / len(begun),
        "tokens": sum(begun.values()) / messages,
        "messages": messages,
    }


@pytest.mark.slow
@pytest.mark.parametrize("speech", [ignores, obeys])
def test_hardly_a_beat_is_paid_for_without_effect(speech: Speech) -> None:
    sim = hall(speech)
    sim.run(400)
    sim.clock.advance(120)
    sim.run(1)  # what was waiting is sent
    told = effects(sim)
    print(speech.__name__, told)
    assert told["without"] <= 0.05
    assert told["tokens"] <= 10_000


def rooms_of(sim_or_harness: Any, agent: int) -> dict[int, Mapping[str, Any]]:
    world, now = sim_or_harness.world, sim_or_harness.now
    return {room["id"]: room for room in build_agent_hud(world, agent, now, RENDERER).document["rooms"]}


def test_its_author_sees_what_waits_and_nobody_else(harness: Any) -> None:
    harness.do(2, say={1: "Hello"})
    harness.delayed(2, say={1: words(60)})
    shown = {"id": 1, "message": shorten(words(60), 200), "sent_in": "45 seconds"}
    assert rooms_of(harness, 2)[1]["pending_messages"] == [shown]
    assert rooms_of(harness, 2)[1]["word_budget"] == 0
    assert "pending_messages" not in rooms_of(harness, 2)[2]
    assert all("pending_messages" not in room for room in rooms_of(harness, 1).values())
    harness.wait(45)
    assert harness.send() == 1
    assert "pending_messages" not in rooms_of(harness, 2)[1]


def test_its_author_takes_it_back_and_nobody_else_can(harness: Any) -> None:
    harness.do(2, say={1: "Hello"})
    waiting = harness.delayed(2, say={1: words(60)})
    withdraw = {"type": "withdraw", "pending_id": waiting.id}
    assert "you have no message 1 that waits. None of yours waits" in harness.refused(3, withdraw)
    assert "Those that wait: 1" in harness.refused(2, {**withdraw, "pending_id": 7})
    assert [type(event) for event in harness.do(2, withdraw)] == [e.ActionApplied, e.MessageWithdrawn]
    harness.wait(600)
    assert harness.send() == 0
    assert harness.texts(1)[-1] == (2, "Hello")


def test_messages_that_wait_are_sent_one_after_the_other_each_at_its_pace(harness: Any) -> None:
    harness.do(2, say={1: "Hello"})
    first, second = harness.delayed(2, say={1: words(20)}), harness.delayed(2, say={1: words(40)})
    assert (first.due - harness.now, second.due - first.due) == (15_000, 30_000)
    harness.wait(600)
    assert harness.send() == 2
    assert [len(text.split()) for _, text in harness.texts(1)[-2:]] == [20, 40]


def test_five_may_wait_in_one_room(harness: Any) -> None:
    harness.do(2, say={1: "Hello"})
    for _ in range(5):
        harness.delayed(2, say={1: words(20)})
    why = harness.refused(2, say={1: words(20)})
    assert why == "5 messages of yours wait in room 1. Withdraw one, or let them go first"
    harness.do(2, say={2: words(20)})
    assert harness.texts(2)[-1] == (2, words(20)), "in another room it may speak"


def test_whom_it_names_wakes_up_when_it_is_sent_and_not_before(harness: Any) -> None:
    harness.do(2, say={1: "Hello"})
    harness.do(3, {"type": "sleep", "until": "2090-01-01T00:00:00"})
    harness.delayed(2, say={1: f"@Cid {words(40)}"})
    assert not harness.agent(3).woken
    harness.wait(60)
    harness.send()
    assert harness.agent(3).woken


@pytest.mark.parametrize("gone", ["left", "removed", "closed", "retired"])
def test_what_cannot_be_said_any_more_is_withdrawn(harness: Any, gone: str) -> None:
    harness.do(2, say={1: "Hello"})
    harness.delayed(2, say={1: words(60)})
    if gone == "left":
        harness.do(2, {"type": "leave_room", "room_id": 1})
    elif gone == "removed":
        harness.architect.remove(2, 1)
    else:
        harness.architect.retire(1 if gone == "closed" else 2)
    harness.wait(60)
    seq = harness.world.seq
    harness.send()
    (event,) = [event for _, event in harness.world_log.events(seq)]
    assert isinstance(event, e.MessageWithdrawn) and event.why
    assert not harness.world.pending and not harness.agent(2).pending


def beat(harness: Any, agent: int) -> None:
    """A beat that says nothing."""
    number = harness.agent(agent).beats + 1
    with harness.world_log.transaction(Origin.SYSTEM) as transaction:
        transaction.append(e.BeatBegun(agent, number, harness.now, harness.now, "", 0, "json", "m"))
        transaction.append(e.BeatFinished(agent, number, harness.now + 5_000))


def news(harness: Any, agent: int) -> bool:
    return heartbeat.has_news(harness.world, harness.agent(agent), harness.now)


def test_what_is_said_where_an_agent_may_say_nothing_now_waits_for_its_turn(harness: Any) -> None:
    for agent in (1, 2, 3):
        beat(harness, agent)
    assert not news(harness, 2)
    harness.do(3, say={1: "Who has the key?"})
    assert news(harness, 1) and news(harness, 2) and not news(harness, 3), "not its own words"
    harness.do(2, say={1: "Hello"})
    assert news(harness, 2), "and its own last one does not hide what came before it"
    beat(harness, 2)
    harness.delayed(2, say={1: words(60)})
    harness.do(3, say={1: "Well?"})
    assert news(harness, 1) and not news(harness, 2)
    harness.wait(400)
    assert not news(harness, 2), "nor is it asked for something of its own"
    harness.send()
    assert news(harness, 2)


def test_what_is_said_in_another_room_is_news_while_a_message_waits(harness: Any) -> None:
    for agent in (1, 2, 3):
        beat(harness, agent)
    harness.do(2, say={1: "Hello"})
    harness.delayed(2, say={1: words(60)})
    assert not news(harness, 2)
    harness.architect.say(2, "Bob?")
    assert news(harness, 2)


def test_who_is_named_is_asked_although_one_message_waits_and_not_while_two_do(harness: Any) -> None:
    for agent in (1, 2, 3):
        beat(harness, agent)
    harness.do(2, say={1: "Hello"})
    harness.delayed(2, say={1: words(60)})
    harness.do(3, say={1: "@Bob, wait!"})
    assert news(harness, 2), "it may take it back"
    second = harness.delayed(2, say={1: words(60)})
    assert not news(harness, 2)
    assert heartbeat.due_after_skip(harness.world, harness.agent(2), harness.now) == harness.now + 45_000
    harness.now = second.due
    harness.send()
    assert news(harness, 2)


def test_a_refusal_alone_is_worth_no_beat(harness: Any) -> None:
    beat(harness, 2)
    beat(harness, 2)
    harness.refused(2, {"type": "react", "message_id": 999, "reaction": "heart"})
    assert not news(harness, 2)
    harness.do(3, say={1: "Hello"})
    assert news(harness, 2)
    recent = build_agent_hud(harness.world, 2, harness.now, RENDERER).document["self"]["recent_actions"]
    assert "you see no message 999" in recent[-1]["refused"], "and then it reads it"


def chatter(prompt: Any) -> dict[str, Any]:
    """Bob says more than his pace allows, Ann one word."""
    return {"responses": [{"room_id": 1, "message": f"{prompt.number} {words(30) if prompt.agent == 2 else ''}"}]}


def first_waiting(sim: Simulation) -> Any:
    """Play until something waits; that."""
    while not sim.world_log.world.pending:
        sim.run(1)
    return next(iter(sim.world_log.world.pending.values()))


def test_a_runner_sends_what_is_due_between_beats() -> None:
    sim = Simulation(ScriptedPlayer(chatter), "Ann", "Bob", rules=WorldRules(tempo=IntervalRules(jitter=0)))
    sim.run(12)
    posted = sim.events_of(e.MessagePosted)
    delayed = {event.id: event for event in sim.events_of(e.MessageDelayed)}
    sent = [event for event in posted if event.pending]
    assert sent and all(event.content == delayed[event.pending].content for event in sent)
    at = {event.id: sim.world_log.world.messages[event.id].posted_at for event in sent}
    assert all(at[event.id] == delayed[event.pending].due for event in sent), "to the millisecond"


@pytest.mark.slow
def test_what_waits_outlives_the_process_a_pause_and_a_fork(tmp_path: Any) -> None:
    sim = Simulation(ScriptedPlayer(chatter), "Ann", "Bob", path=tmp_path / "w.db")
    waiting = first_waiting(sim)
    fork = sim.world_log.fork(tmp_path / "fork.db")
    assert fork.world.pending == sim.world_log.world.pending
    fork.close()
    sim.world_log.close()
    sim.world_log = WorldLog.open(tmp_path / "w.db", clock=sim.clock.wall)
    sim.run_anew()
    sim.architect.pause()
    sim.clock.advance(120)
    sim.architect.say(1, "You, too?")
    assert sim.world_log.world.pending, "nothing is sent while the world is paused"
    sim.architect.resume()
    sim.run(2)
    assert waiting.id in [event.pending for event in sim.events_of(e.MessagePosted)]
    report = replay_log(sim.world_log)
    assert report.sound and report.same == report.beats


def test_two_runners_send_it_once(tmp_path: Any) -> None:
    sim = Simulation(ScriptedPlayer(chatter), "Ann", "Bob", path=tmp_path / "w.db")
    waiting = first_waiting(sim)
    sim.clock.set(waiting.due)
    with WorldLog.open(tmp_path / "w.db", clock=sim.clock.wall) as other:
        theirs, ours = Outbox(other), Outbox(sim.world_log)
        with other.transaction(Origin.SYSTEM) as transaction:
            assert theirs.post_due(transaction, waiting.due) == 1
        with sim.world_log.transaction(Origin.SYSTEM) as transaction:
            assert ours.post_due(transaction, waiting.due) == 0
    assert [event.pending for event in sim.events_of(e.MessagePosted)].count(waiting.id) == 1
