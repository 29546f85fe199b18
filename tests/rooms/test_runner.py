"""A world that is played: who is asked when, what is skipped, what stops it, what is never applied."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from simulations import START, Simulation, run, talk, talking

from hudkit.errors import StoreBusy, StoreFull
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.fold_log import fold_logged_event
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.players import BeatPrompt, BeatReply, DelayedPlayer, Improviser, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import ModelQuota, SimulatedClock, WorldRunner
from hudkit.rooms.world import CapRules, IntervalRules, TokenRules, WordRules, World, WorldRules
from hudkit.rooms.world_log import WorldLog
from hudkit.rooms.world_replay import replay_log

pytestmark = pytest.mark.slow

QUIET = WorldRules(tempo=IntervalRules(quiet=0, jitter=0.0))
NAMES = ("Ann", "Bob", "Cid", "Dan", "Eve", "Fay", "Gus", "Hal")


# -- replay --------------------------------------------------------------------------------------------------------


class Remembering(Improviser):
    """Keeps what it was shown, so that the log need not be believed."""

    def __init__(self) -> None:
        self.saw: dict[tuple[int, int], str] = {}

    def reply_now(self, prompt: BeatPrompt) -> BeatReply:
        self.saw[prompt.agent, prompt.number] = prompt.hud.text
        return super().reply_now(prompt)


def test_eight_agents_over_500_beats_replay_to_the_same_hud_bytes_and_state() -> None:
    player = Remembering()
    sim = Simulation(player, model="improviser", rules=WorldRules(tempo=IntervalRules(quiet=20)))
    for number, name in enumerate(NAMES):
        sim.make(name, background="You keep bees.", input_format=("json", "compact", "toon")[number % 3])
    sim.run(200)
    sim.architect.say(1, "Good morning. What is new, @Bob?")
    sim.run(100)
    sim.architect.set_prompts({"philosophy.memory": "Write it down."})
    sim.architect.set_rules(WorldRules(tempo=IntervalRules(quiet=15), tokens=TokenRules(actions=5)))
    sim.run(200)
    world, renderer, compared = World(), CachedRenderer(), 0
    for event, what in sim.world_log.events():
        if isinstance(what, e.BeatBegun):
            seen = build_agent_hud(world, what.agent, what.composed_at, renderer)
            assert seen.text == player.saw[what.agent, what.number]
            assert (seen.digest, seen.tokens) == (what.hud, what.tokens)
            compared += 1
        assert fold_logged_event(world, event, what, holes=False)
    assert compared == len(player.saw) == sim.world_log.world.beats == 500
    assert world == sim.world_log.world == sim.world_log.world_at(world.seq)
    assert replay_log(sim.world_log).same == 500 and replay_log(sim.world_log).sound


def test_the_same_seed_gives_the_same_world() -> None:
    first, second = (
        Simulation(
            Improviser(),
            *NAMES,
            model="improviser",
            background="You keep bees.",
            rules=WorldRules(tempo=IntervalRules(quiet=20)),
        )
        for _ in range(2)
    )
    first.run(200)
    second.run(200)
    assert first.world_log.world == second.world_log.world
    assert len(first.events_of(e.MessagePosted)) > 20


def test_a_fork_differs_only_after_the_fork() -> None:
    sim = talking(*NAMES)
    sim.run(60)
    at = sim.world_log.world.seq
    sim.run(40)
    fork = sim.world_log.fork(None, at, name="what if")
    assert (fork.world.name, fork.world.beats, fork.world.seq) == ("what if", 60, at)
    asyncio.run(
        WorldRunner(fork, PlayerRegistry({"scripted": ScriptedPlayer({})}), clock=SimulatedClock(fork.world.now)).run(
            beats=40
        )
    )
    mine, theirs = (list(world_log.events(1)) for world_log in (sim.world_log, fork))
    assert mine[: at - 1] == theirs[: at - 1], "every event of the past, with its id and time"
    assert mine[at - 1 :] != theirs[at - 1 :]
    for seq in (2, at // 2, at):
        assert msgspec.structs.replace(fork.world_at(seq), name="played") == sim.world_log.world_at(seq)
    assert len(fork.world.messages) < len(sim.world_log.world.messages)
    assert replay_log(fork).same == 100, "the beats before the fork were seen as they were"


# -- skipping and waking -------------------------------------------------------------------------------------------


def test_where_nothing_is_new_no_beat_takes_place() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob", rules=QUIET)
    sim.run(2)
    assert pass_time(sim, 120) == []
    assert sim.runner.metrics().skipped > 10
    sim.architect.say(1, "Is anybody there?")
    assert {beat.agent for beat in pass_time(sim, 12)} == {1, 2}


def test_in_a_quiet_world_everyone_looks_up_now_and_then() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob", rules=WorldRules(tempo=IntervalRules(quiet=60)))
    sim.run(8)
    gaps = [two.composed_at - one.composed_at for one, two in pairwise(sim.beats(1))]
    assert gaps
    assert all(60_000 <= gap <= 71_000 for gap in gaps)


def pass_time(sim: Simulation, seconds: float) -> list[e.BeatBegun]:
    """The beats of so many seconds."""
    before = sim.world_log.world.seq

    async def go() -> None:
        end = asyncio.create_task(stop_later())
        await sim.runner.run()
        await end

    async def stop_later() -> None:
        await sim.clock.sleep(seconds)
        sim.runner.stop()

    run(go())
    return sim.events_of(e.BeatBegun, before)


@pytest.mark.parametrize(
    ("what", "woken"),
    [
        (lambda sim: sim.architect.say(1, "@Bob, what do you think?"), {2: "mention"}),
        (lambda sim: sim.architect.wake(2), {2: "wake_agent"}),
        (lambda sim: sim.architect.admit(2, 3), {2: "admission"}),
        (lambda sim: sim.architect.say(1, "Yes.", reply_to=2), {2: "reply"}),
    ],
    ids=["mention", "wake", "admission", "reply"],
)
def test_mentions_replies_and_admissions_wake_at_once(what: Any, woken: dict[int, str]) -> None:
    lines = {2: [{"responses": [{"room_id": 1, "message": "Hello"}]}]}
    sim = Simulation(ScriptedPlayer(lines), "Ann", "Bob", rules=QUIET)
    sim.make("Cid", rooms=())
    sim.run(3)
    pass_time(sim, 60)
    assert sim.world_log.world.messages[2].sender == 2
    before, at = sim.world_log.world.seq, sim.runner.now()
    what(sim)
    (one,) = sim.events_of(e.AgentWoken, before)
    assert {one.id: one.why} == woken
    first = pass_time(sim, 30)[0]
    assert first.agent == 2
    assert first.composed_at - at <= 1_000, "at the world's least interval"


def test_whoever_is_woken_while_thinking_looks_again_soon() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob", rules=QUIET)
    player = DelayedPlayer(ScriptedPlayer({}), lambda _: sim.clock.sleep(4))
    sim.players._players["scripted"] = player
    sim.run(2)

    async def go() -> None:
        going = asyncio.create_task(sim.runner.run(beats=2))
        await asyncio.sleep(0)
        sim.architect.say(1, "First")
        while not sim.world_log.world.agents[2].current_beat:
            await asyncio.sleep(0)
        sim.architect.say(1, "@Bob, listen")
        await going

    run(go())
    last, done = sim.beats(2)[-1], sim.events_of(e.BeatFinished)[-1]
    assert sim.world_log.world.agents[2].current_beat == 0
    assert [one.due - last.composed_at for one in sim.events_of(e.BeatFinished) if one.agent == 2][-1] <= 5_000, done


def test_sleepers_have_no_beats_and_one_when_they_wake() -> None:
    asleep = [{"actions": [{"type": "sleep", "until": "2027-01-15T08:02:00Z"}]}]  # START is 08:00
    sim = Simulation(ScriptedPlayer({1: asleep}), "Ann", rules=QUIET)
    sim.run(2)
    first, second = sim.beats(1)
    assert first.composed_at < START + 5_000
    assert second.composed_at - START == 120_000
    sim.architect.say(1, "@Ann")
    assert sim.beats(1)[-1] == second


def test_a_key_is_whispered_once_and_its_owner_asked_for_it() -> None:
    makes = [{"actions": [{"type": "create_key", "label": label}]} for label in ("friends", "others")]
    player = ScriptedPlayer({1: makes})
    sim = Simulation(player, "Ann", rules=QUIET)
    sim.run(3)
    whispers = ["".join(prompt.hud.document["self"].get("once", ())) for prompt in player.prompts]
    assert whispers[0] == ""
    assert "5e" * 24 in whispers[1]
    assert "friends" in whispers[1]
    assert "5e" * 24 in whispers[2]
    assert "friends" not in whispers[2]
    assert sim.world_log.whispers == {}


# -- the tempo of minds and models ---------------------------------------------------------------------------------


def test_the_world_goes_on_while_somebody_thinks() -> None:
    fast = ScriptedPlayer(talk)
    sim = Simulation(fast, "Ann", "Bob", "Cid")
    slow = DelayedPlayer(
        ScriptedPlayer({2: [{"responses": [{"room_id": 1, "message": "At last"}]}]}),
        lambda _: sim.clock.sleep(60),
    )
    sim.players._players["slow"] = slow
    sim.architect.alter(2, model="slow")
    sim.run(30)
    begun = sim.beats(2)[0]
    (reply,) = [one for one in sim.events_of(e.ReplyReceived) if one.agent == 2][:1]
    assert reply.seconds == pytest.approx(60, abs=0.01)
    assert sum(begun.composed_at <= beat.composed_at < begun.composed_at + 60_000 for beat in sim.beats(1)) > 5
    assert [m.content for m in sim.world_log.world.messages.values() if m.sender == 2] == ["At last"]


def test_a_model_is_never_asked_more_than_its_quota_in_any_minute() -> None:
    sim = Simulation(ScriptedPlayer({}), *NAMES, rules=WorldRules(tempo=IntervalRules(max_interval=1.0, quiet=1)))
    player = ScriptedPlayer(
        lambda prompt: BeatReply("[no response]", input_tokens=prompt.hud.tokens, output_tokens=300)
    )
    sim.players._players["scripted"] = DelayedPlayer(player, lambda _: sim.clock.sleep(2))
    runner = sim.run_anew({"scripted": ModelQuota(requests=20, tokens=40_000)})
    asyncio.run(runner.run(beats=60))
    begun = sorted((beat.composed_at, beat.tokens + 300) for beat in sim.events_of(e.BeatBegun))
    sums = [sum(tokens for one, tokens in begun if at <= one < at + 60_000) for at, _ in begun]
    assert 30_000 < max(sums) <= 40_000
    assert runner.metrics().late_99 > 30, "who waits for its model is late, and that is reported"
    runner = sim.run_anew({"scripted": ModelQuota(requests=20)})
    asyncio.run(runner.run(beats=60))
    times = [beat.composed_at for beat in sim.events_of(e.BeatBegun)][60:]
    assert max(sum(at <= one < at + 60_000 for one in times) for at in times) == 20


def test_requests_at_once_are_limited() -> None:
    most = 0

    async def think(_: Any) -> None:
        nonlocal most
        most = max(most, sim.runner.metrics().thinking)
        await sim.clock.sleep(3)

    sim = Simulation(ScriptedPlayer({}), *NAMES)
    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer({}), think)
    sim.run_anew({"scripted": ModelQuota(at_once=3)})
    sim.run(20)
    assert most == 3


def test_a_server_that_wants_rest_gets_it() -> None:
    limited = BeatReply(error="model-rate-limited", rest=90.0)
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob", rules=WorldRules(tempo=IntervalRules(quiet=1)))
    player = ScriptedPlayer(lambda prompt: limited if prompt.agent == 1 and prompt.number == 1 else "[no response]")
    sim.players._players["scripted"] = DelayedPlayer(player, lambda _: sim.clock.sleep(1))
    sim.run(6)
    failed = next(one for one in sim.events_of(e.ReplyReceived) if one.error)
    assert failed.agent == 1
    after = [
        beat.composed_at
        for beat in sim.events_of(e.BeatBegun)
        if beat.composed_at > sim.beats(1)[0].composed_at + 1_000
    ]
    assert min(after) >= sim.beats(1)[0].composed_at + 90_000, "Bob waits, too: it is the same model"


def test_due_agents_of_one_model_are_begun_in_one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = Simulation(ScriptedPlayer({}), *NAMES)
    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer({}), lambda _: sim.clock.sleep(1))
    with sim.world_log.transaction(Origin.SYSTEM) as transaction:
        for agent in range(1, 9):
            transaction.append(e.BeatScheduled(agent, START))
    append, appended = sim.world_log.log.append, list[list[Any]]()

    def watched(session: str, drafts: Any, **more: Any) -> Any:
        appended.append([draft for draft in drafts if isinstance(draft.payload, e.BeatBegun)])
        return append(session, drafts, **more)

    monkeypatch.setattr(sim.world_log.log, "append", watched)
    sim.run(8)
    kinds = [
        type(what).__name__ for _, what in sim.world_log.events() if isinstance(what, e.BeatBegun | e.ReplyReceived)
    ]
    assert kinds == ["BeatBegun"] * 8 + ["ReplyReceived"] * 8
    assert [len(beats) for beats in appended if beats] == [8]


def test_a_reply_is_read_in_the_format_that_was_asked_for_although_its_agent_was_altered_meanwhile() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", output_format="toon")
    unreadable = ScriptedPlayer(lambda _: "I would rather talk.")
    sim.players._players["scripted"] = DelayedPlayer(unreadable, lambda _: sim.clock.sleep(30))

    async def go() -> None:
        playing = asyncio.create_task(sim.runner.run(beats=1))
        while not sim.world_log.world.agents[1].current_beat:
            await asyncio.sleep(0)
        sim.architect.alter(1, output_format="json")
        await playing

    run(go())
    assert sim.world_log.world.agents[1].output_format == "json"
    assert "not readable as TOON" in sim.events_of(e.ActionRefused)[0].why


# -- stopping ------------------------------------------------------------------------------------------------------


def test_after_a_pause_no_beat_begins_and_what_is_under_way_has_no_effects() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob")
    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: sim.clock.sleep(30))

    async def go() -> None:
        going = asyncio.create_task(sim.runner.run())
        while not sim.world_log.world.agents[1].current_beat:
            await asyncio.sleep(0)
        sim.architect.pause()
        acknowledged = sim.world_log.world.seq
        await sim.clock.sleep(300)
        assert sim.events_of(e.BeatBegun, acknowledged) == []
        assert not [said for said in sim.events_of(e.MessagePosted) if said.sender > 0]
        assert {one.agent for one in sim.events_of(e.ReplyReceived, acknowledged)} >= {1}, (
            "what was thought is not lost"
        )
        sim.architect.resume()
        await sim.clock.sleep(100)
        sim.runner.stop()
        await going

    run(go())
    assert "stopped while you were thinking" in sim.events_of(e.ActionRefused)[0].why
    assert [said for said in sim.events_of(e.MessagePosted) if said.sender > 0], "and then it goes on"


def test_a_thought_from_before_a_pause_has_no_effects_after_it() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann")
    sim.players._players["scripted"] = DelayedPlayer(
        ScriptedPlayer({1: [talk_once()]}), lambda _: sim.clock.sleep(30)
    )

    async def go() -> None:
        going = asyncio.create_task(sim.runner.run(beats=1))
        while not sim.world_log.world.agents[1].current_beat:
            await asyncio.sleep(0)
        sim.architect.pause()
        sim.architect.resume()
        await going

    run(go())
    assert not [said for said in sim.events_of(e.MessagePosted) if said.sender > 0]


def talk_once() -> dict[str, Any]:
    return {"responses": [{"room_id": 1, "message": "Hello"}]}


def test_the_retired_say_nothing_any_more() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob")
    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: sim.clock.sleep(30))

    async def go() -> None:
        going = asyncio.create_task(sim.runner.run(beats=2))
        while not sim.world_log.world.agents[2].current_beat:
            await asyncio.sleep(0)
        sim.architect.retire(2)
        await going

    run(go())
    assert not [said for said in sim.events_of(e.MessagePosted) if said.sender == 2]
    assert sim.world_log.world.agents[2].current_beat == 0
    assert len(sim.beats(2)) == 1


def test_stop_ends_the_run_and_what_was_under_way_is_told() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann")
    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: asyncio.sleep(3600))

    async def go() -> None:
        going = asyncio.create_task(sim.runner.run())
        while not sim.world_log.world.agents[1].current_beat:
            await asyncio.sleep(0)
        sim.runner.stop()
        await asyncio.wait_for(going, 5)

    run(go())
    assert sim.events_of(e.ReplyReceived)[0].error.startswith("stopped")
    assert sim.world_log.world.agents[1].current_beat == 0


def test_a_step_is_one_beat_also_in_a_paused_world() -> None:
    sim = talking("Ann", "Bob", "Cid")
    sim.architect.pause()
    due = min(sim.world_log.world.agents.values(), key=lambda agent: agent.due).id
    assert run(sim.runner.step()) == due
    assert run(sim.runner.step(3)) == 3
    assert [beat.agent for beat in sim.events_of(e.BeatBegun)] == [due, 3]
    assert len([said for said in sim.events_of(e.MessagePosted) if said.sender > 0]) == 2, "and it has its effects"
    assert sim.world_log.world.paused


def test_a_step_waits_for_the_mind() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann")
    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: asyncio.sleep(0))
    sim.architect.pause()
    assert run(sim.runner.step(1)) == 1
    assert [said.sender for said in sim.events_of(e.MessagePosted)][-1] == 1
    assert run(sim.runner.step(9)) is None


@pytest.mark.parametrize(
    ("caps", "why"),
    [
        (CapRules(idle_seconds=90), "idle"),
        (CapRules(cost=0.25), "cost"),
        (CapRules(beats_without_people=12), "alone"),
    ],
    ids=["idle", "cost", "alone"],
)
def test_a_world_pauses_by_itself(caps: CapRules, why: str) -> None:
    lines = (
        ScriptedPlayer(lambda prompt: BeatReply('{"responses": []}', cost=0.05))
        if why != "alone"
        else ScriptedPlayer(talk)
    )
    sim = Simulation(lines, "Ann", "Bob", rules=WorldRules(tempo=IntervalRules(quiet=30), caps=caps))

    async def go() -> None:
        going = asyncio.create_task(sim.runner.run())
        async with asyncio.timeout(20):
            while sim.world_log.world.paused is None:
                await asyncio.sleep(0)
        sim.runner.stop()
        await going

    run(go())
    world = sim.world_log.world
    assert (world.paused or "").startswith(why)
    if why == "cost":
        assert world.cost == pytest.approx(0.25)
    if why == "alone":
        assert world.beats == 12


def test_what_is_under_way_when_a_world_pauses_by_itself_still_counts() -> None:
    caps = CapRules(cost=0.25)
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob", rules=WorldRules(caps=caps))
    dear = ScriptedPlayer(lambda prompt: BeatReply('{"responses": [{"room_id": 1, "message": "Hello"}]}', cost=0.3))
    sim.players._players["scripted"] = DelayedPlayer(dear, lambda prompt: sim.clock.sleep(20 * prompt.agent))

    async def go() -> None:
        going = asyncio.create_task(sim.runner.run())
        await sim.clock.sleep(100)
        sim.runner.stop()
        await going

    run(go())
    assert sim.world_log.world.paused == "cost: $0.30 of $0.25"
    assert sim.world_log.world.beats == 2
    assert {one.sender for one in sim.events_of(e.MessagePosted) if one.sender > 0} == {1, 2}


@pytest.mark.parametrize("at", range(8))
def test_a_log_that_is_busy_for_a_moment_costs_no_beat(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob", "Cid", rules=QUIET)
    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer({}), lambda _: sim.clock.sleep(7))
    sim.run_anew({"scripted": ModelQuota(at_once=1)})
    append, calls = sim.world_log.log.append, iter(range(100))

    def sometimes(*given: Any, **more: Any) -> Any:
        if next(calls) == at:
            raise StoreBusy("another process writes")
        return append(*given, **more)

    monkeypatch.setattr(sim.world_log.log, "append", sometimes)
    sim.run(3)
    assert sorted(beat.agent for beat in sim.events_of(e.BeatBegun)) == [1, 2, 3]
    assert len(sim.events_of(e.BeatFinished)) == 3


def test_a_log_that_stays_busy_ends_a_run_before_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt waits for the lock as long as the store does."""
    sim = talking("Ann")
    attempts: list[int] = []

    def never(*given: Any, **more: Any) -> Any:
        attempts.append(1)
        raise StoreBusy("another process writes")

    monkeypatch.setattr(sim.world_log.log, "append", never)
    with pytest.raises(StoreBusy):
        sim.run(3)
    assert 1 < len(attempts) < 20
    monkeypatch.undo()
    sim.run(3)
    assert len(sim.events_of(e.BeatFinished)) == 3


