"""What Codex calls, and with what: the definitions of our hooks, which never change while we are installed.

Codex asks its user to trust each definition, and again when it changes. So nothing that differs between sessions or
versions is in them. A hook is a call of the MCP tool `hud_hook`, which costs a few milliseconds. Where a session or
a turn begins it is a command as well: the MCP server may not be up, and it may never be. Who comes second is told
nothing, since the daemon knows what it has told.

Codex starts its MCP servers beside the session. For a hook that calls a tool it waits until the server is up, with
the first request it does not: a server that is late has no tools there, and breaks the prefix when they come.
"""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import Any

from hudkit.errors import ConfigError
from hudkit.hosts.hook_deadlines import hook_patience
from hudkit.hosts.installing.config_files import ConfigChange
from hudkit.hosts.installing.jsonc import (
    apply_edits,
    check_edited,
    find_member,
    insertion_edits,
    is_blank,
    opens_with,
    parse_object,
    removal_edits,
)
from hudkit.hosts.installing.toml_tables import edit_between

SERVER = "hudkit"
"""What our MCP server is called in Codex's configuration."""

_TOOL = "hud_hook"
COMMAND_WORDS = ["-m", "hudkit", "hook", "codex"]
"""How the hook that is a command ends."""

_FIELDS = ("hook_event_name", "session_id", "transcript_path", "cwd", "model")
"""What each hook is told. A placeholder that an event does not fill makes the hook fail."""

_EVENTS: dict[str, tuple[tuple[str, ...], int, bool]] = {
    "SessionStart": (("source",), 4, True),
    "UserPromptSubmit": ((), 2, True),
    "PostToolUse": (("tool_name", "tool_use_id"), 1, False),
    "PreCompact": (("trigger",), 6, False),
    "SubagentStart": (("agent_id", "agent_type"), 4, False),
    "SubagentStop": (("agent_id", "agent_type", "agent_transcript_path"), 1, False),
    "Stop": ((), 1, False),
}
"""The events that we hear of, with what else each is told, the seconds after which Codex goes on (ours are shorter),
and whether a command is called as well."""


def hook_groups(command: list[str]) -> dict[str, dict[str, Any]]:
    """Return our group of hooks for each event, as Codex's configuration has it."""
    groups: dict[str, dict[str, Any]] = {}
    for event, (fields, seconds, is_command_too) in _EVENTS.items():
        arguments = {name: f"${{{name}}}" for name in (*_FIELDS, *fields)}
        call = {
            "type": "mcp_tool",
            "server": SERVER,
            "tool": _TOOL,
            "input": arguments,
            "timeout": math.ceil(seconds * hook_patience()),
        }
        hooks: list[dict[str, Any]] = [call]
        if is_command_too:
            hooks.append(
                {"type": "command", "command": shlex.join(command), "timeout": math.ceil(seconds * hook_patience())}
            )
        groups[event] = {"hooks": hooks}
    return groups


def with_hooks(text: str | None, where: Path, command: list[str]) -> ConfigChange:
    """Return the hooks file with our groups behind those of the user; the same text where it has them.

    Raises `ConfigError` where it cannot be read, or has something else in a list's place.
    """
    groups = hook_groups(command)
    if text is None or is_blank(text):
        whole = json.dumps({"hooks": {event: [group] for event, group in groups.items()}}, indent=2) + "\n"
        return ConfigChange(text, whole, () if text is None else (edit_between(text, whole),))
    new = text
    for event, group in groups.items():
        new = _with_group(new, where, event, group)
    return ConfigChange(text, new, (edit_between(text, new),))


def without_hooks(text: str, where: Path) -> ConfigChange:
    """Return the hooks file without our groups, and without lists that are left empty; the user's own stay.

    Raises `ConfigError` where it cannot be read.
    """
    new = text
    for event, place, _ in reversed(our_hooks(text, where)):
        new = _without_group(new, where, event, place)
    return ConfigChange(text, new, (edit_between(text, new),))


