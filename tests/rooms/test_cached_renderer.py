"""Writing with a memory: what is kept, and what is counted in parts, is what writing and counting anew would give."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from small_worlds import NOON, Story, greenhouse

from hudkit.errors import FormatError
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.hud.cached_renderer import MESSAGE_CHUNK, split_at_token_boundaries
from hudkit.rooms.hud.hud_fields import DAY, format_iso, format_short
from hudkit.rooms.hud.notations import NOTATIONS
from hudkit.rooms.knowledge_tree import knowledge_json
from hudkit.rooms.world import IntervalRules, World, WorldRules
from hudkit.tokens import shared_counter

pytestmark = pytest.mark.slow

every_notation = pytest.mark.parametrize("name", NOTATIONS)
every_encoding = pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])

texts = st.one_of(
    st.sampled_from(
        ["", "n1", " n", "/", "\n", "\n\n", '","', '",,"x', "'s", "it's", "日本", "🙂", "a\\", "12345", "  "]
    ),
    st.text(max_size=12),
)
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
trees = st.dictionaries(texts, plain, max_size=5)


@every_encoding
@given(pieces=st.lists(texts, max_size=12), mark=st.sampled_from(["\n", "\n  ", '","', '{"', ',"', "\n\t", "\r\n "]))
@example(pieces=["a", "/b", "  c"], mark="\n  ")
@example(pieces=["x", "", "  ", "y"], mark="\n")
def test_tokens_of_parts_add_up(encoding: str, pieces: list[str], mark: str) -> None:
    text, count = mark.join(pieces), shared_counter(encoding).count
    parts = split_at_token_boundaries(text)
    assert "".join(parts) == text
    assert sum(map(count, parts)) == count(text)


@every_encoding
@given(tree=trees)
def test_tokens_of_a_memory_add_up(encoding: str, tree: dict[str, Any]) -> None:
    count = shared_counter(encoding).count
    for text in (
        knowledge_json(tree),
        *(one.knowledge(tree, tight=False) for one in NOTATIONS.values() if _writes(one, tree)),
    ):
        assert sum(map(count, split_at_token_boundaries(text))) == count(text), text


def _writes(notation: Any, tree: dict[str, Any]) -> bool:
    """Whether a notation can say a tree: TOON knows no negative zero, which `fields` takes out."""
    try:
        notation.knowledge(tree, tight=False)
    except FormatError:
        return False
    return True


def test_a_memory_of_many_entries_is_counted_in_parts() -> None:
    tree = {f"n{n}": "some words" for n in range(9)}
    assert len(split_at_token_boundaries(knowledge_json(tree))) == 9
    assert len(split_at_token_boundaries(NOTATIONS["json"].knowledge(tree, tight=False))) == 11


@every_encoding
@every_notation
@given(value=trees)
def test_the_last_one_costs_what_it_does_alone(name: str, encoding: str, value: dict[str, Any]) -> None:
    notation, renderer = NOTATIONS[name], CachedRenderer(shared_counter(encoding))
    body = notation.action({"type": "set", "timestamp": "2024-01-15T10:30:00", "value": f"{value}"})
    piece = body + notation.between
    for end in (notation.end_actions, notation.end(rows=True, last=True), notation.end(rows=True, last=False)):
        text, tokens = renderer.with_end(piece, renderer.count(piece), notation, end)
        assert text == body + end
        assert tokens == shared_counter(encoding).count(text)


@given(at=st.integers(-(10**11), 4 * 10**12), later=st.integers(0, 400 * DAY))
def test_times_are_those_of_the_calendar(at: int, later: int) -> None:
    when, now = datetime.fromtimestamp(at // 1000, UTC), datetime.fromtimestamp((at + later) // 1000, UTC)
    assert format_iso(at) == when.replace(tzinfo=None).isoformat()
    same = "%H:%M" if when.date() == now.date() else "%m-%d %H:%M" if when.year == now.year else "%Y-%m-%d %H:%M"
    assert format_short(at, at + later) == when.strftime(same)


def assert_as_new(story: Story, renderer: CachedRenderer, now: int) -> None:
    """What is seen with a memory of what was is what is seen without one."""
    for agent in story.world.agents.values():
        assert build_agent_hud(story.world, agent.id, now, renderer) == build_agent_hud(
            story.world, agent.id, now, CachedRenderer()
        )


@every_notation
def test_nothing_that_changes_is_shown_as_it_was(name: Any) -> None:
    story, renderer, now = greenhouse(), CachedRenderer(), NOON
    for agent in story.world.agents:
        story.tell(e.AgentAltered(agent, input_format=name))
    assert_as_new(story, renderer, now)
    newest = story.world.next_message - 1
    room, agent = story.world.messages[newest].room, next(iter(story.world.agents))
    more: list[e.WorldEvent] = [
        e.ReactionAdded(newest, agent, "brain"),
        e.ReactionAdded(newest, agent, "heart"),
        e.MessagePosted(newest + 1, room, agent, "One more.", words=2),
        e.ActionRefused(agent, 1, {"type": "set", "path": "a"}, "no"),
        e.KnowledgeSet(agent, "a.b", ["c", 0.5], 0.9),
        e.KnowledgeSet(agent, "a.d", "c"),
        e.BillboardSet(agent, "Closed on Mondays."),
        e.AttentionSet(agent, room, 12.5),
        e.AgentAltered(agent, name="Zoë", background="Another one."),
        e.RulesChanged(
            msgspec.to_builtins(WorldRules(tempo=IntervalRules(min_interval=3.0, max_interval=17.0, first=5.0)))
        ),
        e.PromptsChanged({"memory.full": "Forget.", "philosophy.time": "Time flies."}),
    ]
    for what in more:
        story.tell(what)
        now += 1000
        assert_as_new(story, renderer, now)
    for _ in range(25):  # more than are shown
        story.tell(e.ActionApplied(agent, 1, {"type": "sleep", "until": "5m"}))
    assert_as_new(story, renderer, now)
    assert_as_new(story, renderer, now + DAY)


@every_notation
def test_a_long_room_is_written_as_far_back_as_somebody_sees(name: Any) -> None:
    story, renderer = Story(), CachedRenderer()
    ann, bo = (story.agent(one, input_format=name) for one in ("Ann", "Bo"))
    story.tell(e.RoomJoined(ann, bo), e.AttentionSet(ann, ann, 4.0))  # Ann sees little of it, Bo much more
    for n in range(5 * MESSAGE_CHUNK):
        story.say(ann, (ann, bo)[n % 2], f"Number {n} of many that are said here.")
    few, many = (
        len(build_agent_hud(story.world, one, NOON, renderer).document["rooms"][-1]["messages"]) for one in (ann, bo)
    )
    assert few < MESSAGE_CHUNK < 2 * MESSAGE_CHUNK < many
    assert_as_new(story, renderer, NOON)
    last = story.world.next_message - 1
    for message in (last, last - 2 * MESSAGE_CHUNK, 1):
        story.tell(e.ReactionAdded(message, bo, "heart"))
        assert_as_new(story, renderer, NOON)
    cy = story.agent("Cy", input_format=name)
    story.tell(e.RoomJoined(ann, cy))
    for count in (1, 2, 2 * MESSAGE_CHUNK, 1):  # one by one, and more than are written at once
        for n in range(count):
            story.say(ann, ann, f"And {n} more.")
        assert_as_new(story, renderer, NOON)


class Counting:
    """hudkit's counter, and how many texts it was asked for."""

    def __init__(self) -> None:
        self.prompts, self._counter = 0, shared_counter()
        self.name = self._counter.name

    def count(self, text: str) -> int:
        self.prompts += 1
        return self._counter.count(text)