def test_the_architect_speaks_and_the_count_of_beats_without_people_begins_anew() -> None:
    sim = talking("Ann", rules=WorldRules(caps=CapRules(beats_without_people=10)))
    sim.run(8)
    sim.architect.say(1, "Go on")
    sim.run(8)
    assert sim.world_log.world.paused is None


# -- time ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [-86_400_000, 315_360_000_000], ids=["a day back", "ten years ahead"])
def test_when_the_clock_is_set_beats_go_on_as_before(step: int) -> None:
    sim = talking(*NAMES)
    sim.run(40)
    sim.clock.set(sim.clock.wall() + step)
    before = sim.runner.now()
    sim.run(40)
    later = sim.events_of(e.BeatBegun)[40:]
    assert all(before <= beat.composed_at < before + 90_000 for beat in later)
    assert max(sum(beat.agent == agent for beat in later) for agent in range(1, 9)) <= 8


@pytest.mark.parametrize("step", [-86_400_000, 315_360_000_000], ids=["a day back", "ten years ahead"])
def test_after_a_restart_with_another_clock_each_agent_catches_up_with_one_beat(step: int) -> None:
    sim = talking(*NAMES)
    sim.run(40)
    sim.clock.set(sim.clock.wall() + step)
    runner = sim.run_anew()
    at = runner.now()
    asyncio.run(runner.run(beats=16))
    later = sim.events_of(e.BeatBegun)[40:]
    assert sorted(beat.agent for beat in later if beat.composed_at < at + 4_000)[:0] == []
    for agent in range(1, 9):
        own = [beat.composed_at for beat in later if beat.agent == agent]
        assert all(two - one >= 4_000 for one, two in pairwise(own)), "no storm"
    assert sim.world_log.world.now >= at


