"""Agent definitions: markdown files with model, tools and permissions in front, and the prompt as their body."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from hudkit.agent import context_files
from hudkit.agent.context_files import UnreadableDefinition
from hudkit.agent.permissions import PermissionRule, parse_rules, restrictive_rules
from hudkit.agent.wildcard import matches_wildcard
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
        return not _names(tool, self.without) and (self.tools is None or _names(tool, self.tools))


def _names(tool: str, patterns: frozenset[str]) -> bool:
    return tool in patterns or any("*" in pattern and matches_wildcard(pattern, tool) for pattern in patterns)


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
    if settings.get("disable") is True:
        raise ConfigError("it says `disable: true`")
    name = _own_name(settings.get("name"), name)
    tools, without = _parse_tools(settings.get("tools"), settings.get("disallowedTools"))
    rules = parse_rules(_our_kinds(settings.get("permission") or {}), f"the permissions of agent {name}")
    if settings.get("permissionMode") == "plan":  # Claude Code's word for an agent that changes nothing
        rules = (*rules, *BUILTIN_AGENTS["plan"].rules)
    temperature = settings.get("temperature")
    # the second is OpenCode's word, the third Claude Code's
    steps = settings.get("steps", settings.get("maxSteps", settings.get("maxTurns")))
    effort: Any = settings.get("effort", settings.get("reasoningEffort")) or ""
    effort = "high" if effort in _BEYOND_HIGH else effort
    mode: Any = settings.get("mode", "all")
    mode = "all" if mode == "agent" else mode  # Copilot's word for one that has tools
    settings["model"] = _first_text(settings.get("model"))
    settings["description"] = _first_text(settings.get("description"))
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
        _one_line(settings.get("description") or ""),
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


_BEYOND_HIGH = ("xhigh", "max")
"""Claude Code's efforts that no other provider knows."""

_AGENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def _own_name(named: object, stem: str) -> str:
    """Return the name that a definition gives itself; its file's where it gives none that can be called."""
    if isinstance(named, str) and _AGENT_NAME.fullmatch(named.strip()):
        return named.strip()
    return stem.rpartition(":")[2]  # agents of all departments are one list


def _one_line(description: str) -> str:
    """Return a description in one line, without the dialogues that generated ones end with."""
    words = description.replace("\\n", " ").partition("<example>")[0].strip() or description
    return shorten(visible(" ".join(words.split())), 300)


def _first_text(value: object) -> Any:
    """Return the first of several models that a definition allows, as Copilot's do; what it is otherwise."""
    return value[0] if isinstance(value, list) and value else value


_KINDS = {"external_directory": "outside", "write": "edit", "patch": "edit", "list": "glob", "todowrite": "todo"}
"""OpenCode's names of what permissions are about, and ours."""


def _our_kinds(table: object) -> object:
    """Return a table of permissions with our names of tools; what is no table as it is."""
    if not isinstance(table, dict):
        return table
    return {_KINDS.get(str(kind), kind): rules for kind, rules in table.items()}


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
    if value is None or (isinstance(value, str) and value.strip().strip("\"'").lower() in _ALL_TOOLS):
        return None, without
    if isinstance(value, dict):
        # a table of booleans only takes away: what it does not name stays allowed
        off = [name for name, on in value.items() if on is False]
        return None, without | frozenset(_tool_names(off))
    names = frozenset(_tool_names(value))
    return (None if "*" in names else names), without


_ALL_TOOLS = ("*", "all", "all tools")
"""What stands for every tool."""

_TOOL_NAMES: Mapping[str, tuple[str, ...]] = {
    "multiedit": ("edit",),
    "notebookedit": ("edit",),
    "editfiles": ("edit", "write"),
    "ls": ("glob",),
    "list": ("glob",),
    "notebookread": ("read",),
    "search": ("grep", "glob"),
    "codebase": ("grep", "glob"),
    "bashoutput": ("bash",),
    "killshell": ("bash",),
    "killbash": ("bash",),
    "execute": ("bash",),
    "shell": ("bash",),
    "runcommands": ("bash",),
    "todowrite": ("todo",),
    "todoread": ("todo",),
    "agent": ("task",),
}
"""Other hosts' names of tools, in lower case and without what stands before a slash, and ours for them."""


def _tool_names(value: object) -> Iterator[str]:
    if isinstance(value, str):
        value = _NARROWED.sub("", value).split(",")
    if isinstance(value, list):
        for name_value in value:
            # Claude Code writes `Read, Grep`; our tools are in lower case
            name = _NARROWED.sub("", str(name_value)).strip().lower()
            if name.startswith("mcp__"):
                server, _, tool = name.removeprefix("mcp__").partition("__")
                yield f"{server}_{tool or '*'}"
            elif name.endswith("/*"):
                yield f"{name[:-2]}_*"
            elif name:
                yield from _TOOL_NAMES.get(name.rpartition("/")[2], (name,))
    elif value is not None:
        raise ConfigError(f"tools cannot be {shorten(visible(str(value)), 40)!r}", hint="Write [read, grep]")


_NARROWED = re.compile(r"\([^()]*\)")
"""What a tool is narrowed to, as in `Bash(git diff:*)`: here permissions say that."""


def _is_number(value: object, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
