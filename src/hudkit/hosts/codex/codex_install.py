"""Installing hooks and MCP server into Codex, and taking them out so that everything is as it was before.

What was changed is in a manifest beside the data (`install/codex.json`): for each file the digests before and after,
and the inserted text. A file that nobody touched since gets back its former bytes. From another one our entries are
taken out, with what Codex noted of them when its user trusted our hooks, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hudkit import __version__
from hudkit.errors import ConfigError
from hudkit.hosts.codex import hooks
from hudkit.hosts.installing import config_files
from hudkit.hosts.installing.config_files import (
    ConfigChange,
    FileChangeRecord,
    InstallStep,
    apply_change,
    describe_change,
    has_former_text,
    original_text,
    plan_change,
    read_text,
    remove_file,
    write_or_remove,
)
from hudkit.hosts.installing.toml_tables import (
    TablePath,
    edit_between,
    parse_toml,
    table_at,
    with_key,
    with_table,
    without_key,
    without_tables,
)
from hudkit.hosts.installing.user_environment import DAEMON_NEEDS, check_interpreter, home_directory

TRIED_VERSION = "0.169.0"
"""The version of Codex that this is tried with."""

_MANIFEST_FILE = Path("install", "codex.json")
_SERVER_TABLE = ("mcp_servers", hooks.SERVER)
_TRUST_TABLES = (("hooks", "state"), ("hooks",))
"""Where Codex notes which hooks its user trusts, the innermost first."""
_PROMPT_KEYS = ("compact_prompt", "experimental_compact_prompt_file")
_CARRIED_VARIABLES = ("HUDKIT_DATA", "HUDKIT_DB", "HUDKIT_CONFIG", "HUDKIT_HOOK_PATIENCE")
"""Variables that programs which Codex starts would not have."""

COMPACT_PROMPT = """\
You are performing a CONTEXT CHECKPOINT COMPACTION. Write a handoff summary for another LLM that will resume the task.

A heads-up display stands behind your summary in the new window, put there word for word by a program. It holds the \
task, the user's rules, decisions with their reasons, the plan's steps, blockers, open errors, notes and the files \
in use. Do not repeat what it holds. Write what it cannot know:

- what was being done at this moment, and the very next action
- what was found out while reading and running things, with names, numbers and places
- what was tried and did not work, and why

Be concise and concrete."""
"""The prompt of the compaction that `install` offers: Codex lets no hook add to its own."""


class CodexTarget(msgspec.Struct, frozen=True):
    """Where to install: the interpreter and its environment (`None`: it is not asked whether that will stay), our
    data and socket, and the variables of the user."""

    python: str
    prefix: Path | None
    data: Path
    socket: Path
    env: Mapping[str, str]

    @property
    def home(self) -> Path:
        """Return the directory of Codex's configuration."""
        named = self.env.get("CODEX_HOME")
        return Path(named) if named else home_directory(self.env) / ".codex"

    @property
    def config(self) -> Path:
        """Return the file of settings and MCP servers."""
        return self.home / "config.toml"

    @property
    def hooks(self) -> Path:
        """Return the file of hooks."""
        return self.home / "hooks.json"

    @property
    def manifest(self) -> Path:
        """Return the file that lists what was installed."""
        return self.data / _MANIFEST_FILE

    def variables(self) -> dict[str, str]:
        """Return the variables that our programs are started with: all of them ask the same daemon."""
        carried = {name: self.env[name] for name in _CARRIED_VARIABLES if self.env.get(name)}
        if self.env.get("XDG_DATA_HOME"):
            carried = {"HUDKIT_DATA": str(self.data), **carried}
        return {**carried, "HUDKIT_SOCKET": str(self.socket)}

    def server(self) -> dict[str, Any]:
        """Return how Codex starts our MCP server."""
        args = ["-P", "-E", "-m", "hudkit", "mcp", "--host", "codex"]
        return {"command": self.python, "args": args, "env": self.variables()}

    def command(self) -> list[str]:
        """Return the hook that is a command."""
        named = [f"{name}={value}" for name, value in self.variables().items()]
        return ["env", *named, self.python, "-P", *hooks.COMMAND_WORDS]


