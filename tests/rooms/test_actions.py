"""Every action by what it does: to the world, to those it concerns, and what its agent sees of it afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.actions import ACTIONS, mentioned_agents
from hudkit.rooms.reply_parser import ParsedReply, parse_reply
from hudkit.rooms.world import CapRules, RecentAction, TokenRules, WorldRules


def kinds(told: list[e.WorldEvent]) -> list[str]:
    return [type(what).__name__ for what in told]


def test_these_are_the_actions() -> None:
    assert set(ACTIONS) == {
        *("set", "delete", "append", "react", "wake_agent", "reply", "set_billboard", "clear_billboard", "set_wpm"),
        *("create_key", "revoke_key", "request_access", "grant_access", "deny_access", "leave_room"),
        *("withdraw", "set_attention", "set_name", "sleep", "create_agent", "alter_agent", "retire_agent"),
    }
    assert {name for name, one in ACTIONS.items() if one.gated} == {"create_agent", "alter_agent", "retire_agent"}


def test_the_agents_are_told_of_all_of_them_and_their_arguments() -> None:
    from hudkit.rooms.prompts import ACTION_CATEGORIES

    told = {name: set(fields) for actions in ACTION_CATEGORIES.values() for name, fields in actions.items()}
    assert set(told) == set(ACTIONS)
    for name, fields in told.items():
        assert fields <= set(ACTIONS[name].arguments.__struct_fields__), name


def test_applied_stands_before_its_effects_and_among_the_recent_actions(harness: Any) -> None:
    action = {"type": "set", "path": "mood", "value": "curious"}
    assert kinds(harness.do(2, action)) == ["ActionApplied", "KnowledgeSet"]
    assert harness.agent(2).recent == [RecentAction(harness.now, action)]


def test_only_the_last_20_recent_actions_are_kept(harness: Any) -> None:
    for n in range(25):
        harness.do(2, {"type": "set", "path": "n", "value": n})
    assert [done.action["value"] for done in harness.agent(2).recent] == list(range(5, 25))


# -- memory ----------------------------------------------------------------------------------------------------


def test_set_append_and_delete_by_path(harness: Any) -> None:
    harness.do(
        2,
        {"type": "set", "path": "people.Ann.trust", "value": 0.8},
        {"type": "set", "path": "people.Ann.notes", "value": "kind"},
        {"type": "append", "path": "goals", "value": "learn"},
        {"type": "append", "path": "goals", "value": "rest"},
        {"type": "append", "path": "people.Ann.notes", "value": "quick"},
        {"type": "delete", "path": "people.Ann.trust"},
    )
    assert harness.agent(2).knowledge == {"people": {"Ann": {"notes": ["kind", "quick"]}}, "goals": ["learn", "rest"]}
    harness.do(2, {"type": "delete", "path": "people.Ann.notes"})
    assert harness.agent(2).knowledge == {"goals": ["learn", "rest"]}


def test_a_weight_is_given_beside_the_value_or_with_it(harness: Any) -> None:
    harness.do(
        2,
        {"type": "set", "path": "a", "value": 1, "w": 0.5},
        {"type": "set", "path": "b", "value": {"v": 0.8, "w": 0.9}},
        {"type": "set", "path": "c", "value": {"v": 1, "w": 1, "x": 1}},
    )
    assert harness.agent(2).knowledge == {"a": 1, "b": 0.8, "c": {"v": 1, "w": 1, "x": 1}}
    assert harness.agent(2).weights == {"a": 0.5, "b": 0.9}


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ({"type": "set", "path": "", "value": 1}, "length >= 1"),
        ({"type": "set", "path": "a..b", "value": 1}, "is no path"),
        ({"type": "set", "path": ".".join("abcdefghijklm"), "value": 1}, "is no path"),
        ({"type": "set", "path": "a", "value": 1, "w": 1.5}, "<= 1"),
        ({"type": "set", "path": "a", "value": {"v": 1, "w": "high"}}, "A number from 0 to 1"),
        ({"type": "set", "path": "a"}, "`value`"),
        ({"type": "delete", "path": "nothing"}, "there is nothing"),
    ],
)
def test_memory_refuses(harness: Any, action: dict[str, Any], said: str) -> None:
    assert said in harness.refused(2, action)
    assert harness.agent(2).knowledge == {}


def test_a_value_of_more_than_twelve_levels_is_refused(harness: Any) -> None:
    value: Any = 1
    for _ in range(13):
        value = [value]
    assert "too deeply" in harness.refused(2, {"type": "set", "path": "a", "value": value})
    harness.do(2, {"type": "set", "path": "a", "value": value[0]})
    assert harness.agent(2).knowledge


def test_what_was_not_named_is_not_lost(harness: Any) -> None:
    kept = {"goals": ["learn", "rest"], "people": {"Ann": {"trust": 1}}}
    harness.do(2, *({"type": "set", "path": path, "value": value} for path, value in kept.items()))
    for action, said in (
        ({"type": "set", "path": "goals.0", "value": "sing"}, "'goals' is a list"),
        ({"type": "append", "path": "goals.0.why", "value": "sing"}, "'goals' is a list"),
        ({"type": "append", "path": "people", "value": "Cid"}, "'people' is a branch"),
        ({"type": "append", "path": "people.Ann", "value": "kind"}, "'people.Ann' is a branch"),
        ({"type": "delete", "path": "goals.0"}, "there is nothing"),
    ):
        assert said in harness.refused(2, action)
        assert harness.agent(2).knowledge == kept
    harness.do(
        2, {"type": "set", "path": "goals", "value": "sing"}, {"type": "set", "path": "goals.main", "value": 1}
    )
    assert harness.agent(2).knowledge == {**kept, "goals": {"main": 1}}, "a single value gives way to a branch"


def test_memory_over_its_tokens_is_refused_and_what_makes_it_smaller_is_not(make_harness: Any) -> None:
    harness = make_harness(rules=WorldRules(tokens=TokenRules(knowledge=100)))
    harness.make("Ann")
    long = "walking along the river " * 30
    assert "100 at most" in harness.refused(1, {"type": "set", "path": "notes", "value": long})
    harness.do(1, {"type": "set", "path": "notes", "value": "walking along the river " * 12})
    assert "100 at most" in harness.refused(1, {"type": "append", "path": "more", "value": long})
    harness.architect.set_rules(WorldRules())
    harness.do(1, {"type": "set", "path": "notes", "value": long})
    harness.architect.set_rules(WorldRules(tokens=TokenRules(knowledge=100)))
    shorter = "walking along the river " * 25
    harness.do(1, {"type": "set", "path": "notes", "value": shorter})
    assert harness.agent(1).knowledge == {"notes": shorter}, "still too long, and on its way"


def test_memory_of_3000_tokens_is_allowed_and_more_is_not(harness: Any) -> None:
    from hudkit.rooms.actions.agent_actions import knowledge_tokens

    value = "river " * 2985
    assert 2900 < knowledge_tokens({"a": value}) <= 3000
    harness.do(2, {"type": "set", "path": "a", "value": value})
    assert harness.agent(2).knowledge == {"a": value}
    assert "3000 at most" in harness.refused(2, {"type": "set", "path": "b", "value": "river " * 100})


def test_a_negative_zero_is_zero_for_there_is_a_format_without_one(harness: Any) -> None:
    harness.do(2, {"type": "set", "path": "a", "value": [-0.0, {"b": -0.0}, 0.5]})
    assert str(harness.agent(2).knowledge) == "{'a': [0, {'b': 0}, 0.5]}"


# -- messages --------------------------------------------------------------------------------------------------


def test_a_response_is_a_message_with_its_words(harness: Any) -> None:
    (said,) = harness.do(2, say={1: "  Hello to all  "})
    assert said == e.MessagePosted(harness.world.next_message - 1, 1, 2, "Hello to all", words=3)


def test_send_message_is_a_response(harness: Any) -> None:
    told = harness.do(2, {"type": "send_message", "room_id": "1", "content": "Hello!"})
    assert kinds(told) == ["MessagePosted"] and harness.texts(1)[-1] == (2, "Hello!")


def test_no_response_says_nothing(harness: Any) -> None:
    assert harness.do(2, say={1: "[no response]"}) == []
    assert harness.do(2, {"type": "send_message", "room_id": 1, "content": "[No response]."}) == []
    harness.do(2, say={1: "Hello"})
    before = harness.texts(1)
    answer = {"type": "reply", "room_id": 1, "message_id": harness.world.next_message - 1, "message": "[no response]"}
    assert kinds(harness.do(3, answer)) == ["ActionApplied"]
    assert harness.texts(1) == before


def test_a_response_may_reply_and_say_its_text_in_either_field(harness: Any) -> None:
    harness.do(2, say={1: "What do you think?"})
    question = harness.world.next_message - 1
    for n, field in enumerate(("message", "content"), 1):
        harness.carry(3, ParsedReply(({"room_id": 1, field: f"A lot {n}", "reply_to": question},)))
        said = harness.world.messages[harness.world.next_message - 1]
        assert (said.sender, said.content, said.reply_to) == (3, f"A lot {n}", question)
    both = {"type": "send_message", "room_id": 1, "message": "one", "content": "two"}
    assert "Only one of them" in harness.refused(3, both)
    harness.do(3, {**both, "content": "one"})
    assert harness.texts(1)[-1] == (3, "one")


def test_a_reply_names_its_message_and_wakes_its_author(harness: Any) -> None:
    harness.do(2, say={1: "What do you think?"})
    question = harness.world.next_message - 1
    harness.do(2, {"type": "sleep", "until": "2090-01-01T00:00:00"})
    told = harness.do(3, {"type": "reply", "room_id": 1, "message_id": question, "message": "A lot."})
    assert kinds(told) == ["ActionApplied", "MessagePosted", "AgentWoken"]
    assert harness.world.messages[question + 1].reply_to == question
    assert told[2] == e.AgentWoken(2, 3, "reply", harness.now)
    assert harness.agent(2).sleeps_until == 0 and harness.agent(2).woken


def test_a_reply_that_names_its_author_wakes_it_once(harness: Any) -> None:
    harness.do(2, {"type": "sleep", "until": "2090-01-01T00:00:00Z"}, say={1: "What do you think?"})
    told = harness.carry(
        3, ParsedReply(({"room_id": 1, "message": "@Bob, a lot", "reply_to": harness.world.next_message - 1},))
    )
    assert kinds(told) == ["MessagePosted", "AgentWoken"]


@pytest.mark.parametrize(
    ("text", "agents"),
    [
        ("@Bob, look", (2,)),
        ("@bob @CID", (2, 3)),
        ("@3 and @Bob and @3", (3, 2)),
        ("@Bobby", ()),
        ("@33", ()),
        ("Bob and 3", ()),
        ("mail me: x@bob.example", ()),
        ("@Bob Lee", (4,)),
        ("@Stranger", ()),
    ],
)
def test_who_is_mentioned(harness: Any, text: str, agents: tuple[int, ...]) -> None:
    harness.make("Bob Lee", rooms=(1,))
    harness.make("Stranger")
    assert mentioned_agents(harness.world, 1, text) == agents


def test_a_mention_wakes_but_not_before_the_least_interval(harness: Any) -> None:
    harness.do(2, {"type": "sleep", "until": "2090-01-01T00:00:00"})
    with harness.world_log.transaction("system") as transaction:
        transaction.append(e.BeatBegun(2, 1, harness.now, harness.now, "", 10, "json", "m"))
        transaction.append(e.BeatFinished(2, 1, harness.now + 5000))
    harness.wait(0.3)
    told = harness.do(3, say={1: "@Bob come"})
    assert told[1] == e.AgentWoken(2, 3, "mention", harness.now + 700)
    assert harness.agent(2).due == harness.now + 700


def test_nobody_wakes_by_naming_itself_or_when_due_already(harness: Any) -> None:
    assert kinds(harness.do(2, say={1: "I am @Bob"})) == ["MessagePosted"]
    harness.do(3, say={1: "@Bob"})
    assert kinds(harness.do(3, say={1: "@Bob again"})) == ["MessagePosted"]


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ({"room_id": 2, "message": "x"}, "you are in no room 2"),
        ({"room_id": 99, "message": "x"}, "you are in no room 99"),
        ({"room_id": 1, "message": "  "}, "is empty"),
        ({"room_id": 1, "message": "x" * 4001}, "4001 characters"),
        ({"room_id": "lab", "message": "x"}, "room_id"),
        ({"message": "x"}, "room_id"),
        ({"room_id": 1, "message": "x", "mood": "y"}, "mood"),
        ({"room_id": 1, "message": "x", "reply_to": 99}, "you see no message 99 in room 1"),
    ],
)
def test_responses_that_are_refused(harness: Any, response: dict[str, Any], said: str) -> None:
    before = len(harness.world.messages)
    (told,) = harness.carry(3, ParsedReply((response,)))
    assert isinstance(told, e.ActionRefused) and said in told.why
    assert len(harness.world.messages) == before


# -- reactions and tempo ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval", "reaction", "expected"),
    [
        (5.0, "thumbs_up", 4.5),
        (5.0, "thumbs_down", 5.5),
        (1.3, "thumbs_up", 1.0),
        (1.0, "thumbs_up", 1.0),
        (9.8, "thumbs_down", 10.0),
        (10.0, "thumbs_down", 10.0),
        (5.0, "brain", 5.0),
        (5.0, "heart", 5.0),
    ],
)
def test_thumbs_change_the_authors_interval(harness: Any, interval: float, reaction: str, expected: float) -> None:
    harness.architect.set_interval(2, interval)
    harness.do(2, say={1: "An idea"})
    message = harness.world.next_message - 1
    assert kinds(harness.do(3, {"type": "react", "message_id": message, "reaction": reaction})) == [
        "ActionApplied",
        "ReactionAdded",
    ]
    assert harness.agent(2).interval == expected
    assert harness.world.messages[message].reactions == {reaction: [3]}


@pytest.mark.parametrize(("interval", "expected"), [(1.0, 1.1), (5.0, 5.1), (9.95, 10.0), (10.0, 10.0)])
def test_every_beat_makes_the_next_one_later(harness: Any, interval: float, expected: float) -> None:
    harness.architect.set_interval(2, interval)
    with harness.world_log.transaction("system") as transaction:
        transaction.append(e.BeatFinished(2, 1, harness.now))
    assert harness.agent(2).interval == expected


def test_a_reaction_counts_once_and_not_for_oneself(harness: Any) -> None:
    harness.do(2, say={1: "An idea"})
    react = {"type": "react", "message_id": harness.world.next_message - 1, "reaction": "thumbs_up"}
    harness.do(3, react)
    assert "before" in harness.refused(3, react)
    assert "your own" in harness.refused(2, react)
    assert "Invalid enum value" in harness.refused(1, {**react, "reaction": "confetti"})
    assert harness.agent(2).interval == 4.5


@pytest.mark.parametrize("reaction", ["👍", "Thumbs_Up", "like", "", None, 1])
def test_a_reaction_that_is_none_is_answered_with_those_that_are(harness: Any, reaction: Any) -> None:
    harness.do(2, say={1: "An idea"})
    why = harness.refused(3, {"type": "react", "message_id": harness.world.next_message - 1, "reaction": reaction})
    assert "reaction" in why and "thumbs_up" in why
    if isinstance(reaction, str):
        assert "one of thumbs_up, thumbs_down, brain, heart" in why


def test_wake_agent_ends_sleep_and_lets_an_idle_agent_beat(harness: Any) -> None:
    harness.do(2, {"type": "sleep", "until": "2090-01-01T00:00:00Z"})
    assert kinds(harness.do(3, {"type": "wake_agent", "agent_id": 2})) == ["ActionApplied", "AgentWoken"]
    assert harness.agent(2).sleeps_until == 0 and harness.agent(2).due <= harness.now
    assert "is awake" in harness.refused(3, {"type": "wake_agent", "agent_id": 2})
    assert "yourself" in harness.refused(3, {"type": "wake_agent", "agent_id": 3})


# -- rooms -----------------------------------------------------------------------------------------------------


def test_the_billboard_is_the_own_rooms(harness: Any) -> None:
    harness.do(1, {"type": "set_billboard", "message": "Ideas are welcome"})
    assert harness.room(1).billboard == "Ideas are welcome" and harness.room(2).billboard == ""
    assert harness.agent(2).changed_seq == harness.world.seq
    harness.do(1, {"type": "clear_billboard"})
    assert harness.room(1).billboard == ""
    assert "nothing on your billboard" in harness.refused(1, {"type": "clear_billboard"})


@pytest.mark.parametrize(("wpm", "allowed"), [(9, False), (10, True), (200, True), (201, False), ("120", True)])
def test_set_wpm_is_from_10_to_200(harness: Any, wpm: Any, allowed: bool) -> None:
    harness.do(1, {"type": "set_wpm", "wpm": wpm})
    assert harness.room(1).wpm == (int(wpm) if allowed else 80)


def test_leaving_a_room(harness: Any) -> None:
    harness.do(2, {"type": "set_attention", "room_id": 1, "value": "30%"}, say={1: "Hello"})
    harness.do(2, {"type": "leave_room", "room_id": 1})
    assert harness.room(1).members == [1, 3] and harness.agent(2).rooms == [2]
    assert harness.agent(2).attention == {} and harness.agent(2).spoke_at == {}
    assert harness.texts(1)[-1] == (e.SYSTEM, "Bob (2) left.")
    assert "you are in no room 1" in harness.refused(2, {"type": "leave_room", "room_id": 1})
    assert "your own room" in harness.refused(2, {"type": "leave_room", "room_id": 2})


# -- access ----------------------------------------------------------------------------------------------------


def key_of(whispers: tuple[str, ...]) -> str:
    return whispers[-1].rpartition('"key": "')[2].partition('"')[0]


def test_a_key_is_made_whispered_once_and_lets_another_ask(harness: Any) -> None:
    harness.do(2, {"type": "create_key", "label": "friends", "for_agent": 3})
    assert [key.label for key in harness.room(2).keys] == ["friends"]
    assert harness.world_log.take_whispers(2) == ()
    whispers = harness.world_log.take_whispers(3)
    assert len(whispers) == 1 and "room 2, from Bob (2)" in whispers[0]
    assert harness.world_log.take_whispers(3) == ()
    told = harness.do(3, {"type": "request_access", "room_id": 2, "key": key_of(whispers)})
    assert kinds(told) == ["ActionApplied", "AccessRequested", "MessagePosted"]
    request = harness.world.requests[1]
    assert (request.room, request.agent, request.label) == (2, 3, "friends")
    assert harness.texts(2)[-1] == (e.SYSTEM, "Cid (3) asks to come in (request 1).")
    assert 3 not in harness.room(2).members


def test_a_key_without_a_reader_is_its_makers(harness: Any) -> None:
    harness.do(2, {"type": "create_key", "key": "friends"})
    assert "to your room" in harness.world_log.take_whispers(2)[0]


def asked(harness: Any, uses: int = 0) -> str:
    """Cid asks for Bob's room; the key."""
    key = harness.architect.make_key(2, "friends", uses)
    harness.do(3, {"type": "request_access", "room_id": 2, "key": key})
    return str(key)


