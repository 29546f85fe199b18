"""Preferences, facts, answers and changes of mind in plain words: what is heard, and what of it still stands."""

from __future__ import annotations

import msgspec
import pytest

from hudkit import Hud
from hudkit.config import ExtractionSettings, Settings
from hudkit.ingest.extraction import Extracted, KnownStatements, extract

USER, AGENT = "user", "agent"


def heard(message: str, standing: KnownStatements | None = None) -> Extracted:
    return extract(message, standing or KnownStatements())[0]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("I prefer vim keys, can you set them up?", "vim keys"),
        ("I'm comparing parsers, and I prefer small ones, but I'm not sure", "small ones (comparing parsers)"),
        ("We're using Lua 5.4 and I prefer it over Python for scripts", "Lua 5.4 over Python for scripts"),
        ("The user likes terse replies with no filler.", "terse replies with no filler"),
        ("I hate wizards with seven pages.", "I hate wizards with seven pages"),
        ("I can't stand it when an error gets lost.", "I can't stand it when an error gets lost"),
        ("I'd rather see a diff than the whole file.", "I'd rather see a diff than the whole file"),
        ("Please keep your replies to three sentences.", "keep your replies to three sentences"),
        ("Give me the numbers first, the method after.", "Give me the numbers first, the method after"),
        ("considering my preference for dark charts, what do you suggest?", "dark charts"),
        (
            "I prefer hikes by the sea, but I'm not sure if it's the best choice for hot days.",
            "hikes by the sea (for hot days)",
        ),
        (
            "I prefer short loops, but I'm not sure how to make them end at a station, any tips?",
            "short loops (to make them end at a station)",
        ),
        (
            "I prefer a tent, but I'm not sure if it's right for May, can you help me weigh the tent versus a van?",
            "a tent (for May; versus a van)",
        ),
        (
            "I'm trying to plan two weeks in Norway, can you help me with that? I prefer trains to buses.",
            "trains to buses (plan two weeks in Norway)",
        ),
    ],
)
def test_a_preference_is_heard_in_its_own_words(message: str, text: str) -> None:
    assert [preference.text for preference in heard(message).preferences] == [text]


@pytest.mark.parametrize(
    "message",
    [
        "I'd like you to fix the header.",
        "I want a page where people can log in.",
        "Would you prefer tabs?",
        "I like this idea!",
        "I love what you did there.",
        "I'd rather wait for her.",
        "How can I prioritize my tasks?",
        "I prefer it.",
        "Show me the last lines of the log.",
    ],
)
def test_a_wish_for_work_and_praise_are_no_preferences(message: str) -> None:
    assert not heard(message).preferences


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Our metrics host is grafana2.example.net.", "Our metrics host is grafana2.example.net"),
        ("The token for tests costs 3 dollars.", "The token for tests costs 3 dollars"),
        ("The release manager this month is Ada Byron.", "The release manager this month is Ada Byron"),
        ("We call the importer Heron-2.", "We call the importer Heron-2"),
        ("Ticket queue for this team: OPS-14", "Ticket queue for this team: OPS-14"),
        (
            "Current task is porting the scheduler. Step 2 of 4 is done. Next step is the clock.",
            "Current task is porting the scheduler. Step 2 of 4 is done. Next step is the clock",
        ),
        ("Still open: whether we keep the old export.", "Still open: whether we keep the old export"),
        ("FACT: The audit database is Oracle 19 in eu-west-3.", "The audit database is Oracle 19 in eu-west-3"),
    ],
)
def test_a_fact_that_is_worth_a_note_is_heard(message: str, text: str) -> None:
    assert [fact.text for fact in heard(message).facts] == [text]


