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
from hudkit.hosts.installing import interpreter, manifest
from hudkit.hosts.installing.changes import Change, Step, Touched, former, make, put, step, text_of, touched
from hudkit.hosts.installing.directories import project_directory
from hudkit.hosts.installing.interpreter import Needs
from hudkit.hosts.installing.writing import remove
from hudkit.hosts.mcp.clients import CLIENTS, Client, Started
from hudkit.hosts.mcp.entries import holds_ours, is_empty, with_entry, without_entry

MANIFEST = Path("install", "mcp.json")
SCHEMA = 1

SERVER = Needs(("hudkit", "mcp"), "mcp")
"""What a client starts, and what that imports."""

CARRIED = ("HUDKIT_DATA", "HUDKIT_DB", "HUDKIT_CONFIG")
"""Variables that a client, which is started from elsewhere, would not have."""


class Spot(msgspec.Struct, frozen=True):
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
        return self.data / MANIFEST

    def started(self) -> Started:
        """How a client starts the server; without the packages of the directory that it is started in."""
        carried = {name: self.env[name] for name in CARRIED if self.env.get(name)}
        if self.env.get("XDG_DATA_HOME"):
            carried = {"HUDKIT_DATA": str(self.data), **carried}
        return Started(self.python, ("-P", "-E", "-m", "hudkit", "mcp"), carried)


class Installed(msgspec.Struct, frozen=True):
    """A client's configuration that has our entry."""

    client: str
    touched: Touched


class Manifest(msgspec.Struct, frozen=True):
    """What was installed, by which version."""

    schema: int = SCHEMA
    version: str = __version__
    configurations: tuple[Installed, ...] = ()

    def of(self, client: str, path: Path) -> Touched | None:
        key = (client, str(path))
        return next((one.touched for one in self.configurations if (one.client, one.touched.file) == key), None)


def install(spot: Spot, client: str, *, dry_run: bool = False) -> tuple[Step, ...]:
    """Put the server into a client's configuration; doing it again changes nothing more.

    Raises `ConfigError` before anything is written: the environment will not stay, the client is unknown or has no
    configuration of projects, its configuration cannot be read, or it has another server of our name.
    """
    interpreter.check(spot.python, spot.prefix, spot.env, SERVER)
    kind = _client(client)
    path = _choose(spot, kind)
    known = manifest.read(spot.manifest, Manifest)
    text = text_of(path)
    recorded = known.of(client, path) if text is not None else None
    untouched, before = former(text, recorded) if text is not None and recorded is not None else (False, None)
    base = before if untouched else text
    fresh = with_entry(base, path, kind, kind.entry(spot.started()))
    change = Change(text, fresh.after)
    steps = (step(path, change),)
    if dry_run or (change.before == change.after and recorded is not None):
        return steps
    if base is not None and fresh.before == fresh.after:
        return steps  # it is there, and somebody else put it there
    kept = touched(path, fresh, key=any(f'"{kind.key}": {{' in edit.new for edit in fresh.edits))
    if recorded is not None and not untouched:  # it cannot be taken back, only out
        kept = msgspec.structs.replace(recorded, after="", edits=())
    elif recorded is not None:
        kept = msgspec.structs.replace(kept, made=recorded.made)
    # The manifest comes first: what a crash leaves behind in the configuration can then still be taken out.
    others = tuple(one for one in known.configurations if (one.client, one.touched.file) != (client, str(path)))
    manifest.keep(spot.manifest, Manifest(configurations=(*others, Installed(client, kept))))
    make(path, change, mode=0o644 if spot.project else 0o600)
    return steps


def uninstall(spot: Spot, client: str = "", *, dry_run: bool = False) -> tuple[Step, ...]:
    """Take the server out of the configuration of a client (the user's, or the project's), or without one of all that
    it was put into. Where it is nowhere, nothing happens, and nothing is returned.

    Raises `ConfigError` where the client is unknown, or a configuration cannot be read; nothing is changed then.
    """
    known = manifest.read(spot.manifest, Manifest)
    if client:
        places = [(client, path) for path in _candidates(spot, _client(client))]
    else:
        places = [(one.client, Path(one.touched.file)) for one in known.configurations]
    changes: dict[tuple[str, Path], Change] = {}
    for name, path in places:
        text = text_of(path)
        if text is not None:
            change = Change(text, _without(path, text, _client(name), known.of(name, path)))
            if change.before != change.after:
                changes[name, path] = change
    left = tuple(one for one in known.configurations if (one.client, Path(one.touched.file)) not in places)
    gone = [spot.manifest] if not left and spot.manifest.exists() else []
    steps = (
        *(step(path, change) for (_, path), change in changes.items()),
        *(Step(str(one), "remove") for one in gone),
    )
    if dry_run:
        return steps
    for (name, path), change in changes.items():
        recorded = known.of(name, path)
        put(path, change.after, made=Path(recorded.made) if recorded is not None and recorded.made else None)
    if left:
        manifest.keep(spot.manifest, Manifest(configurations=left))
    for one in gone:
        remove(one, upto=spot.data)
    return steps


def configurations(data: Path) -> tuple[Installed, ...]:
    """What was installed from a data directory, whether or not it is still there. Raises `ConfigError` where that
    cannot be read."""
    return manifest.read(data / MANIFEST, Manifest).configurations


def installed(spot: Spot) -> tuple[Installed, ...]:
    """The configurations that still have what was put into them from this data directory."""
    found = []
    for one in configurations(spot.data):
        path = Path(one.touched.file)
        text = text_of(path)
        if text is not None and one.client in CLIENTS and holds_ours(text, path, CLIENTS[one.client]):
            found.append(one)
    return tuple(found)


def _without(path: Path, text: str, client: Client, recorded: Touched | None) -> str | None:
    """A configuration without our entry: its former bytes where nobody touched it since."""
    if recorded is not None:
        untouched, before = former(text, recorded)
        if untouched:
            return before
    change = without_entry(text, path, client, key_too=recorded is not None and recorded.key)
    made = recorded is not None and recorded.before is None
    if made and change.after is not None and is_empty(change.after, path, client):
        return None
    return change.after


def _client(name: str) -> Client:
    if name not in CLIENTS:
        raise ConfigError(f"there is no client {name!r}", hint=f"Give --client with one of {', '.join(CLIENTS)}")
    return CLIENTS[name]


def _candidates(spot: Spot, client: Client) -> tuple[Path, ...]:
    if spot.project is None:
        return tuple(client.directory(spot.env, spot.platform) / name for name in client.names)
    if not client.project:
        raise ConfigError(f"{client.title} has no configuration of projects", hint="Leave --project away")
    return tuple(project_directory(spot.project) / name for name in client.project)


def _choose(spot: Spot, client: Client) -> Path:
    """The file to write to: the first that has our entry, else the first that there is, else the first."""
    files = {path: text_of(path) for path in _candidates(spot, client)}
    there = {path: text for path, text in files.items() if text is not None}
    having = (path for path, text in there.items() if holds_ours(text, path, client))
    return next(having, next(iter(there), next(iter(files))))
