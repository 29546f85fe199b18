"""Telling a client of the server, and taking that out so that everything is as it was before.

What was changed is in a manifest beside the data (`install/mcp.json`). A file that nobody touched since gets back its
former bytes; from another one our entry is taken out, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hudkit import __version__
from hudkit.errors import ConfigError
from hudkit.hosts.installing import config_files, user_environment
from hudkit.hosts.installing.config_files import (
    ConfigChange,
    FileChangeRecord,
    InstallStep,
    apply_change,
    describe_change,
    original_text,
    read_text,
    record_change,
    remove_file,
    write_or_remove,
)
from hudkit.hosts.installing.jsonc import (
    TextEdit,
    apply_edits,
    check_edited,
    find_member,
    insertion_edits,
    is_blank,
    object_edit,
    opens_with,
    parse_object,
    removal_edits,
)
from hudkit.hosts.installing.toml_tables import parse_toml, table_at, with_table, without_tables
from hudkit.hosts.installing.user_environment import RuntimeNeeds, config_home, home_directory, project_directory

_MANIFEST_FILE = Path("install", "mcp.json")
_MANIFEST_SCHEMA = 1

SERVER_NEEDS = RuntimeNeeds(("hudkit", "mcp"), "mcp")
"""What a client starts, and what that imports."""

_CARRIED_VARIABLES = ("HUDKIT_DATA", "HUDKIT_DB", "HUDKIT_CONFIG")
"""Variables that a client, which is started from elsewhere, would not have."""


class ServerTarget(msgspec.Struct, frozen=True):
    """Where to install: the interpreter and its environment (`None`: it is not asked whether that will stay), our
    data, the variables of the user, the platform (as `sys.platform`), and the project's directory (`None`: for all of
    the user's)."""

    python: str
    prefix: Path | None
    data: Path
    env: Mapping[str, str]
    platform: str
    project: Path | None = None

    @property
    def manifest(self) -> Path:
        """Return the file that lists what was installed."""
        return self.data / _MANIFEST_FILE

    def started(self) -> _LaunchCommand:
        """Return how a client starts the server; without the packages of the directory that it is started in."""
        # Desktop clients start programs with next to no environment: without these the server would open another log.
        carried = {name: self.env[name] for name in _CARRIED_VARIABLES if self.env.get(name)}
        if self.env.get("XDG_DATA_HOME"):
            carried = {"HUDKIT_DATA": str(self.data), **carried}
        return _LaunchCommand(self.python, ("-P", "-E", "-m", "hudkit", "mcp"), carried)


class InstalledServer(msgspec.Struct, frozen=True):
    """A client's configuration that has our entry."""

    client: str
    touched: FileChangeRecord


class ServerManifest(msgspec.Struct, frozen=True):
    """What was installed, by which version."""

    schema: int = _MANIFEST_SCHEMA
    version: str = __version__
    configurations: tuple[InstalledServer, ...] = ()

    def of(self, client: str, path: Path) -> FileChangeRecord | None:
        """Return what was changed in a configuration of a client; `None` where nothing was."""
        key = (client, str(path))
        return next(
            (server.touched for server in self.configurations if (server.client, server.touched.file) == key), None
        )


