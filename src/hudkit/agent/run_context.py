"""A session while it is open: what it works with, its messages, and what of a request an epoch holds fixed."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from hudkit.agent import context_files, system_prompt
from hudkit.agent.agent_definitions import AgentDefinition
from hudkit.agent.events import AgentEvent, EventBus
from hudkit.agent.hooks import Hooks, ToolDefinition, ToolNamed, Tools, ToolsWanted, ToolTold
from hudkit.agent.message_history import MessageHistory
from hudkit.agent.permissions import AskUser, PermissionRule, Permissions, reject_all
from hudkit.agent.request_log import RequestLog
from hudkit.agent.session_store import SessionStore
from hudkit.agent.slash_commands import SlashCommand
from hudkit.agent.system_prompt import SystemPrompt
from hudkit.agent.tools import TOOLS, Tool, ToolContext, ToolLimits
from hudkit.agent.workspace import Workspace
from hudkit.errors import ConfigError
from hudkit.models import Model, ToolSpec
from hudkit.tokens.windows import OverflowRule

ModelOpener: TypeAlias = Callable[[str], Awaitable[Model]]
"""Opens a model by `provider:name`. Raises `ConfigError`."""


class LoopSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What bounds a loop. Sizes are in tokens, times in seconds; plugins may change them through the hook `config`.

    `compact` is the off switch of automatic compaction, `reserved` what is kept free for an answer (`None`: the rule
    of 002), `tail` what a compaction keeps verbatim at most (never more than an eighth of the usable window),
    `compaction_model` writes the summaries (empty: the agent's or the session's). `repeats` identical calls with the
    same result are answered with a remark, two more are refused, and then the turn ends. `depth` is how deep
    sub-agents go: with 0 there are none, with 1 they start none themselves.
    """

    compact: bool = True
    reserved: Annotated[int, Meta(ge=0)] | None = None
    tail: Annotated[int, Meta(ge=0)] = 8_000
    compaction_model: str = ""
    frees: Annotated[float, Meta(ge=0, le=100)] = 5.0
    prune: bool = True
    protect: Annotated[int, Meta(ge=0)] = 8_000
    minimum: Annotated[int, Meta(ge=1)] = 6_000
    max_output: Annotated[int, Meta(ge=1)] | None = None
    retries: Annotated[int, Meta(ge=0, le=100)] = 6
    delay: Annotated[float, Meta(ge=0)] = 1.0
    most_delay: Annotated[float, Meta(ge=0)] = 60.0
    steps: Annotated[int, Meta(ge=1)] = 250
    repeats: Annotated[int, Meta(ge=2)] = 3
    depth: Annotated[int, Meta(ge=0, le=8)] = 1
    tool_seconds: Annotated[float, Meta(gt=0)] = 900.0
    plugin_tool_seconds: Annotated[float, Meta(gt=0)] = 120.0
    instructions: tuple[str, ...] = ()
    record: bool = True

    @property
    def overflow(self) -> OverflowRule:
        return OverflowRule(self.compact, self.reserved, self.max_output)


class LoopEnvironment(msgspec.Struct, frozen=True):
    """What comes from outside: the time in Unix milliseconds, new ids, and the user's own places.

    `home` is where global instructions are (`None`: nowhere), `skills` and `agents` are the user's folders.
    """

    clock: Callable[[], int]
    ids: Callable[[], str]
    home: Path | None = None
    skills: tuple[Path, ...] = ()
    agents: tuple[Path, ...] = ()
    spill: Path | None = None


class LoopSetup(msgspec.Struct):
    """What all sessions of one loop share: the parent's and those of its sub-tasks."""

    store: SessionStore
    area: Workspace
    hooks: Hooks
    telling: EventBus
    open_model: ModelOpener
    agents: Mapping[str, AgentDefinition]
    outside: LoopEnvironment
    rules: LoopSettings = LoopSettings()
    permissions: tuple[PermissionRule, ...] = ()
    ask: AskUser = reject_all
    limits: ToolLimits = ToolLimits()
    commands: Mapping[str, SlashCommand] = {}
    sent: RequestLog | None = None
    auth: dict[str, dict[str, str]] = {}
    """Headers by the name of a model, as the hook `auth` gave them: in no log, told to no plugin."""
    owners: dict[str, str] = {}
    """Plugins' tools, and whose they are."""


class PluginTool(msgspec.Struct, frozen=True):
    """A tool of a plugin, as it gave it."""

    plugin: str
    definition: ToolDefinition


class SubTask(msgspec.Struct, frozen=True):
    """A sub-session to be run: who asked for it, what for, and by which agent."""

    parent: RunContext
    prompt: str
    agent: str
    title: str
    call_id: str
    message_id: str
    """The parent's response that has the call."""


