"""The wiring: append, project, compose, fit, write; time, ids and the store come from outside."""

from hudkit.hud.session import Outside, Session
from hudkit.hud.typeset import Counter

__all__ = ["Counter", "Outside", "Session"]
