"""Files written whole or not at all: ours private, a user's with the mode and the links that it had."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from hudkit.errors import ConfigError


def digest(body: bytes) -> str:
    """SHA-256 as hex digits."""
    from hashlib import sha256

    return sha256(body).hexdigest()


def contents(path: Path) -> bytes | None:
    """A file's bytes; `None` where there is none. Raises `ConfigError` where it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror})", hint="Nothing was changed") from None


def write(path: Path, body: bytes, *, mode: int = 0o600) -> None:
    """Make `path` hold `body`. A symbolic link is followed and stays; an existing file keeps its mode; one with other
    names (hard links) is written in place. Missing directories are made 0700. Raises `ConfigError`."""
    real = Path(os.path.realpath(path))
    try:
        make_directory(real.parent)
        found = real.stat() if real.exists() else None
        if found and found.st_nlink > 1:
            real.write_bytes(body)
            return
        _replace(real, body, stat.S_IMODE(found.st_mode) if found else mode)
    except OSError as error:
        raise ConfigError(f"{real} cannot be written ({error.strerror})", hint="Nothing was changed in it") from None


def make_directory(directory: Path) -> None:
    """Make a directory and the missing ones above it, 0700 whatever the umask. `OSError` as the system raises it."""
    if directory.is_dir():
        return
    make_directory(directory.parent)
    directory.mkdir(mode=0o700, exist_ok=True)
    directory.chmod(0o700)


def remove(path: Path, *, upto: Path | None = None) -> bool:
    """Remove a file, and the directories that it leaves empty, `upto` included; whether it was there."""
    there = path.exists() or path.is_symlink()
    path.unlink(missing_ok=True)
    if upto is not None:
        for directory in path.parents:
            if not directory.is_relative_to(upto):
                break
            with contextlib.suppress(OSError):
                directory.rmdir()
    return there


def _replace(real: Path, body: bytes, mode: int) -> None:
    fd, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(body)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
