"""The HUD as TOON: messages are one table with fixed columns, so that each row is written once for all who see it.

`formats.toon.decode(text, even=True)` reads it. Hidden characters are written out (`document.visible`), because TOON
would pass them on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hudkit.compose import visible
from hudkit.compose.formats import json_text, toon
from hudkit.compose.formats.even import even
from hudkit.errors import FormatError


class Tabular:
    name = "toon"
    short_times = True
    between = "\n"
    end_actions = "\n"

    def system(self, value: dict[str, Any]) -> str:
        return _lines(0, _written("system", value))

    def meta(self, value: dict[str, Any]) -> str:
        return _lines(0, _written("meta", value))

    def identity(self, value: dict[str, Any]) -> str:
        return "self:\n" + _lines(1, _written("identity", value))

    def member(self, name: str, value: Any) -> str:
        return _lines(1, _written(name, value))

    def knowledge(self, value: dict[str, Any], *, tight: bool) -> str:  # noqa: ARG002
        return self.member("knowledge", value)

    def actions(self, number: int) -> str:
        return f"  recent_actions[{number}]:\n" if number else "  recent_actions: []\n"

    def action(self, value: dict[str, Any]) -> str:
        lines = toon.encode(even(shown(value), flat=True)).split("\n")
        return "    - " + "\n      ".join(lines)

    def now(self, value: str) -> str:
        return self.member("now", value)

    def tail(self, body: str) -> str | None:  # noqa: ARG002
        return None

    def rooms(self, number: int) -> str:
        return f"rooms[{number}]:\n" if number else "rooms: []"

    def head(self, value: dict[str, Any]) -> str:
        return _lines(0, _written("rooms", [value])[1:])

    def room_member(self, name: str, value: Any) -> str:
        return _lines(2, _written(name, value))

    def messages(self, number: int) -> str:
        return f"    messages[{number}]{_COLUMNS}:\n" if number else "    messages: []"

    def message(self, value: dict[str, Any]) -> str:
        return f"      {_row(value)[1].lstrip()}"

    def end(self, *, rows: bool, last: bool) -> str:  # noqa: ARG002
        return "" if last else "\n"


def shown(value: Any) -> Any:
    """Plain data with every hidden character written out."""
    if isinstance(value, str):
        return visible(value, breaks=True)
    if isinstance(value, dict):
        found: dict[str, Any] = {}
        for key, one in value.items():
            name = visible(key)
            while name in found:
                name += "'"
            found[name] = shown(one)
        return found
    return [shown(one) for one in value] if isinstance(value, list | tuple) else value


def _written(name: str, value: Any) -> list[str]:
    """The lines of one member of an object; what TOON cannot say stands as JSON text."""
    value = shown(value)
    try:
        return toon.encode({name: value}, even=True).split("\n")
    except FormatError:
        return toon.encode({name: json_text.encode(value, indent=None)}, even=True).split("\n")


def _row(value: dict[str, Any]) -> list[str]:
    """The header and the row of a table with one message."""
    reactions = value.get("reactions")
    cells = {
        "id": value["id"],
        "timestamp": value["timestamp"],
        "sender": value["sender"],
        "content": shown(value["content"]),
        "type": value["type"],
        "reply_to?": value.get("reply_to"),
        "reactions~": reactions and json_text.encode(reactions, indent=None),
    }
    return toon.encode({"messages": [cells]}).split("\n")


def _lines(depth: int, lines: Iterable[str]) -> str:
    pad = "  " * depth
    return "".join([f"{pad}{line}\n" for line in lines])


_COLUMNS = (
    _row({"id": 0, "timestamp": "", "sender": "", "content": "", "type": ""})[0]
    .removeprefix("messages[1]")
    .removesuffix(":")
)
