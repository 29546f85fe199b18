"""What an agent sees as a tree for people: the same facts as its own bytes, each text as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hudkit.compose import Element, component, h, visible
from hudkit.compose.formats import json_text
from hudkit.rooms.hud.seen import Omission, Seen

Row = Mapping[str, Any]
"""A part of `Seen.document`."""


@component
def Hud(seen: Seen) -> Element:
    """The whole page: who the agent is, what it knows and did, its rooms, what is left out, what it is told."""
    self_ = seen.document["self"]
    who = self_["identity"]
    return h.document[
        h.section(title=f"{who['name']} ({who['id']})")[
            h.text[f"{who['model']} · {self_['now']} UTC · {seen.tokens} of {seen.limit} tokens, {seen.format}"],
            h.quote[h.paragraph[who.get("seed", who.get("role", ""))]],
            Knowledge(self_["knowledge"], self_["memory_used"]),
            RecentActions(self_["recent_actions"]),
            map(Room, seen.document["rooms"]),
            LeftOut(seen.omitted),
            Told(seen.document["system"], seen.document["meta"]),
        ]
    ]


@component
def Knowledge(tree: Row, used: str) -> Element:
    """What the agent wrote down, one item a path."""
    items = [h.item[h.strong[path], ": ", _said(value)] for path, value in _leaves(tree)]
    return h.section(title=f"Knowledge ({used})")[h.list[items]]


@component
def RecentActions(rows: Iterable[Row]) -> Element:
    """What the agent did, the oldest first, and why it was refused."""
    return h.section(title="Recent actions")[h.list[map(_action, rows)]]


@component
def Room(room: Row) -> Element:
    """A room: who is there, what the agent may do in it, and what it sees of what was said."""
    own = " (its own)" if room["is_self_room"] else ""
    facts = [
        f"members {', '.join(room['members'])}",
        f"attention {room['attention_pct']:g}%",
        f"last spoke {room['time_since_last']}",
        f"{room['word_budget']} words",
        *(["closed"] if room.get("closed") else []),
        *([f"keys {', '.join(room['my_keys'])}"] if room.get("my_keys") else []),
        *(
            f"{one['requester_id']} asks to come in (request {one['id']}, key {one['key_used']})"
            for one in room.get("pending_access_requests", ())
        ),
    ]
    board = room.get("billboard")
    return h.section(title=f"Room {room['id']}{own}")[
        h.text[" · ".join(facts)],
        h.quote[h.paragraph[board]] if board else None,
        h.list[map(Message, room["messages"])] if room["messages"] else None,
    ]


@component
def Message(row: Row) -> Element:
    """A message, with what it answers and the reactions to it."""
    answer = f" ↩ {row['reply_to']}" if "reply_to" in row else ""
    reactions = "".join(f" [{name} {number}]" for name, number in row.get("reactions", {}).items())
    return h.item[
        f"{row['id']} {row['timestamp']} ", h.strong[row["sender"]], f"{answer}: {row['content']}{reactions}"
    ]


@component
def LeftOut(omitted: tuple[Omission, ...]) -> Element | None:
    """What did not fit, and why."""
    if not omitted:
        return None
    lines = [h.item[f"{one.section}: {one.count} {one.what} ({one.why})"] for one in omitted]
    return h.section(title="Left out")[h.list[lines]]


@component
def Told(system: Row, meta: Row) -> Element:
    """Directives and instructions, word for word."""
    actions = {name: value for name, value in meta.items() if name != "instructions"}
    return h.section(title="What it is told")[
        h.pre[visible(system["directives"], breaks=True)],
        h.pre[visible(meta["instructions"], breaks=True)],
        h.pre(lang="json")[json_text.encode(actions)],
    ]


def _action(row: Row) -> Element:
    arguments = ", ".join(
        f"{name}: {_said(one)}" for name, one in row.items() if name not in ("type", "timestamp", "refused")
    )
    refused = f" – refused: {row['refused']}" if "refused" in row else ""
    return h.item[f"{row['timestamp']} ", h.strong[row["type"]], f" {arguments}{refused}"]


def _leaves(tree: Row, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        here = f"{path}{name}"
        if isinstance(value, dict) and value and value.keys() != {"v", "w"}:
            yield from _leaves(value, f"{here}.")
        else:
            yield here, value


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json_text.encode(value, indent=None)
