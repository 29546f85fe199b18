"""Tables and keys put into a configuration in TOML, and taken out; everything else stays as it was written.

A table of ours is written at the end, under a header of its own; a key of ours stands alone at the beginning, before
the first table. What comes of an edit is parsed, and must say what was meant: else nothing is written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from hudkit.errors import ConfigError
from hudkit.hosts.installing.config_files import ConfigChange
from hudkit.hosts.installing.jsonc import TextEdit

TablePath = tuple[str, ...]
"""The names that lead to a table, as in its header."""

_SAFELY = "is written in a way that cannot be edited safely"
_HEADER = re.compile(r"[ \t]*\[")
_TOKEN = re.compile(
    r"""#[^\n]*|"{3}(?:\\.?|[^\\])*?(?:"{3,5}|\Z)|'{3}.*?(?:'{3,5}|\Z)|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?|[\[\]{}\n]""",
    re.S,
)
"""What of TOML tells where a statement ends: comments, texts, what opens or closes a list or table, a line's end.
A text without an end goes on to where it could have one, so that each letter is read once."""


def parse_toml(text: str, where: Path, wrong: str = "") -> dict[str, Any]:
    """Return what a configuration says. Raises `ConfigError` where it cannot be read; `wrong` says so otherwise."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        what = wrong or f"cannot be read ({error})"
        raise ConfigError(f"{where} {what}", hint="It was left as it is") from None


def table_at(values: Mapping[str, Any], path: TablePath) -> Any:
    """Return what stands at a path of what a configuration says; `None` where nothing does."""
    value: Any = values
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def with_table(text: str | None, where: Path, path: TablePath, table: Mapping[str, Any]) -> ConfigChange:
    """Return the configuration with a table, in the place of one that is there; the same text where it has it.

    Raises `ConfigError` where it cannot be read, or cannot be edited safely.
    """
    before = text or ""
    values = parse_toml(before, where)
    there = table_at(values, path)
    if there == table:
        return ConfigChange(text, text)
    rest = before if there is None else _cut(before, {path})
    eol = "\r\n" if "\r\n" in before else "\n"
    gap = "" if not rest.strip("\ufeff \t\r\n") else eol if rest.endswith("\n") else eol * 2
    header = ".".join(name if re.fullmatch(r"[\w-]+", name) else json.dumps(name) for name in path)
    lines = [f"[{header}]", *(f"{name} = {_value(value)}" for name, value in table.items())]
    after = rest + gap + eol.join(lines) + eol
    return _checked(text, after, _put(values, path, dict(table)), where)


def without_tables(text: str, where: Path, paths: Collection[TablePath]) -> ConfigChange:
    """Return the configuration without the tables at `paths` and those below them; comments behind them stay.

    Raises `ConfigError` where it cannot be read, or one of them is not a table of its own.
    """
    values = parse_toml(text, where)
    there = {path for path in paths if table_at(values, path) is not None}
    if not there:
        return ConfigChange(text, text)
    for path in there:
        values = _put(values, path, None)
    return _checked(text, _cut(text, there), values, where)


def with_key(text: str | None, where: Path, name: str, value: object) -> ConfigChange:
    """Return the configuration with a key of no table, at its beginning. Raises as `with_table` does."""
    before = text or ""
    values = parse_toml(before, where)
    mark = "\ufeff" if before.startswith("\ufeff") else ""
    eol = "\r\n" if "\r\n" in before else "\n"
    after = f"{mark}{name} = {_value(value)}{eol}{before.removeprefix(mark)}"
    return _checked(text, after, {**values, name: value}, where)


def without_key(text: str, where: Path, name: str) -> ConfigChange:
    """Return the configuration without the statement that sets a key of no table. Raises as `without_tables` does."""
    values = parse_toml(text, where)
    if name not in values:
        return ConfigChange(text, text)
    ours = re.compile(rf"\ufeff?[ \t]*{re.escape(name)}[ \t]*=")
    lines, is_top = [], True
    for line in _statements(text):
        is_top = is_top and not _HEADER.match(line)
        if not (is_top and ours.match(line)):
            lines.append(line)
    return _checked(text, "".join(lines), {key: value for key, value in values.items() if key != name}, where)


def _checked(before: str | None, after: str, wanted: dict[str, Any], where: Path) -> ConfigChange:
    if _full(parse_toml(after, where, _SAFELY)) != _full(wanted):
        raise ConfigError(f"{where} {_SAFELY}", hint="It was left as it is")
    return ConfigChange(before, after, (edit_between(before or "", after),))


def _full(values: Any) -> Any:
    """Values without empty tables: those that only hold others have no header of their own."""
    if not isinstance(values, dict):
        return values
    held = {name: _full(value) for name, value in values.items()}
    return {name: value for name, value in held.items() if value != {}}


def _put(values: Mapping[str, Any], path: TablePath, table: dict[str, Any] | None) -> dict[str, Any]:
    name, *below = path
    held = values.get(name)
    if below:
        new: Any = _put(held if isinstance(held, dict) else {}, tuple(below), table)
    else:
        new = table
    return {**{key: value for key, value in values.items() if key != name}, **({} if new is None else {name: new})}


def _cut(text: str, paths: Collection[TablePath]) -> str:
    """Return the text without the lines of tables and those below them; comments behind them stay."""
    lines: list[str] = []
    held: list[str] = []  # comments and empty lines, of which the next line says whose they are
    within = False
    for line in _statements(text):
        if _HEADER.match(line):
            names = _path_of(line)
            now = any(names[: len(path)] == path for path in paths)
            if now and not within and lines and not lines[-1].strip():
                lines.pop()
            if not now:
                lines += held
            within, held = now, []
        if not within:
            lines.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            held.append(line)
        else:
            held = []
    return "".join(lines + held)


def _path_of(header: str) -> TablePath:
    """The names in the line of a header; none where it is no table's."""
    try:
        value: Any = tomllib.loads(header)
    except tomllib.TOMLDecodeError:
        return ()
    path: list[str] = []
    while isinstance(value, dict) and value:
        name = next(iter(value))
        path.append(name)
        value = value[name]
    return tuple(path)


def _statements(text: str) -> Iterator[str]:
    """Yield the lines of a document, those of one value together, with their ends."""
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


def _value(value: object) -> str:
    """Return a value as TOML; texts as in JSON, which TOML reads the same."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(held)}" for key, held in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(held) for held in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def edit_between(before: str, after: str) -> TextEdit:
    """Return the one edit that leads from a text to another."""
    most = min(len(before), len(after))
    start = next((index for index in range(most) if before[index] != after[index]), most)
    same = next((n for n in range(most - start) if before[-1 - n] != after[-1 - n]), most - start)
    return TextEdit(start, before[start : len(before) - same], after[start : len(after) - same])