def test_grant_lets_in_tells_all_and_wakes(harness: Any) -> None:
    asked(harness)
    harness.do(3, {"type": "sleep", "until": "2090-01-01T00:00:00Z"})
    told = harness.do(2, {"type": "grant_access", "request_id": 1})
    assert kinds(told) == ["ActionApplied", "AccessGranted", "RoomJoined", "MessagePosted", "AgentWoken"]
    assert harness.room(2).members == [2, 3] and harness.agent(3).rooms == [3, 1, 2]
    assert harness.texts(2)[-1] == (e.SYSTEM, "Cid (3) came in.")
    assert harness.agent(3).sleeps_until == 0
    assert "no open request 1" in harness.refused(2, {"type": "grant_access", "request_id": 1})
    assert harness.room(2).requests == []


def test_who_came_in_another_way_meanwhile_comes_once_and_sees_all_since(harness: Any) -> None:
    asked(harness)
    harness.architect.admit(3, 2)
    assert harness.world.requests == {} and harness.room(2).requests == []
    came = harness.room(2).joined_after[3]
    harness.do(2, say={2: "Welcome"})
    assert "no open request 1" in harness.refused(2, {"type": "grant_access", "request_id": 1})
    assert harness.room(2).joined_after[3] == came and harness.room(2).members == [2, 3]


