"""The numbers that 003 gives, where an agent meets them: the defaults of a world, and what its HUD makes of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from small_worlds import NOON, SHORT_PROMPTS, Story

from hudkit.rooms import world_events as e
from hudkit.rooms.hud import AgentHud, CachedRenderer, build_agent_hud
from hudkit.rooms.world import TokenRules, WorldRules

FORMATS = ("json", "compact", "toon")
RENDERER = CachedRenderer()


def test_the_defaults_are_those_of_the_source() -> None:
    rules = WorldRules()
    assert (rules.tempo.min_interval, rules.tempo.max_interval, rules.tempo.step, rules.tempo.decay) == (
        1.0,
        10.0,
        0.5,
        0.1,
    )
    assert (rules.words.wpm, rules.words.min_wpm, rules.words.max_wpm) == (80, 10, 200)
    assert (rules.words.min_words, rules.words.max_words, rules.words.first) == (10, 200, 200)
    tokens = rules.tokens
    assert (tokens.total, tokens.static, tokens.messages, tokens.knowledge) == (10_000, 5_000, 5_000, 3_000)
    assert (tokens.metadata, tokens.actions, rules.caps.name) == (200, 20, 50)


def three_rooms(rules: WorldRules, format_: Any, length: int) -> Story:
    """Room 1 with half of the attention, 2 with 30 %, 3 with 20 %, and more messages than fit."""
    story = Story(rules, SHORT_PROMPTS)
    for name in ("A", "B", "C"):
        story.agent(name, input_format=format_)
    for room, percent in ((1, 50.0), (2, 30.0), (3, 20.0)):
        if room != 1:
            story.tell(e.RoomJoined(room=room, agent=1))
        story.tell(e.AttentionSet(agent=1, room=room, percent=percent))
        for _ in range(60):
            story.say(room, room, "river " * length)
    return story


def rooms(seen: AgentHud) -> dict[int, Any]:
    return {one.room: one for one in seen.sections if one.room}


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_of_5000_tokens_50_30_and_20_percent_are_2500_1500_and_1000(format_: str) -> None:
    before = build_agent_hud(three_rooms(WorldRules(), format_, 120).world, 1, NOON, RENDERER)
    static = sum(one.tokens for one in before.sections if not one.room)
    rules = WorldRules(tokens=TokenRules(total=static + 5_000))
    seen = build_agent_hud(three_rooms(rules, format_, 120).world, 1, NOON, RENDERER)
    assert {room: one.limit for room, one in rooms(seen).items()} == {1: 2_500, 2: 1_500, 3: 1_000}
    assert all(one.tokens <= one.limit for one in rooms(seen).values())
    assert seen.tokens <= static + 5_000


def test_that_is_about_15_9_and_6_messages_of_150_tokens() -> None:
    story = three_rooms(WorldRules(), "json", 100)
    static = sum(one.tokens for one in build_agent_hud(story.world, 1, NOON, RENDERER).sections if not one.room)
    story = three_rooms(WorldRules(tokens=TokenRules(total=static + 5_000)), "json", 100)
    found = rooms(build_agent_hud(story.world, 1, NOON, RENDERER))
    one = (found[1].tokens - found[1].metadata) / found[1].shown
    assert one == pytest.approx(150, abs=5)
    assert [found[room].shown for room in (1, 2, 3)] == pytest.approx([15, 9, 6], abs=1)


@pytest.mark.parametrize(
    ("tokens", "used"),
    [(0, "0%"), (29, "0%"), (30, "1%"), (1_260, "42%"), (1_350, "45%"), (2_999, "99%"), (3_000, "100%")],
)
def test_memory_used_is_a_share_of_3000_tokens_rounded_down(tokens: int, used: str) -> None:
    story = Story(prompts=SHORT_PROMPTS)
    story.agent("A")
    if tokens:
        story.tell(e.KnowledgeSet(agent=1, path="n", value=text_of(tokens)))
    assert build_agent_hud(story.world, 1, NOON, RENDERER).document["self"]["memory_used"] == used


def text_of(tokens: int) -> str:
    """A text with which `{"n": text}` has so many tokens."""
    words = tokens
    while True:
        text = "river" + " river" * words
        need = RENDERER.counter.count(msgspec.json.encode({"n": text}).decode())
        if need == tokens:
            return text
        words += tokens - need


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0, 7.4, 8.25, 33.75, 45, 60, 149, 150, 1_000])
@pytest.mark.parametrize("wpm", [10, 80, 200])
def test_the_word_budget_that_is_told_is_the_one_that_holds(harness: Any, seconds: float, wpm: int) -> None:
    def told() -> int:
        seen = build_agent_hud(harness.world, 2, harness.now, RENDERER)
        return next(int(one["word_budget"]) for one in seen.document["rooms"] if one["id"] == 1)

    harness.architect.set_wpm(1, wpm)
    assert told() == 200
    harness.do(2, say={1: "Hello"})
    harness.wait(seconds)
    allowed = told()
    assert allowed == max(10, min(200, int(seconds * wpm / 60)))
    waiting = harness.delayed(2, say={1: "word " * (allowed + 1)})
    assert told() == 0 and waiting.due > harness.now
    harness.do(2, {"type": "withdraw", "pending_id": waiting.id})
    assert told() == allowed
    harness.do(2, say={1: "word " * allowed})
    assert harness.texts(1)[-1] == (2, ("word " * allowed).strip())
    assert told() == 10
