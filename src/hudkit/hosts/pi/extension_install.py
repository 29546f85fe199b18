"""Installing the extension into pi, and taking it out so that everything is as it was before.

pi loads every module in its folder of extensions, so one file is all that is written there. What was made for it is
in a manifest beside our data (`install/pi.json`).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hudkit import __version__
from hudkit.errors import ConfigError
from hudkit.hosts.installing import config_files, user_environment
from hudkit.hosts.installing.config_files import (
    ConfigChange,
    FileChangeRecord,
    InstallStep,
    apply_change,
    describe_change,
    read_text,
    record_change,
    remove_file,
    write_file,
)
from hudkit.hosts.installing.user_environment import DAEMON_NEEDS, home_directory
from hudkit.hosts.node_plugin import PluginPaths, read_paths
from hudkit.hosts.pi.plugin import generate_extension
from hudkit.hosts.wire import newer

TRIED_VERSION = "1.3.0"
"""The version of pi that the extension is tried with."""

FIRST_VERSION = (0, 87)
"""The first version of pi that shows extensions a whole request."""

_FILE = Path("extensions", "hudkit.js")
_MANIFEST_FILE = Path("install", "pi.json")
_OWN = ("// hudkit ", "`hudkit install pi` writes this file")


class PiTarget(msgspec.Struct, frozen=True):
    """Where to install: the interpreter and its environment (`None`: it is not asked whether that will stay), our
    data, log and socket, and the variables of the user."""

    python: str
    prefix: Path | None
    data: Path
    db: Path
    socket: Path
    env: Mapping[str, str]

    @property
    def extension(self) -> Path:
        """Return the file that pi loads."""
        named = self.env.get("PI_CODING_AGENT_DIR")
        return (Path(named) if named else home_directory(self.env) / ".pi" / "agent") / _FILE

    @property
    def manifest(self) -> Path:
        """Return the file that says what was installed."""
        return self.data / _MANIFEST_FILE

    @property
    def program(self) -> Path | None:
        """Return the program; `None` where it is not in the user's PATH."""
        program = shutil.which("pi", path=self.env.get("PATH", ""))
        return Path(program) if program else None


class PiManifest(msgspec.Struct, frozen=True):
    """What was installed, by which version; `None`: nothing."""

    schema: int = 1
    version: str = __version__
    extension: FileChangeRecord | None = None


def install(place: PiTarget, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Write the extension and return the steps; doing it again changes nothing more.

    Raises `ConfigError` before anything is written: the environment will not stay, or another file has that name.
    """
    user_environment.check_interpreter(place.python, place.prefix, place.env, DAEMON_NEEDS)
    manifest = config_files.read_manifest(place.manifest, PiManifest)
    path = place.extension
    if manifest.extension is not None and manifest.extension.file != str(path):
        raise ConfigError(f"hudkit is installed in {manifest.extension.file}", hint="Uninstall that one first")
    old = read_text(path)
    if old is not None and not is_own_file(old):
        raise ConfigError(f"{path} is not ours", hint="Give that extension another name")
    baked = PluginPaths(place.python, str(place.data), str(place.db), str(place.socket), str(path))
    change = ConfigChange(old, generate_extension(baked))
    steps = (describe_change(path, change),)
    if dry_run:
        return steps
    config_files.note_data_directory(place.data)
    record = manifest.extension or record_change(path, ConfigChange(None, change.after), key=False)
    config_files.write_manifest(place.manifest, PiManifest(extension=record))
    if change.before != change.after:
        apply_change(path, change)
    return steps


def uninstall(place: PiTarget, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Remove the extension, and the folders that were made for it. Without an installation nothing happens, and
    nothing is returned. Raises `ConfigError` where the manifest cannot be read."""
    record = config_files.read_manifest(place.manifest, PiManifest).extension
    if record is None:
        return ()
    path = Path(record.file)
    text = read_text(path)
    gone = [path] if text is not None and is_own_file(text) else []
    steps = tuple(InstallStep(str(each), "remove") for each in (*gone, place.manifest))
    if dry_run:
        return steps
    for each in gone:
        remove_file(each, upto=Path(record.made_directory) if record.made_directory else None)
    remove_file(place.manifest, upto=place.data)
    config_files.remove_data_directory(place.data)
    return steps


def read_installed(place: PiTarget) -> PiManifest | None:
    """Return what is installed from this data directory; `None` where nothing is. Raises `ConfigError`."""
    return config_files.read_manifest(place.manifest, PiManifest) if place.manifest.exists() else None


def is_own_file(text: str) -> bool:
    """Return whether the text of an extension is one that hudkit wrote."""
    head = text[:200].partition("\n")[0]
    return head.startswith(_OWN[0]) and _OWN[1] in head


def renew_extension(data: Path, python: str) -> bool:
    """Write the installed extension anew where it is of an older version and starts this interpreter; return whether
    it was. An upgrade of the package leaves it as it was.

    Raises `ConfigError` where the manifest cannot be read, `OSError` where the extension cannot be written.
    """
    record = config_files.read_manifest(data / _MANIFEST_FILE, PiManifest).extension
    text = read_text(Path(record.file)) if record is not None else None
    baked = read_paths(text) if text is not None and is_own_file(text) else None
    if record is None or baked is None or baked[0].python != python or not newer(__version__, baked[1]):
        return False
    write_file(Path(record.file), generate_extension(baked[0]).encode("utf-8"))
    return True
