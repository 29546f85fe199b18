"""`hudkit config`: the settings in force and where each comes from; checks their files, prints their schema."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from json import dumps
from pathlib import Path

from hudkit.cli import CliCommand, complain
from hudkit.cli.common import SCHEMA, as_json
from hudkit.compose import visible
from hudkit.config import EffectiveSettings, keys, load, settings_schema
from hudkit.errors import ConfigError
from hudkit.paths import PROJECT_FILE, config_path, project_config, user_config

_DETAILS = f"""\
`config` prints the settings in force as TOML, each with its origin; `config check` says what is wrong with a file, or
with the user's and the project's files if none is named (a file named `{PROJECT_FILE}` is checked as a project's);
`config schema` prints the JSON Schema of a file. See [configuration.md](configuration.md)."""

_WHAT = "show the settings, check their files, or print their schema (default: show)"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", default="show", choices=("show", "check", "schema"), help=_WHAT)
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="the file to check (default: those in force)"
    )
    parser.add_argument("--project", type=Path, metavar="DIR", help="the project's directory (default: this one)")
    parser.add_argument("--json", action="store_true", help="print facts as JSON")


def _run(args: argparse.Namespace) -> int:
    if args.file is not None and args.what != "check":
        raise ConfigError(f"`config {args.what}` takes no file", hint="Try: hudkit config check FILE")
    if args.what == "schema":
        print(as_json(settings_schema()))
        return 0
    user, project = config_path(), project_config(args.project or Path.cwd())
    if args.what == "check":
        if args.file is not None:
            user, project = (None, args.file) if args.file.name == PROJECT_FILE else (args.file, None)
            if not args.file.exists():
                raise ConfigError(f"{args.file} is not there", hint="Name a TOML file")
        return _check(user, project, args.json)
    effective = load(user, project)
    if args.json:
        print(as_json(_facts(effective, user, project)))
    else:
        print("\n".join(_toml(effective, user, project)))
    for warning in (*effective.warnings, *effective.renamed):
        complain("config", warning)
    return 1 if effective.warnings else 0


COMMAND = CliCommand(
    example="hudkit config check ~/.config/hudkit/config.toml",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)


def _values(effective: EffectiveSettings) -> dict[str, object]:
    """The settings in force by dotted key; `None` where one is not set."""
    return {key.name: _value(effective, key.name) for key in keys()}


def _check(user: Path | None, project: Path | None, json: bool) -> int:
    effective = load(user, project)
    files = [str(path) for path in (user, project) if path is not None]
    if json:
        facts = {
            "schema": SCHEMA,
            "files": files,
            "findings": list(effective.warnings),
            "renamed": list(effective.renamed),
        }
        print(as_json(facts))
        return 1 if effective.warnings else 0
    for renamed in effective.renamed:
        print(visible(f"OLD   {renamed}"))
    if effective.warnings:
        for warning in effective.warnings:
            print(visible(f"BAD   {warning}"))
    elif files:
        print(visible(f"fine: {' and '.join(files)}"))
    else:
        print(visible(f"fine: no settings file, so the defaults apply (yours would be in {user_config()})"))
    return 1 if effective.warnings else 0


def _facts(effective: EffectiveSettings, user: Path | None, project: Path | None) -> dict[str, object]:
    rows = [
        {"key": name, "value": value, "from": effective.origins[name], "default": key.default, "meaning": key.meaning}
        for key, (name, value) in zip(keys(), _values(effective).items(), strict=True)
    ]
    files = {"user": user and str(user), "project": project and str(project)}
    return {
        "schema": SCHEMA,
        "files": files,
        "settings": rows,
        "warnings": list(effective.warnings),
        "renamed": list(effective.renamed),
    }


def _toml(effective: EffectiveSettings, user: Path | None, project: Path | None) -> Iterator[str]:
    """The settings as TOML that can be read back; keys of the top level first, as TOML wants it."""
    there = user or f"{user_config()} (not there)"
    yield f"# user: {visible(str(there))}"
    yield f"# project: {visible(str(project or f'{PROJECT_FILE} (not there)'))}"
    written = ""
    for name, value in sorted(_values(effective).items(), key=lambda row: "." in row[0]):
        table, _, key = name.rpartition(".")
        if table != written:
            yield f"\n[{table}]"
            written = table
        line = f"# {key} is not set" if value is None else f"{key} = {_literal(value)}"
        yield f"{line:<23} # {effective.origins[name]}"


def _value(effective: EffectiveSettings, name: str) -> object:
    value: object = effective.settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        pairs = (f"{_literal(key)} = {_literal(inner)}" for key, inner in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return dumps(value, ensure_ascii=False)
    return repr(value).removesuffix(".0")
