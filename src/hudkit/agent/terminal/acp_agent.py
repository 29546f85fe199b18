"""`hudkit acp`: hudkit's own agent in an editor, over the Agent Client Protocol and its SDK.

`docs/terminal.md` has what is offered. One process has as many sessions as the editor opens, each an `AgentLoop`.
What happens in a session is told in its order: whatever was before a question, or before the end of a turn, has been
sent when the question or the answer is.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias, cast

import acp
from acp import schema
from acp.agent.connection import AgentSideConnection
from acp.interfaces import Client
from msgspec.structs import replace

from hudkit import __version__
from hudkit.agent import events
from hudkit.agent.loop import AgentLoop
from hudkit.agent.message_history import is_prompt
from hudkit.agent.permissions import AskUser, PermissionReply, PermissionRequest
from hudkit.agent.records import Attachment, StoredCall, StoredMessage, StoredReasoning, StoredSession, StoredText
from hudkit.agent.session_store import SESSIONS_FILE, SessionStore
from hudkit.agent.telemetry import Telemetry, configured
from hudkit.agent.terminal.panel import Panel
from hudkit.agent.terminal.session_runner import (
    DataLocation,
    SessionRequest,
    close_opened,
    model_of,
    open_loop,
    trim_old_sessions,
)
from hudkit.agent.user_input import prompt_words
from hudkit.api import Hud
from hudkit.compose import shorten
from hudkit.config import McpServer
from hudkit.errors import ConfigError, HudkitError
from hudkit.transcripts.search import PastSessions

_LOG = logging.getLogger("hudkit.acp")

_TITLE = 80
"""Characters of a call's title: editors show it in one line."""

_SERVERS: TypeAlias = Sequence[
    schema.HttpMcpServer | schema.SseMcpServer | schema.AcpMcpServer | schema.McpServerStdio
]

_KINDS: Mapping[str, schema.ToolKind] = {
    "read": "read",
    "write": "edit",
    "edit": "edit",
    "glob": "search",
    "grep": "search",
    "memory": "search",
    "bash": "execute",
    "webfetch": "fetch",
    "todo": "think",
    "hud": "think",
}
"""Of our tools, what the protocol calls them; it knows no others."""

_STATUSES: Mapping[str, schema.ToolCallStatus] = {
    "pending": "pending",
    "running": "in_progress",
    "completed": "completed",
    "error": "failed",
}

_STOP_REASONS: Mapping[events.EndReason, schema.StopReason] = {
    "done": "end_turn",
    "stopped": "end_turn",
    "cancelled": "cancelled",
    "steps": "max_turn_requests",
    "limit": "max_turn_requests",
    "repeats": "max_turn_requests",
    "answer": "max_turn_requests",
    "window": "max_tokens",
    "length": "max_tokens",
    "refusal": "refusal",
}
"""How a turn ended, in the protocol's words; `error`, which is none of them, is an error of the request."""

_TODO_STATUSES: Mapping[str, schema.PlanEntryStatus] = {
    "in_progress": "in_progress",
    "completed": "completed",
    "cancelled": "completed",
}
_TODO_PRIORITIES: Mapping[str, schema.PlanEntryPriority] = {"high": "high", "low": "low"}


async def serve_acp(request: SessionRequest, location: DataLocation, ask: AskUser | None = None) -> None:
    """Serve the editor at standard input and output until it is gone; return nothing.

    `request` is what every session has in common, `ask` who answers questions in the editor's place. Raises
    `ConfigError` where no editor is there.
    """
    for stream in (sys.stdin, sys.stdout):
        kind = os.fstat(stream.fileno()).st_mode
        if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
            hint = "An editor starts this command; docs/terminal.md says how it is named to one"
            raise ConfigError("standard input and output are no pipes of an editor", hint=hint)
    reader, writer = await acp.stdio.stdio_streams(limit=acp.core.DEFAULT_STDIO_BUFFER_LIMIT_BYTES)
    # whatever prints from now on (a plugin, a library) must not be taken for a message
    sys.stdout = sys.stderr
    agent = AcpAgent(request, location, ask)
    # the SDK's protocol has all methods there are; it offers those that it finds
    connection = AgentSideConnection(cast(acp.Agent, agent), writer, reader, listening=False)
    try:
        await connection.listen()
    finally:
        # turns first: what is sent into a connection that is closed waits for good
        await agent.close()
        await connection.close()


