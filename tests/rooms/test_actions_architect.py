"""The person's hand: everything that agents can do, and what only the person can, each whole and from the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hudkit.errors import ConfigError, OperationError
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.prompts import load_prompts
from hudkit.rooms.scheduler.heartbeat import has_news
from hudkit.rooms.world import IntervalRules, WordRules, WorldRules


def test_what_the_architect_does_is_from_the_user(harness: Any) -> None:
    before = harness.world.seq
    harness.architect.say(1, "Hello")
    assert {event.origin for event, _ in harness.world_log.events(before)} == {Origin.USER}


def test_an_agent_as_the_architect_wants_it(harness: Any) -> None:
    id = harness.architect.make_agent(
        "bot",
        "",
        "You count.",
        "gpt-4o",
        can_create=True,
        input_format="toon",
        output_format="toon",
        interval=2,
        rooms=(1,),
    )
    agent = harness.agent(id)
    assert (agent.name, agent.kind, agent.by, agent.depth, agent.can_create) == ("Bot-4", "bot", 0, 0, True)
    assert (agent.input_format, agent.output_format, agent.interval, agent.rooms) == ("toon", "toon", 2, [4, 1])
    assert harness.now <= agent.due < harness.now + 2000
    assert harness.texts(1)[-1] == (e.SYSTEM, "Bot-4 (4) came in.")
    harness.architect.alter(id, name="Count", can_create=False, input_format="json")
    assert (agent.name, agent.can_create, agent.input_format, agent.output_format) == ("Count", False, "json", "toon")


def test_first_beats_are_spread_and_the_same_for_one_seed(make_harness: Callable[..., Any]) -> None:
    def dues(seed: int) -> list[int]:
        harness = make_harness(seed=seed)
        return [harness.agent(harness.make(f"A{n}")).due - harness.now for n in range(20)]

    assert dues(1) == dues(1) != dues(2)
    assert len(set(dues(1))) > 15 and all(0 <= due < 5000 for due in dues(1))


@pytest.mark.parametrize(("interval", "expected"), [(0.1, 1), (1, 1), (7.5, 7.5), (99, 10)])
def test_an_interval_is_within_the_worlds_bounds(harness: Any, interval: float, expected: float) -> None:
    agent = harness.agent(harness.make("Dora", interval=interval))
    assert agent.interval == expected and agent.due <= harness.now + expected * 1000


def test_to_speak_is_to_come_in_without_a_budget(harness: Any) -> None:
    harness.do(2, {"type": "sleep", "until": "2090-01-01T00:00:00Z"})
    for n in range(3):
        harness.architect.say(1, f"@Bob {'word ' * 300}{n}")
    assert harness.room(1).members == [1, 2, 3, 0]
    assert [text for sender, text in harness.texts(1) if sender == e.SYSTEM][-1] == "The Architect came in."
    assert [sender for sender, _ in harness.texts(1)][-3:] == [0, 0, 0]
    assert harness.agent(2).sleeps_until == 0
    reply = harness.architect.say(1, "As I said", reply_to=harness.world.next_message - 1)
    assert harness.world.messages[reply].reply_to == reply - 1
    harness.architect.remove(0, 1)
    assert harness.room(1).members == [1, 2, 3]


def test_reactions_wakes_and_tempo(harness: Any) -> None:
    harness.do(2, {"type": "sleep", "until": "2090-01-01T00:00:00Z"}, say={2: "An idea"})
    harness.architect.react(harness.world.next_message - 1, "thumbs_up")
    harness.architect.wake(2)
    assert harness.agent(2).interval == 4.5 and harness.agent(2).sleeps_until == 0
    harness.architect.set_interval(2, 1.5)
    assert harness.agent(2).interval == 1.5
    with pytest.raises(OperationError, match="1 to 10"):
        harness.architect.set_interval(2, 0.5)


def test_rooms_of_others(harness: Any) -> None:
    harness.architect.set_billboard(2, "Quiet, please")
    harness.architect.set_wpm(2, 40)
    assert (harness.room(2).billboard, harness.room(2).wpm) == ("Quiet, please", 40)
    harness.architect.set_billboard(2, "")
    assert harness.room(2).billboard == ""
    harness.architect.admit(3, 2)
    assert harness.room(2).members == [2, 3] and harness.texts(2)[-1] == (e.SYSTEM, "Cid (3) came in.")
    harness.architect.remove(3, 2)
    assert harness.room(2).members == [2]
    for wrong in (lambda: harness.architect.remove(2, 2), lambda: harness.architect.admit(2, 1)):
        with pytest.raises(OperationError):
            wrong()


def test_keys_and_requests_of_others(harness: Any) -> None:
    key = harness.architect.make_key(2, "k", 2)
    assert harness.world_log.whispers == {}
    harness.do(3, {"type": "request_access", "room_id": 2, "key": key})
    harness.do(1, {"type": "request_access", "room_id": 2, "key": key})
    assert harness.room(2).keys == []
    harness.architect.grant(1)
    harness.architect.deny(2)
    assert harness.room(2).members == [2, 3] and harness.room(2).requests == []
    harness.architect.make_key(2, "l")
    harness.architect.revoke_key(2, "l")
    assert harness.room(2).keys == []


def test_pause_resume_and_speed(harness: Any) -> None:
    harness.architect.pause()
    assert harness.world.paused == "the Architect"
    harness.architect.pause("again")
    assert harness.world.paused == "the Architect"
    harness.architect.resume()
    assert harness.world.paused is None
    harness.architect.set_speed(10)
    assert harness.world.speed == 10
    for factor in (0, -1, float("nan"), 1e9):
        with pytest.raises(OperationError):
            harness.architect.set_speed(factor)


def test_rules_and_prompts_change_from_then_on(harness: Any) -> None:
    rules = WorldRules(tempo=IntervalRules(first=3), words=WordRules(first=5))
    harness.architect.set_rules(rules)
    harness.architect.set_prompts({"philosophy.memory": "Write it down"})
    with pytest.raises(ConfigError, match="no prompt 'memory'"):
        harness.architect.set_prompts({"memory": "Write it down"})
    assert harness.world.rules == rules
    assert harness.world.prompts == {**load_prompts(), "philosophy.memory": "Write it down"}
    assert harness.agent(harness.make("Dora")).interval == 3
    assert harness.delayed(3, say={1: "one two three four five six"}).words == 6
    assert harness.world_log.world_at(harness.world.seq) == harness.world


def test_a_model_has_a_name(harness: Any) -> None:
    for wrong in ("", "a\u202eb"):
        with pytest.raises(OperationError, match="no model's name"):
            harness.architect.alter(1, model=wrong)
        with pytest.raises(OperationError, match="no model's name"):
            harness.architect.make_agent("persona", "Dora", "You are here.", wrong)


def test_a_memory_holds_no_number_that_cannot_be_kept(harness: Any) -> None:
    with pytest.raises(OperationError, match="too large"):
        harness.architect.teach(1, "stars", {"count": [10**30]})
    harness.architect.teach(1, "stars", 2**64 - 1)
    assert harness.agent(1).knowledge == {"stars": 2**64 - 1}


def test_what_cannot_be_leaves_nothing(harness: Any) -> None:
    before = harness.world.seq
    for wrong in (
        lambda: harness.make("Ann"),
        lambda: harness.make(""),
        lambda: harness.make("Dora", rooms=(99,)),
        lambda: harness.architect.say(99, "x"),
        lambda: harness.architect.say(1, " "),
        lambda: harness.architect.say(1, "x", reply_to=99),
        lambda: harness.architect.alter(1),
        lambda: harness.architect.alter(99, name="X"),
        lambda: harness.architect.alter(1, name="Bob", can_create=True),
        lambda: harness.architect.retire(99),
        lambda: harness.architect.react(99, "heart"),
        lambda: harness.architect.wake(99),
        lambda: harness.architect.grant(1),
        lambda: harness.architect.set_wpm(1, 500),
        lambda: harness.architect.make_key(99, "k"),
        lambda: harness.architect.revoke_key(1, "k"),
    ):
        with pytest.raises(OperationError):
            wrong()
    assert harness.world.seq == before == harness.world_log.log.last_seq("world")
    assert harness.world_log.whispers == {}


@pytest.mark.parametrize(
    "do",
    [
        lambda one: one.teach(1, "goals", "rest"),
        lambda one: one.make_key(1, "new"),
        lambda one: one.revoke_key(1, "old"),
        lambda one: one.set_billboard(1, "Closed today"),
        lambda one: one.set_billboard(1, ""),
        lambda one: one.alter(1, name="Anna"),
        lambda one: one.deny(1),
    ],
    ids=["teach", "key", "revoke", "billboard", "taken down", "rename", "deny"],
)
def test_what_the_architect_changes_of_an_agent_is_news_to_it(harness: Any, do: Any) -> None:
    key = harness.architect.make_key(1, "old")
    harness.architect.set_billboard(1, "Open")
    harness.make("Dan")
    harness.do(4, {"type": "request_access", "room_id": 1, "key": key})
    with harness.world_log.transaction(Origin.SYSTEM) as transaction:
        transaction.append(e.BeatBegun(1, 1, harness.now, harness.now, "", 0, "json", "m"))
        transaction.append(e.BeatFinished(1, 1, harness.now + 5_000))
    assert not has_news(harness.world, harness.agent(1), harness.now + 5_000)
    do(harness.architect)
    assert has_news(harness.world, harness.agent(1), harness.now + 5_000)
    assert harness.world_log.world_at(harness.world.seq) == harness.world


def test_what_an_agent_does_itself_is_no_news_to_it(harness: Any) -> None:
    with harness.world_log.transaction(Origin.SYSTEM) as transaction:
        transaction.append(e.BeatBegun(1, 1, harness.now, harness.now, "", 0, "json", "m"))
    own = ({"type": "set", "path": "a", "value": 1}, {"type": "create_key", "label": "k"})
    harness.do(1, *own, {"type": "revoke_key", "label": "k"}, {"type": "set_billboard", "message": "x"})
    assert not has_news(harness.world, harness.agent(1), harness.now)


def test_requests_that_are_closed_are_kept_by_the_log_alone(harness: Any) -> None:
    key = harness.architect.make_key(1, "old")
    for name in ("Dan", "Eve"):
        harness.do(harness.make(name), {"type": "request_access", "room_id": 1, "key": key})
    harness.architect.grant(1)
    harness.architect.deny(2)
    assert harness.world.requests == {} and harness.world.next_request == 3
    with pytest.raises(OperationError, match="no open request 1"):
        harness.architect.grant(1)
