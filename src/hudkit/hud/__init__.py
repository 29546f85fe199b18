"""The session core: append facts, fold them to a state, compose frames. Time, ids and store come from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hudkit.hud.session_core import ClockAndIds, SessionCore
    from hudkit.tokens.counting import TokenCounter

__all__ = ["ClockAndIds", "SessionCore", "TokenCounter"]


def __getattr__(name: str) -> Any:  # who only asks for a session's key does not pay for composing
    if name in ("ClockAndIds", "SessionCore"):
        from hudkit.hud import session_core

        return getattr(session_core, name)
    if name == "TokenCounter":
        from hudkit.tokens.counting import TokenCounter

        return TokenCounter
    raise AttributeError(f"module 'hudkit.hud' has no attribute {name!r}")
