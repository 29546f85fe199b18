"""What agents' formats save on the HUDs that they have: tokens, beside those of the same contents in JSON."""

from __future__ import annotations

import msgspec

from hudkit.compose.formats import json_text
from hudkit.rooms.hud.cached_renderer import CachedRenderer
from hudkit.rooms.hud.hud_builder import build_agent_hud
from hudkit.rooms.world import World


class FormatSaving(msgspec.Struct, frozen=True):
    """The HUDs of all living agents of one format: their tokens, and those that they would have in JSON."""

    agents: int
    tokens: int
    json_tokens: int

    @property
    def saved(self) -> float:
        """Return the share of JSON's tokens that the format saves."""
        return 1 - self.tokens / self.json_tokens


def measure_savings(world: World, now: int, renderer: CachedRenderer) -> dict[str, FormatSaving]:
    """Return what each format in use but JSON saves at `now` (Unix ms)."""
    savings: dict[str, FormatSaving] = {}
    for agent in world.agents.values():
        if agent.retired or agent.input_format == "json":
            continue
        hud = build_agent_hud(world, agent.id, now, renderer)
        in_json = renderer.counter.count(json_text.encode(hud.document))
        before = savings.get(agent.input_format, FormatSaving(0, 0, 0))
        savings[agent.input_format] = FormatSaving(
            before.agents + 1, before.tokens + hud.tokens, before.json_tokens + in_json
        )
    return savings
