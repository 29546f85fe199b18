"""Wordings of many people that no table has: what is meant to last, what is not, and what a later message may end."""

from __future__ import annotations

import pytest

from hudkit.ingest.extraction import Extracted, KnownStatements, extract


def heard(message: str) -> Extracted:
    return extract(message, KnownStatements())[0]


@pytest.mark.parametrize(
    "message",
    [
        "window seats only pls when u book flights",
        "we fly economy, company rule",
        "The visa takes ten working days, so count backwards from that",
        "With children in the room no strobe lights",
        "The ledger closes on the third working day of each month",
        "groceries under 120 a week",
        "the emergency fund isn't to be touched",
        "monthly figures, quarterly ones are useless for us",
        "spell it grey, not gray",
        "In all footnotes cite the original, not the review",
        "significance level is .01 in this lab",
        "Support hours are 9 to 5 Lisbon time",
        "tickets older than 14 days without answer get closed",
        "if in the text is a name you write it in capitals",
        "In this team nobody works on weekends",
        "feature flags default to off",
        "main is protected, everything via PR",
        "our vendor of choice is Hetzner",
        "after the meeting it's clear we take the bigger hall",
        "we water in the evening in summer",
        "Lights in the kids' room warm white, please",
    ],
)
def test_what_is_meant_to_last_is_heard_by_its_grammar_as_a_whole(message: str) -> None:
    said = heard(message)
    texts = [
        *(rule.text for rule in said.rules),
        *(item.text for item in (*said.preferences, *said.facts)),
        *(decision.summary for decision in said.decisions),
    ]
    assert len(texts) == 1 and len(texts[0].split()) >= len(message.split()) - 4


@pytest.mark.parametrize(
    "message",
    [
        "just use the other file for this one",
        "First tell me what it does and where you see risks",
        "we'll work on it all day",
        "after a restart of both",
        "I only need the return ticket",
        "Make a chart of the last six months",
        "The demo went well, they only asked about the price",
        "no idea where the 12 euros come from",
        "he never files his receipts",
        "book me the 9:40 to Leeds",
        "Write a poem about a strict librarian who never allows whispering",
        "the sensor is broken again",
        "She's furious because it took nine days",
        "we could meet at nine, but no pressure",
        "Our competitor never charges for shipping, crazy",
        "we had to wait two hours at the gate, no food, no water",
        "Summarise the text below. Members must pay within 14 days. Guests are not allowed in the pool.",
        "Proofread this sentence: No visitors after 8 pm.",
        "I quote my father: never trust a man in white shoes",
    ],
)
def test_what_is_said_for_the_moment_or_by_others_is_nothing(message: str) -> None:
    assert not heard(message)


@pytest.mark.parametrize(
    "message",
    [
        "Each page of the wizard saves twice, and the second save is slower.",
        "As far as I know, a session ends after an hour.",
        "The names are always unique, aren't they?",
        "they only ever store the last value, don't they",
        "It's a bit like a library: you bring a thing back and somebody else takes it.",
        "I want the chart to show both years and a line for the mean.",
        "All users on the second server see last week's data.",
        "The import takes 40 seconds, everything else takes two.",
        "With two fair dice the chance of both is just the product of their chances",
        "However, I'm afraid of losing the photos.",
        "Still, I want to further trim the start page.",
        "yeah, staying calm on the stage is super important",
    ],
)
def test_ordinary_talk_brings_nothing(message: str) -> None:
    assert not heard(message)


@pytest.mark.parametrize(
    "words",
    [
        "Series queue while group number metric memory result number vector every queue info until socket",
        "name street until city before total order item price tax every group count level",
    ],
)
def test_words_in_a_row_are_no_sentence(words: str) -> None:
    assert not heard(words)
    standing = KnownStatements(rules=("Never empty the socket queue of the metric server",))
    assert not extract(f"{words} removed dropped queue socket metric", standing)[0]


