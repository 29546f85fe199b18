"""The agent loop from the outside: open a session, give it prompts, watch it, cancel, compact, undo, close it."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
from msgspec.structs import replace

from hudkit.agent import (
    compacting,
    message_history,
    request_log,
    session_store,
    slash_commands,
    trimming,
    user_input,
)
from hudkit.agent.agent_definitions import AgentDefinition, discover_agents
from hudkit.agent.answer_types import AnswerType
from hudkit.agent.context_files import UnreadableDefinition, discover_skills
from hudkit.agent.events import EventBus, EventStream, PromptAccepted, TurnEnded
from hudkit.agent.file_undo import UndoResult, undo_changes
from hudkit.agent.hooks import (
    HOOKS,
    Auth,
    AuthRequest,
    Failure,
    HookInput,
    Hooks,
    HostSettings,
    Models,
    Tools,
    ToolsRequest,
)
from hudkit.agent.language_servers import LanguageServers
from hudkit.agent.mcp_servers import McpServers
from hudkit.agent.message_history import MessageHistory, calls_of, last_todos
from hudkit.agent.permissions import AskUser, PermissionReply, PermissionRequest
from hudkit.agent.plugins import PluginClient, PluginInput, load_plugin
from hudkit.agent.records import Attachment, RecoveryReport, StoredMessage, StoredProject, StoredSession, StoredText
from hudkit.agent.run_context import (
    RESERVED_TOOL_NAMES,
    LoopEnvironment,
    LoopOptions,
    LoopSettings,
    LoopSetup,
    ModelOpener,
    RunContext,
    SteeringText,
)
from hudkit.agent.session_deletion import finish_deletions
from hudkit.agent.session_fork import fork_session
from hudkit.agent.session_store import SessionStore
from hudkit.agent.slash_commands import SlashCommand
from hudkit.agent.sub_agents import SubAgents, task_reports
from hudkit.agent.telemetry.observations import TelemetrySink
from hudkit.agent.tools import TOOLS, Tool, function_tool
from hudkit.agent.tools.confinement import confinement_problem
from hudkit.agent.tools.web_tool import web_fetch_tool
from hudkit.agent.turn import run_turn
from hudkit.agent.user_input import command_scope
from hudkit.agent.workspace import Workspace, quote
from hudkit.clock import new_id, unix_ms
from hudkit.context.window_budget import WindowBudget
from hudkit.errors import ConfigError, SessionError
from hudkit.models import Model, open_model
from hudkit.models.model_names import resolve_model_name
from hudkit.paths import git_root
from hudkit.tokens import Prices, Window

_CLOSE_SECONDS = 10
"""How long `close` waits for a task to take note that it was cancelled."""

_PLUGIN_CLOSE_SECONDS = 2.0
"""How long a plugin's own `close` may take."""