def test_what_nobody_sees_any_more_is_not_written() -> None:
    story, counting = Story(), Counting()
    ann = story.agent("Ann")
    renderer = CachedRenderer(counting)
    for _ in range(2):
        before = counting.prompts
        for n in range(3_000):
            story.say(ann, ann, f"Number {n} of {story.seq} that are said while nobody looks.")
        shown = build_agent_hud(story.world, ann, NOON, renderer).document["rooms"][0]["messages"]
        assert counting.prompts - before < 3_000 < 30 * len(shown)


@every_notation
def test_a_world_that_was_made_again_is_written_again(name: Any) -> None:
    """As after a commit that failed: the same numbers, other messages, other actions."""
    renderer = CachedRenderer()
    stories = []
    for text in ("one", "two"):
        story = Story()
        story.tell(e.AgentCreated(1, "bot", "Ann", "A bot.", "m", input_format=name))
        story.tell(e.RoomJoined(1, 1))
        for n in range(3):
            story.say(1, 1, f"{text} {n}")
            story.tell(e.ActionApplied(1, n, {"type": "set", "path": text}))
        stories.append(story)
    one, two = stories
    assert "one 2" in build_agent_hud(one.world, 1, NOON, renderer).text
    for field in World.__struct_fields__:
        setattr(one.world, field, getattr(two.world, field))
    assert_as_new(one, renderer, NOON)
    assert "one" not in str(build_agent_hud(one.world, 1, NOON, renderer).document["rooms"])


def test_in_a_world_of_many_agents_what_is_kept_of_each_is_not_made_anew_in_every_round() -> None:
    renderer, memory = CachedRenderer(), {"facts": "any"}
    agents = range(220_000)
    made = [renderer.while_same(("base", "json", agent), memory, object) for agent in agents]
    again = [renderer.while_same(("base", "json", agent), memory, object) for agent in agents]
    assert all(before is after for before, after in zip(made, again, strict=True))