@pytest.mark.parametrize(
    "message",
    [
        "The load test peaked at 1.2k requests.",
        "The build is slow.",
        "Yesterday the port was 8000.",
        "I think the host is db3.example.net.",
        "What is the port of staging?",
        "The design doc is still in draft.",
        "We renamed fetch_all to list_items.",
        "It is 14 degrees here.",
        "The test failed 3 times.",
        "Fix the link to https://docs.example.com please.",
    ],
)
def test_what_happened_and_what_is_guessed_is_no_fact(message: str) -> None:
    assert not heard(message).facts


@pytest.mark.parametrize(
    "rule",
    [
        "The quota is 40 GB; Never exceed it without a ticket",
        "The cap is 300 rows in total; Never exceed without my consent",
        "If a test could touch real accounts, stop and tell me",
        "Only Ruby 3.3",
        "Show all prices in Swiss francs",
    ],
)
def test_a_rule_keeps_its_object_and_its_condition(rule: str) -> None:
    message = rule.replace("; ", ". ") + "."
    assert [one.text for one in heard(message).rules] == [rule]


def test_a_rule_with_an_object_behind_a_label_is_one_rule() -> None:
    stated = heard("FIRM RULE: Server memory cap is 40 GB total. Never exceed without explicit consent.")
    assert [one.text for one in stated.rules] == [
        "Server memory cap is 40 GB total; Never exceed without explicit consent"
    ]
    assert not stated.facts and not stated.preferences


@pytest.mark.parametrize(
    "message",
    [
        "I'm trying to keep the app small and avoid extra work, can you help?",
        "How can I plan my week and stick to a routine?",
        "No regrets here.",
        "I also don't want to miss the train.",
        "I'll keep a diary. That way, I can look back and make sure I never skip a week.",
        "And yeah, having a good map in mind is really important.",
        "Sticking to my plan is key!",
    ],
)
def test_what_somebody_wants_to_reach_himself_is_no_rule(message: str) -> None:
    assert not heard(message).rules


def talk(*messages: tuple[str, str]) -> dict[str, list[str]]:
    """What stands at the end of a talk, by section; what may be over is not counted."""
    with Hud.in_memory() as hud:
        session = hud.session("s", project="/work/shop")
        for number, (role, text) in enumerate(messages):
            at = 1_795_000_000_000 + 60_000 * number
            kind = "user" if role == USER else "assistant"
            session.ingest([{"id": f"m{number}", "role": kind, "text": text, "time": at}])
        return {
            section: [item.words for item in getattr(session.state, section) if not item.doubt]
            for section in ("constraints", "preferences", "decisions", "notes")
        }


@pytest.mark.parametrize(
    ("question", "answer", "decision"),
    [
        ("Should I parse the dates with arrow or dateutil?", "arrow", "parse the dates with arrow"),
        ("Shall I keep the old column?", "Yes please.", "keep the old column"),
        ("I suggest that we split the module in two.", "agreed", "split the module in two"),
        ("I'd propose a limit of 40 rows.", "make it 25", "a limit of 25 rows"),
        ("Option A adds a table, option B adds a column.", "b", "option B: adds a column"),
        ("Two options: a file lock or an advisory lock. Which one do you want?", "the file lock", "file lock"),
        ("Which colour should the badge use?", "teal", "teal (asked: Which colour should the badge use?)"),
    ],
)
def test_an_answer_to_the_agents_question_is_a_decision(question: str, answer: str, decision: str) -> None:
    assert talk((AGENT, question), (USER, answer))["decisions"] == [decision]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Shall I keep the old column?", "No."),
        ("I suggest that we split the module in two.", "rather not"),
        ("Do you have any other questions, or would you like to explore another example?", "Yes"),
        ("Shall I run the tests now?", "yes"),
        ("Which colour should the badge use?", "no idea"),
        ("Which colour should the badge use?", "Why do you ask?"),
        ("The list is sorted.", "Good."),
    ],
)
def test_a_refusal_small_talk_and_a_step_of_the_moment_are_no_decisions(question: str, answer: str) -> None:
    assert not talk((AGENT, question), (USER, answer))["decisions"]