class AgentLoop:
    """One open session of hudkit's own agent. Prompts are taken up in the order in which they came.

        async with await AgentLoop.open(".", "anthropic:claude-sonnet-4-6", data=data) as loop:
            ended = await loop.prompt("Make the tests pass.")
            print(ended.reason, ended.text)

    `recovered` says what had been cut off, where the session was resumed. `problems` are pairs of what was left out
    and why: plugins that were not loaded or were set aside, commands that cannot be read. `queued` is how many
    prompts wait for their turn.
    """

    def __init__(
        self,
        setup: LoopSetup,
        run: RunContext,
        client: PluginClient,
        recovered: RecoveryReport,
        project: StoredProject,
    ) -> None:
        """Wrap a session that is set up already; `AgentLoop.open` is the door."""
        self.setup = setup
        self.client = client
        self.recovered = recovered
        self.project = project
        self.problems: list[tuple[str, str]] = []
        self.queued = 0
        self._closers: list[tuple[str, Callable[[], object]]] = []
        self._servers = McpServers({})
        self._sub_agents = SubAgents(run_turn)
        self._run = run
        self._turns = asyncio.Lock()
        self._task: asyncio.Task[TurnEnded] | None = None
        self._cancelled = False
        self._background: set[asyncio.Task[object]] = set()

    @classmethod
    async def open(
        cls,
        directory: str | os.PathLike[str],
        model: Model | str,
        *,
        data: str | os.PathLike[str],
        session: str = "",
        options: LoopOptions | None = None,
    ) -> Self:
        """Return the loop over a new session in a directory, or over the stored one with the id `session`.

        `model` is a `Model`, or a name for `hudkit.models.open_model` such as `anthropic:claude-sonnet-4-6`. `data`
        is the folder where sessions are kept. Raises `ConfigError`, a `StoreError`, and `SessionError` where the
        session is unknown or another process has it. A plugin that cannot be loaded is in `problems`.
        """
        options = options or LoopOptions()
        if options.confine != "off" and (problem := confinement_problem()):
            raise ConfigError(f"commands cannot be confined: {problem}", hint="Leave out confine, or use a container")
        folder = Path(data)
        store = SessionStore.open(folder / session_store.SESSIONS_FILE)
        log = None
        servers = McpServers(options.mcp_servers)
        try:
            if options.settings.record:
                log = request_log.RequestLog(folder / request_log.REQUESTS_FILE)
            loop = await cls._open_over(store, log, servers, Path(directory), folder, model, session, options)
        except BaseException:
            await servers.close()
            store.close()
            if log is not None:
                log.close()
            raise
        type = "session.updated" if session else "session.created"
        loop.setup.events.notify_plugins(type, loop.id, directory=str(loop.setup.workspace.cwd))
        if session and loop.session.undone_from:  # an undo may have been cut off behind its first step
            await loop._follow_history()
        return loop

    @classmethod
    async def _open_over(
        cls,
        store: SessionStore,
        log: request_log.RequestLog | None,
        servers: McpServers,
        directory: Path,
        folder: Path,
        model: Model | str,
        session: str,
        options: LoopOptions,
    ) -> Self:
        """Return the loop over stores that are open; the caller closes them where this raises."""
        workspace = Workspace(git_root(directory), cwd=directory)
        environment = _environment_of(options, folder / "outputs")
        client = PluginClient(store)
        problems: list[tuple[str, str]] = []
        hooks, bus = _hooks_with_bus(options, problems)
        if options.telemetry is not None:
            bus.attach(TelemetrySink(options.telemetry, environment.clock))
        agents, unreadable_agents = _agents_of(options, workspace, environment.agents)
        commands, unreadable = slash_commands.discover_commands(workspace, options.user_commands, options.commands)
        # told once, here: the skills themselves are read anew with each epoch
        _, unreadable_skills = discover_skills(workspace, environment.skills)
        left_out = (*unreadable_agents, *unreadable, *unreadable_skills)
        problems += [(str(definition.path), definition.reason) for definition in left_out]
        project = store.project(StoredProject(str(workspace.root), str(workspace.root), environment.clock()))
        plugin_input = PluginInput(project.id, workspace.cwd, workspace.root, client)
        registered = await _register_plugins(hooks, options, plugin_input)
        problems += registered.problems
        # after the plugins are there, and before anything is opened by these settings
        settings = await _settings_after_plugins(hooks, options.settings, problems)
        auth_headers: dict[str, dict[str, str]] = {}
        open_by_name = _model_opener(hooks, options.connect, auth_headers, settings.windows)
        web = (web_fetch_tool(private=settings.fetch_private),) if settings.web_fetch else ()
        tools = _all_tools((*web, *options.tools, *await servers.connect()))
        problems += servers.problems
        language_servers = LanguageServers(options.language_servers, workspace.root)
        setup = LoopSetup(
            store, workspace, hooks, bus, open_by_name, agents, environment, tools, settings,
            (*servers.rules, *options.permissions), _one_question_at_a_time(options.ask_user), options.limits,
            commands, log, auth_headers, registered.tool_owners, options.confine, language_servers,
        )  # fmt: skip
        stored, recovered = await _open_session(setup, session, project)
        name = options.agent or stored.agent or "build"
        _check_agent(name, agents)
        if isinstance(model, str):
            model = await _opened_model(open_by_name, model, agents[name], problems)
        store.update(stored.id, environment.clock(), agent=name, model=model.name)
        # only after the lock is held: the messages are read once and kept
        history = MessageHistory(store, stored.id, client.announce)
        run = RunContext(setup, history, agents[name], model)
        loop = cls(setup, run, client, recovered, project)
        loop.problems, loop._closers, loop._servers = problems, registered.closers, servers
        # without it the tool `task` is not offered at all
        if settings.depth:
            run.sub_agents = loop._sub_agents
        # failures of plugins before this point belong to no session yet
        bus.session_id = stored.id
        client.bind(
            loop._prompt_from_plugin,
            loop._compact_from_plugin,
            lambda: run.model.window,
            bus.post,
            lambda: (run.budget, run.tools_characters),
            history,
        )
        await run.refresh()
        if not settings.summaries and run.budget is None:
            hint = "Add hud_plugin(…) to the plugins, and let the agent use memory"
            raise ConfigError("a session without summaries needs the HUD and its tool memory", hint=hint)
        loop.problems += run.left_out
        return loop

    @property
    def id(self) -> str:
        """Return the session's id."""
        return self._run.id

    @property
    def session(self) -> StoredSession:
        """Return the session as it is stored now, with the sums of its usage and cost."""
        session = self.setup.store.session(self.id)
        assert session is not None
        return session

    @property
    def messages(self) -> tuple[StoredMessage, ...]:
        """Return all messages, also those that have left the window."""
        return self._run.history.messages

    @property
    def prices(self) -> Prices | None:
        """Return what tokens of the model that works now cost; `None` where nobody knows."""
        return self._run.model.prices

    @property
    def window(self) -> Window:
        """Return the window of the model that works now."""
        return self._run.model.window

    @property
    def budget(self) -> WindowBudget | None:
        """Return what each part of a request may have; `None` where the window is compacted, not trimmed."""
        return self._run.budget

    @property
    def used_tokens(self) -> int | None:
        """Return the tokens in the window after the last response; `None`: not known, as after a compaction."""
        last = message_history.last_finished(self.messages)
        return last.usage.used if last is not None and last.usage is not None else None

    @property
    def commands(self) -> Mapping[str, SlashCommand]:
        """Return the user's commands by name: those of the options, the user's files, the project's."""
        return self.setup.commands

    @property
    def busy(self) -> bool:
        """Return whether a turn is under way."""
        return self._task is not None and not self._task.done()

    def events(self) -> EventStream:
        """Return an async iterator over what happens from now on; it ends with `close`."""
        return self.setup.events.subscribe()

    async def prompt(
        self, text: str, parts: Sequence[Attachment] = (), *, beside: Sequence[str] = (), answer_type: object = None
    ) -> TurnEnded:
        """Take up a prompt when those before it are done, work until it is answered, and return how that ended.

        `parts` are attached files: bytes, or a path inside the project. `beside` are texts that the model gets in
        front of the prompt, and that are none of the user's words. With `answer_type` (a dataclass, `TypedDict`,
        msgspec `Struct`, pydantic model, any type of JSON, or a JSON Schema as a mapping) the last answer has to be
        such a value: it is the `answer` of what is returned. One that does not fit is sent back with what is wrong,
        `LoopSettings.answer_attempts` times; then the turn ends with the reason `answer`.

        Raises `SessionError` for an empty prompt, `ConfigError` for a type that cannot be checked, `ToolRefused` for
        a path that leads out; a model's failure is in what is returned.
        """
        wanted = AnswerType(answer_type) if answer_type is not None else None
        beside = (*beside, *([wanted.instructions] if wanted is not None else []))

        async def store_message() -> StoredMessage:
            # sub-agents whose end nobody was told of, as after a cancellation: the model hears of them now
            return await user_input.store_prompt(self._run, text, parts, (*task_reports(self._run), *beside))

        return await self._take(store_message, answer_type=wanted)

    async def steer(self, text: str, parts: Sequence[Attachment] = ()) -> StoredMessage | None:
        """Say something to the turn that is under way: it goes out with the next model call.

        Returns the message once it is stored; `None` where no turn is under way, or it ended before that: nothing is
        stored then, and `prompt` says it. Raises as `prompt` does.
        """
        if not self.busy:
            return None
        taken: asyncio.Future[StoredMessage | None] = asyncio.get_running_loop().create_future()
        self._run.steering.append(SteeringText(text, tuple(parts), taken))
        self._run.background.wake()
        return await taken

    async def command(self, name: str, arguments: str = "") -> TurnEnded:
        """Take up a command of the user's, and return how its turn ended.

        The prompt is its template with the arguments in their places, the output of its commands of the shell, and
        the files that it names; the agent and the model that it names work on it. Raises `SessionError` where there
        is no such command or agent, `ConfigError` for its model, and `ToolRefused` for what the rules do not permit.
        """
        command = self.commands.get(name)
        if command is None:
            names = ", ".join(self.commands) or "none"
            raise SessionError(f"there is no command {quote(name)}", hint=f"There are: {names}")

        async def store_message() -> StoredMessage:
            return await user_input.store_command(self._run, command, arguments)

        return await self._take(store_message, command)

    async def proceed(self, *, answer_type: object = None) -> TurnEnded:
        """Go on with a turn that was cut off or cancelled, and return how it ended; at once if nothing is left.

        `answer_type` is as for `prompt`: the one that its prompt had.
        """
        wanted = AnswerType(answer_type) if answer_type is not None else None

        async def store_message() -> StoredMessage | None:
            visible = self._run.history.visible()
            last = visible[-1] if visible else None
            # a response with calls goes on by itself: its results are what the model answers next
            if last is not None and last.role == "assistant" and last.aborted and not calls_of(last):
                text = StoredText(self._run.new_id("prt"), compacting.GO_ON, synthetic=True)
                return user_input.store_user_message(self._run, [text])
            return None

        return await self._take(store_message, answer_type=wanted)

    async def compact(self) -> bool:
        """Compact now, or after the turn that is under way; return whether there was anything to compact.

        In a session without summaries the messages up to the newest leave the window, and no model is asked.
        """
        async with self._turns:
            if self._run.budget is not None:
                return trimming.trim_to_tail(self._run)
            marker = compacting.mark(self._run, auto=False)
            if marker is None:
                return False
            await self._guarded(self._compact(marker))
            return True

    async def switch(self, *, model: Model | str | None = None, agent: str = "") -> None:
        """Work with another model or as another agent from the next model call on. Returns nothing.

        Raises `ConfigError` where there is no such agent, or the model cannot be opened.
        """
        async with self._turns:
            run = self._run
            if agent:
                _check_agent(agent, self.setup.agents)
                run.switch_agent(self.setup.agents[agent])
            if model is not None:
                run.model = await run.model_of(model) if isinstance(model, str) else model
            self.setup.store.update(self.id, run.now(), agent=run.agent.name, model=run.model.name)
            await run.refresh()

    async def undo(self) -> UndoResult:
        """Take back the last prompt with all that followed, put its files back, and return what was taken back.

        Compactions since then are taken back too. Files that sub-agents changed are put back as well. What somebody
        else has changed since is left and named; what commands did stays. Raises `SessionError` where there is no
        prompt.
        """
        async with self._turns:
            history = self._run.history
            messages = history.messages
            prompts = [index for index, message in enumerate(messages) if message_history.is_prompt(message)]
            if not prompts:
                raise SessionError("there is no prompt to take back")
            gone = messages[prompts[-1] :]
            # files first: an undo that is killed between the steps is done again, and comes to the same
            text = user_input.prompt_words(gone[0])
            result = await asyncio.to_thread(undo_changes, self._run, gone, text)
            history.take_back(gone[0].id, self._run.now())
            if gone[0].created:  # what left the window because of this turn
                history.restore_outputs(gone[0].created)
            if len(prompts) == 1:
                self._change_title(user_input.prompt_title(gone[0]), "")
            await self._follow_history()
            return result

    async def redo(self) -> UndoResult:
        """Bring back the prompt that was taken back last, with its files and all that followed; return how it went.

        It can be brought back until the next prompt. Files that somebody has changed since are left and named; what
        commands had done is not done again. Raises `SessionError` where nothing was taken back.
        """
        async with self._turns:
            back = self.setup.store.taken_back(self.id)
            if not back:
                raise SessionError("nothing was taken back since the last prompt")
            later = (index for index, message in enumerate(back) if index and message_history.is_prompt(message))
            end = next(later, len(back))
            text = user_input.prompt_words(back[0])
            result = await asyncio.to_thread(undo_changes, self._run, back[:end], text, redo=True)
            self._run.history.bring_back(back[end].id if end < len(back) else "", self._run.now())
            self._change_title("", user_input.prompt_title(back[0]))
            await self._follow_history()
            return result

    def fork(self, upto: str = "") -> StoredSession:
        """Store a new session with what has ended of this one, up to the message with the id `upto`; return it.

        This session stays as it is; `AgentLoop.open(…, session=fork.id)` goes on with the other one, and its HUD with
        the log of this one up to there. Raises `SessionError` where there is no such message.
        """
        environment = self.setup.environment
        fork = fork_session(self.setup.store, self.id, upto=upto, clock=environment.clock, ids=environment.ids)
        self.setup.events.notify_plugins("session.created", fork.id, fork_of=self.id, directory=fork.directory)
        return fork

    def _change_title(self, before: str, title: str) -> None:
        """Give the session another title; one that somebody else gave it stays."""
        session = self.setup.store.session(self.id)
        if session is not None and session.title == before:
            self.setup.store.update(self.id, self._run.now(), title=title)

    async def _follow_history(self) -> None:
        """Bring what goes with the messages in line with those that are there now: todos, and what plugins know."""
        run = self._run
        todos = last_todos(run.history.messages)
        if todos != self.setup.store.todos(self.id):
            self.setup.store.set_todos(self.id, todos)
            self.setup.events.notify_plugins("todo.updated", self.id)
        run.tool_context.seen_stamps.clear()
        run.last_repeat = ("", 0)
        run.compaction_requested = False
        self.setup.events.notify_plugins("session.reverted", self.id)
        await self.setup.events.delivered()

    def cancel(self) -> bool:
        """End the turn that is under way, leaving a valid transcript; return whether there was one."""
        if self._task is None or self._task.done():
            return False
        self._cancelled = True
        return self._task.cancel()

    async def plugins_notified(self) -> None:
        """Wait until plugins have been told of all that happened so far; return nothing."""
        await self.setup.events.delivered()

    async def close(self) -> None:
        """End what is under way and release the session; return nothing. Closing twice is harmless.

        Models and telemetry are the caller's to close.
        """
        self.cancel()
        for task in (*self._background, *([self._task] if self._task else [])):
            task.cancel()
            await asyncio.wait({task}, timeout=_CLOSE_SECONDS)
        await self.setup.events.close()
        while self._closers:
            # in the opposite order of opening, as with contexts: a plugin may use one before it
            name, close = self._closers.pop()
            await self.setup.hooks.end(name, close, seconds=_PLUGIN_CLOSE_SECONDS)
        await self._servers.close()
        if self.setup.language_servers is not None:
            await self.setup.language_servers.close()
        self.setup.hooks.close()
        self.setup.store.close()
        if self.setup.request_log is not None:
            self.setup.request_log.close()
            self.setup.request_log = None

    async def delete(self, *, log: Path | None = None, hud: bool = False) -> None:
        """End what is under way, delete this session with its sub-sessions, and close; return nothing.

        Plugins are told (`session.deleted`) before they are closed. `log` and `hud` are as for `delete_session`.
        Raises a `StoreError`: what is left then is deleted by the next one who deletes.
        """
        self.cancel()
        async with self._turns:
            try:
                for id in self.setup.store.begin_deletion(self.id, hud=hud):
                    self.setup.events.notify_plugins("session.deleted", id)
                await self.setup.events.delivered()
            finally:
                await self.close()
        with SessionStore.open(self.setup.store.path) as store:
            finish_deletions(store, log)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def _take(
        self,
        store_message: Callable[[], Awaitable[StoredMessage | None]],
        command: SlashCommand | None = None,
        answer_type: AnswerType | None = None,
    ) -> TurnEnded:
        """Wait for those before, store the message, and run the turn."""
        self.queued += 1
        try:
            await self._turns.acquire()
        finally:
            # counted down here also where the caller gives up waiting
            self.queued -= 1
        try:
            async with command_scope(self._run, command) if command is not None else nullcontext():
                message = await store_message()
                if message is not None:
                    self._run.emit(PromptAccepted(self.id, message))
                self._run.answer_type = answer_type
                return await self._guarded(run_turn(self._run))
        finally:
            self._run.answer_type = None
            self._turns.release()

    async def _guarded(self, work: Any) -> TurnEnded:
        """Run a turn so that `cancel` ends it, and nothing else of the caller's."""
        self._cancelled = False
        self._task = asyncio.ensure_future(work)
        try:
            return await self._task
        except asyncio.CancelledError:
            ended = TurnEnded(self.id, "cancelled", error="cancelled by the user")
            self._run.emit(ended)
            self.setup.events.notify_plugins("session.idle", self.id, reason="cancelled", error="")
            if self._cancelled:
                return ended
            raise  # it was the caller's own task that was cancelled
        finally:
            while self._run.steering:
                self._run.steering.popleft().decline()

    async def _compact(self, marker: StoredMessage) -> TurnEnded:
        await compacting.compact(self._run, marker)
        return TurnEnded(self.id, "done")

    async def _prompt_from_plugin(self, session_id: str, text: str) -> None:
        """Put a plugin's prompt into the queue; nobody waits for its answer."""
        if session_id in ("", self.id):
            self._start_background(self.prompt(text))

    def _compact_from_plugin(self, session_id: str) -> None:
        own = self._run if session_id in ("", self.id) else None
        run = self._sub_agents.get(session_id) or own
        if run is not None and self.busy:
            run.compaction_requested = True
        elif run is not None:
            self._start_background(self.compact())

    def _start_background(self, work: Any) -> None:
        # the set keeps the task alive: asyncio itself holds tasks only weakly
        task: asyncio.Task[object] = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