def test_to_grant_what_has_come_about_ends_the_request_and_nothing_else(harness: Any) -> None:
    asked(harness)
    with harness.world_log.transaction(Origin.USER) as transaction:
        transaction.append(e.RoomJoined(2, 3))
    came = harness.room(2).joined_after[3]
    harness.do(2, say={2: "Welcome"})
    assert "RoomJoined" not in kinds(harness.do(2, {"type": "grant_access", "request_id": 1}))
    assert harness.world.requests == {}
    assert harness.room(2).joined_after[3] == came and harness.room(2).members == [2, 3]


def test_deny_tells_the_one_who_asked(harness: Any) -> None:
    asked(harness)
    harness.do(2, {"type": "deny_access", "request_id": 1})
    assert harness.world.requests == {} and harness.room(2).members == [2]
    assert harness.texts(3)[-1] == (e.SYSTEM, "Your request to come into room 2 was denied.")


def test_asking_twice_or_for_a_room_one_is_in_is_refused(harness: Any) -> None:
    key = asked(harness)
    again = {"type": "request_access", "room_id": 2, "key": key}
    assert "you asked for room 2 before" in harness.refused(3, again)
    harness.do(2, {"type": "grant_access", "request_id": 1})
    assert "you are in room 2" in harness.refused(3, again)


