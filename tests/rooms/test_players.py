"""Minds over the port to models, and which mind a model's name means."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from simulations import Simulation, run

from hudkit.errors import ConfigError
from hudkit.models import RequestSettings
from hudkit.models.scripted_answers import Refusal, ScriptedReply, says
from hudkit.models.scripted_model import InProcessModel
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.players import BeatPrompt, Improviser, ModelPlayer, PlayerRegistry, ScriptedPlayer, open_players
from hudkit.rooms.players.player import encode_reply
from hudkit.rooms.reply_parser import parse_reply
from hudkit.tokens import Prices

PRICES = Prices(input=3.0, output=15.0, cached_read=0.3, cache_write=3.75, source="test", model="m")
HELLO = '{"responses": [{"room_id": 1, "message": "Hello from a model"}]}'


def with_model(
    *answers: Any, names: tuple[str, ...] = ("Ann", "Bob"), **given: Any
) -> tuple[Simulation, InProcessModel]:
    model = InProcessModel(answers, otherwise=says("[no response]"), **given)
    return Simulation(ModelPlayer(model), *names, model="scripted:model"), model


def test_a_model_gets_the_hud_byte_for_byte_and_its_answer_is_carried_out() -> None:
    sim, model = with_model(says(HELLO))
    sim.run(1)
    (beat,) = sim.events_of(e.BeatBegun)
    (request,) = model.port_requests
    said = request.system[0] + request.messages[0].parts[0].text  # type: ignore[union-attr]
    seq = next(event.seq for event, what in sim.world_log.events() if isinstance(what, e.BeatBegun))
    seen = build_agent_hud(sim.world_log.world_at(seq - 1), beat.agent, beat.composed_at, CachedRenderer())
    assert said == seen.text
    assert seen.digest == beat.hud
    assert [message.content for message in sim.world_log.world.messages.values() if message.sender > 0] == [
        "Hello from a model"
    ]


def test_all_agents_of_a_kind_share_the_system_prompt() -> None:
    sim, model = with_model(names=("Ann", "Bob", "Cid"))
    sim.run(3)
    assert len({request.system for request in model.port_requests}) == 1
    assert len({request.messages for request in model.port_requests}) == 3
    assert len(model.port_requests[0].system[0]) > 1_000


def test_tokens_and_cost_are_those_that_the_provider_tells() -> None:
    sim, _ = with_model(says(HELLO), prices=PRICES)
    sim.run(1)
    (reply,) = sim.events_of(e.ReplyReceived)
    assert reply.text == HELLO
    assert reply.input_tokens > 1_000
    assert reply.output_tokens > 5
    assert reply.cost == pytest.approx((reply.input_tokens * 3.0 + reply.output_tokens * 15.0) / 1e6)
    agent = next(agent for agent in sim.world_log.world.agents.values() if agent.beats)
    assert (agent.cost, sim.world_log.world.cost) == (reply.cost, reply.cost)


@pytest.mark.parametrize(
    ("answer", "code", "rest"),
    [
        (Refusal(429, headers={"retry-after": "40"}), "model-rate-limited", 40),
        (Refusal(401, kind="authentication_error"), "model-unauthorised", 300),
        (Refusal(500), "model-unreachable", 10),
        (ScriptedReply(HELLO, cut=True), "model-unreadable", 10),
        (ScriptedReply(HELLO[:30], finish="length"), "cut off", 10),
        (ScriptedReply("", finish="refusal"), "held the answer back", 10),
    ],
    ids=["rate", "key", "server", "cut", "length", "refusal"],
)
def test_what_goes_wrong_is_told_and_the_agent_rests(answer: Any, code: str, rest: int) -> None:
    sim, _ = with_model(answer, names=("Ann",))
    sim.run(2)
    first, second = sim.events_of(e.ReplyReceived)
    assert code in first.error
    assert not second.error
    one, two = sim.beats(1)
    assert rest * 900 <= two.composed_at - one.composed_at <= rest * 1_100 + 1_000
    assert not [said for said in sim.events_of(e.MessagePosted) if said.sender > 0]


def test_a_bad_answer_is_kept_and_its_agent_told() -> None:
    sim, model = with_model(says("I would rather talk."), names=("Ann",))
    sim.run(2)
    assert sim.events_of(e.ReplyReceived)[0].text == "I would rather talk."
    assert "not readable" in sim.events_of(e.ActionRefused)[0].why
    assert "not readable" in model.port_requests[1].messages[0].parts[0].text  # type: ignore[union-attr]


def test_settings_go_to_the_model() -> None:
    model = InProcessModel(otherwise=says("[no response]"))
    sim = Simulation(ModelPlayer(model, RequestSettings(temperature=0.3)), "Ann", model="x:y")
    sim.run(1)
    assert model.port_requests[0].settings.temperature == 0.3
    assert ModelPlayer(model)._settings.max_output == 4_000


def test_models_are_connected_once_by_their_names() -> None:
    connected: list[str] = []

    def connect(name: str) -> InProcessModel:
        connected.append(name)
        if name.startswith("nobody"):
            raise ConfigError("there is no provider nobody", hint="Take another one")
        return InProcessModel(name=name)

    players = open_players(connect)
    assert isinstance(players.of("improviser"), Improviser)
    assert players.of("anthropic:claude-x") is players.of("anthropic:claude-x")
    reply = players.of("nobody:x").reply_now(None)  # type: ignore[union-attr, arg-type]
    assert "Take another one" in reply.error
    assert reply.hopeless
    assert connected == ["anthropic:claude-x", "nobody:x"]


def test_without_a_way_to_connect_the_known_minds_are_named() -> None:
    reply = PlayerRegistry({"improviser": Improviser()}).of("gpt").reply_now(None)  # type: ignore[union-attr, arg-type]
    assert "improviser" in reply.error


def test_scripts_are_played_beat_by_beat_and_then_there_is_silence() -> None:
    lines: list[Any] = [{"responses": [{"room_id": 1, "message": "One"}]}, "[no response]", HELLO]
    sim = Simulation(ScriptedPlayer({1: lines}), "Ann", output_format="toon")
    for _ in range(5):
        run(sim.runner.step(1))
    texts = [reply.text for reply in sim.events_of(e.ReplyReceived)]
    assert texts == [
        "responses[1]{room_id,message}:\n  1,One",
        "[no response]",
        HELLO,
        "[no response]",
        "[no response]",
    ]
    assert [m.content for m in sim.world_log.world.messages.values()] == ["One", "Hello from a model"]


@pytest.mark.parametrize("format", ["json", "toon"])
def test_a_written_reply_is_read_back(format: Any) -> None:
    reply = {
        "responses": [{"room_id": 1, "message": 'a, "b": [c]'}],
        "actions": [{"type": "set", "path": "a.b", "value": {"c": [1, 2]}}, {"type": "sleep", "until": "2027-01-01"}],
    }
    read = parse_reply(encode_reply(reply, format), format)
    assert (list(read.responses), list(read.actions), read.faults) == (reply["responses"], reply["actions"], ())


def test_a_mind_is_asked_what_its_agent_is() -> None:
    prompts: list[BeatPrompt] = []

    def keep(one: BeatPrompt) -> str:
        prompts.append(one)
        return "[no response]"

    sim = Simulation(ScriptedPlayer(keep), "Ann", output_format="toon")
    asyncio.run(sim.runner.run(beats=1))
    (one,) = prompts
    assert (one.agent, one.number, one.kind, one.output_format, one.seed) == (1, 1, "persona", "toon", 11)
    assert one.hud.agent == 1