class _RegisteredPlugins(NamedTuple):
    """What came of registering plugins: problems by name, the owners of tools, and what is called at the end."""

    problems: list[tuple[str, str]]
    tool_owners: dict[str, str]
    closers: list[tuple[str, Callable[[], object]]]


def _check_agent(name: str, agents: Mapping[str, AgentDefinition]) -> None:
    if name not in agents:
        raise ConfigError(f"there is no agent {quote(name)}", hint=f"There are: {', '.join(agents)}")


def _environment_of(options: LoopOptions, spill: Path) -> LoopEnvironment:
    return LoopEnvironment(
        options.clock or unix_ms,
        options.ids or new_id,
        options.home,
        tuple(options.user_skills),
        tuple(options.user_agents),
        spill,
    )


def _all_tools(own: Sequence[Tool | Callable[..., Any]]) -> dict[str, Tool]:
    """Return the loop's own tools with those of the options. Raises `ConfigError`."""
    tools = dict(TOOLS)
    for each in own:
        tool = each if isinstance(each, Tool) else function_tool(each)
        if tool.name in tools or tool.name in RESERVED_TOOL_NAMES:
            raise ConfigError(
                f"there is a tool {quote(tool.name)} already", hint="function_tool(function, name=…) gives it another"
            )
        tools[tool.name] = tool
    return tools


