"""What the user hands in: prompts with attached files, and slash commands, through the hooks into the store."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from hudkit.agent import message_history
from hudkit.agent.agent_definitions import PLAN_MODE, PLAN_MODE_ENDED, AgentDefinition
from hudkit.agent.events import PromptAccepted
from hudkit.agent.file_text import decode_text
from hudkit.agent.hooks import ChatPart, ModelCallContext, NewMessage
from hudkit.agent.permissions import DEFAULT_RULES, restrictive_rules
from hudkit.agent.records import Attachment, StoredMessage, StoredPart, StoredText
from hudkit.agent.request_builder import from_chat_parts
from hudkit.agent.run_context import RunContext, SteeringText, joined_text
from hudkit.agent.slash_commands import SlashCommand
from hudkit.agent.workspace import quote
from hudkit.errors import HudkitError, SessionError, StoreError, ToolError

_MAX_ATTACHED = 5 * 1024 * 1024
"""Bytes of a file that is attached to a prompt."""

_TITLE_LENGTH = 60
"""Characters of the first prompt that are a session's title."""


async def store_prompt(
    run: RunContext, text: str, files: Sequence[Attachment], beside: Sequence[str] = ()
) -> StoredMessage:
    """Store a prompt as plugins left it, and return the message; texts `beside` it stand in front, as the host's.

    Raises `SessionError` for an empty one, `ToolError` for a file.
    """
    attached = [_read_attachment(run, file) for file in files]
    # hooks see names and types, not bytes: the bytes are put back behind them by the part's id
    stored = {part.id: part for part in attached if isinstance(part, Attachment)}
    beside = (*beside, *mode_words(run))
    parts = [ChatPart("text", words, run.new_id("prt"), synthetic=True) for words in beside]
    parts += [ChatPart("text", text)] if text else []
    for part in attached:
        if isinstance(part, Attachment):
            parts.append(ChatPart("file", id=part.id, media_type=part.media_type, meta={"path": part.path}))
        else:
            parts.append(ChatPart("text", part.text, part.id, synthetic=True))
    hook_input = ModelCallContext(run.id, run.agent.name, run.model.name)
    hooked = await run.setup.hooks.run("chat_message", hook_input, NewMessage(parts))
    return store_user_parts(run, hooked.parts, stored)


def mode_words(run: RunContext) -> tuple[str, ...]:
    """Return what the model has to be told of plan mode with the next message: that it began, or that it is over.

    Empty where it stands in the window already, and in a session without plan mode.
    """
    last_words = next(
        (words for words in reversed(_synthetic_texts(run)) if words in (PLAN_MODE, PLAN_MODE_ENDED)), ""
    )
    if run.agent.name == "plan":
        return () if last_words == PLAN_MODE else (PLAN_MODE,)
    return (PLAN_MODE_ENDED,) if last_words == PLAN_MODE else ()


def _synthetic_texts(run: RunContext) -> list[str]:
    return [
        part.text
        for message in run.history.visible()
        if message.role == "user"
        for part in message.parts
        if isinstance(part, StoredText) and part.synthetic
    ]


async def store_steering(run: RunContext, words: SteeringText) -> None:
    """Store what the user said while a turn was under way, as a prompt of its own, and tell who waits for that.

    Returns nothing; what is wrong with it is raised where the user waits.
    """
    try:
        message = await store_prompt(run, words.text, words.files)
    except (HudkitError, OSError) as error:
        if isinstance(error, StoreError):
            words.decline()
            raise
        if not words.taken.done():
            words.taken.set_exception(error)
        return
    except BaseException:
        words.decline()
        raise
    run.emit(PromptAccepted(run.id, message))
    if not words.taken.done():
        words.taken.set_result(message)


def store_user_parts(run: RunContext, parts: Sequence[ChatPart], files: Mapping[str, Attachment]) -> StoredMessage:
    """Store parts as the user's message and return it; the first one of a session gives it its title.

    `files` are the attached files by the ids of their parts. Raises `SessionError` where nothing is said.
    """
    records = [files.get(part.id, part) for part in from_chat_parts(parts, lambda: run.new_id("prt"))]
    if not any(
        isinstance(part, Attachment) or (isinstance(part, StoredText) and part.text.strip()) for part in records
    ):
        raise SessionError("the prompt is empty", hint="Say what is to be done")
    message = store_user_message(run, records)
    session = run.setup.store.session(run.id)
    if session is not None and not session.title:
        run.setup.store.update(run.id, run.now(), title=prompt_title(message))
    return message


