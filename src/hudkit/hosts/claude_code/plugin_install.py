"""Installing the plugin into Claude Code, and taking it out so that the user's files are as they were before.

Claude Code's own command does it: the plugin's folder is written beside our data, named to `claude plugin` as a
marketplace on this machine, and installed from there. That command writes the user's settings anew, in its own order
and layout, so the bytes of before are kept in the manifest (`install/claude-code.json`). They are given back where
nobody changed anything else since; elsewhere only what is ours is taken out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from hudkit import __version__
from hudkit.errors import ConfigError
from hudkit.hosts.claude_code.plugin import BAKED_FILE, PLUGIN, MarketplacePaths, generate_plugin, read_paths
from hudkit.hosts.installing import config_files, user_environment
from hudkit.hosts.installing.config_files import (
    ConfigChange,
    InstallStep,
    describe_change,
    read_text,
    remove_file,
    write_file,
    write_or_remove,
)
from hudkit.hosts.installing.user_environment import RuntimeNeeds, home_directory
from hudkit.hosts.wire import newer

_MARKETPLACE = Path("plugins", "claude-code")
_MANIFEST_FILE = Path("install", "claude-code.json")
_ID = f"{PLUGIN}@{PLUGIN}"
_SECONDS = 120.0
"""Seconds within which a command of Claude Code must have ended."""

_NEEDS = RuntimeNeeds(("hudkit", "starlette", "uvicorn"))
_TABLES = ("enabledPlugins", "extraKnownMarketplaces")
"""What `claude plugin` leaves in the settings, empty."""

_STATUS_LINE = "statusLine"


class ClaudeTarget(msgspec.Struct, frozen=True):
    """Where to install: the interpreter and its environment (`None`: it is not asked whether that will stay), our
    data, log and socket, and the variables of the user."""

    python: str
    prefix: Path | None
    data: Path
    db: Path
    socket: Path
    env: Mapping[str, str]

    @property
    def marketplace(self) -> Path:
        """Return the folder that Claude Code knows as a marketplace, and reads the plugin from."""
        return self.data / _MARKETPLACE

    @property
    def manifest(self) -> Path:
        """Return the file that says what was installed."""
        return self.data / _MANIFEST_FILE

    @property
    def config(self) -> Path:
        """Return Claude Code's own folder."""
        named = self.env.get("CLAUDE_CONFIG_DIR")
        return Path(named) if named else home_directory(self.env) / ".claude"

    @property
    def settings(self) -> Path:
        """Return the user's settings of Claude Code."""
        return self.config / "settings.json"

    @property
    def program(self) -> Path | None:
        """Return the program; `None` where it is not in the user's PATH."""
        program = shutil.which("claude", path=self.env.get("PATH", ""))
        return Path(program) if program else None

    def files(self) -> dict[Path, str]:
        """Return the plugin's files, as this version writes them."""
        baked = MarketplacePaths(self.python, str(self.data), str(self.db), str(self.socket))
        return {self.marketplace / name: text for name, text in generate_plugin(baked).items()}


class ClaudeManifest(msgspec.Struct, frozen=True):
    """What was installed, by which version; `before` is the text of the settings (`None`: there was no such file).

    `status_line`: ours is in the settings, and `own_status_line` is the one that it runs too.
    """

    schema: int = 1
    version: str = __version__
    settings: str = ""
    before: str | None = None
    status_line: bool = False
    own_status_line: dict[str, Any] | None = None