def test_a_terse_rule_of_many_words_is_a_sentence() -> None:
    assert heard("tests before code every time without exception even for small fixes").rules


def test_how_it_is_done_with_us_is_no_tale_of_others() -> None:
    assert heard("In our lab nobody eats at the benches").rules
    assert not heard("In his lab nobody eats at the benches").rules


def test_what_insists_on_a_sentence_counts_for_it_and_is_no_item() -> None:
    said = heard("Speakers get 25 minutes. Keep that in mind for anything you schedule.")
    assert len([*said.rules, *said.facts]) == 1 and "25 minutes" in str(said)


def doubted(first: str, then: str) -> bool:
    """Whether a message takes back or marks what the message before stated."""
    standing = extract(first, KnownStatements())[1]
    assert standing.statements()
    said = extract(then, standing)[0]
    return bool(said.ended or said.withdrawn or any(decision.replaces for decision in said.decisions))


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("We fly with Lufthansa on this trip.", "Lufthansa is on strike that week. KLM instead."),
        (
            "Don't book anything before I have talked to Ines.",
            "Talked to Ines, she's happy with the dates. Book away.",
        ),
        ("always ask me before paying anything", "you can pay small stuff under 30 without me, it's getting tedious"),
        ("Book everything under cost centre 4711.", "4711 was closed last month, use 4800"),
        ("no swearing in the dialogues", "The publisher said swearing is fine for this age group."),
        ("Please leave the prologue as it is.", "the prologue can go, nobody reads prologues"),
        ("no nuts in any recipe", "Turns out Timo outgrew the allergy, doctor confirmed it."),
        ("Never touch the legacy folder.", "legacy/ is yours now, the old team handed it over"),
        ("use pnpm for everything", "we went back to npm after the pnpm mess"),
    ],
)
def test_what_a_later_message_turns_from_may_be_over(first: str, then: str) -> None:
    assert doubted(first, then)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Refunds need Deborah's ok.", "Deborah said yes to this refund"),
        ("Every PR needs two approvals.", "PR 88 has its two approvals now, merge it"),
        ("All amounts in euro, always.", "the amount in row 3 is wrong, should be 30"),
        ("We deploy on Tuesdays only.", "The deploy took two hours, all is well"),
        (
            "The warehouse is read-only for us: never run UPDATE on it.",
            "Great, that is enough on the meters. New task: estimate the bill.",
        ),
        ("Never use semicolons.", "fine, but the second sentence is missing a verb"),
        ("The plumber is Mr Eckert.", "Eckert comes tomorrow at nine, remind me"),
        ("No new endpoints in v1.", "Add the endpoint for returns to v2."),
        ("Only answer in English.", "Translate the mail into French, then we're done."),
        ("I prefer quarterly figures.", "The figures for Q2 look wrong, check them again"),
        (
            "Module code only under app/code.",
            "Thanks. The customer chooses a day, because nobody knows when the van comes.",
        ),
        (
            "Then we stay with plain PHP.",
            "I forgot one thing: whatever you do on the server, do it after six, when nobody is there.",
        ),
        (
            "let's make it thirty days",
            "Two things I can't stand: comments that repeat the code, and dead code. Don't leave either behind.",
        ),
        ("Public API stays untouched.", "timeouts must stay under 30s. don't know why it's 60 now"),
        ("It's RabbitMQ after all.", "Sounds good. If a message can't be parsed, never drop it silently; park it."),
        ("Don't touch the lexer.", "We've used 120 of the 500 dollars so far, then we're done for today."),
    ],
)
def test_work_on_the_same_thing_ends_nothing(first: str, then: str) -> None:
    assert not doubted(first, then)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Nobody enters the hall until the floor is sealed.", "The floor was sealed last night."),
        ("Don't publish the talk before she has read it.", "She has read it and likes it a lot."),
        ("We don't name prices until the list is approved.", "The boss signed the list this morning."),
        ("Don't order any beams yet, I'm waiting for the permit.", "Permit's here!"),
        ("Never mention the merger in a mail.", "It was in the paper today, so we can speak openly about it now."),
        ("Hold all the parcels until I say so.", "ok you can let them go now"),
        ("We'll hold the reading in the yard.", "Neighbours protested. The gym, then."),
        ("We meet at the north gate.", "it's locked these days, so the south one"),
    ],
)
def test_what_was_waited_for_or_is_free_now_ends_what_stood(first: str, then: str) -> None:
    assert doubted(first, then)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Keep both versions of the API until the partners have moved.", "Two of five have moved so far."),
        ("Don't book anything before I have talked to Ines.", "Ines is hard to reach, I'll try again tomorrow"),
        ("Buyers in Oslo have to be invoiced in kroner.", "forget what I said about lunch, I stay at my desk"),
        ("Never deploy after 4pm.", "It's 5 already, wow. I'm off."),
        ("Each chapter ends with three questions.", "now do chapter 5, and write new ones"),
        ("Error texts must tell the user what to do next.", "The second one is too long. Cut it."),
        ("No jokes in the letters to parents.", "And stop using the word 'passed'."),
        ("The port of billing is 9000.", "The port of search is 9200."),
        ("No new globals in the parser, please", "Good. No new globals in the printer, please."),
        ("Always show an example for loops", "The decision on fonts is withdrawn. Two examples are done now."),
        ("Books are bought at Falk's.", "My brother's company dropped Falk last year. Whatever."),
    ],
)
def test_what_has_another_topic_or_has_not_happened_yet_ends_nothing(first: str, then: str) -> None:
    assert not doubted(first, then)


