"""How much may be said: 003's figures, the pace of a room, and one budget for all that a reply says there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hudkit.rooms.allowances import describe_last_spoke, room_words_left, word_budget
from hudkit.rooms.fold_log import apply_event
from hudkit.rooms.world import WordRules, WorldRules
from hudkit.rooms.world_events import WorldCreated
from hudkit.rooms.world_log import WorldLog


def words(number: int) -> str:
    return " ".join(["word"] * number)


@pytest.mark.parametrize(
    ("seconds", "wpm", "expected"),
    [
        (0, 80, 10),  # at least 10
        (7.4, 80, 10),
        (8.25, 80, 11),
        (45, 80, 60),  # 003's example: 45 seconds for 60 words
        (33.75, 80, 45),
        (60, 80, 80),
        (90, 80, 120),
        (149, 80, 198),
        (150, 80, 200),
        (3600, 80, 200),  # at most 200
        (60, 10, 10),
        (120, 10, 20),
        (30, 200, 100),
        (60, 200, 200),
    ],
)
def test_elapsed_time_by_the_rooms_pace_within_bounds(harness: Any, seconds: float, wpm: int, expected: int) -> None:
    harness.architect.set_wpm(1, wpm)
    harness.do(2, say={1: "Hello"})
    harness.wait(seconds)
    assert word_budget(harness.world, 2, 1, harness.now) == expected


def test_the_first_message_in_each_room_may_have_200_words(harness: Any) -> None:
    assert word_budget(harness.world, 2, 1, harness.now) == word_budget(harness.world, 2, 2, harness.now) == 200
    harness.do(2, say={1: words(200)})
    assert harness.texts(1)[-1] == (2, words(200))
    assert word_budget(harness.world, 2, 1, harness.now) == 10
    assert word_budget(harness.world, 2, 2, harness.now) == 200


def test_a_first_message_of_more_than_200_words_waits_for_those_beyond(harness: Any) -> None:
    assert harness.delayed(2, say={1: words(280)}).due == harness.now + 60_000
    harness.wait(59.9)
    assert harness.send() == 0
    harness.wait(0.1)
    assert harness.send() == 1
    assert harness.texts(1)[-1] == (2, words(280))


def test_at_80_words_a_minute_a_message_of_60_words_is_sent_after_45_seconds(harness: Any) -> None:
    """003's example."""
    harness.do(2, say={1: "Hello"})
    assert harness.delayed(2, say={1: words(60)}).due == harness.now + 45_000
    harness.wait(44.9)
    assert harness.send() == 0 and harness.texts(1)[-1] == (2, "Hello")
    harness.wait(0.1)
    assert harness.send() == 1
    assert harness.texts(1)[-1] == (2, words(60))
    assert harness.agent(2).spoke_at[1] == harness.now


def test_a_message_within_the_budget_is_sent_at_once(harness: Any) -> None:
    harness.do(2, say={1: "Hello"})
    harness.wait(45)
    harness.do(2, say={1: words(60)})
    assert harness.texts(1)[-1] == (2, words(60))
    harness.wait(45)
    assert harness.delayed(2, say={1: words(61)}).due == harness.now + 750


def test_a_world_of_the_first_revision_refuses_with_both_numbers(make_harness: Any) -> None:
    with WorldLog.in_memory() as newer:
        founded = next(event for _, event in newer.events())
    harness = make_harness()
    older = msgspec.structs.replace(founded, revision=1)
    assert isinstance(older, WorldCreated)
    apply_event(harness.world, harness.world.seq, harness.now, older)
    harness.make("Ann")
    harness.make("Bob", rooms=(1,))
    harness.do(2, say={1: "Hello"})
    harness.wait(45)
    assert "61 words, and 60 are allowed in room 1 now (the pace there is 80 words a minute)" in harness.refused(
        2, say={1: words(61)}
    )
    harness.do(2, say={1: words(60)})
    assert harness.texts(1)[-1][0] == 2


@pytest.mark.parametrize("size", [11, 60, 199, 200])
def test_what_waits_is_sent_at_the_moment_when_the_budget_has_grown_to_it(harness: Any, size: int) -> None:
    harness.do(2, say={1: "Hello"})
    spoke_at = harness.now
    harness.wait(3.2)
    due = harness.delayed(2, say={1: words(size)}).due
    assert word_budget(harness.world, 2, 1, harness.now) == 0, "nothing is sent before what waits"
    harness.do(2, {"type": "withdraw", "pending_id": 1})
    harness.now = due - 20
    assert word_budget(harness.world, 2, 1, harness.now) == size - 1
    harness.now = due
    assert word_budget(harness.world, 2, 1, harness.now) == size
    assert due == pytest.approx(spoke_at + size * 750, abs=1)


def test_what_one_reply_says_in_a_room_shares_one_budget(harness: Any) -> None:
    harness.do(2, say={1: "Hello"})
    harness.wait(45)
    sent = {"type": "send_message", "room_id": 1, "content": words(20)}
    told = harness.do(2, sent, sent, sent, {**sent, "content": "more"}, say={2: words(100)})
    assert [type(what).__name__ for what in told] == [
        "MessagePosted",
        "MessagePosted",
        "MessagePosted",
        "MessageDelayed",
        "MessagePosted",
    ]
    assert harness.world.pending[1].due == harness.now + 750, "one word more than 60 that 45 seconds allow"


def test_all_agents_together_stay_within_the_rooms_words_a_minute(make_harness: Any) -> None:
    harness = make_harness(rules=WorldRules(words=WordRules(room_wpm=100)))
    harness.make("Ann")
    others = [harness.make(f"A{n}", rooms=(1,)) for n in range(5)]
    for agent in others[:3]:
        harness.do(agent, say={1: words(30)})
    assert (
        room_words_left(harness.world, 1, harness.now) == word_budget(harness.world, others[3], 1, harness.now) == 10
    )
    assert harness.delayed(others[3], say={1: words(30)}).due == harness.now, "its own pace would allow it"
    assert harness.send() == 0
    harness.architect.say(1, words(300))
    assert room_words_left(harness.world, 1, harness.now) == 10, "people are not counted"
    harness.wait(60)
    assert harness.send() == 1
    harness.do(others[4], say={1: words(30)})
    assert [sender for sender, _ in harness.texts(1)[-2:]] == [others[3], others[4]]


def test_the_room_itself_limits_nobody_by_default(make_harness: Any) -> None:
    harness = make_harness()
    harness.make("Ann")
    for agent in [harness.make(f"A{n}", rooms=(1,)) for n in range(8)]:
        harness.do(agent, say={1: words(200)})
    assert len([sender for sender, _ in harness.texts(1) if sender > 0]) == 8


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (30, "30 seconds"),
        (59.9, "59 seconds"),
        (60, "1 minute"),
        (120, "2 minutes"),
        (300, "5 minutes"),
        (3600, "1 hour"),
        (9000, "2.5 hours"),
        (7200, "2 hours"),
        (3 * 86400, "3 days"),
    ],
)
def test_time_since_last_is_in_words(harness: Any, seconds: float, said: str) -> None:
    assert describe_last_spoke(harness.world, 2, 1, harness.now) == "never (just joined)"
    harness.do(2, say={1: "Hello"})
    harness.wait(seconds)
    assert describe_last_spoke(harness.world, 2, 1, harness.now) == said


def test_a_clock_that_goes_backwards_does_not_make_time(harness: Any) -> None:
    harness.do(2, say={1: "Hello"})
    harness.wait(-500)
    assert word_budget(harness.world, 2, 1, harness.now) == 10
    assert describe_last_spoke(harness.world, 2, 1, harness.now) == "0 seconds"
