"""A world of rooms as spans and metrics: a span a beat, its model's call, what was said, done and refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry.trace import StatusCode
from telemetry_recorder import NOW, Watched, of

from hudkit.agent.telemetry import names
from hudkit.agent.telemetry.world_beats import WorldTelemetry
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.players import BeatReply, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.players.player import encode_reply
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_log import WorldLog

pytestmark = pytest.mark.slow

ANSWER: dict[str, Any] = {
    "responses": [{"room_id": 1, "message": "The lamp was red."}],
    "actions": [{"type": "set", "path": "mood", "value": "calm"}, {"type": "wake_agent", "agent_id": 77}],
}


def played(watched: Watched, *replies: Any, content: bool = False) -> WorldLog:
    """A world of one agent with the model `openai:gpt-5` that was played for as many beats as there are replies."""
    clock = SimulatedClock(NOW)
    world_log = WorldLog.in_memory(name="pier", clock=clock.wall)
    Architect(world_log, clock.wall).make_agent("persona", "Maren", "You keep a shop.", "openai:gpt-5")
    script = ScriptedPlayer({1: list(replies)})
    runner = WorldRunner(world_log, PlayerRegistry({"openai:gpt-5": script}), clock=clock)
    WorldTelemetry(world_log, watched.telemetry(content=content))
    asyncio.run(runner.run(beats=len(replies)))
    return world_log


def reply(**more: Any) -> BeatReply:
    return BeatReply(encode_reply(ANSWER, "json"), **more)


def test_a_beat_is_an_agent_with_its_model_call_and_its_actions_below(watched: Watched) -> None:
    world_log = played(watched, reply(input_tokens=1000, cached_tokens=700, output_tokens=40, cost=0.02))
    tree = sorted((depth, span.name) for depth, span in watched.walk())
    assert tree == [
        (0, "invoke_agent Maren"),
        (1, "chat gpt-5"),
        (1, "execute_tool say"),
        (1, "execute_tool set"),
        (1, "execute_tool wake_agent"),
    ]
    (agent,) = watched.named("invoke_agent Maren")
    (chat,) = watched.named("chat gpt-5")
    (begun,) = [what for _, what in world_log.events() if isinstance(what, e.BeatBegun)]
    assert of(agent)[names.CONVERSATION] == "pier/1" and of(agent)[names.ENDED] == "done"
    assert (of(chat)[names.INPUT_TOKENS], of(chat)[names.CACHE_READ], of(chat)[names.OUTPUT_TOKENS]) == (
        1000,
        700,
        40,
    )
    assert of(chat)[names.COST] == 0.02
    assert (of(chat)[names.FRAME_TOKENS], of(chat)[names.BEAT]) == (begun.tokens, 1)
    refused = watched.named("execute_tool wake_agent")[0]
    assert of(refused)[names.ERROR_TYPE] == "refused" and refused.status.status_code is StatusCode.ERROR
    assert agent.start_time == begun.composed_at * 1_000_000
    usage = {point.attributes[names.TOKEN_TYPE]: point.sum for point in watched.points(names.TOKEN_USAGE)}
    assert usage == {"input": 1000, "output": 40}


def test_an_error_of_a_model_ends_its_call_and_not_the_world(watched: Watched) -> None:
    world_log = played(watched, BeatReply(error="model-unreachable: nobody answers"), reply())
    calls = watched.named("chat gpt-5")
    assert [of(call).get(names.ERROR_TYPE) for call in calls] == ["model-unreachable", None]
    assert len(watched.named("invoke_agent Maren")) == world_log.world.beats == 2


def test_what_was_said_is_told_only_where_it_is_asked_for(watched: Watched) -> None:
    played(watched, reply())
    assert "red" not in str([dict(span.attributes or {}) for span in watched.spans])
    with_content = Watched()
    played(with_content, reply(), content=True)
    (said,) = with_content.named("execute_tool say")
    assert "The lamp was red." in str(of(said)[names.TOOL_ARGUMENTS])
    assert "The lamp was red." in str(of(with_content.named("chat gpt-5")[0])[names.OUTPUT_MESSAGES])


def test_telemetry_that_fails_leaves_the_world_as_it_is(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    telemetry = watched.telemetry()
    clock = SimulatedClock(NOW)
    world_log = WorldLog.in_memory(clock=clock.wall)
    Architect(world_log, clock.wall).make_agent("persona", "Maren", "You keep a shop.", "m")
    WorldTelemetry(world_log, telemetry)
    telemetry.tell = None  # type: ignore[method-assign, assignment]
    runner = WorldRunner(world_log, PlayerRegistry({"m": ScriptedPlayer({1: [ANSWER]})}), clock=clock)
    asyncio.run(runner.run(beats=1))
    assert world_log.world.beats == 1 and "telemetry is incomplete" in caplog.text