def test_missed_beats_are_spread_over_the_interval() -> None:
    sim = talking(*(f"A{n}" for n in range(40)))
    sim.run(40)
    sim.architect.pause()
    sim.clock.advance(3600)
    sim.architect.resume()
    at = sim.runner.now()
    sim.run(40)
    begun = [beat.composed_at - at for beat in sim.events_of(e.BeatBegun)[40:]]
    assert sum(one < 1_000 for one in begun) < 16
    assert sim.runner.metrics().late_most < 1


def test_a_faster_world_has_more_beats_in_the_same_time() -> None:
    counts = []
    for factor in (1.0, 10.0):
        sim = talking("Ann", rules=WorldRules(tempo=IntervalRules(quiet=1)))
        sim.architect.set_speed(factor)
        counts.append(len(pass_time(sim, 60)))
    assert counts[1] > 6 * counts[0]


# -- loops and faults ----------------------------------------------------------------------------------------------


def thank(prompt: Any) -> dict[str, Any]:
    other = "Bob" if prompt.agent == 1 else "Ann"
    return {
        "responses": [{"room_id": 1, "message": f"Thank you, @{other}! You are so kind, really ({prompt.number})."}]
    }


def test_a_pair_that_thanks_each_other_for_ever_is_slowed() -> None:
    sim = Simulation(ScriptedPlayer(thank), "Ann", "Bob", rules=WorldRules(tempo=IntervalRules(quiet=0)))
    pass_time(sim, 900)
    said = [
        event.timestamp
        for event, what in sim.world_log.events()
        if isinstance(what, e.MessagePosted) and what.sender > 0
    ]
    slowed = sim.events_of(e.AgentThrottled)
    assert {one.id for one in slowed} == {1, 2}
    assert len([at for at in said if at < START + 60_000]) >= 12
    last = [at for at in said if at >= START + 300_000]
    assert len(last) <= 2 * 600 / 60 + 2, "about one message a minute of each"
    assert any("repeat yourselves" in one.why for one in sim.events_of(e.ActionRefused))