def install(place: ClaudeTarget, *, status_line: bool = False, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Write the plugin, have Claude Code install it, and return the steps; doing it again changes nothing more.

    With `status_line`, the status line becomes ours, which runs the user's own, too. Raises `ConfigError`: there is
    no Claude Code, the environment will not stay, the settings cannot be read, or Claude Code refuses.
    """
    user_environment.check_interpreter(place.python, place.prefix, place.env, _NEEDS)
    program = _program(place)
    manifest = _read_manifest(place)
    text = read_text(place.settings)
    settings = _parsed(text, place.settings)
    writes = {path: ConfigChange(read_text(path), new) for path, new in place.files().items()}
    wanted = _with_plugin(settings, place)
    if status_line:
        wanted[_STATUS_LINE] = _our_status_line(place, settings.get(_STATUS_LINE))
    steps = (
        *(describe_change(path, change) for path, change in writes.items()),
        _settings_step(place.settings, text, settings, wanted),
    )
    if dry_run:
        return steps
    config_files.note_data_directory(place.data)
    for path, change in writes.items():
        if change.before != change.after:
            write_file(path, str(change.after).encode("utf-8"))
    if not manifest.settings:
        manifest = ClaudeManifest(settings=str(place.settings), before=text)
    # The manifest comes first: what a crash leaves behind can then still be taken out.
    if status_line and not manifest.status_line:
        own = settings.get(_STATUS_LINE)
        manifest = msgspec.structs.replace(
            manifest, status_line=True, own_status_line=own if isinstance(own, dict) else None
        )
    config_files.write_manifest(place.manifest, manifest)
    if _ID not in settings.get("enabledPlugins", {}):
        _run(place, program, "marketplace", "add", str(place.marketplace))
        _run(place, program, "install", _ID)
    if status_line:
        changed = _parsed(read_text(place.settings), place.settings)
        if changed.get(_STATUS_LINE) != wanted[_STATUS_LINE]:
            changed[_STATUS_LINE] = wanted[_STATUS_LINE]
            write_file(place.settings, _written(changed))
    return steps


def uninstall(place: ClaudeTarget, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Have Claude Code remove the plugin, and give the settings their bytes of before where nothing else changed.

    Without an installation nothing happens, and nothing is returned. Raises `ConfigError` where the settings cannot
    be read or Claude Code refuses; where it is gone from this machine, its files are left clean without it.
    """
    if not place.manifest.exists():
        return ()
    manifest = _read_manifest(place)
    path = Path(manifest.settings)
    text = read_text(path)
    settings = _parsed(text, path)
    left = _without_plugin(settings, manifest)
    final = manifest.before if left == _parsed(manifest.before, path) else _written(left).decode()
    if manifest.before is None and not left:
        final = None
    gone = [file for file in (*sorted(place.marketplace.rglob("*")), place.manifest) if file.is_file()]
    steps = (
        describe_change(path, ConfigChange(text, final)),
        *(InstallStep(str(file), "remove") for file in gone),
    )
    if dry_run:
        return steps
    if place.program is not None:
        if _ID in settings.get("enabledPlugins", {}):
            _run(place, place.program, "uninstall", _ID)
        if PLUGIN in settings.get("extraKnownMarketplaces", {}):
            _run(place, place.program, "marketplace", "remove", PLUGIN)
    write_or_remove(path, final)
    _remove_copies(place)
    for file in gone:
        remove_file(file, upto=place.data)
    config_files.remove_data_directory(place.data)
    return steps


def read_installed(place: ClaudeTarget) -> ClaudeManifest | None:
    """Return what is installed from this data directory; `None` where nothing is. Raises `ConfigError`."""
    return _read_manifest(place) if place.manifest.exists() else None


def renew_plugin(data: Path, python: str) -> bool:
    """Write the installed plugin anew where it is of an older version and starts this interpreter; return whether it
    was.

    An upgrade of the package leaves the plugin as it was, and Claude Code reads it from our folder. Raises `OSError`
    where the plugin cannot be written.
    """
    folder = data / _MARKETPLACE
    text = read_text(folder / BAKED_FILE)
    baked = read_paths(text) if text is not None else None
    if baked is None or baked[0].python != python or not newer(__version__, baked[1]):
        return False
    for name, body in generate_plugin(baked[0]).items():
        write_file(folder / name, body.encode("utf-8"))
    return True


def _program(place: ClaudeTarget) -> Path:
    if place.program is None:
        hint = "Install Claude Code 2.1.287 or newer, or put `claude` into PATH"
        raise ConfigError("claude is not found in PATH", hint=hint)
    return place.program


def _run(place: ClaudeTarget, program: Path, *words: str) -> None:
    """Run a command of Claude Code on plugins. Raises `ConfigError` with what it says where it fails."""
    try:
        done = subprocess.run(
            [str(program), "plugin", *words],
            env=dict(place.env),
            cwd=home_directory(place.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"`claude plugin {words[0]}` did not end ({type(error).__name__})") from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        words_of_theirs = lines[-1] if lines else f"exit code {done.returncode}"
        hint = "hudkit uninstall claude-code takes out what is there already"
        raise ConfigError(f"Claude Code refuses `plugin {' '.join(words)}`: {words_of_theirs}", hint=hint)


def _read_manifest(place: ClaudeTarget) -> ClaudeManifest:
    return config_files.read_manifest(place.manifest, ClaudeManifest)


def _parsed(text: str | None, where: Path) -> dict[str, Any]:
    """Return settings as an object. Raises `ConfigError` where they are none: Claude Code refuses them, too."""
    try:
        value = json.loads(text) if text and text.strip() else {}
    except ValueError as error:
        raise ConfigError(f"{where} is not JSON ({error})", hint="Claude Code does not read it either") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{where} is not a JSON object", hint="Claude Code does not read it either")
    return value


def _written(settings: Mapping[str, Any]) -> bytes:
    """Return settings as Claude Code writes them."""
    return (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _with_plugin(settings: Mapping[str, Any], place: ClaudeTarget) -> dict[str, Any]:
    source = {"source": {"source": "directory", "path": str(place.marketplace)}}
    return {
        **settings,
        "extraKnownMarketplaces": {**settings.get("extraKnownMarketplaces", {}), PLUGIN: source},
        "enabledPlugins": {**settings.get("enabledPlugins", {}), _ID: True},
    }


def _without_plugin(settings: Mapping[str, Any], manifest: ClaudeManifest) -> dict[str, Any]:
    """Return settings without what is ours, and without tables that are empty and were not there before."""
    left = dict(settings)
    before = _parsed(manifest.before, Path(manifest.settings)) if manifest.before is not None else {}
    for table, name in zip(_TABLES, (_ID, PLUGIN), strict=True):
        if isinstance(left.get(table), dict):
            left[table] = {key: value for key, value in left[table].items() if key != name}
            if not left[table] and table not in before:
                del left[table]
    if manifest.status_line and _is_ours(left.get(_STATUS_LINE)):
        if manifest.own_status_line is None:
            del left[_STATUS_LINE]
        else:
            left[_STATUS_LINE] = manifest.own_status_line
    return left


def _settings_step(
    path: Path, text: str | None, settings: Mapping[str, Any], wanted: Mapping[str, Any]
) -> InstallStep:
    """Return what happens to the settings; what differs is shown apart from the layout, which Claude Code changes."""
    if settings == wanted:
        return InstallStep(str(path), "keep")
    old = None if text is None else _written(settings).decode()
    step = describe_change(path, ConfigChange(old, _written(wanted).decode()))
    hint = "`claude plugin install` writes it, with a layout of its own; uninstall gives your bytes back"
    return msgspec.structs.replace(step, hint=hint)


def _our_status_line(place: ClaudeTarget, own: object) -> dict[str, Any]:
    """Return the entry that runs ours; of the user's own, all but the command stays."""
    from hudkit.hosts.claude_code.status_line import status_command

    entry = own if isinstance(own, dict) and not _is_ours(own) else {}
    return {**entry, "type": "command", "command": status_command(place.python, place.data)}


def _is_ours(status_line: object) -> bool:
    return isinstance(status_line, dict) and "hudkit" in str(status_line.get("command", ""))


def _remove_copies(place: ClaudeTarget) -> None:
    """Remove the copy that Claude Code made of the plugin, and marked as nobody's."""
    copies = place.config / "plugins" / "cache" / PLUGIN
    if (copies / PLUGIN).is_dir():
        shutil.rmtree(copies, ignore_errors=True)
    for folder in (copies.parent, place.config / "plugins" / "marketplaces"):
        with suppress(OSError):
            folder.rmdir()  # where nothing of others is in it
