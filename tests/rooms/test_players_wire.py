"""Beats through the real clients of three providers, with their servers' shapes on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from simulations import Simulation

from hudkit.models import RequestSettings, open_model
from hudkit.models.scripted_answers import Answer, Hang, Refusal, ScriptedReply, says
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.players import ModelPlayer, PlayerRegistry, open_players
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

KEY = "a-key-of-the-test"
MODELS = {
    "openai": ("openai-chat:gpt-4o", "/v1"),
    "anthropic": ("anthropic:claude-haiku-4-5", ""),
    "google": ("google:gemini-2.5-flash", ""),
}
HELLO = '{"responses": [{"room_id": 1, "message": "Hello over the wire"}]}'
every = pytest.mark.parametrize("provider", MODELS)


@contextmanager
def world(
    provider: str, *answers: Answer, names: tuple[str, ...] = ("Ann", "Bob"), settings: RequestSettings | None = None
) -> Iterator[tuple[Simulation, ScriptedModel]]:
    """A world whose agents all have one model, opened by its name as `hudkit rooms` does it."""
    name, below = MODELS[provider]
    with ScriptedModel(answers, otherwise=says("[no response]")) as server:
        players = open_players(lambda prompt: open_model(prompt, key=KEY, base_url=server.url + below))
        if settings is not None:
            model = open_model(name, key=KEY, base_url=server.url + below)
            players = PlayerRegistry({name: ModelPlayer(model, settings)})
        yield Simulation(players, *names, model=name), server


def spoken(sim: Simulation) -> list[str]:
    return [message.content for message in sim.world_log.world.messages.values() if message.sender > 0]


@every
def test_a_beat_is_one_call_with_the_hud_and_its_answer_is_carried_out(provider: str) -> None:
    with world(provider, says(HELLO)) as (sim, server):
        sim.run(1)
        (beat,) = sim.events_of(e.BeatBegun)
        (request,) = server.requests
        seq = next(event.seq for event, what in sim.world_log.events() if isinstance(what, e.BeatBegun))
        seen = build_agent_hud(sim.world_log.world_at(seq - 1), beat.agent, beat.composed_at, CachedRenderer())
        assert "".join((*request.system, *(text for _, text in request.messages))) == seen.text
        assert seen.digest == beat.hud
        assert spoken(sim) == ["Hello over the wire"]
        (reply,) = sim.events_of(e.ReplyReceived)
        assert reply.text == HELLO and not reply.error
        assert reply.input_tokens > 1_000 and reply.output_tokens > 5 and reply.cost > 0
        assert sim.world_log.world.cost == reply.cost == sim.world_log.world.agents[beat.agent].cost


@every
def test_what_one_agent_paid_for_the_others_read_from_the_cache(provider: str) -> None:
    with world(provider, names=("Ann", "Bob", "Cid")) as (sim, server):
        sim.run(3)
        first, *later = sim.events_of(e.ReplyReceived)
        assert first.cached_tokens == 0
        for reply in later:
            assert reply.cached_tokens > 1_000
            assert reply.cost < 0.9 * first.cost
        assert len({request.system[0] for request in server.requests}) == 1


def test_breakpoints_are_where_huds_of_others_and_later_huds_of_the_agent_begin_to_differ() -> None:
    with world("anthropic") as (sim, server):
        sim.run(3)
        beats = [(event.seq, what) for event, what in sim.world_log.events() if isinstance(what, e.BeatBegun)]
        for (seq, beat), request in zip(beats, server.requests, strict=True):
            seen = build_agent_hud(sim.world_log.world_at(seq - 1), beat.agent, beat.composed_at, CachedRenderer())
            marked = [piece.text for piece in request.pieces if piece.breakpoint]
            base = seen.text[seen.stable : seen.anchors[0]]
            assert marked == [seen.text[: seen.stable], base], (
                "what no later request repeats is not written to a cache"
            )


@every
def test_what_an_agent_saw_before_is_read_from_the_cache(provider: str) -> None:
    with world(provider, *[says('{"responses": [{"room_id": 1, "message": "Yes."}]}')] * 8) as (sim, _):
        sim.run(8)
        first: dict[int, int] = {}
        for beat, reply in zip(sim.events_of(e.BeatBegun), sim.events_of(e.ReplyReceived), strict=True):
            if not beat.base and beat.agent in first:
                assert reply.cached_tokens > first[beat.agent], "more than what all agents share"
            first.setdefault(beat.agent, reply.cached_tokens)


def _all_wait(times: list[int]) -> bool:
    return times[1] >= times[0] + 40_000


def _one_rests(times: list[int]) -> bool:
    return times[1] < times[0] + 10_000


@every
@pytest.mark.parametrize(
    ("answer", "says_so", "rest", "others"),
    [
        (Refusal(429, headers={"retry-after": "40"}), "model-rate-limited", 40, _all_wait),
        (Refusal(500), "model-unreachable", 9, _one_rests),
        (Hang(), "model-unreachable", 9, _one_rests),
        (ScriptedReply("", finish="refusal"), "", 9, _one_rests),
        (ScriptedReply(HELLO[:30], finish="length"), "cut off", 9, _one_rests),
        (Refusal(401, kind="authentication_error"), "model-unauthorised", 300, _one_rests),
    ],
    ids=["rate", "server", "silence", "refused", "length", "key"],
)
def test_an_error_is_said_and_the_agent_asked_again(
    provider: str, answer: Answer, says_so: str, rest: int, others: Callable[[list[int]], bool]
) -> None:
    settings = RequestSettings(silence=0.5) if isinstance(answer, Hang) else None
    with world(provider, answer, settings=settings) as (sim, server):
        sim.run(4)
        seq, failed = next(
            (event.seq, what) for event, what in sim.world_log.events() if isinstance(what, e.ReplyReceived)
        )
        shown = sim.world_log.world_at(seq).agents[failed.agent].last_error
        assert shown and says_so in shown and KEY not in shown
        assert sim.runner.metrics().failed == 1 and not spoken(sim)
        assert len(server.requests) == 4, "the client does not try again by itself"
        first, second = sim.beats(failed.agent)[:2]
        assert rest * 900 <= second.composed_at - first.composed_at <= rest * 1_200 + 2_000
        assert sim.world_log.world.agents[failed.agent].last_error == "", "it went well this time"
        assert others(sorted(beat.composed_at for beat in sim.events_of(e.BeatBegun))), (
            "whether the model's others wait, too"
        )


@every
def test_an_answer_of_nothing_is_silence(provider: str) -> None:
    with world(provider, ScriptedReply(""), names=("Ann",)) as (sim, _):
        sim.run(2)
        first, second = sim.events_of(e.ReplyReceived)
        assert not second.error and not spoken(sim)
        assert first.error or sim.events_of(e.ActionRefused) or first.text == ""


def test_admission_counts_what_the_provider_counted() -> None:
    names = tuple(f"A{number}" for number in range(8))
    answers: list[Any] = [ScriptedReply(HELLO, delay=0.05)] * 8
    with world("anthropic", *answers, names=names) as (sim, server):
        sim.run(8)
        assert len(server.requests) == 8 and len(spoken(sim)) == 8
        tokens = sim.events_of(e.ReplyReceived)
        assert sim.runner._queues.of(MODELS["anthropic"][0]).limiter._tokens == pytest.approx(
            sum(one.input_tokens + one.output_tokens for one in tokens)
        ), "admission counts what the provider counted, not what was expected"
