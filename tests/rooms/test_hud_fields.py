"""Every field of a HUD, by what an agent sees after something happened."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from small_worlds import NOON, Story, greenhouse

from hudkit.errors import OperationError
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import AgentHud, CachedRenderer, as_markdown, build_agent_hud
from hudkit.rooms.prompts import load_prompts
from hudkit.rooms.world import TokenRules, WordRules, WorldRules

RENDERER = CachedRenderer()


def seen(story: Story, agent: int = 1, now: int = NOON, **more: Any) -> AgentHud:
    return build_agent_hud(story.world, agent, now, RENDERER, **more)


def document(story: Story, agent: int = 1, now: int = NOON, **more: Any) -> dict[str, Any]:
    return seen(story, agent, now, **more).document


def rooms(story: Story, agent: int = 1, now: int = NOON) -> dict[int, dict[str, Any]]:
    return {one["id"]: one for one in document(story, agent, now)["rooms"]}


def test_the_order_of_sections_is_from_what_never_changes_to_what_always_does() -> None:
    assert list(document(greenhouse())) == ["system", "meta", "self", "rooms"]


def test_every_field_of_the_index_is_there() -> None:
    found = document(greenhouse(can_create=True))
    assert set(found["system"]) == {"directives"}
    assert set(found["self"]) == {"identity", "knowledge", "memory_used", "recent_actions", "now"}
    assert set(found["meta"]) == {"instructions", "available_actions", "response_format"}
    assert set(found["meta"]["available_actions"]) == {
        "knowledge_management",
        "social_interactions",
        "messaging",
        "room_management",
        "access_control",
        "attention",
        "identity",
        "timing",
        "agent_management",
    }
    assert set(found["meta"]["response_format"]) == {"type", "description", "instructions", "example"}
    own, other = found["rooms"]
    common = {
        "id",
        "you",
        "is_self_room",
        "members",
        "attention_pct",
        "time_since_last",
        "word_budget",
        "billboard",
        "messages",
    }
    assert set(other) == common
    assert set(own) == common | {"my_keys", "pending_access_requests"}
    assert set(own["pending_access_requests"][0]) == {"id", "requester_id", "key_used"}
    answered = other["messages"][2]
    assert set(answered) == {"id", "timestamp", "sender", "content", "type", "reply_to", "reactions"}


def test_identity_of_a_persona_and_of_a_bot() -> None:
    story = greenhouse()
    assert document(story)["self"]["identity"] == {
        "id": 1,
        "name": "Ada",
        "model": "small",
        "seed": "Curious about gardens.",
    }
    assert document(story, 2)["self"]["identity"]["role"] == "Answers questions about the weather."
    story.tell(e.AgentAltered(id=1, name="Eda", background="Older now.", model="large"))
    assert document(story)["self"]["identity"] == {"id": 1, "name": "Eda", "model": "large", "seed": "Older now."}


def test_personas_and_bots_are_told_different_things() -> None:
    prompts, story = load_prompts(), greenhouse()
    persona, bot = (document(story, id)["meta"]["instructions"] for id in (1, 2))
    for name in ("instructions.persona", "philosophy.identity", "philosophy.topics", "layouts.persona"):
        assert prompts[name] in persona and prompts[name] not in bot, name
    for name in ("instructions.bot", "layouts.bot"):
        assert prompts[name] in bot and prompts[name] not in persona, name
    for name in ("instructions.app", *(f"philosophy.{one}" for one in ("memory", "silence", "own-room", "time"))):
        assert prompts[name] in bot and prompts[name] in persona, name
    directives = document(story)["system"]["directives"]
    assert all(prompts[f"directives.{one}"] in directives for one in ("rooms", "collaboration", "communication"))


def test_a_world_tells_its_own_prompts_and_its_own_numbers() -> None:
    story = greenhouse(rules=WorldRules(words=WordRules(max_wpm=150)), prompts={"philosophy.silence": "Be still."})
    told = document(story)["meta"]
    assert "Be still." in told["instructions"] and load_prompts()["philosophy.silence"] not in told["instructions"]
    assert told["available_actions"]["room_management"]["actions"][2]["wpm"] == "int (10-150)"
    story.tell(e.PromptsChanged(prompts={"philosophy.silence": "Sing."}))
    assert "Sing." in document(story)["meta"]["instructions"]


def test_only_who_may_make_agents_is_told_how() -> None:
    assert "agent_management" not in document(greenhouse())["meta"]["available_actions"]
    assert "agent_management" in document(greenhouse(can_create=True))["meta"]["available_actions"]


@pytest.mark.parametrize("answer", ["json", "toon"])
def test_the_response_format_is_the_agents(answer: str) -> None:
    told = document(greenhouse(output_format=answer))["meta"]["response_format"]
    assert told["type"] == answer
    assert told["instructions"] == load_prompts()[f"answer.{answer}"]
    assert told["example"] == load_prompts()[f"answer.{answer}-example"]


def test_knowledge_has_weights_where_they_were_given() -> None:
    story = greenhouse()
    assert document(story)["self"]["knowledge"] == {
        "people": {"Bo": {"trust": {"v": 0.8, "w": 0.9}}},
        "garden": {"frost": ["tonight", "-2 °C"]},
    }
    story.tell(e.KnowledgeSet(agent=1, path="people", value={"none": True}, weight=0.1))
    assert document(story)["self"]["knowledge"]["people"] == {"v": {"none": True}, "w": 0.1}
    story.tell(e.KnowledgeDeleted(agent=1, path="people"))
    assert document(story)["self"]["knowledge"] == {"garden": {"frost": ["tonight", "-2 °C"]}}


def test_memory_used_is_the_share_of_the_limit_in_tokens_of_its_json() -> None:
    story = greenhouse()
    story.tell(e.KnowledgeDeleted(agent=1, path="people"), e.KnowledgeDeleted(agent=1, path="garden"))
    assert document(story)["self"]["memory_used"] == "0%"
    text = "word " * 1500
    story.tell(e.KnowledgeSet(agent=1, path="n", value=text))
    tokens = RENDERER.counter.count(msgspec.json.encode({"n": text}).decode())
    assert document(story)["self"]["memory_used"] == f"{tokens * 100 // 3000}%" == "50%"


def test_a_full_memory_comes_with_advice() -> None:
    story = greenhouse()
    story.tell(e.KnowledgeSet(agent=1, path="n", value="word " * 2300))
    assert "advice" not in document(story)["self"]
    story.tell(e.KnowledgeSet(agent=1, path="n", value="word " * 2450))
    assert document(story)["self"]["advice"] == load_prompts()["memory.full"]


def test_recent_actions_say_when_and_why_not() -> None:
    story = greenhouse()
    assert document(story)["self"]["recent_actions"] == [
        {"type": "react", "timestamp": "2024-01-15T10:00:24", "message_id": 3, "reaction": "brain"},
        {
            "type": "leave_room",
            "timestamp": "2024-01-15T10:00:25",
            "room_id": 1,
            "refused": "Room 1 is your own.",
        },
    ]
    for number in range(25):
        story.tell(e.ActionApplied(agent=1, number=2, action={"type": "set", "path": f"p{number}", "value": 1}))
    recent = document(story)["self"]["recent_actions"]
    assert [one["path"] for one in recent] == [f"p{number}" for number in range(5, 25)]


def test_a_long_action_is_cut_and_a_refused_reply_has_a_name() -> None:
    story = greenhouse()
    story.tell(
        e.ActionApplied(agent=1, number=2, action={"type": "set", "path": "p", "value": "x" * 5000}),
        e.ActionRefused(agent=1, number=2, action={}, why="This was no JSON."),
    )
    long, reply = document(story)["self"]["recent_actions"][-2:]
    assert len(long["value"]) == 200
    assert reply["type"] == "response" and reply["refused"] == "This was no JSON."


def test_a_room_says_whose_it_is_and_who_is_there() -> None:
    story = greenhouse()
    story.tell(e.RoomJoined(room=2, agent=e.ARCHITECT))
    own, other = rooms(story)[1], rooms(story)[2]
    assert (own["you"], own["is_self_room"], own["members"]) == (1, True, ["1"])
    assert (other["you"], other["is_self_room"], other["members"]) == (1, False, ["2", "1", "3", "0"])


def test_attention_is_what_was_set_and_a_share_of_the_rest() -> None:
    story = greenhouse()
    assert {id: one["attention_pct"] for id, one in rooms(story).items()} == {1: 30.0, 2: 70.0}
    story.tell(e.AttentionSet(agent=1, room=2, percent=None))
    assert {id: one["attention_pct"] for id, one in rooms(story).items()} == {1: 50.0, 2: 50.0}


def test_pace_depends_on_when_one_last_spoke() -> None:
    story = greenhouse()
    spoke = story.world.agents[1].spoke_at[2]
    now = spoke + 30_000
    assert (rooms(story, 1, now)[2]["time_since_last"], rooms(story, 1, now)[2]["word_budget"]) == ("30 seconds", 40)
    assert rooms(story, 3, now)[2]["time_since_last"] == "never (just joined)"
    assert rooms(story, 3, now)[2]["word_budget"] == 200


def test_billboards_are_for_all_members_keys_and_requests_for_the_owner() -> None:
    story = greenhouse()
    assert rooms(story, 1)[2]["billboard"] == rooms(story, 3)[2]["billboard"] == "Weather desk: ask, and say where."
    story.tell(e.RoomJoined(room=1, agent=2))
    assert rooms(story, 2)[1]["billboard"] == "Ada's greenhouse"
    assert not {"my_keys", "pending_access_requests"} & rooms(story, 2)[1].keys()
    assert rooms(story, 1)[1]["my_keys"] == ["visitors"]
    story.tell(e.BillboardSet(room=1, text=""), e.KeyRevoked(room=1, label="visitors"), e.AccessDenied(id=1, by=1))
    own = rooms(story, 1)[1]
    assert "billboard" not in own
    assert (own["my_keys"], own["pending_access_requests"]) == ([], [])


def test_a_retired_agents_room_is_closed() -> None:
    story = greenhouse()
    assert "closed" not in rooms(story)[2]
    story.tell(e.AgentRetired(id=2))
    assert rooms(story)[2]["closed"] is True


def test_messages_say_who_what_and_to_what() -> None:
    messages = rooms(greenhouse())[2]["messages"]
    assert [one["sender"] for one in messages] == ["System", "1", "2", "The Architect"]
    assert messages[0] == {
        "id": 1,
        "timestamp": "2024-01-15T10:00:15",
        "sender": "System",
        "content": "Ada (1) joined",
        "type": "system",
    }
    assert (messages[2]["reply_to"], messages[2]["reactions"]) == (2, {"brain": 2})


def test_a_reaction_changes_what_was_written_before() -> None:
    story = greenhouse()
    seen(story)
    story.tell(e.ReactionAdded(message=4, agent=1, reaction="heart"))
    assert rooms(story)[2]["messages"][3]["reactions"] == {"heart": 1}


def test_who_was_not_there_does_not_see_it() -> None:
    story = greenhouse()
    story.tell(e.RoomLeft(room=2, agent=3))
    story.say(2, 1, "Cy must not know.")
    story.tell(e.RoomJoined(room=2, agent=3))
    after = story.say(2, 1, "Welcome back.")
    assert [one["id"] for one in rooms(story, 3)[2]["messages"]] == [after]
    assert "Cy must not know." not in seen(story, 3).text
    assert "Cy must not know." in seen(story, 1).text
    story.tell(e.RoomLeft(room=2, agent=3))
    assert 2 not in rooms(story, 3)


def test_short_times_name_the_day_where_it_is_another() -> None:
    story = greenhouse(input_format="toon")
    day, year = 86_400_000, 366 * 86_400_000
    times = [rooms(story, 1, now)[1]["messages"][0]["timestamp"] for now in (NOON, NOON + day, NOON + year)]
    assert times == ["10:00", "01-15 10:00", "2024-01-15 10:00"]
    assert document(story)["self"]["now"] == "2024-01-15T12:00:00"


def test_whispers_are_seen_once_and_are_not_in_the_digest() -> None:
    story = greenhouse()
    found = seen(story, whispers=("A key: sesame",))
    assert found.document["self"]["once"] == ["A key: sesame"]
    assert "sesame" in found.text
    assert "sesame" not in seen(story).text
    assert found.digest == seen(story).digest


def test_the_same_world_gives_the_same_bytes_whatever_was_composed_before() -> None:
    story, other = greenhouse(), greenhouse()
    other.say(2, 1, "Something else.")
    renderer = CachedRenderer()
    first = build_agent_hud(story.world, 1, NOON, renderer)
    build_agent_hud(other.world, 1, NOON, renderer)
    assert (
        build_agent_hud(story.world, 1, NOON, renderer)
        == first
        == build_agent_hud(story.world, 1, NOON, CachedRenderer())
    )


def test_an_agent_that_is_not_there() -> None:
    with pytest.raises(OperationError, match="there is no agent 9"):
        seen(greenhouse(), 9)


def test_an_agent_of_which_nothing_is_known_has_a_page() -> None:
    story = Story(WorldRules(tokens=TokenRules()))
    id = story.agent("Zoe")
    page = as_markdown(seen(story, id))
    assert page.startswith("# Zoe (1)\n")
    assert "## Room 1 (its own)" in page


def test_memory_is_never_used_by_more_than_all_of_it() -> None:
    story = Story(WorldRules(tokens=TokenRules(knowledge=100)))
    story.agent("Ada")
    story.tell(e.KnowledgeSet(1, "notes", "word " * 400))
    assert build_agent_hud(story.world, 1, NOON, CachedRenderer()).document["self"]["memory_used"] == "100%"
