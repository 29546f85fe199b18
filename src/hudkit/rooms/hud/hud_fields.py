"""The fields of knowledge, actions and messages in a HUD (003), from the state of a world to plain data; how times
read there; and cutting to what fits. Pure.

One function a part of the document. Names of fields, and their order, are what agents read: they are for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from hudkit.compose import shorten
from hudkit.compose.formats import json_text
from hudkit.rooms.knowledge_tree import set_at, value_at
from hudkit.rooms.world import PendingMessage, RecentAction, RoomMessage
from hudkit.rooms.world_events import ARCHITECT, SYSTEM

TimeFormat = Callable[[int], str]
"""A time (Unix ms) as this agent reads it."""

_MAX_SHOWN_DEPTH = 24
"""Levels of knowledge that are shown as such; what is below them is JSON text."""

_MAX_ARGUMENT_CHARACTERS = 200
"""Characters that one argument of a recent action may take."""


def knowledge_fields(knowledge: Mapping[str, Any], weights: Mapping[str, float]) -> dict[str, Any]:
    """Return knowledge as its owner sees it: what has a weight is `{"v": value, "w": weight}`."""
    shown: dict[str, Any] = {name: _shallow(value, 1) for name, value in knowledge.items()}
    # The deepest paths first: wrapping a branch would hide the paths below it.
    for path in sorted(weights, key=lambda weighted_path: -weighted_path.count(".")):
        if (value := value_at(shown, path)) is not None:
            shown = set_at(shown, path, {"v": value, "w": weights[path]})
    return shown


def action_fields(action: RecentAction, format_time: TimeFormat) -> dict[str, Any]:
    """Return a recent action: what it was, when, and why it was refused if it was. Long values are cut."""
    row: dict[str, Any] = {
        "type": shorten(str(action.action.get("type", "response")), _MAX_ARGUMENT_CHARACTERS),
        "timestamp": format_time(action.happened_at),
    }
    for name, value in action.action.items():
        if name not in ("type", "timestamp", "refused"):
            row[shorten(name, _MAX_ARGUMENT_CHARACTERS)] = _brief(value)
    return {**row, "refused": shorten(action.why, 2 * _MAX_ARGUMENT_CHARACTERS)} if action.why else row


def message_fields(message: RoomMessage, format_time: TimeFormat, *, reactions: bool = True) -> dict[str, Any]:
    """Return a message: who said it, when, what it answers, and how many reacted how, unless that is told apart."""
    row: dict[str, Any] = {
        "id": message.id,
        "timestamp": format_time(message.posted_at),
        "sender": _sender_name(message.sender),
        "content": message.content,
        "type": message.kind,
    }
    # Absent fields cost nothing: most messages answer none, and have no reactions.
    if message.reply_to:
        row["reply_to"] = message.reply_to
    if message.reactions and reactions:
        row["reactions"] = reaction_counts(message)
    return row


def _can_be_split(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether changes of a branch can be told by path: a name with a dot in it would read as two."""
    return bool(new) and new.keys() != {"v", "w"} and not any("." in name for name in {**old, **new})


def reaction_counts(message: RoomMessage) -> dict[str, int]:
    """Return how many reacted how to a message."""
    return {name: len(agents) for name, agents in message.reactions.items()}


def knowledge_changes(before: Mapping[str, Any], now: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return what is otherwise in `now`, by its path; `None` for what is gone.

    For example, `{"a": {"b": 1, "c": 2}}` and `{"a": {"b": 3}}` give `{"a.b": 3, "a.c": None}`.
    """
    changes: dict[str, Any] = {}
    for name in {**before, **now}:
        here, old, new = f"{path}{name}", before.get(name), now.get(name)
        if old is new or old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict) and _can_be_split(old, new):
            changes |= knowledge_changes(old, new, f"{here}.")
        else:
            changes[here] = new
    return changes


def pending_fields(message: PendingMessage, now: int) -> dict[str, Any]:
    """Return a message that waits for its author's pace, as its author sees it."""
    seconds = max(0, -(-(message.due - now) // 1000))
    return {
        "id": message.id,
        "message": shorten(message.content, _MAX_ARGUMENT_CHARACTERS),
        "sent_in": f"{seconds} seconds",
    }


def _sender_name(id: int) -> str:
    if id == ARCHITECT:
        return "The Architect"
    return "System" if id == SYSTEM else str(id)


def _shallow(value: Any, depth: int) -> Any:
    """Return a value of few levels, with no negative zero, which TOON cannot say."""
    if isinstance(value, float):
        return value or 0.0
    if not isinstance(value, dict | list | tuple):
        return value
    if depth >= _MAX_SHOWN_DEPTH:
        return json_text.encode(value, indent=None)
    if isinstance(value, dict):
        return {name: _shallow(item, depth + 1) for name, item in value.items()}
    return [_shallow(item, depth + 1) for item in value]


def _brief(value: Any) -> Any:
    if isinstance(value, str):
        return shorten(value, _MAX_ARGUMENT_CHARACTERS)
    value = _shallow(value, 1)
    text = json_text.encode(value, indent=None)
    return value if len(text) <= _MAX_ARGUMENT_CHARACTERS else shorten(text, _MAX_ARGUMENT_CHARACTERS)


# -- times, in UTC -------------------------------------------------------------------------------------------------

DAY = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()


def format_iso(time: int) -> str:
    """Return a time (Unix ms) to the second: `2024-01-15T10:30:00`."""
    days, rest = divmod(time // 1000, 86_400)
    return f"{_format_date(days)}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def format_short(time: int, now: int, *, seconds: bool = False) -> str:
    """Return a time as far as it differs from `now`: `10:30` on the same day (`10:30:05` with `seconds`), else
    `01-15 10:30`, else `2023-01-15 10:30`."""
    if time // DAY == now // DAY:
        minutes = time % DAY // 60_000
        return f"{minutes // 60:02}:{minutes % 60:02}" + (f":{time // 1000 % 60:02}" if seconds else "")
    then = datetime.fromtimestamp(time // 1000, UTC)
    same_year = then.year == datetime.fromtimestamp(now // 1000, UTC).year
    return then.strftime("%m-%d %H:%M" if same_year else "%Y-%m-%d %H:%M")


@lru_cache(64)  # a HUD's times are of a few days
def _format_date(days: int) -> str:
    return date.fromordinal(_EPOCH + days).isoformat()


# -- cutting -------------------------------------------------------------------------------------------------------


def largest_fitting(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """Return the greatest number up to `high` that fits, or `low` where none does.

    What fits, fits with less, too: so half of what is left is ruled out at each look.
    """
    if high <= low or fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