def test_an_offer_is_answered_by_the_next_message_alone() -> None:
    talked = talk(
        (AGENT, "Shall I keep the old column?"), (USER, "What is in it?"), (AGENT, "Names."), (USER, "Yes.")
    )
    assert not talked["decisions"]


@pytest.mark.parametrize(
    ("first", "second", "section", "stands"),
    [
        ("The quota is 40 GB.", "The quota is 60 GB.", "notes", ["The quota is 60 GB"]),
        (
            "The review date is 3 March.",
            "They moved the review to 17 March.",
            "notes",
            ["They moved the review to 17 March"],
        ),
        (
            "Report all times in UTC.",
            "For invoices, show times in Pacific time.",
            "constraints",
            ["For invoices, show times in Pacific time"],
        ),
        (
            "I like long names.",
            "I don't want long names anymore.",
            "preferences",
            [],
        ),
        ("Never push to main.", "Always push to main.", "constraints", ["Always push to main"]),
        ("I'm on branch fix/a-1.", "I've switched to branch fix/b-2.", "notes", ["I've switched to branch fix/b-2"]),
    ],
)
def test_a_later_statement_ends_the_one_that_it_contradicts(first, second, section, stands) -> None:
    assert talk((USER, first), (USER, second))[section] == stands


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The port of billing is 9000.", "The port of search is 9200."),
        ("Images must stay under 200 KB.", "The bundle must stay under 300 KB."),
        ("The primary region is eu-north-1.", "The backup region is us-west-2."),
    ],
)
def test_another_thing_with_a_value_of_the_same_kind_stays(first: str, second: str) -> None:
    assert sum(len(items) for items in talk((USER, first), (USER, second)).values()) == 2


def test_an_exception_for_one_case_leaves_the_rule_marked() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s", project="/work/shop")
        for number, text in enumerate(("Never rename a column.", "For this ticket you may rename the column.")):
            session.ingest([{"id": f"m{number}", "role": "user", "text": text, "time": 1_795_000_000_000 + number}])
        (rule,) = session.state.constraints
        assert rule.suspended and rule.doubt == "For this ticket you may rename the column."
        frame = session.frame(used_tokens=1000, limit_tokens=200_000)
        assert "Never rename a column (derived, but: For this ticket you may rename the column.)" in frame.base


def test_what_seems_to_be_over_is_marked_and_leaves() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s", project="/work/shop")
        for number, text in enumerate(("Let's keep Travis for the builds.", "Travis is gone since Monday.")):
            session.ingest([{"id": f"m{number}", "role": "user", "text": text, "time": 1_795_000_000_000 + number}])
        (decision,) = session.state.decisions
        assert decision.doubt == "Travis is gone since Monday."
        assert (
            "Travis"
            not in session.frame(used_tokens=1000, limit_tokens=200_000)
            .base.partition("# Task")[2]
            .partition("## ")[2]
        )


def test_the_log_has_the_sentence_and_what_it_was_taken_for() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s", project="/work/shop")
        text = "Well, I prefer small commits, can you split this one?"
        session.ingest([{"id": "m1", "role": "user", "text": text, "time": 1_795_000_000_000}])
        (event,) = [event for event in session.events() if event.type == "preference.add"]
        assert (event.payload.text, event.payload.sentence, event.payload.form) == (
            "small commits",
            text,
            "preference",
        )


def test_plain_words_can_be_left_alone_while_tools_are_still_read() -> None:
    settings = Settings(extraction=ExtractionSettings(plain_words=False))
    with Hud.in_memory(settings=settings) as hud:
        session = hud.session("s", project="/work/shop")
        call = {"id": "c1", "tool": "read", "arguments": {"filePath": "/work/shop/a.py"}, "output": "x = 1"}
        session.ingest(
            [
                {"id": "m1", "role": "user", "text": "Never push to main. I prefer tabs.", "time": 1_795_000_000_000},
                {
                    "id": "m2",
                    "role": "assistant",
                    "text": "Let's go with Redis.",
                    "time": 1_795_000_060_000,
                    "tool_calls": [call],
                },
            ]
        )
        state = session.state
        assert not (state.constraints or state.preferences or state.decisions or state.notes)
        assert [file.path for file in state.files.active] == ["a.py"]


