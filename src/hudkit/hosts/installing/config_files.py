"""Files written whole or not at all: ours private, a user's with the mode and the links that it had."""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from hudkit.errors import ConfigError
from hudkit.hosts.installing.jsonc import TextEdit, apply_edits, inverse_edits


def _sha256_hex(body: bytes) -> str:
    """Return SHA-256 as hex digits."""
    from hashlib import sha256

    return sha256(body).hexdigest()


def _read_bytes(path: Path) -> bytes | None:
    """Return a file's bytes; `None` where there is none. Raises `ConfigError` where it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror})", hint="Nothing was changed") from None


class NotWritable(ConfigError):
    """A file cannot be written: its permissions, its directory's, or its file system do not allow it."""


def write_file(path: Path, body: bytes, *, mode: int = 0o600) -> None:
    """Make `path` hold `body`. A symbolic link is followed and stays; an existing file keeps its mode; one with other
    names (hard links) is written in place. Missing directories are made 0700. Raises `NotWritable`."""
    real = Path(os.path.realpath(path))
    try:
        make_directory(real.parent)
        existing = real.stat() if real.exists() else None
        # A new file in its place would cut the other names off.
        if existing and existing.st_nlink > 1:
            real.write_bytes(body)
            return
        _replace(real, body, stat.S_IMODE(existing.st_mode) if existing else mode)
    except OSError as error:
        raise NotWritable(f"{real} cannot be written ({error.strerror})", hint="Nothing was changed in it") from None


def make_directory(directory: Path) -> None:
    """Make a directory and the missing ones above it, 0700 whatever the umask. `OSError` as the system raises it."""
    if directory.is_dir():
        return
    make_directory(directory.parent)
    directory.mkdir(mode=0o700, exist_ok=True)
    directory.chmod(0o700)


def remove_file(path: Path, *, upto: Path | None = None) -> bool:
    """Remove a file, and the directories that it leaves empty, `upto` included; whether it was there."""
    there = path.exists() or path.is_symlink()
    path.unlink(missing_ok=True)
    if upto is not None:
        remove_empty(path.parent, upto=upto)
    return there


def remove_empty(directory: Path, *, upto: Path) -> None:
    """Remove a directory and those above it as far as they are empty, `upto` included."""
    for each in (directory, *directory.parents):
        if not each.is_relative_to(upto):
            break
        with contextlib.suppress(OSError):
            each.rmdir()


# --- The directories that were made for our data and for settings: a program that is gone leaves none of them.


_MADE_FILE = Path("install", "directory.json")
_SETTINGS_MADE_FILE = Path("install", "settings-directory.json")


class _MadeDirectory(msgspec.Struct, frozen=True):
    """The uppermost directory that was made for the data, or for the settings."""

    uppermost: str = ""


def missing_directory(path: Path) -> Path | None:
    """Return the uppermost directory that has to be made for `path` to be there; `None` where it is there."""
    return next((each for each in reversed((path, *path.parents)) if not each.exists()), None)


def note_data_directory(data: Path) -> None:
    """Note, before the first file is written there, which directories have to be made for the data."""
    uppermost = missing_directory(data)
    if uppermost is not None:
        write_manifest(data / _MADE_FILE, _MadeDirectory(str(uppermost)))


def note_settings_directory(data: Path, folder: Path) -> None:
    """Note, before a settings file is written into `folder`, which directories have to be made for it."""
    uppermost = missing_directory(folder)
    if uppermost is not None:
        note_data_directory(data)
        write_manifest(data / _SETTINGS_MADE_FILE, _MadeDirectory(str(uppermost)))


def made_directory(data: Path) -> Path:
    """Return the uppermost directory that was made for the data; the data directory where nothing says more."""
    return _recorded_directory(data / _MADE_FILE, data) or data


def made_settings_directory(data: Path, folder: Path) -> Path | None:
    """Return the uppermost directory that was made for the settings in `folder`; `None` where none was."""
    return _recorded_directory(data / _SETTINGS_MADE_FILE, folder)


def _recorded_directory(record: Path, inner: Path) -> Path | None:
    try:
        uppermost = Path(read_manifest(record, _MadeDirectory).uppermost)
    except ConfigError:
        return None
    return uppermost if uppermost.is_absolute() and inner.is_relative_to(uppermost) else None


def remove_data_directory(data: Path) -> None:
    """Remove the data directory and those that were made for it, where nothing of ours is left in it."""
    record = data / _MADE_FILE
    if all(path == record or path.is_dir() for path in data.rglob("*")):
        remove_file(record, upto=made_directory(data))


