"""Where everything would be, gathered once: what the checks look at and what mending may touch."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hudkit import paths
from hudkit.daemon import socket_path
from hudkit.errors import ConfigError
from hudkit.hosts.opencode.plugin_install import PluginTarget


class CheckEnvironment(msgspec.Struct, frozen=True):
    """This interpreter and its environment, our places, the user's variables, the directory that the command runs in
    and the settings files that are there.

    `socket` is `None` where its path cannot be used; `no_socket` says why.
    """

    python: str
    prefix: Path | None
    data: Path
    db: Path
    socket: Path | None
    no_socket: str
    env: Mapping[str, str]
    directory: Path
    settings: Path | None = None
    project_settings: Path | None = None

    @property
    def home(self) -> Path:
        """Return the user's home directory."""
        return Path(self.env.get("HOME") or Path("~").expanduser())

    @property
    def install(self) -> PluginTarget:
        """Return the same as the target of a host's installation."""
        socket = self.socket or self.data / "run" / "daemon.sock"
        return PluginTarget(self.python, self.prefix, self.data, self.db, socket, self.env)


def read_environment(directory: Path, project_settings: Path | None = None) -> CheckEnvironment:
    """Read this process's environment and return what it says. Never raises for what it says wrongly."""
    socket, no_socket = None, ""
    try:
        socket = socket_path.socket_path()
    except ConfigError as error:
        no_socket = str(error)
    return CheckEnvironment(
        python=sys.executable,
        prefix=None,  # whether it will stay was asked when it was installed
        data=paths.data_directory(),
        db=paths.log_path(),
        socket=socket,
        no_socket=no_socket,
        env=dict(os.environ),
        directory=directory,
        settings=paths.config_path(),
        project_settings=project_settings,
    )