def test_without_that_rule_they_go_on() -> None:
    sim = Simulation(ScriptedPlayer(thank), "Ann", "Bob", rules=WorldRules(tempo=IntervalRules(quiet=0, looping=0)))
    pass_time(sim, 300)
    assert sim.events_of(e.AgentThrottled) == []
    assert len(sim.events_of(e.MessagePosted)) > 60


def test_two_who_have_something_to_say_are_left_alone() -> None:
    words = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}x" for n in range(600)]

    def tell(prompt: Any) -> dict[str, Any]:
        start = (prompt.number * 2 + prompt.agent) * 5 % 590
        return {"responses": [{"room_id": 1, "message": " ".join(words[start : start + 5])}]}

    sim = Simulation(ScriptedPlayer(tell), "Ann", "Bob", rules=QUIET)
    sim.run(60)
    assert sim.events_of(e.AgentThrottled) == []


def test_a_storm_of_replies_stays_within_the_rooms_pace() -> None:
    many = tuple(f"A{n}" for n in range(60))
    twelve = "all of us want to say the same thing about it right now"
    rules = WorldRules(words=WordRules(room_wpm=400))
    sim = Simulation(
        ScriptedPlayer(lambda prompt: {"responses": [{"room_id": 1, "message": twelve}]}), *many, rules=rules
    )
    sim.architect.say(1, "What do you all think?")
    sim.run(300)
    said = [m for m in sim.world_log.world.messages.values() if m.sender > 0]
    for first in said:
        assert sum(m.words for m in said if first.posted_at <= m.posted_at < first.posted_at + 60_000) <= 400
    assert len(said) > 20


