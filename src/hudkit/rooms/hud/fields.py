"""The fields of a HUD (003), from the state of a world to plain data. Pure; one function a part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hudkit.compose import shorten
from hudkit.compose.formats import json_text
from hudkit.rooms.events import ARCHITECT, SYSTEM
from hudkit.rooms.knowledge import at, stored
from hudkit.rooms.world import Agent, Done, Message, Room, World

Clock = Callable[[int], str]
"""A time (Unix ms) as this agent reads it."""

DEEPEST = 24
"""Levels of knowledge that are shown as such; what is below them is JSON text."""

LONGEST = 200
"""Characters that one argument of a recent action may take."""


def sender(id: int) -> str:
    return "The Architect" if id == ARCHITECT else "System" if id == SYSTEM else str(id)


def identity(agent: Agent, background: str) -> dict[str, Any]:
    kind = "seed" if agent.kind == "persona" else "role"
    return {"id": agent.id, "name": agent.name, "model": agent.model, kind: background}


def weighted(knowledge: Mapping[str, Any], weights: Mapping[str, float]) -> dict[str, Any]:
    """Knowledge as its owner sees it: what has a weight is `{"v": value, "w": weight}`."""
    shown: dict[str, Any] = {name: _shallow(value, 1) for name, value in knowledge.items()}
    for path in sorted(weights, key=lambda one: -one.count(".")):
        if (value := at(shown, path)) is not None:
            shown = stored(shown, path, {"v": value, "w": weights[path]})
    return shown


def _shallow(value: Any, depth: int) -> Any:
    """A value of few levels, with no negative zero, which TOON cannot say."""
    if isinstance(value, float):
        return value or 0.0
    if not isinstance(value, dict | list | tuple):
        return value
    if depth >= DEEPEST:
        return json_text.encode(value, indent=None)
    if isinstance(value, dict):
        return {name: _shallow(one, depth + 1) for name, one in value.items()}
    return [_shallow(one, depth + 1) for one in value]


def action(done: Done, clock: Clock) -> dict[str, Any]:
    """A recent action: what it was, when, and why it was refused if it was. Long values are cut."""
    row: dict[str, Any] = {
        "type": shorten(str(done.action.get("type", "response")), LONGEST),
        "timestamp": clock(done.at),
    }
    for name, value in done.action.items():
        if name not in ("type", "timestamp", "refused"):
            row[shorten(name, LONGEST)] = _brief(value)
    return {**row, "refused": shorten(done.why, 2 * LONGEST)} if done.why else row


def _brief(value: Any) -> Any:
    if isinstance(value, str):
        return shorten(value, LONGEST)
    value = _shallow(value, 1)
    text = json_text.encode(value, indent=None)
    return value if len(text) <= LONGEST else shorten(text, LONGEST)


def message(said: Message, clock: Clock) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": said.id,
        "timestamp": clock(said.at),
        "sender": sender(said.sender),
        "content": said.content,
        "type": said.kind,
    }
    if said.reply_to:
        row["reply_to"] = said.reply_to
    if said.reactions:
        row["reactions"] = {name: len(who) for name, who in said.reactions.items()}
    return row


def head(room: Room, you: int, members: list[str], share: float) -> dict[str, Any]:
    return {
        "id": room.id,
        "you": you,
        "is_self_room": room.id == you,
        "members": members,
        "attention_pct": round(share, 1),
    }


def board(world: World, room: Room, you: int) -> dict[str, Any]:
    """What a room shows besides: its billboard to all; labels of keys and open requests to its owner."""
    found: dict[str, Any] = {}
    if room.id in world.agents and world.agents[room.id].retired:
        found["closed"] = True
    if room.billboard:
        found["billboard"] = room.billboard
    if room.id == you:
        found["my_keys"] = [key.label for key in room.keys]
        found["pending_access_requests"] = [
            {"id": id, "requester_id": world.requests[id].agent, "key_used": world.requests[id].label}
            for id in room.requests
        ]
    return found
