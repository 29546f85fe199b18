"""What the user hands in: prompts with attached files, and slash commands, through the hooks into the store."""

from __future__ import annotations

import asyncio
import mimetypes
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from hudkit.agent import message_history
from hudkit.agent.agent_definitions import PLAN_MODE, PLAN_MODE_ENDED, AgentDefinition
from hudkit.agent.events import PromptAccepted
from hudkit.agent.file_text import decode_text
from hudkit.agent.hooks import ChatPart, CommandExecuteBefore, ModelCallContext, NewMessage
from hudkit.agent.permissions import DEFAULT_RULES, restrictive_rules
from hudkit.agent.records import Attachment, StoredMessage, StoredPart, StoredText
from hudkit.agent.request_builder import from_chat_parts
from hudkit.agent.run_context import RunContext, SteeringText, joined_text
from hudkit.agent.slash_commands import SlashCommand
from hudkit.agent.tools import RequiredPermission, Tool, grant_permitted, run_tool
from hudkit.agent.workspace import quote
from hudkit.errors import HudkitError, SessionError, StoreError, ToolError, ToolRefused
from hudkit.tokens.model_facts import media_of

_MAX_ATTACHED = 5 * 1024 * 1024
"""Bytes of a file that is attached to a prompt."""

_MAX_NAMED = 100_000
"""Bytes of a file that a command's template names; a longer one stays a name, and the agent reads what it needs."""

_TITLE_LENGTH = 60
"""Characters of the first prompt that are a session's title."""


async def store_prompt(
    run: RunContext, text: str, files: Sequence[Attachment], beside: Sequence[str] = ()
) -> StoredMessage:
    """Store a prompt as plugins left it, and return the message; texts `beside` it stand in front, as the host's.

    Raises `SessionError` for an empty one, `ToolError` for a file.
    """
    attached = [_read_attachment(run, file) for file in files]
    stored = {part.id: part for part in attached if isinstance(part, Attachment)}
    beside = (*beside, *mode_words(run))
    parts = [ChatPart("text", words, run.new_id("prt"), synthetic=True) for words in beside]
    parts += [ChatPart("text", text)] if text else []
    parts += map(_file_part, attached)
    hook_input = ModelCallContext(run.id, run.agent.name, run.model.name)
    hooked = await run.setup.hooks.run("chat_message", hook_input, NewMessage(parts))
    return store_user_parts(run, hooked.parts, stored)


async def store_command(run: RunContext, command: SlashCommand, arguments: str) -> StoredMessage:
    """Store the prompt of a command as plugins left it, and return the message.

    Commands of the shell that its template has are run, and their output stands in their place; files that it names
    with `@` stand behind it. Both by the permissions of the session, as for calls of `bash` and `read`. Raises
    `ToolRefused`: then nothing is stored.
    """
    texts: list[str] = []
    files: list[Attachment | StoredText] = []
    for piece in command.pieces(arguments):
        texts.append(await _shell_output(run, piece.shell) if piece.shell else piece.text)
        if piece.file and (file := await _named_file(run, piece.file)) is not None:
            files.append(file)
    parts = [ChatPart("text", "".join(texts)), *map(_file_part, files)]
    stored = {file.id: file for file in files if isinstance(file, Attachment)}
    hook_input = CommandExecuteBefore(run.id, command.name, arguments)
    hooked = await run.setup.hooks.run("command_execute_before", hook_input, NewMessage(parts))
    return store_user_parts(run, hooked.parts, stored)


async def _shell_output(run: RunContext, command: str) -> str:
    """Return what a command of a template prints, or why it failed. Raises `ToolRefused`."""
    tool = run.tools.get("bash")
    if not isinstance(tool, Tool):
        raise ToolRefused(
            f"{quote(command)} is not run: the agent {run.agent.name} has no bash", hint="Switch the agent"
        )
    call_id = run.new_id("command")
    context = replace(run.tool_context, call_id=call_id, model=run.model.name)
    values = {"command": command}
    parsed = tool.parse(values)
    needs = tool.needs(parsed, context)
    decide = run.plugin_verdict("bash", call_id)
    answered = await run.permissions.check(
        "bash", needs, session_id=run.id, call_id=call_id, arguments=values, decide=decide
    )
    grant_permitted(needs, context.workspace)
    await run.set_shell(context, answered=answered)
    try:
        async with asyncio.timeout(run.settings.tool_seconds):
            return (await run_tool(tool, parsed, context)).text
    except ToolError as error:
        return f"[{error}]"
    except TimeoutError:
        return f"[{quote(command)} took longer than it may]"


async def _named_file(run: RunContext, path: str) -> Attachment | StoredText | None:
    """Return a file of the project that a template names; `None` where it is only text. Raises `ToolRefused`."""
    workspace = run.setup.workspace
    try:
        target = workspace.resolve(path, writing=False)
        if not target.inside or not target.real.is_file() or target.real.stat().st_size > _MAX_NAMED:
            return None
    except (ToolError, OSError, ValueError):
        return None
    need = RequiredPermission("read", (target.display,), f"read {target.display}")
    await run.permissions.check("read", (need,), session_id=run.id, decide=run.plugin_verdict("read"))
    try:
        file = _read_attachment(run, Attachment("", target.display))
    except (ToolError, OSError):
        return None
    if isinstance(file, StoredText):
        return file
    kind = "pdf" if file.media_type == "application/pdf" else file.media_type.partition("/")[0]
    return file if kind in media_of(run.model.name) else None


def _file_part(part: Attachment | StoredText) -> ChatPart:
    """Return a file that goes with a prompt as hooks see it: its bytes are put back behind them by its id."""
    if isinstance(part, Attachment):
        return ChatPart("file", id=part.id, media_type=part.media_type, meta={"path": part.path})
    return ChatPart("text", part.text, part.id, synthetic=True)


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
