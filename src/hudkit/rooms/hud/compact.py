"""The HUD as compact JSON: the bytes are those of `formats.compact`, with the short names of this module.

Only fields that stand in every room or message are short; names of arguments are not, for agents write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hudkit.compose.formats import compact, json_text

SHORT: Mapping[str, str] = {
    long: compact.SHORT[long]
    for long in (
        "attention_pct",
        "billboard",
        "is_self_room",
        "key_used",
        "memory_used",
        "my_keys",
        "pending_access_requests",
        "reactions",
        "recent_actions",
        "reply_to",
        "requester_id",
        "time_since_last",
        "word_budget",
    )
}
"""Long names and the short ones that stand for them."""

LEGEND = "Short names: " + ", ".join(f"{name} = {long}" for long, name in SHORT.items()) + "."


def decode(text: str) -> Any:
    """The document that a compact HUD says. Raises `FormatError`."""
    return compact.decode(text, SHORT)


class Compact:
    name = "compact"
    short_times = True
    between = ',{"'
    end_actions = '],"'

    def system(self, value: dict[str, Any]) -> str:
        return '{"' + self.member("system", value)

    def meta(self, value: dict[str, Any]) -> str:
        return self.member("meta", value)

    def identity(self, value: dict[str, Any]) -> str:
        return 'self":{"' + self.member("identity", value)

    def member(self, name: str, value: Any) -> str:
        return _member(name, value) + ',"'

    def knowledge(self, value: dict[str, Any], *, tight: bool) -> str:  # noqa: ARG002
        return self.member("knowledge", value)

    def actions(self, number: int) -> str:
        return f'{SHORT["recent_actions"]}":[' + ('{"' if number else '],"')

    def action(self, value: dict[str, Any]) -> str:
        return _object(value) + "}"

    def now(self, value: str) -> str:
        return _member("now", value) + '},"'

    def tail(self, body: str) -> str | None:  # noqa: ARG002
        return None

    def rooms(self, number: int) -> str:
        return 'rooms":[{"' if number else 'rooms":[]}'

    def head(self, value: dict[str, Any]) -> str:
        return _object(value) + ',"'

    def room_member(self, name: str, value: Any) -> str:
        return self.member(name, value)

    def messages(self, number: int) -> str:
        return 'messages":[{"' if number else 'messages":['

    def message(self, value: dict[str, Any]) -> str:
        return _object(value) + "}"

    def end(self, *, rows: bool, last: bool) -> str:  # noqa: ARG002
        return "]}" + ("]}" if last else ',{"')


def _object(value: dict[str, Any]) -> str:
    """The members of an object, without the bracket and the quotation mark before the first, and the last bracket."""
    return json_text.encode(compact.shorten_keys(value, SHORT), indent=None)[2:-1]


def _member(name: str, value: Any) -> str:
    return _object({name: value})