def test_a_mind_that_fails_costs_its_agent_a_beat_and_nobody_else() -> None:
    def say(prompt: Any) -> Any:
        if prompt.agent == 1:
            raise ZeroDivisionError("a fault")
        return talk(prompt)

    sim = Simulation(ScriptedPlayer(say), "Ann", "Bob", "Cid")
    sim.run(20)
    assert all("a fault" in one.error for one in sim.events_of(e.ReplyReceived) if one.agent == 1)
    assert len([said for said in sim.events_of(e.MessagePosted) if said.sender > 0]) >= 15
    assert sim.world_log.world_at(sim.world_log.world.seq) == sim.world_log.world
    figures = sim.runner.metrics()
    assert figures.beats == sim.world_log.world.beats == 20, "what was begun in a commit that failed is not counted"
    assert figures.failed == len([one for one in sim.events_of(e.ReplyReceived) if one.error])


def test_the_same_for_a_mind_that_takes_its_time() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob")

    async def fail(prompt: Any) -> None:
        if prompt.agent == 1:
            raise ZeroDivisionError("a fault")

    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), fail)
    sim.run(10)
    assert "a fault" in sim.world_log.world.agents[1].last_error
    assert [said for said in sim.events_of(e.MessagePosted) if said.sender == 2]


def test_a_model_that_is_not_there_is_said_and_asked_seldom() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob", model="absent:one")
    sim.players._players.clear()
    sim.run(6)
    assert "absent:one" in sim.world_log.world.agents[1].last_error
    one, two = sim.beats(1)[:2]
    assert two.composed_at - one.composed_at >= 300_000


