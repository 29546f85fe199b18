"""The three formats: what is joined from pieces is the format's own text, and says the document, whatever it is."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_worlds import NOON, Story, greenhouse

from hudkit.compose.formats import compact, json_text, toon
from hudkit.compose.formats.markdown import parse
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import AgentHud, CachedRenderer, as_markdown, build_agent_hud
from hudkit.rooms.hud.notations import SHORT_NAMES, visible_data
from hudkit.rooms.hud.notations import decode_compact_hud as decode_compact
from strategies import texts

FORMATS = ("json", "compact", "toon")
RENDERER = CachedRenderer()

said = texts.filter(lambda text: not re.search("[\ud800-\udfff]", text) and bool(text.strip()))
keys = st.one_of(st.sampled_from(["a", "id", "re", "$re", "react", "a?", "a~", "b!", "cols", "#", "- x", ""]), said)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), said),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=6,
)


def parsed(seen: AgentHud) -> Any:
    if seen.format == "json":
        return json_text.decode(seen.text)
    return decode_compact(seen.text) if seen.format == "compact" else toon.decode(seen.text, even=True)


def in_format(seen: AgentHud) -> Any:
    """What the text says: in TOON hidden characters are written out."""
    return visible_data(seen.document) if seen.format == "toon" else seen.document


@pytest.mark.parametrize("format_", FORMATS)
def test_what_is_joined_says_the_document(format_: str) -> None:
    seen = build_agent_hud(greenhouse(input_format=format_).world, 1, NOON, RENDERER)
    assert parsed(seen) == seen.document


def test_json_and_compact_are_the_bytes_of_their_formats() -> None:
    seen = build_agent_hud(greenhouse(input_format="json").world, 1, NOON, RENDERER)
    assert seen.text == json_text.encode(seen.document)
    seen = build_agent_hud(greenhouse(input_format="compact").world, 1, NOON, RENDERER)
    assert seen.text == compact.encode(seen.document, SHORT_NAMES)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_world_with_nothing_in_it(format_: str) -> None:
    story = Story()
    story.tell(e.AgentCreated(id=1, kind="bot", name="B", background="", model="m", input_format=format_))  # type: ignore[arg-type]
    for _ in range(2):
        seen = build_agent_hud(story.world, 1, NOON, RENDERER)
        assert parsed(seen) == seen.document
        assert seen.tokens == RENDERER.counter.count(seen.text) == sum(one.tokens for one in seen.sections)
        story.tell(e.RoomJoined(room=1, agent=1))
    assert [one["messages"] for one in seen.document["rooms"]] == [[]]


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
@given(
    contents=st.lists(said, min_size=1, max_size=4),
    name=said,
    billboard=said,
    label=said,
    knowledge=st.dictionaries(keys, values, max_size=3),
    action=st.dictionaries(keys, values, max_size=3),
)
def test_no_text_changes_the_structure(
    format_: str,
    contents: list[str],
    name: str,
    billboard: str,
    label: str,
    knowledge: dict[str, Any],
    action: dict[str, Any],
) -> None:
    story = greenhouse(input_format=format_)
    story.world.agents[1].knowledge = knowledge
    story.tell(
        e.AgentAltered(id=1, name=name),
        e.BillboardSet(room=2, text=billboard),
        e.KeyCreated(room=1, label=label, digest="d", salt="s"),
        e.ActionRefused(agent=1, number=2, action=action, why=billboard),
    )
    for content in contents:
        story.say(2, 3, content)
    seen = build_agent_hud(story.world, 1, NOON, RENDERER)
    assert parsed(seen) == in_format(seen)
    assert [one["content"] for one in seen.document["rooms"][1]["messages"]][-len(contents) :] == contents
    assert seen.tokens == RENDERER.counter.count(seen.text) == sum(one.tokens for one in seen.sections)
    if format_ == "json":
        assert seen.text == json_text.encode(seen.document)
    if format_ == "compact":
        assert seen.text == compact.encode(seen.document, SHORT_NAMES)
    hidden = [char for char in seen.text if char != "\n" and not char.isprintable() and char != "\xa0"]
    assert not [char for char in hidden if ord(char) < 0xA0 or ord(char) in range(0x200B, 0x2070) or char == "\ufeff"]


@pytest.mark.slow
@given(contents=st.lists(said, min_size=1, max_size=4), billboard=said)
def test_a_page_for_people_has_the_headings_of_its_parts_whatever_is_said(
    contents: list[str], billboard: str
) -> None:
    story = greenhouse()
    story.tell(e.BillboardSet(room=2, text=billboard), e.KnowledgeSet(agent=1, path="x", value=billboard))
    for content in contents:
        story.say(2, 3, content)
    page = as_markdown(build_agent_hud(story.world, 1, NOON, RENDERER))
    headings = re.findall(r"^#+ .*", page, re.MULTILINE)
    outside = [type(one).__name__ for one in parse(page, gfm=True).children if "eading" in type(one).__name__]
    assert len(outside) == 6
    assert [one for one in headings if one.startswith("# ")] == ["# Ada (1)"]


def test_a_value_that_toon_cannot_say_stands_as_text() -> None:
    story = greenhouse(input_format="toon")
    deep: Any = "x"
    for _ in range(60):
        deep = {"a": [deep]}
    story.world.agents[1].knowledge = {"deep": deep, "zero": -0.0}
    seen = build_agent_hud(story.world, 1, NOON, RENDERER)
    assert parsed(seen) == seen.document
    assert seen.document["self"]["knowledge"]["zero"] == 0


@pytest.mark.parametrize("format_", FORMATS)
def test_agents_of_a_kind_share_the_bytes_that_never_change(format_: str) -> None:
    story = Story()
    for name, room in (("Ada", 1), ("Bo", 1), ("Cy", 1)):
        story.agent(name, background=f"{name} is unlike the others.", input_format=format_)
        story.say(room, 1, f"{name} is here.")
    story.tell(e.KnowledgeSet(agent=2, path="x", value="mine"))
    huds = [build_agent_hud(story.world, id, NOON + id, RENDERER) for id in (1, 2, 3)]
    assert len({one.stable for one in huds}) == 1
    assert len({one.text[: one.stable] for one in huds}) == 1
    assert len({one.text for one in huds}) == 3
    system, meta = huds[0].sections[:2]
    assert RENDERER.counter.count(huds[0].text[: huds[0].stable]) == system.tokens + meta.tokens > 1_000
    assert "unlike" not in huds[0].text[: huds[0].stable]


def test_short_names_are_explained_and_arguments_are_not_shortened() -> None:
    seen = build_agent_hud(greenhouse(input_format="compact", can_create=True).world, 1, NOON, RENDERER)
    for long, name in SHORT_NAMES.items():
        assert f"{name} = {long}" in seen.document["meta"]["notation"]
    arguments = {
        key
        for group in seen.document["meta"]["available_actions"].values()
        for one in group["actions"]
        for key in one
    }
    assert not arguments & SHORT_NAMES.keys()
    assert all(f'"{key}"' in seen.text for key in arguments)