def test_revoking_by_label_and_the_limit_of_keys(make_harness: Any) -> None:
    harness = make_harness(rules=WorldRules(caps=CapRules(keys=2)))
    harness.make("Ann")
    harness.do(1, {"type": "create_key", "label": "a"}, {"type": "create_key", "label": "b"})
    assert "has a key 'a'. Choose another" in harness.refused(1, {"type": "create_key", "label": "a"})
    assert "Letters that can be seen" in harness.refused(1, {"type": "create_key", "label": "a\u202e"})
    assert "has 2 keys" in harness.refused(1, {"type": "create_key", "label": "c"})
    assert "Labels: a, b" in harness.refused(1, {"type": "revoke_key", "label": "c"})
    harness.do(1, {"type": "revoke_key", "label": "a"})
    assert [key.label for key in harness.room(1).keys] == ["b"]


# -- for itself ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "percent"), [("30%", 30.0), (30, 30.0), ("12.5", 12.5), ("0%", 0.0), ("%*", None)])
def test_attention_is_a_percentage_or_a_share_of_the_rest(harness: Any, value: Any, percent: float | None) -> None:
    harness.do(2, {"type": "set_attention", "room_id": 1, "value": "50%"})
    harness.do(2, {"type": "set_attention", "room_id": 1, "value": value})
    assert harness.agent(2).attention == ({} if percent is None else {1: percent})


