"""A game master is told of beats, carries out tools, and leaves a world that replays without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulations import Simulation

from hudkit.errors import OperationError
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.game_master import attach_game_master
from hudkit.rooms.players import BeatPrompt, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.world import World, WorldRules
from hudkit.rooms.world_replay import replay_log

RULES = WorldRules(tools={"look": 'what is at a place: {"place": "pier|mill"}'})


class Places:
    """Knows two places, and says after each first beat who was there."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def use_tool(self, world: World, agent: int, tool: str, arguments: Mapping[str, Any]) -> str:
        assert tool == "look" and agent in world.agents
        if arguments.get("place") != "pier":
            raise OperationError(f"there is no place {arguments.get('place')!r}")
        return "A boat, and nobody in it."

    def after_beat(self, architect: Architect, agent: int) -> None:
        if agent not in self.told:
            architect.say(1, f"Agent {agent} was seen.")
        self.told.append(agent)


def look(prompt: BeatPrompt) -> dict[str, Any]:
    place = "pier" if prompt.agent == 1 else "moon"
    return {"actions": [{"type": "look", "place": place}] if prompt.number == 1 else [], "responses": []}


def test_a_tool_is_offered_carried_out_and_its_result_is_read_in_the_next_hud() -> None:
    player, places = ScriptedPlayer(look), Places()
    sim = Simulation(PlayerRegistry({"scripted": player}), "Ann", "Bob", rules=RULES)
    attach_game_master(sim.runner, places)
    sim.run(6)
    first = player.prompts[0].hud
    assert first.document["meta"]["available_actions"]["tools"]["actions"] == [
        {"type": "look", "arguments": RULES.tools["look"]}
    ]
    later = {prompt.agent: prompt.hud.document["self"]["recent_actions"] for prompt in player.prompts[2:]}
    assert any(action.get("result") == "A boat, and nobody in it." for action in later[1])
    assert any("no place 'moon'" in action.get("refused", "") for action in later[2])
    said = [message.content for message in sim.world_log.world.messages.values() if message.sender == e.ARCHITECT]
    assert sorted(said) == ["Agent 1 was seen.", "Agent 2 was seen."]
    assert len(places.told) == 6 and replay_log(sim.world_log).sound


def test_without_a_game_master_a_tool_is_refused_and_without_tools_the_hud_is_as_ever() -> None:
    player = ScriptedPlayer(look)
    sim = Simulation(PlayerRegistry({"scripted": player}), "Ann", rules=RULES)
    sim.run(2)
    (refused,) = sim.events_of(e.ActionRefused)
    assert "nobody carries out 'look'" in refused.why
    plain = ScriptedPlayer(look)
    sim = Simulation(PlayerRegistry({"scripted": plain}), "Ann")
    sim.run(1)
    assert "tools" not in plain.prompts[0].hud.document["meta"]["available_actions"]
    assert "there is no action 'look'" in sim.events_of(e.ActionRefused)[0].why