def install(spot: ServerTarget, client: str, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Put the server into a client's configuration and return the steps; doing it again changes nothing more.

    Raises `ConfigError` before anything is written: the environment will not stay, the client is unknown or has no
    configuration of projects, its configuration cannot be read, or it has another server of our name.
    """
    user_environment.check_interpreter(spot.python, spot.prefix, spot.env, SERVER_NEEDS)
    kind = _client(client)
    path = _choose(spot, kind)
    manifest = config_files.read_manifest(spot.manifest, ServerManifest)
    text = read_text(path)
    recorded = manifest.of(client, path) if text is not None else None
    untouched, before = original_text(text, recorded) if text is not None and recorded is not None else (False, None)
    base = before if untouched else text
    fresh = with_entry(base, path, kind, kind.entry(spot.started()))
    change = ConfigChange(text, fresh.after)
    steps = (describe_change(path, change),)
    if dry_run or (change.before == change.after and recorded is not None):
        return steps
    if base is not None and fresh.before == fresh.after:
        return steps  # it is there, and somebody else put it there
    record = record_change(path, fresh, key=any(f'"{kind.key}": {{' in edit.new for edit in fresh.edits))
    if recorded is not None and not untouched:  # it cannot be taken back, only out
        record = msgspec.structs.replace(recorded, after="", edits=())
    elif recorded is not None:
        record = msgspec.structs.replace(record, made_directory=recorded.made_directory)
    # The manifest comes first: what a crash leaves behind in the configuration can then still be taken out.
    others = tuple(
        server for server in manifest.configurations if (server.client, server.touched.file) != (client, str(path))
    )
    config_files.note_data_directory(spot.data)
    config_files.write_manifest(
        spot.manifest, ServerManifest(configurations=(*others, InstalledServer(client, record)))
    )
    apply_change(path, change, mode=0o644 if spot.project else 0o600)
    return steps


def uninstall(spot: ServerTarget, client: str = "", *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Take the server out of the configuration of a client (the user's, or the project's), or without one of all that
    it was put into. Where it is nowhere, nothing happens, and nothing is returned.

    Raises `ConfigError` where the client is unknown, or a configuration cannot be read; nothing is changed then.
    """
    manifest = config_files.read_manifest(spot.manifest, ServerManifest)
    if client:
        places = [(client, path) for path in _candidates(spot, _client(client))]
    else:
        places = [(server.client, Path(server.touched.file)) for server in manifest.configurations]
    changes: dict[tuple[str, Path], ConfigChange] = {}
    for name, path in places:
        text = read_text(path)
        if text is not None:
            change = ConfigChange(text, _without(path, text, _client(name), manifest.of(name, path)))
            if change.before != change.after:
                changes[name, path] = change
    left = tuple(
        server for server in manifest.configurations if (server.client, Path(server.touched.file)) not in places
    )
    gone = [spot.manifest] if not left and spot.manifest.exists() else []
    steps = (
        *(describe_change(path, change) for (_, path), change in changes.items()),
        *(InstallStep(str(path), "remove") for path in gone),
    )
    if dry_run:
        return steps
    for (name, path), change in changes.items():
        recorded = manifest.of(name, path)
        write_or_remove(
            path,
            change.after,
            made_directory=Path(recorded.made_directory)
            if recorded is not None and recorded.made_directory
            else None,
        )
    if left:
        config_files.write_manifest(spot.manifest, ServerManifest(configurations=left))
    for leftover in gone:
        remove_file(leftover, upto=spot.data)
    if gone:
        config_files.remove_data_directory(spot.data)
    return steps


def recorded_servers(data: Path) -> tuple[InstalledServer, ...]:
    """Return what was installed from a data directory, whether or not it is still there.

    Raises `ConfigError` where that cannot be read.
    """
    return config_files.read_manifest(data / _MANIFEST_FILE, ServerManifest).configurations


def installed_servers(spot: ServerTarget) -> tuple[InstalledServer, ...]:
    """Return the configurations that still have what was put into them from this data directory."""
    servers = []
    for server in recorded_servers(spot.data):
        path = Path(server.touched.file)
        text = read_text(path)
        if text is not None and server.client in CLIENTS and _holds_ours(text, path, CLIENTS[server.client]):
            servers.append(server)
    return tuple(servers)


def _without(path: Path, text: str, client: McpClient, recorded: FileChangeRecord | None) -> str | None:
    """Return a configuration without our entry: its former bytes where nobody touched it since."""
    if recorded is not None:
        untouched, before = original_text(text, recorded)
        if untouched:
            return before
    change = without_entry(text, path, client, key_too=recorded is not None and recorded.key)
    created_by_us = recorded is not None and recorded.before is None
    if created_by_us and change.after is not None and _is_empty(change.after, path, client):
        return None
    return change.after


def _client(name: str) -> McpClient:
    if name not in CLIENTS:
        raise ConfigError(f"there is no client {name!r}", hint=f"Give --client with one of {', '.join(CLIENTS)}")
    return CLIENTS[name]


def _candidates(spot: ServerTarget, client: McpClient) -> tuple[Path, ...]:
    if spot.project is None:
        return tuple(client.directory(spot.env, spot.platform) / name for name in client.names)
    if not client.project:
        raise ConfigError(f"{client.title} has no configuration of projects", hint="Leave --project away")
    return tuple(project_directory(spot.project) / name for name in client.project)


def _choose(spot: ServerTarget, client: McpClient) -> Path:
    """Return the file to write to: the first that has our entry, else the first that there is, else the first."""
    files = {path: read_text(path) for path in _candidates(spot, client)}
    there = {path: text for path, text in files.items() if text is not None}
    having = (path for path, text in there.items() if _holds_ours(text, path, client))
    return next(having, next(iter(there), next(iter(files))))


# --- The clients: where each keeps its servers, and how it writes one.


SERVER_NAME = "hudkit"
"""What the server is called in a client's configuration."""


class _LaunchCommand(msgspec.Struct, frozen=True):
    """How a client starts the server: the program, its arguments, and the variables that it would not have."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = {}

    def plain(self, **more: Any) -> dict[str, Any]:
        """Return the command as most clients write it; `more` comes first."""
        return {**more, "command": self.command, "args": list(self.args)} | (
            {"env": dict(self.env)} if self.env else {}
        )


_DirectoryFinder = Callable[[Mapping[str, str], str], Path]
"""From the user's variables and the platform (as `sys.platform`) to a directory."""


class McpClient(msgspec.Struct, frozen=True):
    """A client: the `directory` of the user's configuration and its file's `names` there (the first that there is, is
    meant), the names below a project (none: it has no such), under which `key` servers stand, and how one is written.
    `toml` is another format than JSON."""

    title: str
    directory: _DirectoryFinder
    names: tuple[str, ...]
    project: tuple[str, ...]
    key: str
    entry: Callable[[_LaunchCommand], dict[str, Any]]
    toml: bool = False


def _support(env: Mapping[str, str], platform: str) -> Path:
    """Return where desktop programs keep their data."""
    return home_directory(env) / "Library" / "Application Support" if platform == "darwin" else config_home(env)


def _below_home(name: str, variable: str = "") -> _DirectoryFinder:
    """Return a directory in the user's home, or the one that a variable names."""

    def directory(env: Mapping[str, str], _: str) -> Path:
        named = env.get(variable) if variable else None
        return Path(named) if named else home_directory(env) / name

    return directory


def _plain(started: _LaunchCommand) -> dict[str, Any]:
    return started.plain()


def _typed(started: _LaunchCommand) -> dict[str, Any]:
    return started.plain(type="stdio")


def _copilot(started: _LaunchCommand) -> dict[str, Any]:
    return started.plain(type="local") | {"tools": ["*"]}


def _opencode(started: _LaunchCommand) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "local", "command": [started.command, *started.args], "enabled": True}
    return entry | ({"environment": dict(started.env)} if started.env else {})