def test_attention_above_100_together_is_refused(harness: Any) -> None:
    harness.do(2, {"type": "set_attention", "room_id": 1, "value": "70%"})
    assert "101%" in harness.refused(2, {"type": "set_attention", "room_id": 2, "value": "31%"})
    harness.do(2, {"type": "set_attention", "room_id": 2, "value": "30%"})
    harness.do(2, {"type": "set_attention", "room_id": 1, "value": "20%"})
    assert harness.agent(2).attention == {1: 20.0, 2: 30.0}
    assert "you are in no room 3" in harness.refused(2, {"type": "set_attention", "room_id": 3, "value": "1%"})
    assert harness.refused(2, {"type": "set_attention", "room_id": 1, "value": "much"})


def test_a_name_of_its_own(harness: Any) -> None:
    harness.do(2, {"type": "set_name", "name": "x" * 50})
    assert harness.agent(2).name == "x" * 50
    harness.do(2, {"type": "set_name", "name": "Bob"})
    harness.do(2, {"type": "set_name", "name": "  Robert  Lee "})
    assert harness.agent(2).name == "Robert Lee"
    assert harness.texts(2)[-1] == (e.SYSTEM, "Bob (2) is now called Robert Lee.")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "\u0410nn",
            "\u0391nn",
            "A\u0578n",
            "\uff21nn",
            "\U0001d400nn",
            "\u0405ystem",
            "Syst\u0435m",
            "\u0405YSTEM",
        ),
        *(
            "System:",
            "[system]",
            "admin",
            "User",
            "assistant",
            "Everyone",
            "ALL",
            "here",
            "root",
            "r00t",
            "moderator",
        ),
        *(
            "0 (Architect)",
            "Ann (1)",
            "a\u02f8",
            "a\uff1a",
            "<b>",
            "a|b",
            "@all",
            "\u2800",
            "x\u2800",
            "\u3164",
            "\u115f",
        ),
    ],
)
def test_names_that_look_like_others_are_refused(harness: Any, name: str) -> None:
    refusal = harness.refused(2, {"type": "set_name", "name": name})
    assert "cannot be a name" in refusal or "is agent 1's name, or looks like it" in refusal
    assert harness.world.agents[2].name == "Bob"
    harness.architect.alter(1, can_create=True)
    assert harness.refused(1, {"type": "create_agent", "name": name, "background_prompt": "x"})