def _one_question_at_a_time(ask_user: AskUser) -> AskUser:
    """Return what asks the user, one question after the other: sub-agents work side by side."""
    lock = asyncio.Lock()

    async def ask(request: PermissionRequest) -> PermissionReply:
        async with lock:
            return await ask_user(request)

    return ask


def _hooks_with_bus(options: LoopOptions, problems: list[tuple[str, str]]) -> tuple[Hooks, EventBus]:
    """Return the hooks and the event bus of a loop: each tells the other what happens."""

    def report(failure: Failure) -> None:
        bus.plugin_failed(failure)
        if failure.kind == "aside":
            problems.append((failure.plugin, failure.message))

    hooks = Hooks(on_failure=report, seconds=options.hook_seconds)
    bus = EventBus(hooks)
    return hooks, bus


async def _opened_model(
    open_by_name: ModelOpener, wanted: str, agent: AgentDefinition, problems: list[tuple[str, str]]
) -> Model:
    """Return the model that an agent's session begins with: the agent's own, or the one that is `wanted`.

    Where an agent's file names a model that cannot be opened here, that is a problem, and `wanted` works.
    """
    wanted = resolve_model_name(wanted, "")
    own = resolve_model_name(agent.model, wanted)
    try:
        return await open_by_name(own)
    except ConfigError as error:
        if own == wanted or agent.level == "builtin":
            raise
        reason = f"{quote(agent.model)} cannot be opened ({error.message}), so {wanted} works in its place"
        problems.append((f"the model of the agent {agent.name}", reason))
        return await open_by_name(wanted)


