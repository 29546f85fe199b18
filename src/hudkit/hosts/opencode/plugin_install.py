"""Installing the plugin into OpenCode, and taking it out so that everything is as it was before.

What was changed is in a manifest beside the data (`install/opencode.json`): for each configuration file the digests
before and after, and the inserted text. A file that nobody touched since gets back its former bytes; from another one
our entry is taken out, and nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
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
    NotWritable,
    apply_change,
    describe_change,
    original_text,
    read_text,
    record_change,
    remove_file,
    write_file,
    write_or_remove,
)
from hudkit.hosts.installing.jsonc import (
    JsonNode,
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
from hudkit.hosts.installing.user_environment import DAEMON_NEEDS, config_home, project_directory
from hudkit.hosts.opencode.plugin import PluginPaths, generate_plugin, read_paths
from hudkit.hosts.wire import newer

_PLUGIN_FILE = Path("plugins", "opencode", "hudkit.js")
_MANIFEST_FILE = Path("install", "opencode.json")
_MANIFEST_SCHEMA = 1


class PluginTarget(msgspec.Struct, frozen=True):
    """Where to install: the interpreter and its environment (`None`: it is not asked whether that will stay), our
    data, log and socket, the variables of the user, the project's directory (`None`: for all of the user's), and the
    generations of OpenCode's plugins that are loaded here."""

    python: str
    prefix: Path | None
    data: Path
    db: Path
    socket: Path
    env: Mapping[str, str]
    project: Path | None = None
    generations: frozenset[int] = frozenset({1})

    @property
    def loader(self) -> Path:
        """Return the file by which OpenCode 2 finds the plugin: it loads no file that its configuration names."""
        folder = user_directory(self.env) if self.project is None else project_directory(self.project) / ".opencode"
        return folder / "plugins" / "hudkit.js"

    @property
    def plugin(self) -> Path:
        """Return the file that the plugin is written to."""
        return self.data / _PLUGIN_FILE

    @property
    def manifest(self) -> Path:
        """Return the file that lists what was installed."""
        return self.data / _MANIFEST_FILE


class PluginManifest(msgspec.Struct, frozen=True):
    """What was installed, by which version."""

    schema: int = _MANIFEST_SCHEMA
    version: str = __version__
    plugin: str = ""
    configurations: tuple[FileChangeRecord, ...] = ()


