"""What an agent sees in a beat: the bytes, what they cost, what they say, and what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from hudkit.compose import Element, component, h, visible
from hudkit.compose.formats import json_text
from hudkit.compose.formats.markdown import render


class HudSection(msgspec.Struct, frozen=True, gc=False):
    """A part of a HUD and its tokens: `system`, `meta`, `identity`, `knowledge`, `recent_actions`, or one room.

    Of a room: its share of attention in percent, the most tokens that it had, how many messages are shown of those
    that this agent may see, and the tokens of what is not messages.
    """

    name: str
    tokens: int
    room: int | None = None
    share: float = 0.0
    limit: int = 0
    metadata: int = 0
    shown: int = 0
    visible: int = 0


class HudOmission(msgspec.Struct, frozen=True):
    """What is not shown: which part of the HUD, what of it, how many, and why."""

    section: str
    what: str
    count: int
    why: str


class LazyDocument:
    """Plain data that is put together when it is asked for; equal to what would be equal then."""

    __slots__ = ("_make",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        self._make = make

    def __call__(self) -> dict[str, Any]:
        return self._make()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyDocument) and self() == other()


class AgentHud(msgspec.Struct, frozen=True):
    """A HUD. `tokens` are those of `text` by the typesetter's counter; `digest` is BLAKE2b (128 bits, hex) of its
    UTF-8; `tell` gives `document`. The first `stable` characters are the same for all agents of a kind, and so far a
    provider's prefix cache serves all of them."""

    agent: int
    at: int
    format: str
    text: str
    tokens: int
    limit: int
    digest: str
    stable: int
    sections: tuple[HudSection, ...]
    omitted: tuple[HudOmission, ...]
    tell: LazyDocument

    @property
    def document(self) -> dict[str, Any]:
        """The plain data that the text says, not to be changed. Put together when it is asked for: most minds read
        the text."""
        return self.tell()


_Row = Mapping[str, Any]
"""A part of `Seen.document`."""


@component
def HudPage(seen: AgentHud) -> Element:
    """The whole page: who the agent is, what it knows and did, its rooms, what is left out, what it is told."""
    self_ = seen.document["self"]
    who = self_["identity"]
    return h.document[
        h.section(title=f"{who['name']} ({who['id']})")[
            h.text[f"{who['model']} · {self_['now']} UTC · {seen.tokens} of {seen.limit} tokens, {seen.format}"],
            h.quote[h.paragraph[who.get("seed", who.get("role", ""))]],
            _KnowledgePart(self_["knowledge"], self_["memory_used"]),
            _RecentActionsPart(self_["recent_actions"]),
            map(_RoomPart, seen.document["rooms"]),
            _OmissionsPart(seen.omitted),
            _InstructionsPart(seen.document["system"], seen.document["meta"]),
        ]
    ]


@component
def _KnowledgePart(tree: _Row, used: str) -> Element:
    """What the agent wrote down, one item a path."""
    items = [h.item[h.strong[path], ": ", _said(value)] for path, value in _leaves(tree)]
    return h.section(title=f"Knowledge ({used})")[h.list[items]]


@component
def _RecentActionsPart(rows: Iterable[_Row]) -> Element:
    """What the agent did, the oldest first, and why it was refused."""
    return h.section(title="Recent actions")[h.list[map(_action, rows)]]


@component
def _RoomPart(room: _Row) -> Element:
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
        h.list[map(_MessagePart, room["messages"])] if room["messages"] else None,
    ]


@component
def _MessagePart(row: _Row) -> Element:
    """A message, with what it answers and the reactions to it."""
    answer = f" ↩ {row['reply_to']}" if "reply_to" in row else ""
    reactions = "".join(f" [{name} {number}]" for name, number in row.get("reactions", {}).items())
    return h.item[
        f"{row['id']} {row['timestamp']} ", h.strong[row["sender"]], f"{answer}: {row['content']}{reactions}"
    ]


@component
def _OmissionsPart(omitted: tuple[HudOmission, ...]) -> Element | None:
    """What did not fit, and why."""
    if not omitted:
        return None
    lines = [h.item[f"{one.section}: {one.count} {one.what} ({one.why})"] for one in omitted]
    return h.section(title="Left out")[h.list[lines]]


@component
def _InstructionsPart(system: _Row, meta: _Row) -> Element:
    """Directives and instructions, word for word."""
    actions = {name: value for name, value in meta.items() if name != "instructions"}
    return h.section(title="What it is told")[
        h.pre[visible(system["directives"], breaks=True)],
        h.pre[visible(meta["instructions"], breaks=True)],
        h.pre(lang="json")[json_text.encode(actions)],
    ]


def _action(row: _Row) -> Element:
    arguments = ", ".join(
        f"{name}: {_said(one)}" for name, one in row.items() if name not in ("type", "timestamp", "refused")
    )
    refused = f" – refused: {row['refused']}" if "refused" in row else ""
    return h.item[f"{row['timestamp']} ", h.strong[row["type"]], f" {arguments}{refused}"]


def _leaves(tree: _Row, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        here = f"{path}{name}"
        if isinstance(value, dict) and value and value.keys() != {"v", "w"}:
            yield from _leaves(value, f"{here}.")
        else:
            yield here, value


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json_text.encode(value, indent=None)


def as_markdown(seen: AgentHud) -> str:
    """What an agent sees, as a page: who it is, what it knows and did, its rooms, and what it is told."""
    return render(HudPage(seen))
