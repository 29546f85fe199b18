"""The help on actions: TOML with categories, their descriptions, and what each argument of an action is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec

from hudkit.errors import ConfigError
from hudkit.rooms.prompts.faults import fault, one_of

CATEGORIES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "knowledge_management": {"set": ("path", "value", "w"), "delete": ("path",), "append": ("path", "value")},
    "social_interactions": {"react": ("message_id", "reaction"), "wake_agent": ("agent_id",)},
    "messaging": {"reply": ("room_id", "message_id", "message")},
    "room_management": {"set_billboard": ("message",), "clear_billboard": (), "set_wpm": ("wpm",)},
    "access_control": {
        "create_key": ("label", "uses", "for_agent"),
        "revoke_key": ("label",),
        "request_access": ("room_id", "key"),
        "grant_access": ("request_id",),
        "deny_access": ("request_id",),
        "leave_room": ("room_id",),
    },
    "attention": {"set_attention": ("room_id", "value")},
    "identity": {"set_name": ("name",)},
    "timing": {"sleep": ("until",)},
    "agent_management": {
        "create_agent": ("name", "background_prompt", "agent_type", "in_room_id"),
        "alter_agent": ("agent_id", "background_prompt", "name", "model"),
        "retire_agent": ("agent_id",),
    },
}
"""The categories, the actions of each, and their arguments (003): the schema of the help."""

GATED = "agent_management"
"""Shown to agents only that may make others."""

_HEADER = re.compile(r"^\s*\[+\s*([\w.-]+)\s*\]+", re.MULTILINE)
_AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class Category(msgspec.Struct, frozen=True):
    """`actions` are as an agent sees them: a `type`, and what each argument is."""

    name: str
    description: str
    actions: tuple[dict[str, str], ...]


def read_actions(text: str, place: str = "actions") -> tuple[Category, ...]:
    """The help that a TOML text says, in its order. Raises `ConfigError` with `place` and line."""
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(text, place, str(error)) from None
    return tuple(_category(name, found[name], text, place) for name in found)


def _category(name: str, value: object, text: str, place: str) -> Category:
    line = _line(text, name)
    if name not in CATEGORIES:
        raise fault(place, line, f"there is no category {name!r}", one_of(name, tuple(CATEGORIES)))
    if not isinstance(value, dict) or not isinstance(value.get("description"), str):
        raise fault(place, line, f"[{name}] has no description", 'Add description = "…"')
    for key in value.keys() - {"description", "actions"}:
        raise fault(place, line, f"[{name}] has {key!r}", one_of(key, ("description", "actions")))
    actions = value.get("actions", [])
    if not isinstance(actions, list):
        raise fault(place, line, f"{name}.actions is no list", f"Write each as [[{name}.actions]]")
    return Category(
        name, value["description"], tuple(_action(name, n, one, text, place) for n, one in enumerate(actions))
    )


def _action(category: str, number: int, value: object, text: str, place: str) -> dict[str, str]:
    line = _line(text, f"{category}.actions", number)
    known = CATEGORIES[category]
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        raise fault(place, line, "an action without a type", one_of("", tuple(known)))
    if kind not in known:
        raise fault(place, line, f"{category} has no action {kind!r}", one_of(kind, tuple(known)))
    for key, what in value.items():
        if key != "type" and key not in known[kind]:
            raise fault(
                place, _key_line(text, line, key), f"{kind} has no argument {key!r}", one_of(key, known[kind])
            )
        if not isinstance(what, str):
            raise fault(place, _key_line(text, line, key), f"{key} is no text", "Say in quotes what it is")
    return {"type": kind, **{key: what for key, what in value.items() if key != "type"}}


def _line(text: str, table: str, number: int = 0) -> int:
    """Where a table, the `number`-th of its name, begins; 1 where it is written in another way."""
    starts = [found.start(1) for found in _HEADER.finditer(text) if found[1] == table]
    return text.count("\n", 0, starts[number]) + 1 if number < len(starts) else 1


def _key_line(text: str, line: int, key: str) -> int:
    """Where a key stands at or after a line."""
    for number, one in enumerate(text.splitlines()[line - 1 :], line):
        if one.split("=")[0].strip().strip("\"'") == key:
            return number
    return line


def _unreadable(text: str, place: str, message: str) -> ConfigError:
    found = _AT.search(message)
    line = int(found[1]) if found and found[1] else text.count("\n") + 1
    return fault(place, line, f"no TOML: {_AT.sub('', message)}", "Compare it with hudkit's own actions.toml")
