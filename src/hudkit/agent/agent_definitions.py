"""Agent definitions: markdown files with model, tools and permissions in front, and the prompt as their body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from hudkit.agent import context_files
from hudkit.agent.context_files import UnreadableDefinition
from hudkit.agent.permissions import PermissionRule, parse_rules, restrictive_rules
from hudkit.agent.workspace import Workspace
from hudkit.compose import shorten, visible
from hudkit.compose.formats.front_matter import split_front_matter
from hudkit.errors import ConfigError
from hudkit.models.port import Effort

_PROJECT_FOLDERS = (".hudkit/agents", ".opencode/agent", ".opencode/agents", ".claude/agents")
"""Where a project keeps agents, below its root."""


class AgentDefinition(msgspec.Struct, frozen=True):
    """An agent: its prompt, its model (`""`: the session's), its tools (`None`: all), and its rules.

    `effort` is how long the model is to think (empty: as the settings say). `without` are tools that it may not use
    whatever `tools` says. `mode` says where it may be used: as the session's agent, as a sub-agent, or both. A
    project's definition cannot allow what the user's rules do not.
    """

    name: str
    description: str = ""
    prompt: str = ""
    model: str = ""
    mode: Literal["primary", "subagent", "all"] = "all"
    temperature: float | None = None
    effort: Effort = ""
    steps: int | None = None
    tools: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    rules: tuple[PermissionRule, ...] = ()
    level: Literal["builtin", "user", "project"] = "builtin"

    def may_use(self, tool: str) -> bool:
        """Return whether the agent may use a tool of this name."""
        return tool not in self.without and (self.tools is None or tool in self.tools)


PLAN_MODE = (
    "You are in plan mode: look, ask and plan. Changes to files are refused until the user ends plan mode; end with "
    "the plan."
)
"""What the model is told with the first prompt of a session's plan mode, and again after a compaction."""

PLAN_MODE_ENDED = "Plan mode is over: files may be changed again. Carry out what was planned."
"""What it is told with the first prompt after that."""

BUILTIN_AGENTS: Mapping[str, AgentDefinition] = {
    agent.name: agent
    for agent in (
        AgentDefinition("build", "Does the work: all tools.", mode="primary"),
        AgentDefinition(
            "plan",
            "Looks and plans; changes nothing.",
            mode="primary",
            rules=(PermissionRule("edit", "**", "deny"), PermissionRule("bash", "*", "ask")),
        ),
        AgentDefinition("general", "Looks into a question or does one part of a task, and reports.", mode="subagent"),
        AgentDefinition(
            "compaction", "Writes the summary when a session is compacted.", mode="subagent", tools=frozenset()
        ),
    )
}


def discover_agents(
    workspace: Workspace, user: Sequence[Path] = ()
) -> tuple[dict[str, AgentDefinition], tuple[UnreadableDefinition, ...]]:
    """Return the agents by name, and the definitions that cannot be used. Never raises.

    Built-in agents are overlaid by the user's. A project adds agents, and replaces neither the user's nor a built-in
    one.
    """
    agents, wrong = dict(BUILTIN_AGENTS), []
    for folder in user:
        for agent in _agents_in(folder, context_files.read_user_file, "user"):
            if isinstance(agent, UnreadableDefinition):
                wrong.append(agent)
            else:
                # the user's own definition replaces a built-in one: it is the user's machine
                agents[agent.name] = agent
    for name in _PROJECT_FOLDERS:
        target = workspace.resolve(str(workspace.root / name), writing=False)
        if not target.inside:
            continue
        for agent in _agents_in(
            target.real, lambda path: context_files.read_project_file(workspace, path), "project"
        ):
            if isinstance(agent, UnreadableDefinition):
                wrong.append(agent)
            # a repository is somebody else's: it may add an agent, and may not change what `build` means
            elif agent.name in agents and agents[agent.name].level != "project":
                wrong.append(
                    UnreadableDefinition(target.real / f"{agent.name}.md", "there is an agent of this name already")
                )
            else:
                agents.setdefault(agent.name, agent)
    return agents, tuple(wrong)


def parse_agent(name: str, text: str, level: Literal["user", "project"] = "user") -> AgentDefinition:
    """Return the agent of a definition's text. Raises `ConfigError` that names the key."""
    settings, body = split_front_matter(text)
    tools, without = _parse_tools(settings.get("tools"), settings.get("disallowedTools"))
    rules = parse_rules(settings.get("permission") or {}, f"the permissions of agent {name}")
    # `maxSteps` is OpenCode's word for it
    temperature, steps = settings.get("temperature"), settings.get("steps", settings.get("maxSteps"))
    effort: Any = settings.get("effort", settings.get("reasoningEffort")) or ""
    mode: Any = settings.get("mode", "all")
    for key, value, valid in (
        ("temperature", temperature, temperature is None or _is_number(temperature, 0, 2)),
        ("steps", steps, steps is None or (isinstance(steps, int) and _is_number(steps, 1, 10_000))),
        ("effort", effort, effort in get_args(Effort)),
        ("mode", mode, mode in ("primary", "subagent", "all")),
        ("model", settings.get("model"), isinstance(settings.get("model") or "", str)),
        ("description", settings.get("description"), isinstance(settings.get("description") or "", str)),
    ):
        if not valid:
            raise ConfigError(f"agent {name}: {key} cannot be {shorten(visible(str(value)), 40)!r}")
    return AgentDefinition(
        name,
        shorten(visible(" ".join((settings.get("description") or "").split())), 300),
        body.strip(),
        visible(settings.get("model") or ""),
        mode,
        None if temperature is None else float(temperature),
        effort,
        steps,
        tools,
        without,
        # a project's file cannot allow anything by itself
        restrictive_rules(rules) if level == "project" else rules,
        level,
    )


def _agents_in(
    folder: Path, read: Callable[[Path], context_files.ContextFile | None], level: Any
) -> Iterator[AgentDefinition | UnreadableDefinition]:
    for stem, file in context_files.read_definitions(folder, read):
        if isinstance(file, UnreadableDefinition):
            yield file
            continue
        try:
            yield parse_agent(stem, file.text, level)
        except ConfigError as error:
            yield UnreadableDefinition(file.path, str(error))


def _parse_tools(value: object, denied: object) -> tuple[frozenset[str] | None, frozenset[str]]:
    """Return the allowed tools (`None`: all) and the others, from a list, from `a, b`, or from a table."""
    without = frozenset(_tool_names(denied))
    if value is None:
        return None, without
    if isinstance(value, dict):
        # a table of booleans only takes away: what it does not name stays allowed
        return None, without | {str(name) for name, on in value.items() if on is False}
    return frozenset(_tool_names(value)), without


def _tool_names(value: object) -> Iterator[str]:
    if isinstance(value, str):
        value = value.split(",")
    if isinstance(value, list):
        for name_value in value:
            # Claude Code writes `Read, Grep`; our tools are in lower case
            name = str(name_value).strip().lower()
            if name:
                yield name
    elif value is not None:
        raise ConfigError(f"tools cannot be {shorten(visible(str(value)), 40)!r}", hint="Write [read, grep]")


def _is_number(value: object, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
