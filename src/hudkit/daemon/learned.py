"""What earlier sessions learned of how a model counts, for the first call of a new one."""

from __future__ import annotations

from collections.abc import Sequence

from hudkit.api import Hud, Session
from hudkit.errors import HudkitError
from hudkit.log import Draft, Origin
from hudkit.log.payloads import ContextSnapshot, Learned

MOST_SESSIONS = 4
"""Sessions that are looked at, the newest first."""
MOST_EVENTS = 20_000
"""Longer ones are passed over: the first call does not wait for them."""


def learned(hud: Hud, session: Session, model: str) -> tuple[Draft, ...]:
    """A draft that tells it, so that a replay knows it too; none where no recent session had reports of the model."""
    if not model or session.state.calibrated.of(model).reports:
        return ()
    for name in _recent(hud, session.id):
        try:
            known = hud.session(name).state.calibrated.of(model)
        except HudkitError:
            continue  # a damaged session teaches nothing
        if known.reports:
            told = Learned(model, known.factors, known.doubts, known.reports)
            return session.drafts((ContextSnapshot(learned=told),), Origin.SYSTEM, session.state.window.calls)
    return ()


def _recent(hud: Hud, but: str) -> Sequence[str]:
    """The newest sessions of the same host."""
    host = but.partition("/")[0] + "/"
    found: list[str] = []
    for name in reversed(hud.log.sessions()):
        if name != but and name.startswith(host) and hud.log.last_seq(name) <= MOST_EVENTS:
            found.append(name)
            if len(found) == MOST_SESSIONS:
                break
    return found
