"""Rewinding: from the log the same HUDs are composed, byte for byte, by a renderer that knows later ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hudkit.rooms.hud import AgentHud, CachedRenderer, build_agent_hud


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["json", "compact", "toon"])
def test_what_was_seen_is_composed_again_from_the_log(make_harness: Callable[..., Any], format_: str) -> None:
    harness = make_harness()
    for name in ("Ann", "Bob", "Cid"):
        harness.make(name, rooms=() if name == "Ann" else (1,), input_format=format_)
    renderer = CachedRenderer()
    huds: list[tuple[int, int, AgentHud]] = []

    def look() -> None:
        world, now = harness.world, harness.now
        huds.extend((world.seq, now, build_agent_hud(world, agent, now, renderer)) for agent in world.agents)
        harness.wait(7)

    look()
    harness.do(1, {"type": "set", "path": "people.Bob", "value": "kind", "w": 0.5}, say={1: "Who is here?"})
    look()
    message = harness.room(1).messages[-1]
    harness.do(2, {"type": "react", "message_id": message, "reaction": "heart"}, say={1: "I am."})
    look()
    harness.do(1, {"type": "set_billboard", "message": "Come in"}, {"type": "delete", "path": "people"})
    harness.do(3, {"type": "set_name", "name": "Sid"}, {"type": "leave_room", "room_id": 1}, {"type": "set_wpm"})
    look()
    harness.do(1, {"type": "create_key", "label": "k"}, {"type": "set_attention", "room_id": 1, "value": "40%"})
    whispers = harness.world_log.take_whispers(1)
    told = build_agent_hud(harness.world, 1, harness.now, renderer, whispers)
    assert whispers and told.document["self"]["once"] == list(whispers)
    look()
    assert told.digest == next(one.digest for seq, _, one in huds if seq == harness.world.seq and one.agent == 1)

    for seq, now, seen in huds:
        assert build_agent_hud(harness.world_log.world_at(seq), seen.agent, now, renderer) == seen
    assert len({seen.digest for *_, seen in huds}) == len(huds)
