"""What plain words state, take back and decide; and what they do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.ingest.extraction import KnownStatements, extract
from hudkit.ingest.extraction.word_classes import CLASSES, IRREGULAR
from strategies import hostile

STATED = {
    "never push to main": ["never push to main"],
    "Please always use tabs.": ["always use tabs"],
    "Fix it, and do not touch the API.": ["do not touch the API"],
    "Three rules: no dependencies. Tests must never touch the network.": [
        "no dependencies",
        "Tests must never touch the network",
    ],
    "From now on only answer in English": ["From now on only answer in English"],
    "keep the footer as is, because legal approved it": ["keep the footer as is"],
    "- max 100 columns\n- no unsafe": ["max 100 columns", "no unsafe"],
    "Rules for the API:\n1. ids are strings\n2. dates have a zone": ["ids are strings", "dates have a zone"],
    "The footer is approved; leave it as it is.": ["The footer is approved; leave it as it is"],
    "Bitte niemals force-push benutzen": ["niemals force-push benutzen"],
    "Ground rules: unsafe code is a no-go, the core API is frozen, and every new function gets a doc comment.": [
        "unsafe code is a no-go",
        "the core API is frozen",
        "every new function gets a doc comment",
    ],
    "Migrations are never edited by hand; ask me before you add one.": [
        "Migrations are never edited by hand",
        "ask me before you add one",
    ],
    "Benchmarks go into benches/, never into the test modules.": [
        "Benchmarks go into benches/, never into the test modules"
    ],
    "Could you please not use abbreviations in the texts?": ["do not use abbreviations in the texts"],
    "I'd be grateful if you didn't change the front page": ["I'd be grateful if you didn't change the front page"],
    "never push on a Friday, ok?": ["never push on a Friday"],
    "From now on, each commit needs a ticket": ["From now on, each commit needs a ticket"],
    "**Guidelines**\n- the score stays above 90\n- copy goes through the bundles": [
        "the score stays above 90",
        "copy goes through the bundles",
    ],
    "## Rules\n\n- small commits": ["small commits"],
    "Our shop must get a wish list, and every price must be an integer.": ["every price must be an integer"],
    "Each invoice must get a snapshot of the rate.": ["Each invoice must get a snapshot of the rate"],
    "The change must get two reviews": ["The change must get two reviews"],
    "## Rules\n\n- the service must get its keys from the vault": ["the service must get its keys from the vault"],
}

NOT_STATED = (
    "I'm blocked: no access to the logs of the importer yet",
    "We decided on a queue and no cron.",
    "Decided: the importer gets a counter and no sleep.",
    "Our billing service must get multi-currency invoices.",
    "The login page has to get a remember-me checkbox",
    "the CLI must finally be able to print JSON",
    "This app must have a dark mode.",
    "should we never retry on 429?",
    "why does it never fail locally",
    "What if the lexer never backtracked?",
    "My colleague always says never ship on a Friday",
    "the docs say workers must never share a connection",
    'He wrote "never touch the route tables", no idea why.',
    "> never push to main",
    "```\nnever push to main\n```",
    "2026-03-02T09:14:07Z ERROR you must set PGHOST",
    '  File "/srv/app.py", line 41\n    must not happen',
    "# never set above 20",
    "if we ever do a banner, it must not cover the basket",
    "it must be the poll loop",
    "don't worry about windows",
    "I never understand these outputs",
    "never mind the icon",
    "you should never have swapped those two",
    "no idea",
    "maybe we should always keep trivia",
    "every request gets a 500 since the deploy",
    "The page is always blank in Safari",
    "Each row has a date and a name.",
    "The cache is never hit, can you look?",
    "it never reached the second callback",
    "Messages are only delivered once, I believe.",
    "Add validation: the age must be between 18 and 99.",
    "We had a rule about that once: never deploy on Friday.",
    "My wishes for the page: a big photo, a map, opening hours.",
    "The firewall rules: port 80 is open, port 22 is closed.",
    "After every restart the queue is empty.",
    "users can't change their password, it shows a spinner",
    "W (1234) wifi: must not be called from isr",
)


@pytest.mark.parametrize("message", STATED, ids=str)
def test_rules_that_are_stated(message: str) -> None:
    news, held = extract(message, KnownStatements())
    assert [rule.text for rule in news.rules] == STATED[message]
    assert held.rules == tuple(STATED[message])
    assert not extract(message, held)[0].rules, "said twice, it stands once"


@pytest.mark.parametrize("message", NOT_STATED)
def test_what_states_no_rule(message: str) -> None:
    assert extract(message, KnownStatements())[0].rules == ()


def test_an_agent_states_no_rules() -> None:
    assert not extract("You must never push to main. Always use tabs.", KnownStatements(), by_agent=True)[0]


LIFTED = {
    "forget the rule about dependencies": "no new dependencies",
    "you may now push to main": "never push to main",
    "you can add dependencies again": "no new dependencies",
    "pushing to main is fine now": "never push to main",
    'the "no new dependencies" rule no longer applies': "no new dependencies",
    "You no longer have to use tabs": "always use tabs",
    "about the tabs: forget that": "always use tabs",
    "so the dependencies ban is lifted": "no new dependencies",
    "it's fine to push to main from now on": "never push to main",
    "we needn't use tabs any more": "always use tabs",
}


@pytest.mark.parametrize("message", LIFTED)
def test_rules_that_are_taken_back(message: str) -> None:
    standing = KnownStatements(("no new dependencies", "never push to main", "always use tabs"))
    news, held = extract(message, standing)
    assert news.withdrawn == (LIFTED[message],)
    assert news.rules == ()
    assert set(held.rules) == set(standing.rules) - {LIFTED[message]}


@pytest.mark.parametrize(
    "message", ("you may restart staging", "can we push to main now?", "forget that", "you can see it now")
)
def test_what_takes_nothing_back(message: str) -> None:
    assert extract(message, KnownStatements(("never push to main",)))[0].withdrawn == ()


DECIDED = {
    "let's go with Redis": "let's go with Redis",
    "Okay, decision: Pratt parser.": "decision: Pratt parser",
    "I'll use a fake clock instead of freezegun.": "I'll use a fake clock instead of freezegun",
    "Plain asyncio it is.": "Plain asyncio it is",
    "We've decided against a chat function": "We've decided against a chat function",
    "I'm switching from threads to processes": "I'm switching from threads to processes",
    "After a look at both I'm choosing a table over a map": "I'm choosing a table over a map",
    "The map is slow, so the table is my pick": "the table is my pick",
    "Instead of a pool I'll use one thread": "Instead of a pool I'll use one thread",
    "We discussed it and opted for five parts": "We discussed it and opted for five parts",
}


@pytest.mark.parametrize("message", DECIDED)
def test_decisions_that_are_announced(message: str) -> None:
    for by_agent in (True, False):
        news, held = extract(message, KnownStatements(), by_agent=by_agent)
        assert [one.summary for one in news.decisions] == [DECIDED[message]]
        assert not extract(message, held, by_agent=by_agent)[0].decisions


@pytest.mark.parametrize(
    "message",
    (
        "We could go with Redis",
        "should we go with Redis?",
        "I would go with Redis if I had to choose",
        "let's see what the tests say",
        "we haven't decided on Redis yet",
        'He said "let\'s go with Redis"',
        "let's do that",
        "I'm switching to the failing test",
        "I've picked the three slowest queries for the report",
        "The choice is yours: A or B",
        "I'll run the linter instead of guessing",
        "My choice would be Redis",
    ),
)
def test_what_decides_nothing(message: str) -> None:
    assert extract(message, KnownStatements())[0].decisions == ()


def test_a_later_decision_replaces_an_earlier_one() -> None:
    _, held = extract("I'll use Redis instead of Memcached, because it is there.", KnownStatements(), by_agent=True)
    news, held = extract("no wait, let's go with Valkey instead of Redis", held)
    assert news.decisions[0].replaces == ("I'll use Redis instead of Memcached",)
    assert len(held.decisions) == 1
    news, held = extract("Going with Valkey.", held, by_agent=True)
    assert not news.decisions, "the agent repeats it"
    news, held = extract("let's use pnpm", held)
    assert news.decisions[0].replaces == ()
    assert len(held.decisions) == 2


def test_of_two_alternatives_the_later_choice_replaces_the_earlier() -> None:
    _, held = extract("SpamAssassin or rspamd?", KnownStatements())
    _, held = extract("OK, rspamd, decided.", held)
    _, held = extract("let's store the pages compressed", held)
    news, held = extract("Let's go back to SpamAssassin, it is enough", held)
    assert news.decisions[0].replaces == ("rspamd, decided",)
    assert len(held.decisions) == 2
    assert extract("Let's use pnpm", held)[0].decisions[0].replaces == ()


def test_a_bare_no_turns_what_was_just_decided() -> None:
    _, held = extract("I'm going with the US cup", KnownStatements(), by_agent=True)
    assert extract("nah metric", held)[0].decisions[0].replaces == ("I'm going with the US cup",)
    _, later = extract("The tests pass.", held, by_agent=True)
    assert extract("nah metric", later)[0].decisions == ()


@pytest.mark.slow
@given(st.lists(hostile, max_size=8).map("\n".join), st.booleans())
def test_no_text_breaks_it(text: str, by_agent: bool) -> None:
    news, held = extract(text, KnownStatements(), by_agent=by_agent)
    again, _ = extract(text, held, by_agent=by_agent)
    assert again.rules == (), "what stands is not told again"
    assert all("\n" not in rule.text for rule in news.rules)


@pytest.mark.parametrize("message", ["merged", "approved", "Fixed", "cancelled", "landed  ", "wanted "])
def test_one_word_alone_states_nothing(message: str) -> None:
    assert not extract(message, KnownStatements())[0]


WORDS = sorted({word for row in CLASSES.values() for word in row.split()} | IRREGULAR)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), st.booleans())
def test_no_words_break_it(text: str, by_agent: bool) -> None:
    _, held = extract(text, KnownStatements(), by_agent=by_agent)
    extract(text, held, by_agent=by_agent)


def test_a_document_is_not_a_list_of_demands() -> None:
    assert extract("\n".join(f"- never do thing number{n}" for n in range(40)), KnownStatements())[0].rules == ()


def test_the_examples_at_the_top_of_the_modules() -> None:
    standing = KnownStatements(rules=("never push to main",))
    words = "You may push to main now. Always use tabs. Let's go with Redis."
    found, _ = extract(words, standing)
    assert found.withdrawn == ("never push to main",)
    assert [rule.text for rule in found.rules] == ["Always use tabs"]
    assert [decision.summary for decision in found.decisions] == ["Let's go with Redis"]

    words = "Fix the parser, and do not touch the API, because it is public. Why does it never fail here?"
    (rule,) = extract(words, KnownStatements())[0].rules
    assert (rule.text, rule.reason) == ("do not touch the API", "because it is public")

    _, standing = extract("NATS or Redis for the queue?", KnownStatements())
    found, standing = extract("Going with Redis, because it is there.", standing, by_agent=True)
    assert (found.decisions[0].summary, found.decisions[0].details) == ("Going with Redis", "because it is there")
    found, _ = extract("hm, scratch that, let's use NATS", standing)
    assert (found.decisions[0].summary, found.decisions[0].replaces) == ("let's use NATS", ("Going with Redis",))
