"""One server's entry in a client's configuration, put in and taken out; everything else stays as it was written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hudkit.errors import ConfigError
from hudkit.hosts.installing.changes import Change
from hudkit.hosts.installing.jsonc import Edit, added, apply, blank, checked, member, object_of, removed, starts
from hudkit.hosts.mcp.clients import NAME, Client

_SAFELY = "is written in a way that cannot be edited safely"
_HEADER = re.compile(r"[ \t]*\[")
_TOKEN = re.compile(
    r"""#[^\n]*|"{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[\[\]{}\n]""", re.S
)
"""What of TOML tells where a statement ends: comments, texts, what opens or closes a list or table, a line's end."""


def with_entry(text: str | None, where: Path, client: Client, entry: dict[str, Any]) -> Change:
    """The configuration with our entry; the same text where it has it already.

    Raises `ConfigError`: it cannot be read, cannot be edited safely, or has another server of our name.
    """
    return _toml_with(text, where, client, entry) if client.toml else _json_with(text, where, client, entry)


def without_entry(text: str, where: Path, client: Client, *, key_too: bool = False) -> Change:
    """The configuration without our entry, and (`key_too`) without the object that held it where that is left empty.
    A server of our name that we did not write stays. Raises `ConfigError` where it cannot be read."""
    return _toml_without(text, where, client) if client.toml else _json_without(text, where, client, key_too)


def is_empty(text: str, where: Path, client: Client) -> bool:
    """Whether a configuration says nothing."""
    values = _parsed(text, where) if client.toml else {} if blank(text) else object_of(text, str(where)).value
    return not {name for name, value in values.items() if name != client.key or value}


def holds_ours(text: str, where: Path, client: Client) -> bool:
    """Whether a configuration has our entry. Raises `ConfigError` where it cannot be read."""
    return program(text, where, client) is not None


def program(text: str, where: Path, client: Client) -> str | None:
    """The interpreter that our entry starts; `None` where there is no entry of ours. Raises `ConfigError` where the
    configuration cannot be read."""
    values = _parsed(text, where) if client.toml else {} if blank(text) else object_of(text, str(where)).value
    servers = values.get(client.key)
    entry = servers.get(NAME) if isinstance(servers, dict) else None
    return _words(entry)[0] if _ours(entry) else None


def _ours(entry: object) -> bool:
    """Whether an entry starts this server, from whatever environment."""
    return _words(entry)[-3:] == ["-m", "hudkit", "mcp"]


def _words(entry: object) -> list[str]:
    if not isinstance(entry, dict):
        return []
    command, args = entry.get("command"), entry.get("args", [])
    words = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]
    return [str(one) for one in words]


def _taken(where: Path) -> ConfigError:
    return ConfigError(
        f'{where} has another server that is called "{NAME}"', hint="It was left as it is; give it another name"
    )


# -- JSON, with comments -----------------------------------------------------------------------------------------


def _json_with(text: str | None, where: Path, client: Client, entry: dict[str, Any]) -> Change:
    whole = json.dumps({client.key: {NAME: entry}}, indent=2) + "\n"
    if text is None:
        return Change(None, whole)
    if blank(text):
        edit = Edit(len(text), "", whole)
        return Change(text, apply(text, [edit]), (edit,))
    root = object_of(text, str(where))
    servers = member(root, client.key)
    line = f"{json.dumps(NAME)}: {json.dumps(entry)}"
    if servers is None:
        edits = added(text, root, f'"{client.key}": {{{line}}}')
    elif not starts(text, servers.node, "{"):
        raise ConfigError(f'"{client.key}" in {where} is not an object', hint="It was left as it is")
    else:
        ours = member(servers.node, NAME)
        if ours is None:
            edits = added(text, servers.node, line)
        elif ours.node.value == entry:
            return Change(text, text)
        elif not _ours(ours.node.value):
            raise _taken(where)
        else:
            edits = (Edit(ours.node.start, text[ours.node.start : ours.node.end], json.dumps(entry)),)
    after = apply(text, edits)
    held = root.value.get(client.key) or {}
    checked(after, {**root.value, client.key: {**held, NAME: entry}}, str(where))
    return Change(text, after, edits)


