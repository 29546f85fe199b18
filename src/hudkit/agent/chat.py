"""Stored messages as what hooks may change and a request is made of, and a new message's parts back as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from hudkit.agent.hooks import ChatMessage, ChatPart
from hudkit.agent.records import Call, File, Marker, Message, Part, Patch, Reasoning, Text

MARKER = "What did we do so far?"
"""What the model reads in place of a compaction's marker: the summary answers it."""


def chat_of(messages: Iterable[Message], *, cleared: Callable[[Call], str] | None = None) -> list[ChatMessage]:
    """Messages as they are sent; `cleared` words a call whose output was taken out of the window.

    Left out: what is ignored, names of changed files, and responses of which an error left nothing to send.
    """
    found = []
    for message in messages:
        parts = [one for part in message.parts for one in _chat_part(part, cleared or _cleared)]
        if parts:
            found.append(ChatMessage(message.role, parts, message.id, message.created, message.summary))
    return found


def parts_of(parts: Sequence[ChatPart], ids: Callable[[], str]) -> tuple[Part, ...]:
    """The parts of a user's message as records; a part without an id gets one. Only text and files are a user's."""
    found: list[Part] = []
    for part in parts:
        if part.kind == "text":
            found.append(Text(part.id or ids(), part.text, synthetic=part.synthetic))
        elif part.kind == "file":
            found.append(File(part.id or ids(), str(part.meta.get("path", "")), part.media_type))
    return tuple(found)


def result_of(call: Call, cleared: Callable[[Call], str] | None = None) -> str:
    """What the model reads as the result of a call."""
    if call.status == "error":
        return call.error
    if call.status != "completed":
        return "This call has no result yet."
    return (cleared or _cleared)(call) if call.compacted else call.output


def _cleared(call: Call) -> str:
    return f"[The output of this call ({len(call.output):,} characters) was taken out of the window.]"


def _chat_part(part: Part, cleared: Callable[[Call], str]) -> Iterator[ChatPart]:
    match part:
        case Text() if not part.ignored:
            yield ChatPart("text", part.text, part.id, part.synthetic, meta=part.meta)
        case Reasoning():
            yield ChatPart("reasoning", part.text, part.id, meta=part.meta)
        case File():
            yield ChatPart("file", id=part.id, media_type=part.media_type, meta={"path": part.path})
        case Marker():
            yield ChatPart("marker", MARKER, part.id)
        case Call():
            yield ChatPart(
                "tool",
                result_of(part, cleared),
                part.id,
                tool=part.tool,
                call_id=part.call_id,
                arguments=part.arguments,
                status=part.status,
            )
        case Patch() | Text():
            return
