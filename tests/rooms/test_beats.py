"""A world that is played: who is asked when, what is skipped, what stops it, what is never applied."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from plays import START, Play, run, talk, talking

from hudkit.errors import StoreBusy, StoreFull
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.fold_log import fold_logged_event
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.players import BeatPrompt, BeatReply, DelayedPlayer, Improviser, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import ModelQuota, SimulatedClock, WorldRunner
from hudkit.rooms.world import CapRules, IntervalRules, TokenRules, World, WorldRules
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
    play = Play(player, model="improviser", rules=WorldRules(tempo=IntervalRules(quiet=20)))
    for number, name in enumerate(NAMES):
        play.make(name, background="You keep bees.", input_format=("json", "compact", "toon")[number % 3])
    play.play(200)
    play.architect.say(1, "Good morning. What is new, @Bob?")
    play.play(100)
    play.architect.set_prompts({"philosophy.memory": "Write it down."})
    play.architect.set_rules(WorldRules(tempo=IntervalRules(quiet=15), tokens=TokenRules(actions=5)))
    play.play(200)
    world, renderer, compared = World(), CachedRenderer(), 0
    for event, what in play.world_log.events():
        if isinstance(what, e.BeatBegun):
            seen = build_agent_hud(world, what.agent, what.composed_at, renderer)
            assert seen.text == player.saw[what.agent, what.number]
            assert (seen.digest, seen.tokens) == (what.hud, what.tokens)
            compared += 1
        assert fold_logged_event(world, event, what, holes=False)
    assert compared == len(player.saw) == play.world_log.world.beats == 500
    assert world == play.world_log.world == play.world_log.world_at(world.seq)
    assert replay_log(play.world_log).same == 500 and replay_log(play.world_log).sound


def test_the_same_seed_gives_the_same_world() -> None:
    first, second = (
        Play(
            Improviser(),
            *NAMES,
            model="improviser",
            background="You keep bees.",
            rules=WorldRules(tempo=IntervalRules(quiet=20)),
        )
        for _ in range(2)
    )
    first.play(200)
    second.play(200)
    assert first.world_log.world == second.world_log.world
    assert len(first.told(e.MessagePosted)) > 20


def test_a_fork_differs_only_after_the_fork() -> None:
    play = talking(*NAMES)
    play.play(60)
    at = play.world_log.world.seq
    play.play(40)
    fork = play.world_log.fork(None, at, name="what if")
    assert (fork.world.name, fork.world.beats, fork.world.seq) == ("what if", 60, at)
    asyncio.run(
        WorldRunner(fork, PlayerRegistry({"scripted": ScriptedPlayer({})}), clock=SimulatedClock(fork.world.now)).run(
            beats=40
        )
    )
    mine, theirs = (list(world_log.events(1)) for world_log in (play.world_log, fork))
    assert mine[: at - 1] == theirs[: at - 1], "every event of the past, with its id and time"
    assert mine[at - 1 :] != theirs[at - 1 :]
    for seq in (2, at // 2, at):
        assert msgspec.structs.replace(fork.world_at(seq), name="played") == play.world_log.world_at(seq)
    assert len(fork.world.messages) < len(play.world_log.world.messages)
    assert replay_log(fork).same == 100, "the beats before the fork were seen as they were"


# -- skipping and waking -------------------------------------------------------------------------------------------


def test_where_nothing_is_new_no_beat_takes_place() -> None:
    play = Play(ScriptedPlayer({}), "Ann", "Bob", rules=QUIET)
    play.play(2)
    assert pass_time(play, 120) == []
    assert play.runner.metrics().skipped > 10
    play.architect.say(1, "Is anybody there?")
    assert {beat.agent for beat in pass_time(play, 12)} == {1, 2}


def test_in_a_quiet_world_everyone_looks_up_now_and_then() -> None:
    play = Play(ScriptedPlayer({}), "Ann", "Bob", rules=WorldRules(tempo=IntervalRules(quiet=60)))
    play.play(8)
    gaps = [two.composed_at - one.composed_at for one, two in pairwise(play.beats(1))]
    assert gaps
    assert all(60_000 <= gap <= 71_000 for gap in gaps)


def pass_time(play: Play, seconds: float) -> list[e.BeatBegun]:
    """The beats of so many seconds."""
    before = play.world_log.world.seq

    async def go() -> None:
        end = asyncio.create_task(stop_later())
        await play.runner.run()
        await end

    async def stop_later() -> None:
        await play.clock.sleep(seconds)
        play.runner.stop()

    run(go())
    return play.told(e.BeatBegun, before)


@pytest.mark.parametrize(
    ("what", "woken"),
    [
        (lambda play: play.architect.say(1, "@Bob, what do you think?"), {2: "mention"}),
        (lambda play: play.architect.wake(2), {2: "wake_agent"}),
        (lambda play: play.architect.admit(2, 3), {2: "admission"}),
        (lambda play: play.architect.say(1, "Yes.", reply_to=2), {2: "reply"}),
    ],
    ids=["mention", "wake", "admission", "reply"],
)
def test_mentions_replies_and_admissions_wake_at_once(what: Any, woken: dict[int, str]) -> None:
    lines = {2: [{"responses": [{"room_id": 1, "message": "Hello"}]}]}
    play = Play(ScriptedPlayer(lines), "Ann", "Bob", rules=QUIET)
    play.make("Cid", rooms=())
    play.play(3)
    pass_time(play, 60)
    assert play.world_log.world.messages[2].sender == 2
    before, at = play.world_log.world.seq, play.runner.now()
    what(play)
    (one,) = play.told(e.AgentWoken, before)
    assert {one.id: one.why} == woken
    first = pass_time(play, 30)[0]
    assert first.agent == 2
    assert first.composed_at - at <= 1_000, "at the world's least interval"


def test_whoever_is_woken_while_thinking_looks_again_soon() -> None:
    play = Play(ScriptedPlayer({}), "Ann", "Bob", rules=QUIET)
    player = DelayedPlayer(ScriptedPlayer({}), lambda _: play.clock.sleep(4))
    play.players._players["scripted"] = player
    play.play(2)

    async def go() -> None:
        going = asyncio.create_task(play.runner.run(beats=2))
        await asyncio.sleep(0)
        play.architect.say(1, "First")
        while not play.world_log.world.agents[2].current_beat:
            await asyncio.sleep(0)
        play.architect.say(1, "@Bob, listen")
        await going

    run(go())
    last, done = play.beats(2)[-1], play.told(e.BeatFinished)[-1]
    assert play.world_log.world.agents[2].current_beat == 0
    assert [one.due - last.composed_at for one in play.told(e.BeatFinished) if one.agent == 2][-1] <= 5_000, done


def test_sleepers_have_no_beats_and_one_when_they_wake() -> None:
    asleep = [{"actions": [{"type": "sleep", "until": "2027-01-15T08:02:00Z"}]}]  # START is 08:00
    play = Play(ScriptedPlayer({1: asleep}), "Ann", rules=QUIET)
    play.play(2)
    first, second = play.beats(1)
    assert first.composed_at < START + 5_000
    assert second.composed_at - START == 120_000
    play.architect.say(1, "@Ann")
    assert play.beats(1)[-1] == second


def test_a_key_is_whispered_once_and_its_owner_asked_for_it() -> None:
    makes = [{"actions": [{"type": "create_key", "label": label}]} for label in ("friends", "others")]
    player = ScriptedPlayer({1: makes})
    play = Play(player, "Ann", rules=QUIET)
    play.play(3)
    whispers = ["".join(prompt.hud.document["self"].get("once", ())) for prompt in player.prompts]
    assert whispers[0] == ""
    assert "5e" * 24 in whispers[1]
    assert "friends" in whispers[1]
    assert "5e" * 24 in whispers[2]
    assert "friends" not in whispers[2]
    assert play.world_log.whispers == {}


# -- the tempo of minds and models ---------------------------------------------------------------------------------


def test_the_world_goes_on_while_somebody_thinks() -> None:
    fast = ScriptedPlayer(talk)
    play = Play(fast, "Ann", "Bob", "Cid")
    slow = DelayedPlayer(
        ScriptedPlayer({2: [{"responses": [{"room_id": 1, "message": "At last"}]}]}), lambda _: play.clock.sleep(60)
    )
    play.players._players["slow"] = slow
    play.architect.alter(2, model="slow")
    play.play(30)
    begun = play.beats(2)[0]
    (reply,) = [one for one in play.told(e.ReplyReceived) if one.agent == 2][:1]
    assert reply.seconds == pytest.approx(60, abs=0.01)
    assert sum(begun.composed_at <= beat.composed_at < begun.composed_at + 60_000 for beat in play.beats(1)) > 5
    assert [m.content for m in play.world_log.world.messages.values() if m.sender == 2] == ["At last"]


def test_a_model_is_never_asked_more_than_its_quota_in_any_minute() -> None:
    play = Play(ScriptedPlayer({}), *NAMES, rules=WorldRules(tempo=IntervalRules(max_interval=1.0, quiet=1)))
    player = ScriptedPlayer(
        lambda prompt: BeatReply("[no response]", input_tokens=prompt.hud.tokens, output_tokens=300)
    )
    play.players._players["scripted"] = DelayedPlayer(player, lambda _: play.clock.sleep(2))
    runner = play.run_anew({"scripted": ModelQuota(requests=20, tokens=40_000)})
    asyncio.run(runner.run(beats=60))
    begun = sorted((beat.composed_at, beat.tokens + 300) for beat in play.told(e.BeatBegun))
    sums = [sum(tokens for one, tokens in begun if at <= one < at + 60_000) for at, _ in begun]
    assert 30_000 < max(sums) <= 40_000
    assert runner.metrics().late_99 > 30, "who waits for its model is late, and that is reported"
    runner = play.run_anew({"scripted": ModelQuota(requests=20)})
    asyncio.run(runner.run(beats=60))
    times = [beat.composed_at for beat in play.told(e.BeatBegun)][60:]
    assert max(sum(at <= one < at + 60_000 for one in times) for at in times) == 20


def test_requests_at_once_are_limited() -> None:
    most = 0

    async def think(_: Any) -> None:
        nonlocal most
        most = max(most, play.runner.metrics().thinking)
        await play.clock.sleep(3)

    play = Play(ScriptedPlayer({}), *NAMES)
    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer({}), think)
    play.run_anew({"scripted": ModelQuota(at_once=3)})
    play.play(20)
    assert most == 3


def test_a_server_that_wants_rest_gets_it() -> None:
    limited = BeatReply(error="model-rate-limited", rest=90.0)
    play = Play(ScriptedPlayer({}), "Ann", "Bob", rules=WorldRules(tempo=IntervalRules(quiet=1)))
    player = ScriptedPlayer(lambda prompt: limited if prompt.agent == 1 and prompt.number == 1 else "[no response]")
    play.players._players["scripted"] = DelayedPlayer(player, lambda _: play.clock.sleep(1))
    play.play(6)
    failed = next(one for one in play.told(e.ReplyReceived) if one.error)
    assert failed.agent == 1
    after = [
        beat.composed_at for beat in play.told(e.BeatBegun) if beat.composed_at > play.beats(1)[0].composed_at + 1_000
    ]
    assert min(after) >= play.beats(1)[0].composed_at + 90_000, "Bob waits, too: it is the same model"


def test_due_agents_of_one_model_are_begun_in_one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play(ScriptedPlayer({}), *NAMES)
    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer({}), lambda _: play.clock.sleep(1))
    with play.world_log.transaction(Origin.SYSTEM) as transaction:
        for agent in range(1, 9):
            transaction.append(e.BeatScheduled(agent, START))
    append, appended = play.world_log.log.append, list[list[Any]]()

    def watched(session: str, drafts: Any, **more: Any) -> Any:
        appended.append([draft for draft in drafts if isinstance(draft.payload, e.BeatBegun)])
        return append(session, drafts, **more)

    monkeypatch.setattr(play.world_log.log, "append", watched)
    play.play(8)
    kinds = [
        type(what).__name__ for _, what in play.world_log.events() if isinstance(what, e.BeatBegun | e.ReplyReceived)
    ]
    assert kinds == ["BeatBegun"] * 8 + ["ReplyReceived"] * 8
    assert [len(beats) for beats in appended if beats] == [8]


# -- stopping ------------------------------------------------------------------------------------------------------


def test_after_a_pause_no_beat_begins_and_what_is_under_way_has_no_effects() -> None:
    play = Play(ScriptedPlayer({}), "Ann", "Bob")
    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: play.clock.sleep(30))

    async def go() -> None:
        going = asyncio.create_task(play.runner.run())
        while not play.world_log.world.agents[1].current_beat:
            await asyncio.sleep(0)
        play.architect.pause()
        acknowledged = play.world_log.world.seq
        await play.clock.sleep(300)
        assert play.told(e.BeatBegun, acknowledged) == []
        assert not [said for said in play.told(e.MessagePosted) if said.sender > 0]
        assert {one.agent for one in play.told(e.ReplyReceived, acknowledged)} >= {1}, "what was thought is not lost"
        play.architect.resume()
        await play.clock.sleep(100)
        play.runner.stop()
        await going

    run(go())
    assert "stopped while you were thinking" in play.told(e.ActionRefused)[0].why
    assert [said for said in play.told(e.MessagePosted) if said.sender > 0], "and then it goes on"


def test_a_thought_from_before_a_pause_has_no_effects_after_it() -> None:
    play = Play(ScriptedPlayer({}), "Ann")
    play.players._players["scripted"] = DelayedPlayer(
        ScriptedPlayer({1: [talk_once()]}), lambda _: play.clock.sleep(30)
    )

    async def go() -> None:
        going = asyncio.create_task(play.runner.run(beats=1))
        while not play.world_log.world.agents[1].current_beat:
            await asyncio.sleep(0)
        play.architect.pause()
        play.architect.resume()
        await going

    run(go())
    assert not [said for said in play.told(e.MessagePosted) if said.sender > 0]


def talk_once() -> dict[str, Any]:
    return {"responses": [{"room_id": 1, "message": "Hello"}]}


def test_the_retired_say_nothing_any_more() -> None:
    play = Play(ScriptedPlayer({}), "Ann", "Bob")
    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: play.clock.sleep(30))

    async def go() -> None:
        going = asyncio.create_task(play.runner.run(beats=2))
        while not play.world_log.world.agents[2].current_beat:
            await asyncio.sleep(0)
        play.architect.retire(2)
        await going

    run(go())
    assert not [said for said in play.told(e.MessagePosted) if said.sender == 2]
    assert play.world_log.world.agents[2].current_beat == 0
    assert len(play.beats(2)) == 1


def test_stop_ends_the_run_and_what_was_under_way_is_told() -> None:
    play = Play(ScriptedPlayer({}), "Ann")
    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: asyncio.sleep(3600))

    async def go() -> None:
        going = asyncio.create_task(play.runner.run())
        while not play.world_log.world.agents[1].current_beat:
            await asyncio.sleep(0)
        play.runner.stop()
        await asyncio.wait_for(going, 5)

    run(go())
    assert play.told(e.ReplyReceived)[0].error.startswith("stopped")
    assert play.world_log.world.agents[1].current_beat == 0


def test_a_step_is_one_beat_also_in_a_paused_world() -> None:
    play = talking("Ann", "Bob", "Cid")
    play.architect.pause()
    due = min(play.world_log.world.agents.values(), key=lambda agent: agent.due).id
    assert run(play.runner.step()) == due
    assert run(play.runner.step(3)) == 3
    assert [beat.agent for beat in play.told(e.BeatBegun)] == [due, 3]
    assert len([said for said in play.told(e.MessagePosted) if said.sender > 0]) == 2, "and it has its effects"
    assert play.world_log.world.paused


def test_a_step_waits_for_the_mind() -> None:
    play = Play(ScriptedPlayer({}), "Ann")
    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: asyncio.sleep(0))
    play.architect.pause()
    assert run(play.runner.step(1)) == 1
    assert [said.sender for said in play.told(e.MessagePosted)][-1] == 1
    assert run(play.runner.step(9)) is None


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
    play = Play(lines, "Ann", "Bob", rules=WorldRules(tempo=IntervalRules(quiet=30), caps=caps))

    async def go() -> None:
        going = asyncio.create_task(play.runner.run())
        async with asyncio.timeout(20):
            while play.world_log.world.paused is None:
                await asyncio.sleep(0)
        play.runner.stop()
        await going

    run(go())
    world = play.world_log.world
    assert (world.paused or "").startswith(why)
    if why == "cost":
        assert world.cost == pytest.approx(0.25)
    if why == "alone":
        assert world.beats == 12


def test_what_is_under_way_when_a_world_pauses_by_itself_still_counts() -> None:
    caps = CapRules(cost=0.25)
    play = Play(ScriptedPlayer({}), "Ann", "Bob", rules=WorldRules(caps=caps))
    dear = ScriptedPlayer(lambda prompt: BeatReply('{"responses": [{"room_id": 1, "message": "Hello"}]}', cost=0.3))
    play.players._players["scripted"] = DelayedPlayer(dear, lambda prompt: play.clock.sleep(20 * prompt.agent))

    async def go() -> None:
        going = asyncio.create_task(play.runner.run())
        await play.clock.sleep(100)
        play.runner.stop()
        await going

    run(go())
    assert play.world_log.world.paused == "cost: $0.30 of $0.25"
    assert play.world_log.world.beats == 2
    assert {one.sender for one in play.told(e.MessagePosted) if one.sender > 0} == {1, 2}


@pytest.mark.parametrize("at", range(8))
def test_a_log_that_is_busy_for_a_moment_costs_no_beat(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play(ScriptedPlayer({}), "Ann", "Bob", "Cid", rules=QUIET)
    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer({}), lambda _: play.clock.sleep(7))
    play.run_anew({"scripted": ModelQuota(at_once=1)})
    append, calls = play.world_log.log.append, iter(range(100))

    def sometimes(*given: Any, **more: Any) -> Any:
        if next(calls) == at:
            raise StoreBusy("another process writes")
        return append(*given, **more)

    monkeypatch.setattr(play.world_log.log, "append", sometimes)
    play.play(3)
    assert sorted(beat.agent for beat in play.told(e.BeatBegun)) == [1, 2, 3]
    assert len(play.told(e.BeatFinished)) == 3


def test_the_architect_speaks_and_the_count_of_beats_without_people_begins_anew() -> None:
    play = talking("Ann", rules=WorldRules(caps=CapRules(beats_without_people=10)))
    play.play(8)
    play.architect.say(1, "Go on")
    play.play(8)
    assert play.world_log.world.paused is None


# -- time ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [-86_400_000, 315_360_000_000], ids=["a day back", "ten years ahead"])
def test_when_the_clock_is_set_beats_go_on_as_before(step: int) -> None:
    play = talking(*NAMES)
    play.play(40)
    play.clock.set(play.clock.wall() + step)
    before = play.runner.now()
    play.play(40)
    later = play.told(e.BeatBegun)[40:]
    assert all(before <= beat.composed_at < before + 90_000 for beat in later)
    assert max(sum(beat.agent == agent for beat in later) for agent in range(1, 9)) <= 8


@pytest.mark.parametrize("step", [-86_400_000, 315_360_000_000], ids=["a day back", "ten years ahead"])
def test_after_a_restart_with_another_clock_each_agent_catches_up_with_one_beat(step: int) -> None:
    play = talking(*NAMES)
    play.play(40)
    play.clock.set(play.clock.wall() + step)
    runner = play.run_anew()
    at = runner.now()
    asyncio.run(runner.run(beats=16))
    later = play.told(e.BeatBegun)[40:]
    assert sorted(beat.agent for beat in later if beat.composed_at < at + 4_000)[:0] == []
    for agent in range(1, 9):
        own = [beat.composed_at for beat in later if beat.agent == agent]
        assert all(two - one >= 4_000 for one, two in pairwise(own)), "no storm"
    assert play.world_log.world.now >= at


def test_missed_beats_are_spread_over_the_interval() -> None:
    play = talking(*(f"A{n}" for n in range(40)))
    play.play(40)
    play.architect.pause()
    play.clock.advance(3600)
    play.architect.resume()
    at = play.runner.now()
    play.play(40)
    begun = [beat.composed_at - at for beat in play.told(e.BeatBegun)[40:]]
    assert sum(one < 1_000 for one in begun) < 16
    assert play.runner.metrics().late_most < 1


def test_a_faster_world_has_more_beats_in_the_same_time() -> None:
    counts = []
    for factor in (1.0, 10.0):
        play = talking("Ann", rules=WorldRules(tempo=IntervalRules(quiet=1)))
        play.architect.set_speed(factor)
        counts.append(len(pass_time(play, 60)))
    assert counts[1] > 6 * counts[0]


# -- loops and faults ----------------------------------------------------------------------------------------------


def thank(prompt: Any) -> dict[str, Any]:
    other = "Bob" if prompt.agent == 1 else "Ann"
    return {
        "responses": [{"room_id": 1, "message": f"Thank you, @{other}! You are so kind, really ({prompt.number})."}]
    }


def test_a_pair_that_thanks_each_other_for_ever_is_slowed() -> None:
    play = Play(ScriptedPlayer(thank), "Ann", "Bob", rules=WorldRules(tempo=IntervalRules(quiet=0)))
    pass_time(play, 900)
    said = [
        event.timestamp
        for event, what in play.world_log.events()
        if isinstance(what, e.MessagePosted) and what.sender > 0
    ]
    slowed = play.told(e.AgentThrottled)
    assert {one.id for one in slowed} == {1, 2}
    assert len([at for at in said if at < START + 60_000]) >= 12
    last = [at for at in said if at >= START + 300_000]
    assert len(last) <= 2 * 600 / 60 + 2, "about one message a minute of each"
    assert any("repeat yourselves" in one.why for one in play.told(e.ActionRefused))


def test_without_that_rule_they_go_on() -> None:
    play = Play(ScriptedPlayer(thank), "Ann", "Bob", rules=WorldRules(tempo=IntervalRules(quiet=0, looping=0)))
    pass_time(play, 300)
    assert play.told(e.AgentThrottled) == []
    assert len(play.told(e.MessagePosted)) > 60


def test_two_who_have_something_to_say_are_left_alone() -> None:
    words = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}x" for n in range(600)]

    def tell(prompt: Any) -> dict[str, Any]:
        start = (prompt.number * 2 + prompt.agent) * 5 % 590
        return {"responses": [{"room_id": 1, "message": " ".join(words[start : start + 5])}]}

    play = Play(ScriptedPlayer(tell), "Ann", "Bob", rules=QUIET)
    play.play(60)
    assert play.told(e.AgentThrottled) == []


def test_a_storm_of_replies_stays_within_the_rooms_pace() -> None:
    many = tuple(f"A{n}" for n in range(60))
    twelve = "all of us want to say the same thing about it right now"

    play = Play(ScriptedPlayer(lambda prompt: {"responses": [{"room_id": 1, "message": twelve}]}), *many)
    play.architect.say(1, "What do you all think?")
    play.play(300)
    said = [m for m in play.world_log.world.messages.values() if m.sender > 0]
    for first in said:
        assert sum(m.words for m in said if first.composed_at <= m.posted_at < first.composed_at + 60_000) <= 400
    assert len(said) > 20


def test_a_mind_that_fails_costs_its_agent_a_beat_and_nobody_else() -> None:
    def say(prompt: Any) -> Any:
        if prompt.agent == 1:
            raise ZeroDivisionError("a fault")
        return talk(prompt)

    play = Play(ScriptedPlayer(say), "Ann", "Bob", "Cid")
    play.play(20)
    assert all("a fault" in one.error for one in play.told(e.ReplyReceived) if one.agent == 1)
    assert len([said for said in play.told(e.MessagePosted) if said.sender > 0]) >= 15
    assert play.world_log.world_at(play.world_log.world.seq) == play.world_log.world
    figures = play.runner.metrics()
    assert figures.beats == play.world_log.world.beats == 20, "what was begun in a commit that failed is not counted"
    assert figures.failed == len([one for one in play.told(e.ReplyReceived) if one.error])


def test_the_same_for_a_mind_that_takes_its_time() -> None:
    play = Play(ScriptedPlayer({}), "Ann", "Bob")

    async def fail(prompt: Any) -> None:
        if prompt.agent == 1:
            raise ZeroDivisionError("a fault")

    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), fail)
    play.play(10)
    assert "a fault" in play.world_log.world.agents[1].last_error
    assert [said for said in play.told(e.MessagePosted) if said.sender == 2]


def test_a_model_that_is_not_there_is_said_and_asked_seldom() -> None:
    play = Play(ScriptedPlayer({}), "Ann", "Bob", model="absent:one")
    play.players._players.clear()
    play.play(6)
    assert "absent:one" in play.world_log.world.agents[1].last_error
    one, two = play.beats(1)[:2]
    assert two.composed_at - one.composed_at >= 300_000


def test_with_another_model_an_agent_that_failed_beats_at_once() -> None:
    play = Play(ScriptedPlayer({}), "Ann", model="absent:one")
    play.players._players.clear()
    play.play(1)
    play.players._players["scripted"] = ScriptedPlayer(talk)
    at = play.runner.now()
    play.architect.alter(1, model="scripted")
    play.play(1)
    assert play.beats(1)[-1].composed_at - at <= 1_000, "and does not rest for five minutes first"
    assert play.world_log.world.agents[1].last_error == ""


def test_what_is_not_recorded_has_not_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    play = talking("Ann", "Bob")
    play.play(10)
    before = play.world_log.world.seq

    def full(*_: Any, **__: Any) -> Any:
        raise StoreFull("no space left")

    monkeypatch.setattr(play.world_log.log, "append", full)
    with pytest.raises(StoreFull):
        play.play(10)
    monkeypatch.undo()
    assert play.world_log.world.seq == before == play.world_log.log.last_seq("world")
    play.play(10)
    assert play.world_log.world.beats == 20


def test_agents_that_were_thinking_when_the_process_ended_are_asked_anew() -> None:
    play = talking("Ann", "Bob")
    with play.world_log.transaction(Origin.SYSTEM) as transaction:
        transaction.append(e.BeatBegun(1, 1, START, START, "", 0, "json", "scripted"))
    play.run_anew()
    play.play(2)
    lost, *later = [one for one in play.told(e.ReplyReceived) if one.agent == 1]
    assert lost.error.startswith("lost")
    assert lost.number == 1
    assert later[0].number == 2
    assert not later[0].error
    assert play.runner.metrics().lost == 1


def test_lateness_is_measured() -> None:
    play = talking("Ann", rules=WorldRules(tempo=IntervalRules(quiet=1)))
    play.play(3)
    due = play.runner.due(1)
    assert due is not None
    play.clock.advance((due - play.runner.now()) / 1000 + 2.5)
    play.play(1)
    assert play.runner.metrics().late_most == pytest.approx(2.5, abs=0.01)
    assert play.runner.metrics().beats == 4


def test_what_another_process_took_over_is_not_applied(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    play = Play(ScriptedPlayer({}), "Ann", path=path)
    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: play.clock.sleep(30))

    async def go() -> None:
        going = asyncio.create_task(play.runner.run(beats=1))
        while not play.world_log.world.agents[1].current_beat:
            await asyncio.sleep(0)
        with WorldLog.open(path, clock=play.clock.wall) as world_log:
            await WorldRunner(world_log, PlayerRegistry({"scripted": ScriptedPlayer({})}), clock=play.clock).run(
                beats=1
            )
        await going

    run(go())
    assert play.runner.metrics().fenced == 1
    assert [beat.number for beat in play.beats(1)] == [1, 2]
    assert [(one.number, bool(one.error)) for one in play.told(e.ReplyReceived)] == [(1, True), (2, False)]
    assert not [said for said in play.told(e.MessagePosted) if said.sender > 0]


def test_who_waits_for_its_model_and_is_asked_by_another_process_is_not_asked_twice(
    tmp_path: Path,
) -> None:
    path = tmp_path / "world.db"
    play = Play(ScriptedPlayer({}), "Ann", "Bob", path=path)
    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer({}), lambda _: play.clock.sleep(60))
    play.run_anew({"scripted": ModelQuota(at_once=1)})

    async def go() -> None:
        release = asyncio.Event()
        going = asyncio.create_task(play.runner.run(beats=3))
        while not play.runner.metrics().waiting:
            await asyncio.sleep(0)
        (thinks,) = (agent.id for agent in play.world_log.world.agents.values() if agent.current_beat)
        with WorldLog.open(path, clock=play.clock.wall) as world_log:
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
    play.world_log.refresh()
    for agent in (1, 2):
        numbers = [beat.number for beat in play.beats(agent)]
        assert numbers == list(range(1, len(numbers) + 1)), "no beat begins twice"
    ends = [(one.agent, one.number) for one in play.told(e.BeatFinished)]
    assert len(ends) == len(set(ends))
    assert len([said for said in play.told(e.MessagePosted) if said.sender > 0]) == 1


def test_in_a_time_that_jumps_a_runner_sees_when_another_process_is_done(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    play = talking("Ann", path=path)
    slow = DelayedPlayer(ScriptedPlayer(talk), lambda _: asyncio.sleep(0.2))

    async def go() -> None:
        with WorldLog.open(path, clock=play.clock.wall) as world_log:
            other = asyncio.create_task(
                WorldRunner(world_log, PlayerRegistry({"scripted": slow}), clock=SimulatedClock(START)).run(beats=1)
            )
            while not world_log.world.agents[1].current_beat:
                await asyncio.sleep(0)
            play.runner._took_up = True  # it was there before: what is under way is not lost
            await asyncio.wait_for(play.runner.run(beats=3), 20)
            await other

    run(go())
    assert [beat.number for beat in play.beats(1)] == [1, 2, 3]


def test_two_processes_play_one_world(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    play = talking(*NAMES, path=path, rules=WorldRules(tempo=IntervalRules(quiet=1)))

    async def go() -> None:
        with WorldLog.open(path, clock=play.clock.wall) as world_log:
            other = WorldRunner(world_log, PlayerRegistry({"scripted": ScriptedPlayer(talk)}), clock=play.clock)
            for _ in range(40):
                assert await play.runner.step() is not None
                assert await other.step() is not None

    run(go())
    play.world_log.refresh()
    assert play.world_log.world.beats == 80
    for agent in range(1, 9):
        numbers = [beat.number for beat in play.beats(agent)]
        assert numbers == list(range(1, len(numbers) + 1))
    assert play.world_log.world_at(play.world_log.world.seq) == play.world_log.world


@pytest.mark.parametrize("at", range(3))
def test_a_log_that_is_busy_when_a_run_ends_leaves_nobody_behind(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play(ScriptedPlayer({}), "Ann", "Bob")
    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: play.clock.sleep(50))
    play.run_anew({"scripted": ModelQuota(at_once=1)})
    last_seq, calls = play.world_log.log.last_seq, iter(range(100))

    def sometimes(session: str) -> int:
        if next(calls) == at:
            raise StoreBusy("another process writes")
        return last_seq(session)

    async def go() -> None:
        going = asyncio.create_task(play.runner.run())
        while not play.runner.metrics().waiting:
            await asyncio.sleep(0)
        monkeypatch.setattr(play.world_log.log, "last_seq", sometimes)
        play.runner.stop()
        await going
        monkeypatch.undo()
        play.players._players["scripted"] = ScriptedPlayer(talk)
        await asyncio.wait_for(play.runner.run(beats=6), 20)

    run(go())
    assert all(agent.beats >= 2 and not agent.current_beat for agent in play.world_log.world.agents.values())


def test_who_waits_for_a_model_and_gets_another_waits_no_more() -> None:
    limited = ScriptedPlayer(lambda _: BeatReply(error="limited", rest=3600.0))
    play = Play(ScriptedPlayer({}), "Ann", "Bob")
    play.players._players["scripted"] = DelayedPlayer(limited, lambda _: play.clock.sleep(1))
    play.players._players["other"] = ScriptedPlayer(talk)
    waited: list[int] = []

    async def go() -> None:
        going = asyncio.create_task(play.runner.run())
        while not play.runner.metrics().waiting:
            await asyncio.sleep(0)
        waited.extend(id for id in (1, 2) if play.runner.due(id) is None)
        for id in waited:
            play.architect.alter(id, model="other")
        await play.clock.sleep(20)
        play.runner.stop()
        await going

    run(go())
    assert waited
    assert all([beat.model for beat in play.beats(id)][-1:] == ["other"] for id in waited)


def test_a_stop_gives_back_the_places_of_those_who_were_thinking() -> None:
    play = Play(ScriptedPlayer({}), "Ann")
    play.players._players["scripted"] = DelayedPlayer(ScriptedPlayer(talk), lambda _: play.clock.sleep(5))
    play.run_anew({"scripted": ModelQuota(at_once=1)})

    async def go() -> None:
        going = asyncio.create_task(play.runner.run())
        while not play.world_log.world.agents[1].current_beat:
            await asyncio.sleep(0)
        play.runner.stop()
        await going
        await asyncio.wait_for(play.runner.run(beats=2), 20)

    run(go())
    assert play.world_log.world.beats == 3
