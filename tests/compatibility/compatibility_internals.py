"""The one place where these tests name hudkit's own modules: a move or a rename of code is answered here.

Everything else in this folder uses `Hud`, the command line and what is below. What the names stand for stays: the
right-hand side of each import is what changes, the left-hand side is what the tests call it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from hudkit import Hud as Hud
from hudkit import cli
from hudkit.__main__ import main as main
from hudkit.agent import agent_definitions as agents
from hudkit.agent import context_files, plugins, records, session_store
from hudkit.agent import slash_commands as templates
from hudkit.agent.file_changes import FileChange as Change
from hudkit.agent.hooks import HOOKS
from hudkit.agent.request_log import REQUESTS_SCHEMA
from hudkit.agent.request_log import RequestLog as SentLog
from hudkit.agent.request_log import _RequestHead as RequestHead
from hudkit.agent.session_store import SessionStore
from hudkit.agent.telemetry import names as telemetry_names
from hudkit.agent.tools import TOOLS
from hudkit.agent.workspace import Workspace as Area
from hudkit.compose.formats import registry as formats
from hudkit.config import RENAMED_KEYS, Settings
from hudkit.daemon import handlers
from hudkit.hosts import wire
from hudkit.hosts.in_process import TOOL_DEFINITIONS
from hudkit.hosts.mcp.client_install import ServerManifest as McpManifest
from hudkit.hosts.opencode.plugin_install import PluginManifest as OpenCodeManifest
from hudkit.log import PAYLOADS, Event, Origin
from hudkit.log.payloads import Payload
from hudkit.log.stores import log_tables as log_schema
from hudkit.models.scripted_model import _ScriptLine as ScriptAnswer
from hudkit.paths import SectionPaths
from hudkit.rooms.actions import ACTIONS
from hudkit.rooms.prompts import _PLACEHOLDERS as PLACES
from hudkit.rooms.prompts import PROMPTS
from hudkit.rooms.world import World, WorldRules
from hudkit.rooms.world_events import EVENT_TYPES as KINDS
from hudkit.rooms.world_events import WorldEvent as Happening
from hudkit.rooms.world_file import WorldFile as Founding
from hudkit.sections.state import HudState
from hudkit.tools import call_parsing
from hudkit.tools.operation import ALIASES, OPERATIONS, SECTION_LISTINGS
from hudkit.transcripts.search.index_database import TABLES as INDEX_TABLES

RENAMED_SETTINGS: dict[str, str] = {old: f"{old.partition('.')[0]}.{new}" for old, new in RENAMED_KEYS.items()}
"""Old keys of settings that are read, with a warning, under a new name: `budget.least` to the name that it has now.
Each old key is one of the stored settings file's."""

RENAMED_WORLD_KEYS: dict[str, str] = {}
"""The same for keys of a world's file, with those of its rules (`rules.tempo.least`)."""

# -- what is stored and told, by its encoded names ----------------------------------------------------------------

EVENT_TYPES: dict[str, type[msgspec.Struct]] = dict(PAYLOADS)
WORLD_EVENT_TYPES: dict[str, type[msgspec.Struct]] = dict(KINDS)
EVENT_ROOT, WORLD_EVENT_ROOT = Payload, Happening
ENVELOPE = Event
ORIGINS = tuple(one.value for one in Origin)
STATE, WORLD = HudState, World
SETTINGS, WORLD_FILE, RULES = Settings, Founding, WorldRules
HOOK_TABLE = {name: (hook.input, hook.output) for name, hook in HOOKS.items()}
MANIFESTS = {"install/mcp.json": McpManifest, "install/opencode.json": OpenCodeManifest}
RECORDS = {
    "project": records.StoredProject,
    "session": records.StoredSession,
    "message": records.StoredMessage,
    "todo": records.Todo,
    "diff": records.FileDiff,
    "change": Change,
}
PART = records.StoredPart
REQUEST = RequestHead
SCRIPT_ANSWER = ScriptAnswer
LOG_STEPS = tuple(sql for step in log_schema.LOG_MIGRATIONS for sql in step)
SESSION_STEPS = tuple(sql for step in session_store._MIGRATIONS for sql in step)
REQUEST_STEPS = tuple(sql for step in REQUESTS_SCHEMA.steps for sql in step)
INDEX_STEPS = tuple(INDEX_TABLES)
WIRE_VERSION = wire.PROTOCOL
WIRE_HEADERS = tuple(wire.HEADERS)
ENTRY_POINT_GROUPS = (formats.ENTRY_POINT_GROUP, plugins._ENTRY_POINT_GROUP)
FORMAT_NAMES = tuple(formats.names())
PROMPT_NAMES, PROMPT_PLACES = tuple(PROMPTS), tuple(PLACES)
WORLD_ACTIONS = {name: action.arguments for name, action in ACTIONS.items()}
OPERATION_ARGUMENTS = {name: one.arguments for name, one in OPERATIONS.items()}
ALIAS_ARGUMENTS = {name: one.arguments for name, one in ALIASES.items()}
SECTION_NAMES = {name: one.also for name, one in SECTION_LISTINGS.items()}
MODEL_TOOLS = {str(one["name"]): one["parameters"] for one in TOOL_DEFINITIONS}
INSTEAD_OF_TOOL = tuple(name for name in call_parsing._SELECTORS if name != "tool")
AGENT_TOOLS = {name: tool.parameters for name, tool in TOOLS.items()}
BUILT_IN_AGENTS = tuple(agents.BUILTIN_AGENTS)


