"""Installing the plugin into OpenCode, and taking it out so that everything is as it was before.

What was changed is in a manifest beside the data (`install/opencode.json`): for each configuration file the digests
before and after, and the inserted text. A file that nobody touched since gets back its former bytes; from another one
our entry is taken out, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from hudkit import __version__
from hudkit.errors import ConfigError
from hudkit.hosts.installing import interpreter, manifest
from hudkit.hosts.installing.changes import Change, Step, Touched, former, make, put, step, text_of, touched
from hudkit.hosts.installing.interpreter import Needs
from hudkit.hosts.installing.writing import remove, write
from hudkit.hosts.opencode import settings
from hudkit.hosts.opencode.plugin import Baked, generate

PLUGIN = Path("plugins", "opencode", "hudkit.js")
MANIFEST = Path("install", "opencode.json")
SCHEMA = 1

DAEMON = Needs(("hudkit", "starlette", "uvicorn"), "daemon")
"""What the plugin starts, and what that imports."""


class Place(msgspec.Struct, frozen=True):
    """Where to install: the interpreter and its environment (`None`: it is not asked whether that will stay), our
    data, log and socket, the variables of the user, and the project's directory (`None`: for all of the user's)."""

    python: str
    prefix: Path | None
    data: Path
    db: Path
    socket: Path
    env: Mapping[str, str]
    project: Path | None = None

    @property
    def plugin(self) -> Path:
        return self.data / PLUGIN

    @property
    def manifest(self) -> Path:
        return self.data / MANIFEST


class Manifest(msgspec.Struct, frozen=True):
    """What was installed, by which version."""

    schema: int = SCHEMA
    version: str = __version__
    plugin: str = ""
    configurations: tuple[Touched, ...] = ()


def install(place: Place, *, dry_run: bool = False) -> tuple[Step, ...]:
    """Write the plugin and list it in OpenCode's configuration; doing it again changes nothing more.

    Raises `ConfigError` before anything is written: the environment will not stay, a configuration cannot be read.
    """
    interpreter.check(place.python, place.prefix, place.env, DAEMON)
    plugin = str(place.plugin)
    known = manifest.read(place.manifest, Manifest)
    if known.plugin not in ("", plugin):
        raise ConfigError(f"hudkit is installed from {known.plugin}", hint="Uninstall that one first")
    baked = Baked(place.python, str(place.data), str(place.db), str(place.socket), plugin)
    source = generate(baked)
    files = _read(place)
    listing = (path for path, text in files.items() if text is not None and settings.listed(text, path, plugin))
    config = next(listing, None) or settings.choose(files)
    change = settings.with_plugin(files[config], config, plugin)
    old = text_of(place.plugin)
    steps = (step(place.plugin, Change(old, source)), step(config, change))
    if dry_run:
        return steps
    if old != source:
        write(place.plugin, source.encode("utf-8"))
    others = tuple(one for one in known.configurations if one.file != str(config))
    if change.before != change.after:
        # The manifest comes first: what a crash leaves behind in the configuration can then still be taken out.
        kept = touched(config, change, key=any(f'"{settings.KEY}": [' in edit.new for edit in change.edits))
        manifest.keep(place.manifest, Manifest(plugin=plugin, configurations=(*others, kept)))
        make(config, change, mode=0o644 if place.project else 0o600)
    elif not known.plugin:
        manifest.keep(place.manifest, Manifest(plugin=plugin))
    return steps


def uninstall(place: Place, *, dry_run: bool = False) -> tuple[Step, ...]:
    """Take the plugin out of the configuration of the user (or of the project), and remove it where no other
    configuration lists it. Without an installation nothing happens, and nothing is returned.

    Raises `ConfigError` where a configuration cannot be read; nothing is changed then.
    """
    known = manifest.read(place.manifest, Manifest)
    plugin = known.plugin or str(place.plugin)
    recorded = {one.file: one for one in known.configurations}
    files = _read(place)
    changes = {
        path: Change(text, _without(path, text, plugin, recorded.get(str(path))))
        for path, text in files.items()
        if text is not None
    }
    changes = {path: change for path, change in changes.items() if change.before != change.after}
    here = {str(path) for path in files}
    left = tuple(one for one in known.configurations if one.file not in here and _still_lists(one, plugin))
    gone = [] if left else [one for one in (Path(plugin), place.manifest) if one.exists()]
    steps = (*(step(path, change) for path, change in changes.items()), *(Step(str(one), "remove") for one in gone))
    if dry_run:
        return steps
    for path, change in changes.items():
        made = recorded[str(path)].made if str(path) in recorded else ""
        put(path, change.after, made=Path(made) if made else None)
    if left:
        manifest.keep(place.manifest, Manifest(plugin=plugin, configurations=left))
    for one in gone:
        remove(one, upto=place.data)
    return steps


def installed(place: Place) -> Manifest | None:
    """What is installed from this data directory; `None` where nothing is."""
    return manifest.read(place.manifest, Manifest) if place.manifest.exists() else None


def _without(path: Path, text: str, plugin: str, recorded: Touched | None) -> str | None:
    """A configuration without our entry: its former bytes where nobody touched it since."""
    if recorded is not None:
        untouched, before = former(text, recorded)
        if untouched:
            return before
    change = settings.without_plugin(text, path, plugin, key_too=recorded is not None and recorded.key)
    made = recorded is not None and recorded.before is None
    if made and change.after is not None and settings.is_empty(change.after, path):
        return None
    return change.after


def _still_lists(one: Touched, plugin: str) -> bool:
    path = Path(one.file)
    text = text_of(path)
    return text is not None and settings.listed(text, path, plugin)


def _read(place: Place) -> dict[Path, str | None]:
    return {path: text_of(path) for path in settings.candidates(place.env, place.project)}