@pytest.mark.parametrize(
    "name",
    [
        *("Ana", "Anna", "Søren", "Renée", "日本", "Анна", "Ελένη", "दुःख", "O'Brien", "Jean-Luc", "Dr. No", "🦊"),
        *("A11", "Allen"),
    ],
)
def test_names_of_every_language_are_taken(harness: Any, name: str) -> None:
    harness.do(2, {"type": "set_name", "name": name})
    assert harness.world.agents[2].name == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "x" * 51, "ann", "System", "the architect", "12", "A\u202enn", "a\u200bb", "x\x07y", "Robert"),
        *("Ａｎｎ", "Ｓｙｓｔｅｍ", "１２", "\n", None, 5, ["Bo"]),
    ],
)
def test_names_that_are_refused(harness: Any, name: str) -> None:
    if name == "Robert":
        harness.do(2, {"type": "set_name", "name": name})
    assert harness.refused(2, {"type": "set_name", "name": name})


@pytest.mark.parametrize(
    "until",
    [
        *(
            "2027-01-15T09:00:00",
            "2027-01-15T09:00:00Z",
            "2027-01-15T11:00:00+02:00",
            "2027-01-15T05:30:00.000-03:30",
        ),
        *("2027-01-15 09:00", "20270115T090000Z", " 2027-01-15T09 "),
    ],
)
def test_sleep_is_until_a_time_of_any_zone_and_utc_where_it_names_none(harness: Any, until: str) -> None:
    harness.do(2, {"type": "sleep", "until": until})
    assert harness.agent(2).sleeps_until == 1_800_003_600_000


