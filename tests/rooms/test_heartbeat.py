"""The tempo's numbers, with 003's own figures."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from simulations import START, Simulation, run, talking

from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.players import ScriptedPlayer
from hudkit.rooms.scheduler import SimulatedClock, heartbeat
from hudkit.rooms.scheduler.clocks import WorldTime
from hudkit.rooms.world import IntervalRules, WorldRules

EXACT = IntervalRules(jitter=0.0)


@pytest.mark.parametrize(("interval", "expected"), [(1.0, 1.1), (5.0, 5.1), (9.9, 10.0), (9.95, 10.0), (10.0, 10.0)])
def test_every_beat_drifts_a_tenth_of_a_second_to_the_slowest(interval: float, expected: float) -> None:
    assert heartbeat.decayed_interval(interval, EXACT) == expected


@pytest.mark.parametrize(
    ("interval", "share", "expected"),
    [(5.0, 0.0, 4.5), (5.0, 0.5, 5.0), (5.0, 1.0, 5.5), (1.0, 0.0, 1.0), (10.0, 1.0, 10.0), (9.5, 1.0, 10.0)],
)
def test_jitter_is_a_tenth_at_most_and_keeps_the_bounds(interval: float, share: float, expected: float) -> None:
    assert heartbeat.jittered_interval(interval, IntervalRules(), share) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("before", "reaction", "after"),
    [
        (5.0, "thumbs_up", 4.5),
        (1.2, "thumbs_up", 1.0),
        (5.0, "thumbs_down", 5.5),
        (9.8, "thumbs_down", 10.0),
        (5.0, "brain", 5.0),
        (5.0, "heart", 5.0),
    ],
)
def test_thumbs_change_their_authors_tempo_by_half_a_second(before: float, reaction: str, after: float) -> None:
    react = {"actions": [{"type": "react", "message_id": 2, "reaction": reaction}]}
    sim = Simulation(ScriptedPlayer({2: [react]}), "Ann", "Bob", rules=WorldRules(tempo=EXACT))
    sim.architect.set_interval(1, before)
    with sim.world_log.transaction(Origin.AGENT) as transaction:
        transaction.append(e.MessagePosted(2, 1, 1, "Hello"))
    run_one(sim, 2)
    assert sim.world_log.world.agents[1].interval == after


def run_one(sim: Simulation, agent: int) -> None:
    assert run(sim.runner.step(agent)) == agent


@pytest.mark.slow
def test_beats_are_an_interval_apart_and_slow_down() -> None:
    sim = talking("Ann", "Bob", rules=WorldRules(tempo=EXACT))
    sim.run(40)
    beats = sim.beats(1)
    gaps = [round((two.composed_at - one.composed_at) / 1000, 1) for one, two in pairwise(beats)]
    assert gaps[:4] == [5.1, 5.2, 5.3, 5.4]
    assert all(two > one for one, two in pairwise(gaps) if one < 9.9)


@pytest.mark.slow
def test_jitter_takes_agents_out_of_step() -> None:
    sim = talking(*(f"A{n}" for n in range(20)))
    for agent in range(1, 21):
        with sim.world_log.transaction(Origin.SYSTEM) as transaction:
            transaction.append(e.BeatScheduled(agent, START))
    sim.run(100)
    at = [max(beat.composed_at for beat in sim.beats(agent)) for agent in range(1, 21)]
    assert len(set(at)) > 15


def test_the_first_beat_is_within_the_interval() -> None:
    sim = talking(*(f"A{n}" for n in range(20)))
    dues = [agent.due - START for agent in sim.world_log.world.agents.values()]
    assert all(0 <= due < 5_000 for due in dues)
    assert len(set(dues)) > 15


def test_errors_in_a_row_make_an_agent_rest_longer_and_longer() -> None:
    sim = talking("Ann")
    agent = msgspec.structs.replace(sim.world_log.world.agents[1], interval=5.0)
    rests = [
        heartbeat.due_after_error(sim.world_log.world, agent, START, errors, None) - START for errors in (1, 2, 3, 12)
    ]
    assert rests == [10_000, 20_000, 40_000, 300_000]
    assert heartbeat.due_after_error(sim.world_log.world, agent, START, 1, 90.0) - START == 90_000


def test_who_sleeps_or_was_found_in_a_loop_is_not_due_before_that_is_over() -> None:
    sim = talking("Ann")
    agent = msgspec.structs.replace(sim.world_log.world.agents[1], throttled_until=START + 60_000)
    assert heartbeat.due_after(sim.world_log.world, agent, START) == START + 60_000
    agent = msgspec.structs.replace(agent, sleeps_until=START + 90_000)
    assert heartbeat.due_after(sim.world_log.world, agent, START) == START + 90_000
    assert heartbeat.due_after(sim.world_log.world, agent, START + 100_000) > START + 100_000


def test_chance_is_the_same_for_the_same_beat_and_even() -> None:
    drawn = [heartbeat.seeded_fraction(7, agent, number, "jitter") for agent in range(40) for number in range(50)]
    assert drawn[3] == heartbeat.seeded_fraction(7, 0, 3, "jitter")
    assert all(0 <= one < 1 for one in drawn)
    assert 0.45 < sum(drawn) / len(drawn) < 0.55


def test_the_world_s_time_goes_on_from_what_another_process_wrote_and_never_back() -> None:
    clock = SimulatedClock(START)
    time = WorldTime(clock, START - 5_000, 1.0)
    assert time.now() == START
    assert time.now(START + 60_000) == START + 60_000, "its clock is a minute ahead"
    clock.set(START - 86_400_000)
    clock.advance(2)
    assert time.now() == START + 62_000
