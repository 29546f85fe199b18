"""OpenCode's configuration files: which one is meant, and how a plugin is put into its list and taken out again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hudkit.errors import ConfigError
from hudkit.hosts.installing.changes import Change
from hudkit.hosts.installing.directories import config_home, project_directory
from hudkit.hosts.installing.jsonc import Edit, Node, added, apply, blank, checked, member, object_of, removed, starts

GLOBAL = ("opencode.jsonc", "opencode.json", "config.json")
PROJECT = ("opencode.jsonc", "opencode.json", ".opencode/opencode.jsonc", ".opencode/opencode.json")
"""The names that OpenCode reads, in the order in which it prefers them itself."""

SCHEMA = "https://opencode.ai/config.json"
KEY = "plugin"


def user_directory(env: Mapping[str, str]) -> Path:
    """Where OpenCode keeps the user's configuration."""
    return config_home(env) / "opencode"


def candidates(env: Mapping[str, str], project: Path | None) -> tuple[Path, ...]:
    """The files in which a plugin can be listed, OpenCode's own preference first."""
    if project is not None:
        return tuple(project_directory(project) / name for name in PROJECT)
    return tuple(user_directory(env) / name for name in GLOBAL)


def choose(files: Mapping[Path, str | None]) -> Path:
    """The file to write to: the first that has plugins, else the first that there is, else the first.

    Raises `ConfigError` where one of them cannot be read.
    """
    there = {path: text for path, text in files.items() if text is not None}
    listing = (path for path, text in there.items() if text.strip() and member(object_of(text, str(path)), KEY))
    return next(listing, next(iter(there), next(iter(files))))


def listed(text: str, where: Path, plugin: str) -> bool:
    """Whether a configuration lists the plugin. Raises `ConfigError` where it cannot be read."""
    found = member(object_of(text, str(where)), KEY) if text.strip() else None
    return found is not None and _index(found.node, plugin) is not None


def with_plugin(text: str | None, where: Path, plugin: str) -> Change:
    """The configuration with the plugin at the end of its list; the same text where it has it already.

    Raises `ConfigError`: it cannot be read, or it has something else in the list's place.
    """
    entry = json.dumps(plugin)
    if text is None:
        return Change(None, f'{{\n  "$schema": "{SCHEMA}",\n  "{KEY}": [{entry}]\n}}\n')
    if blank(text):
        edit = Edit(len(text), "", f'{{\n  "{KEY}": [{entry}]\n}}\n')
        return Change(text, apply(text, [edit]), (edit,))
    root = object_of(text, str(where))
    found = member(root, KEY)
    if found is None:
        edits = added(text, root, f'"{KEY}": [{entry}]')
    elif _index(found.node, plugin) is not None:
        return Change(text, text)
    elif starts(text, found.node, "["):
        edits = added(text, found.node, entry)
    else:
        raise ConfigError(
            f'"{KEY}" in {where} is not a list', hint="It was left as it is; OpenCode wants a list there"
        )
    after = apply(text, edits)
    wanted = {**root.value, KEY: [*root.value.get(KEY, ()), plugin]}
    checked(after, wanted, str(where))
    return Change(text, after, edits)


def without_plugin(text: str, where: Path, plugin: str, *, key_too: bool = False) -> Change:
    """The configuration without the plugin, and (`key_too`) without the list where it is left empty.

    Raises `ConfigError` where it cannot be read.
    """
    root = object_of(text, str(where)) if not blank(text) else None
    found = member(root, KEY) if root else None
    index = _index(found.node, plugin) if found else None
    if root is None or found is None or index is None:
        return Change(text, text)
    whole = key_too and len(found.node.items) == 1
    left = [item.node.value for place, item in enumerate(found.node.items) if place != index]
    wanted = {name: value for name, value in root.value.items() if name != KEY} | ({} if whole else {KEY: left})
    if whole:
        edits = removed(text, root, root.items.index(found))
    else:
        edits = removed(text, found.node, index)
    after = apply(text, edits)
    checked(after, wanted, str(where))
    return Change(text, after, edits)


def is_empty(text: str, where: Path) -> bool:
    """Whether a configuration says nothing (but which schema it has)."""
    return blank(text) or set(object_of(text, str(where)).value) <= {"$schema"}


def _index(node: Node, plugin: str) -> int | None:
    """Where a list has the plugin, alone or with options (`[path, {...}]`)."""
    for index, item in enumerate(node.items):
        value: Any = item.node.value
        if value == plugin or (isinstance(value, list) and value[:1] == [plugin]):
            return index
    return None