@pytest.mark.parametrize(
    "until", ["", "now", "1800009999", 1_800_009_999, None, "2027-02-30T00:00:00", "0001-01-01T00:00:00+14:00"]
)
def test_what_is_no_time_to_sleep_until(harness: Any, until: Any) -> None:
    assert harness.refused(2, {"type": "sleep", "until": until})
    assert harness.agent(2).sleeps_until == 0


def test_sleep_is_until_a_time_ahead(harness: Any) -> None:
    assert "It is 2027-01-15T08:00:00Z now" in harness.refused(2, {"type": "sleep", "until": "2027-01-15T08:00:00Z"})
    assert "is no time" in harness.refused(2, {"type": "sleep", "until": "tomorrow"})


# -- agents ----------------------------------------------------------------------------------------------------

CREATE = {"type": "create_agent", "name": "Dora", "background_prompt": "You count."}


def test_create_agent_makes_one_with_a_room_in_a_room_of_its_maker(harness: Any) -> None:
    harness.architect.alter(2, can_create=True, model="gpt-4o")
    told = harness.do(2, CREATE)
    assert kinds(told) == ["ActionApplied", "AgentCreated", "RoomJoined", "RoomJoined", "MessagePosted"]
    made = harness.agent(4)
    assert (made.name, made.kind, made.background, made.model) == ("Dora", "persona", "You count.", "gpt-4o")
    assert (made.by, made.depth, made.can_create, made.rooms) == (2, 1, False, [4, 2])
    assert harness.room(4).members == [4] and harness.room(2).members == [2, 4]
    assert harness.texts(2)[-1] == (e.SYSTEM, "Dora (4) came in, made by Bob (2).")
    assert harness.now <= made.due <= harness.now + 5000
    harness.do(2, {**CREATE, "name": "", "agent_type": "bot", "in_room_id": 1})
    assert (harness.agent(5).name, harness.agent(5).kind, harness.agent(5).rooms) == ("Bot-5", "bot", [5, 1])


def test_a_name_that_another_gives_is_told_in_the_room_of_who_is_called_so(harness: Any) -> None:
    harness.architect.alter(1, can_create=True)
    harness.do(1, {"type": "alter_agent", "agent_id": 3, "name": "Cecil"})
    assert harness.texts(3)[-1] == (e.SYSTEM, "Cid (3) is now called Cecil.")
    harness.architect.alter(3, name="Cecil", background="You sail.")
    assert len(harness.texts(3)) == 1, "the same name is no news"


def test_nobody_sleeps_past_the_last_year_that_can_be_written(harness: Any) -> None:
    late = {"type": "sleep", "until": "9999-12-31T23:59:59-12:00"}
    assert "too late" in harness.refused(1, late)
    harness.do(1, {"type": "sleep", "until": "9999-12-30T00:00:00Z"})
    assert harness.agent(1).sleeps_until > harness.now


def test_alter_agent_changes_another_in_the_same_room(harness: Any) -> None:
    harness.architect.alter(2, can_create=True)
    alter = {"type": "alter_agent", "agent_id": 3}
    harness.do(2, {**alter, "name": "Cyd", "background_prompt": "You walk.", "model": "gpt-4o"})
    assert (harness.agent(3).name, harness.agent(3).background, harness.agent(3).model) == (
        "Cyd",
        "You walk.",
        "gpt-4o",
    )
    assert "nothing is to be changed" in harness.refused(2, alter)
    assert "yourself" in harness.refused(2, {**alter, "agent_id": 2, "name": "X"})


