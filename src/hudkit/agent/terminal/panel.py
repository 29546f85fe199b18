"""The HUD of the session under way, as its user sees it: one line that stays in sight, and the whole on demand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text

from hudkit.agent.loop import AgentLoop
from hudkit.agent.session_transcript import HOST
from hudkit.agent.terminal.screen import clip
from hudkit.agent.terminal.window_bar import forecast_text, window_text
from hudkit.api import Hud, HudSession
from hudkit.config import Settings
from hudkit.errors import HudkitError
from hudkit.hud.window_usage import WindowUsage, window_usage
from hudkit.log.stores import open_log
from hudkit.sections.state import HudState
from hudkit.sections.steps import PlannedStep
from hudkit.tokens import usage_of

_TASK = 40
"""Cells of the task in the line."""

_BETWEEN = " · "


class Panel:
    """Reads the HUD's log beside the plugin that writes it; `log` is `None` where the session has no HUD."""

    def __init__(self, log: Path | None, settings: Settings) -> None:
        self._log = log
        self._settings = settings
        self._loop: AgentLoop | None = None
        self._hud: Hud | None = None
        self._parts: list[Text] = []

    def of(self, loop: AgentLoop) -> None:
        """Make the panel that of this session from now on; return nothing."""
        self._loop = loop
        self.refresh()

    def refresh(self) -> None:
        """Look again; return nothing. To be called when something has changed, not for every piece of an answer."""
        self._parts = list(self._read())

    def line(self, columns: int) -> Text:
        """Return the window in use, its forecast, cost, todos, blockers and task, as of the last look.

        What has no room in so many cells is left out, the last first; the task is cut.
        """
        line = Text()
        for part in self._parts:
            room = columns - cell_len(line.plain) - (len(_BETWEEN) if line else 0)
            if cell_len(part.plain) > room and not part.plain.startswith("task: "):
                continue
            if room < len("task: ") + 8 and part.plain.startswith("task: "):
                continue
            part = part if cell_len(part.plain) <= room else Text(clip(part.plain, room))
            line = Text.assemble(line, _BETWEEN, part) if line else part.copy()
        return line

    def whole(self) -> str:
        """Return all that is in the HUD, as one document. Raises a `HudkitError`."""
        session = self._session()
        if session is None or not session.state.seq:
            return "This session has no HUD." if self._log is None else "The HUD is empty: it begins with a prompt."
        return session.whole_frame(session.state.seq).text

    def window_usage(self) -> WindowUsage | None:
        """Return what fills the window; `None` where there is no HUD that knows. Raises a `HudkitError`."""
        session = self._session()
        return window_usage(session.state, self._settings) if session is not None and session.state.seq else None

    def steps(self) -> tuple[PlannedStep, ...]:
        """Return the steps in the HUD, in their order; none where there is no HUD. Raises a `HudkitError`."""
        session = self._session()
        return tuple(session.state.steps) if session is not None else ()

    def close(self) -> None:
        """Close the log; return nothing."""
        if self._hud is not None:
            self._hud.close()
            self._hud = None

    def _read(self) -> Iterator[Text]:
        loop = self._loop
        if loop is None:
            return
        used, window = loop.used_tokens, loop.window
        yield window_text(usage_of(used, window))
        state, problem, forecast = HudState(), "", ""
        try:
            session = self._session()
            state = session.state if session is not None else state
            usage = self.window_usage() if used is not None else None
            forecast = forecast_text(usage, used) if usage is not None else ""
        except HudkitError as error:
            problem = f"HUD: {clip(error.message, _TASK)}"
        if forecast:
            yield Text(forecast)
        if cost := cost_text(loop):
            yield Text(cost)
        todos = loop.setup.store.todos(loop.id)
        if todos:
            done = sum(todo.status in ("completed", "cancelled") for todo in todos)
            yield Text(f"todos {done}/{len(todos)}")
        if problem:
            yield Text(problem, "yellow")
        if state.blockers:
            yield Text(f"blockers {len(state.blockers)}", "red")
        if state.task:
            yield Text(f"task: {clip(state.task.description, _TASK)}")

    def _session(self) -> HudSession | None:
        """The session in the log, which is there from the first model call on. Raises a `HudkitError`."""
        if self._log is None or self._loop is None or not self._log.exists():
            return None
        if self._hud is None:
            self._hud = Hud(open_log(self._log, read_only=True), settings=self._settings)
        return self._hud.session(self._loop.id, project=self._loop.setup.workspace.cwd, host=HOST)


def cost_text(loop: AgentLoop) -> str:
    """Return what the session cost so far; that no price is known, where tokens were used."""
    session = loop.session
    if session.cost:
        return dollars(session.cost)
    return "no price" if session.usage.prompt or session.usage.output else ""


def dollars(amount: float) -> str:
    """Return an amount of US dollars: small ones with four digits behind the point."""
    return f"${amount:.4f}" if amount < 0.1 else f"${amount:.2f}"