_OPENCODE = ("opencode.jsonc", "opencode.json")

CLIENTS: Mapping[str, McpClient] = {
    "claude-code": McpClient(
        "Claude Code",
        _below_home("", "CLAUDE_CONFIG_DIR"),
        (".claude.json",),
        (".mcp.json",),
        "mcpServers",
        _typed,
    ),
    "claude-desktop": McpClient(
        "Claude Desktop",
        lambda env, platform: _support(env, platform) / "Claude",
        ("claude_desktop_config.json",),
        (),
        "mcpServers",
        _plain,
    ),
    "codex": McpClient(
        "Codex",
        _below_home(".codex", "CODEX_HOME"),
        ("config.toml",),
        (".codex/config.toml",),
        "mcp_servers",
        _plain,
        toml=True,
    ),
    "copilot": McpClient(
        "Copilot CLI",
        _below_home(".copilot", "COPILOT_HOME"),
        ("mcp-config.json",),
        (),
        "mcpServers",
        _copilot,
    ),
    "cursor": McpClient("Cursor", _below_home(".cursor"), ("mcp.json",), (".cursor/mcp.json",), "mcpServers", _plain),
    "gemini": McpClient(
        "Gemini CLI", _below_home(".gemini"), ("settings.json",), (".gemini/settings.json",), "mcpServers", _plain
    ),
    "lmstudio": McpClient("LM Studio", _below_home(".lmstudio"), ("mcp.json",), (), "mcpServers", _plain),
    "opencode": McpClient(
        "OpenCode",
        lambda env, _: config_home(env) / "opencode",
        (*_OPENCODE, "config.json"),
        (*_OPENCODE, *(f".opencode/{name}" for name in _OPENCODE)),
        "mcp",
        _opencode,
    ),
    "vscode": McpClient(
        "VS Code",
        lambda env, platform: _support(env, platform) / "Code" / "User",
        ("mcp.json",),
        (".vscode/mcp.json",),
        "servers",
        _typed,
    ),
    "windsurf": McpClient(
        "Windsurf", _below_home(".codeium/windsurf"), ("mcp_config.json",), (), "mcpServers", _plain
    ),
    "zed": McpClient(
        "Zed",
        lambda env, _: config_home(env) / "zed",
        ("settings.json",),
        (".zed/settings.json",),
        "context_servers",
        _plain,
    ),
}


# --- One server's entry in a client's configuration, put in and taken out; everything else stays as it was written.


def with_entry(text: str | None, where: Path, client: McpClient, entry: dict[str, Any]) -> ConfigChange:
    """Return the configuration with our entry; the same text where it has it already.

    Raises `ConfigError`: it cannot be read, cannot be edited safely, or has another server of our name.
    """
    return _toml_with(text, where, client, entry) if client.toml else _json_with(text, where, client, entry)


def without_entry(text: str, where: Path, client: McpClient, *, key_too: bool = False) -> ConfigChange:
    """Return the configuration without our entry, and (`key_too`) without the object that held it where that is left
    empty.

    A server of our name that we did not write stays. Raises `ConfigError` where it cannot be read.
    """
    return _toml_without(text, where, client) if client.toml else _json_without(text, where, client, key_too)


