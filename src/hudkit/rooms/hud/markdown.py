"""A HUD as Markdown for people: the same facts, each text as data."""

from __future__ import annotations

from typing import Any

from hudkit.document import Element, h, visible
from hudkit.formats import json_text
from hudkit.formats.markdown import render
from hudkit.rooms.hud.seen import Seen


def as_markdown(seen: Seen) -> str:
    """What an agent sees, as a page: who it is, what it knows and did, its rooms, and what it is told."""
    self_, meta = seen.document["self"], seen.document["meta"]
    who = self_["identity"]
    page = h.document[
        h.section(title=f"{who['name']} ({who['id']})")[
            h.text[f"{who['model']} · {self_['now']} UTC · {seen.tokens} of {seen.limit} tokens, {seen.format}"],
            h.quote[h.paragraph[who.get("seed", who.get("role", ""))]],
            h.section(title=f"Knowledge ({self_['memory_used']})")[h.list[tuple(_knowledge(self_["knowledge"]))]],
            h.section(title="Recent actions")[h.list[tuple(map(_action, self_["recent_actions"]))]],
            tuple(map(_room, seen.document["rooms"])),
            _left_out(seen),
            h.section(title="What it is told")[
                h.pre[visible(seen.document["system"]["directives"], breaks=True)],
                h.pre[visible(meta["instructions"], breaks=True)],
                h.pre(lang="json")[json_text.encode({k: v for k, v in meta.items() if k != "instructions"})],
            ],
        ]
    ]
    return render(page)


def _knowledge(tree: dict[str, Any], path: str = "") -> list[Element]:
    lines = []
    for name, value in tree.items():
        here = f"{path}{name}"
        if isinstance(value, dict) and value and value.keys() != {"v", "w"}:
            lines += _knowledge(value, f"{here}.")
        else:
            lines.append(h.item[h.strong[here], ": ", _said(value)])
    return lines


def _action(row: dict[str, Any]) -> Element:
    arguments = ", ".join(
        f"{name}: {_said(one)}" for name, one in row.items() if name not in ("type", "timestamp", "refused")
    )
    refused = f" – refused: {row['refused']}" if "refused" in row else ""
    return h.item[f"{row['timestamp']} ", h.strong[row["type"]], f" {arguments}{refused}"]


def _room(room: dict[str, Any]) -> Element:
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
        h.list[tuple(map(_message, room["messages"]))] if room["messages"] else None,
    ]


def _message(row: dict[str, Any]) -> Element:
    answer = f" ↩ {row['reply_to']}" if "reply_to" in row else ""
    reactions = "".join(f" [{name} {number}]" for name, number in row.get("reactions", {}).items())
    return h.item[
        f"{row['id']} {row['timestamp']} ", h.strong[row["sender"]], f"{answer}: {row['content']}{reactions}"
    ]


def _left_out(seen: Seen) -> Element | None:
    if not seen.omitted:
        return None
    lines = [h.item[f"{one.section}: {one.count} {one.what} ({one.why})"] for one in seen.omitted]
    return h.section(title="Left out")[h.list[tuple(lines)]]


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json_text.encode(value, indent=None)
