"""A heads-up display for LLM agents: what must not be forgotten, in every call, within a token budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hudkit.api import Hud, HudSession

__version__ = "0.1.0"
__all__ = ["Hud", "HudSession", "__version__"]


def __getattr__(name: str) -> Any:  # the facade is loaded when it is first asked for: `hudkit --version` is fast
    if name in ("Hud", "HudSession"):
        from hudkit import api

        return getattr(api, name)
    raise AttributeError(f"module 'hudkit' has no attribute {name!r}")