def test_what_a_message_told_goes_when_it_is_taken_back() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s", project="/work/shop")
        first = {
            "id": "m1",
            "role": "user",
            "text": "I prefer tabs. The port of staging is 8100.",
            "time": 1_795_000_000_000,
        }
        session.ingest([first])
        assert session.state.preferences and session.state.notes
        session.ingest([{"id": "m2", "role": "assistant", "text": "Noted.", "time": 1_795_000_060_000}])
        session.frame(
            used_tokens=1000,
            limit_tokens=200_000,
            transcript=[("user:1795000000000:", "user"), ("assistant:1795000060000:", "assistant")],
        )
        assert session.state.preferences and session.state.notes, "nobody took it back"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "I'll use a frozen tuple for orders instead of a list.",
            "I'll use a frozen tuple for users instead of a list.",
        ),
        ("I'll sort lamps by weight rather than by name.", "I'll sort chairs by weight rather than by name."),
    ],
)
def test_the_same_choice_for_another_thing_ends_nothing(first: str, second: str) -> None:
    for by_agent in (False, True):
        _, standing = extract(first, KnownStatements(), by_agent=by_agent)
        after = extract(second, standing, by_agent=by_agent)[0]
        assert not after.ended and not any(decision.replaces for decision in after.decisions)


def test_another_choice_for_the_same_thing_ends_the_first() -> None:
    _, standing = extract("Let's use Kafka for the queue instead of Rabbit.", KnownStatements())
    assert heard("Let's use Nats for the queue instead of Kafka.", standing).decisions[0].replaces


@pytest.mark.parametrize(
    ("first", "second", "stands"),
    [
        ("Limit the download to 20 MB.", "20 MB is too little, let's say 80 MB.", "Limit the download to 80 MB"),
        ("Let's name the tool hammer.", "Hammer is taken. Let's name it anvil.", "Let's name the tool anvil"),
    ],
)
def test_what_is_turned_down_by_its_name_gives_way(first: str, second: str, stands: str) -> None:
    _, standing = extract(first, KnownStatements())
    texts = [statement.text for statement in extract(second, standing)[1].statements()]
    assert stands in texts or "Let's name it anvil" in texts
    assert first.rstrip(".") not in texts


LECTURE = "A queue keeps what is sent until somebody takes it, and that is the reason why it is there. " * 20


def test_a_long_answer_explains_and_announces_only_what_its_author_chose() -> None:
    steps = "Let's use a small queue to begin with. Replacing names with numbers. I chose Heron over Stork."
    short, long = (extract(f"{text}{steps}", KnownStatements(), by_agent=True)[0] for text in ("", LECTURE))
    assert len(short.decisions) > 1
    assert [decision.summary for decision in long.decisions] == ["I chose Heron over Stork"]


@pytest.mark.parametrize(
    "message",
    [
        "I think I'll go with that.",
        "Let's dive deeper into the second part.",
        "I'll pick two of them and see how they read.",
        "I want to make sure that it's the right decision -> 5,9",
        "I'll keep an eye on the plot and make sure it stays short.",
        "Here's an example of a cache that never grows.",
        "Got it! The port of that host is 8080.",
    ],
)
def test_a_next_step_and_what_points_back_state_nothing(message: str) -> None:
    assert not heard(message)


@pytest.mark.parametrize(
    "message", ["Note where the prices come from.", "Note what you know of the kilns.", "Remember how it was done."]
)
def test_a_request_to_note_an_answer_is_no_rule(message: str) -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s", project="/work")
        session.ingest([{"id": "m1", "role": "user", "text": message, "time": 1_795_000_000_000}])
        assert not session.state.constraints and not session.state.preferences


