"""Messages as hooks left them, as the messages of a request: in an order that every server takes. Pure.

A tool part is a call and its result in one, so no call can be without its result. Marks by which a provider knows its
own words (`seal`) go back only with the words that they were given for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from hudkit.hooks import ChatMessage, ChatPart
from hudkit.models import Assistant, Media, Reasoning, Text, ToolCall, ToolResult, User
from hudkit.models import Message as Sent
from hudkit.session import records

GOES_ON = "(The conversation goes on here.)"
"""What stands in front where a request would begin with the model's own words."""

NO_RESULT = "This call has no result."

Lookup = Callable[[str], "records.Part | None"]
"""A stored part by its id."""


def messages_of(chat: Iterable[ChatMessage], parts: Lookup, *, media: bool = True) -> tuple[Sent, ...]:
    """The messages of a request. `media=False` names attached files instead of sending them."""
    found: list[Sent] = []
    seen: set[str] = set()
    for message in chat:
        found += _user(message, parts, media) if message.role == "user" else _assistant(message, parts, seen)
    if found and not isinstance(found[0], User):
        found.insert(0, User((Text(GOES_ON),)))
    return tuple(found)


def lookup_of(messages: Iterable[records.Message]) -> Lookup:
    known: Mapping[str, records.Part] = {part.id: part for message in messages for part in message.parts}
    return known.get


def seals_of(parts: Sequence[Reasoning]) -> dict[str, list[list[object]]]:
    """The `meta` of a stored reasoning that is made of these: the length of each, and its seal."""
    if not any(part.seal for part in parts):
        return {}
    return {"seals": [[len(part.text), part.seal] for part in parts]}


def _user(message: ChatMessage, parts: Lookup, media: bool) -> list[Sent]:
    found: list[Text | Media] = []
    for part in message.parts:
        if part.kind == "file":
            found.append(_file(part, parts(part.id), media))
        elif part.text:
            found.append(Text(part.text))
    return [User(tuple(found))] if found else []


def _file(part: ChatPart, stored: records.Part | None, media: bool) -> Text | Media:
    name = str(part.meta.get("path", ""))
    if media and isinstance(stored, records.File) and stored.data:
        return Media(stored.data, stored.media_type or "application/octet-stream", name)
    return Text(f"[attached: {name or 'a file'}{f' ({part.media_type})' if part.media_type else ''}]")


def _assistant(message: ChatMessage, parts: Lookup, seen: set[str]) -> list[Sent]:
    said: list[Text | Reasoning | ToolCall] = []
    results: list[Sent] = []
    for part in message.parts:
        if part.kind == "reasoning":
            said += _reasoning(part, parts(part.id))
        elif part.kind != "tool":
            if part.text:
                said.append(Text(part.text))
        elif part.call_id and part.call_id not in seen:
            seen.add(part.call_id)
            failed = part.status not in ("completed", "")
            said.append(_call(part, parts(part.id)))
            results.append(ToolResult(part.call_id, part.tool, part.text or NO_RESULT, failed))
    return [Assistant(tuple(said)), *results] if said else []


def _call(part: ChatPart, stored: records.Part | None) -> ToolCall:
    arguments = msgspec.json.encode(part.arguments).decode()
    same = isinstance(stored, records.Call) and (stored.tool, stored.arguments) == (part.tool, part.arguments)
    seal = str(stored.metadata.get("seal", "")) if same and isinstance(stored, records.Call) else ""
    return ToolCall(part.call_id, part.tool, arguments, seal)


def _reasoning(part: ChatPart, stored: records.Part | None) -> list[Text | Reasoning | ToolCall]:
    seals = part.meta.get("seals")
    same = isinstance(stored, records.Reasoning) and stored.text == part.text
    if same and isinstance(seals, list) and sum(int(length) for length, _ in seals) == len(part.text):
        found: list[Text | Reasoning | ToolCall] = []
        at = 0
        for length, seal in seals:
            found.append(Reasoning(part.text[at : at + int(length)], str(seal)))
            at += int(length)
        return found
    return [Reasoning(part.text)] if part.text else []
