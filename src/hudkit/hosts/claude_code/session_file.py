"""One small file for each session, which the daemon keeps: what the status line shows.

Whoever reads it asks nobody, so a status line costs next to nothing.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

import msgspec

from hudkit.config import Settings
from hudkit.hosts.hook_session import HookSession
from hudkit.hud.window_usage import WindowUsage, window_usage
from hudkit.sections.state import HudState

_LOG = logging.getLogger("hudkit.ingest")

SESSION_FILES = "claude-code"
"""The folder of the files, in the data directory."""

MAX_FILES = 64
"""Files that are kept; those of sessions that nobody was in for longest go."""


class SessionFile(msgspec.Struct, frozen=True):
    """What the file says. `used` and `limit` are tokens (`None`: unknown), `time` is the last frame's in Unix ms.

    `forecast` says in words when the window will be full.
    """

    v: int = 1
    task: str = ""
    used: int | None = None
    limit: int | None = None
    time: int = 0
    forecast: str = ""


class SessionFiles:
    """The files of all sessions, in the data directory."""

    def __init__(self, data: Path) -> None:
        self._folder = data / SESSION_FILES
        self._written: dict[str, SessionFile] = {}

    def write(self, hook_session: HookSession) -> None:
        """Write the file of a session after a frame. Never raises: nothing depends on it."""
        name = hook_session.host_session
        if hook_session.is_subagent or "/" in name or name.startswith("."):
            return
        file = _describe(hook_session.session.state, hook_session.session.settings)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if name not in self._written:
                self._make_room()
            path = self._folder / f"{name}.json"
            part = path.with_name(f".{path.name}.{os.getpid()}")
            part.write_bytes(msgspec.json.encode(file) + b"\n")
            part.replace(path)
            self._written[name] = file
        except OSError as error:
            _LOG.warning("no file for the status line: %s", error.strerror)

    def _make_room(self) -> None:
        files = sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for path in files[: max(0, len(files) - MAX_FILES + 1)]:
            with suppress(OSError):
                path.unlink()


def _forecast(window: WindowUsage) -> str:
    """The calls until the window is full, or its next band, as far as that can be told."""
    if window.overflow is not None:
        return f"about {window.overflow} call{'s' * (window.overflow != 1)} left"
    trend = window.trend
    if trend is None or trend.calls_left is None or trend.band is None:
        return ""
    return f"{trend.band.value} in {trend.calls_left} call{'s' * (trend.calls_left != 1)}"


def _describe(state: HudState, settings: Settings) -> SessionFile:
    return SessionFile(
        task=state.task.description or state.session.request,
        used=state.window.used_tokens,
        limit=state.window.limit_tokens,
        time=state.time,
        forecast=_forecast(window_usage(state, settings)),
    )