def wire_requests() -> dict[str, type[msgspec.Struct]]:
    """The struct of each request of the wire, by its path."""
    found = next(value for value in vars(handlers).values() if isinstance(value, dict) and "/v1/frame" in value)
    return {path: kind for path, (kind, _) in found.items()}


def wire_answers() -> tuple[type[msgspec.Struct], ...]:
    """The structs of the wire's answers."""
    return tuple(kind for kind in _structs(vars(wire).values()) if not issubclass(kind, wire.RequestBody))


def telemetry() -> Iterator[str]:
    """Every name of a span, an attribute or a metric."""
    for name, value in vars(telemetry_names).items():
        if name.isupper() and isinstance(value, str):
            yield value


def _structs(values: Iterable[Any]) -> Iterator[type[msgspec.Struct]]:
    for value in values:
        if isinstance(value, type) and issubclass(value, msgspec.Struct) and value is not msgspec.Struct:
            yield value


# -- reading what is stored, as plain values ----------------------------------------------------------------------


def read_sessions(path: Path) -> dict[str, Any]:
    """Everything in a database of sessions."""
    with SessionStore.open(path, read_only=True) as store:
        sessions = store.sessions()
        plain = {
            "projects": store.projects(),
            "sessions": sessions,
            "messages": {one.id: store.messages(one.id) for one in sessions},
            "todos": {one.id: store.todos(one.id) for one in sessions},
            "diffs": {one.id: store.diffs(one.id) for one in sessions},
        }
        every = {
            one.id: store.changes.of_messages(one.id, [m.id for m in store.messages(one.id)]) for one in sessions
        }
        contents = {
            change.before: (store.changes.content(change.before) or b"").decode()
            for changes in every.values()
            for change in changes
            if change.before
        }
        return dict(msgspec.to_builtins({**plain, "changes": every, "contents": contents}))


def read_requests(path: Path, session: str) -> list[bytes]:
    """Every request of a session, as it is encoded."""
    log = SentLog(path)
    try:
        return [msgspec.json.encode(sent) for sent in log.requests(session)]
    finally:
        log.close()


def read_definitions(project: Path, config: Path, trusted: Path) -> dict[str, Any]:
    """The agents, commands, skills and plugins of a user and a project."""
    area = Area(project, cwd=project)
    found_agents, wrong = agents.discover_agents(area, [config / "agents"])
    commands, unread = templates.discover_commands(area, [config / "commands"])
    listed, _ = context_files.discover_skills(area, [config / "skills"])
    plugged = plugins.discover_plugins(SectionPaths(config / "plugins", trusted), project, entries=False)
    plain = {
        "agents": {name: _plain(one) for name, one in sorted(found_agents.items()) if one.level != "builtin"},
        "commands": {name: _plain(one) for name, one in sorted(commands.items())},
        "skills": [{"name": one.name, "description": one.description, "text": one.text} for one in listed],
        "plugins": [{"name": one.name, "trusted": one.trusted, "wrong": one.problem} for one in plugged],
        "wrong": [str(one.reason) for one in (*wrong, *unread)],
    }
    return dict(msgspec.to_builtins(plain))


def _plain(value: msgspec.Struct) -> dict[str, Any]:
    found = msgspec.structs.asdict(value)
    return {name: sorted(one) if isinstance(one, frozenset) else one for name, one in found.items()}


def parsed_agent(text: str) -> object:
    """What a definition of an agent is read as."""
    return agents.parse_agent("one", text)


def parsed_command(text: str) -> object:
    """What a definition of a command is read as."""
    return templates.parse_command("one", text)


# -- the command line ---------------------------------------------------------------------------------------------


def package() -> Any:
    import hudkit

    return hudkit


def command_parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command with its parser."""
    return ((name, cli.build_parser(name)) for name in cli.COMMANDS)


def session_keys(path: Path) -> tuple[str, ...]:
    """The sessions of a log, in order."""
    with Hud.open(path) as hud:
        return hud.sessions()
