"""The greeting of a new session: an earlier one of its project has an open task, and how to take it up: told once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hudkit.compose import shorten
from hudkit.errors import StoreError
from hudkit.hud.defaults import PROJECT_LOG
from hudkit.hud.keys import own_name, project_of
from hudkit.log.log import EventLog
from hudkit.log.payloads import Payload, SessionOffer
from hudkit.sections.state import HudState

LOOKED_AT = 5
"""Earlier sessions of the project of which the last that worked is looked for."""


class Offering:
    """The step before a session's first frame."""

    def __init__(self, key: str, log: EventLog, state_of: Callable[[str], HudState]) -> None:
        self._key = key
        self._log = log
        self._state_of = state_of
        self._done = False

    def __call__(self, state: HudState) -> Sequence[Payload]:
        if self._done:
            return ()
        self._done = True
        if state.epoch.last or state.task or state.session.links or state.session.offer or not project_of(self._key):
            return ()
        try:
            return self._offers()
        except StoreError:
            return ()

    def _offers(self) -> Sequence[Payload]:
        project = project_of(self._key)
        keys = [
            key
            for key in self._log.sessions()
            if project_of(key) == project and key != self._key and not key.startswith(f"{PROJECT_LOG}@")
        ]
        own = [(key, self._state_of(key)) for key in keys[-LOOKED_AT:]]
        told = [(key, one) for key, one in own if not any(link.relation == "parent" for link in one.session.links)]
        if not told:
            return ()
        key, last = max(told, key=lambda pair: pair[1].time)
        if not last.task:
            return ()
        return (SessionOffer(own_name(key), shorten(last.task.description, 400), len(last.steps.open), last.time),)
