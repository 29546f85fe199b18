"""A heads-up display for LLM agents: what must not be forgotten, in every call, within a token budget."""

from __future__ import annotations

TYPE_CHECKING = False  # not imported from typing: `hudkit` imports nothing, so that Ctrl-C finds its handler at once
if TYPE_CHECKING:
    from typing import Any

    from hudkit.api import Hud, HudSession

__version__ = "0.2.0"
__all__ = ["Hud", "HudSession", "__version__"]


def __getattr__(name: str) -> Any:  # the facade is loaded when it is first asked for: `hudkit --version` is fast
    if name in ("Hud", "HudSession"):
        from hudkit import api

        return getattr(api, name)
    raise AttributeError(f"module 'hudkit' has no attribute {name!r}")
