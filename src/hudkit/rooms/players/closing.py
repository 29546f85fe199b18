"""What a model is told behind a HUD in whose rooms somebody waits for its answer: who it is, and what was said to it.

A HUD is a long document, and small models fill in the form at its end with nothing, although they were asked: of 1.5
billion parameters, every answer was empty. The same words as a field of the document change nothing; as a sentence
behind it they do. What was said comes first, then who is to answer: the other way round they answer as an assistant,
or as the one who asked. It is made of the HUD alone, so whoever has the HUD has this, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hudkit.compose import shorten, visible
from hudkit.compose.formats import json_text, toon

CLOSING_REVISION = 3
"""Of whom they are for and how they read: what a beat's event says of them. What was sent with another revision, or
before events said it, cannot be made again of the HUD."""

_ARCHITECT = "The Architect"
_MOST = 2
"""Messages that are named, the newest."""
_PLACE = "<your words>"
_CHARACTERS = 400
"""Of a message, and of who the agent is."""


def closing_words(document: Mapping[str, Any], output_format: str = "json") -> str:
    """Return what is said behind a HUD's text; empty where nobody waits for an answer of this agent.

    It ends with the form of the answer in `output_format`, for the room in which it is due.
    """
    identity = document["self"]["identity"]
    me, name = str(identity["id"]), identity["name"]
    people = {**document.get("people", {}), me: name, "0": _ARCHITECT}
    waiting = [
        (message["id"], room["id"], message)
        for room in document["rooms"]
        if not room.get("closed")
        for message in _unanswered(room["messages"], me, _named_in(room, people))
    ]
    if not waiting:
        return ""
    lines = []
    for id, room, message in sorted(waiting, key=lambda each: each[0])[-_MOST:]:
        sender = people.get(message["sender"], message["sender"])
        lines.append(f'In room {room} {_line(sender)} said (message {id}): "{_line(message["content"])}"')
    rooms = sorted({room for _, room, _ in waiting})
    place = f"room {rooms[0]}" if len(rooms) == 1 else f"rooms {', '.join(map(str, rooms))}"
    who = _line(identity.get("seed") or identity.get("role") or "")
    lines.append(f"You are {_line(name)}. {who}".rstrip())
    lines.append(f"You have not answered. Speak as {_line(name)} would, in your own words, for {place}:")
    return "\n".join([*lines, _form(rooms, output_format)])


def _form(rooms: Sequence[int], output_format: str) -> str:
    """Return an answer with places instead of words."""
    responses = [{"room_id": room, "message": _PLACE} for room in rooms]
    empty = {"responses": responses, "actions": []}
    return toon.encode(empty) if output_format == "toon" else json_text.encode(empty, indent=None)


def _named_in(room: Mapping[str, Any], people: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """Return how each member of a room is called."""
    return {
        id: re.compile(rf"(?<!\w)(?:@{id}|{re.escape(people[id].casefold())})(?!\w)")
        for id in room["members"]
        if id in people
    }


def _unanswered(
    messages: Sequence[Mapping[str, Any]], me: str, called: Mapping[str, re.Pattern[str]]
) -> Iterator[Mapping[str, Any]]:
    """Yield what was said to an agent since it last spoke: by its name, in answer to it, or by the Architect, who
    asks everybody in the room, or whom it names."""
    own = [index for index, message in enumerate(messages) if message["sender"] == me]
    mine = {messages[index]["id"] for index in own}
    for message in messages[own[-1] + 1 if own else 0 :]:
        if message["sender"] == "System":
            continue
        content = message["content"].casefold()
        named = {id for id, name in called.items() if name.search(content)}
        asks_all = message["sender"] == _ARCHITECT and not named
        if asks_all or me in named or message.get("reply_to") in mine:
            yield message


def _line(text: str) -> str:
    return visible(shorten(" ".join(text.split()), _CHARACTERS))
