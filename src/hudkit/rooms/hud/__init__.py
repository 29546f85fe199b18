"""The HUD of an agent in a world: composed, fitted to its token budget, written in the agent's format."""

from hudkit.rooms.hud.agent_hud import INSTRUCTIONS, AgentHud, HudOmission, HudSection, as_markdown, resolve_beat
from hudkit.rooms.hud.cached_renderer import CachedRenderer
from hudkit.rooms.hud.hud_builder import build_agent_hud, build_hud

__all__ = [
    "INSTRUCTIONS",
    "AgentHud",
    "CachedRenderer",
    "HudOmission",
    "HudSection",
    "as_markdown",
    "build_agent_hud",
    "build_hud",
    "resolve_beat",
]
