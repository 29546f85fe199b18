"""Confining a command by the system: what it and all its processes may write, whatever they run.

Linux has Landlock (kernel 5.13 and newer): a process gives up rights of its own, for itself and all that it starts,
and cannot get them back. Here it gives up every way to make, change, rename or remove a file, but below some
directories:

    with confined_to([workspace.root, "/tmp"]) as confine:
        subprocess.run(command, preexec_fn=confine)

Reading, running programs and the network stay as they are. Landlock says where a process may write and knows no
exception below: `.git` of a project that may be written to can be written to as well. It does not know `chmod`,
`chown` and times, nor what a program asks of another one over a socket (a container's daemon).
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from hudkit.errors import ToolError

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""Numbers of the system calls, the same on every architecture but alpha."""

_VERSION, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38

_WRITE_FILE = 1 << 1
_CHANGE_FOLDERS = sum(1 << bit for bit in range(4, 13))
"""Removing and making files, directories, links, pipes, sockets and devices."""

_REFER, _TRUNCATE = 1 << 13, 1 << 14
_SCOPES = 3
"""No signals to processes outside, and no abstract sockets of theirs."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm")


@lru_cache(maxsize=1)
def _library() -> ctypes.PyDLL:
    # one that keeps Python's lock: between fork and exec there is nobody to give it back
    return ctypes.PyDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    return int(_library().syscall(ctypes.c_long(number), *arguments))


@lru_cache(maxsize=1)
def _landlock_version() -> int:
    """Return the version of Landlock that the kernel has; 0 where it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)))


def confinement_problem() -> str:
    """Return why this system cannot confine a command; empty where it can."""
    if not sys.platform.startswith("linux"):
        return f"{sys.platform} has no Landlock"
    return "" if _landlock_version() else "this kernel has no Landlock (Linux 5.13 has it, unless it is turned off)"


@contextmanager
def confined_to(folders: Iterable[Path | str]) -> Iterator[Callable[[], None]]:
    """Yield a function that confines the process that calls it, for good, to writing below some directories.

    Temporary directories and the harmless devices are always among them; what does not exist is passed over. Meant as
    `preexec_fn` of a process that is started within the block. Raises `ToolError` where the system cannot do it.
    """
    version = _landlock_version()
    handled = _WRITE_FILE | _CHANGE_FOLDERS | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    attributes = struct.pack("=Q", handled)
    if version >= 6:
        attributes = struct.pack("=QQQ", handled, 0, _SCOPES)
    ruleset = (
        _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0)) if version else -1
    )
    if ruleset < 0:
        raise ToolError(f"the command cannot be confined: {confinement_problem() or os.strerror(ctypes.get_errno())}")
    try:
        for folder in (*folders, tempfile.gettempdir(), "/tmp", *_DEVICES):
            # a file or a device takes only the rights that files have
            rights = handled if Path(folder).is_dir() else handled & (_WRITE_FILE | _TRUNCATE)
            with suppress(OSError):
                _allow_below(ruleset, folder, rights)
        yield lambda: _confine_self(ruleset)
    finally:
        os.close(ruleset)


def _allow_below(ruleset: int, folder: Path | str, rights: int) -> None:
    fd = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        # the kernel reads the structure packed: eight bytes and four
        rule = struct.pack("=Qi", rights, fd)
        if _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0)):
            raise OSError(ctypes.get_errno(), "the rule was not taken")
    finally:
        os.close(fd)


def _confine_self(ruleset: int) -> None:
    """Give up the rights. Raises `OSError`: then the program behind it is not started."""
    if _library().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or _call(
        _RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)
    ):
        raise OSError(ctypes.get_errno(), "the command could not be confined")