def test_with_another_model_an_agent_that_failed_beats_at_once() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", model="absent:one")
    sim.players._players.clear()
    sim.run(1)
    sim.players._players["scripted"] = ScriptedPlayer(talk)
    at = sim.runner.now()
    sim.architect.alter(1, model="scripted")
    sim.run(1)
    assert sim.beats(1)[-1].composed_at - at <= 1_000, "and does not rest for five minutes first"
    assert sim.world_log.world.agents[1].last_error == ""


def test_what_is_not_recorded_has_not_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = talking("Ann", "Bob")
    sim.run(10)
    before = sim.world_log.world.seq

    def full(*_: Any, **__: Any) -> Any:
        raise StoreFull("no space left")

    monkeypatch.setattr(sim.world_log.log, "append", full)
    with pytest.raises(StoreFull):
        sim.run(10)
    monkeypatch.undo()
    assert sim.world_log.world.seq == before == sim.world_log.log.last_seq("world")
    sim.run(10)
    assert sim.world_log.world.beats == 20


def test_agents_that_were_thinking_when_the_process_ended_are_asked_anew() -> None:
    sim = talking("Ann", "Bob")
    with sim.world_log.transaction(Origin.SYSTEM) as transaction:
        transaction.append(e.BeatBegun(1, 1, START, START, "", 0, "json", "scripted"))
    sim.run_anew()
    sim.run(2)
    lost, *later = [one for one in sim.events_of(e.ReplyReceived) if one.agent == 1]
    assert lost.error.startswith("lost")
    assert lost.number == 1
    assert later[0].number == 2
    assert not later[0].error
    assert sim.runner.metrics().lost == 1


