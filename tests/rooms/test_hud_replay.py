"""Rewinding: from the log the same HUDs are composed, byte for byte, by a typesetter that knows later ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hudkit.rooms.hud import AgentHud, CachedRenderer, build_agent_hud


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["json", "compact", "toon"])
def test_what_was_seen_is_composed_again_from_the_log(staged: Callable[..., Any], format_: str) -> None:
    stage = staged()
    for name in ("Ann", "Bob", "Cid"):
        stage.make(name, rooms=() if name == "Ann" else (1,), input_format=format_)
    renderer = CachedRenderer()
    huds: list[tuple[int, int, AgentHud]] = []

    def look() -> None:
        world, now = stage.world, stage.now
        huds.extend((world.seq, now, build_agent_hud(world, agent, now, renderer)) for agent in world.agents)
        stage.wait(7)

    look()
    stage.do(1, {"type": "set", "path": "people.Bob", "value": "kind", "w": 0.5}, say={1: "Who is here?"})
    look()
    message = stage.room(1).messages[-1]
    stage.do(2, {"type": "react", "message_id": message, "reaction": "heart"}, say={1: "I am."})
    look()
    stage.do(1, {"type": "set_billboard", "message": "Come in"}, {"type": "delete", "path": "people"})
    stage.do(3, {"type": "set_name", "name": "Sid"}, {"type": "leave_room", "room_id": 1}, {"type": "set_wpm"})
    look()
    stage.do(1, {"type": "create_key", "label": "k"}, {"type": "set_attention", "room_id": 1, "value": "40%"})
    whispers = stage.world_log.take_whispers(1)
    told = build_agent_hud(stage.world, 1, stage.now, renderer, whispers)
    assert whispers and told.document["self"]["once"] == list(whispers)
    look()
    assert told.digest == next(one.digest for seq, _, one in huds if seq == stage.world.seq and one.agent == 1)

    for seq, now, seen in huds:
        assert build_agent_hud(stage.world_log.world_at(seq), seen.agent, now, renderer) == seen
    assert len({seen.digest for *_, seen in huds}) == len(huds)
