"""The HUD of the session under way, as its user sees it: one line that stays in sight, and the whole on demand."""

from __future__ import annotations

from pathlib import Path

from hudkit.agent.hud_hooks import HOST
from hudkit.agent.loop import AgentLoop
from hudkit.agent.terminal.screen import clip
from hudkit.api import Hud, HudSession
from hudkit.config import Settings
from hudkit.errors import HudkitError
from hudkit.log.stores import open_log
from hudkit.sections.document_builder import short_token_count
from hudkit.sections.state import HudState
from hudkit.tokens import Window

_TASK = 40
"""Cells of the task in the line."""


class Panel:
    """Reads the HUD's log beside the plugin that writes it; `log` is `None` where the session has no HUD."""

    def __init__(self, log: Path | None, settings: Settings) -> None:
        self._log = log
        self._settings = settings
        self._loop: AgentLoop | None = None
        self._hud: Hud | None = None
        self._line = ""

    def of(self, loop: AgentLoop) -> None:
        """Make the panel that of this session from now on; return nothing."""
        self._loop = loop
        self.refresh()

    def refresh(self) -> None:
        """Look again; return nothing. To be called when something has changed, not for every piece of an answer."""
        self._line = " · ".join(self._parts())

    def line(self) -> str:
        """Return the window in use, todos, blockers and task, as of the last look."""
        return self._line

    def whole(self) -> str:
        """Return all that is in the HUD, as one document. Raises a `HudkitError`."""
        session = self._session()
        if session is None or not session.state.seq:
            return "This session has no HUD." if self._log is None else "The HUD is empty: it begins with a prompt."
        return session.whole_frame(session.state.seq).text

    def close(self) -> None:
        """Close the log; return nothing."""
        if self._hud is not None:
            self._hud.close()
            self._hud = None

    def _parts(self) -> list[str]:
        loop = self._loop
        if loop is None:
            return []
        parts = [_window_text(loop.used_tokens, loop.window)]
        todos = loop.setup.store.todos(loop.id)
        if todos:
            done = sum(todo.status in ("completed", "cancelled") for todo in todos)
            parts.append(f"todos {done}/{len(todos)}")
        try:
            session = self._session()
            state = session.state if session is not None else HudState()
        except HudkitError as error:
            return [*parts, f"HUD: {clip(error.message, _TASK)}"]
        if state.blockers:
            parts.append(f"blockers {len(state.blockers)}")
        if state.task:
            parts.append(f"task: {clip(state.task.description, _TASK)}")
        return parts

    def _session(self) -> HudSession | None:
        """The session in the log, which is there from the first model call on. Raises a `HudkitError`."""
        if self._log is None or self._loop is None or not self._log.exists():
            return None
        if self._hud is None:
            self._hud = Hud(open_log(self._log, read_only=True), settings=self._settings)
        return self._hud.session(self._loop.id, project=self._loop.setup.workspace.cwd, host=HOST)


def _window_text(used: int | None, window: Window) -> str:
    """Return the window in use: `used/limit %`; what is not known, or assumed, is said to be."""
    limit = short_token_count(window.limit_tokens) + (" assumed" if window.source == "assumed" else "")
    if used is None:
        return f"window unknown/{limit}"
    return f"window {short_token_count(used)}/{limit} {used * 100 / window.limit_tokens:.0f}%"