def _agents_of(
    options: LoopOptions, workspace: Workspace, folders: Sequence[Path]
) -> tuple[dict[str, AgentDefinition], tuple[UnreadableDefinition, ...]]:
    """Return all agents by name, those of the options in front of files, and the definitions that cannot be used.

    Raises `ConfigError` where the agent that is to work is none of them.
    """
    agents, unreadable = discover_agents(workspace, folders)
    agents |= {agent.name: agent for agent in options.agents}
    if options.system_prompt:
        name = options.agent or "build"
        _check_agent(name, agents)
        agents[name] = replace(agents[name], prompt=options.system_prompt)
    return agents, unreadable


def _model_opener(
    hooks: Hooks,
    connect: Callable[[str], Model | Awaitable[Model]] | None,
    headers: dict[str, dict[str, str]],
    windows: Mapping[str, int],
) -> ModelOpener:
    """Return what opens models by name: each once, with what the hooks `auth` and `provider` give.

    `windows` are the user's, in tokens by the name of a model or family.
    """
    opened: dict[str, Model] = {}

    async def open_by_name(name: str) -> Model:
        if name not in opened:
            provider, _, bare_name = name.partition(":")
            auth = await hooks.run("auth", AuthRequest(provider), Auth())
            hooked = await hooks.run("provider", AuthRequest(provider), Models())
            if auth.headers:
                headers[name] = dict(auth.headers)
            if connect is not None:
                model = connect(name)
                opened[name] = await model if isinstance(model, Awaitable) else model
            else:
                limits = hooked.models.get(bare_name)
                window = None
                if limits is not None and limits.context:
                    window = Window(limits.context, limits.output or None, limits.input or None, "user")
                key, url = auth.api_key or "", auth.base_url or ""
                # in a thread: the first model imports its provider's SDK, which takes long
                opened[name] = await asyncio.to_thread(
                    open_model, name, key=key, base_url=url, window=window, windows=windows, asks_server=True
                )
        return opened[name]

    return open_by_name