def _replace(real: Path, body: bytes, mode: int) -> None:
    fd, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(body)
            file.flush()
            os.fchmod(file.fileno(), mode)
            # Without it a crash after the renaming can leave an empty file under the name.
            os.fsync(file.fileno())
        Path(name).replace(real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# --- A change of a configuration file: what it was, what it becomes, what is kept of that, and how it is taken back.


class ConfigChange(msgspec.Struct, frozen=True):
    """A configuration's text before and after (`None`: no file), and the edits that lead from one to the other."""

    before: str | None
    after: str | None
    edits: tuple[TextEdit, ...] = ()


class FileChangeRecord(msgspec.Struct, frozen=True):
    """A configuration that was changed: digests (SHA-256) of the bytes before (`None`: there was no file) and after,
    and the edits that led from one to the other."""

    file: str
    before: str | None
    after: str
    edits: tuple[TextEdit, ...] = ()
    key: bool = False
    """Whether what holds our entry (a list, an object) is ours too."""
    made_directory: str = msgspec.field(name="made", default="")
    """The uppermost directory that was made for it."""


class InstallStep(msgspec.Struct, frozen=True):
    """What happens to a file: `create`, `change`, `remove` or `keep`, and the difference for a reader."""

    path: str
    what: str
    diff: str = ""
    hint: str = ""
    """What the user should know of it."""


def read_text(path: Path) -> str | None:
    """Return a configuration's text; `None` where there is none. Raises `ConfigError` where it cannot be read."""
    body = _read_bytes(path)
    return None if body is None else _decode(body, path)


def _decode(body: bytes, where: Path) -> str:
    """Return a file's text. Raises `ConfigError` where it is not UTF-8."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{where} cannot be read: byte {error.start} is not UTF-8", hint="It was left as it is"
        ) from None


def record_change(path: Path, change: ConfigChange, *, key: bool) -> FileChangeRecord:
    """Return what is kept of a change that is about to be made; `key`: also what holds our entry is new."""
    before, after = change.before, change.after or ""
    directory = missing_directory(path) or path
    return FileChangeRecord(
        file=str(path),
        before=None if before is None else _sha256_hex(before.encode("utf-8")),
        after=_sha256_hex(after.encode("utf-8")),
        edits=change.edits,
        key=before is None or key,
        made_directory="" if directory == path else str(directory),
    )


def plan_change(
    path: Path, recorded: FileChangeRecord | None, edit: Callable[[str | None], ConfigChange]
) -> tuple[ConfigChange, FileChangeRecord]:
    """Return what a file becomes by an edit, and what is kept of it. Where it was changed before (`recorded`) and is
    as it was left, the edit is made on its former text, so that both are one change. Raises `ConfigError`."""
    text = read_text(path)
    recorded = recorded if text is not None else None
    untouched, before = original_text(text, recorded) if text is not None and recorded is not None else (False, None)
    fresh = edit(before if untouched else text)
    record = record_change(path, fresh, key=False)
    if recorded is not None and untouched:
        record = msgspec.structs.replace(record, made_directory=recorded.made_directory)
    elif recorded is not None:  # it cannot be taken back, only out
        record = msgspec.structs.replace(recorded, after="", edits=())
    return ConfigChange(text, fresh.after), record


def original_text(text: str, recorded: FileChangeRecord) -> tuple[bool, str | None]:
    """Return whether nobody touched a configuration since, and then its text before (`None`: there was no file)."""
    if _sha256_hex(text.encode("utf-8")) != recorded.after:
        return False, None
    if recorded.before is None:
        return True, None
    try:
        before = undo_edits(text, recorded.edits)
    except ValueError:
        return False, None
    return _sha256_hex(before.encode("utf-8")) == recorded.before, before


def has_former_text(text: str, recorded: FileChangeRecord) -> bool:
    """Return whether a text is the configuration as it was before it was changed."""
    return recorded.before == _sha256_hex(text.encode("utf-8"))


def undo_edits(text: str, edits: tuple[TextEdit, ...]) -> str:
    """Return the text before `edits`. Raises `ValueError` where it is not the text that they made."""
    return apply_edits(text, inverse_edits(edits))


def apply_change(path: Path, change: ConfigChange, *, mode: int = 0o600) -> None:
    """Write a change that was decided on. Raises `ConfigError` where somebody else changed the file meanwhile."""
    if read_text(path) != change.before:
        raise ConfigError(f"{path} was changed by somebody else at this moment", hint="Try again")
    write_or_remove(path, change.after, mode=mode)


def write_or_remove(path: Path, text: str | None, *, mode: int = 0o600, made_directory: Path | None = None) -> None:
    """Make a file hold `text`; `None` removes it, with the empty directories up to `made_directory`.

    Raises `ConfigError`.
    """
    if text is None:
        remove_file(path, upto=made_directory)
    else:
        write_file(path, text.encode("utf-8"), mode=mode)


def describe_change(path: Path, change: ConfigChange) -> InstallStep:
    """Return a change as its reader sees it."""
    before, after = change.before, change.after
    if before == after:
        return InstallStep(str(path), "keep")
    what = "create" if before is None else "remove" if after is None else "change"
    old, new = ((text or "").splitlines(keepends=True) for text in (before, after))
    names = [str(path) if text is not None else os.devnull for text in (before, after)]
    lines = difflib.unified_diff(old, new, names[0], names[1])
    diff = (line if line.endswith("\n") else f"{line}\n" for line in lines)
    return InstallStep(str(path), what, "".join(diff))


# --- The file that says what was installed, so that the same, and nothing else, is taken out again.


_ManifestT = TypeVar("_ManifestT", bound=msgspec.Struct)


def read_manifest(path: Path, kind: type[_ManifestT]) -> _ManifestT:
    """Return the manifest at `path`, an empty one where there is none.

    Raises `ConfigError` where it cannot be read.
    """
    body = _read_bytes(path)
    if body is None:
        return kind()
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path} cannot be read ({error})", hint="Move it away and try again") from None


def write_manifest(path: Path, manifest: msgspec.Struct) -> None:
    """Write the manifest, whole or not at all."""
    write_file(path, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