def _is_empty(text: str, where: Path, client: McpClient) -> bool:
    """Return whether a configuration says nothing."""
    values = (
        parse_toml(text, where) if client.toml else {} if is_blank(text) else parse_object(text, str(where)).value
    )
    return not {name for name, value in values.items() if name != client.key or value}


def _holds_ours(text: str, where: Path, client: McpClient) -> bool:
    """Return whether a configuration has our entry. Raises `ConfigError` where it cannot be read."""
    return entry_program(text, where, client) is not None


def entry_program(text: str, where: Path, client: McpClient) -> str | None:
    """Return the interpreter that our entry starts; `None` where there is no entry of ours.

    Raises `ConfigError` where the configuration cannot be read.
    """
    values = (
        parse_toml(text, where) if client.toml else {} if is_blank(text) else parse_object(text, str(where)).value
    )
    servers = values.get(client.key)
    entry = servers.get(SERVER_NAME) if isinstance(servers, dict) else None
    return _words(entry)[0] if _ours(entry) else None


def _ours(entry: object) -> bool:
    """Return whether an entry starts this server, from whatever environment."""
    return _words(entry)[-3:] == ["-m", "hudkit", "mcp"]


def _words(entry: object) -> list[str]:
    if not isinstance(entry, dict):
        return []
    command, args = entry.get("command"), entry.get("args", [])
    words = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]
    return [str(word) for word in words]


def _taken(where: Path) -> ConfigError:
    return ConfigError(
        f'{where} has another server that is called "{SERVER_NAME}"',
        hint="It was left as it is; give it another name",
    )


# -- JSON, with comments -----------------------------------------------------------------------------------------


def _json_with(text: str | None, where: Path, client: McpClient, entry: dict[str, Any]) -> ConfigChange:
    whole = json.dumps({client.key: {SERVER_NAME: entry}}, indent=2) + "\n"
    if text is None:
        return ConfigChange(None, whole)
    if is_blank(text):
        edit = object_edit(text, f"{json.dumps(client.key)}: {json.dumps({SERVER_NAME: entry})}")
        return ConfigChange(text, apply_edits(text, [edit]), (edit,))
    root = parse_object(text, str(where))
    servers = find_member(root, client.key)
    line = f"{json.dumps(SERVER_NAME)}: {json.dumps(entry)}"
    if servers is None:
        edits = insertion_edits(text, root, f'"{client.key}": {{{line}}}')
    elif not opens_with(text, servers.node, "{"):
        raise ConfigError(f'"{client.key}" in {where} is not an object', hint="It was left as it is")
    else:
        ours = find_member(servers.node, SERVER_NAME)
        if ours is None:
            edits = insertion_edits(text, servers.node, line)
        elif ours.node.value == entry:
            return ConfigChange(text, text)
        elif not _ours(ours.node.value):
            raise _taken(where)
        else:
            edits = (TextEdit(ours.node.start, text[ours.node.start : ours.node.end], json.dumps(entry)),)
    after = apply_edits(text, edits)
    held = root.value.get(client.key) or {}
    check_edited(after, {**root.value, client.key: {**held, SERVER_NAME: entry}}, str(where))
    return ConfigChange(text, after, edits)


def _json_without(text: str, where: Path, client: McpClient, key_too: bool) -> ConfigChange:
    root = None if is_blank(text) else parse_object(text, str(where))
    servers = find_member(root, client.key) if root else None
    ours = find_member(servers.node, SERVER_NAME) if servers and opens_with(text, servers.node, "{") else None
    if root is None or servers is None or ours is None or not _ours(ours.node.value):
        return ConfigChange(text, text)
    left = {name: value for name, value in servers.node.value.items() if name != SERVER_NAME}
    if key_too and not left:
        edits = removal_edits(text, root, root.items.index(servers))
        wanted = {name: value for name, value in root.value.items() if name != client.key}
    else:
        edits = removal_edits(text, servers.node, servers.node.items.index(ours))
        wanted = {**root.value, client.key: left}
    after = apply_edits(text, edits)
    check_edited(after, wanted, str(where))
    return ConfigChange(text, after, edits)


# -- TOML --------------------------------------------------------------------------------------------------------


def _toml_with(text: str | None, where: Path, client: McpClient, entry: dict[str, Any]) -> ConfigChange:
    servers = parse_toml(text or "", where).get(client.key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{client.key} in {where} is not a table", hint="It was left as it is")
    there = servers.get(SERVER_NAME)
    if there is not None and there != entry and not _ours(there):
        raise _taken(where)
    return with_table(text, where, (client.key, SERVER_NAME), entry)


def _toml_without(text: str, where: Path, client: McpClient) -> ConfigChange:
    path = (client.key, SERVER_NAME)
    if not _ours(table_at(parse_toml(text, where), path)):
        return ConfigChange(text, text)
    return without_tables(text, where, [path])
