"""The improviser: a small world that lives by itself, within all rules, and says what it is."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest
from simulations import Simulation, run

from hudkit.compose.formats import json_text
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.actions import execute_reply
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.hud.agent_hud import LazyDocument
from hudkit.rooms.players import IMPROVISER_LABEL, BeatPrompt, Improviser, improviser
from hudkit.rooms.players.improviser import REUSABLE_PHRASES, Improvisation
from hudkit.rooms.players.improviser_phrases import PHRASES, find_topics
from hudkit.rooms.reply_parser import ParsedReply, parse_reply
from hudkit.rooms.world import IntervalRules, WordRules, WorldRules

pytestmark = pytest.mark.slow

BACKGROUNDS = {
    "Ada": "You keep a lighthouse and write down the weather of every day.",
    "Bo": "You repair clocks and dream of the sea.",
    "Cy": "You are a gardener who collects seeds of forgotten vegetables.",
    "Dora": "You were a pilot; now you draw maps from memory.",
    "Emil": "You bake bread at night and read astronomy.",
}
NOTATIONS = tuple(itertools.product(("json", "compact", "toon"), ("json", "toon")))


def living(**words: Any) -> Simulation:
    sim = Simulation(
        Improviser(), model="improviser", rules=WorldRules(tempo=IntervalRules(quiet=20), words=WordRules(**words))
    )
    for (name, background), (read, write) in zip(BACKGROUNDS.items(), NOTATIONS, strict=False):
        sim.make(name, background=background, input_format=read, output_format=write)
    return sim


@pytest.fixture(scope="module")
def played() -> Simulation:
    sim = living()
    sim.run(100)
    sim.architect.say(1, "Good morning. @Dora, which map is your best one?")
    sim.run(60)
    sim.architect.say(1, "What does the sea mean to you all?")
    sim.run(340)
    return sim


def said(sim: Simulation) -> list[e.MessagePosted]:
    return [one for one in sim.events_of(e.MessagePosted) if one.sender > 0]


def test_it_says_that_it_is_no_language_model() -> None:
    assert "no language model" in IMPROVISER_LABEL


def test_everyone_speaks_and_often_is_silent(played: Simulation) -> None:
    spoken = Counter(one.sender for one in said(played))
    assert set(spoken) == {1, 2, 3, 4, 5}
    assert all(count >= 5 for count in spoken.values())
    assert 0.1 < len(said(played)) / played.world_log.world.beats < 0.6


def test_nothing_of_it_is_refused_or_fails(played: Simulation) -> None:
    assert [one.why for one in played.events_of(e.ActionRefused)] == []
    assert {one.error for one in played.events_of(e.ReplyReceived)} == {""}


def test_it_does_many_things(played: Simulation) -> None:
    done = Counter(one.action["type"] for one in played.events_of(e.ActionApplied))
    assert {"reply", "react", "set", "append", "set_billboard", "sleep"} <= set(done)
    assert {one.reaction for one in played.events_of(e.ReactionAdded)} == {
        "thumbs_up",
        "thumbs_down",
        "brain",
        "heart",
    }
    assert any("?" in one.content for one in said(played))


def test_it_varies(played: Simulation) -> None:
    texts = [one.content for one in said(played)]
    assert len(set(texts)) > 0.95 * len(texts), "hardly anything is said twice"
    words = {word.casefold() for text in texts for word in find_topics(text)}
    assert {"the lighthouse", "clocks", "forgotten vegetables", "maps", "bread"} <= words


def test_it_begins_with_what_it_wants_what_it_wrote_down_or_a_topic() -> None:
    sim = Simulation(Improviser(), model="improviser")
    sim.make("Ada", background="You keep a lighthouse.")
    sim.architect.teach(1, "character", {"goals": ["map the reef", 7], "memories": ["Bo spoke of tides"]})
    seen = build_agent_hud(sim.world_log.world, 1, sim.world_log.world.now, CachedRenderer())
    begun = [
        Improvisation(improviser.view_hud(seen.document), False, Random(number))._opening() for number in range(60)
    ]
    for what in ("map the reef", "Bo spoke of tides", "the lighthouse"):
        assert 5 < sum(what in one for one in begun) < 55
    sim.architect.teach(1, "character", "nothing but this")
    seen = build_agent_hud(sim.world_log.world, 1, sim.world_log.world.now, CachedRenderer())
    assert "the lighthouse" in Improvisation(improviser.view_hud(seen.document), False, Random(1))._opening()


def test_what_was_said_long_ago_is_said_again_before_what_was_said_just_now() -> None:
    sim = Simulation(Improviser(), model="improviser", rules=WorldRules(tempo=IntervalRules(quiet=5)))
    sim.make("Ada", background="Old maps.")
    for phrase in PHRASES["open"]:
        sim.architect.say(1, phrase.format(topic="rain"))
    seen = build_agent_hud(sim.world_log.world, 1, sim.world_log.world.now, CachedRenderer())
    scenes = [Improvisation(improviser.view_hud(seen.document), False, Random(number)) for number in range(40)]
    fresh = {scene._fresh("open") for scene in scenes}
    assert fresh == set(PHRASES["open"][:REUSABLE_PHRASES])


def test_it_remembers_names_where_the_layout_recommends(played: Simulation) -> None:
    for agent in played.world_log.world.agents.values():
        people = agent.knowledge["character"]["relationships"]
        assert people
        assert all(played.world_log.world.agents[one["id"]].name == name for name, one in people.items())


def test_it_answers_who_names_it_and_its_questions() -> None:
    answered = 0
    for seed in range(12):
        sim = living()
        sim.run(10 + seed)
        question = sim.architect.say(1, "@Cy, how are the seeds?")
        assert sim.world_log.world.messages[question].sender == 0
        before = sim.world_log.world.seq
        run(sim.runner.step(3))
        answered += any(
            isinstance(what, e.MessagePosted) and what.sender == 3 for _, what in sim.world_log.events(before)
        )
    assert answered == 12


def test_it_greets_who_comes() -> None:
    sim = living()
    sim.run(60)
    new = sim.make("Finn", background="You tune pianos.")
    before = sim.world_log.world.seq
    sim.run(40)
    assert any("Finn" in one.content for one in sim.events_of(e.MessagePosted, before) if one.sender not in (-1, new))


def test_it_keeps_to_its_word_budget() -> None:
    sim = living(min_words=3, max_words=6, first=12)
    sim.run(300)
    texts = [one.content for one in said(sim)]
    assert len(texts) > 10
    assert not [one.why for one in sim.events_of(e.ActionRefused) if "words" in one.why]


def test_a_bot_speaks_when_it_is_asked() -> None:
    sim = living()
    bot = sim.architect.make_agent("bot", "", "Keeps the calendar.", "improviser", rooms=(1,))
    sim.run(60)
    sim.architect.say(1, f"@{bot} what is in the calendar?")
    before = sim.world_log.world.seq
    run(sim.runner.step(bot))
    assert [one.sender for one in sim.events_of(e.MessagePosted, before)] == [bot]


def test_it_lets_people_in() -> None:
    sim = living()
    sim.make("Finn", background="You tune pianos.", rooms=())
    key = sim.architect.make_key(1, "friends")
    ask = {"type": "request_access", "room_id": 1, "key": key}
    with sim.world_log.transaction(Origin.AGENT) as transaction:
        execute_reply(transaction, sim.world_log.world, 6, 1, ParsedReply(actions=(ask,)), sim.runner.now())
    run(sim.runner.step(1))
    assert [type(what) for what in (*sim.events_of(e.AccessGranted), *sim.events_of(e.AccessDenied))] != []


def test_a_full_memory_is_made_lighter() -> None:
    sim = living()
    memories = ["the sea is wide and the night is long"] * 290

    with sim.world_log.transaction(Origin.AGENT) as transaction:
        transaction.append(e.KnowledgeSet(1, "character.memories", memories))
    run(sim.runner.step(1))
    assert "memories" not in sim.world_log.world.agents[1].knowledge.get("character", {})


def test_the_same_hud_and_seed_give_the_same_answer_and_only_they_do() -> None:
    sim = living()
    sim.run(40)
    seen = build_agent_hud(sim.world_log.world, 2, sim.runner.now(), CachedRenderer())
    one, two, three = (
        Improviser().reply_now(BeatPrompt(2, 50, "persona", "improviser", "json", seed, seen)).text
        for seed in (1, 1, 2)
    )
    many = {
        Improviser().reply_now(BeatPrompt(2, number, "persona", "improviser", "json", 1, seen)).text
        for number in range(60)
    }
    assert one == two
    assert len(many | {three}) > 10


def test_it_reads_nothing_but_the_document() -> None:
    sim = living()
    sim.run(40)
    seen = build_agent_hud(sim.world_log.world, 2, sim.runner.now(), CachedRenderer())
    document: Any = json_text.decode(json_text.encode(seen.document))
    bare = msgspec.structs.replace(seen, text="", lazy_document=LazyDocument(lambda: document))
    for number in range(20):
        prompts = [BeatPrompt(2, number, "persona", "improviser", "json", 1, hud) for hud in (seen, bare)]
        assert len({Improviser().reply_now(prompt).text for prompt in prompts}) == 1


@pytest.mark.parametrize("name", ["A", "Zoë topic", "100%", "Ann, 7", "over here", "what?", "$name"])
def test_strange_names_and_backgrounds_do_no_harm(name: str) -> None:
    sim = Simulation(Improviser(), model="improviser", rules=WorldRules(tempo=IntervalRules(quiet=1)))
    sim.make("Ann", background="{topic} {word} {} %s")
    sim.make(name, background="...")
    sim.make("Cid", background="日本語のロボットです。")
    sim.run(120)
    assert {one.error for one in sim.events_of(e.ReplyReceived)} == {""}
    assert len(said(sim)) > 5


def test_phrases_need_nothing_but_their_places() -> None:
    places = {"name": "N", "self": "S", "topic": "T", "word": "W", "goal": "G", "memory": "M"}
    for phrases in PHRASES.values():
        assert len(set(phrases)) == len(phrases)
        for phrase in phrases:
            assert "{" not in phrase.format_map(places)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You keep a lighthouse and write down the weather of every day.", ["the lighthouse", "the weather"]),
        ("You are a gardener who collects seeds of forgotten vegetables.", ["seeds", "forgotten vegetables"]),
        ("You bake bread at night and read astronomy.", ["bread", "the night", "astronomy"]),
        ("You were a pilot; now you draw maps from memory.", ["maps", "memory"]),
        ("Clocks? Who repairs clocks in Rome?", ["clocks", "Rome"]),
        ("The cat I had two years ago.", ["the cat"]),
        ("Your jokes come without a smile.", ["jokes"]),
        ("Brief answers, with what they rest on.", []),
        ("Warns boats and birdwatchers in time.", ["boats", "birdwatchers"]),
        ("You keep the post office, with the only shop in it.", ["the post office", "the shop"]),
        ("The ferry's timetable: departures, delays.", ["the ferry's timetable", "departures", "delays"]),
        ("", []),
    ],
)
def test_subjects_are_things(text: str, expected: list[str]) -> None:
    assert find_topics(text) == expected


def test_answers_are_in_the_format_that_was_asked_for(played: Simulation) -> None:
    for reply in played.events_of(e.ReplyReceived):
        format = played.world_log.world.agents[reply.agent].output_format
        read = parse_reply(reply.text, format)  # type: ignore[arg-type]
        assert read.faults == ()
        assert reply.text.startswith("{") == (format == "json")