async def _settings_after_plugins(
    hooks: Hooks, settings: LoopSettings, problems: list[tuple[str, str]]
) -> LoopSettings:
    """Return the settings as the hook `config` left them; as they were, where that is wrong."""
    hooked = await hooks.run("config", HookInput(), HostSettings(msgspec.to_builtins(settings)))
    try:
        return _validated_settings(hooked.settings)
    except ConfigError as error:
        problems.append((", ".join(hooks.using("config")), str(error)))
        return settings


async def _register_plugins(hooks: Hooks, options: LoopOptions, plugin_input: PluginInput) -> _RegisteredPlugins:
    """Register the plugins in order; one that cannot be loaded is left out, with its problem."""
    registered = _RegisteredPlugins([], {}, [])
    discovered = ((plugin.name, plugin) for plugin in options.discovered_plugins)
    for name, plugin in (*options.plugins, *discovered):
        try:
            own_input = replace(plugin_input, options=dict(options.plugin_options.get(name, {})))
            loaded = await load_plugin(plugin, own_input)
            hooks.add(name, _record_tool_owners(name, loaded, registered.tool_owners))
        except ConfigError as error:
            registered.problems.append((name, str(error)))
            continue
        close = getattr(loaded, "close", None)
        if not isinstance(loaded, Mapping) and callable(close):
            registered.closers.append((name, close))
    return registered