def test_lateness_is_measured() -> None:
    sim = talking("Ann", rules=WorldRules(tempo=IntervalRules(quiet=1)))
    sim.run(3)
    due = sim.runner.due(1)
    assert due is not None
    sim.clock.advance((due - sim.runner.now()) / 1000 + 2.5)
    sim.run(1)
    assert sim.runner.metrics().late_most == pytest.approx(2.5, abs=0.01)
    assert sim.runner.metrics().beats == 4


def test_what_another_process_took_over_is_not_applied(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    sim = Simulation(ScriptedPlayer({}), "Ann", path=path)
    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: sim.clock.sleep(30))

    async def go() -> None:
        going = asyncio.create_task(sim.runner.run(beats=1))
        while not sim.world_log.world.agents[1].current_beat:
            await asyncio.sleep(0)
        with WorldLog.open(path, clock=sim.clock.wall) as world_log:
            await WorldRunner(world_log, PlayerRegistry({"scripted": ScriptedPlayer({})}), clock=sim.clock).run(
                beats=1
            )
        await going

    run(go())
    assert sim.runner.metrics().fenced == 1
    assert [beat.number for beat in sim.beats(1)] == [1, 2]
    assert [(one.number, bool(one.error)) for one in sim.events_of(e.ReplyReceived)] == [(1, True), (2, False)]
    assert not [said for said in sim.events_of(e.MessagePosted) if said.sender > 0]


def test_who_waits_for_its_model_and_is_asked_by_another_process_is_not_asked_twice(
    tmp_path: Path,
) -> None:
    path = tmp_path / "world.db"
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob", path=path)
    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer({}), lambda _: sim.clock.sleep(60))
    sim.run_anew({"scripted": ModelQuota(at_once=1)})

    async def go() -> None:
        release = asyncio.Event()
        going = asyncio.create_task(sim.runner.run(beats=3))
        while not sim.runner.metrics().waiting:
            await asyncio.sleep(0)
        (thinks,) = (agent.id for agent in sim.world_log.world.agents.values() if agent.current_beat)
        with WorldLog.open(path, clock=sim.clock.wall) as world_log:
            other = WorldRunner(
                world_log, PlayerRegistry({"scripted": DelayedPlayer(ScriptedPlayer(talk), lambda _: release.wait())})
            )
            other._began = True  # it was there before: what is under way is not lost
            step = asyncio.create_task(other.step(3 - thinks))
            while not world_log.world.agents[3 - thinks].current_beat:
                await asyncio.sleep(0)
            await asyncio.wait_for(going, 20)
            release.set()
            await asyncio.wait_for(step, 20)

    run(go())
    sim.world_log.refresh()
    for agent in (1, 2):
        numbers = [beat.number for beat in sim.beats(agent)]
        assert numbers == list(range(1, len(numbers) + 1)), "no beat begins twice"
    ends = [(one.agent, one.number) for one in sim.events_of(e.BeatFinished)]
    assert len(ends) == len(set(ends))
    assert len([said for said in sim.events_of(e.MessagePosted) if said.sender > 0]) == 1


