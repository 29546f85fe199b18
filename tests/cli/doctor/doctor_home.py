"""A user's home among the temporary files, and what the environment says of it."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hudkit.cli.checks import Check

Run = Callable[..., tuple[int, str, str]]
Look = Callable[..., dict[str, Check]]


class Home:
    """Where everything of the user is."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "share" / "hudkit"
        self.db = self.data / "hudkit.db"
        self.socket = self.data / "run" / "d.sock"
        self.settings = root / "config" / "hudkit" / "config.toml"
        self.opencode = root / "config" / "opencode"
        self.bin = root / "bin"
        self.project = root / "project"

    def program(self, version: str) -> None:
        """Put an `opencode` that says its version where it is found."""
        self.bin.mkdir(exist_ok=True)
        path = self.bin / "opencode"
        path.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo '{version}'\n")
        path.chmod(0o755)


@contextlib.contextmanager
def made_home(patch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A home with nothing in it but a project; the process stands there."""
    home = Home(Path(tempfile.mkdtemp(prefix="hk")))  # short: a socket's path is at most 100 bytes
    for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HUDKIT_DB", "OPENCODE_CONFIG"):
        patch.delenv(name, raising=False)
    patch.setenv("HOME", str(home.root))
    patch.setenv("XDG_CONFIG_HOME", str(home.root / "config"))
    patch.setenv("HUDKIT_DATA", str(home.data))
    patch.setenv("HUDKIT_SOCKET", str(home.socket))
    patch.delenv("HUDKIT_CONFIG", raising=False)
    patch.setenv("PATH", f"{home.bin}:/usr/bin:/bin")
    home.project.mkdir()
    patch.chdir(home.project)
    try:
        yield home
    finally:
        shutil.rmtree(home.root)
