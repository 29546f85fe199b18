"""Where hooks reach the daemon over loopback: a file of the user's alone, which the daemon writes when it listens.

Installing a host that calls over HTTP makes the file with port 0: only then the daemon listens on a port. A caller
that is refused, or answered with status 401, reads the file again.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from hudkit.errors import StoreUnsafe
from hudkit.paths import HOOK_ADDRESS, data_directory


class HookAddress(msgspec.Struct, frozen=True):
    """Port and token of the daemon's hooks, and the socket of that daemon; port 0: it has not listened yet."""

    port: int = 0
    token: str = ""
    socket: str = ""
    v: int = 1


def hook_address_path() -> Path:
    """Return the file's path, whether it is there or not."""
    return data_directory() / HOOK_ADDRESS


def read_hook_address(path: Path) -> HookAddress | None:
    """Return what the file says; `None` where there is none. What cannot be read counts as port 0.

    Raises `StoreUnsafe` where it is a link, another user's, or readable by others.
    """
    try:
        status = path.lstat()
    except OSError:
        return None
    if path.is_symlink() or not path.is_file() or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise StoreUnsafe(
            f"{path} is not a file that only its user can read", hint="Remove it, and install the host again"
        )
    try:
        return msgspec.json.decode(path.read_bytes(), type=HookAddress)
    except (OSError, msgspec.DecodeError):
        return HookAddress()


def write_hook_address(path: Path, address: HookAddress) -> None:
    """Write the file, mode 0600, whole or not at all. Raises `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    part.unlink(missing_ok=True)
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.encode(address) + b"\n")
    part.replace(path)