class RunContext:
    """One open session. `child` runs a sub-session for the tool `task` and gives its last words."""

    def __init__(
        self,
        setup: LoopSetup,
        kept: MessageHistory,
        agent: AgentDefinition,
        model: Model,
        *,
        child: Callable[[SubTask], Awaitable[tuple[str, str]]] | None = None,
        depth: int = 0,
    ) -> None:
        self.setup = setup
        self.kept = kept
        self.agent = agent
        self.model = model
        self.child = child
        self.depth = depth
        """How many sessions are above this one."""
        self.context = ToolContext(
            setup.area,
            kept.session_id,
            limits=setup.limits,
            spill=setup.outside.spill,
            store=setup.store,
            seen={},
        )
        self.permit((*setup.permissions, *agent.rules))
        self.compact_wanted = False
        self.tools: dict[str, Tool | PluginTool] = {}
        self.specs: tuple[ToolSpec, ...] = ()
        self.prompt = SystemPrompt("")
        self.repeated: tuple[str, int] = ("", 0)
        """The last call with its result, and how often it came in a row."""
        self.poor = 0
        """Automatic compactions in a row that freed too little."""
        self.last_call = 0

    @property
    def id(self) -> str:
        return self.kept.session_id

    @property
    def rules(self) -> LoopSettings:
        return self.setup.rules

    def now(self) -> int:
        return self.setup.outside.clock()

    def new_id(self, kind: str) -> str:
        return f"{kind}_{self.setup.outside.ids()}"

    def tell(self, told: AgentEvent) -> None:
        self.setup.telling.tell(told)

    def permit(self, rules: Sequence[PermissionRule]) -> None:
        """Take rules in the place of those before; what the user answered with `always` is asked again."""
        self.keep(Permissions(rules, ask=self.setup.ask, area=self.setup.area))

    def keep(self, permissions: Permissions) -> None:
        """Take permissions in the place of those before, with what the user answered."""
        self.permissions = permissions
        self.context.hidden = permissions.hides

    def act_as(self, agent: AgentDefinition) -> None:
        """Go on as another agent, with its rules."""
        self.agent = agent
        self.permit((*self.setup.permissions, *agent.rules))

    async def refresh(self) -> None:
        """Make anew what an epoch holds fixed: system prompt and tools. It begins with the session, with another
        agent or model, and after a compaction."""
        setup, outside = self.setup, self.setup.outside
        day = datetime.fromtimestamp(self.now() / 1000, UTC).date().isoformat()
        environment = system_prompt.read_prompt_facts(
            setup.area, platform=sys.platform, date=day, model=self.model.name
        )
        found = context_files.discover_skills(setup.area, outside.skills)
        self.context.skills = found
        texts = system_prompt.collect_instructions(setup.area, home=outside.home, extra=self.rules.instructions)
        told = found if self.agent.may_use("skill") else ()
        self.prompt = system_prompt.assemble_prompt(
            environment, model=self.model.name, agent=self.agent, skills=told, instructions=texts
        )
        await self._find_tools()

    async def _find_tools(self) -> None:
        hooks = self.setup.hooks
        tools: dict[str, Tool | PluginTool] = {
            name: tool
            for name, tool in TOOLS.items()
            if self.agent.may_use(name) and (name != "skill" or self.context.skills)
        }
        given = await hooks.run("tool", ToolsWanted(self.id, self.agent.name), Tools())
        for name, definition in given.tools.items():
            owner = self.setup.owners.get(name, "")
            if name not in TOOLS and name not in _RESERVED_NAMES and owner and self.agent.may_use(name):
                tools[name] = PluginTool(owner, definition)
        specs = [_spec(name, tool) for name, tool in tools.items()]
        if self.child is not None and self.agent.may_use("task"):
            specs.append(_task_spec(self.setup.agents))
        told = []
        for spec in specs:
            said = ToolTold(spec.description, msgspec.to_builtins(spec.parameters))
            said = await hooks.run("tool_definition", ToolNamed(spec.name), said)
            told.append(ToolSpec(spec.name, said.description, said.parameters))
        self.tools, self.specs = tools, tuple(told)


_RESERVED_NAMES = frozenset({"task"})
"""Names that no plugin's tool can have, beside those of the session's own tools."""


class TaskArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool `task`."""

    description: Annotated[str, Meta(min_length=1, max_length=200, description="The task in a few words.")]
    prompt: Annotated[
        str, Meta(min_length=1, description="All that the sub-agent has to know: it sees nothing else.")
    ]
    agent: Annotated[str, Meta(max_length=64, description="Which agent does it.")] = "general"


def _task_spec(agents: Mapping[str, AgentDefinition]) -> ToolSpec:
    """How the tool `task` is told to the model."""
    from hudkit.tools.schema import parameters

    able = [one for one in agents.values() if one.mode in ("subagent", "all") and one.name != "compaction"]
    names = "\n".join(f"- {one.name}: {one.description}" for one in able)
    text = "Give a part of the work to a sub-agent with a session of its own; its last words are the result. Agents:"
    return ToolSpec("task", f"{text}\n{names}", parameters(TaskArguments))


def validated_settings(changed: Mapping[str, Any]) -> LoopSettings:
    """Rules as plugins left them. Raises `ConfigError` that names what is wrong."""
    try:
        return msgspec.convert(dict(changed), LoopSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"the settings that plugins left are wrong: {error}", hint="They are left as before"
        ) from None


def _spec(name: str, tool: Tool | PluginTool) -> ToolSpec:
    if isinstance(tool, PluginTool):
        return ToolSpec(name, tool.definition.description, tool.definition.parameters)
    return ToolSpec(name, tool.description, tool.parameters)


def joined_text(parts: Sequence[object]) -> str:
    """The words of parts of a message, joined."""
    from hudkit.agent.records import StoredText

    return "".join(part.text for part in parts if isinstance(part, StoredText) and not part.ignored)
