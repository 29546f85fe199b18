"""Every action among the recent actions of its agent's next HUD: as it was written, with the time, in each format."""

from __future__ import annotations

from typing import Any

import pytest

from hudkit.rooms.actions import ACTIONS
from hudkit.rooms.hud import CachedRenderer, build_agent_hud

RENDERER = CachedRenderer()

DONE: dict[str, dict[str, Any]] = {
    "set": {"path": "people.Bob.trust", "value": 0.8, "w": 0.9},
    "delete": {"path": "old"},
    "append": {"path": "goals", "value": "rest"},
    "react": {"message_id": 1, "reaction": "brain"},
    "wake_agent": {"agent_id": 1},
    "reply": {"room_id": 1, "message_id": 1, "message": "I think so, too."},
    "set_billboard": {"message": "Come in"},
    "clear_billboard": {},
    "set_wpm": {"wpm": 120},
    "create_key": {"label": "friends", "uses": 3},
    "revoke_key": {"label": "late"},
    "request_access": {"room_id": 4, "key": ""},
    "grant_access": {"request_id": 1},
    "deny_access": {"request_id": 1},
    "leave_room": {"room_id": 1},
    "withdraw": {"pending_id": 1},
    "set_attention": {"room_id": 1, "value": "30%"},
    "set_name": {"name": "Robert"},
    "sleep": {"until": "2090-01-01T00:00:00"},
    "create_agent": {"name": "Eve", "background_prompt": "You count."},
    "alter_agent": {"agent_id": 3, "background_prompt": "You walk."},
    "retire_agent": {"agent_id": 3},
}


def ready(harness: Any) -> tuple[int, str]:
    """Bob (2) can do every action of `DONE`: a message of Ann's, and the key of Dee's room."""
    architect = harness.architect
    harness.make("Dee")
    architect.alter(2, can_create=True)
    architect.teach(2, "old", 1)
    architect.set_billboard(2, "Welcome")
    architect.make_key(2, "late")
    architect.make_key(2, "more")
    harness.do(3, {"type": "request_access", "room_id": 2, "key": architect.make_key(2, "guests")})
    harness.do(1, {"type": "sleep", "until": "2090-01-01T00:00:00"}, say={1: "Shall we?"})
    harness.delayed(2, say={2: "word " * 201})
    return harness.room(1).messages[-1], architect.make_key(4, "k")


def test_every_action_is_here() -> None:
    assert DONE.keys() == ACTIONS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", DONE)
@pytest.mark.parametrize("format_", ["json", "compact", "toon"])
def test_an_action_that_was_done_is_the_last_recent_one(harness: Any, name: str, format_: str) -> None:
    message, key = ready(harness)
    harness.architect.alter(2, input_format=format_)
    action = {"type": name, **DONE[name]}
    if "message_id" in action:
        action["message_id"] = message
    if "key" in action:
        action["key"] = key
    harness.do(2, action)
    seen = build_agent_hud(harness.world, 2, harness.now, RENDERER)
    time = "2027-01-15T08:00:00" if format_ == "json" else "08:00:00"
    expected = {"type": name, "timestamp": time, **{key_: value for key_, value in action.items() if key_ != "type"}}
    if name == "request_access":
        expected["key"] = "[key]"
    assert seen.document["self"]["recent_actions"][-1] == expected
    assert key not in seen.text


@pytest.mark.slow
@pytest.mark.parametrize("name", DONE)
def test_an_action_that_was_refused_says_why(harness: Any, name: str) -> None:
    harness.do(2, {"type": name, **DONE[name], "as_user": True})
    last = build_agent_hud(harness.world, 2, harness.now, RENDERER).document["self"]["recent_actions"][-1]
    assert last["type"] == name and "as_user" in last["refused"]
