"""OpenCode's configuration files: which one is meant, and how a plugin is put into its list and taken out again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hudkit.errors import ConfigError
from hudkit.hosts.installing.config_files import ConfigChange
from hudkit.hosts.installing.jsonc import (
    JsonNode,
    TextEdit,
    apply_edits,
    check_edited,
    find_member,
    insertion_edits,
    is_blank,
    opens_with,
    parse_object,
    removal_edits,
)
from hudkit.hosts.installing.user_environment import config_home, project_directory

_USER_NAMES = ("opencode.jsonc", "opencode.json", "config.json")
_PROJECT_NAMES = ("opencode.jsonc", "opencode.json", ".opencode/opencode.jsonc", ".opencode/opencode.json")
"""The names that OpenCode reads, in the order in which it prefers them itself."""

_SCHEMA_URL = "https://opencode.ai/config.json"
PLUGIN_KEY = "plugin"


def user_directory(env: Mapping[str, str]) -> Path:
    """Where OpenCode keeps the user's configuration."""
    return config_home(env) / "opencode"


def config_candidates(env: Mapping[str, str], project: Path | None) -> tuple[Path, ...]:
    """The files in which a plugin can be listed, OpenCode's own preference first."""
    if project is not None:
        return tuple(project_directory(project) / name for name in _PROJECT_NAMES)
    return tuple(user_directory(env) / name for name in _USER_NAMES)


def choose_config(files: Mapping[Path, str | None]) -> Path:
    """The file to write to: the first that has plugins, else the first that there is, else the first.

    Raises `ConfigError` where one of them cannot be read.
    """
    there = {path: text for path, text in files.items() if text is not None}
    listing = (
        path
        for path, text in there.items()
        if text.strip() and find_member(parse_object(text, str(path)), PLUGIN_KEY)
    )
    return next(listing, next(iter(there), next(iter(files))))


def lists_plugin(text: str, where: Path, plugin: str) -> bool:
    """Whether a configuration lists the plugin. Raises `ConfigError` where it cannot be read."""
    found = find_member(parse_object(text, str(where)), PLUGIN_KEY) if text.strip() else None
    return found is not None and _index(found.node, plugin) is not None


def with_plugin(text: str | None, where: Path, plugin: str) -> ConfigChange:
    """The configuration with the plugin at the end of its list; the same text where it has it already.

    Raises `ConfigError`: it cannot be read, or it has something else in the list's place.
    """
    entry = json.dumps(plugin)
    if text is None:
        return ConfigChange(None, f'{{\n  "$schema": "{_SCHEMA_URL}",\n  "{PLUGIN_KEY}": [{entry}]\n}}\n')
    if is_blank(text):
        edit = TextEdit(len(text), "", f'{{\n  "{PLUGIN_KEY}": [{entry}]\n}}\n')
        return ConfigChange(text, apply_edits(text, [edit]), (edit,))
    root = parse_object(text, str(where))
    found = find_member(root, PLUGIN_KEY)
    if found is None:
        edits = insertion_edits(text, root, f'"{PLUGIN_KEY}": [{entry}]')
    elif _index(found.node, plugin) is not None:
        return ConfigChange(text, text)
    elif opens_with(text, found.node, "["):
        edits = insertion_edits(text, found.node, entry)
    else:
        raise ConfigError(
            f'"{PLUGIN_KEY}" in {where} is not a list', hint="It was left as it is; OpenCode wants a list there"
        )
    after = apply_edits(text, edits)
    wanted = {**root.value, PLUGIN_KEY: [*root.value.get(PLUGIN_KEY, ()), plugin]}
    check_edited(after, wanted, str(where))
    return ConfigChange(text, after, edits)


def without_plugin(text: str, where: Path, plugin: str, *, key_too: bool = False) -> ConfigChange:
    """The configuration without the plugin, and (`key_too`) without the list where it is left empty.

    Raises `ConfigError` where it cannot be read.
    """
    root = parse_object(text, str(where)) if not is_blank(text) else None
    found = find_member(root, PLUGIN_KEY) if root else None
    index = _index(found.node, plugin) if found else None
    if root is None or found is None or index is None:
        return ConfigChange(text, text)
    whole = key_too and len(found.node.items) == 1
    left = [item.node.value for place, item in enumerate(found.node.items) if place != index]
    wanted = {name: value for name, value in root.value.items() if name != PLUGIN_KEY} | (
        {} if whole else {PLUGIN_KEY: left}
    )
    if whole:
        edits = removal_edits(text, root, root.items.index(found))
    else:
        edits = removal_edits(text, found.node, index)
    after = apply_edits(text, edits)
    check_edited(after, wanted, str(where))
    return ConfigChange(text, after, edits)


def is_empty(text: str, where: Path) -> bool:
    """Whether a configuration says nothing (but which schema it has)."""
    return is_blank(text) or set(parse_object(text, str(where)).value) <= {"$schema"}


def _index(node: JsonNode, plugin: str) -> int | None:
    """Where a list has the plugin, alone or with options (`[path, {...}]`)."""
    for index, item in enumerate(node.items):
        value: Any = item.node.value
        if value == plugin or (isinstance(value, list) and value[:1] == [plugin]):
            return index
    return None
