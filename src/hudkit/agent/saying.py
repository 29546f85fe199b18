"""What the user's side says: a prompt with its attached files, through the hook `chat_message`, into the store."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from hudkit.agent import view
from hudkit.agent.area import echo
from hudkit.agent.chat import parts_of
from hudkit.agent.course import Course, text_of
from hudkit.agent.hooks import Chat, ChatPart, NewMessage
from hudkit.agent.records import File, Message, Part, Text
from hudkit.agent.text import plain
from hudkit.errors import SessionError, ToolError

MOST_ATTACHED = 5 * 1024 * 1024
"""Bytes of a file that is attached to a prompt."""

TITLE = 60
"""Characters of the first prompt that are a session's title."""


async def said(course: Course, text: str, files: Sequence[File]) -> Message:
    """A prompt, stored as plugins left it. Raises `SessionError` for an empty one, `ToolError` for a file."""
    attached = [_attached(course, file) for file in files]
    stored = {part.id: part for part in attached if isinstance(part, File)}
    parts = [ChatPart("text", text)] if text else []
    for part in attached:
        if isinstance(part, File):
            parts.append(ChatPart("file", id=part.id, media_type=part.media_type, meta={"path": part.path}))
        else:
            parts.append(ChatPart("text", part.text, part.id, synthetic=True))
    given = Chat(course.id, course.agent.name, course.model.name)
    left = await course.setup.hooks.run("chat_message", given, NewMessage(parts))
    return store(course, left.parts, stored)


def store(course: Course, parts: Sequence[ChatPart], files: Mapping[str, File]) -> Message:
    """Store parts as the user's message; the first one of a session gives it its title."""
    records = [files.get(part.id, part) for part in parts_of(parts, lambda: course.new_id("prt"))]
    if not any(isinstance(part, File) or (isinstance(part, Text) and part.text.strip()) for part in records):
        raise SessionError("the prompt is empty", hint="Say what is to be done")
    message = put(course, records)
    session = course.setup.store.session(course.id)
    if session is not None and not session.title:
        title = " ".join(text_of([part for part in records if view.is_own(part)]).split())[:TITLE]
        course.setup.store.update(course.id, course.now(), title=title)
    return message


def put(course: Course, parts: Sequence[Part]) -> Message:
    """Store a message of the user's side as it is."""
    id, now = course.new_id("msg"), course.now()
    return course.kept.put(Message(id, course.id, "user", now, agent=course.agent.name, parts=tuple(parts)))


def _attached(course: Course, file: File) -> File | Text:
    """A file with its bytes; a text file as text. Raises `Refused`, `ToolError`."""
    id = file.id or course.new_id("prt")
    if file.data:
        return replace(file, id=id)
    area = course.setup.area
    place = area.place(file.path, writing=False)
    with area.opened(place) as fd, os.fdopen(os.dup(fd), "rb") as opened:
        raw = opened.read(MOST_ATTACHED + 1)
    if len(raw) > MOST_ATTACHED:
        raise ToolError(f"{echo(place.shown)} is too large to be attached", hint="Name it; it can be read in pieces")
    text = plain(raw)
    if text is not None:
        return Text(id, f"The file {place.shown}:\n\n{text.text}", synthetic=True)
    kind = file.media_type or mimetypes.guess_type(place.shown)[0] or "application/octet-stream"
    return File(id, place.shown, kind, raw)