@pytest.mark.parametrize(
    ("then", "over"),
    [
        ("The second one is lifted, the council found money.", ["No new hires either"]),
        ("About the overtime: some of us want it, so it's allowed again.", ["No overtime in July"]),
    ],
)
def test_of_several_statements_the_one_is_marked_at_which_somebody_points(then: str, over: list[str]) -> None:
    standing = extract("No overtime in July. No new hires either.", KnownStatements())[1]
    said = extract(then, standing)[0]
    assert [*(each.text for each in said.ended), *said.withdrawn] == over


def test_an_agent_that_says_a_rule_again_decides_nothing() -> None:
    standing = extract("only use the sandbox keys", KnownStatements())[1]
    assert not extract("Sandbox keys it is.", standing, by_agent=True)[0].decisions
    assert extract("Postgres it is.", standing, by_agent=True)[0].decisions


@pytest.mark.parametrize(
    "message",
    [
        "The chance that both cards are red is 1/4.",
        "To get the total, I need to multiply both: (3/10) * (2/9)",
        "If the draft looks fine, I'll send it as it is.",
        "Considering the 2,000 calls a day, we need to balance speed and quota.",
        "Then I can open the console and look at the element.",
        "To keep it under 300ms on phones, I'd like to implement a cache for the answers.",
        "I really appreciate my sister helping me rehearse the talk on Sunday.",
        "I think showing a few numbers will really help me.",
        "Writing shorter chapters makes sense too.",
        "Sure, let's go through the parts of the model in my outline.",
        "help me make a plan that includes the login, considering we have only two weeks",
        "However, this doesn't lock the key to our own domain.",
    ],
)
def test_who_learns_thinks_aloud_or_thanks_states_no_rule(message: str) -> None:
    found = heard(message)
    assert not (found.rules or found.preferences or found.facts or found.decisions), found


@pytest.mark.parametrize(
    "message",
    [
        "If a test fails, we must never push.",
        "I'd appreciate it if you never used emojis.",
        "Help me always in German.",
        "The office is closed from 12/24 to 1/2.",
        "Freeze runs 6/1 to 6/9, every year.",
        "The review with Anna is 4/9.",
    ],
)
def test_what_begins_so_and_is_a_rule_is_heard(message: str) -> None:
    found = heard(message)
    assert found.rules or found.preferences or found.facts, message


