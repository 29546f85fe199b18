"""What an open session works with: its options and settings, what its sub-sessions share, and what an epoch fixes.

An epoch begins when a session is opened, when its agent or model changes, and after a compaction. Within an epoch the
system prompt and the tools stay as they are, so that each request begins with the one before it and the provider's
prefix cache keeps working.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec
from msgspec import Meta

from hudkit.agent import context_files, system_prompt
from hudkit.agent.agent_definitions import AgentDefinition
from hudkit.agent.answer_types import AnswerType
from hudkit.agent.events import AgentEvent, EventBus, ModelSubstituted
from hudkit.agent.hooks import (
    ChatMessage,
    Hooks,
    PermissionAsk,
    PermissionStatus,
    ShellEnv,
    ShellVariables,
    ToolDefinition,
    ToolDescription,
    ToolReference,
    Tools,
    ToolsRequest,
)
from hudkit.agent.language_servers import LanguageServers
from hudkit.agent.message_history import MessageHistory
from hudkit.agent.permissions import AskUser, PermissionRule, Permissions, reject_all
from hudkit.agent.records import Attachment, StoredMessage
from hudkit.agent.remote_instructions import RemoteInstructions
from hudkit.agent.request_log import RequestLog
from hudkit.agent.session_store import SessionStore
from hudkit.agent.slash_commands import SlashCommand
from hudkit.agent.spending import SpendingLimit
from hudkit.agent.system_prompt import SystemPrompt
from hudkit.agent.tools import TOOLS, RequiredPermission, Tool, ToolContext, ToolLimits
from hudkit.agent.workspace import Workspace
from hudkit.config import CompactionSettings, LanguageServer, McpServer, PruningSettings, Settings, ToolSettings
from hudkit.context.budget import TOKENS_PER_CHARACTER
from hudkit.context.compaction.cut_point import MAX_TAIL_TOKENS
from hudkit.context.window_budget import WindowBudget, front_ceiling, window_budget
from hudkit.errors import ConfigError
from hudkit.models import Model, ToolSpec
from hudkit.models.model_names import resolve_model_name
from hudkit.models.port import Effort
from hudkit.tokens.model_facts import OverflowRule, usable_of
from hudkit.tools import DEFINITIONS

if TYPE_CHECKING:
    from hudkit.agent.plugins import DiscoveredPlugin
    from hudkit.agent.telemetry import Telemetry

ModelOpener: TypeAlias = Callable[[str], Awaitable[Model]]
"""Opens a model by `provider:name`. Raises `ConfigError`."""


_MEMORY = next(
    (definition["name"], definition["description"]) for definition in DEFINITIONS if definition["name"] == "memory"
)

_COMPACTION, _PRUNING = CompactionSettings(), PruningSettings()
"""The user's settings as they are where nobody set them: a loop without settings does what one with them does."""


class LoopSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The bounds of a loop, which plugins may change by the hook `config`. Sizes are in tokens, times in seconds.

    - `compact`: whether the loop compacts by itself. `reserved`: tokens kept free for an answer (`None`: the rule of
      `tokens.overflow`). `tail`: the most that a compaction keeps verbatim, never more than an eighth of the usable
      window. `compaction_model` writes the summaries (empty: the agent's or the session's). `frees`: a compaction
      that freed less than this percentage of the window is not repeated at once.
    - `summaries`: whether a full window is answered with a compaction. Without, the oldest messages leave it in
      steps and no model is asked (`trimming`); this needs the HUD, whose tool `memory` reads them. Then messages have
      what is left of the window, or `recent_tokens` and `recent_messages` at most, outputs of tools two thirds of it
      or `recent_output_tokens`.
    - `prune`: whether old outputs of tools may leave the window, `prune_from` so many percent of it in use;
      `protect`: how many of the newest tokens stay, `minimum`: how many must be freed for it to be worth it (`None`:
      what suits the window); outputs of `protected_tools` stay (`*` at the end of a name stands for all that begin
      so). `cache_minutes`: after so many without a call the provider's cache is cold (`None`: by the model's name).
    - `effort`: how long a model is to think, where the agent does not say it. `fallback_models`: the models that
      are asked, in this order, where one refuses for safety or cannot be reached.
    - `max_output`: the most that a model may answer. `retries`: how often a failed model call is made again, first
      after `delay`, at most after `most_delay`.
    - `steps`: model calls in a turn. `repeats`: as many identical calls with the same result are answered with a
      remark, two more are refused, and then the turn ends. `answer_attempts`: answers that are not of the type that
      was asked for, after which the turn ends. `depth`: how deep sub-agents go; with 0 there are none,
      with 1 they start none themselves.
    - `prompt_cost`, `session_cost` (US dollars), `prompt_tokens`, `session_tokens`: what a prompt and a session may
      use, sub-agents included; once that is reached, no model call is made and the turn ends (`limit`).
    - `parallel`: how many calls of a response that change nothing, or sub-agents, run side by side.
    - `web_fetch`: whether there is the tool `webfetch`; `fetch_private`: whether it reaches private addresses, too.
    - `tool_seconds`, `plugin_tool_seconds`: the most that one call may take. `instructions`: patterns of further
      files that go into the prompt, or addresses at hosts that `instruction_hosts` (patterns) allows. `record`:
      whether requests are kept in the request log. `windows`: tokens of the window by the name of a model or family;
      it comes before what is known of the model.
    """

    # plugins see these names in the hook `config`: they stay
    compact: bool = True
    reserved: Annotated[int, Meta(ge=0)] | None = None
    tail: Annotated[int, Meta(ge=0)] = MAX_TAIL_TOKENS
    compaction_model: str = ""
    frees: Annotated[float, Meta(ge=0, le=100)] = _COMPACTION.min_freed_percent
    summaries: bool = True
    recent_tokens: Annotated[int, Meta(ge=1)] | None = None
    recent_output_tokens: Annotated[int, Meta(ge=1)] | None = None
    recent_messages: Annotated[int, Meta(ge=2)] | None = None
    prune: bool = _PRUNING.enabled
    prune_from: Annotated[float, Meta(ge=0, le=100)] = _PRUNING.min_used_percent
    protect: Annotated[int, Meta(ge=0)] | None = _PRUNING.protected_tokens
    minimum: Annotated[int, Meta(ge=1)] | None = _PRUNING.min_freed_tokens
    protected_tools: tuple[str, ...] = ()
    cache_minutes: Annotated[float, Meta(gt=0)] | None = None
    effort: Effort = ""
    fallback_models: tuple[str, ...] = ()
    max_output: Annotated[int, Meta(ge=1)] | None = None
    retries: Annotated[int, Meta(ge=0, le=100)] = 6
    delay: Annotated[float, Meta(ge=0)] = 1.0
    most_delay: Annotated[float, Meta(ge=0)] = 60.0
    steps: Annotated[int, Meta(ge=1)] = 250
    repeats: Annotated[int, Meta(ge=2)] = 3
    answer_attempts: Annotated[int, Meta(ge=1)] = 3
    depth: Annotated[int, Meta(ge=0, le=8)] = 1
    prompt_cost: Annotated[float, Meta(ge=0)] | None = None
    prompt_tokens: Annotated[int, Meta(ge=0)] | None = None
    session_cost: Annotated[float, Meta(ge=0)] | None = None
    session_tokens: Annotated[int, Meta(ge=0)] | None = None
    parallel: Annotated[int, Meta(ge=1, le=64)] = 8
    web_fetch: bool = False
    fetch_private: bool = False
    tool_seconds: Annotated[float, Meta(gt=0)] = 900.0
    plugin_tool_seconds: Annotated[float, Meta(gt=0)] = 120.0
    instructions: tuple[str, ...] = ()
    instruction_hosts: tuple[str, ...] = ()
    record: bool = True
    windows: dict[str, Annotated[int, Meta(ge=1)]] = {}

    @classmethod
    def from_user_settings(cls, settings: Settings) -> LoopSettings:
        """Return the bounds that the user has set."""
        return cls(
            compact=settings.overflow.auto,
            reserved=settings.overflow.reserved_tokens,
            tail=settings.compaction.tail_tokens,
            compaction_model=settings.compaction.model or "",
            frees=settings.compaction.min_freed_percent,
            summaries=settings.session.summaries,
            recent_tokens=settings.session.recent_tokens,
            recent_output_tokens=settings.session.recent_output_tokens,
            recent_messages=settings.session.recent_messages,
            prune=settings.pruning.enabled,
            prune_from=settings.pruning.min_used_percent,
            protect=settings.pruning.protected_tokens,
            minimum=settings.pruning.min_freed_tokens,
            protected_tools=settings.pruning.tools,
            cache_minutes=settings.cache.ttl_minutes,
            effort=settings.session.effort or "",
            fallback_models=settings.session.fallback_models,
            max_output=settings.session.max_output_tokens,
            retries=settings.session.retries,
            delay=settings.session.retry_seconds,
            most_delay=settings.session.max_retry_seconds,
            steps=settings.session.max_steps,
            repeats=settings.session.identical_calls,
            answer_attempts=settings.session.answer_attempts,
            depth=settings.session.subagent_depth,
            prompt_cost=settings.session.prompt_cost,
            prompt_tokens=settings.session.prompt_tokens,
            session_cost=settings.session.session_cost,
            session_tokens=settings.session.session_tokens,
            parallel=settings.session.parallel_calls,
            web_fetch=settings.tools.web_fetch,
            fetch_private=settings.tools.fetch_private,
            tool_seconds=settings.session.tool_seconds,
            plugin_tool_seconds=settings.session.plugin_tool_seconds,
            instructions=settings.session.instructions,
            instruction_hosts=settings.session.instruction_hosts,
            record=settings.session.keep_requests,
            windows=settings.windows,
        )

    @property
    def overflow(self) -> OverflowRule:
        """Return these settings as the rule that says when a window is full."""
        return OverflowRule(self.compact, self.reserved, self.max_output)


def tool_limits(settings: ToolSettings) -> ToolLimits:
    """Return the user's settings as bounds of tools."""
    return ToolLimits(
        output_characters=settings.output_chars,
        lines=settings.read_lines,
        line_characters=settings.line_chars,
        edit_bytes=settings.edit_bytes,
        scan_bytes=settings.scan_bytes,
        results=settings.search_results,
        spill_bytes=settings.kept_output_bytes,
        shell_seconds=settings.shell_seconds,
        max_shell_seconds=settings.max_shell_seconds,
        search_seconds=settings.search_seconds,
        fetch_bytes=settings.fetch_bytes,
        fetch_seconds=settings.fetch_seconds,
    )


class LoopOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent loop is set up. Everything has a default, so one names only what is to be different:

        LoopOptions(plugins=[("hud", hud_plugin(data / "hudkit.db"))], permissions=[PermissionRule("bash", "*",
        "allow")])

    - `agent`: the agent that works (empty: the session's, or `build`). `agents`: agents beside those of the files, or
      in their place. `system_prompt`: the prompt of the agent that works, in the place of its own.
    - `settings`: bounds of turns, retries, compaction and pruning. `limits`: bounds of what tools take and give.
    - `plugins`: names with plugins: an object with hooks, or a function that makes one of a `PluginInput`.
      `discovered_plugins`: those of `discover_plugins`. `plugin_options`: their options, by the name of the plugin.
      `hook_seconds`: the most that one call of a plugin's hook may take (`None`: the default of `Hooks`).
    - `tools`: what the model may call beside the loop's own tools: functions as they are, or with
      `hudkit.agent.function_tool`. They are permitted where no rule says otherwise.
    - `mcp_servers`: servers whose tools the model has, by name; what their calls may do unasked is their `trust`.
    - `language_servers`: what says what is wrong with files that tools changed, by name.
    - `permissions`: rules behind the defaults; the last that matches decides. `ask_user` answers what they leave open
      (default: everything is refused).
    - `confine`: commands may write only in the project and in temporary directories, by the system's own means
      (Landlock): `rules` those that the user was not asked about, `all` every one. Opening a loop fails where the
      system cannot do that.
    - `commands`: templates of slash commands by name; `user_commands`, `user_agents`, `user_skills`: the user's
      folders of such files. `home`: the directory below which the user's global instructions are (`None`: they are
      not read).
    - `connect`: opens models by name (default: `hudkit.models.open_model`).
    - `telemetry` is told what happens. It stays the caller's to close.
    - `clock` gives the time in Unix milliseconds, `ids` new unique ids (defaults: the system's).
    """

    agent: str = ""
    agents: Sequence[AgentDefinition] = ()
    system_prompt: str = ""
    settings: LoopSettings = LoopSettings()
    limits: ToolLimits = ToolLimits()
    plugins: Sequence[tuple[str, object]] = ()
    discovered_plugins: Sequence[DiscoveredPlugin] = ()
    plugin_options: Mapping[str, Mapping[str, Any]] = {}
    hook_seconds: float | None = None
    tools: Sequence[Tool | Callable[..., Any]] = ()
    mcp_servers: Mapping[str, McpServer] = {}
    language_servers: Mapping[str, LanguageServer] = {}
    permissions: Sequence[PermissionRule] = ()
    ask_user: AskUser = reject_all
    confine: Literal["off", "rules", "all"] = "off"
    commands: Mapping[str, str] = {}
    user_commands: Sequence[Path] = ()
    user_agents: Sequence[Path] = ()
    user_skills: Sequence[Path] = ()
    home: Path | None = None
    connect: Callable[[str], Model | Awaitable[Model]] | None = None
    telemetry: Telemetry | None = None
    clock: Callable[[], int] | None = None
    ids: Callable[[], str] | None = None


class LoopEnvironment(msgspec.Struct, frozen=True):
    """What comes from outside of a loop: the time in Unix milliseconds, new ids, and the user's own folders.

    `home` is where global instructions are (`None`: nowhere), `spill` where outputs go that are too long.
    """

    clock: Callable[[], int]
    ids: Callable[[], str]
    home: Path | None = None
    skills: tuple[Path, ...] = ()
    agents: tuple[Path, ...] = ()
    spill: Path | None = None


class LoopSetup(msgspec.Struct):
    """What all sessions of one loop share: the parent's and those of its sub-agents.

    `tools` are the loop's own and those of its options. `auth_headers` are headers by the name of a model, as the
    hook `auth` gave them: they are in no log, and no plugin is told them. `tool_owners` says which plugin gave what.
    """

    store: SessionStore
    workspace: Workspace
    hooks: Hooks
    events: EventBus
    open_model: ModelOpener
    agents: Mapping[str, AgentDefinition]
    environment: LoopEnvironment
    tools: Mapping[str, Tool]
    settings: LoopSettings = LoopSettings()
    permissions: tuple[PermissionRule, ...] = ()
    ask_user: AskUser = reject_all
    limits: ToolLimits = ToolLimits()
    commands: Mapping[str, SlashCommand] = {}
    request_log: RequestLog | None = None
    auth_headers: dict[str, dict[str, str]] = {}
    tool_owners: dict[str, str] = {}
    confine: Literal["off", "rules", "all"] = "off"
    language_servers: LanguageServers | None = None
    remote: RemoteInstructions = msgspec.field(default_factory=RemoteInstructions)


class PluginTool(msgspec.Struct, frozen=True):
    """A tool of a plugin, as the plugin gave it."""

    plugin: str
    definition: ToolDefinition


class SteeringText(NamedTuple):
    """Words of the user for the turn that is under way; `taken` becomes the stored message, or `None`: too late."""

    text: str
    files: Sequence[Attachment]
    taken: asyncio.Future[StoredMessage | None]

    def decline(self) -> None:
        """Say that the turn was over before this could go out; return nothing."""
        if not self.taken.done():
            self.taken.set_result(None)


class SubTask(msgspec.Struct, frozen=True):
    """A sub-session that is to be run: for whom, what for, and by which agent.

    `message_id` is the parent's response, and `call_id` its call of the tool `task`. A session `session_id` that is
    there already is gone on with, by its own agent.
    """

    parent: RunContext
    session_id: str
    prompt: str
    agent: str
    title: str
    call_id: str
    message_id: str


class SubAgentRunner(Protocol):
    """Who runs sub-sessions. What is returned is the text of the call; what goes wrong is a `ToolError`."""

    def check(self, parent: RunContext, session_id: str) -> None:
        """Return nothing where a sub-session of this parent can be gone on with. Raises `ToolError`."""

    async def work(self, task: SubTask) -> str:
        """Work in a sub-session to its end, and return the report of it."""

    async def start(self, task: SubTask) -> str:
        """Begin a sub-session that works beside its parent, and return the report that it does."""


class BackgroundTasks:
    """The sub-sessions that work beside one session, by their ids, and the reports of those that have ended."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._working: dict[str, asyncio.Task[str]] = {}
        self._reports: dict[str, str] = {}
        self._news = asyncio.Event()
        self._room: asyncio.Semaphore | None = None

    @property
    def any_working(self) -> bool:
        """Return whether one is at work."""
        return bool(self._working)

    @property
    def any_ended(self) -> bool:
        """Return whether there is a report that was not taken."""
        return bool(self._reports)

    def is_working(self, session_id: str) -> bool:
        """Return whether this one is at work."""
        return session_id in self._working

    def room(self, limit: int) -> asyncio.Semaphore:
        """Return what lets so many work at a time."""
        self._room = self._room or asyncio.Semaphore(limit)
        return self._room

    def start(self, session_id: str, work: Coroutine[Any, Any, str]) -> None:
        """Let a session work; return nothing. What `work` returns is its report."""

        def note_end(task: asyncio.Task[str]) -> None:
            self._working.pop(session_id, None)
            if not task.cancelled() and task.exception() is None:
                self._reports[session_id] = task.result()
            self._news.set()

        task = asyncio.ensure_future(work)
        self._working[session_id] = task
        task.add_done_callback(note_end)

    def take_report(self, session_id: str) -> str:
        """Return the report of one that has ended, once; empty where it left none."""
        return self._reports.pop(session_id, "")

    def wake(self) -> None:
        """Let `news` return; return nothing."""
        self._news.set()

    async def news(self) -> None:
        """Wait until one has ended, or `wake` is called; return nothing."""
        self._news.clear()
        await self._news.wait()

    async def cancel(self) -> None:
        """End those at work, and return nothing when they have ended."""
        tasks = list(self._working.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


class RunContext:
    """One open session while it works: its messages, its agent and model, and what its epoch holds fixed.

    `sub_agents` runs sub-sessions for the tool `task` (`None`: this session may start none). `depth` is how many
    sessions are above this one.
    """

    def __init__(
        self,
        setup: LoopSetup,
        history: MessageHistory,
        agent: AgentDefinition,
        model: Model,
        *,
        depth: int = 0,
    ) -> None:
        self.setup = setup
        self.history = history
        self.agent = agent
        self.model = model
        self.sub_agents: SubAgentRunner | None = None
        self.background = BackgroundTasks()
        self.depth = depth
        # made per session: what one has seen of files another has not
        self.tool_context = ToolContext(
            setup.workspace,
            history.session_id,
            limits=setup.limits,
            spill_folder=setup.environment.spill,
            store=setup.store,
            seen_stamps={},
        )
        self.set_rules((*setup.permissions, *agent.rules))
        self.compaction_requested = False
        self.answer_type: AnswerType | None = None
        """What the answer to the prompt has to be; `None`: words."""
        self.spending: SpendingLimit | None = None
        """What the prompt that is being answered may cost."""
        self.fallbacks: deque[str] = deque()
        """The models that are left to be asked in this turn, where the present one does not answer."""
        self.steering: deque[SteeringText] = deque()
        """What the user said meanwhile: it goes out with the next model call."""
        self.tools: dict[str, Tool | PluginTool] = {}
        self.tool_specs: tuple[ToolSpec, ...] = ()
        self._measured_specs: tuple[ToolSpec, ...] | None = None
        self._tools_characters = 0
        self.prompt = SystemPrompt("")
        self.chat_messages: dict[str, tuple[StoredMessage, bool, list[ChatMessage]]] = {}
        """The messages of the last request as hooks saw them, what each was made of, whether outputs come back."""
        self.last_repeat: tuple[str, int] = ("", 0)
        """The last call with its result, and how often it came in a row."""
        self.last_call_at = 0
        """When the last request went out (Unix ms); 0: none did."""
        self.budget: WindowBudget | None = None
        """What each part of a request may have; `None`: the window is compacted, not trimmed."""
        self.estimate_scale = 1.0
        """Tokens that one estimated token has, as far as reports told."""
        self.left_out: list[tuple[str, str]] = []
        """Tools (names) for which this epoch has no room in the window, and why."""

    @property
    def id(self) -> str:
        """Return the session's id."""
        return self.history.session_id

    @property
    def settings(self) -> LoopSettings:
        """Return the settings of the loop."""
        return self.setup.settings

    @property
    def gives_outputs_back(self) -> bool:
        """Return whether the model can read again what left the window: it has the HUD's own tool `memory`."""
        return any((spec.name, spec.description) == _MEMORY for spec in self.tool_specs)

    @property
    def front_tokens(self) -> tuple[int, int]:
        """Return the tokens of the system prompt, and of the definitions of the tools, about."""
        prompt = sum(map(len, self.prompt.blocks))
        return round(prompt * TOKENS_PER_CHARACTER), round(self.tools_characters * TOKENS_PER_CHARACTER)

    @property
    def tools_characters(self) -> int:
        """Return the characters of the definitions of the tools."""
        if self._measured_specs is not self.tool_specs:  # as a rule they are those of the call before
            self._measured_specs = self.tool_specs
            self._tools_characters = sum(len(msgspec.json.encode(spec)) for spec in self.tool_specs)
        return self._tools_characters

    def now(self) -> int:
        """Return the time in Unix milliseconds."""
        return self.setup.environment.clock()

    def new_id(self, kind: str) -> str:
        """Return a new id, such as `msg_…` for the kind `msg`."""
        return f"{kind}_{self.setup.environment.ids()}"

    def emit(self, event: AgentEvent) -> None:
        """Tell an event to everybody who listens; return nothing."""
        self.setup.events.publish(event)

    def plugin_verdict(
        self, tool: str, call_id: str = ""
    ) -> Callable[[RequiredPermission], Awaitable[Literal["ask", "allow", "deny"]]]:
        """Return what asks the plugins about a need of a tool before the user is asked."""

        async def decide(need: RequiredPermission) -> Literal["ask", "allow", "deny"]:
            ask = PermissionAsk(self.id, tool, need.values, call_id, need.title)
            return (await self.setup.hooks.run("permission_ask", ask, PermissionStatus())).status

        return decide

    async def set_shell(self, context: ToolContext, *, answered: bool) -> None:
        """Set in a call's context in which environment its command runs, and how confined; return nothing."""
        # what a person looked at runs as it is
        context.confined = self.setup.confine == "all" or (self.setup.confine == "rules" and not answered)
        # asked per call: a plugin may hand out a fresh token each time
        env = ShellEnv(str(self.setup.workspace.cwd), self.id, context.call_id)
        hooked = await self.setup.hooks.run("shell_env", env, ShellVariables(dict(context.environment)))
        context.environment = hooked.env

    def set_rules(self, rules: Sequence[PermissionRule]) -> None:
        """Replace the rules, and return nothing. What the user answered with `always` is asked again."""
        self.set_permissions(Permissions(rules, ask_user=self.setup.ask_user, workspace=self.setup.workspace))

    def set_permissions(self, permissions: Permissions) -> None:
        """Replace the permissions together with what the user answered; return nothing."""
        self.permissions = permissions
        self.tool_context.is_hidden = permissions.hides

    async def model_of(self, wanted: str, level: str = "builtin") -> Model:
        """Return the model of this name, in the notation of any host; the present one where the name means that.

        What a file of the project names and cannot be opened here, or one of the user's (`level`) in another host's
        notation, is replaced by the present model, which is told (`ModelSubstituted`). Others raise `ConfigError`.
        """
        name = resolve_model_name(wanted, self.model.name)
        if name == self.model.name:
            return self.model
        try:
            return await self.setup.open_model(name)
        except ConfigError as error:
            is_ours = level != "project" and name == wanted.strip()
            if is_ours or level not in ("user", "project"):
                raise
            self.emit(ModelSubstituted(self.id, wanted, self.model.name, error.message))
            return self.model

    def switch_agent(self, agent: AgentDefinition) -> None:
        """Go on as another agent, with its rules; return nothing."""
        self.agent = agent
        self.set_rules((*self.setup.permissions, *agent.rules))

    async def refresh(self) -> None:
        """Begin an epoch: assemble the system prompt and the tools anew. Returns nothing."""
        setup, environment, settings = self.setup, self.setup.environment, self.settings
        # a day, not a moment: the prompt must not change while the epoch lasts
        day = datetime.fromtimestamp(self.now() / 1000, UTC).date().isoformat()
        facts = system_prompt.read_prompt_facts(
            setup.workspace, platform=sys.platform, date=day, model=self.model.name
        )
        skills, _ = context_files.discover_skills(setup.workspace, environment.skills)
        self.tool_context.skills = skills
        patterns = settings.instructions
        await setup.remote.fetch(patterns, settings.instruction_hosts)
        # a file that is named absolutely is the user's choice, wherever it is
        anywhere = [Path(pattern).expanduser() for pattern in patterns if pattern.startswith(("/", "~"))]
        instructions = system_prompt.collect_instructions(
            setup.workspace,
            home=environment.home,
            extra=[pattern for pattern in patterns if not pattern.startswith(("/", "~"))],
            user_extra=anywhere,
            remote=setup.remote.files,
            room=None if settings.summaries else int(self._front_ceiling() / TOKENS_PER_CHARACTER),
        )
        self.prompt = system_prompt.assemble_prompt(
            facts,
            model=self.model.name,
            agent=self.agent,
            skills=skills if self.agent.may_use("skill") else (),
            instructions=instructions,
        )
        await self._collect_tools()
        self.budget = None if settings.summaries or not self.gives_outputs_back else self._window_budget()
        limits = setup.limits
        if self.budget is not None:
            characters = min(limits.output_characters, self.budget.one_output_characters)
            limits = msgspec.structs.replace(limits, output_characters=characters)
        self.tool_context.limits = limits

    def _front_ceiling(self) -> int:
        rule = msgspec.structs.replace(self.settings.overflow, automatic=True)
        return front_ceiling(usable_of(self.model.window, rule) or 0)

    def _window_budget(self) -> WindowBudget:
        """Return what each part of this epoch's requests may have; tools for which there is no room are left out."""
        settings, window = self.settings, self.model.window
        usable = usable_of(window, msgspec.structs.replace(settings.overflow, automatic=True)) or 0
        self.left_out = []
        foreign = [spec for spec in self.tool_specs if not self._is_own_tool(spec.name)]
        while foreign and self.front_tokens[1] > front_ceiling(usable):
            spec = foreign.pop()
            self.tool_specs = tuple(each for each in self.tool_specs if each is not spec)
            self.tools.pop(spec.name, None)
            room = f"all tools may have {front_ceiling(usable):,} tokens of this window"
            self.left_out.append((spec.name, f"the tool is left out: {room}"))
        system, tools = self.front_tokens
        return window_budget(
            usable,
            system=system,
            tools=tools,
            hud=Settings().budget_for(window.limit_tokens),
            messages=settings.recent_tokens,
            outputs=settings.recent_output_tokens,
            most=settings.recent_messages,
        )

    def _is_own_tool(self, name: str) -> bool:
        return name in TOOLS or name in RESERVED_TOOL_NAMES or name.startswith(("hud", "memory"))

    async def _collect_tools(self) -> None:
        hooks = self.setup.hooks
        tools: dict[str, Tool | PluginTool] = {
            name: tool
            for name, tool in self.setup.tools.items()
            if self.agent.may_use(name) and (name != "skill" or self.tool_context.skills)
        }
        # asked again in each epoch: a plugin may have come to know more
        hooked = await hooks.run("tool", ToolsRequest(self.id, self.agent.name), Tools())
        for name, definition in hooked.tools.items():
            owner = self.setup.tool_owners.get(name, "")
            reserved = name in self.setup.tools or name in RESERVED_TOOL_NAMES
            # a plugin cannot put itself in the place of one of our tools
            if owner and not reserved and self.agent.may_use(name):
                tools[name] = PluginTool(owner, definition)
        specs = [_tool_spec(name, tool) for name, tool in tools.items()]
        if self.sub_agents is not None and self.agent.may_use("task"):
            specs.append(_task_spec(self.setup.agents))
        # tools are told as the hooks leave them, once an epoch: a description that changes would break the cache
        final_specs = []
        for spec in specs:
            description = ToolDescription(spec.description, msgspec.to_builtins(spec.parameters))
            description = await hooks.run("tool_definition", ToolReference(spec.name), description)
            final_specs.append(ToolSpec(spec.name, description.description, description.parameters))
        self.tools, self.tool_specs = tools, tuple(final_specs)


RESERVED_TOOL_NAMES = frozenset({"task"})
"""Names that no other tool can have, beside those of the session's own tools."""


class TaskArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool `task`."""

    description: Annotated[str, Meta(min_length=1, max_length=200, description="The task in a few words.")]
    prompt: Annotated[
        str, Meta(min_length=1, description="All that the sub-agent has to know: it sees nothing else.")
    ]
    agent: Annotated[str, Meta(max_length=64, description="Which agent does it.")] = "general"
    task_id: Annotated[
        str, Meta(max_length=200, description="Goes on with an earlier sub-agent: it knows what it did.")
    ] = ""
    background: Annotated[
        bool, Meta(description="Do not wait: its end comes with a later message, while you go on.")
    ] = False


def _task_spec(agents: Mapping[str, AgentDefinition]) -> ToolSpec:
    """Describe the tool `task` to the model, with the agents that can be named."""
    from hudkit.tools.arguments import struct_schema

    able = [agent for agent in agents.values() if agent.mode in ("subagent", "all") and agent.name != "compaction"]
    names = "\n".join(f"- {agent.name}: {agent.description}" for agent in able)
    text = "Give a part of the work to a sub-agent with a session of its own; its last words are the result. Agents:"
    return ToolSpec("task", f"{text}\n{names}", struct_schema(TaskArguments))


def _tool_spec(name: str, tool: Tool | PluginTool) -> ToolSpec:
    if isinstance(tool, PluginTool):
        return ToolSpec(name, tool.definition.description, tool.definition.parameters)
    return ToolSpec(name, tool.description, tool.parameters)


def joined_text(parts: Sequence[object]) -> str:
    """Return the words of the text parts of a message, joined; ignored parts are left out."""
    from hudkit.agent.records import StoredText

    return "".join(part.text for part in parts if isinstance(part, StoredText) and not part.ignored)
