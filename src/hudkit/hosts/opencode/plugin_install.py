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
    write_file,
    write_or_remove,
)
from hudkit.hosts.installing.user_environment import RuntimeNeeds
from hudkit.hosts.opencode import plugin_config
from hudkit.hosts.opencode.plugin import PluginPaths, generate_plugin

_PLUGIN_FILE = Path("plugins", "opencode", "hudkit.js")
_MANIFEST_FILE = Path("install", "opencode.json")
_MANIFEST_SCHEMA = 1

DAEMON_NEEDS = RuntimeNeeds(("hudkit", "starlette", "uvicorn"), "daemon")
"""What the plugin starts, and what that imports."""


class PluginTarget(msgspec.Struct, frozen=True):
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
        return self.data / _PLUGIN_FILE

    @property
    def manifest(self) -> Path:
        return self.data / _MANIFEST_FILE


class PluginManifest(msgspec.Struct, frozen=True):
    """What was installed, by which version."""

    schema: int = _MANIFEST_SCHEMA
    version: str = __version__
    plugin: str = ""
    configurations: tuple[FileChangeRecord, ...] = ()


def install(place: PluginTarget, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Write the plugin and list it in OpenCode's configuration; doing it again changes nothing more.

    Raises `ConfigError` before anything is written: the environment will not stay, a configuration cannot be read.
    """
    user_environment.check_interpreter(place.python, place.prefix, place.env, DAEMON_NEEDS)
    plugin = str(place.plugin)
    known = config_files.read_manifest(place.manifest, PluginManifest)
    if known.plugin not in ("", plugin):
        raise ConfigError(f"hudkit is installed from {known.plugin}", hint="Uninstall that one first")
    baked = PluginPaths(place.python, str(place.data), str(place.db), str(place.socket), plugin)
    source = generate_plugin(baked)
    files = _read(place)
    listing = (
        path for path, text in files.items() if text is not None and plugin_config.lists_plugin(text, path, plugin)
    )
    config = next(listing, None) or plugin_config.choose_config(files)
    change = plugin_config.with_plugin(files[config], config, plugin)
    old = read_text(place.plugin)
    steps = (describe_change(place.plugin, ConfigChange(old, source)), describe_change(config, change))
    if dry_run:
        return steps
    if old != source:
        write_file(place.plugin, source.encode("utf-8"))
    others = tuple(one for one in known.configurations if one.file != str(config))
    if change.before != change.after:
        # The manifest comes first: what a crash leaves behind in the configuration can then still be taken out.
        kept = record_change(
            config, change, key=any(f'"{plugin_config.PLUGIN_KEY}": [' in edit.new for edit in change.edits)
        )
        config_files.write_manifest(place.manifest, PluginManifest(plugin=plugin, configurations=(*others, kept)))
        apply_change(config, change, mode=0o644 if place.project else 0o600)
    elif not known.plugin:
        config_files.write_manifest(place.manifest, PluginManifest(plugin=plugin))
    return steps


def uninstall(place: PluginTarget, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Take the plugin out of the configuration of the user (or of the project), and remove it where no other
    configuration lists it. Without an installation nothing happens, and nothing is returned.

    Raises `ConfigError` where a configuration cannot be read; nothing is changed then.
    """
    known = config_files.read_manifest(place.manifest, PluginManifest)
    plugin = known.plugin or str(place.plugin)
    recorded = {one.file: one for one in known.configurations}
    files = _read(place)
    changes = {
        path: ConfigChange(text, _without(path, text, plugin, recorded.get(str(path))))
        for path, text in files.items()
        if text is not None
    }
    changes = {path: change for path, change in changes.items() if change.before != change.after}
    here = {str(path) for path in files}
    left = tuple(one for one in known.configurations if one.file not in here and _still_lists(one, plugin))
    gone = [] if left else [one for one in (Path(plugin), place.manifest) if one.exists()]
    steps = (
        *(describe_change(path, change) for path, change in changes.items()),
        *(InstallStep(str(one), "remove") for one in gone),
    )
    if dry_run:
        return steps
    for path, change in changes.items():
        made = recorded[str(path)].made if str(path) in recorded else ""
        write_or_remove(path, change.after, made=Path(made) if made else None)
    if left:
        config_files.write_manifest(place.manifest, PluginManifest(plugin=plugin, configurations=left))
    for one in gone:
        remove_file(one, upto=place.data)
    return steps


def read_installed(place: PluginTarget) -> PluginManifest | None:
    """What is installed from this data directory; `None` where nothing is."""
    return config_files.read_manifest(place.manifest, PluginManifest) if place.manifest.exists() else None


def _without(path: Path, text: str, plugin: str, recorded: FileChangeRecord | None) -> str | None:
    """A configuration without our entry: its former bytes where nobody touched it since."""
    if recorded is not None:
        untouched, before = original_text(text, recorded)
        if untouched:
            return before
    change = plugin_config.without_plugin(text, path, plugin, key_too=recorded is not None and recorded.key)
    made = recorded is not None and recorded.before is None
    if made and change.after is not None and plugin_config.is_empty(change.after, path):
        return None
    return change.after


def _still_lists(one: FileChangeRecord, plugin: str) -> bool:
    path = Path(one.file)
    text = read_text(path)
    return text is not None and plugin_config.lists_plugin(text, path, plugin)


def _read(place: PluginTarget) -> dict[Path, str | None]:
    return {path: read_text(path) for path in plugin_config.config_candidates(place.env, place.project)}
