"""A HUD as Markdown for people."""

from __future__ import annotations

from hudkit.compose.formats.markdown import render
from hudkit.rooms.hud.components import Hud
from hudkit.rooms.hud.seen import Seen


def as_markdown(seen: Seen) -> str:
    """What an agent sees, as a page: who it is, what it knows and did, its rooms, and what it is told."""
    return render(Hud(seen))
