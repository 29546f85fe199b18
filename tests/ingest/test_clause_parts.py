"""Clauses of which no form is kept: by their parts they hold for every time, or only for now."""

from __future__ import annotations

import pytest

from hudkit.ingest.extraction import Extracted, KnownStatements, extract


def heard(message: str) -> Extracted:
    return extract(message, KnownStatements())[0]


@pytest.mark.parametrize(
    "message",
    [
        "If a build takes longer than ten minutes, kill it and tell me.",
        "Should two sources contradict each other, go with the newer one.",
        "For currencies rely on dinero rather than rolling your own.",
        "Test files sit next to the code they test.",
        "References follow the Chicago manual.",
        "Our branch names look like feat/123-title.",
        "We number figures with Roman numerals.",
        "Formatting is Prettier's job.",
        "Three retries, then give up.",
        "Would you be so kind as to keep the existing endpoint names?",
        "May I ask that drafts stay in the Drafts folder?",
        "You can merge on your own as long as CI is green.",
        "Just run the unit tests from now on.",
        "Our auditors want every journal entry to carry an author.",
    ],
)
def test_what_holds_for_every_time_is_a_rule(message: str) -> None:
    assert len(heard(message).rules) == 1


@pytest.mark.parametrize(
    "message",
    [
        "I'm more of a tabs person.",
        "Tables work better for me than prose.",
        "My preferred test runner is Vitest.",
        "Spare me the disclaimers.",
        "Talk to me like I'm a senior engineer.",
        "Short variable names drive me up the wall.",
        "No need to explain the basics to me.",
        "It would be nice if you could answer in Spanish from now on.",
    ],
)
def test_what_somebody_likes_is_a_preference_in_many_wordings(message: str) -> None:
    assert len(heard(message).preferences) == 1


@pytest.mark.parametrize(
    "message",
    [
        "Our choice is Mollie.",
        "The team voted for Svelte yesterday.",
        "We'll do the import in batches of 1000.",
        "Sessions will live in Redis, tokens in the database.",
        "Let's not do GraphQL, plain REST is enough.",
        "Fine, let it be MIT then.",
    ],
)
def test_what_is_chosen_is_a_decision_in_many_wordings(message: str) -> None:
    assert len(heard(message).decisions) == 1


@pytest.mark.parametrize(
    "message",
    [
        "Show me the first 10 rows of the table.",
        "Review my code and let me know if I'm missing anything.",
        "Can you provide an example of a call without OAuth?",
        "The parser skips every second line, no clue why.",
        "Orders get stuck when the queue is full.",
        "Each row has a date and a name.",
        "Two marbles are drawn without replacement.",
        "We need a page for tracking parcels.",
        "We decided nothing in that meeting.",
        "Any help would be appreciated.",
        "Everything is merged.",
        "I'd love it if you could review this.",
        "Thanks, this works great for me.",
        "Go on as always.",
        "Run the tests as usual, please.",
    ],
)
def test_what_is_for_now_or_only_described_is_nothing(message: str) -> None:
    assert not heard(message)