@pytest.mark.parametrize(
    "message",
    [
        "Tidy up this talk:\nSpeaker 1: we never bill in pounds?\nSpeaker 2: only euros from May on\nSpeaker 1: ok",
        "Anna: we must never ship on Mondays\nBen: always after lunch\nAnna: fine",
        "From: L. Moreno\nSubject: stand\n\nPlease make sure that nobody blocks the aisle. We like tea.\n\nwhat now?",
        "3fa9c1 never cache avatars\n81be07 always use utf-8\n\nwhich of those broke the login?",
        "1. Always check the inputs\n2. Never skip a test\nWould you like me to proceed?",
        "Rectangles must never overlap. All sides are at most 4 cm.\n\nthat is from my son's homework, any hint?",
        "here's what the agency sent us, can you boil it down:\nTenants must air daily. Pets are never allowed.",
        "Here's the changelog of the lib, summarise please:\n- 2.0: always close cursors\n- 2.1: `tz` must be given",
        "Compare the two policies below.\nPolicy A: staff must badge in.\nPolicy B: guests may come with a host.",
        "Read the following and tell me if it is legal:\nStaff may not work elsewhere. All patents belong to us.",
        "from the minutes:\n- all trips need approval\n- no more paper cups\nwhat's that last point about",
        "dear all, please note that the sink must be left clean. that was the mail. how do I answer it nicely?",
        "Draft an out-of-office note: in urgent cases people should always call Ms Ode.",
        "From here: https://example.org/faq\n'Members must pay by the 5th.'\nis there a late fee?",
        "Which would you take, and why? 1) RabbitMQ 2) a table in Postgres 3) Kafka",
    ],
)
def test_what_is_shown_to_be_worked_on_states_nothing(message: str) -> None:
    said = heard(message)
    assert not (said.rules or said.preferences or said.facts or said.decisions)


@pytest.mark.parametrize(
    "message",
    [
        "$ npm run build\n> shop@1.4.2 build\n[vite] You must set VITE_URL before building.\nany idea?",
        "$ terraform plan\nError: invalid provider\nProvider requires a region. You must specify one.\nugh",
        "Traceback (most recent call last):\nValueError: x\nAll sizes must be at least 3.\nwhat now",
        "why is this slow\nSELECT * FROM orders o\nJOIN users u ON u.id = o.uid\nAND note NOT LIKE '%do not ship%'",
    ],
)
def test_what_a_program_printed_over_several_lines_states_nothing(message: str) -> None:
    assert not heard(message)


@pytest.mark.parametrize(
    "said",
    ["never run make without -j4 here", "Please never call that script by hand.", "- Always pass -j4 to make"],
)
def test_what_is_said_right_behind_printed_lines_is_heard(said: str) -> None:
    assert heard(f"$ make all\nmake: *** [all] Error 2\nLinker output follows in build.log\n{said}").rules


@pytest.mark.parametrize(
    "message",
    [
        "In chess a rook must never jump. Write a function that checks this.",
        "In my novel the abbey has one law: no one speaks after sunset. Write the scene.",
        "The rules of the game: each player draws two cards, nobody may show them. Simulate it.",
        "Requirements from the job ad: must speak Dutch, never late. Do I have a chance?",
    ],
)
def test_what_holds_in_a_game_or_a_story_is_no_rule(message: str) -> None:
    assert not heard(message)


@pytest.mark.parametrize(
    "message",
    [
        "don't ask how long that took me",
        "I'd rather die than write another cover letter",
        "I'm so tired of this, I always end up fixing what others broke",
        "The printer only works if you turn it off and on again, typical",
        "ok then leave it as it is",
        "Explain why one should never divide by zero",
        "Sometimes I think we should only sell online",
        "the parser takes a list and always returns a dict, is that right",
        "so it passes locally but never in CI, what's different there",
        "Every hostel in town is full that week",
        "please list all islands that have no harbour",
        "the last two columns can go",
    ],
)
def test_a_turn_of_phrase_a_complaint_and_a_hidden_question_demand_nothing(message: str) -> None:
    assert not heard(message)


