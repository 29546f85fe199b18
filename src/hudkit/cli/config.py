"""`hudkit config`: the settings in force and where each comes from; checks their files, prints their schema."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from json import dumps
from pathlib import Path

from hudkit.cli import complain
from hudkit.cli.place import SCHEMA, as_json
from hudkit.compose import visible
from hudkit.config import EffectiveSettings, keys, load, settings_schema
from hudkit.errors import ConfigError
from hudkit.paths import PROJECT_FILE, config_path, project_config, user_config

EXAMPLE = "hudkit config check ~/.config/hudkit/config.toml"

MORE = f"""\
`config` prints the settings in force as TOML, each with where it comes from; `config check` says what is wrong with a
file, or with the user's and the project's where none is named (a file named `{PROJECT_FILE}` is checked as a
project's); `config schema` prints the JSON Schema of a file. See [configuration.md](configuration.md)."""

_WHAT = "show the settings, check their files, or print their schema (default: show)"


def arguments(one: argparse.ArgumentParser) -> None:
    one.add_argument("what", nargs="?", default="show", choices=("show", "check", "schema"), help=_WHAT)
    one.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the file to check (default: those in force)")
    one.add_argument("--project", type=Path, metavar="DIR", help="the project's directory (default: this one)")
    one.add_argument("--json", action="store_true", help="print facts as JSON")


def run(given: argparse.Namespace) -> int:
    if given.file is not None and given.what != "check":
        raise ConfigError(f"`config {given.what}` takes no file", hint="Try: hudkit config check FILE")
    if given.what == "schema":
        print(as_json(settings_schema()))
        return 0
    user, project = config_path(), project_config(given.project or Path.cwd())
    if given.what == "check":
        if given.file is not None:
            user, project = (None, given.file) if given.file.name == PROJECT_FILE else (given.file, None)
            if not given.file.exists():
                raise ConfigError(f"{given.file} is not there", hint="Name a TOML file")
        return _check(user, project, given.json)
    found = load(user, project)
    if given.json:
        print(as_json(_facts(found, user, project)))
    else:
        print("\n".join(_toml(found, user, project)))
    for warning in (*found.warnings, *found.renamed):
        complain("config", warning)
    return 1 if found.warnings else 0


def values(found: EffectiveSettings) -> dict[str, object]:
    """The settings in force by dotted key; `None` where one is not set."""
    return {key.name: _value(found, key.name) for key in keys()}


def _check(user: Path | None, project: Path | None, json: bool) -> int:
    found = load(user, project)
    files = [str(path) for path in (user, project) if path is not None]
    if json:
        facts = {"schema": SCHEMA, "files": files, "findings": list(found.warnings), "renamed": list(found.renamed)}
        print(as_json(facts))
        return 1 if found.warnings else 0
    for renamed in found.renamed:
        print(visible(f"OLD   {renamed}"))
    if found.warnings:
        for warning in found.warnings:
            print(visible(f"BAD   {warning}"))
    elif files:
        print(visible(f"fine: {' and '.join(files)}"))
    else:
        print(visible(f"fine: no settings are given, the defaults hold (yours would be in {user_config()})"))
    return 1 if found.warnings else 0


def _facts(found: EffectiveSettings, user: Path | None, project: Path | None) -> dict[str, object]:
    rows = [
        {"key": name, "value": value, "from": found.origins[name], "default": key.default, "meaning": key.meaning}
        for key, (name, value) in zip(keys(), values(found).items(), strict=True)
    ]
    files = {"user": user and str(user), "project": project and str(project)}
    return {
        "schema": SCHEMA,
        "files": files,
        "settings": rows,
        "warnings": list(found.warnings),
        "renamed": list(found.renamed),
    }


def _toml(found: EffectiveSettings, user: Path | None, project: Path | None) -> Iterator[str]:
    """The settings as TOML that can be read back; keys of the top level first, as TOML wants it."""
    there = user or f"{user_config()} (not there)"
    yield f"# user: {visible(str(there))}"
    yield f"# project: {visible(str(project or f'{PROJECT_FILE} (not there)'))}"
    written = ""
    for name, value in sorted(values(found).items(), key=lambda row: "." in row[0]):
        table, _, key = name.rpartition(".")
        if table != written:
            yield f"\n[{table}]"
            written = table
        line = f"# {key} is not set" if value is None else f"{key} = {_literal(value)}"
        yield f"{line:<24}# {found.origins[name]}"


def _value(found: EffectiveSettings, name: str) -> object:
    value: object = found.settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return dumps(value, ensure_ascii=False)
    return repr(value).removesuffix(".0")
