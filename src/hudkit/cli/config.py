"""`hudkit config`: the settings in force and where each comes from; checks their files, prints their schema."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hudkit.cli import complain
from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.styles import FINDING_STYLES, TOML_STYLES, print_code, print_lines
from hudkit.compose import visible
from hudkit.config import EffectiveSettings, McpServer, keys, load, new_settings_file, settings_schema, toml_literal
from hudkit.errors import ConfigError
from hudkit.hosts.installing.config_files import note_settings_directory
from hudkit.paths import PROJECT_FILE, config_path, data_directory, project_config, user_config

_USER = re.compile(r"//[^/@\s]+@")


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.file is not None and args.what != "check":
        raise ConfigError(f"`config {args.what}` takes no file", hint="Try: hudkit config check FILE")
    if args.what == "schema":
        print_code(as_json(settings_schema()), "json")
        return 0
    if args.what == "init":
        return _init(user_config())
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
        print_lines(_toml(effective, user, project), TOML_STYLES)
    for warning in (*effective.warnings, *effective.renamed):
        complain("config", warning)
    return 1 if effective.warnings else 0


def _values(effective: EffectiveSettings) -> dict[str, object]:
    """The settings in force by dotted key; `None` where one is not set."""
    return {key.name: _value(effective, key.name) for key in keys()}


def _init(path: Path) -> int:
    """Write a settings file in which nothing is set; one that is there stays."""
    with suppress(ConfigError):  # only a later `uninstall --purge` asks for it
        note_settings_directory(data_directory(), path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(new_settings_file())
    except FileExistsError:
        raise ConfigError(f"{path} is there already", hint="Try: hudkit config check") from None
    print(visible(f"{path}: every setting as a comment, with what it means"))
    return 0


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
        print_lines((visible(f"OLD   {renamed}"),), FINDING_STYLES)
    if effective.warnings:
        for warning in effective.warnings:
            print_lines((visible(f"BAD   {warning}"),), FINDING_STYLES)
    elif files:
        print_lines((visible(f"fine: {' and '.join(files)}"),), FINDING_STYLES)
    else:
        where = f"fine: no settings file, so the defaults apply (yours would be in {user_config()})"
        print_lines((visible(where),), FINDING_STYLES)
    return 1 if effective.warnings else 0


def _facts(effective: EffectiveSettings, user: Path | None, project: Path | None) -> dict[str, object]:
    origins = effective.origins
    rows = [
        {"key": name, "value": value, "from": origins[name], "default": key.default, "meaning": key.meaning}
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
    written, origins = "", effective.origins
    for name, value in sorted(_values(effective).items(), key=lambda row: "." in row[0]):
        table, _, key = name.rpartition(".")
        if table != written:
            yield f"\n[{table}]"
            written = table
        line = f"# {key} is not set" if value is None else f"{key} = {toml_literal(value)}"
        yield f"{line:<23} # {origins[name]}"


def _value(effective: EffectiveSettings, name: str) -> object:
    value: object = effective.settings
    for part in name.split("."):
        value = getattr(value, part)
    if name == "mcp_servers":
        servers = effective.settings.mcp_servers.items()
        return {server: msgspec.to_builtins(_without_secrets(facts)) for server, facts in servers}
    return value


_HIDDEN = "(hidden)"
"""What is shown of a value that may be a key."""


def _without_secrets(server: McpServer) -> McpServer:
    """Return a server as it may be shown: environment and headers hold keys, an address and arguments may."""
    from hudkit.log.secret_patterns import without_secrets  # most users have no such servers

    return replace(
        server,
        env=dict.fromkeys(server.env, _HIDDEN),
        headers=dict.fromkeys(server.headers, _HIDDEN),
        url=_USER.sub(f"//{_HIDDEN}@", without_secrets(server.url)),
        args=tuple(map(without_secrets, server.args)),
    )
