"""How much may be said: 003's figures, the pace of a room, and one budget for all that a reply says there."""

from __future__ import annotations

from typing import Any

import pytest

from hudkit.rooms.allowances import describe_last_spoke, room_words_left, word_budget
from hudkit.rooms.world import WordRules, WorldRules


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
    assert "201 words, and 200 are allowed" in harness.refused(2, say={1: words(201)})
    harness.do(2, say={1: words(200)})
    assert harness.texts(1)[-1] == (2, words(200))
    assert word_budget(harness.world, 2, 1, harness.now) == 10
    assert word_budget(harness.world, 2, 2, harness.now) == 200


def test_a_message_over_the_budget_is_refused_with_both_numbers(harness: Any) -> None:
    harness.do(2, say={1: "Hello"})
    harness.wait(45)
    assert "61 words, and 60 are allowed in room 1 now (the pace there is 80 words a minute)" in harness.refused(
        2, say={1: words(61)}
    )
    harness.do(2, say={1: words(60)})
    assert harness.texts(1)[-1][0] == 2


@pytest.mark.parametrize("size", [11, 60, 199, 200])
def test_the_refusal_says_when_the_words_will_be_allowed(harness: Any, size: int) -> None:
    harness.do(2, say={1: "Hello"})
    harness.wait(3.2)
    seconds = int(harness.refused(2, say={1: words(size)}).rpartition("or in ")[2].removesuffix(" s"))
    harness.wait(seconds - 1.1)
    assert word_budget(harness.world, 2, 1, harness.now) < size
    harness.wait(1.1)
    assert word_budget(harness.world, 2, 1, harness.now) >= size
    assert harness.refused(2, say={1: words(201)}).endswith("Say it shorter")


def test_what_one_reply_says_in_a_room_shares_one_budget(harness: Any) -> None:
    harness.do(2, say={1: "Hello"})
    harness.wait(45)
    sent = {"type": "send_message", "room_id": 1, "content": words(20)}
    told = harness.do(2, sent, sent, sent, {**sent, "content": "more"}, say={2: words(100)})
    assert [type(what).__name__ for what in told] == [
        "MessagePosted",
        "MessagePosted",
        "MessagePosted",
        "ActionRefused",
        "MessagePosted",
    ]


def test_all_agents_together_stay_within_the_rooms_words_a_minute(make_harness: Any) -> None:
    harness = make_harness(rules=WorldRules(words=WordRules(room_wpm=100)))
    harness.make("Ann")
    others = [harness.make(f"A{n}", rooms=(1,)) for n in range(5)]
    for agent in others[:3]:
        harness.do(agent, say={1: words(30)})
    assert (
        room_words_left(harness.world, 1, harness.now) == word_budget(harness.world, others[3], 1, harness.now) == 10
    )
    assert "the room has heard 90 words within a minute" in harness.refused(others[3], say={1: words(30)})
    harness.architect.say(1, words(300))
    assert room_words_left(harness.world, 1, harness.now) == 10, "people are not counted"
    harness.wait(60)
    harness.do(others[4], say={1: words(30)})
    assert harness.texts(1)[-1][0] == others[4]


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