def test_a_case_is_no_rule_without_what_is_to_be_done_in_it() -> None:
    rules = heard("From now on whenever you touch the schema, tell me before you run it. I mean BEFORE.").rules
    assert [rule.text for rule in rules] == ["From now on whenever you touch the schema, tell me before you run it"]


@pytest.mark.parametrize(
    "message",
    [
        "Show me all the orders that are more than 20 days old",
        "Just remove those two files, nobody reads them",
        "Write a poem about a king who must never sleep",
        "Let's start with the one about fractions",
        "make the banner taller. no taller. ok good",
        "Seating list for the wedding please, no more than six to a table.",
        "Please never shorten the street names in this table.",
        "rename the crate everywhere, never touch the tests",
        "Talked to the plumber for an hour, all of it about 3 pipes",
    ],
)
def test_an_errand_is_no_rule(message: str) -> None:
    said = heard(message)
    assert not (said.rules or said.preferences or said.facts or said.decisions)


@pytest.mark.parametrize(
    ("message", "decision"),
    [
        ("For the thesis we've picked APA 7.", "For the thesis we've picked APA 7"),
        (
            "I was torn between the bus and the train, but I decided to take the train.",
            "I was torn between the bus and the train, but I decided to take the train",
        ),
        (
            "I thought about the garage door, and we decided to paint it red.",
            "I thought about the garage door, and we decided to paint it red",
        ),
        ("My back hurts, so we decided to hire movers.", "we decided to hire movers"),
    ],
)
def test_a_decision_says_what_it_is_of(message: str, decision: str) -> None:
    assert [announced.summary for announced in heard(message).decisions] == [decision]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("He is formal so always Sie, never du.", "always Sie, never du"),
        ("also the clock ticks at 90 not 30, dont change that", "the clock ticks at 90 not 30, dont change that"),
    ],
)
def test_a_rule_is_kept_with_what_it_points_at(message: str, text: str) -> None:
    said = heard(message)
    assert len(said.rules) == 1
    assert text in said.rules[0].text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I never want to see a dash in my poems.", "ok that was a mood. put them back where they belong"),
        ("Pause all the adverts while we look at the budget.", "The budget is approved. You can run them again."),
        ("We publish the talks on Mondays.", "Hm, Mondays are dead. Wednesdays then."),
        ("We use Mocha for the widget tests.", "I'm sick of it. Something newer from now on"),
        ("Let's have the linter run on every save.", "It's driving everyone mad. Hourly is enough."),
        ("No meat in the menus.", "scrap that, half of the guests complained"),
        # a new job is no next job
        (
            "I only have the mornings for this, so give me tasks of two hours.",
            "new job: I'm full time on it from Monday. Bigger tasks are okay then.",
        ),
    ],
)
def test_a_short_turn_marks_what_was_said_just_before(first: str, second: str) -> None:
    hud = Hud.in_memory()
    session = hud.session("ses_1", project="/work/shop")
    for number, (role, text) in enumerate((("user", first), ("assistant", "Okay."), ("user", second))):
        session.ingest([{"id": f"m{number}", "role": role, "text": text, "time": 1_795_000_000_000 + number}])
    state = session.state
    items = [*state.constraints, *state.preferences, *state.decisions, *state.notes]
    assert all(item.doubt for item in items if item.words.casefold() in first.casefold())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("We use pnpm, not npm.", "change the readme then"),
        ("Answer in at most five sentences.", "forget the second draft, I'll write that one"),
        ("All invoices are approved by Ines.", "what if we skip it this once"),
    ],
)
def test_what_goes_on_with_the_work_marks_nothing(first: str, second: str) -> None:
    said = extract(second, extract(first, KnownStatements())[1])[0]
    assert not said.ended


