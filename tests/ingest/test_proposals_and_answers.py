"""Pairs of the agent's proposal, or question, and the user's answer."""

from __future__ import annotations

import pytest

from told_talks import AGENT, USER, state_after


@pytest.mark.parametrize(
    ("proposal", "answer", "decision"),
    [
        (
            "Two ways to store the photos: a folder per year, or one folder with tags. Which do you like?",
            "the latter, it is simpler",
            "one folder with tags",
        ),
        (
            "Should the reminder go to all members or only to the board?",
            "only the board please",
            "only to the board",
        ),
        (
            "I'd cap the upload at 5 MB with a clear message. Shall I put that in?",
            "yep, sounds good",
            "put that in (I'd cap the upload at 5 MB with a clear message)",
        ),
        ("Mapbox needs a key. Leaflet would be free.", "yeah fine, Leaflet", "Leaflet would be free"),
        (
            "Shall I keep a copy of each mail?",
            "No, only keep the ones with invoices.",
            "only keep the ones with invoices",
        ),
        (
            "What should happen to members without an address?",
            "put them on a separate list",
            "put them on a separate list (asked: What should happen to members without an address?)",
        ),
        (
            "Which currency should I use for the report?",
            "Euros, the board is in Vienna.",
            "Euros (asked: Which currency should I use for the report?)",
        ),
        ("The club is in Graz, so I'd suggest German.", "agreed", "The club is in Graz, so I'd suggest German"),
        ("Would YAML be acceptable?", "YAML is ok, but only for the settings", "YAML is acceptable"),
    ],
)
def test_a_proposal_and_its_answer_are_a_decision(proposal: str, answer: str, decision: str) -> None:
    (heard,) = state_after((AGENT, proposal), (USER, answer)).decisions
    assert heard.words.startswith(decision)


@pytest.mark.parametrize(
    ("proposal", "answer"),
    [
        ("Shall I split the import into two steps?", "one step is fine"),
        ("The import would fail without it.", "ok, thanks"),
        ("The fix is in. I would now run the tests.", "ok"),
        ("Three tests fail. I'd look at the log before anything else.", "fine"),
        ("The old server was slow. It would explain the errors.", "great"),
        ("I would store it in a table, but nobody may change the schema.", "a table is ok"),
        ("Would you use a table? I would not.", "Agreed."),
        ("Which file do you mean?", "the second one"),
        ("Two ways to store it: a table, or a file. Which do you like?", "First, run the tests"),
        (
            "Which currency should I use for the report?",
            "Well, that depends on the board, on its chair and on who reads it",
        ),
        ("Should it be called Heron or Falcon?", "How is that spelled in the contract with Heron Travel?"),
    ],
)
def test_what_is_no_answer_decides_nothing(proposal: str, answer: str) -> None:
    assert not state_after((AGENT, proposal), (USER, answer)).decisions


def test_a_rule_in_reply_to_a_proposal_is_a_rule() -> None:
    state = state_after((AGENT, "Done. I'd keep the old parser as a fallback."), (USER, "no fallbacks"))
    assert [rule.words for rule in state.constraints] == ["no fallbacks"] and not state.decisions
