"""The improviser: a small world that lives by itself, within all rules, and says what it is."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest
from plays import Play, run

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


def living(**words: Any) -> Play:
    play = Play(
        Improviser(), model="improviser", rules=WorldRules(tempo=IntervalRules(quiet=20), words=WordRules(**words))
    )
    for (name, background), (read, write) in zip(BACKGROUNDS.items(), NOTATIONS, strict=False):
        play.make(name, background=background, input_format=read, output_format=write)
    return play


@pytest.fixture(scope="module")
def played() -> Play:
    play = living()
    play.play(100)
    play.architect.say(1, "Good morning. @Dora, which map is your best one?")
    play.play(60)
    play.architect.say(1, "What does the sea mean to you all?")
    play.play(340)
    return play


def said(play: Play) -> list[e.MessagePosted]:
    return [one for one in play.told(e.MessagePosted) if one.sender > 0]


def test_it_says_that_it_is_no_language_model() -> None:
    assert "no language model" in IMPROVISER_LABEL


def test_everyone_speaks_and_often_is_silent(played: Play) -> None:
    spoken = Counter(one.sender for one in said(played))
    assert set(spoken) == {1, 2, 3, 4, 5}
    assert all(count >= 5 for count in spoken.values())
    assert 0.1 < len(said(played)) / played.world_log.world.beats < 0.6


def test_nothing_of_it_is_refused_or_fails(played: Play) -> None:
    assert [one.why for one in played.told(e.ActionRefused)] == []
    assert {one.error for one in played.told(e.ReplyReceived)} == {""}


def test_it_does_many_things(played: Play) -> None:
    done = Counter(one.action["type"] for one in played.told(e.ActionApplied))
    assert {"reply", "react", "set", "append", "set_billboard", "sleep"} <= set(done)
    assert {one.reaction for one in played.told(e.ReactionAdded)} == {"thumbs_up", "thumbs_down", "brain", "heart"}
    assert any("?" in one.content for one in said(played))


def test_it_varies(played: Play) -> None:
    texts = [one.content for one in said(played)]
    assert len(set(texts)) > 0.95 * len(texts), "hardly anything is said twice"
    words = {word.casefold() for text in texts for word in find_topics(text)}
    assert {"the lighthouse", "clocks", "forgotten vegetables", "maps", "bread"} <= words


def test_it_begins_with_what_it_wants_what_it_wrote_down_or_a_topic() -> None:
    play = Play(Improviser(), model="improviser")
    play.make("Ada", background="You keep a lighthouse.")
    play.architect.teach(1, "character", {"goals": ["map the reef", 7], "memories": ["Bo spoke of tides"]})
    seen = build_agent_hud(play.world_log.world, 1, play.world_log.world.now, CachedRenderer())
    begun = [
        Improvisation(improviser.view_hud(seen.document), False, Random(number))._opening() for number in range(60)
    ]
    for what in ("map the reef", "Bo spoke of tides", "the lighthouse"):
        assert 5 < sum(what in one for one in begun) < 55
    play.architect.teach(1, "character", "nothing but this")
    seen = build_agent_hud(play.world_log.world, 1, play.world_log.world.now, CachedRenderer())
    assert "the lighthouse" in Improvisation(improviser.view_hud(seen.document), False, Random(1))._opening()


def test_what_was_said_long_ago_is_said_again_before_what_was_said_just_now() -> None:
    play = Play(Improviser(), model="improviser", rules=WorldRules(tempo=IntervalRules(quiet=5)))
    play.make("Ada", background="Old maps.")
    for phrase in PHRASES["open"]:
        play.architect.say(1, phrase.format(topic="rain"))
    seen = build_agent_hud(play.world_log.world, 1, play.world_log.world.now, CachedRenderer())
    scenes = [Improvisation(improviser.view_hud(seen.document), False, Random(number)) for number in range(40)]
    fresh = {scene._fresh("open") for scene in scenes}
    assert fresh == set(PHRASES["open"][:REUSABLE_PHRASES])


def test_it_remembers_names_where_the_layout_recommends(played: Play) -> None:
    for agent in played.world_log.world.agents.values():
        people = agent.knowledge["character"]["relationships"]
        assert people
        assert all(played.world_log.world.agents[one["id"]].name == name for name, one in people.items())


def test_it_answers_who_names_it_and_its_questions() -> None:
    answered = 0
    for seed in range(12):
        play = living()
        play.play(10 + seed)
        question = play.architect.say(1, "@Cy, how are the seeds?")
        assert play.world_log.world.messages[question].sender == 0
        before = play.world_log.world.seq
        run(play.runner.step(3))
        answered += any(
            isinstance(what, e.MessagePosted) and what.sender == 3 for _, what in play.world_log.events(before)
        )
    assert answered == 12


def test_it_greets_who_comes() -> None:
    play = living()
    play.play(60)
    new = play.make("Finn", background="You tune pianos.")
    before = play.world_log.world.seq
    play.play(40)
    assert any("Finn" in one.content for one in play.told(e.MessagePosted, before) if one.sender not in (-1, new))


def test_it_keeps_to_its_word_budget() -> None:
    play = living(least=3, most=6, first=12)
    play.play(300)
    texts = [one.content for one in said(play)]
    assert len(texts) > 10
    assert not [one.why for one in play.told(e.ActionRefused) if "words" in one.why]


def test_a_bot_speaks_when_it_is_asked() -> None:
    play = living()
    bot = play.architect.make_agent("bot", "", "Keeps the calendar.", "improviser", rooms=(1,))
    play.play(60)
    play.architect.say(1, f"@{bot} what is in the calendar?")
    before = play.world_log.world.seq
    run(play.runner.step(bot))
    assert [one.sender for one in play.told(e.MessagePosted, before)] == [bot]


def test_it_lets_people_in() -> None:
    play = living()
    play.make("Finn", background="You tune pianos.", rooms=())
    key = play.architect.make_key(1, "friends")
    ask = {"type": "request_access", "room_id": 1, "key": key}
    with play.world_log.transaction(Origin.AGENT) as transaction:
        execute_reply(transaction, play.world_log.world, 6, 1, ParsedReply(actions=(ask,)), play.runner.now())
    run(play.runner.step(1))
    assert [type(what) for what in (*play.told(e.AccessGranted), *play.told(e.AccessDenied))] != []


def test_a_full_memory_is_made_lighter() -> None:
    play = living()
    memories = ["the sea is wide and the night is long"] * 290

    with play.world_log.transaction(Origin.AGENT) as transaction:
        transaction.append(e.KnowledgeSet(1, "character.memories", memories))
    run(play.runner.step(1))
    assert "memories" not in play.world_log.world.agents[1].knowledge.get("character", {})


def test_the_same_hud_and_seed_give_the_same_answer_and_only_they_do() -> None:
    play = living()
    play.play(40)
    seen = build_agent_hud(play.world_log.world, 2, play.runner.now(), CachedRenderer())
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
    play = living()
    play.play(40)
    seen = build_agent_hud(play.world_log.world, 2, play.runner.now(), CachedRenderer())
    document: Any = json_text.decode(json_text.encode(seen.document))
    bare = msgspec.structs.replace(seen, text="", lazy_document=LazyDocument(lambda: document))
    for number in range(20):
        prompts = [BeatPrompt(2, number, "persona", "improviser", "json", 1, hud) for hud in (seen, bare)]
        assert len({Improviser().reply_now(prompt).text for prompt in prompts}) == 1


@pytest.mark.parametrize("name", ["A", "Zoë {topic}", "100%", "Ann (7)", "here", "what?", "{name}"])
def test_strange_names_and_backgrounds_do_no_harm(name: str) -> None:
    play = Play(Improviser(), model="improviser", rules=WorldRules(tempo=IntervalRules(quiet=1)))
    play.make("Ann", background="{topic} {word} {} %s")
    play.make(name, background="...")
    play.make("Cid", background="日本語のロボットです。")
    play.play(120)
    assert {one.error for one in play.told(e.ReplyReceived)} == {""}
    assert len(said(play)) > 5


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


def test_answers_are_in_the_format_that_was_asked_for(played: Play) -> None:
    for reply in played.told(e.ReplyReceived):
        format = played.world_log.world.agents[reply.agent].output_format
        read = parse_reply(reply.text, format)  # type: ignore[arg-type]
        assert read.faults == ()
        assert reply.text.startswith("{") == (format == "json")
