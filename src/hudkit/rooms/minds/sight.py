"""A HUD as the improviser reads it: rooms, who is who, what was said since it last spoke."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

ARCHITECT = "The Architect"
SYSTEM = "System"
_MYSELF = re.compile(r"(?:My name is |I am )?([^\W\d][^\s.]{0,40}?)(?: here)?\.")
_CALLED = re.compile(r"(.{1,60}?) \((\d+)\) (came in|is now called (.{1,60})\.$)?")


class Message(msgspec.Struct, frozen=True):
    id: int
    sender: str
    text: str
    reply_to: int
    question: bool


class Room(msgspec.Struct, frozen=True):
    """A room that is open. `new`: one said nothing there yet; `since`: the messages after one's own last one; `mine`:
    how many of the last eight are one's own; `others`: the agents there besides oneself."""

    id: int
    own: bool
    new: bool
    words: int
    billboard: str
    others: tuple[int, ...]
    since: tuple[Message, ...]
    mine: int
    requests: tuple[int, ...]


class Sight(msgspec.Struct, frozen=True):
    me: int
    name: str
    background: str
    knowledge: Mapping[str, Any]
    memory: int
    now: str
    reacted: frozenset[int]
    answered: frozenset[int]
    rooms: tuple[Room, ...]
    met: Mapping[int, str]
    """Names by id, as system messages tell them, or agents of themselves."""
    heard: str
    """All that is shown of what was said, the newest last."""


def read(document: Mapping[str, Any]) -> Sight:
    """What a HUD's document says."""
    self_ = document["self"]
    identity = self_["identity"]
    me = int(identity["id"])
    recent = [action for action in self_.get("recent_actions", ()) if "refused" not in action]
    rooms = [room for room in document["rooms"] if not room.get("closed")]
    met: dict[int, str] = {}
    for room in rooms:
        for message in room["messages"]:
            if message["sender"] == SYSTEM and (found := _CALLED.match(message["content"])):
                met[int(found[2])] = found[4] or found[1]
            elif (
                (said := _MYSELF.match(message["content"]))
                and message["sender"].isdigit()
                and said[0] != f"{said[1]}."
            ):
                met.setdefault(int(message["sender"]), said[1])
    met.pop(me, None)
    return Sight(
        me,
        identity["name"],
        identity.get("seed") or identity.get("role") or "",
        self_.get("knowledge", {}),
        int(self_.get("memory_used", "0%").rstrip("%")),
        self_["now"],
        _done(recent, "react"),
        _done(recent, "reply"),
        tuple(_room(room, me) for room in rooms),
        met,
        "\n".join(_in_time(rooms)),
    )


def _in_time(rooms: list[Mapping[str, Any]]) -> list[str]:
    shown = {message["id"]: message["content"] for room in rooms for message in room["messages"]}
    return [shown[id] for id in sorted(shown)]


def _done(recent: list[dict[str, Any]], kind: Literal["react", "reply"]) -> frozenset[int]:
    return frozenset(one["message_id"] for one in recent if one["type"] == kind and "message_id" in one)


def _room(room: Mapping[str, Any], me: int) -> Room:
    messages = room["messages"]
    own = [place for place, message in enumerate(messages) if message["sender"] == str(me)]
    since = messages[own[-1] + 1 :] if own else messages
    return Room(
        room["id"],
        room["is_self_room"],
        room["time_since_last"].startswith("never"),
        room["word_budget"],
        room.get("billboard", ""),
        tuple(id for id in map(int, room["members"]) if id not in (0, me)),
        tuple(_message(one) for one in since),
        sum(message["sender"] == str(me) for message in messages[-8:]),
        tuple(one["id"] for one in room.get("pending_access_requests", ())),
    )


def _message(one: Mapping[str, Any]) -> Message:
    text = one["content"]
    return Message(one["id"], one["sender"], text, one.get("reply_to") or 0, "?" in text)