class AcpAgent:
    """The agent's side of the protocol, as the SDK calls it. What goes wrong is an error of the request."""

    def __init__(self, request: SessionRequest, location: DataLocation, ask: AskUser | None = None) -> None:
        self._request = request
        self._location = location
        self._ask = ask
        self._sessions: dict[str, _EditorSession] = {}
        self._client: Client | None = None
        self._telemetry: Telemetry | None = configured(location.settings.telemetry)

    def on_connect(self, conn: Client) -> None:
        """Take the connection to the editor; return nothing."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,  # noqa: ARG002 (there is one so far; the editor leaves where it cannot speak it)
        **_: Any,
    ) -> schema.InitializeResponse:
        """Return what is offered here."""
        return schema.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True, embedded_context=True),
                mcp_capabilities=schema.McpCapabilities(http=True),
                session_capabilities=schema.SessionCapabilities(list=schema.SessionListCapabilities()),
            ),
            agent_info=schema.Implementation(name="hudkit", title="hudkit", version=__version__),
        )

    async def new_session(self, cwd: str, mcp_servers: _SERVERS | None = None, **_: Any) -> schema.NewSessionResponse:
        """Begin a session in a directory; return its id and its modes."""
        session = await self._open(None, Path(cwd), mcp_servers or ())
        return schema.NewSessionResponse(session_id=session.id, modes=session.modes())

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: _SERVERS | None = None, **_: Any
    ) -> schema.LoadSessionResponse:
        """Open a stored session and tell it from its first message; return its modes.

        It works in its own directory, whatever `cwd` says: its files are there.
        """
        stored = self._stored(session_id)
        if session_id in self._sessions:
            await self._sessions.pop(session_id).close()
        session = await self._open(stored, Path(stored.directory or cwd), mcp_servers or ())
        await session.replay()
        return schema.LoadSessionResponse(modes=session.modes())

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> schema.ListSessionsResponse:
        """Return the sessions of a directory, or all, the newest first; none of sub-agents."""
        stored = self._location.sessions(Path(cwd)) if cwd else self._all_stored()
        sessions = [
            schema.SessionInfo(
                session_id=session.id,
                cwd=session.directory,
                title=session.title,
                updated_at=datetime.fromtimestamp(session.updated / 1000, UTC).isoformat(),
            )
            for session in stored
        ]
        return schema.ListSessionsResponse(sessions=sessions)

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> schema.SetSessionModeResponse:
        """Let another agent work in a session from the next model call on."""
        session = self._session(session_id)
        try:
            await session.loop.switch(agent=mode_id)
        except HudkitError as error:
            raise _request_error(error) from error
        return schema.SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> schema.PromptResponse:
        """Work on a prompt; return why the turn ended, once all that happened in it is told."""
        return await self._session(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """End the turn that is under way; return nothing."""
        if session_id in self._sessions:
            self._sessions[session_id].cancel()

    async def close(self) -> None:
        """Close all sessions; return nothing."""
        while self._sessions:
            await self._sessions.popitem()[1].close()
        if self._telemetry is not None:
            self._telemetry.close()

    async def _open(self, stored: StoredSession | None, directory: Path, servers: _SERVERS) -> _EditorSession:
        if not directory.is_absolute() or not directory.is_dir():
            raise _invalid(f"{directory} is no directory")
        assert self._client is not None  # the SDK connects first
        request = replace(self._request, directory=directory, mcp_servers=_mcp_servers(servers))
        session = _EditorSession(self._client, self._location, self._ask)
        try:
            await session.open(request, stored, self._telemetry)
        except HudkitError as error:
            raise _request_error(error) from error
        self._sessions[session.id] = session
        return session

    def _session(self, session_id: str) -> _EditorSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise _invalid(f"session {session_id!r:.80} is not open here: load it first")
        return session

    def _stored(self, session_id: str) -> StoredSession:
        for session in self._all_stored():
            if session.id == session_id:
                return session
        raise acp.RequestError.resource_not_found(session_id)

    def _all_stored(self) -> list[StoredSession]:
        path = self._location.data / SESSIONS_FILE
        if not path.exists():
            return []
        with SessionStore.open(path, read_only=True) as store:
            own = [session for session in store.sessions() if not session.parent_id]
        return sorted(own, key=lambda session: session.updated, reverse=True)


class _EditorSession:
    """One session of the editor: a sink of the loop's events, which a task of its own sends in their order."""

    def __init__(self, client: Client, location: DataLocation, ask: AskUser | None) -> None:
        self._client = client
        self._location = location
        self._ask_instead = ask
        self._waiting: asyncio.Queue[events.AgentEvent | None] = asyncio.Queue()
        self._sending: asyncio.Task[None] | None = None
        self._working: asyncio.Task[events.TurnEnded] | None = None
        self._opened: list[Hud | PastSessions] = []
        self._loop: AgentLoop | None = None
        self._panel = Panel(None, location.settings)
        self._told_calls: set[str] = set()
        self._told_plan: list[schema.PlanEntry] = []
        self._cancelled = False
        self._over = False

    @property
    def loop(self) -> AgentLoop:
        assert self._loop is not None
        return self._loop

    @property
    def id(self) -> str:
        return self.loop.id

    async def open(self, request: SessionRequest, stored: StoredSession | None, telemetry: Telemetry | None) -> None:
        """Open the loop. Raises a `HudkitError`; nothing is left open then."""
        settings = self._location.settings
        ask = self._ask_instead or self._ask
        try:
            with suppress(HudkitError):  # they are deleted another time
                trim_old_sessions(self._location, stored.id if stored is not None else "")
            model = model_of(request, stored, settings)
            self._loop = await open_loop(request, self._location, ask, model, stored, self._opened, telemetry)
        except BaseException:
            close_opened(self._opened)
            raise
        self._panel = Panel(self._location.log if request.hud else None, settings)
        self._panel.of(self._loop)
        for name, problem in self._loop.problems:
            _LOG.warning("%s: %s", name, problem)
        self._loop.setup.events.attach(self)
        self._sending = asyncio.create_task(self._send_events())
        if self._loop.commands:
            asyncio.get_running_loop().call_soon(self._waiting.put_nowait, None)  # behind the answer with the id

    def add(self, event: events.AgentEvent | None) -> None:
        """Take an event; return nothing."""
        if event is not None:
            self._waiting.put_nowait(event)

    def modes(self) -> schema.SessionModeState:
        """Return the agents that may work in a session, and the one that does."""
        agents = [agent for agent in self.loop.setup.agents.values() if agent.mode != "subagent"]
        modes = [schema.SessionMode(id=each.name, name=each.name, description=each.description) for each in agents]
        return schema.SessionModeState(current_mode_id=self.loop.session.agent, available_modes=modes)

    async def replay(self) -> None:
        """Tell the session from its first message to its last; return nothing."""
        for message in self.loop.messages:
            for update in self._updates_of(message):
                await self._tell(update)
        await self._tell_plan()

    async def prompt(self, blocks: Sequence[Any]) -> schema.PromptResponse:
        words, files, beside = _read_blocks(blocks)
        name, _, arguments = words.partition(" ")
        command = name.removeprefix("/") if name.startswith("/") else ""
        if command in self.loop.commands:
            work = self.loop.command(command, arguments.strip())
        else:
            work = self.loop.prompt(words, files, beside=beside)
        self._cancelled = False
        self._working = working = asyncio.ensure_future(work)
        try:
            ended = await working
        except HudkitError as error:
            raise _request_error(error) from error
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            ended = events.TurnEnded(self.id, "cancelled")  # before its turn began
        await self._waiting.join()
        if ended.reason == "error":
            raise acp.RequestError(-32603, ended.error or "the model failed")
        if ended.error and ended.reason != "cancelled":
            await self._tell(acp.update_agent_message_text(f"\n\n[The turn ended: {ended.error}]"))
        return schema.PromptResponse(stop_reason=_STOP_REASONS[ended.reason])

    def cancel(self) -> None:
        # a prompt whose turn has not begun has nothing yet that the loop could cancel
        if not self.loop.cancel() and self._working is not None:
            self._cancelled = self._working.cancel()

    async def close(self) -> None:
        self._over = True
        if self._loop is not None:
            await self._loop.close()
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait({self._sending})
        self._panel.close()
        close_opened(self._opened)

    async def _ask(self, ask: PermissionRequest) -> PermissionReply:
        """Ask the editor; return its answer, that nobody is there where it gives none."""
        await self._waiting.join()
        options = [
            schema.PermissionOption(option_id="once", name="Allow", kind="allow_once"),
            schema.PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
        ]
        if ask.always:
            always = f"Always allow {shorten(', '.join(ask.always), _TITLE)}"
            options.insert(1, schema.PermissionOption(option_id="always", name=always, kind="allow_always"))
        values = shorten(" ".join(ask.need.values), 1_000)
        text = f"{ask.reason}: {values}" if ask.reason else values
        about = schema.ToolCallUpdate(
            tool_call_id=ask.call_id,
            title=_title(ask.tool, ask.arguments),
            kind=_KINDS.get(ask.tool, "other"),
            status="pending",
            raw_input=ask.arguments,
            content=[acp.tool_content(acp.text_block(text))],
        )
        try:
            reply = await self._client.request_permission(self.id, about, options)
        except Exception as error:  # whatever an editor may answer, and none at all
            _LOG.warning("a question of permission has no answer: %s", error)
            return PermissionReply("nobody")
        if isinstance(reply.outcome, schema.AllowedOutcome) and reply.outcome.option_id in ("once", "always"):
            return PermissionReply("always" if reply.outcome.option_id == "always" else "once")
        return PermissionReply("reject")

    # -- what happens, as updates ------------------------------------------------------------------------------

    async def _send_events(self) -> None:
        while True:
            event = await self._waiting.get()
            try:
                await self._tell_commands() if event is None else await self._tell_event(event)
            except Exception:  # a call that cannot be told must not end the telling
                _LOG.exception("an event was not told")
            finally:
                self._waiting.task_done()

    async def _tell_event(self, event: events.AgentEvent) -> None:
        if event.session_id != self.id:
            return  # a sub-agent's: its report is the result of the call
        match event:
            case events.TextChunk():
                await self._tell(acp.update_agent_message_text(event.text))
            case events.ReasoningChunk():
                await self._tell(acp.update_agent_thought_text(event.text))
            case events.ToolCallUpdated():
                await self._tell(self._call_update(event.call))
                if event.call.done:
                    await self._tell_plan()
            case events.ResponseFinished():
                await self._tell_usage()

    async def _tell(self, update: Any) -> None:
        if self._over:
            return
        with suppress(ConnectionError):  # the editor is gone: the session is closed soon
            await self._client.session_update(self.id, update)

    async def _tell_commands(self) -> None:
        commands = [
            schema.AvailableCommand(
                name=command.name,
                description=command.description or shorten(command.template, _TITLE),
                input=schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint="arguments")),
            )
            for command in self.loop.commands.values()
        ]
        await self._tell(acp.helpers.update_available_commands(commands))

    async def _tell_plan(self) -> None:
        """Tell the steps in the HUD, the todo list where there are none, if they are not as they were told last."""
        try:
            steps = self._panel.steps()
        except HudkitError as error:
            _LOG.warning("the steps cannot be read: %s", error)
            return
        plan = [
            acp.plan_entry(step.description, status="completed" if step.completed else "pending") for step in steps
        ]
        todos = self.loop.setup.store.todos(self.id) if not plan else ()
        plan += [
            acp.plan_entry(
                todo.content,
                status=_TODO_STATUSES.get(todo.status, "pending"),
                priority=_TODO_PRIORITIES.get(todo.priority, "medium"),
            )
            for todo in todos
        ]
        if plan != self._told_plan:
            self._told_plan = plan
            await self._tell(acp.update_plan(plan))

    async def _tell_usage(self) -> None:
        used, window = self.loop.used_tokens, self.loop.window.known_tokens
        if used is None or window is None:
            return
        cost = self.loop.session.cost
        await self._tell(
            schema.UsageUpdate(
                session_update="usage_update",
                used=used,
                size=window,
                cost=schema.Cost(amount=cost, currency="USD") if cost else None,
            )
        )

    def _updates_of(self, message: StoredMessage) -> Iterator[Any]:
        """Yield a stored message as updates; what the host wrote into it is not told."""
        if message.role == "user":
            if is_prompt(message) and (words := prompt_words(message)):
                yield acp.update_user_message_text(words)
            return
        for part in message.parts:
            if isinstance(part, StoredText) and part.text and not part.ignored:
                yield acp.update_agent_message_text(part.text)
            elif isinstance(part, StoredReasoning) and part.text:
                yield acp.update_agent_thought_text(part.text)
            elif isinstance(part, StoredCall):
                yield self._call_update(part)

    def _call_update(self, call: StoredCall) -> schema.ToolCallStart | schema.ToolCallProgress:
        is_new = call.call_id not in self._told_calls
        self._told_calls.add(call.call_id)
        make: Callable[..., schema.ToolCallStart | schema.ToolCallProgress]
        make = acp.start_tool_call if is_new else acp.update_tool_call
        return make(
            call.call_id,
            title=call.title if call.done and call.title else _title(call.tool, call.arguments),
            kind=_KINDS.get(call.tool, "other"),
            status=_STATUSES[call.status],
            locations=self._locations(call),
            content=_content(call, self.loop.setup.workspace.cwd),
            raw_input=call.arguments or None,
            raw_output=(call.error or call.output) if call.done else None,
        )

    def _locations(self, call: StoredCall) -> list[schema.ToolCallLocation]:
        path = call.arguments.get("path")
        if not isinstance(path, str) or not path or call.tool not in ("read", "write", "edit"):
            return []
        return [schema.ToolCallLocation(path=str(self.loop.setup.workspace.cwd / path))]


