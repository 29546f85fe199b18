"""The HUD as JSON indented by two: the bytes are those of `formats.json_text`.

But knowledge stands on one line where the static parts would exceed their cap.
"""

from __future__ import annotations

from typing import Any

from hudkit.compose.formats import json_text


class Indented:
    name = "json"
    short_times = False
    between = ",\n"
    end_actions = "\n    ],\n"

    def system(self, value: dict[str, Any]) -> str:
        return "{\n" + _member(1, "system", value)

    def meta(self, value: dict[str, Any]) -> str:
        return _member(1, "meta", value)

    def identity(self, value: dict[str, Any]) -> str:
        return '  "self": {\n' + _member(2, "identity", value)

    def member(self, name: str, value: Any) -> str:
        return _member(2, name, value)

    def knowledge(self, value: dict[str, Any], *, tight: bool) -> str:
        if tight:
            return f'    "knowledge": {json_text.encode(value, indent=None)},\n'
        return self.member("knowledge", value)

    def actions(self, number: int) -> str:
        return '    "recent_actions": [\n' if number else _member(2, "recent_actions", [])

    def action(self, value: dict[str, Any]) -> str:
        return _item(3, value)

    def now(self, value: str) -> str:
        return f'    "now": {json_text.encode(value)}\n  }},\n'

    def tail(self, body: str) -> str | None:
        return body[body.rindex("\n") + 1 :]

    def rooms(self, number: int) -> str:
        return '  "rooms": [\n' if number else '  "rooms": []\n}'

    def head(self, value: dict[str, Any]) -> str:
        return f"{_item(2, value).removesuffix(_CLOSE)},\n"

    def room_member(self, name: str, value: Any) -> str:
        return _member(3, name, value)

    def messages(self, number: int) -> str:
        return '      "messages": [\n' if number else '      "messages": []'

    def message(self, value: dict[str, Any]) -> str:
        return _item(4, value)

    def end(self, *, rows: bool, last: bool) -> str:
        return ("\n      ]\n    }" if rows else "\n    }") + ("\n  ]\n}" if last else ",\n")


_CLOSE = "\n    }"


def _written(depth: int, value: Any) -> str:
    return json_text.encode(value).replace("\n", "\n" + "  " * depth)


def _member(depth: int, name: str, value: Any) -> str:
    return f'{"  " * depth}"{name}": {_written(depth, value)},\n'


def _item(depth: int, value: Any) -> str:
    return "  " * depth + _written(depth, value)