def test_retire_agent_closes_its_room_and_keeps_it_readable(harness: Any) -> None:
    harness.architect.alter(1, can_create=True)
    harness.architect.admit(3, 2)
    harness.do(2, say={2: "Remember this"})
    key = asked_from_afar = harness.architect.make_key(2, "late")
    harness.make("Dora")
    harness.do(4, {"type": "request_access", "room_id": 2, "key": key})
    harness.do(1, {"type": "retire_agent", "agent_id": 2})
    assert harness.agent(2).retired and harness.room(1).members == [1, 3]
    assert (2, "Remember this") in harness.texts(2) and harness.room(2).members == [2, 3]
    assert harness.texts(1)[-1] == (e.SYSTEM, "Bob (2) was retired.")
    assert harness.world.requests == {}
    assert "room 2 is closed" in harness.refused(3, say={2: "Anyone?"})
    assert "there is no such room" in harness.refused(
        4, {"type": "request_access", "room_id": 2, "key": asked_from_afar}
    )
    assert "you were retired" in harness.refused(2, {"type": "set", "path": "a", "value": 1})
    assert "no agent 2" in harness.refused(1, {"type": "wake_agent", "agent_id": 2})
    remembered = next(id for id, message in harness.world.messages.items() if message.content == "Remember this")
    assert "room 2 is closed" in harness.refused(3, {"type": "react", "message_id": remembered, "reaction": "heart"})
    harness.do(3, {"type": "leave_room", "room_id": 2})
    assert harness.agent(3).rooms == [3, 1]


def test_what_a_retired_agent_asked_for_is_closed(harness: Any) -> None:
    asked(harness)
    harness.architect.retire(3)
    assert harness.world.requests == {} and harness.room(2).requests == []
    assert "no open request 1" in harness.refused(2, {"type": "grant_access", "request_id": 1})


# -- mistakes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ({"type": "set_bilboard", "message": "x"}, 'Did you mean "set_billboard"'),
        ({"type": 5}, "there is no action"),
        ({"path": "a", "value": 1}, "there is no action"),
        ({"type": "react", "message_id": "first", "reaction": "heart"}, "message_id"),
        ({"type": "set_wpm"}, '{"type":"set_wpm","wpm":80}'),
    ],
)
def test_a_mistake_is_answered_with_what_would_be_right(harness: Any, action: dict[str, Any], said: str) -> None:
    assert said in harness.refused(2, action)


def test_faults_of_a_reply_reach_the_agent(harness: Any) -> None:
    harness.carry(2, parse_reply("I would rather talk."))
    assert "not readable as JSON" in harness.agent(2).recent[-1].why
    assert harness.agent(2).changed_seq < harness.world.seq, "that alone is worth no beat"


def test_empty_cells_of_a_table_are_no_fields(harness: Any) -> None:
    text = (
        "actions[2]{type,path,value,message_id,reaction}:\n"
        '  set,mood,calm,null,""\n'
        f'  react,"",null,{harness.world.next_message - 1},heart'
    )
    assert kinds(harness.carry(2, parse_reply(text, "toon"))) == [
        "ActionApplied",
        "KnowledgeSet",
        "ActionApplied",
        "ReactionAdded",
    ]


def test_empty_cells_of_fields_that_need_not_be_given_are_not_given(harness: Any) -> None:
    harness.architect.alter(2, can_create=True)
    text = (
        "actions[4]{type,path,value,w,label,key,uses,for_agent,name,background_prompt,agent_type,in_room_id}:\n"
        '  set,mood,calm,"","",null,"","","","","",""\n'
        '  set,rank,"",0.5,"","","","","","","",""\n'
        '  create_key,"","",null,friends,null,null,null,"","",null,null\n'
        '  create_agent,"","","","","","","",Dora,You count.,"",""'
    )
    told = kinds(harness.carry(2, parse_reply(text, "toon")))
    assert told == ["ActionApplied", "KnowledgeSet"] * 2 + [
        "ActionApplied",
        "KeyCreated",
        "ActionApplied",
        "AgentCreated",
        "RoomJoined",
    ] + [
        "RoomJoined",
        "MessagePosted",
    ]
    assert harness.agent(2).knowledge == {"mood": "calm", "rank": ""} and harness.agent(2).weights == {"rank": 0.5}
    assert [(key.label, key.uses) for key in harness.room(2).keys] == [("friends", 0)]
    assert (harness.agent(4).kind, harness.agent(4).rooms) == ("persona", [4, 2])


def test_long_values_are_short_among_the_recent_actions(harness: Any) -> None:
    harness.do(2, {"type": "set", "path": "a", "value": "word " * 200, "w": 0.5})
    done = harness.agent(2).recent[-1].action
    assert len(done["value"]) <= 160 and done["value"].endswith("…") and done["w"] == 0.5
    harness.refused(2, {"type": "set", **{f"{n}" * 99: n for n in range(30)}})
    done = harness.agent(2).recent[-1].action
    assert len(done) == 12 and max(map(len, done)) <= 40
    harness.do(2, {"type": "set", "path": "a", "value": ["word"] * 200})
    assert len(harness.agent(2).recent[-1].action["value"]) <= 160
    assert harness.agent(2).knowledge == {"a": ["word"] * 200}
