"""The fields of a HUD (003), from the state of a world to plain data. Pure; one function a part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, TypeVar

from hudkit.compose import shorten
from hudkit.compose.formats import json_text
from hudkit.rooms.knowledge_tree import set_at, value_at
from hudkit.rooms.world import AgentState, RecentAction, RoomMessage, RoomState, World
from hudkit.rooms.world_events import ARCHITECT, SYSTEM

TimeFormat = Callable[[int], str]
"""A time (Unix ms) as this agent reads it."""

MAX_SHOWN_DEPTH = 24
"""Levels of knowledge that are shown as such; what is below them is JSON text."""

MAX_ARGUMENT_CHARACTERS = 200
"""Characters that one argument of a recent action may take."""


def sender_name(id: int) -> str:
    return "The Architect" if id == ARCHITECT else "System" if id == SYSTEM else str(id)


def identity_fields(agent: AgentState, background: str) -> dict[str, Any]:
    kind = "seed" if agent.kind == "persona" else "role"
    return {"id": agent.id, "name": agent.name, "model": agent.model, kind: background}


def knowledge_fields(knowledge: Mapping[str, Any], weights: Mapping[str, float]) -> dict[str, Any]:
    """Knowledge as its owner sees it: what has a weight is `{"v": value, "w": weight}`."""
    shown: dict[str, Any] = {name: _shallow(value, 1) for name, value in knowledge.items()}
    for path in sorted(weights, key=lambda one: -one.count(".")):
        if (value := value_at(shown, path)) is not None:
            shown = set_at(shown, path, {"v": value, "w": weights[path]})
    return shown


def _shallow(value: Any, depth: int) -> Any:
    """A value of few levels, with no negative zero, which TOON cannot say."""
    if isinstance(value, float):
        return value or 0.0
    if not isinstance(value, dict | list | tuple):
        return value
    if depth >= MAX_SHOWN_DEPTH:
        return json_text.encode(value, indent=None)
    if isinstance(value, dict):
        return {name: _shallow(one, depth + 1) for name, one in value.items()}
    return [_shallow(one, depth + 1) for one in value]


def action_fields(done: RecentAction, clock: TimeFormat) -> dict[str, Any]:
    """A recent action: what it was, when, and why it was refused if it was. Long values are cut."""
    row: dict[str, Any] = {
        "type": shorten(str(done.action.get("type", "response")), MAX_ARGUMENT_CHARACTERS),
        "timestamp": clock(done.at),
    }
    for name, value in done.action.items():
        if name not in ("type", "timestamp", "refused"):
            row[shorten(name, MAX_ARGUMENT_CHARACTERS)] = _brief(value)
    return {**row, "refused": shorten(done.why, 2 * MAX_ARGUMENT_CHARACTERS)} if done.why else row


def _brief(value: Any) -> Any:
    if isinstance(value, str):
        return shorten(value, MAX_ARGUMENT_CHARACTERS)
    value = _shallow(value, 1)
    text = json_text.encode(value, indent=None)
    return value if len(text) <= MAX_ARGUMENT_CHARACTERS else shorten(text, MAX_ARGUMENT_CHARACTERS)


def message_fields(said: RoomMessage, clock: TimeFormat) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": said.id,
        "timestamp": clock(said.at),
        "sender": sender_name(said.sender),
        "content": said.content,
        "type": said.kind,
    }
    if said.reply_to:
        row["reply_to"] = said.reply_to
    if said.reactions:
        row["reactions"] = {name: len(who) for name, who in said.reactions.items()}
    return row


def room_head_fields(room: RoomState, you: int, members: list[str], share: float) -> dict[str, Any]:
    return {
        "id": room.id,
        "you": you,
        "is_self_room": room.id == you,
        "members": members,
        "attention_pct": round(share, 1),
    }


def room_board_fields(world: World, room: RoomState, you: int) -> dict[str, Any]:
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


DAY = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()


def format_iso(at: int) -> str:
    """`2024-01-15T10:30:00`; `at` is Unix ms."""
    days, rest = divmod(at // 1000, 86_400)
    return f"{_date(days)}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def format_short(at: int, now: int) -> str:
    """`10:30` on the day of `now`, else `01-15 10:30`, else `2023-01-15 10:30`."""
    if at // DAY == now // DAY:
        minutes = at % DAY // 60_000
        return f"{minutes // 60:02}:{minutes % 60:02}"
    when = datetime.fromtimestamp(at // 1000, UTC)
    this = datetime.fromtimestamp(now // 1000, UTC)
    return when.strftime("%m-%d %H:%M" if when.year == this.year else "%Y-%m-%d %H:%M")


@lru_cache(64)
def _date(days: int) -> str:
    return date.fromordinal(_EPOCH + days).isoformat()


T = TypeVar("T")


def largest_fitting(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """The greatest number up to `most` that fits, or `least` where none does; what fits, fits with less, too."""
    if most <= least or fits(most):
        return most
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if fits(middle) else (least, middle)
    return least


def fitting_beginning(items: Sequence[T], fits: Callable[[list[T]], bool]) -> list[T]:
    """As many of the first items as fit together; none where not even one does."""
    return list(items[: largest_fitting(0, len(items), lambda number: fits(list(items[:number])))])


def truncate_to_fit(text: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning of a text that fits, with an ellipsis; the ellipsis alone where none does."""
    return shorten(text, largest_fitting(1, len(text), lambda number: fits(shorten(text, number))))
