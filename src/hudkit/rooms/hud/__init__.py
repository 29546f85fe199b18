"""The HUD of an agent in a world: composed, fitted to its token budget, written in the agent's format."""

from hudkit.rooms.hud.compose import compose
from hudkit.rooms.hud.markdown import as_markdown
from hudkit.rooms.hud.seen import Omission, Section, Seen
from hudkit.rooms.hud.typesetter import Typesetter

__all__ = ["Omission", "Section", "Seen", "Typesetter", "as_markdown", "compose"]