def install(place: PluginTarget, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Write the plugin, list it in OpenCode's configuration and return the steps.

    Doing it again changes nothing more.

    Raises `ConfigError` before anything is written: the environment will not stay, a configuration cannot be read.
    """
    user_environment.check_interpreter(place.python, place.prefix, place.env, DAEMON_NEEDS)
    plugin = str(place.plugin)
    manifest = config_files.read_manifest(place.manifest, PluginManifest)
    if manifest.plugin not in ("", plugin):
        raise ConfigError(f"hudkit is installed from {manifest.plugin}", hint="Uninstall that one first")
    baked = PluginPaths(place.python, str(place.data), str(place.db), str(place.socket), plugin)
    source = generate_plugin(baked)
    if 2 in place.generations:
        return _install_loader(place, manifest, source, dry_run=dry_run)
    files = _read(place)
    listing = (path for path, text in files.items() if text is not None and lists_plugin(text, path, plugin))
    config = next(listing, None) or _choose_config(files)
    change = with_plugin(files[config], config, plugin)
    old = read_text(place.plugin)
    listed = describe_change(config, change)
    steps = (
        describe_change(place.plugin, ConfigChange(old, source)),
        msgspec.structs.replace(listed, hint=_repository_hint(config) if listed.what != "keep" else ""),
    )
    if dry_run:
        return steps
    config_files.note_data_directory(place.data)
    if old != source:
        write_file(place.plugin, source.encode("utf-8"))
    others = tuple(record for record in manifest.configurations if record.file != str(config))
    if change.before != change.after:
        # The manifest comes first: what a crash leaves behind in the configuration can then still be taken out.
        record = record_change(config, change, key=any(f'"{PLUGIN_KEY}": [' in edit.new for edit in change.edits))
        config_files.write_manifest(place.manifest, PluginManifest(plugin=plugin, configurations=(*others, record)))
        try:
            apply_change(config, change, mode=0o644 if place.project else 0o600)
        except ConfigError as error:
            _take_back(place, old, manifest)
            if isinstance(error, NotWritable):
                hint = f'Nothing is left behind. Add {json.dumps(plugin)} to its list "{PLUGIN_KEY}" where it is made'
                raise NotWritable(error.message, hint=f"{hint}, then run this again for the plugin itself") from None
            raise
    elif not manifest.plugin:
        config_files.write_manifest(place.manifest, PluginManifest(plugin=plugin))
    return steps


def _install_loader(
    place: PluginTarget, manifest: PluginManifest, source: str, *, dry_run: bool
) -> tuple[InstallStep, ...]:
    """Write the plugin and the loader file, which both generations load, and take our entry out of configurations.

    With both, OpenCode 1 would load the plugin twice.
    """
    plugin, loader = str(place.plugin), place.loader
    text = f"{_LOADER_MARK}\nexport {{ default }} from {json.dumps(place.plugin.as_uri())};\n"
    old = {path: read_text(path) for path in (place.plugin, loader)}
    other = old[loader]
    if other is not None and not other.startswith(_LOADER_MARK):
        raise ConfigError(f"{loader} is not ours", hint="Give that plugin another name")
    recorded = {record.file: record for record in manifest.configurations}
    entries = {
        path: ConfigChange(body, _without(path, body, plugin, recorded.get(str(path))))
        for path, body in _read(place).items()
        if body is not None and lists_plugin(body, path, plugin)
    }
    change = ConfigChange(other, text)
    steps = (
        describe_change(place.plugin, ConfigChange(old[place.plugin], source)),
        describe_change(loader, change),
        *(describe_change(path, entry) for path, entry in entries.items()),
    )
    if dry_run:
        return steps
    config_files.note_data_directory(place.data)
    if old[place.plugin] != source:
        write_file(place.plugin, source.encode("utf-8"))
    record = recorded.get(str(loader)) or record_change(loader, ConfigChange(None, text), key=False)
    others = tuple(each for name, each in recorded.items() if name not in (str(loader), *map(str, entries)))
    config_files.write_manifest(place.manifest, PluginManifest(plugin=plugin, configurations=(*others, record)))
    apply_change(loader, change)
    for path, entry in entries.items():
        write_or_remove(path, entry.after)
    return steps


_LOADER_MARK = "// `hudkit install opencode` writes this file; `hudkit uninstall opencode` removes it."


def _take_back(place: PluginTarget, old: str | None, manifest: PluginManifest) -> None:
    """Make our own files as they were before an installation that the configuration's file did not allow."""
    write_or_remove(place.plugin, old, made_directory=place.data)
    if manifest.plugin:
        config_files.write_manifest(place.manifest, manifest)
    else:
        remove_file(place.manifest, upto=place.data)
    config_files.remove_data_directory(place.data)


def _repository_hint(config: Path) -> str:
    """Return what to know of a configuration that is a link into a git repository; empty where it is none."""
    real = Path(os.path.realpath(config))
    repository = project_directory(real.parent)
    if real == config.absolute() or not (repository / ".git").exists():
        return ""
    return (
        f"{real} is in the repository {repository}: the entry names a file of this machine (elsewhere it is ignored)"
    )


def uninstall(place: PluginTarget, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Take the plugin out of the configuration of the user (or of the project), and remove it where no other
    configuration lists it. Without an installation nothing happens, and nothing is returned.

    Raises `ConfigError` where a configuration cannot be read; nothing is changed then.
    """
    manifest = config_files.read_manifest(place.manifest, PluginManifest)
    plugin = manifest.plugin or str(place.plugin)
    recorded = {record.file: record for record in manifest.configurations}
    files = {**_read(place), place.loader: read_text(place.loader)}
    changes = {
        path: ConfigChange(text, _without(path, text, plugin, recorded.get(str(path))))
        for path, text in files.items()
        if text is not None
    }
    changes = {path: change for path, change in changes.items() if change.before != change.after}
    here = {str(path) for path in files}
    left = tuple(
        record for record in manifest.configurations if record.file not in here and _still_lists(record, plugin)
    )
    gone = [] if left else [path for path in (Path(plugin), place.manifest) if path.exists()]
    steps = (
        *(describe_change(path, change) for path, change in changes.items()),
        *(InstallStep(str(path), "remove") for path in gone),
    )
    if dry_run:
        return steps
    for path, change in changes.items():
        made_directory = recorded[str(path)].made_directory if str(path) in recorded else ""
        try:
            write_or_remove(path, change.after, made_directory=Path(made_directory) if made_directory else None)
        except NotWritable as error:
            hint = f'Take {json.dumps(plugin)} out of its list "{PLUGIN_KEY}" where it is made, then run this again'
            raise NotWritable(error.message, hint=hint) from None
    if left:
        config_files.write_manifest(place.manifest, PluginManifest(plugin=plugin, configurations=left))
    for leftover in gone:
        remove_file(leftover, upto=place.data)
    if gone:
        config_files.remove_data_directory(place.data)
    return steps


def renew_plugin(data: Path, python: str) -> Path | None:
    """Write the installed plugin anew where it is of an older version and starts this interpreter; return its file.

    An upgrade of the package leaves the plugin as it was. `None` where there is nothing to do. Raises `ConfigError`
    where the manifest cannot be read, `OSError` where the plugin cannot be written.
    """
    manifest = config_files.read_manifest(data / _MANIFEST_FILE, PluginManifest)
    file = Path(manifest.plugin)
    text = read_text(file) if manifest.plugin else None
    baked = read_paths(text) if text is not None else None
    if baked is None:
        return None
    places, version = baked
    if places.python != python or not newer(__version__, version):
        return None
    write_file(file, generate_plugin(places).encode("utf-8"))
    return file


def read_installed(place: PluginTarget) -> PluginManifest | None:
    """Return what is installed from this data directory; `None` where nothing is."""
    return config_files.read_manifest(place.manifest, PluginManifest) if place.manifest.exists() else None


def _without(path: Path, text: str, plugin: str, recorded: FileChangeRecord | None) -> str | None:
    """Return a configuration without our entry: its former bytes where nobody touched it since."""
    if path.suffix == ".js":
        return None if lists_plugin(text, path, plugin) else text
    if recorded is not None:
        untouched, before = original_text(text, recorded)
        if untouched:
            return before
    change = without_plugin(text, path, plugin, key_too=recorded is not None and recorded.key)
    created_by_us = recorded is not None and recorded.before is None
    if created_by_us and change.after is not None and _is_empty(change.after, path):
        return None
    return change.after


def _still_lists(record: FileChangeRecord, plugin: str) -> bool:
    path = Path(record.file)
    text = read_text(path)
    return text is not None and lists_plugin(text, path, plugin)


def _read(place: PluginTarget) -> dict[Path, str | None]:
    return {path: read_text(path) for path in config_candidates(place.env, place.project)}


# --- OpenCode's configuration files: which one is meant, and how a plugin is put into its list and taken out.


_USER_NAMES = ("opencode.jsonc", "opencode.json", "config.json")
_PROJECT_NAMES = ("opencode.jsonc", "opencode.json", ".opencode/opencode.jsonc", ".opencode/opencode.json")
"""The names that OpenCode reads, in the order in which it prefers them itself."""

_SCHEMA_URL = "https://opencode.ai/config.json"
PLUGIN_KEY = "plugin"


def user_directory(env: Mapping[str, str]) -> Path:
    """Return where OpenCode keeps the user's configuration."""
    return config_home(env) / "opencode"


def config_candidates(env: Mapping[str, str], project: Path | None) -> tuple[Path, ...]:
    """Return the files in which a plugin can be listed, OpenCode's own preference first."""
    if project is not None:
        return tuple(project_directory(project) / name for name in _PROJECT_NAMES)
    return tuple(user_directory(env) / name for name in _USER_NAMES)


def _choose_config(files: Mapping[Path, str | None]) -> Path:
    """Return the file to write to: the first that has plugins, else the first that there is, else the first.

    Raises `ConfigError` where one of them cannot be read.
    """
    there = {path: text for path, text in files.items() if text is not None}
    listing = (
        path
        for path, text in there.items()
        if not is_blank(text) and find_member(parse_object(text, str(path)), PLUGIN_KEY)
    )
    return next(listing, next(iter(there), next(iter(files))))


def lists_plugin(text: str, where: Path, plugin: str) -> bool:
    """Return whether a configuration, or a loader file, names the plugin.

    Raises `ConfigError` where it cannot be read.
    """
    if where.suffix == ".js":
        return text.startswith(_LOADER_MARK) and Path(plugin).as_uri() in text
    plugins = None if is_blank(text) else find_member(parse_object(text, str(where)), PLUGIN_KEY)
    return plugins is not None and _index(plugins.node, plugin) is not None


def with_plugin(text: str | None, where: Path, plugin: str) -> ConfigChange:
    """Return the configuration with the plugin at the end of its list; the same text where it has it already.

    Raises `ConfigError`: it cannot be read, or it has something else in the list's place.
    """
    entry = json.dumps(plugin)
    if text is None:
        return ConfigChange(None, f'{{\n  "$schema": "{_SCHEMA_URL}",\n  "{PLUGIN_KEY}": [{entry}]\n}}\n')
    if is_blank(text):
        edit = object_edit(text, f'"{PLUGIN_KEY}": [{entry}]')
        return ConfigChange(text, apply_edits(text, [edit]), (edit,))
    root = parse_object(text, str(where))
    plugins = find_member(root, PLUGIN_KEY)
    if plugins is None:
        edits = insertion_edits(text, root, f'"{PLUGIN_KEY}": [{entry}]')
    elif _index(plugins.node, plugin) is not None:
        return ConfigChange(text, text)
    elif opens_with(text, plugins.node, "["):
        edits = insertion_edits(text, plugins.node, entry)
    else:
        raise ConfigError(
            f'"{PLUGIN_KEY}" in {where} is not a list', hint="It was left as it is; OpenCode wants a list there"
        )
    after = apply_edits(text, edits)
    wanted = {**root.value, PLUGIN_KEY: [*root.value.get(PLUGIN_KEY, ()), plugin]}
    check_edited(after, wanted, str(where))
    return ConfigChange(text, after, edits)


def without_plugin(text: str, where: Path, plugin: str, *, key_too: bool = False) -> ConfigChange:
    """Return the configuration without the plugin, and (`key_too`) without the list where it is left empty.

    Raises `ConfigError` where it cannot be read.
    """
    root = parse_object(text, str(where)) if not is_blank(text) else None
    plugins = find_member(root, PLUGIN_KEY) if root else None
    index = _index(plugins.node, plugin) if plugins else None
    if root is None or plugins is None or index is None:
        return ConfigChange(text, text)
    whole = key_too and len(plugins.node.items) == 1
    left = [item.node.value for place, item in enumerate(plugins.node.items) if place != index]
    wanted = {name: value for name, value in root.value.items() if name != PLUGIN_KEY} | (
        {} if whole else {PLUGIN_KEY: left}
    )
    if whole:
        edits = removal_edits(text, root, root.items.index(plugins))
    else:
        edits = removal_edits(text, plugins.node, index)
    after = apply_edits(text, edits)
    check_edited(after, wanted, str(where))
    return ConfigChange(text, after, edits)


def _is_empty(text: str, where: Path) -> bool:
    """Return whether a configuration says nothing (but which schema it has)."""
    return is_blank(text) or set(parse_object(text, str(where)).value) <= {"$schema"}


def _index(node: JsonNode, plugin: str) -> int | None:
    """Return where a list has the plugin, alone or with options (`[path, {...}]`)."""
    for index, item in enumerate(node.items):
        value: Any = item.node.value
        if value == plugin or (isinstance(value, list) and value[:1] == [plugin]):
            return index
    return None
