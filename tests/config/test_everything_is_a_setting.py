"""What the code lets a program set is a key of the settings file, or stands here with the reason why it is not."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hudkit.agent.loop import AgentLoop
from hudkit.agent.run_context import LoopOptions, LoopSettings, tool_limits
from hudkit.agent.telemetry import configured
from hudkit.agent.tools.tool import ToolLimits
from hudkit.api import Hud
from hudkit.config import Settings, keys, parse, settings_from, settings_schema
from hudkit.daemon.lifecycle import DaemonOptions
from hudkit.rooms.scheduler.model_queues import ModelQuota
from hudkit.rooms.scheduler.runner import WorldRunner
from hudkit.sections.sandboxed import SandboxLimits

LOOP = {
    "compact": "overflow.auto",
    "reserved": "overflow.reserved_tokens",
    "tail": "compaction.tail_tokens",
    "compaction_model": "compaction.model",
    "frees": "compaction.min_freed_percent",
    "summaries": "session.summaries",
    "recent_tokens": "session.recent_tokens",
    "recent_output_tokens": "session.recent_output_tokens",
    "recent_messages": "session.recent_messages",
    "prune": "pruning.enabled",
    "prune_from": "pruning.min_used_percent",
    "protect": "pruning.protected_tokens",
    "minimum": "pruning.min_freed_tokens",
    "protected_tools": "pruning.tools",
    "cache_minutes": "cache.ttl_minutes",
    "max_output": "session.max_output_tokens",
    "effort": "session.effort",
    "fallback_models": "session.fallback_models",
    "retries": "session.retries",
    "delay": "session.retry_seconds",
    "most_delay": "session.max_retry_seconds",
    "steps": "session.max_steps",
    "repeats": "session.identical_calls",
    "answer_attempts": "session.answer_attempts",
    "depth": "session.subagent_depth",
    "parallel": "session.parallel_calls",
    "web_fetch": "tools.web_fetch",
    "fetch_private": "tools.fetch_private",
    "prompt_cost": "session.prompt_cost",
    "prompt_tokens": "session.prompt_tokens",
    "session_cost": "session.session_cost",
    "session_tokens": "session.session_tokens",
    "tool_seconds": "session.tool_seconds",
    "plugin_tool_seconds": "session.plugin_tool_seconds",
    "instructions": "session.instructions",
    "instruction_hosts": "session.instruction_hosts",
    "record": "session.keep_requests",
    "windows": "windows",
}
TOOLS = {
    "output_characters": "tools.output_chars",
    "fetch_bytes": "tools.fetch_bytes",
    "fetch_seconds": "tools.fetch_seconds",
    "lines": "tools.read_lines",
    "line_characters": "tools.line_chars",
    "edit_bytes": "tools.edit_bytes",
    "scan_bytes": "tools.scan_bytes",
    "results": "tools.search_results",
    "spill_bytes": "tools.kept_output_bytes",
    "shell_seconds": "tools.shell_seconds",
    "max_shell_seconds": "tools.max_shell_seconds",
    "search_seconds": "tools.search_seconds",
}
OPTIONS = {
    "agent": "session.agent",
    "confine": "session.confine",
    "hook_seconds": "session.plugin_hook_seconds",
    "mcp_servers": "mcp_servers",
    "language_servers": "language_servers",
    "permissions": "permissions",
    "plugin_options": "plugins",
    "telemetry": "telemetry.enabled",
}
PARTS: tuple[tuple[Iterable[str], dict[str, str], dict[str, str]], ...] = (
    (LoopSettings.__struct_fields__, LOOP, {}),
    (ToolLimits.__struct_fields__, TOOLS, {}),
    (
        LoopOptions.__struct_fields__,
        OPTIONS,
        {
            "settings": "the keys of LoopSettings",
            "limits": "the keys of ToolLimits",
            "plugins": "objects of a program",
            "discovered_plugins": "found in folders, and trusted by their digests: `hudkit doctor` lists them",
            "tools": "functions of a program",
            "agents": "agents of a program; a person has files of agents",
            "system_prompt": "a program's; a person has files of agents",
            "ask_user": "a function of a program",
            "commands": "templates of a program; a person has files of commands",
            "user_commands": "always `commands/` beside the settings",
            "user_agents": "always `agents/` beside the settings",
            "user_skills": "always `skills/` beside the settings",
            "home": "the home of who runs it",
            "connect": "a function of a program",
            "clock": "a function of a program",
            "ids": "a function of a program",
        },
    ),
    (
        inspect.signature(AgentLoop.open).parameters,
        {"model": "session.model"},
        {
            "directory": "where the command is run",
            "data": "HUDKIT_DATA, or --data",
            "session": "which session is continued: --session, --continue",
            "options": "the keys of LoopOptions",
        },
    ),
    (
        inspect.signature(configured).parameters,
        {"settings": "telemetry.enabled"},
        {},
    ),
    (
        DaemonOptions.__struct_fields__,
        {"idle": "daemon.idle_minutes"},
        {
            "socket": "HUDKIT_SOCKET: hosts have to find it before they read settings",
            "db": "HUDKIT_DB",
            "port": "opening a port is asked for each time: --port",
            "host": "with --port",
            "settings": "the settings themselves",
        },
    ),
    (
        ModelQuota.__struct_fields__,
        {
            "requests": "rooms.requests_per_minute",
            "tokens": "rooms.tokens_per_minute",
            "at_once": "rooms.concurrent_requests",
        },
        {},
    ),
    (
        inspect.signature(WorldRunner).parameters,
        {"quotas": "rooms.requests_per_minute"},
        {
            "world_log": "which world is played: --world",
            "players": "objects of a program",
            "clock": "an object of a program",
            "renderer": "an object of a program",
            "group": "beats that share a transaction: measured, no matter of taste",
            "leases": "an object of a program; on a server there always is one",
        },
    ),
    (
        SandboxLimits.__struct_fields__,
        {"time": "custom.timeout_ms", "memory": "custom.memory_mib"},
        {},
    ),
    (
        inspect.signature(Hud.open).parameters,
        {"past": "memory.index"},
        {
            "path": "HUDKIT_DB, or --db",
            "clock": "a function of a program",
            "ids": "a function of a program",
            "counter": "an object of a program",
            "settings": "the settings themselves",
            "sections": "always `sections/` beside the settings",
        },
    ),
)


def _names(fields: Iterable[str]) -> set[str]:
    return {name for name in fields if name not in ("cls", "self")}


@pytest.mark.parametrize("part", PARTS, ids=range(len(PARTS)))
def test_every_argument_is_a_setting_or_has_a_reason(
    part: tuple[Iterable[str], dict[str, str], dict[str, str]],
) -> None:
    fields, settings, reasons = part
    assert _names(fields) == settings.keys() | reasons.keys()
    assert not settings.keys() & reasons.keys()
    assert set(settings.values()) <= {key.name for key in keys()}


VALUES: dict[str, Any] = {
    "session.instructions": ["docs/*.md"],
    "session.instruction_hosts": ["docs.example.com"],
    "pruning.tools": ["mine"],
    "windows": {"m": 7},
    "session.effort": "high",
    "session.fallback_models": ["openai:small"],
    "compaction.model": "openai:small",
}


def _changed(key: str) -> Settings:
    """The defaults with another value at one key."""
    default = next(each.default for each in keys() if each.name == key)
    if key in VALUES:
        value = VALUES[key]
    elif isinstance(default, bool):
        value = not default
    else:
        value = 7
    table, _, name = key.rpartition(".")
    return settings_from({table: {name: value}} if table else {name: value})


@pytest.mark.slow
@pytest.mark.parametrize(("field", "key"), LOOP.items())
def test_what_is_set_reaches_the_loop(field: str, key: str) -> None:
    assert getattr(LoopSettings.from_user_settings(_changed(key)), field) != getattr(LoopSettings(), field)


@pytest.mark.parametrize(("field", "key"), TOOLS.items())
def test_what_is_set_reaches_the_tools(field: str, key: str) -> None:
    assert getattr(tool_limits(_changed(key).tools), field) == 7


def test_the_defaults_are_those_of_the_code() -> None:
    assert LoopSettings.from_user_settings(Settings()) == LoopSettings()
    assert tool_limits(Settings().tools) == ToolLimits()
    assert DaemonOptions(Path("s"), Path("d")).idle == Settings().daemon.idle_minutes
    assert ModelQuota().at_once == Settings().rooms.concurrent_requests


def test_permissions_are_checked_as_they_are_read() -> None:
    table = '[permissions]\nedit = "ask"\nbash = { "*" = "ask", "git *" = "allow" }\n'
    assert settings_from(parse(table)).permissions == {"edit": "ask", "bash": {"*": "ask", "git *": "allow"}}


def test_the_published_schema_is_that_of_the_code() -> None:
    page = Path(__file__).parents[2] / "docs" / "settings.schema.json"
    published = json.loads(page.read_text(encoding="utf-8"))
    assert published == json.loads(json.dumps(settings_schema())), "hudkit config schema > docs/settings.schema.json"
