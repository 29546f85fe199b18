"""A user's home with OpenCode's configuration in it, and a place to install from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hudkit.hosts.opencode.plugin_install import PluginTarget


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home without anything; OpenCode's configuration belongs into `.config/opencode`."""
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def there(home: Path) -> PluginTarget:
    """This interpreter (wherever the tests run), and a data directory that is not there yet."""
    data = home / ".local/share/hudkit"
    return PluginTarget(
        python=sys.executable,
        prefix=None,
        data=data,
        db=data / "hudkit.db",
        socket=data / "run/daemon.sock",
        env={"HOME": str(home)},
    )


@pytest.fixture
def config(home: Path) -> Path:
    """The user's `opencode.json`; its directory is there."""
    path = home / ".config/opencode/opencode.json"
    path.parent.mkdir(parents=True)
    return path
