"""Telling a client of the server, and taking that out so that everything is as it was before.

What was changed is in a manifest beside the data (`install/mcp.json`). A file that nobody touched since gets back its
former bytes; from another one our entry is taken out, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
from hudkit.hosts.installing.user_environment import RuntimeNeeds, project_directory
from hudkit.hosts.mcp.client_configs import (
    CLIENTS,
    LaunchCommand,
    McpClient,
    holds_ours,
    is_empty,
    with_entry,
    without_entry,
)

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
        return self.data / _MANIFEST_FILE

    def started(self) -> LaunchCommand:
        """How a client starts the server; without the packages of the directory that it is started in."""
        carried = {name: self.env[name] for name in _CARRIED_VARIABLES if self.env.get(name)}
        if self.env.get("XDG_DATA_HOME"):
            carried = {"HUDKIT_DATA": str(self.data), **carried}
        return LaunchCommand(self.python, ("-P", "-E", "-m", "hudkit", "mcp"), carried)


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
        key = (client, str(path))
        return next((one.touched for one in self.configurations if (one.client, one.touched.file) == key), None)


def install(spot: ServerTarget, client: str, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Put the server into a client's configuration; doing it again changes nothing more.

    Raises `ConfigError` before anything is written: the environment will not stay, the client is unknown or has no
    configuration of projects, its configuration cannot be read, or it has another server of our name.
    """
    user_environment.check_interpreter(spot.python, spot.prefix, spot.env, SERVER_NEEDS)
    kind = _client(client)
    path = _choose(spot, kind)
    known = config_files.read_manifest(spot.manifest, ServerManifest)
    text = read_text(path)
    recorded = known.of(client, path) if text is not None else None
    untouched, before = original_text(text, recorded) if text is not None and recorded is not None else (False, None)
    base = before if untouched else text
    fresh = with_entry(base, path, kind, kind.entry(spot.started()))
    change = ConfigChange(text, fresh.after)
    steps = (describe_change(path, change),)
    if dry_run or (change.before == change.after and recorded is not None):
        return steps
    if base is not None and fresh.before == fresh.after:
        return steps  # it is there, and somebody else put it there
    kept = record_change(path, fresh, key=any(f'"{kind.key}": {{' in edit.new for edit in fresh.edits))
    if recorded is not None and not untouched:  # it cannot be taken back, only out
        kept = msgspec.structs.replace(recorded, after="", edits=())
    elif recorded is not None:
        kept = msgspec.structs.replace(kept, made=recorded.made)
    # The manifest comes first: what a crash leaves behind in the configuration can then still be taken out.
    others = tuple(one for one in known.configurations if (one.client, one.touched.file) != (client, str(path)))
    config_files.write_manifest(
        spot.manifest, ServerManifest(configurations=(*others, InstalledServer(client, kept)))
    )
    apply_change(path, change, mode=0o644 if spot.project else 0o600)
    return steps


def uninstall(spot: ServerTarget, client: str = "", *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Take the server out of the configuration of a client (the user's, or the project's), or without one of all that
    it was put into. Where it is nowhere, nothing happens, and nothing is returned.

    Raises `ConfigError` where the client is unknown, or a configuration cannot be read; nothing is changed then.
    """
    known = config_files.read_manifest(spot.manifest, ServerManifest)
    if client:
        places = [(client, path) for path in _candidates(spot, _client(client))]
    else:
        places = [(one.client, Path(one.touched.file)) for one in known.configurations]
    changes: dict[tuple[str, Path], ConfigChange] = {}
    for name, path in places:
        text = read_text(path)
        if text is not None:
            change = ConfigChange(text, _without(path, text, _client(name), known.of(name, path)))
            if change.before != change.after:
                changes[name, path] = change
    left = tuple(one for one in known.configurations if (one.client, Path(one.touched.file)) not in places)
    gone = [spot.manifest] if not left and spot.manifest.exists() else []
    steps = (
        *(describe_change(path, change) for (_, path), change in changes.items()),
        *(InstallStep(str(one), "remove") for one in gone),
    )
    if dry_run:
        return steps
    for (name, path), change in changes.items():
        recorded = known.of(name, path)
        write_or_remove(
            path, change.after, made=Path(recorded.made) if recorded is not None and recorded.made else None
        )
    if left:
        config_files.write_manifest(spot.manifest, ServerManifest(configurations=left))
    for one in gone:
        remove_file(one, upto=spot.data)
    return steps


def recorded_servers(data: Path) -> tuple[InstalledServer, ...]:
    """What was installed from a data directory, whether or not it is still there. Raises `ConfigError` where that
    cannot be read."""
    return config_files.read_manifest(data / _MANIFEST_FILE, ServerManifest).configurations


def installed_servers(spot: ServerTarget) -> tuple[InstalledServer, ...]:
    """The configurations that still have what was put into them from this data directory."""
    found = []
    for one in recorded_servers(spot.data):
        path = Path(one.touched.file)
        text = read_text(path)
        if text is not None and one.client in CLIENTS and holds_ours(text, path, CLIENTS[one.client]):
            found.append(one)
    return tuple(found)


def _without(path: Path, text: str, client: McpClient, recorded: FileChangeRecord | None) -> str | None:
    """A configuration without our entry: its former bytes where nobody touched it since."""
    if recorded is not None:
        untouched, before = original_text(text, recorded)
        if untouched:
            return before
    change = without_entry(text, path, client, key_too=recorded is not None and recorded.key)
    made = recorded is not None and recorded.before is None
    if made and change.after is not None and is_empty(change.after, path, client):
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
    """The file to write to: the first that has our entry, else the first that there is, else the first."""
    files = {path: read_text(path) for path in _candidates(spot, client)}
    there = {path: text for path, text in files.items() if text is not None}
    having = (path for path, text in there.items() if holds_ours(text, path, client))
    return next(having, next(iter(there), next(iter(files))))
