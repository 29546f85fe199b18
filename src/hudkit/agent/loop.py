"""An agent's session from the outside: open it, give it prompts, watch it, cancel, compact, undo, close it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
from msgspec.structs import replace

from hudkit.agent import agent_definitions as definitions
from hudkit.agent import compacting, message_history, request_log, session_store, slash_commands, user_input
from hudkit.agent import events as told
from hudkit.agent.file_undo import UndoResult, undo_changes
from hudkit.agent.hooks import (
    Auth,
    AuthWanted,
    ChatPart,
    CommandExecuteBefore,
    Failure,
    Given,
    Hooks,
    Models,
    NewMessage,
    Settings,
)
from hudkit.agent.message_history import MessageHistory, calls_of
from hudkit.agent.permissions import DEFAULT_RULES, AskUser, PermissionRule, reject_all
from hudkit.agent.plugins import DiscoveredPlugin, PluginClient, PluginInput, load_plugin, record_tool_owners
from hudkit.agent.records import Attachment, RecoveryReport, StoredMessage, StoredProject, StoredSession, StoredText
from hudkit.agent.run_context import (
    LoopEnvironment,
    LoopSettings,
    LoopSetup,
    ModelOpener,
    RunContext,
    SubTask,
    joined_text,
    validated_settings,
)
from hudkit.agent.session_store import SessionStore
from hudkit.agent.slash_commands import SlashCommand
from hudkit.agent.telemetry import Telemetry
from hudkit.agent.telemetry_sink import TelemetrySink
from hudkit.agent.tools import ToolLimits
from hudkit.agent.turn import run_turn
from hudkit.agent.user_input import command_scope
from hudkit.agent.workspace import Workspace, quote
from hudkit.errors import ConfigError, SessionError, ToolError
from hudkit.models import Model, open_model
from hudkit.sections.sandboxed.definitions import git_root
from hudkit.tokens import Window


class _RegisteredPlugins(NamedTuple):
    """Plugins that could not be registered, whose each tool is, and what the others want called at the end."""

    wrong: list[tuple[str, str]]
    owners: dict[str, str]
    closers: list[tuple[str, Callable[[], object]]]


def _model_opener(
    hooks: Hooks,
    connect: Callable[[str], Model | Awaitable[Model]] | None,
    headers: dict[str, dict[str, str]],
) -> ModelOpener:
    """How models are opened by name: each once, with what the hooks `auth` and `provider` say."""
    opened: dict[str, Model] = {}

    async def by_name(name: str) -> Model:
        if name not in opened:
            provider, _, bare = name.partition(":")
            auth = await hooks.run("auth", AuthWanted(provider), Auth())
            more = await hooks.run("provider", AuthWanted(provider), Models())
            if auth.headers:
                headers[name] = dict(auth.headers)
            if connect is not None:
                made = connect(name)
                opened[name] = await made if isinstance(made, Awaitable) else made
            else:
                limits = more.models.get(bare)
                window = None
                if limits is not None and limits.context:
                    window = Window(limits.context, limits.output or None, limits.input or None, "user")
                key, url = auth.api_key or "", auth.base_url or ""
                opened[name] = await asyncio.to_thread(open_model, name, key=key, base_url=url, window=window)
        return opened[name]

    return by_name


async def _settings_after_plugins(hooks: Hooks, rules: LoopSettings, wrong: list[tuple[str, str]]) -> LoopSettings:
    """The rules as the hook `config` left them; as they were, where that is wrong."""
    left = await hooks.run("config", Given(), Settings(msgspec.to_builtins(rules)))
    try:
        return validated_settings(left.settings)
    except ConfigError as error:
        wrong.append((", ".join(hooks.using("config")), str(error)))
        return rules


async def _register_plugins(
    hooks: Hooks,
    plugins: Sequence[tuple[str, object]],
    found: Iterable[DiscoveredPlugin],
    given: PluginInput,
    options: Mapping[str, Mapping[str, Any]],
) -> _RegisteredPlugins:
    """Register plugins in order; what cannot be is left out, and said."""
    wrong: list[tuple[str, str]] = []
    owners: dict[str, str] = {}
    closers: list[tuple[str, Callable[[], object]]] = []
    for name, plugin in (*plugins, *((one.name, one) for one in found)):
        try:
            mine = replace(given, options=dict(options.get(name, {})))
            made = await load_plugin(plugin, mine)
            hooks.add(name, record_tool_owners(name, made, owners))
            if not isinstance(made, Mapping) and callable(close := getattr(made, "close", None)):
                closers.append((name, close))
        except ConfigError as error:
            wrong.append((name, str(error)))
    return _RegisteredPlugins(wrong, owners, closers)


def _plugin_input(area: Workspace, project: StoredProject, client: PluginClient) -> PluginInput:
    return PluginInput(project.id, area.cwd, area.root, client)


async def _open_session(
    setup: LoopSetup, id: str, project: StoredProject, area: Workspace
) -> tuple[StoredSession, RecoveryReport]:
    """The session of this id, claimed and mended, or a new one."""
    now = setup.outside.clock()
    if id:
        mended = await _resume_session(setup, id, now)
        found = setup.store.session(id)
        assert found is not None
        return found, mended
    session = StoredSession(
        f"ses_{setup.outside.ids()}", project.id, directory=str(area.cwd), created=now, updated=now
    )
    setup.store.create(session)
    return session, RecoveryReport()


async def _resume_session(setup: LoopSetup, id: str, now: int) -> RecoveryReport:
    """Claim a session. A process that was killed may have left one that is about to become a command: for a moment,
    it still holds the claim. Raises `SessionError`."""
    for _ in range(10):
        try:
            return setup.store.resume(id, now)
        except SessionError:
            if setup.store.session(id) is None:
                raise
            await asyncio.sleep(0.05)
    return setup.store.resume(id, now)


def _system_clock() -> int:
    return time.time_ns() // 1_000_000


def _uuid7() -> str:
    import uuid_utils

    return uuid_utils.uuid7().hex


class _SubAgents:
    """The sub-sessions of one loop that are under way, by their ids."""

    def __init__(self) -> None:
        self._open: dict[str, RunContext] = {}

    def get(self, session_id: str) -> RunContext | None:
        return self._open.get(session_id)

    async def run(self, task: SubTask) -> tuple[str, str]:
        """Run a sub-session to its end; its id and its last words. Raises `ToolError` where it came to nothing.

        It has its parent's rules and its own agent's behind them. It may start others as long as `Rules.depth` says.
        """
        parent, setup = task.parent, task.parent.setup
        agent = setup.agents[task.agent]
        model = await setup.open_model(agent.model) if agent.model else parent.model
        above = setup.store.session(parent.id)
        now, id = parent.now(), parent.new_id("ses")
        session = StoredSession(
            id,
            above.project_id if above is not None else "",
            parent.id,
            str(setup.area.cwd),
            task.title,
            agent.name,
            model.name,
            now,
            asked_by=task.message_id,
        )
        setup.store.create(session)
        setup.telling.event("session.created", id, parent=parent.id, agent=agent.name)
        try:
            course = RunContext(setup, MessageHistory(setup.store, id), agent, model, depth=parent.depth + 1)
            if course.depth < setup.rules.depth:
                course.child = self.run
            course.permit((*parent.permissions.rules[len(DEFAULT_RULES) :], *agent.rules))
            self._open[id] = course
            await course.refresh()
            user_input.store_user_message(course, [StoredText(course.new_id("prt"), task.prompt)])
            ended = await run_turn(course, task)
        finally:
            self._open.pop(id, None)
            setup.store.release(id)
        if ended.reason not in ("done", "steps", "length"):
            raise ToolError(
                f"the sub-agent did not finish: {ended.error or ended.reason}", hint=f"Its session is {id}"
            )
        left = "" if ended.reason == "done" else f"\n[{ended.error}]"
        return id, (ended.text or "[the sub-agent said nothing]") + left


class AgentLoop:
    """One session, open. Prompts are taken up one after the other, in the order in which they came."""

    def __init__(
        self,
        setup: LoopSetup,
        course: RunContext,
        client: PluginClient,
        mended: RecoveryReport,
        project: StoredProject,
    ) -> None:
        self.setup = setup
        self.client = client
        self.mended = mended
        """What had been cut off, where the session was resumed."""
        self.project = project
        self.wrong: list[tuple[str, str]] = []
        """What is left out, and why: plugins that were not loaded or were set aside, commands that cannot be read."""
        self._closers: list[tuple[str, Callable[[], object]]] = []
        self._children = _SubAgents()
        self._course = course
        self._turns = asyncio.Lock()
        self._task: asyncio.Task[told.TurnEnded] | None = None
        self._cancelled = False
        self._aside: set[asyncio.Task[object]] = set()
        self.queued = 0
        """Prompts that wait for their turn."""

    @classmethod
    async def open(
        cls,
        directory: str | os.PathLike[str],
        model: Model | str,
        *,
        data: str | os.PathLike[str],
        session: str = "",
        agent: str = "",
        plugins: Sequence[tuple[str, object]] = (),
        found: Iterable[DiscoveredPlugin] = (),
        options: Mapping[str, Mapping[str, Any]] | None = None,
        ask: AskUser = reject_all,
        permissions: Sequence[PermissionRule] = (),
        rules: LoopSettings | None = None,
        limits: ToolLimits | None = None,
        commands: Mapping[str, str] | None = None,
        home: Path | None = None,
        user_agents: Sequence[Path] = (),
        user_skills: Sequence[Path] = (),
        user_commands: Sequence[Path] = (),
        connect: Callable[[str], Model | Awaitable[Model]] | None = None,
        clock: Callable[[], int] | None = None,
        ids: Callable[[], str] | None = None,
        hook_seconds: float | None = None,
        telemetry: Telemetry | None = None,
    ) -> Self:
        """A new session in a directory, or the stored one with the id `session`.

        `data` is hudkit's data directory; `plugins` are objects with hooks by their names, or functions that make one
        of a `PluginInput`; `found` are those of `plugins.discover`, with `options` by name. `commands` are templates
        by their names, `user_commands` the user's folders of such files. `connect` opens models by name (default:
        `hudkit.models.open_model`). `telemetry` is told what happens, and is the caller's to close. Raises
        `ConfigError`, a `StoreError`, and `SessionError` where the session is unknown or another process has it. A
        plugin that cannot be loaded is in `wrong`.
        """
        folder = Path(data)
        area = Workspace(git_root(Path(directory)), cwd=Path(directory))
        store = SessionStore.open(folder / session_store.SESSIONS_FILE)
        log = None
        try:
            rules = rules or LoopSettings()
            log = request_log.RequestLog(folder / request_log.REQUESTS_FILE) if rules.record else None
            outside = LoopEnvironment(
                clock or _system_clock,
                ids or _uuid7,
                home,
                tuple(user_skills),
                tuple(user_agents),
                folder / "outputs",
            )
            client = PluginClient(store)
            wrong: list[tuple[str, str]] = []

            def failed(one: Failure) -> None:
                telling.failed(one)
                if one.kind == "aside":
                    wrong.append((one.plugin, one.message))

            hooks = Hooks(told=failed, seconds=hook_seconds)
            telling = told.EventBus(hooks)
            if telemetry is not None:
                telling.attach(TelemetrySink(telemetry, outside.clock))
            known, _ = definitions.discover_agents(area, outside.agents)
            asked, unread = slash_commands.discover_commands(area, user_commands, commands)
            wrong += [(str(one.path), one.why) for one in unread]
            project = store.project(StoredProject(str(area.root), str(area.root), outside.clock()))
            plugged = await _register_plugins(
                hooks, plugins, found, _plugin_input(area, project, client), options or {}
            )
            wrong += plugged.wrong
            rules = await _settings_after_plugins(hooks, rules, wrong)
            auth: dict[str, dict[str, str]] = {}
            by_name = _model_opener(hooks, connect, auth)
            setup = LoopSetup(
                store, area, hooks, telling, by_name, known, outside, rules,
                tuple(permissions), ask, limits or ToolLimits(), asked, log, auth, plugged.owners,
            )  # fmt: skip
            stored, mended = await _open_session(setup, session, project, area)
            name = agent or stored.agent or "build"
            if name not in known:
                raise ConfigError(f"there is no agent {quote(name)}", hint=f"There are: {', '.join(known)}")
            used = model if not isinstance(model, str) else await by_name(known[name].model or model)
            store.update(stored.id, outside.clock(), agent=name, model=used.name)
            course = RunContext(setup, MessageHistory(store, stored.id), known[name], used)
            loop = cls(setup, course, client, mended, project)
            loop.wrong, loop._closers = wrong, plugged.closers
            if rules.depth:
                course.child = loop._children.run
            telling.session_id = stored.id
            client.bind(loop._from_plugin, loop._compact_from_plugin, lambda: course.model.window, telling.tell)
            await course.refresh()
        except BaseException:
            store.close()
            if log is not None:
                log.close()
            raise
        telling.event("session.updated" if session else "session.created", stored.id, directory=str(area.cwd))
        return loop

    @property
    def id(self) -> str:
        return self._course.id

    @property
    def session(self) -> StoredSession:
        """The session as it is stored now, with the sums of its usage and cost."""
        found = self.setup.store.session(self.id)
        assert found is not None
        return found

    @property
    def messages(self) -> tuple[StoredMessage, ...]:
        """All messages, also those that have left the window."""
        return self._course.kept.messages

    @property
    def window(self) -> Window:
        return self._course.model.window

    @property
    def used(self) -> int | None:
        """Tokens in the window after the last response; `None`: not known, as after a compaction."""
        last = message_history.last_finished(self.messages)
        return last.usage.used if last is not None and last.usage is not None else None

    @property
    def commands(self) -> Mapping[str, SlashCommand]:
        """The user's commands by name: those that were given, the user's files, the project's."""
        return self.setup.commands

    @property
    def busy(self) -> bool:
        return self._task is not None and not self._task.done()

    def events(self) -> told.EventStream:
        """What happens from now on, as an async iterator; it ends with `close`."""
        return self.setup.telling.listen()

    async def prompt(self, text: str, parts: Sequence[Attachment] = ()) -> told.TurnEnded:
        """Take up a prompt when those before it are done, and work until it is answered.

        `parts` are attached files: bytes, or a path inside the project. Raises `SessionError` for an empty prompt,
        `Refused` for a path that leads out; a model's failure is in what is returned.
        """
        return await self._take(lambda: user_input.store_prompt(self._course, text, parts))

    async def command(self, name: str, arguments: str = "") -> told.TurnEnded:
        """Take up a command of the user's: its template with the arguments in their places, by the agent and the
        model that it names. Raises `SessionError` where there is no such command or agent, `ConfigError`."""
        command = self.commands.get(name)
        if command is None:
            known = ", ".join(self.commands) or "none"
            raise SessionError(f"there is no command {quote(name)}", hint=f"There are: {known}")
        given = CommandExecuteBefore(self.id, name, arguments)
        output = NewMessage([ChatPart("text", command.filled(arguments))])

        async def said() -> StoredMessage:
            left = await self.setup.hooks.run("command_execute_before", given, output)
            return user_input.store_user_parts(self._course, left.parts, {})

        return await self._take(said, command)

    async def proceed(self) -> told.TurnEnded:
        """Go on with a turn that was cut off or cancelled; done at once where nothing is left to do."""

        async def said() -> StoredMessage | None:
            seen = self._course.kept.visible()
            cut_off = seen and seen[-1].role == "assistant" and seen[-1].aborted and not calls_of(seen[-1])
            if cut_off:
                return user_input.store_user_message(
                    self._course, [StoredText(self._course.new_id("prt"), compacting.GO_ON, synthetic=True)]
                )
            return None

        return await self._take(said)

    async def compact(self) -> bool:
        """Compact now, or after the turn that is under way; whether there was anything to compact."""
        async with self._turns:
            asked = compacting.mark(self._course, auto=False)
            if asked is None:
                return False
            await self._guarded(self._compacted(asked))
            return True

    async def switch(self, *, model: Model | str | None = None, agent: str = "") -> None:
        """Another model or agent from the next model call on. Raises `ConfigError`."""
        async with self._turns:
            course = self._course
            if agent:
                if agent not in self.setup.agents:
                    raise ConfigError(
                        f"there is no agent {quote(agent)}", hint=f"There are: {', '.join(self.setup.agents)}"
                    )
                course.act_as(self.setup.agents[agent])
            if model is not None:
                course.model = await self.setup.open_model(model) if isinstance(model, str) else model
            self.setup.store.update(self.id, course.now(), agent=course.agent.name, model=course.model.name)
            await course.refresh()

    async def undo(self) -> UndoResult:
        """Take back the last prompt with all that followed, and put back the files that it changed, sub-agents'
        included. What somebody else has changed since is left, and named; what commands did stays. Raises
        `SessionError` where there is no prompt."""
        async with self._turns:
            kept = self._course.kept
            asked = message_history.last_user_prompt(kept.visible())
            if asked is None:
                raise SessionError("there is no prompt to take back")
            at = next(place for place, one in enumerate(kept.messages) if one.id == asked.id)
            undone = await asyncio.to_thread(undo_changes, self._course, kept.messages[at:], joined_text(asked.parts))
            kept.cut(asked.id, self._course.now())
            self._course.context.seen.clear()
            self._course.repeated = ("", 0)
            return undone

    def cancel(self) -> bool:
        """End the turn that is under way; the transcript stays valid. Whether there was one."""
        if self._task is None or self._task.done():
            return False
        self._cancelled = True
        return self._task.cancel()

    async def settled(self) -> None:
        """Wait until plugins have been told of all that happened so far."""
        await self.setup.telling.settled()

    async def close(self) -> None:
        """End what is under way, and let go of the session; twice is harmless. Models are the caller's to close."""
        self.cancel()
        for task in (*self._aside, *([self._task] if self._task else [])):
            task.cancel()
            await asyncio.wait({task}, timeout=10)
        await self.setup.telling.close()
        while self._closers:
            name, close = self._closers.pop()
            await self.setup.hooks.end(name, close, seconds=2.0)
        self.setup.hooks.close()
        self.setup.store.close()
        if self.setup.sent is not None:
            self.setup.sent.close()
            self.setup.sent = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _take(
        self, said: Callable[[], Awaitable[StoredMessage | None]], command: SlashCommand | None = None
    ) -> told.TurnEnded:
        self.queued += 1
        try:
            await self._turns.acquire()
        finally:
            self.queued -= 1
        try:
            async with command_scope(self._course, command) if command is not None else nullcontext():
                message = await said()
                if message is not None:
                    self._course.tell(told.PromptAccepted(self.id, message))
                return await self._guarded(run_turn(self._course))
        finally:
            self._turns.release()

    async def _guarded(self, work: Any) -> told.TurnEnded:
        """Run a turn so that `cancel` ends it, and nothing else of the caller's."""
        self._cancelled = False
        self._task = asyncio.ensure_future(work)
        try:
            return await self._task
        except asyncio.CancelledError:
            ended = told.TurnEnded(self.id, "cancelled", error="cancelled by the user")
            self._course.tell(ended)
            self.setup.telling.event("session.idle", self.id, reason="cancelled", error="")
            if self._cancelled:
                return ended
            raise

    async def _compacted(self, asked: StoredMessage) -> told.TurnEnded:
        await compacting.compact(self._course, asked)
        return told.TurnEnded(self.id, "done")

    async def _from_plugin(self, session_id: str, text: str) -> None:
        """A plugin's prompt: into the queue, and nobody waits for its answer."""
        if session_id in ("", self.id):
            self._beside(self.prompt(text))

    def _compact_from_plugin(self, session_id: str) -> None:
        course = self._children.get(session_id) or (self._course if session_id in ("", self.id) else None)
        if course is not None and self.busy:
            course.compact_wanted = True
        elif course is not None:
            self._beside(self.compact())

    def _beside(self, work: Any) -> None:
        task: asyncio.Task[object] = asyncio.ensure_future(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)