def test_in_a_time_that_jumps_a_runner_sees_when_another_process_is_done(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    sim = talking("Ann", path=path)
    slow = DelayedPlayer(ScriptedPlayer(talk), lambda _: asyncio.sleep(0.2))

    async def go() -> None:
        with WorldLog.open(path, clock=sim.clock.wall) as world_log:
            other = asyncio.create_task(
                WorldRunner(world_log, PlayerRegistry({"scripted": slow}), clock=SimulatedClock(START)).run(beats=1)
            )
            while not world_log.world.agents[1].current_beat:
                await asyncio.sleep(0)
            sim.runner._took_up = True  # it was there before: what is under way is not lost
            await asyncio.wait_for(sim.runner.run(beats=3), 20)
            await other

    run(go())
    assert [beat.number for beat in sim.beats(1)] == [1, 2, 3]


def test_two_processes_play_one_world(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    sim = talking(*NAMES, path=path, rules=WorldRules(tempo=IntervalRules(quiet=1)))

    async def go() -> None:
        with WorldLog.open(path, clock=sim.clock.wall) as world_log:
            other = WorldRunner(world_log, PlayerRegistry({"scripted": ScriptedPlayer(talk)}), clock=sim.clock)
            for _ in range(40):
                assert await sim.runner.step() is not None
                assert await other.step() is not None

    run(go())
    sim.world_log.refresh()
    assert sim.world_log.world.beats == 80
    for agent in range(1, 9):
        numbers = [beat.number for beat in sim.beats(agent)]
        assert numbers == list(range(1, len(numbers) + 1))
    assert sim.world_log.world_at(sim.world_log.world.seq) == sim.world_log.world


@pytest.mark.parametrize("at", range(3))
def test_a_log_that_is_busy_when_a_run_ends_leaves_nobody_behind(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob")
    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: sim.clock.sleep(50))
    sim.run_anew({"scripted": ModelQuota(at_once=1)})
    last_seq, calls = sim.world_log.log.last_seq, iter(range(100))

    def sometimes(session: str) -> int:
        if next(calls) == at:
            raise StoreBusy("another process writes")
        return last_seq(session)

    async def go() -> None:
        going = asyncio.create_task(sim.runner.run())
        while not sim.runner.metrics().waiting:
            await asyncio.sleep(0)
        monkeypatch.setattr(sim.world_log.log, "last_seq", sometimes)
        sim.runner.stop()
        await going
        monkeypatch.undo()
        sim.players._players["scripted"] = ScriptedPlayer(talk)
        await asyncio.wait_for(sim.runner.run(beats=6), 20)

    run(go())
    assert all(agent.beats >= 2 and not agent.current_beat for agent in sim.world_log.world.agents.values())


def test_who_waits_for_a_model_and_gets_another_waits_no_more() -> None:
    limited = ScriptedPlayer(lambda _: BeatReply(error="limited", rest=3600.0))
    sim = Simulation(ScriptedPlayer({}), "Ann", "Bob")
    sim.players._players["scripted"] = DelayedPlayer(limited, lambda _: sim.clock.sleep(1))
    sim.players._players["other"] = ScriptedPlayer(talk)
    waited: list[int] = []

    async def go() -> None:
        going = asyncio.create_task(sim.runner.run())
        while not sim.runner.metrics().waiting:
            await asyncio.sleep(0)
        waited.extend(id for id in (1, 2) if sim.runner.due(id) is None)
        for id in waited:
            sim.architect.alter(id, model="other")
        await sim.clock.sleep(20)
        sim.runner.stop()
        await going

    run(go())
    assert waited
    assert all([beat.model for beat in sim.beats(id)][-1:] == ["other"] for id in waited)


def test_a_stop_gives_back_the_places_of_those_who_were_thinking() -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann")
    sim.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: sim.clock.sleep(5))
    sim.run_anew({"scripted": ModelQuota(at_once=1)})

    async def go() -> None:
        going = asyncio.create_task(sim.runner.run())
        while not sim.world_log.world.agents[1].current_beat:
            await asyncio.sleep(0)
        sim.runner.stop()
        await going
        await asyncio.wait_for(sim.runner.run(beats=2), 20)

    run(go())
    assert sim.world_log.world.beats == 3