async def _open_session(
    setup: LoopSetup, session_id: str, project: StoredProject
) -> tuple[StoredSession, RecoveryReport]:
    """Return the session of this id, locked and recovered, or a new one where the id is empty."""
    now = setup.environment.clock()
    if session_id:
        recovered = await _resume_session(setup, session_id, now)
        resumed = setup.store.session(session_id)
        assert resumed is not None
        return resumed, recovered
    id = f"ses_{setup.environment.ids()}"
    session = StoredSession(id, project.id, directory=str(setup.workspace.cwd), created=now, updated=now)
    setup.store.create(session)
    return session, RecoveryReport()


async def _resume_session(setup: LoopSetup, session_id: str, now: int) -> RecoveryReport:
    """Lock a stored session and return what was recovered in it. Raises `SessionError`.

    A process that was killed while it started a command leaves a child between `fork` and `exec`, which holds the
    lock for a moment still: so this is tried for half a second.
    """
    for _ in range(10):
        try:
            return setup.store.resume(session_id, now)
        except SessionError:
            if setup.store.session(session_id) is None:
                raise
            await asyncio.sleep(0.05)
    return setup.store.resume(session_id, now)


def _validated_settings(changed: Mapping[str, Any]) -> LoopSettings:
    """Return the settings that plugins left. Raises `ConfigError` that names what is wrong."""
    try:
        return msgspec.convert(dict(changed), LoopSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"the settings that plugins left are wrong: {error}", hint="They are left as before"
        ) from None


def _record_tool_owners(name: str, plugin: object, owners: dict[str, str]) -> object:
    """Return the plugin with its hook `tool` noting its tools in `owners`; a taken name is not replaced."""
    own = plugin.get("tool") if isinstance(plugin, Mapping) else getattr(plugin, "tool", None)
    if not callable(own):
        return plugin

    async def tool(hook_input: ToolsRequest, output: Tools) -> None:
        # compared afterwards: what is new is this plugin's
        before = dict(output.tools)
        pending = own(hook_input, output)
        if inspect.isawaitable(pending):
            await pending
        new = [key for key in output.tools if key not in before and owners.get(key, name) == name]
        output.tools = {**{key: output.tools[key] for key in new}, **before}
        owners.update(dict.fromkeys(new, name))

    return {**_hooks(plugin), "tool": tool}


def _hooks(plugin: object) -> dict[str, Callable[..., Any]]:
    """Return a plugin's hooks by name; an object's other methods are its own affair."""
    if isinstance(plugin, Mapping):
        return dict(plugin)
    return {word: getattr(plugin, word) for word in HOOKS if callable(getattr(plugin, word, None))}