def prompt_title(prompt: StoredMessage) -> str:
    """Return the title that a session has by its first prompt."""
    return " ".join(prompt_words(prompt).split())[:_TITLE_LENGTH]


def prompt_words(prompt: StoredMessage) -> str:
    """Return what the user wrote in a prompt, without what was put beside it."""
    return joined_text([part for part in prompt.parts if message_history.is_users_own(part)])


def store_user_message(
    run: RunContext, parts: Sequence[StoredPart], *, repeats: str = "", asked_by: str = ""
) -> StoredMessage:
    """Store a message of the user's side as it is, and return it.

    `repeats` is the prompt that it says once more, `asked_by` the parent's response that asks a sub-session.
    """
    head = StoredMessage(run.new_id("msg"), run.id, "user", run.now(), agent=run.agent.name)
    return run.history.put(replace(head, repeats=repeats, asked_by=asked_by, parts=tuple(parts)))


def _read_attachment(run: RunContext, file: Attachment) -> Attachment | StoredText:
    """Return a file with its bytes, or a text file as text. Raises `ToolRefused`, `ToolError`."""
    id = file.id or run.new_id("prt")
    if file.data:
        return replace(file, id=id)
    workspace = run.setup.workspace
    target = workspace.resolve_inside(file.path, writing=False)
    # a descriptor of its own: both contexts close theirs
    with workspace.open_file(target) as fd, os.fdopen(os.dup(fd), "rb") as opened:
        raw = opened.read(_MAX_ATTACHED + 1)
    if len(raw) > _MAX_ATTACHED:
        raise ToolError(
            f"{quote(target.display)} is too large to be attached", hint="Name it; it can be read in pieces"
        )
    text = decode_text(raw)
    # text goes as text: not every model takes files
    if text is not None:
        return StoredText(id, f"The file {target.display}:\n\n{text.text}", synthetic=True)
    kind = file.media_type or mimetypes.guess_type(target.display)[0] or "application/octet-stream"
    return Attachment(id, target.display, kind, raw)


@asynccontextmanager
async def command_scope(run: RunContext, command: SlashCommand) -> AsyncIterator[None]:
    """Run the block with the context changed as a command says, and restore it afterwards; yield nothing.

    A command of the project gets no more permissions by naming an agent than the session has: rules and tools are
    narrowed. Raises `SessionError` for an agent that there is not, `ConfigError` for a model that cannot be opened.
    """
    agents = run.setup.agents
    if command.agent and command.agent not in agents:
        problem = f"the command {quote(command.name)} wants the agent {quote(command.agent)}, which there is not"
        raise SessionError(problem, hint=f"There are: {', '.join(agents)}")
    agent, model, permissions = run.agent, run.model, run.permissions
    asked = agents[command.agent] if command.agent else agent
    name = command.model or (asked.model if command.agent else "")
    # nothing changes: a new epoch would only cost the cache
    if asked.name == agent.name and name in ("", model.name):
        yield
        return
    if name:
        run.model = await run.model_of(name, command.level if command.model else asked.level)
    if asked.name != agent.name and command.level == "project":
        run.agent = _narrowed_agent(asked, agent)
        run.set_rules((*permissions.rules[len(DEFAULT_RULES) :], *restrictive_rules(asked.rules)))
    elif asked.name != agent.name:
        run.switch_agent(asked)
    try:
        await run.refresh()
        yield
    finally:
        run.agent, run.model = agent, model
        # the same object: `always` answers from before are still there
        run.set_permissions(permissions)
        await run.refresh()


def _narrowed_agent(agent: AgentDefinition, by: AgentDefinition) -> AgentDefinition:
    """Return an agent without the tools that another one may not use."""
    tools = by.tools if agent.tools is None else agent.tools if by.tools is None else agent.tools & by.tools
    return replace(agent, tools=tools, without=agent.without | by.without)
