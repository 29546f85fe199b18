"""OpenCode's configuration files: which one is meant, and how a plugin is put into its list and taken out again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hudkit.errors import ConfigError
from hudkit.hosts.opencode.jsonc import Edit, Node, added, apply, inverse, member, parse, removed

GLOBAL = ("opencode.jsonc", "opencode.json", "config.json")
PROJECT = ("opencode.jsonc", "opencode.json", ".opencode/opencode.jsonc", ".opencode/opencode.json")
"""The names that OpenCode reads, in the order in which it prefers them itself."""

SCHEMA = "https://opencode.ai/config.json"
KEY = "plugin"


class Change(msgspec.Struct, frozen=True):
    """A configuration's text before and after (`None`: no file), and the edits that lead from one to the other."""

    before: str | None
    after: str | None
    edits: tuple[Edit, ...] = ()


def user_directory(env: Mapping[str, str]) -> Path:
    """Where OpenCode keeps the user's configuration."""
    named = env.get("XDG_CONFIG_HOME")
    return (Path(named) if named else Path(env.get("HOME") or Path.home()) / ".config") / "opencode"


def project_directory(start: Path) -> Path:
    """The project of a directory: its git root, else itself."""
    return next((place for place in (start, *start.parents) if (place / ".git").exists()), start)


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
    listing = (path for path, text in there.items() if text.strip() and member(_object(text, path), KEY))
    return next(listing, next(iter(there), next(iter(files))))


def listed(text: str, where: Path, plugin: str) -> bool:
    """Whether a configuration lists the plugin. Raises `ConfigError` where it cannot be read."""
    found = member(_object(text, where), KEY) if text.strip() else None
    return found is not None and _index(found.node, plugin) is not None


def with_plugin(text: str | None, where: Path, plugin: str) -> Change:
    """The configuration with the plugin at the end of its list; the same text where it has it already.

    Raises `ConfigError`: it cannot be read, or it has something else in the list's place.
    """
    entry = json.dumps(plugin)
    if text is None:
        return Change(None, f'{{\n  "$schema": "{SCHEMA}",\n  "{KEY}": [{entry}]\n}}\n')
    if not text.strip("\ufeff \t\r\n"):
        edit = Edit(len(text), "", f'{{\n  "{KEY}": [{entry}]\n}}\n')
        return Change(text, apply(text, [edit]), (edit,))
    root = _object(text, where)
    found = member(root, KEY)
    if found is None:
        edits = added(text, root, f'"{KEY}": [{entry}]')
    elif _index(found.node, plugin) is not None:
        return Change(text, text)
    elif _starts(text, found.node, "["):
        edits = added(text, found.node, entry)
    else:
        raise ConfigError(
            f'"{KEY}" in {where} is not a list', hint="It was left as it is; OpenCode wants a list there"
        )
    after = apply(text, edits)
    wanted = {**root.value, KEY: [*root.value.get(KEY, ()), plugin]}
    _check(after, wanted, where)
    return Change(text, after, edits)


def without_plugin(text: str, where: Path, plugin: str, *, key_too: bool = False) -> Change:
    """The configuration without the plugin, and (`key_too`) without the list where it is left empty.

    Raises `ConfigError` where it cannot be read.
    """
    root = _object(text, where) if text.strip("\ufeff \t\r\n") else None
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
    _check(after, wanted, where)
    return Change(text, after, edits)


def undone(text: str, edits: tuple[Edit, ...]) -> str:
    """The text before `edits`. Raises `ValueError` where it is not the text that they made."""
    return apply(text, inverse(edits))


def is_empty(text: str, where: Path) -> bool:
    """Whether a configuration says nothing (but which schema it has)."""
    return not text.strip("\ufeff \t\r\n") or set(_object(text, where).value) <= {"$schema"}


def decoded(body: bytes, where: Path) -> str:
    """A file's text. Raises `ConfigError` where it is not UTF-8."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{where} cannot be read: byte {error.start} is not UTF-8", hint="It was left as it is"
        ) from None


def _object(text: str, where: Path) -> Node:
    root = parse(text, str(where))
    if not _starts(text, root, "{"):
        raise ConfigError(f"{where} does not hold an object", hint="It was left as it is")
    return root


def _starts(text: str, node: Node, first: str) -> bool:
    return text[node.start] == first


def _index(node: Node, plugin: str) -> int | None:
    """Where a list has the plugin, alone or with options (`[path, {...}]`)."""
    for index, item in enumerate(node.items):
        value: Any = item.node.value
        if value == plugin or (isinstance(value, list) and value[:1] == [plugin]):
            return index
    return None


def _check(after: str, wanted: dict[str, Any], where: Path) -> None:
    """What was made says what was meant, and everything else as before."""
    if parse(after, str(where)).value != wanted:
        raise ConfigError(f"{where} is written in a way that cannot be edited safely", hint="It was left as it is")
