"""An open session with all that it takes: its model, its panel, who watches it, and telemetry where it is wanted."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from hudkit.agent.loop import AgentLoop
from hudkit.agent.records import StoredSession
from hudkit.agent.telemetry import configured
from hudkit.agent.terminal.asking import Answering
from hudkit.agent.terminal.attend import Attendant
from hudkit.agent.terminal.opening import Place, Wish, model_of, open_loop
from hudkit.agent.terminal.panel import Panel
from hudkit.agent.terminal.view import View
from hudkit.api import Hud
from hudkit.errors import ConfigError
from hudkit.models import Model


class Sitting:
    """One session at a time; `open` takes the place of the one before."""

    def __init__(self, wish: Wish, place: Place, view: View, ask: Answering, panel: Panel) -> None:
        self.wish = wish
        self.place = place
        self.view = view
        self.panel = panel
        self._ask = ask
        self._loop: AgentLoop | None = None
        self._attendant: Attendant | None = None
        self._model: Model | str = ""
        self._huds: list[Hud] = []
        self._telemetry = configured(place.settings.telemetry)

    @property
    def loop(self) -> AgentLoop:
        assert self._loop is not None
        return self._loop

    @property
    def attendant(self) -> Attendant:
        assert self._attendant is not None
        return self._attendant

    async def open(self, session: StoredSession | None) -> None:
        """Open a stored session in its own directory, or a new one. Raises a `HudkitError`; what was open stays."""
        wish = self.wish
        if session is not None:
            directory = Path(session.directory)
            if not directory.is_dir():
                hint = "Its directory has to be there, for its work is in it"
                raise ConfigError(f"session {session.id} worked in {directory}, which is gone", hint=hint)
            wish = replace(wish, directory=directory)
        model = self._model or model_of(wish, session, self.place.settings)
        huds: list[Hud] = []
        try:
            loop = await open_loop(wish, self.place, self._ask, model, session, huds, self._telemetry)
        except BaseException:
            _close(huds)
            raise
        await self._let_go()
        self._huds = huds
        if not isinstance(model, str):
            self._model = model  # a script goes on where it is
        self._loop = loop
        self._attendant = Attendant(loop, self.view, self.panel)
        self._ask.before = self._attendant.show
        self.view.opened(loop, session is not None)

    async def close(self) -> None:
        """Close what is open; twice is harmless."""
        await self._let_go()
        self.panel.close()
        if self._telemetry is not None:
            self._telemetry.close()

    async def _let_go(self) -> None:
        if self._loop is not None:
            loop, self._loop, self._attendant = self._loop, None, None
            await loop.close()
        _close(self._huds)


def _close(huds: list[Hud]) -> None:
    while huds:
        huds.pop().close()
