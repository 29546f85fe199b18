"""What is said in the place of what is over."""

from __future__ import annotations

import pytest

from told_talks import AGENT, USER, standing, state_after


@pytest.mark.parametrize(
    ("first", "then", "words"),
    [
        (
            "We settled on the seaside hotel for the retreat.",
            "They are fully booked. Mountain lodge then.",
            "Mountain lodge then (in place of: We settled on the seaside hotel for the retreat)",
        ),
        (
            "We print the catalogue in four colours.",
            "The printers can't do that any more, so two colours please.",
            "so two colours please",
        ),
        (
            "The weekly call takes place in room Orion.",
            "They moved us, it's room Vega now.",
            "They moved us, it's room Vega now",
        ),
        (
            "Captions are in capital letters.",
            "That looks awful in print. Small letters then.",
            "Small letters then (in place of: Captions are in capital letters)",
        ),
        (
            "I prefer phone calls to mails.",
            "I can't stand the phone any more, mails are fine now.",
            "mails are fine now",
        ),
        (
            "We meet every Monday at nine.",
            "The new shift plan doesn't allow Mondays any more, so Tuesdays please.",
            "so Tuesdays please",
        ),
        (
            "Every job needs two reviewers.",
            "Half of the team left, one reviewer has to do.",
            "one reviewer has to do",
        ),
    ],
)
def test_what_is_said_in_its_place_stands(first: str, then: str, words: str) -> None:
    state = state_after((USER, first), (AGENT, "Noted."), (USER, then))
    assert any(words in text for text in standing(state)), standing(state)
    assert not any(text in first for text in standing(state))


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Never change the price list.", "You may change the price list again."),
        ("Don't use the old printer.", "The rule about the printer no longer applies, it was repaired."),
        ("We settled on the seaside hotel for the retreat.", "Scratch that, I'll think about it."),
        ("We settled on the seaside hotel for the retreat.", "Is the seaside hotel still open then?"),
    ],
)
def test_what_only_ends_something_states_nothing(first: str, then: str) -> None:
    assert standing(state_after((USER, first), (AGENT, "Noted."), (USER, then))) in ([], [first.rstrip(".")])


def test_a_turn_is_from_what_the_agent_spoke_of_last() -> None:
    state = state_after(
        (USER, "We settled on the seaside hotel."),
        (AGENT, "Noted. Should the invitation go to all members or only to the board?"),
        (USER, "only the board please"),
        (AGENT, "The hotel is booked up on that weekend."),
        (USER, "Damn. Mountain lodge then."),
    )
    assert standing(state) == [
        "only to the board",
        "Mountain lodge then (in place of: We settled on the seaside hotel)",
    ]
