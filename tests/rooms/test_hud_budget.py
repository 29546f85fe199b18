"""The budget: never exceeded on the final bytes, messages keep their part, and what is left out is said."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_worlds import NOON, SHORT_PROMPTS, Story, greenhouse

from hudkit.errors import BudgetError
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import AgentHud, CachedRenderer, HudOmission, HudSection, build_agent_hud
from hudkit.rooms.world import TokenRules, WorldRules

pytestmark = pytest.mark.slow

FORMATS = ("json", "compact", "toon")
RENDERER = CachedRenderer()
WORDS = re.findall(
    r"\w+", "the frost will come tonight and we cover what grows outside of the old house by the river"
)


def part(seen: AgentHud, name: str) -> HudSection:
    return next(one for one in seen.sections if one.name == name)


def left_out(seen: AgentHud, section: str, what: str) -> int:
    return sum(one.count for one in seen.omitted if (one.section, one.what) == (section, what))


def talk(story: Story, room: int, number: int, length: int = 20) -> None:
    for n in range(number):
        story.say(room, room, " ".join(WORDS[(n + k) % len(WORDS)] for k in range(length)))


def small(total: int = 3_000, static: int = 1_500, messages: int = 1_500, **more: int) -> WorldRules:
    return WorldRules(tokens=TokenRules(total=total, static=static, messages=messages, **more))


def check(seen: AgentHud, rules: WorldRules) -> None:
    assert seen.tokens == RENDERER.counter.count(seen.text) <= rules.tokens.total
    assert seen.tokens == sum(one.tokens for one in seen.sections)
    static = sum(one.tokens for one in seen.sections if one.room is None and one.name != "rooms")
    assert static <= min(rules.tokens.static, rules.tokens.total - rules.tokens.messages)
    for one in seen.sections:
        if one.room is not None:
            assert left_out(seen, one.name, "messages") == one.visible - one.shown
            assert one.tokens <= one.limit


messages = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.one_of(
            st.sampled_from(["hi", "日本語のテキスト" * 40, "🙂" * 60, "a" * 300, "\n" * 200, "word " * 300]),
            st.text(),
        ),
    ),
    max_size=60,
)


@given(
    format_=st.sampled_from(FORMATS),
    said=messages,
    attention=st.dictionaries(st.integers(1, 4), st.floats(0, 40), max_size=3),
    background=st.integers(0, 4_000),
    notes=st.lists(st.integers(1, 400), max_size=12),
    actions=st.lists(st.text(max_size=300), max_size=20),
    board=st.integers(0, 3_000),
    rules=st.sampled_from([small(), small(4_000, 2_000, 2_500), small(1_400, 900, 500), small(12_000, 900, 250)]),
)
def test_no_world_exceeds_the_budget(
    format_: str,
    said: list[tuple[int, str]],
    attention: dict[int, float],
    background: int,
    notes: list[int],
    actions: list[str],
    board: int,
    rules: WorldRules,
) -> None:
    story = Story(rules, SHORT_PROMPTS)
    for _ in range(4):
        story.agent("A", background="b " * (background // 2), input_format=format_)
    for room in (2, 3, 4):
        story.tell(e.RoomJoined(room=room, agent=1), e.BillboardSet(room=room, text="board " * (board // 6)))
    for room, percent in attention.items():
        story.tell(e.AttentionSet(agent=1, room=room, percent=percent))
    for room, text in said:
        story.say(room, room, text.encode(errors="replace").decode())
    for number, length in enumerate(notes):
        story.tell(e.KnowledgeSet(agent=1, path=f"n{number}.x", value="note " * length))
    for text in actions:
        clean = text.encode(errors="replace").decode()
        story.tell(e.ActionRefused(agent=1, number=1, action={"type": "set", "value": clean}, why=clean))
    check(build_agent_hud(story.world, 1, NOON, RENDERER), rules)


@pytest.mark.parametrize("format_", FORMATS)
def test_messages_are_filled_from_the_newest_back_without_gaps(format_: str) -> None:
    story = Story(prompts=SHORT_PROMPTS)
    story.agent("A", input_format=format_)
    talk(story, 1, 400)
    seen = build_agent_hud(story.world, 1, NOON, RENDERER)
    shown = [one["id"] for one in seen.document["rooms"][0]["messages"]]
    assert shown == list(range(401 - len(shown), 401))
    assert seen.tokens > 9_900
    assert left_out(seen, "room 1", "messages") == 400 - len(shown)
    check(seen, story.world.rules)


def test_messages_have_their_part_however_much_else_there_is() -> None:
    story = Story()
    story.agent("A", background="b " * 2_000, can_create=True)
    story.tell(e.KnowledgeSet(agent=1, path="all", value={f"k{n}": "some words to remember" for n in range(500)}))
    for n in range(20):
        story.tell(e.ActionApplied(agent=1, number=1, action={"type": "set", "path": f"p{n}", "value": "x " * 90}))
    talk(story, 1, 400)
    seen = build_agent_hud(story.world, 1, NOON, RENDERER)
    assert part(seen, "room 1").tokens > 4_900
    check(seen, story.world.rules)


def test_attention_shares_what_there_is() -> None:
    story = Story(prompts=SHORT_PROMPTS)
    for _ in range(3):
        story.agent("A")
    story.tell(e.RoomJoined(room=2, agent=1), e.RoomJoined(room=3, agent=1))
    for room, percent in ((1, 50.0), (2, 30.0), (3, 20.0)):
        story.tell(e.AttentionSet(agent=1, room=room, percent=percent))
        talk(story, room, 300)
    seen = build_agent_hud(story.world, 1, NOON, RENDERER)
    rooms = sum(one.tokens for one in seen.sections if one.room)
    for room, percent in ((1, 50), (2, 30), (3, 20)):
        assert part(seen, f"room {room}").tokens * 100 / rooms == pytest.approx(percent, abs=1)


def test_a_room_that_needs_more_than_its_share_takes_it_from_the_others_alike() -> None:
    story = Story(small(2_400, 900, 1_000), SHORT_PROMPTS)
    for _ in range(3):
        story.agent("A")
    story.tell(
        e.RoomJoined(room=2, agent=1), e.RoomJoined(room=3, agent=1), e.BillboardSet(room=1, text="Read this. " * 300)
    )
    for room, percent in ((1, 1.0), (2, 49.5), (3, 49.5)):
        story.tell(e.AttentionSet(agent=1, room=room, percent=percent))
    talk(story, 2, 100)
    talk(story, 3, 100)
    seen = build_agent_hud(story.world, 1, NOON, RENDERER)
    one, two, three = (part(seen, f"room {room}") for room in (1, 2, 3))
    static = sum(one.tokens for one in seen.sections if one.room is None)
    assert one.tokens > 100
    assert abs(two.limit - three.limit) < 20
    assert one.limit + two.limit + three.limit <= 2_400 - static
    check(seen, story.world.rules)


def test_what_quiet_rooms_leave_goes_to_rooms_of_equal_share_only() -> None:
    def shown(percent: float | None) -> int:
        story = Story(prompts=SHORT_PROMPTS)
        for _ in range(2):
            story.agent("A")
        story.tell(e.RoomJoined(room=2, agent=1), e.AttentionSet(agent=1, room=2, percent=percent))
        talk(story, 2, 300)
        seen = build_agent_hud(story.world, 1, NOON, RENDERER)
        check(seen, story.world.rules)
        return part(seen, "room 2").tokens

    assert shown(50.0) < 5_000
    assert shown(None) > 8_900


def test_a_message_that_is_longer_than_its_room_is_cut() -> None:
    story = Story(small(2_000, 900, 900), SHORT_PROMPTS)
    story.agent("A")
    story.say(1, 1, "word " * 3_000)
    seen = build_agent_hud(story.world, 1, NOON, RENDERER)
    (message,) = seen.document["rooms"][0]["messages"]
    assert message["content"].startswith("word word") and message["content"].endswith("…")
    assert left_out(seen, "room 1", "characters of its newest message") == 15_000 - len(message["content"]) + 1
    check(seen, story.world.rules)


def test_actions_shrink_first_then_examples_then_background_then_knowledge() -> None:
    """Each world has a little more than the one before; what was left out of that one stays left out."""
    order = ["actions", "examples", "characters of the background", "entries"]
    found: list[list[str]] = []
    for notes in range(0, 260, 10):
        story = Story(small(2_400, 1_200, 1_000), SHORT_PROMPTS)
        story.agent("A", background="b " * 400)
        for n in range(10):
            story.tell(e.ActionApplied(agent=1, number=1, action={"type": "set", "path": f"p{n}"}))
        if notes:
            story.tell(e.KnowledgeSet(agent=1, path="n", value={f"k{n}": "abc" for n in range(notes)}))
        seen = build_agent_hud(story.world, 1, NOON, RENDERER)
        check(seen, story.world.rules)
        found.append(sorted((one.what for one in seen.omitted), key=order.index))
    assert found[0] == [] and found[-1] == order
    for before, after in pairwise(found):
        assert set(before) <= set(after) and after == order[: len(after)]


def test_knowledge_of_the_least_weight_goes_first() -> None:
    story = Story(small(2_400, 1_200, 1_000), SHORT_PROMPTS)
    story.agent("A")
    for name, weight in (("cheap", 0.1), ("usual", None), ("dear", 0.9)):
        for n in range(60):
            story.tell(e.KnowledgeSet(agent=1, path=f"{name}.k{n}", value="abcd", weight=weight))
    knowledge = build_agent_hud(story.world, 1, NOON, RENDERER).document["self"]["knowledge"]
    assert "cheap" not in knowledge
    assert len(knowledge["dear"]) > len(knowledge.get("usual", {}))


def test_knowledge_in_json_takes_one_line_before_anything_is_left_out() -> None:
    story = Story(small(2_400, 1_400, 1_000), SHORT_PROMPTS)
    story.agent("A")
    story.tell(e.KnowledgeSet(agent=1, path="n", value={f"k{n}": {"a": 1, "b": 2} for n in range(60)}))
    seen = build_agent_hud(story.world, 1, NOON, RENDERER)
    assert '    "knowledge": {"n":{"k0":{"a":1,"b":2},' in seen.text
    assert seen.omitted == ()
    assert len(seen.document["self"]["knowledge"]["n"]) == 60


def test_what_cannot_fit_at_all_is_an_error_that_says_how_much_it_needs() -> None:
    story = greenhouse(rules=small(1_000, 500, 500))
    with pytest.raises(BudgetError, match=r"agent 1's HUD need \d+ tokens of 500") as caught:
        build_agent_hud(story.world, 1, NOON, RENDERER)
    assert caught.value.details["limit"] == 500


@pytest.mark.parametrize("format_", FORMATS)
def test_a_crowded_room_says_how_many_more_there_are(format_: str) -> None:
    story = Story(prompts=SHORT_PROMPTS)
    story.agent("A", input_format=format_)
    story.tell(e.BillboardSet(room=1, text="Read this: 日本語のテキスト. " * 300))
    for n in range(200):
        story.tell(e.KeyCreated(room=1, label=f"key {n} " * 3, digest="d", salt="s"))
    for id in range(2, 1_002):
        story.tell(e.RoomJoined(room=1, agent=id))
    for n in range(300):
        story.tell(e.AccessRequested(id=n + 1, room=1, agent=2_000 + n, label="k"))
    talk(story, 1, 300)
    seen = build_agent_hud(story.world, 1, NOON, RENDERER)
    room = seen.document["rooms"][0]
    assert room["members"][-1] == f"+{1_001 - (len(room['members']) - 1)} more"
    assert room["billboard"].startswith("Read this:") and room["billboard"].endswith("…")
    for what in ("members", "my_keys", "pending_access_requests", "characters of the billboard"):
        assert left_out(seen, "room 1", what) > 0, what
    assert part(seen, "room 1").metadata <= 5_000
    assert len(room["messages"]) > 50
    check(seen, story.world.rules)
    assert build_agent_hud(story.world, 1, NOON, RENDERER) == seen


def test_more_rooms_than_fit() -> None:
    story = Story(small(2_400, 1_200, 1_000), SHORT_PROMPTS)
    for _ in range(40):
        story.agent("A")
    for id in range(2, 41):
        story.tell(e.RoomJoined(room=id, agent=1))
    story.tell(e.AttentionSet(agent=1, room=40, percent=60.0))
    seen = build_agent_hud(story.world, 1, NOON, RENDERER)
    shown = {one["id"] for one in seen.document["rooms"]}
    gone = {int(one.section.split()[1]) for one in seen.omitted if one.what == "room"}
    assert 40 in shown and len(gone) > 10
    assert shown | gone == set(range(1, 41)) and not shown & gone
    check(seen, story.world.rules)


class Odd:
    """Counts more for the whole than for its parts, as no tokenizer of ours does."""

    name = "odd"

    def count(self, text: str) -> int:
        return len(text) // 4 + (len(text) // 1_000) ** 2


def test_with_a_counter_whose_parts_do_not_add_up_the_whole_is_counted() -> None:
    renderer, story = CachedRenderer(Odd()), Story(prompts=SHORT_PROMPTS)
    story.agent("A", input_format="compact")
    talk(story, 1, 400)
    seen = build_agent_hud(story.world, 1, NOON, renderer)
    assert seen.tokens == Odd().count(seen.text) <= 10_000
    assert 0 < len(seen.document["rooms"][0]["messages"]) < 400


def test_omissions_and_sections_are_facts_for_a_page() -> None:
    story: Any = greenhouse()
    talk(story, 2, 400)
    seen = build_agent_hud(story.world, 1, NOON, RENDERER)
    room = part(seen, "room 2")
    assert (room.room, room.share, room.visible) == (2, 70.0, 404)
    assert HudOmission("room 2", "messages", 404 - room.shown, "older than what fits") in seen.omitted