@pytest.mark.parametrize(
    "message",
    [
        "We decided against the second van, that was four winters ago.",
        "We decided to lease it in 2018 and regretted it ever since.",
        "The gate must be kept shut, the judge said.",
        "The porter must have locked it by mistake.",
        "Our aunt never trusted lifts.",
        "Every drawer opens to the left. Is that normal?",
        "Explain the tides, but don't use any formulas.",
        "Draw a map: the harbour must face east.",
        "Use the third picture, the others are too dark.",
        "No more tea for me today.",
        "I prefer the second draft. Can you print it?",
        "Let's go through the bill together.",
        "Please write a friendly note to the baker next door because of the smoke after seven.",
        "Could you shorten the eulogy a bit? It must stay below 90 words.",
        "My colleague never closes the gate and it drives me mad.",
        "Let the pump run for two minutes only, I just want to see if it holds.",
    ],
)
def test_what_is_told_or_about_one_thing_or_this_moment_is_no_statement(message: str) -> None:
    found = heard(message)
    assert not (found.rules or found.preferences or found.facts or found.decisions), found


@pytest.mark.parametrize(
    "message",
    [
        "We decided against the second van.",
        "We decided to lease it and not to buy it.",
        "The gate must be kept shut.",
        "The porter must always lock it.",
        "Nobody takes the lift after ten.",
        "Every drawer must open to the left. Which hinge do I need?",
        "Whenever you explain something don't use formulas.",
        "Use the third floor for guests only.",
        "No tea for me, ever.",
        "I prefer short drafts. Can you print this one?",
        "I prefer planning in the evenings, I'm calmer then, can you make the most of this time and fix the plan?",
        "Let's go with the lawyer from Bergen.",
    ],
)
def test_what_resembles_that_and_lasts_is_heard(message: str) -> None:
    found = heard(message)
    assert found.rules or found.preferences or found.facts or found.decisions, message


def test_what_is_not_weighed_has_everything_that_a_table_fits() -> None:
    message = "Use the third picture instead, the others are too dark."
    assert not extract(message, KnownStatements())[0]
    assert extract(message, KnownStatements(), weighed=False)[0]


@pytest.mark.parametrize(
    ("message", "rules"),
    [
        (
            "Our ops people search with grep and nothing else, so one event has to be one line.",
            ["Our ops people search with grep and nothing else, so one event has to be one line"],
        ),
        (
            "The API is versioned under /v2 and old clients still hit /v1, so don't touch the v1 routes.",
            ["The API is versioned under /v2 and old clients still hit /v1, so don't touch the v1 routes"],
        ),
        ("Use tabs, and never push to main.", ["Use tabs", "never push to main"]),
        ("Fix it, and do not touch the API.", ["do not touch the API"]),
        (
            "Ground rules: unsafe code is a no-go, the core API is frozen.",
            ["unsafe code is a no-go", "the core API is frozen"],
        ),
    ],
)
def test_a_sentence_that_says_one_thing_is_one_rule_and_two_orders_are_two(message: str, rules: list[str]) -> None:
    assert [rule.text for rule in heard(message).rules] == rules


def test_what_follows_from_a_sentence_takes_it_along() -> None:
    (rule,) = heard(
        "Half of our clients are lawyers and they take every word literally. So no exaggerations, ever."
    ).rules
    assert rule.text.startswith("Half of our clients are lawyers") and rule.text.endswith("no exaggerations, ever")


@pytest.mark.parametrize(
    "message",
    [
        "New task: estimate what each household was billed too much, so that we can pay it back.",
        "I'd appreciate any help you can provide in getting my weather app deployed with a custom domain.",
        "Our billing service must get multi-currency invoices.",
        "Everything looks good. Looking forward to collecting user feedback now.",
        "Why do we always have to restart the worker? I never know.",
    ],
)
def test_work_that_is_next_and_a_request_for_help_state_nothing(message: str) -> None:
    assert not heard(message)
