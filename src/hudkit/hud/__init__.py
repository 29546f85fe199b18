"""The session core: append facts, fold them to a state, compose frames. Time, ids and store come from outside."""

from hudkit.hud.session_core import ClockAndIds, SessionCore
from hudkit.tokens.counting import TokenCounter

__all__ = ["ClockAndIds", "SessionCore", "TokenCounter"]
