"""How a HUD is written: JSON, compact JSON, TOON. Each notation makes pieces of text for the same slots of the
document.

Pieces are what the renderer caches, so they must add up, in bytes and in tokens. A piece ends where a tokenizer
always cuts: behind a line break that no white space but spaces follow, or between `{"` or `,"` and a letter. So the
tokens of pieces add up to those of the whole, exactly, and a HUD need not be counted again when one message is new.
That is why pieces of compact JSON end in an odd place: `"system":{…},"` is one, and `meta":{…},"` the next.

The bytes together are those of the format's own encoder (`compose.formats`), which tests check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Protocol

from hudkit.compose import visible
from hudkit.compose.formats import compact, json_text, toon
from hudkit.compose.formats.columns import align_rows
from hudkit.errors import FormatError


class Notation(Protocol):
    """The pieces of a HUD. `members` of `self` and of rooms are never the last there: `now`, and `messages` are."""

    name: str
    short_times: bool
    anchored: bool
    """Whether it is of a HUD that goes on from a base."""
    between: str
    """Behind a message, or an action, that another one follows."""
    end_actions: str
    """Behind the last recent action."""

    def system(self, value: dict[str, Any]) -> str:
        """Return what opens the document, with its first member."""
        ...

    def meta(self, value: dict[str, Any]) -> str:
        """Return how to read the HUD and answer it."""
        ...

    def identity(self, value: dict[str, Any]) -> str:
        """Return what opens `self`, with its first member."""
        ...

    def member(self, name: str, value: Any) -> str:
        """Return a member of `self`."""
        ...

    def knowledge(self, value: dict[str, Any], *, tight: bool) -> str:
        """Return the memory; `tight`: on one line, where a notation has more than one way."""
        ...

    def actions(self, number: int) -> str:
        """Return what opens the recent actions; without any, all of them."""
        ...

    def action(self, value: dict[str, Any]) -> str:
        """Return one recent action, without what is behind it."""
        ...

    def now(self, value: str, name: str = "now") -> str:
        """Return the time, and what closes `self`."""
        ...

    def part(self, name: str, value: Any) -> str:
        """Return a member of the document that another one follows."""
        ...

    def news(self, number: int) -> str:
        """Return what opens the news; without any, all of them."""
        ...

    def news_item(self, value: dict[str, Any]) -> str:
        """Return a message of the news, without what is behind it."""
        ...

    end_news: str
    """Behind the last message of the news."""

    def present(self, value: dict[str, Any]) -> str:
        """Return the last member of the document, and its end."""
        ...

    present_pieces: PresentPieces | None
    """How the same is written in pieces whose tokens add up, where it can be."""

    def tail(self, body: str) -> str | None:
        """Return the end of a message or an action, behind a place where a tokenizer always cuts, if one is known.

        What is before it costs the same, whatever follows.
        """
        ...

    def rooms(self, number: int, *, more: bool = False) -> str:
        """Return what opens the rooms; without any, the document ends here, or goes on (`more`)."""
        ...

    def head(self, value: dict[str, Any]) -> str:
        """Return what opens a room."""
        ...

    def room_member(self, name: str, value: Any) -> str:
        """Return a member of a room."""
        ...

    def messages(self, number: int) -> str:
        """Return what opens the messages; without any, all of them, and `end` is behind it."""
        ...

    def message(self, value: dict[str, Any]) -> str:
        """Return one message, without what is behind it."""
        ...

    def end(self, *, rows: bool, last: bool, more: bool = False) -> str:
        """Return what is behind the last message of a room (or `messages(0)`); `last`: of the last room, which ends
        the document, or not (`more`)."""
        ...


# -- JSON ----------------------------------------------------------------------------------------------------------


class PresentPieces:
    """The present in JSON, in pieces that each end with a line: what is written of one beat is much like the last."""

    opening, end = '  "now": {\n', "  }\n}"
    actions, end_actions = '    "recent_actions": [\n', "\n    ],\n"
    rooms, end_rooms, no_rooms = '    "rooms": [\n', "    ]\n", '    "rooms": []\n'
    room, end_room, end_last_room = "      {\n", "      },\n", "      }\n"

    def member(self, name: str, value: Any) -> str:
        """Return a member of the present."""
        return _json_member(2, name, value)

    def room_member(self, name: str, value: Any, *, last: bool) -> str:
        """Return a member of one of its rooms; `last`: no other one follows."""
        piece = _json_member(4, name, value)
        return piece.removesuffix(",\n") + "\n" if last else piece


class _JsonNotation:
    """JSON indented by two. But knowledge stands on one line where the static parts would exceed their cap."""

    name = "json"
    short_times = False
    anchored = False
    between = ",\n"
    end_actions = "\n    ],\n"

    def system(self, value: dict[str, Any]) -> str:
        return "{\n" + _json_member(1, "system", value)

    def meta(self, value: dict[str, Any]) -> str:
        return _json_member(1, "meta", value)

    def identity(self, value: dict[str, Any]) -> str:
        return '  "self": {\n' + _json_member(2, "identity", value)

    def member(self, name: str, value: Any) -> str:
        return _json_member(2, name, value)

    def knowledge(self, value: dict[str, Any], *, tight: bool) -> str:
        if tight:
            return f'    "knowledge": {json_text.encode(value, indent=None)},\n'
        return self.member("knowledge", value)

    def actions(self, number: int) -> str:
        return '    "recent_actions": [\n' if number else _json_member(2, "recent_actions", [])

    def action(self, value: dict[str, Any]) -> str:
        return _json_item(3, value)

    def now(self, value: str, name: str = "now") -> str:
        return f'    "{name}": {json_text.encode(value)}\n  }},\n'

    def part(self, name: str, value: Any) -> str:
        return _json_member(1, name, value)

    end_news = "\n  ],\n"
    present_pieces: PresentPieces | None = PresentPieces()

    def news(self, number: int) -> str:
        return '  "news": [\n' if number else '  "news": [],\n'

    def news_item(self, value: dict[str, Any]) -> str:
        return _json_item(2, value)

    def present(self, value: dict[str, Any]) -> str:
        return f'  "now": {_json_lines(1, value)}\n}}'

    def tail(self, body: str) -> str | None:
        return body[body.rindex("\n") + 1 :]

    def rooms(self, number: int, *, more: bool = False) -> str:
        return '  "rooms": [\n' if number else '  "rooms": [],\n' if more else '  "rooms": []\n}'

    def head(self, value: dict[str, Any]) -> str:
        return f"{_json_item(2, value).removesuffix(_JSON_ROOM_CLOSE)},\n"

    def room_member(self, name: str, value: Any) -> str:
        return _json_member(3, name, value)

    def messages(self, number: int) -> str:
        return '      "messages": [\n' if number else '      "messages": []'

    def message(self, value: dict[str, Any]) -> str:
        return _json_item(4, value)

    def end(self, *, rows: bool, last: bool, more: bool = False) -> str:
        closing = ("\n  ],\n" if more else "\n  ]\n}") if last else ",\n"
        return ("\n      ]\n    }" if rows else "\n    }") + closing


_JSON_ROOM_CLOSE = "\n    }"


def _json_lines(depth: int, value: Any) -> str:
    return json_text.encode(value).replace("\n", "\n" + "  " * depth)


def _json_member(depth: int, name: str, value: Any) -> str:
    return f'{"  " * depth}"{name}": {_json_lines(depth, value)},\n'


def _json_item(depth: int, value: Any) -> str:
    return "  " * depth + _json_lines(depth, value)


# -- compact JSON --------------------------------------------------------------------------------------------------

SHORT_NAMES: Mapping[str, str] = {
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
"""Long names and the short ones that stand for them. Only fields that stand in every room or message are short; names
of arguments are not, for agents write them."""

LEGEND = "Short names: " + ", ".join(f"{name} = {long}" for long, name in SHORT_NAMES.items()) + "."


def decode_compact_hud(text: str) -> Any:
    """Return the document that a compact HUD says. Raises `FormatError`."""
    return compact.decode(text, SHORT_NAMES)


class _CompactNotation:
    """JSON on one line, with short names for the fields that stand in every room or message."""

    name = "compact"
    short_times = True
    anchored = False
    between = ',{"'
    end_actions = '],"'

    def system(self, value: dict[str, Any]) -> str:
        return '{"' + self.member("system", value)

    def meta(self, value: dict[str, Any]) -> str:
        return self.member("meta", value)

    def identity(self, value: dict[str, Any]) -> str:
        return 'self":{"' + self.member("identity", value)

    def member(self, name: str, value: Any) -> str:
        return _compact_member(name, value) + ',"'

    def knowledge(self, value: dict[str, Any], *, tight: bool) -> str:  # noqa: ARG002
        return self.member("knowledge", value)

    def actions(self, number: int) -> str:
        return f'{SHORT_NAMES["recent_actions"]}":[' + ('{"' if number else '],"')

    def action(self, value: dict[str, Any]) -> str:
        return _compact_object(value) + "}"

    def now(self, value: str, name: str = "now") -> str:
        return _compact_member(name, value) + '},"'

    def part(self, name: str, value: Any) -> str:
        return self.member(name, value)

    end_news = '],"'

    present_pieces: PresentPieces | None = None

    def news(self, number: int) -> str:
        return 'news":[{"' if number else 'news":[],"'

    def news_item(self, value: dict[str, Any]) -> str:
        return self.message(value)

    def present(self, value: dict[str, Any]) -> str:
        return _compact_member("now", value) + "}"

    def tail(self, body: str) -> str | None:  # noqa: ARG002
        return None

    def rooms(self, number: int, *, more: bool = False) -> str:
        return 'rooms":[{"' if number else 'rooms":[],"' if more else 'rooms":[]}'

    def head(self, value: dict[str, Any]) -> str:
        return _compact_object(value) + ',"'

    def room_member(self, name: str, value: Any) -> str:
        return self.member(name, value)

    def messages(self, number: int) -> str:
        return 'messages":[{"' if number else 'messages":['

    def message(self, value: dict[str, Any]) -> str:
        return _compact_object(value) + "}"

    def end(self, *, rows: bool, last: bool, more: bool = False) -> str:  # noqa: ARG002
        return "]}" + (('],"' if more else "]}") if last else ',{"')


def _compact_object(value: dict[str, Any]) -> str:
    """Return the members of an object, without the bracket and the quotation mark before the first, and the last
    bracket: the piece before ends with the former."""
    return json_text.encode(compact.shorten_keys(value, SHORT_NAMES), indent=None)[2:-1]


def _compact_member(name: str, value: Any) -> str:
    return _compact_object({name: value})


# -- TOON ----------------------------------------------------------------------------------------------------------


class _ToonNotation:
    """TOON, with messages as one table with fixed columns, so that each row is written once for all who see it.

    `formats.toon.decode(text, even=True)` reads it. Hidden characters are written out (`compose.visible`), because
    TOON would pass them on.
    """

    name = "toon"
    short_times = True
    anchored = False
    present_pieces: PresentPieces | None = None
    between = "\n"
    end_actions = "\n"

    def system(self, value: dict[str, Any]) -> str:
        return _toon_lines(0, _toon_member("system", value))

    def meta(self, value: dict[str, Any]) -> str:
        return _toon_lines(0, _toon_member("meta", value))

    def identity(self, value: dict[str, Any]) -> str:
        return "self:\n" + _toon_lines(1, _toon_member("identity", value))

    def member(self, name: str, value: Any) -> str:
        return _toon_lines(1, _toon_member(name, value))

    def knowledge(self, value: dict[str, Any], *, tight: bool) -> str:  # noqa: ARG002
        return self.member("knowledge", value)

    def actions(self, number: int) -> str:
        return f"  recent_actions[{number}]:\n" if number else "  recent_actions: []\n"

    def action(self, value: dict[str, Any]) -> str:
        lines = toon.encode(align_rows(visible_data(value), flat=True)).split("\n")
        return "    - " + "\n      ".join(lines)

    def now(self, value: str, name: str = "now") -> str:
        return self.member(name, value)

    def part(self, name: str, value: Any) -> str:
        return _toon_lines(0, _toon_member(name, value))

    end_news = "\n"

    # No list: its header would say how many there are, and change with each one that is added.
    def news(self, number: int) -> str:
        return "news:\n" if number else _toon_lines(0, _toon_member("news", {}))

    def news_item(self, value: dict[str, Any]) -> str:
        cells = [value.get(name) for name in NEWS_COLUMNS]
        return "  " + toon.encode({str(value["id"]): visible_data(cells)})

    def present(self, value: dict[str, Any]) -> str:
        return _toon_lines(0, _toon_member("now", value)).removesuffix("\n")

    def tail(self, body: str) -> str | None:  # noqa: ARG002
        return None

    def rooms(self, number: int, *, more: bool = False) -> str:
        return f"rooms[{number}]:\n" if number else "rooms: []\n" if more else "rooms: []"

    def head(self, value: dict[str, Any]) -> str:
        return _toon_lines(0, _toon_member("rooms", [value])[1:])

    def room_member(self, name: str, value: Any) -> str:
        return _toon_lines(2, _toon_member(name, value))

    # Fixed columns: were they fitted to the messages shown, one with a reply would change all other rows.
    def messages(self, number: int) -> str:
        return f"    messages[{number}]{_toon_columns()}:\n" if number else "    messages: []"

    def message(self, value: dict[str, Any]) -> str:
        return f"      {_toon_table(value)[1].lstrip()}"

    def end(self, *, rows: bool, last: bool, more: bool = False) -> str:  # noqa: ARG002
        return "" if last and not more else "\n"


def visible_data(value: Any) -> Any:
    """Return plain data with every hidden character written out."""
    if isinstance(value, str):
        return visible(value, breaks=True)
    if isinstance(value, dict):
        shown: dict[str, Any] = {}
        for key, item in value.items():
            name = visible(key)
            while name in shown:  # two keys that differ in what is hidden
                name += "'"
            shown[name] = visible_data(item)
        return shown
    return [visible_data(item) for item in value] if isinstance(value, list | tuple) else value


def _toon_member(name: str, value: Any) -> list[str]:
    """Return the lines of one member of an object; what TOON cannot say stands as JSON text."""
    value = visible_data(value)
    try:
        return toon.encode({name: value}, even=True).split("\n")
    except FormatError:
        return toon.encode({name: json_text.encode(value, indent=None)}, even=True).split("\n")


def _toon_table(value: dict[str, Any]) -> list[str]:
    """Return the header and the row of a table with one message."""
    reactions = value.get("reactions")
    cells = {
        "id": value["id"],
        "timestamp": value["timestamp"],
        "sender": value["sender"],
        "content": visible_data(value["content"]),
        "type": value["type"],
        "reply_to?": value.get("reply_to"),
        "reactions~": reactions and json_text.encode(reactions, indent=None),
    }
    return toon.encode({"messages": [cells]}).split("\n")


@cache
def _toon_columns() -> str:
    """Return the names of the columns as the table's header has them.

    Asked of the encoder when it is first needed: at import, its library may not be installed.
    """
    header = _toon_table({"id": 0, "timestamp": "", "sender": "", "content": "", "type": ""})[0]
    return header.removeprefix("messages[1]").removesuffix(":")


def _toon_lines(depth: int, lines: Iterable[str]) -> str:
    pad = "  " * depth
    return "".join([f"{pad}{line}\n" for line in lines])


NEWS_COLUMNS = ("room_id", "timestamp", "sender", "content", "type", "reply_to")
"""What a message of the news is in TOON: one line, by its number, with these values."""


class _AnchoredToonNotation(_ToonNotation):
    """TOON for HUDs that go on from a base: messages there have no reactions, which change."""

    def messages(self, number: int) -> str:
        return (
            f'    messages[{number}]{{id,timestamp,sender,content,type,"reply_to?"}}:\n'
            if number
            else "    messages: []"
        )

    def message(self, value: dict[str, Any]) -> str:
        cells = {
            "id": value["id"],
            "timestamp": value["timestamp"],
            "sender": value["sender"],
            "content": visible_data(value["content"]),
            "type": value["type"],
            "reply_to?": value.get("reply_to"),
        }
        return f"      {toon.encode({'messages': [cells]}).split(chr(10))[1].lstrip()}"


def _anchored(notation: Notation) -> Notation:
    notation.name += ".2"  # its pieces are others in the renderer's caches
    notation.anchored = True
    return notation


ANCHORED_NOTATIONS: Mapping[str, Notation] = {
    "json": _anchored(_JsonNotation()),
    "compact": _anchored(_CompactNotation()),
    "toon": _anchored(_AnchoredToonNotation()),
}
"""The same for worlds from revision 2 on, by the values of an agent's `input_format`."""

NOTATIONS: Mapping[str, Notation] = {
    notation.name: notation for notation in (_JsonNotation(), _CompactNotation(), _ToonNotation())
}
"""The notations by name: the values of an agent's `input_format`."""
