"""What the user's side says: a prompt with its attached files, through the hook `chat_message`, into the store."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from hudkit.agent import message_history
from hudkit.agent.agent_definitions import narrowed_agent
from hudkit.agent.file_text import decode_text
from hudkit.agent.hooks import Chat, ChatPart, NewMessage
from hudkit.agent.permissions import DEFAULT_RULES, restrictive_rules
from hudkit.agent.records import Attachment, StoredMessage, StoredPart, StoredText
from hudkit.agent.request_builder import from_chat_parts
from hudkit.agent.run_context import RunContext, joined_text
from hudkit.agent.slash_commands import SlashCommand
from hudkit.agent.workspace import quote
from hudkit.errors import SessionError, ToolError

_MAX_ATTACHED = 5 * 1024 * 1024
"""Bytes of a file that is attached to a prompt."""

_TITLE_LENGTH = 60
"""Characters of the first prompt that are a session's title."""


async def store_prompt(course: RunContext, text: str, files: Sequence[Attachment]) -> StoredMessage:
    """A prompt, stored as plugins left it. Raises `SessionError` for an empty one, `ToolError` for a file."""
    attached = [_read_attachment(course, file) for file in files]
    stored = {part.id: part for part in attached if isinstance(part, Attachment)}
    parts = [ChatPart("text", text)] if text else []
    for part in attached:
        if isinstance(part, Attachment):
            parts.append(ChatPart("file", id=part.id, media_type=part.media_type, meta={"path": part.path}))
        else:
            parts.append(ChatPart("text", part.text, part.id, synthetic=True))
    given = Chat(course.id, course.agent.name, course.model.name)
    left = await course.setup.hooks.run("chat_message", given, NewMessage(parts))
    return store_user_parts(course, left.parts, stored)


def store_user_parts(course: RunContext, parts: Sequence[ChatPart], files: Mapping[str, Attachment]) -> StoredMessage:
    """Store parts as the user's message; the first one of a session gives it its title."""
    records = [files.get(part.id, part) for part in from_chat_parts(parts, lambda: course.new_id("prt"))]
    if not any(
        isinstance(part, Attachment) or (isinstance(part, StoredText) and part.text.strip()) for part in records
    ):
        raise SessionError("the prompt is empty", hint="Say what is to be done")
    message = store_user_message(course, records)
    session = course.setup.store.session(course.id)
    if session is not None and not session.title:
        title = " ".join(joined_text([part for part in records if message_history.is_users_own(part)]).split())[
            :_TITLE_LENGTH
        ]
        course.setup.store.update(course.id, course.now(), title=title)
    return message


def store_user_message(course: RunContext, parts: Sequence[StoredPart]) -> StoredMessage:
    """Store a message of the user's side as it is."""
    id, now = course.new_id("msg"), course.now()
    return course.kept.put(StoredMessage(id, course.id, "user", now, agent=course.agent.name, parts=tuple(parts)))


def _read_attachment(course: RunContext, file: Attachment) -> Attachment | StoredText:
    """A file with its bytes; a text file as text. Raises `Refused`, `ToolError`."""
    id = file.id or course.new_id("prt")
    if file.data:
        return replace(file, id=id)
    area = course.setup.area
    place = area.place(file.path, writing=False)
    with area.opened(place) as fd, os.fdopen(os.dup(fd), "rb") as opened:
        raw = opened.read(_MAX_ATTACHED + 1)
    if len(raw) > _MAX_ATTACHED:
        raise ToolError(f"{quote(place.shown)} is too large to be attached", hint="Name it; it can be read in pieces")
    text = decode_text(raw)
    if text is not None:
        return StoredText(id, f"The file {place.shown}:\n\n{text.text}", synthetic=True)
    kind = file.media_type or mimetypes.guess_type(place.shown)[0] or "application/octet-stream"
    return Attachment(id, place.shown, kind, raw)


@asynccontextmanager
async def command_scope(course: RunContext, command: SlashCommand) -> AsyncIterator[None]:
    """Work as a command says, then as before. Raises `SessionError` for an agent, `ConfigError` for a model.

    A command of the project gets no more leave by naming an agent than the session has: rules and tools are narrowed.
    """
    agents = course.setup.agents
    if command.agent and command.agent not in agents:
        said = f"the command {quote(command.name)} wants the agent {quote(command.agent)}, which there is not"
        raise SessionError(said, hint=f"There are: {', '.join(agents)}")
    agent, model, permissions = course.agent, course.model, course.permissions
    asked = agents[command.agent] if command.agent else agent
    name = command.model or (asked.model if command.agent else "")
    if asked.name == agent.name and name in ("", model.name):
        yield
        return
    if name:
        course.model = await course.setup.open_model(name)
    if asked.name != agent.name and command.level == "project":
        course.agent = narrowed_agent(asked, agent)
        course.permit((*permissions.rules[len(DEFAULT_RULES) :], *restrictive_rules(asked.rules)))
    elif asked.name != agent.name:
        course.act_as(asked)
    try:
        await course.refresh()
        yield
    finally:
        course.agent, course.model = agent, model
        course.keep(permissions)
        await course.refresh()