def _json_without(text: str, where: Path, client: Client, key_too: bool) -> Change:
    root = None if blank(text) else object_of(text, str(where))
    servers = member(root, client.key) if root else None
    ours = member(servers.node, NAME) if servers and starts(text, servers.node, "{") else None
    if root is None or servers is None or ours is None or not _ours(ours.node.value):
        return Change(text, text)
    left = {name: value for name, value in servers.node.value.items() if name != NAME}
    if key_too and not left:
        edits = removed(text, root, root.items.index(servers))
        wanted = {name: value for name, value in root.value.items() if name != client.key}
    else:
        edits = removed(text, servers.node, servers.node.items.index(ours))
        wanted = {**root.value, client.key: left}
    after = apply(text, edits)
    checked(after, wanted, str(where))
    return Change(text, after, edits)


# -- TOML --------------------------------------------------------------------------------------------------------


def _toml_with(text: str | None, where: Path, client: Client, entry: dict[str, Any]) -> Change:
    values = _parsed(text or "", where)
    servers = values.get(client.key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{client.key} in {where} is not a table", hint="It was left as it is")
    there = servers.get(NAME)
    if there == entry:
        return Change(text, text)
    if there is not None and not _ours(there):
        raise _taken(where)
    before = text or ""
    kept = _toml_cut(before, client) if there is not None else before
    eol = "\r\n" if "\r\n" in before else "\n"
    gap = "" if not kept.strip("\ufeff \t\r\n") else eol if kept.endswith("\n") else eol * 2
    table = [f"[{client.key}.{NAME}]", *(f"{name} = {_toml_value(value)}" for name, value in entry.items())]
    after = kept + gap + eol.join(table) + eol
    if _parsed(after, where, _SAFELY) != {**values, client.key: {**servers, NAME: entry}}:
        raise ConfigError(f"{where} {_SAFELY}", hint="It was left as it is")
    return Change(text, after, (_between(before, after),))


def _toml_without(text: str, where: Path, client: Client) -> Change:
    values = _parsed(text, where)
    servers = values.get(client.key)
    if not isinstance(servers, dict) or not _ours(servers.get(NAME)):
        return Change(text, text)
    after = _toml_cut(text, client)
    left = {name: value for name, value in servers.items() if name != NAME}
    wanted = {name: value for name, value in values.items() if name != client.key}
    found = _parsed(after, where, _SAFELY)
    if {client.key: {}, **found} != {**wanted, client.key: left}:
        raise ConfigError(f"{where} {_SAFELY}", hint="It was left as it is")
    return Change(text, after, (_between(text, after),))


def _toml_cut(text: str, client: Client) -> str:
    """The text without the lines of our table and those below it; comments behind them stay."""
    name = rf"[ \t]*\.[ \t]*[\"']?{NAME}[\"']?[ \t]*"
    ours = re.compile(rf"[ \t]*\[[ \t]*[\"']?{client.key}[\"']?{name}(?:\]|\.)")
    kept: list[str] = []
    held: list[str] = []  # comments and empty lines, of which the next line says whose they are
    within = False
    for line in _statements(text):
        if _HEADER.match(line):
            now = ours.match(line) is not None
            if now and not within and kept and not kept[-1].strip():
                kept.pop()
            if not now:
                kept += held
            within, held = now, []
        if not within:
            kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            held.append(line)
        else:
            held = []
    return "".join(kept + held)


def _statements(text: str) -> Iterator[str]:
    """The lines of a document, those of one value together, with their ends."""
    depth = start = 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("[", "{"):
            depth += 1
        elif token[0] in ("]", "}"):
            depth -= 1
        elif token[0] == "\n" and depth == 0:
            yield text[start : token.end()]
            start = token.end()
    if start < len(text):
        yield text[start:]


def _parsed(text: str, where: Path, wrong: str = "") -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        what = wrong or f"cannot be read ({error})"
        raise ConfigError(f"{where} {what}", hint="It was left as it is") from None


def _toml_value(value: object) -> str:
    """A value as TOML; texts as in JSON, which TOML reads the same."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml_value(held)}" for key, held in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml_value(held) for held in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _between(before: str, after: str) -> Edit:
    """The one edit that leads from a text to another."""
    most = min(len(before), len(after))
    start = next((at for at in range(most) if before[at] != after[at]), most)
    same = next((n for n in range(most - start) if before[-1 - n] != after[-1 - n]), most - start)
    return Edit(start, before[start : len(before) - same], after[start : len(after) - same])