@pytest.mark.parametrize(
    ("message", "rules"),
    [
        ("All measurements are in centimetres, never inches.", ["All measurements are in centimetres, never inches"]),
        (
            "Log lines must be JSON. One object per line, and no stack traces across lines.",
            ["Log lines must be JSON", "One object per line, and no stack traces across lines"],
        ),
        ("Always write Sie, never du in letters.", ["Always write Sie, never du in letters"]),
        ("Use tabs, and never push to main.", ["Use tabs", "never push to main"]),
        ("Use tabs, never push to main.", ["Use tabs", "never push to main"]),
    ],
)
def test_what_says_one_thing_is_one_item(message: str, rules: list[str]) -> None:
    said, _ = extract(message, KnownStatements())
    assert [rule.text for rule in said.rules] == rules


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("Only run the importer against the staging queue.", "Only run the exporter against the staging queue."),
        ("Never log the payloads of the importer.", "We are no longer blocked by the printer."),
    ],
)
def test_what_is_said_of_another_thing_ends_nothing(rule: str, said: str) -> None:
    _, standing = extract(rule, KnownStatements())
    _, standing = extract("Please look at the parser.", standing)
    heard, _ = extract(said, standing)
    assert not heard.ended and not heard.withdrawn


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Can you please use tabs from now on?", "use tabs from now on"),
        ("Could you write the totals in bold in future?", "write the totals in bold in future"),
    ],
)
def test_a_question_that_orders_something_for_good_is_a_rule(message: str, text: str) -> None:
    assert [rule.text for rule in heard(message).rules] == [text]


def test_a_question_that_orders_something_else_for_good_ends_what_was_ordered() -> None:
    standing = extract("Always use British spelling.", KnownStatements())[1]
    said = heard("Could you write American spelling in future?", standing)
    assert [each.text for each in said.ended] == ["Always use British spelling"]


@pytest.mark.parametrize(
    ("rule", "echo"),
    [
        ("Use my maiden name Lindqvist in all bookings.", "Lindqvist it is."),
        ("Everything goes in one file, index.html.", "One file it is."),
    ],
)
def test_an_agent_that_says_a_rule_again_decides_nothing(rule: str, echo: str) -> None:
    standing = extract(rule, KnownStatements())[1]
    assert not extract(echo, standing, by_agent=True)[0].decisions
    assert extract("Blue it is.", standing, by_agent=True)[0].decisions


def test_what_somebody_wants_who_has_a_say_may_end_a_rule() -> None:
    standing = extract("Only formal letters to the parents.", KnownStatements())[1]
    assert heard("The head wants no more formal letters from now on.", standing).ended
    assert not heard("The docs say no more formal letters from now on.", standing).ended


def test_the_more_stands_the_more_must_speak_for_it_that_something_is_over() -> None:
    standing = extract("Pause all the adverts while we look at the budget.", KnownStatements())[1]
    message = "we're through with the adverts and the budget now"
    assert heard(message, standing).ended
    many = KnownStatements(rules=(*(f"Room {number} is for guests" for number in range(40)), *standing.rules))
    assert not heard(message, many).ended
    # of a long session's messages few end anything
    assert extract("What is behind the door?", standing)[1].messages == standing.messages + 1
    assert not heard(message, msgspec.structs.replace(standing, messages=1_000)).ended


def test_what_is_new_of_one_part_ends_nothing_of_another() -> None:
    standing = extract("The production database is Postgres 16.", KnownStatements())[1]
    assert not heard("The staging database is MySQL 8 now.", standing).ended
    assert heard("The new production database is MySQL 8 now.", standing).ended


def test_what_a_thing_is_called_is_a_decision_whatever_stands_before_it() -> None:
    said = heard("Always show a runnable example for the loom.\nLet's call it shuttle and not a plugin.")
    assert [each.summary for each in said.decisions] == ["Let's call it shuttle and not a plugin"]