def our_hooks(text: str | None, where: Path) -> list[tuple[str, int, int]]:
    """Return our groups in a hooks file: the event, the place in its list, and how many hooks the group has.

    Raises `ConfigError` where the file cannot be read.
    """
    if text is None or is_blank(text):
        return []
    hooks = parse_object(text, str(where)).value.get("hooks")
    return [
        (event, place, len(group["hooks"]))
        for event, groups in (hooks.items() if isinstance(hooks, dict) else ())
        for place, group in enumerate(groups if isinstance(groups, list) else ())
        if _is_ours(group)
    ]


def trust_keys(text: str | None, where: Path) -> list[str]:
    """Return the names under which Codex notes that the user trusts our hooks in a hooks file. Raises as above."""
    snake = {
        "SessionStart": "session_start",
        "UserPromptSubmit": "user_prompt_submit",
        "PostToolUse": "post_tool_use",
    }
    snake |= {"PreCompact": "pre_compact", "SubagentStart": "subagent_start", "SubagentStop": "subagent_stop"}
    return [
        f"{where}:{snake.get(event, event.lower())}:{place}:{number}"
        for event, place, hooks in our_hooks(text, where)
        for number in range(hooks)
    ]


def is_empty(text: str, where: Path) -> bool:
    """Return whether a hooks file has no hooks and says nothing else."""
    values = {} if is_blank(text) else parse_object(text, str(where)).value
    return not {name for name, value in values.items() if name != "hooks" or value}


def _is_ours(group: object) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and bool(hooks) and all(map(_is_our_hook, hooks))


def _is_our_hook(hook: object) -> bool:
    if not isinstance(hook, dict):
        return False
    if hook.get("type") == "mcp_tool":
        return (hook.get("server"), hook.get("tool")) == (SERVER, _TOOL)
    try:
        return shlex.split(str(hook.get("command", "")))[-4:] == COMMAND_WORDS
    except ValueError:
        return False


def _with_group(text: str, where: Path, event: str, group: dict[str, Any]) -> str:
    root = parse_object(text, str(where))
    hooks = find_member(root, "hooks")
    if hooks is None:
        edits = insertion_edits(text, root, f'"hooks": {{{json.dumps(event)}: [{json.dumps(group)}]}}')
        held: dict[str, Any] = {}
    elif not opens_with(text, hooks.node, "{"):
        raise ConfigError(f'"hooks" in {where} is not an object', hint="It was left as it is")
    else:
        held = hooks.node.value
        groups = find_member(hooks.node, event)
        if groups is None:
            edits = insertion_edits(text, hooks.node, f"{json.dumps(event)}: [{json.dumps(group)}]")
        elif not opens_with(text, groups.node, "["):
            raise ConfigError(f'"hooks"."{event}" in {where} is not a list', hint="It was left as it is")
        elif group in groups.node.value:
            return text
        else:
            ours = [place for place, each in enumerate(groups.node.value) if _is_ours(each)]
            if ours:
                return _with_group(_without_group(text, where, event, ours[0]), where, event, group)
            edits = insertion_edits(text, groups.node, json.dumps(group))
    after = apply_edits(text, edits)
    check_edited(after, {**root.value, "hooks": {**held, event: [*held.get(event, ()), group]}}, str(where))
    return after


def _without_group(text: str, where: Path, event: str, place: int) -> str:
    root = parse_object(text, str(where))
    hooks = find_member(root, "hooks")
    groups = find_member(hooks.node, event) if hooks is not None else None
    if hooks is None or groups is None:
        return text
    left = [each for number, each in enumerate(groups.node.value) if number != place]
    wanted = {name: value for name, value in hooks.node.value.items() if name != event}
    if left:
        edits = removal_edits(text, groups.node, place)
        wanted = {name: left if name == event else value for name, value in hooks.node.value.items()}
    else:
        edits = removal_edits(text, hooks.node, hooks.node.items.index(groups))
    after = apply_edits(text, edits)
    check_edited(after, {**root.value, "hooks": wanted}, str(where))
    return after
