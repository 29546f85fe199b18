"""A talk that a session is told, and what of it stands afterwards."""

from __future__ import annotations

from hudkit import Hud
from hudkit.sections.state import HudState

USER, AGENT = "user", "assistant"


def state_after(*messages: str | tuple[str, str]) -> HudState:
    """The state after messages with their roles; one without a role is the user's."""
    session = Hud.in_memory().session("s", project="/work/shop")
    for number, message in enumerate(messages):
        role, text = (USER, message) if isinstance(message, str) else message
        session.ingest([{"id": f"m{number}", "role": role, "text": text, "time": 1_795_000_000_000 + number}])
    return session.state


def standing(state: HudState) -> list[str]:
    """The words of what stands and is not marked."""
    items = (*state.constraints, *state.preferences, *state.decisions, *state.notes)
    return [item.words for item in items if not item.doubt]
