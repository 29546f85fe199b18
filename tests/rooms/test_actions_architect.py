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


def test_what_the_architect_does_is_from_the_user(stage: Any) -> None:
    before = stage.world.seq
    stage.architect.say(1, "Hello")
    assert {event.origin for event, _ in stage.world_log.events(before)} == {Origin.USER}


def test_an_agent_as_the_architect_wants_it(stage: Any) -> None:
    id = stage.architect.make_agent(
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
    agent = stage.agent(id)
    assert (agent.name, agent.kind, agent.by, agent.depth, agent.can_create) == ("Bot-4", "bot", 0, 0, True)
    assert (agent.input_format, agent.output_format, agent.interval, agent.rooms) == ("toon", "toon", 2, [4, 1])
    assert stage.now <= agent.due < stage.now + 2000
    assert stage.texts(1)[-1] == (e.SYSTEM, "Bot-4 (4) came in.")
    stage.architect.alter(id, name="Count", can_create=False, input_format="json")
    assert (agent.name, agent.can_create, agent.input_format, agent.output_format) == ("Count", False, "json", "toon")


def test_first_beats_are_spread_and_the_same_for_one_seed(staged: Callable[..., Any]) -> None:
    def dues(seed: int) -> list[int]:
        stage = staged(seed=seed)
        return [stage.agent(stage.make(f"A{n}")).due - stage.now for n in range(20)]

    assert dues(1) == dues(1) != dues(2)
    assert len(set(dues(1))) > 15 and all(0 <= due < 5000 for due in dues(1))


@pytest.mark.parametrize(("interval", "expected"), [(0.1, 1), (1, 1), (7.5, 7.5), (99, 10)])
def test_an_interval_is_within_the_worlds_bounds(stage: Any, interval: float, expected: float) -> None:
    agent = stage.agent(stage.make("Dora", interval=interval))
    assert agent.interval == expected and agent.due <= stage.now + expected * 1000


def test_to_speak_is_to_come_in_without_a_budget(stage: Any) -> None:
    stage.do(2, {"type": "sleep", "until": "2090-01-01T00:00:00Z"})
    for n in range(3):
        stage.architect.say(1, f"@Bob {'word ' * 300}{n}")
    assert stage.room(1).members == [1, 2, 3, 0]
    assert [text for sender, text in stage.texts(1) if sender == e.SYSTEM][-1] == "The Architect came in."
    assert [sender for sender, _ in stage.texts(1)][-3:] == [0, 0, 0]
    assert stage.agent(2).sleeps_until == 0
    reply = stage.architect.say(1, "As I said", reply_to=stage.world.next_message - 1)
    assert stage.world.messages[reply].reply_to == reply - 1
    stage.architect.remove(0, 1)
    assert stage.room(1).members == [1, 2, 3]


def test_reactions_wakes_and_tempo(stage: Any) -> None:
    stage.do(2, {"type": "sleep", "until": "2090-01-01T00:00:00Z"}, say={2: "An idea"})
    stage.architect.react(stage.world.next_message - 1, "thumbs_up")
    stage.architect.wake(2)
    assert stage.agent(2).interval == 4.5 and stage.agent(2).sleeps_until == 0
    stage.architect.set_interval(2, 1.5)
    assert stage.agent(2).interval == 1.5
    with pytest.raises(OperationError, match="1 to 10"):
        stage.architect.set_interval(2, 0.5)


def test_rooms_of_others(stage: Any) -> None:
    stage.architect.set_billboard(2, "Quiet, please")
    stage.architect.set_wpm(2, 40)
    assert (stage.room(2).billboard, stage.room(2).wpm) == ("Quiet, please", 40)
    stage.architect.set_billboard(2, "")
    assert stage.room(2).billboard == ""
    stage.architect.admit(3, 2)
    assert stage.room(2).members == [2, 3] and stage.texts(2)[-1] == (e.SYSTEM, "Cid (3) came in.")
    stage.architect.remove(3, 2)
    assert stage.room(2).members == [2]
    for wrong in (lambda: stage.architect.remove(2, 2), lambda: stage.architect.admit(2, 1)):
        with pytest.raises(OperationError):
            wrong()


def test_keys_and_requests_of_others(stage: Any) -> None:
    key = stage.architect.make_key(2, "k", 2)
    assert stage.world_log.whispers == {}
    stage.do(3, {"type": "request_access", "room_id": 2, "key": key})
    stage.do(1, {"type": "request_access", "room_id": 2, "key": key})
    assert stage.room(2).keys == []
    stage.architect.grant(1)
    stage.architect.deny(2)
    assert stage.room(2).members == [2, 3] and stage.room(2).requests == []
    stage.architect.make_key(2, "l")
    stage.architect.revoke_key(2, "l")
    assert stage.room(2).keys == []


def test_pause_resume_and_speed(stage: Any) -> None:
    stage.architect.pause()
    assert stage.world.paused == "the Architect"
    stage.architect.pause("again")
    assert stage.world.paused == "the Architect"
    stage.architect.resume()
    assert stage.world.paused is None
    stage.architect.set_speed(10)
    assert stage.world.speed == 10
    for factor in (0, -1, float("nan"), 1e9):
        with pytest.raises(OperationError):
            stage.architect.set_speed(factor)


def test_rules_and_prompts_change_from_then_on(stage: Any) -> None:
    rules = WorldRules(tempo=IntervalRules(first=3), words=WordRules(first=5))
    stage.architect.set_rules(rules)
    stage.architect.set_prompts({"philosophy.memory": "Write it down"})
    with pytest.raises(ConfigError, match="no prompt 'memory'"):
        stage.architect.set_prompts({"memory": "Write it down"})
    assert stage.world.rules == rules
    assert stage.world.prompts == {**load_prompts(), "philosophy.memory": "Write it down"}
    assert stage.agent(stage.make("Dora")).interval == 3
    assert "6 words" in stage.refused(3, say={1: "one two three four five six"})
    assert stage.world_log.world_at(stage.world.seq) == stage.world


def test_a_model_has_a_name(stage: Any) -> None:
    for wrong in ("", "a\u202eb"):
        with pytest.raises(OperationError, match="no model's name"):
            stage.architect.alter(1, model=wrong)
        with pytest.raises(OperationError, match="no model's name"):
            stage.architect.make_agent("persona", "Dora", "You are here.", wrong)


def test_a_memory_holds_no_number_that_cannot_be_kept(stage: Any) -> None:
    with pytest.raises(OperationError, match="too large"):
        stage.architect.teach(1, "stars", {"count": [10**30]})
    stage.architect.teach(1, "stars", 2**64 - 1)
    assert stage.agent(1).knowledge == {"stars": 2**64 - 1}


def test_what_cannot_be_leaves_nothing(stage: Any) -> None:
    before = stage.world.seq
    for wrong in (
        lambda: stage.make("Ann"),
        lambda: stage.make(""),
        lambda: stage.make("Dora", rooms=(99,)),
        lambda: stage.architect.say(99, "x"),
        lambda: stage.architect.say(1, " "),
        lambda: stage.architect.say(1, "x", reply_to=99),
        lambda: stage.architect.alter(1),
        lambda: stage.architect.alter(99, name="X"),
        lambda: stage.architect.alter(1, name="Bob", can_create=True),
        lambda: stage.architect.retire(99),
        lambda: stage.architect.react(99, "heart"),
        lambda: stage.architect.wake(99),
        lambda: stage.architect.grant(1),
        lambda: stage.architect.set_wpm(1, 500),
        lambda: stage.architect.make_key(99, "k"),
        lambda: stage.architect.revoke_key(1, "k"),
    ):
        with pytest.raises(OperationError):
            wrong()
    assert stage.world.seq == before == stage.world_log.log.last_seq("world")
    assert stage.world_log.whispers == {}


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
def test_what_the_architect_changes_of_an_agent_is_news_to_it(stage: Any, do: Any) -> None:
    key = stage.architect.make_key(1, "old")
    stage.architect.set_billboard(1, "Open")
    stage.make("Dan")
    stage.do(4, {"type": "request_access", "room_id": 1, "key": key})
    with stage.world_log.transaction(Origin.SYSTEM) as transaction:
        transaction.append(e.BeatBegun(1, 1, stage.now, stage.now, "", 0, "json", "m"))
        transaction.append(e.BeatFinished(1, 1, stage.now + 5_000))
    assert not has_news(stage.world, stage.agent(1), stage.now + 5_000)
    do(stage.architect)
    assert has_news(stage.world, stage.agent(1), stage.now + 5_000)
    assert stage.world_log.world_at(stage.world.seq) == stage.world


def test_what_an_agent_does_itself_is_no_news_to_it(stage: Any) -> None:
    with stage.world_log.transaction(Origin.SYSTEM) as transaction:
        transaction.append(e.BeatBegun(1, 1, stage.now, stage.now, "", 0, "json", "m"))
    own = ({"type": "set", "path": "a", "value": 1}, {"type": "create_key", "label": "k"})
    stage.do(1, *own, {"type": "revoke_key", "label": "k"}, {"type": "set_billboard", "message": "x"})
    assert not has_news(stage.world, stage.agent(1), stage.now)


def test_requests_that_are_closed_are_kept_by_the_log_alone(stage: Any) -> None:
    key = stage.architect.make_key(1, "old")
    for name in ("Dan", "Eve"):
        stage.do(stage.make(name), {"type": "request_access", "room_id": 1, "key": key})
    stage.architect.grant(1)
    stage.architect.deny(2)
    assert stage.world.requests == {} and stage.world.next_request == 3
    with pytest.raises(OperationError, match="no open request 1"):
        stage.architect.grant(1)
