"""Losses of power on one machine: a process is killed, and what it had not synced yet is taken back.

`PowerSupply` compiles `power_loss.c` and gives the environment for a child process; `lose` then undoes writes that
were not synced: all of them, a random part of them, or random sectors of 512 bytes, as a disk may.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

SECTOR = 512
_HEAD = struct.Struct("<cQQQQI")
_SOURCE = Path(__file__).with_name("power_loss.c")


class _Write(NamedTuple):
    kind: bytes
    offset: int
    length: int
    size: int
    old: bytes


class PowerSupply:
    """The power of processes that write below one folder."""

    def __init__(self, under: Path, scratch: Path) -> None:
        """Skips the test where there is no Linux or no compiler. `scratch` is outside of `under`."""
        compiler = shutil.which("cc")
        if sys.platform != "linux" or compiler is None:
            pytest.skip("needs Linux and a C compiler")
        self.under = under
        self.journal = scratch / "writes"
        library = scratch / "power_loss.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, _SOURCE, "-lpthread"], check=True)
        self.environment = {
            **os.environ,
            "LD_PRELOAD": os.fspath(library),
            "POWER_LOSS_UNDER": f"{os.fspath(under.resolve())}/",
            "POWER_LOSS_JOURNAL": os.fspath(self.journal),
        }

    def lose(self, chance: Random) -> int:
        """Undo unsynced writes of processes that were killed, and return how many were undone in part."""
        undone = 0
        mode = chance.choice(("all", "some", "torn"))
        for path, writes in self._unsynced().items():
            undone += sum([_undo(path, write, mode, chance) for write in reversed(writes)] if path.exists() else ())
        for file in self.under.rglob("*-shm"):
            file.unlink()
        self.journal.unlink(missing_ok=True)
        return undone

    def _unsynced(self) -> dict[Path, list[_Write]]:
        data = self.journal.read_bytes() if self.journal.exists() else b""
        writes: dict[Path, list[_Write]] = defaultdict(list)
        at = 0
        while at + _HEAD.size <= len(data):
            kind, offset, length, size, old, name = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            path = Path(os.fsdecode(data[at : at + name]))
            at += name
            if kind == b"S":
                writes[path].clear()
            else:
                writes[path].append(_Write(kind, offset, length, size, data[at : at + old]))
            at += old
        return writes


def _undo(path: Path, write: _Write, mode: str, chance: Random) -> bool:
    """Take a write back, or a part of it; return whether anything of it was."""
    if mode == "some" and chance.random() < 0.5:
        return False
    with path.open("r+b") as file:
        if write.kind == b"T":
            file.seek(write.offset)
            file.write(write.old)
            return True
        before = write.old.ljust(write.length, b"\0")
        for start in range(0, write.length, SECTOR):
            if mode != "torn" or chance.random() < 0.5:
                file.seek(write.offset + start)
                file.write(before[start : start + SECTOR])
        if mode == "all" and write.size < write.offset + write.length:
            file.truncate(write.size)
    return True