class CodexManifest(msgspec.Struct, frozen=True):
    """What was installed, by which version."""

    schema: int = 1
    version: str = __version__
    configurations: tuple[FileChangeRecord, ...] = ()
    own_tables: tuple[str, ...] = ()
    """Tables of the user's configuration that hold only what Codex notes of our hooks."""

    def of(self, path: Path) -> FileChangeRecord | None:
        """Return what was changed in a file; `None` where nothing was."""
        return next((record for record in self.configurations if record.file == str(path)), None)


def install(target: CodexTarget, *, compact_prompt: bool = False, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Put hooks and server into Codex's configuration and return the steps; doing it again changes nothing more.

    `compact_prompt` sets the prompt of the compaction, too. Raises `ConfigError` before anything is written: the
    environment will not stay, a file cannot be read, has another server of our name, or a prompt of the user's own.
    """
    check_interpreter(target.python, target.prefix, target.env, DAEMON_NEEDS)
    manifest = config_files.read_manifest(target.manifest, CodexManifest)
    edits: dict[Path, Callable[[str | None], ConfigChange]] = {
        target.config: lambda text: _with_config(text, target, compact_prompt=compact_prompt),
        target.hooks: lambda text: hooks.with_hooks(text, target.hooks, target.command()),
    }
    planned = {path: plan_change(path, manifest.of(path), edit) for path, edit in edits.items()}
    steps = tuple(describe_change(path, change) for path, (change, _) in planned.items())
    if dry_run:
        return steps
    # The manifest comes first: what a crash leaves behind in a file can then still be taken out.
    config_files.note_data_directory(target.data)
    records = tuple(record for _, record in planned.values())
    values = parse_toml(read_text(target.config) or "", target.config)
    absent = tuple(".".join(path) for path in _TRUST_TABLES if table_at(values, path) is None)
    tables = manifest.own_tables if manifest.configurations else absent
    config_files.write_manifest(target.manifest, CodexManifest(configurations=records, own_tables=tables))
    for path, (change, _) in planned.items():
        apply_change(path, change)
    return steps


def uninstall(target: CodexTarget, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Take hooks and server out of Codex's configuration. Where they are not there, nothing is returned.

    Raises `ConfigError` where a file cannot be read; nothing is changed then.
    """
    manifest = config_files.read_manifest(target.manifest, CodexManifest)
    config, hooks_text = read_text(target.config), read_text(target.hooks)
    trusted = hooks.trust_keys(hooks_text, target.hooks)
    removals: tuple[tuple[Path, str | None, Callable[[str], ConfigChange], Callable[[str], bool]], ...] = (
        (target.hooks, hooks_text, lambda text: hooks.without_hooks(text, target.hooks), _says_nothing(target.hooks)),
        (
            target.config,
            config,
            lambda text: _without_config(text, target, trusted, manifest.own_tables),
            _says_nothing(target.config),
        ),
    )
    changes = {
        path: ConfigChange(text, _former(text, manifest.of(path), remove, is_empty))
        for path, text, remove, is_empty in removals
        if text is not None
    }
    changes = {path: change for path, change in changes.items() if change.before != change.after}
    gone = [target.manifest] if target.manifest.exists() else []
    steps = (
        *(describe_change(path, change) for path, change in changes.items()),
        *(InstallStep(str(path), "remove") for path in gone),
    )
    if dry_run:
        return steps
    for path, change in changes.items():
        recorded = manifest.of(path)
        directory = recorded.made_directory if recorded is not None else ""
        write_or_remove(path, change.after, made_directory=Path(directory) if directory else None)
    for leftover in gone:
        remove_file(leftover, upto=target.data)
    if gone:
        config_files.remove_data_directory(target.data)
    return steps


def is_installed(target: CodexTarget) -> bool:
    """Return whether Codex is still told of us. Raises `ConfigError` where a file cannot be read."""
    config = read_text(target.config)
    table = None if config is None else table_at(parse_toml(config, target.config), _SERVER_TABLE)
    return _is_ours(table) or bool(hooks.our_hooks(read_text(target.hooks), target.hooks))


def missing_parts(target: CodexTarget) -> list[str]:
    """Return which of our parts Codex is not told of any more. Raises `ConfigError` as above."""
    server, ours = server_program(target), hooks.our_hooks(read_text(target.hooks), target.hooks)
    wanted = len(hooks.hook_groups(target.command()))
    return [name for name, is_there in (("the server", server), ("hooks", len(ours) == wanted)) if not is_there]


def untrusted_hooks(target: CodexTarget) -> int:
    """Return how many of our hooks the user was not asked about yet. Raises `ConfigError` as above."""
    config = read_text(target.config)
    state = table_at(parse_toml(config or "", target.config), ("hooks", "state"))
    trusted = state if isinstance(state, dict) else {}
    return sum(key not in trusted for key in hooks.trust_keys(read_text(target.hooks), target.hooks))


def server_program(target: CodexTarget) -> str:
    """Return the interpreter that our server's entry starts; empty where there is none. Raises as above."""
    config = read_text(target.config)
    table = table_at(parse_toml(config or "", target.config), _SERVER_TABLE)
    return str(table.get("command", "")) if _is_ours(table) else ""


def _is_ours(table: object) -> bool:
    """Whether an entry starts our server, as this or as `hudkit install mcp` has it."""
    args = table.get("args") if isinstance(table, dict) else None
    words = args if isinstance(args, list) else []
    return words[-5:] == ["-m", "hudkit", "mcp", "--host", "codex"] or words[-3:] == ["-m", "hudkit", "mcp"]


def _with_config(text: str | None, target: CodexTarget, *, compact_prompt: bool) -> ConfigChange:
    path = target.config
    values = parse_toml(text or "", path)
    there = table_at(values, _SERVER_TABLE)
    if there is not None and not _is_ours(there):
        raise ConfigError(
            f'{path} has another server that is called "{hooks.SERVER}"',
            hint="It was left as it is; give it another name",
        )
    change = with_table(text, path, _SERVER_TABLE, target.server())
    own = next((key for key in _PROMPT_KEYS if key in values and values[key] != COMPACT_PROMPT), "")
    if not compact_prompt or values.get(_PROMPT_KEYS[0]) == COMPACT_PROMPT:
        return change
    if own:
        raise ConfigError(
            f"{path} sets {own} already", hint="It is yours and stays; install without --compact-prompt"
        )
    after = with_key(change.after, path, _PROMPT_KEYS[0], COMPACT_PROMPT).after or ""
    return ConfigChange(text, after, (edit_between(text or "", after),))


def _without_config(text: str, target: CodexTarget, trusted: list[str], own_tables: tuple[str, ...]) -> ConfigChange:
    path = target.config
    values = parse_toml(text, path)
    paths: list[TablePath] = [("hooks", "state", key) for key in trusted]
    if _is_ours(table_at(values, _SERVER_TABLE)):
        paths.append(_SERVER_TABLE)
    after = without_tables(text, path, paths).after or ""
    for table in _TRUST_TABLES:
        if ".".join(table) in own_tables and table_at(parse_toml(after, path), table) == {}:
            after = without_tables(after, path, [table]).after or ""
    if values.get(_PROMPT_KEYS[0]) == COMPACT_PROMPT:
        after = without_key(after, path, _PROMPT_KEYS[0]).after or ""
    return ConfigChange(text, after)


def _says_nothing(path: Path) -> Callable[[str], bool]:
    if path.suffix == ".json":
        return lambda text: hooks.is_empty(text, path)
    return lambda text: not parse_toml(text, path)


def _former(
    text: str,
    recorded: FileChangeRecord | None,
    remove: Callable[[str], ConfigChange],
    is_empty: Callable[[str], bool],
) -> str | None:
    """A file without our entries: its former bytes where nobody touched it since."""
    if recorded is not None:
        untouched, before = original_text(text, recorded)
        if untouched:
            return before
    after = remove(text).after
    # A line that had no end got one, so that a table could follow it.
    unended = (after or "").removesuffix("\n").removesuffix("\r")
    if recorded is not None and has_former_text(unended, recorded):
        return unended
    created_by_us = recorded is not None and recorded.before is None
    return None if created_by_us and after is not None and is_empty(after) else after