def _content(call: StoredCall, directory: Path) -> list[Any]:
    """Return what an editor shows of a call: what an edit changes, what came out, what went wrong."""
    arguments, content = call.arguments, list[Any]()
    path = arguments.get("path")
    if call.tool in ("write", "edit") and isinstance(path, str) and not call.error:
        new = arguments.get("new") if call.tool == "edit" else arguments.get("content")
        old = arguments.get("old") if call.tool == "edit" else None
        if isinstance(new, str):
            content.append(acp.tool_diff_content(str(directory / path), new, old if isinstance(old, str) else None))
    text = call.error or call.output
    if call.done and text:
        content.append(acp.tool_content(acp.text_block(text)))
    return content


def _title(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a call in one line: the tool, and the first words of its arguments."""
    first = next((value for value in arguments.values() if isinstance(value, str) and value), "")
    return shorten(f"{tool} {' '.join(first.split())}".strip(), _TITLE)


def _read_blocks(blocks: Sequence[Any]) -> tuple[str, list[Attachment], list[str]]:
    """Return the words of a prompt, its pictures, and the texts that stand beside it. Raises `RequestError`."""
    words: list[str] = []
    files: list[Attachment] = []
    beside: list[str] = []
    for block in blocks:
        match block:
            case schema.TextContentBlock():
                words.append(block.text)
            case schema.ImageContentBlock():
                files.append(
                    Attachment("", (block.uri or "").rpartition("/")[2], block.mime_type, _decoded(block.data))
                )
            case schema.ResourceContentBlock():
                words.append(f"[{block.name}]({block.uri})")
            case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents() as resource):
                words.append(f"[{resource.uri.rpartition('/')[2]}]({resource.uri})")
                beside.append(f"The file {resource.uri}:\n\n{resource.text}")
            case schema.EmbeddedResourceContentBlock(resource=schema.BlobResourceContents() as resource):
                files.append(
                    Attachment("", resource.uri.rpartition("/")[2], resource.mime_type or "", _decoded(resource.blob))
                )
            case _:
                raise _invalid(f"a prompt cannot hold {getattr(block, 'type', 'this')}")
    return " ".join(words).strip(), files, beside


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise _invalid(f"a file of the prompt is no base64: {error}") from error


def _mcp_servers(servers: _SERVERS) -> dict[str, McpServer]:
    """Return the editor's MCP servers as ours. Raises `RequestError` for a kind that was not offered."""
    described: dict[str, McpServer] = {}
    for server in servers:
        match server:
            case schema.McpServerStdio():
                env = {variable.name: variable.value for variable in server.env}
                described[server.name] = McpServer(server.command, tuple(server.args), env)
            case schema.HttpMcpServer():
                headers = {header.name: header.value for header in server.headers}
                described[server.name] = McpServer(url=server.url, headers=headers)
            case _:
                raise _invalid(f"the MCP server {server.name!r:.80} is of a kind that is not offered")
    return described


def _request_error(error: HudkitError) -> acp.RequestError:
    return acp.RequestError(-32603, str(error))


def _invalid(reason: str) -> acp.RequestError:
    return acp.RequestError(-32602, reason)
