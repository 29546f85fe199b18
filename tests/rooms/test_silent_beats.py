"""An agent that is addressed and says nothing for several beats is told to people: a world must not look dead."""

from __future__ import annotations

from typing import Any

import pytest
from simulations import Simulation, run

from hudkit.rooms.players import ScriptedPlayer


def silent(*lines: Any) -> Simulation:
    sim = Simulation(ScriptedPlayer({2: lines}), "Ann", "Bob")
    run(sim.runner.step(2))
    sim.architect.say(1, "Who has seen the lamp?")
    return sim


def test_beats_without_effect_are_counted_from_when_it_was_addressed() -> None:
    sim = silent()
    bob = sim.world_log.world.agents[2]
    assert bob.silent_beats == 0
    for number in (1, 2, 3):
        run(sim.runner.step(2))
        assert bob.silent_beats == number
    assert sim.world_log.world_at(sim.world_log.world.seq) == sim.world_log.world


@pytest.mark.parametrize(
    "answer",
    [
        {"responses": [{"room_id": 1, "message": "Not I."}]},
        {"responses": [{"room_id": 1, "message": "word " * 250}]},
        {"actions": [{"type": "react", "message_id": 2, "reaction": "heart"}]},
    ],
    ids=["message", "one that waits", "action"],
)
def test_whatever_it_does_ends_the_count(answer: Any) -> None:
    sim = silent("[no response]", "[no response]", "[no response]", answer)
    for _ in range(4):
        run(sim.runner.step(2))
    bob = sim.world_log.world.agents[2]
    assert bob.silent_beats == 0 and not bob.addressed


def test_who_was_not_addressed_may_be_silent() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob")
    for _ in range(4):
        run(sim.runner.step(2))
    assert sim.world_log.world.agents[2].silent_beats == 0
