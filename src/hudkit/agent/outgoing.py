"""Messages as hooks left them, as the messages of a request: in an order that every server takes. Pure.

A tool part is a call and its result in one, so no call can be without its result. What UTF-8 cannot carry is written
out, as it is in the store, so that a request is the same after the session was opened again. Marks by which a
provider knows its own words (`seal`) go back only with the words that they were given for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hudkit.agent import records
from hudkit.agent.encoding import encoded
from hudkit.agent.hooks import ChatMessage, ChatPart
from hudkit.log.codec import printable
from hudkit.models import Assistant, Media, Reasoning, Text, ToolCall, ToolResult, User
from hudkit.models import Message as Sent

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


def seals_of(parts: Sequence[Text | Reasoning]) -> dict[str, list[list[object]]]:
    """The `meta` of a stored text or reasoning that is made of these: the length of each, and its seal."""
    if not any(part.seal for part in parts):
        return {}
    return {"seals": [[len(part.text), part.seal] for part in parts]}


def _user(message: ChatMessage, parts: Lookup, media: bool) -> list[Sent]:
    found: list[Text | Media] = []
    for part in message.parts:
        if part.kind == "file":
            found.append(_file(part, parts(part.id), media))
        elif part.text:
            found.append(Text(printable(part.text)))
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
            said += _sealed(part, parts(part.id), Reasoning)
        elif part.kind != "tool":
            said += _sealed(part, parts(part.id), Text)
        elif part.call_id and part.call_id not in seen:
            seen.add(part.call_id)
            failed = part.status not in ("completed", "")
            said.append(_call(part, parts(part.id)))
            results.append(ToolResult(part.call_id, part.tool, printable(part.text) or NO_RESULT, failed))
    return [Assistant(tuple(said)), *results] if any(not isinstance(one, Text) or one.text for one in said) else []


def _call(part: ChatPart, stored: records.Part | None) -> ToolCall:
    arguments = encoded(part.arguments).decode()
    same = isinstance(stored, records.Call) and (stored.tool, stored.arguments) == (part.tool, part.arguments)
    seal = str(stored.metadata.get("seal", "")) if same and isinstance(stored, records.Call) else ""
    return ToolCall(part.call_id, part.tool, arguments, seal)


def _sealed(
    part: ChatPart, stored: records.Part | None, kind: type[Text] | type[Reasoning]
) -> list[Text | Reasoning | ToolCall]:
    """The pieces that a run of words was made of, each with its seal; one piece where the words are others now."""
    if isinstance(stored, records.Reasoning | records.Text) and (stored.text, stored.meta) == (part.text, part.meta):
        found: list[Text | Reasoning | ToolCall] = []
        at = 0
        for length, seal in stored.meta.get("seals", ()):
            found.append(kind(part.text[at : at + int(length)], str(seal)))
            at += int(length)
        if at == len(part.text) and found:
            return found
    return [kind(printable(part.text))] if part.text else []
