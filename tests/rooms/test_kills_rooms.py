"""A world whose process is killed goes on where it was: no beat is applied twice, and none is lost."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from campaigns import Campaign
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.players import Improviser, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world import IntervalRules, WorldRules
from hudkit.rooms.world_log import WorldLog
from hudkit.rooms.world_replay import replay_log
from postgres_server import Server

CHILD = Path(__file__).with_name("runner_child.py")
KILLS = Campaign("kills", quick=20, full=200)
POSTGRES = Campaign("postgres", quick=10, full=200)
SHARED = Campaign("postgres", quick=3, full=40)


def check(world_log: WorldLog) -> int:
    """Every beat was begun once, answered once and over once, in this order; how many were lost."""
    numbers: dict[int, list[int]] = defaultdict(list)
    steps: dict[tuple[int, int], list[str]] = defaultdict(list)
    said: Counter[tuple[int, str]] = Counter()
    lost = 0
    for _, what in world_log.events():
        if isinstance(what, e.BeatBegun):
            numbers[what.agent].append(what.number)
        if isinstance(what, e.BeatBegun | e.ReplyReceived | e.ActionApplied | e.BeatFinished):
            steps[what.agent, what.number].append(type(what).__name__)
        if isinstance(what, e.ReplyReceived):
            lost += what.error.startswith("lost")
        if isinstance(what, e.MessagePosted) and what.content.startswith("beat "):
            said[what.sender, what.content] += 1
    for agent, found in numbers.items():
        assert found == list(range(1, len(found) + 1)), f"the beats of agent {agent} have no gap and no double"
    for beat, names in steps.items():
        middle = [name for name in names if name != "ActionApplied"]
        assert middle in (["BeatBegun", "ReplyReceived", "BeatFinished"], ["BeatBegun"]), (beat, names)
        assert names[-1] == middle[-1], "nothing is applied after the end"
    assert not said or max(said.values()) == 1
    for world in (world_log.world_at(world_log.world.seq), world_log.world):
        for id, living in world.agents.items():
            goals = living.knowledge.get("ai", {}).get("goals", [])
            assert goals == sorted(set(goals)), f"agent {id} did something twice"
    return lost


@KILLS
@pytest.mark.slow
def test_killed_at_many_points_a_world_resumes(tmp_path: Path) -> None:
    kill_and_resume(tmp_path / "world.db", KILLS)


@POSTGRES
@pytest.mark.slow
def test_killed_at_many_points_a_world_on_a_server_resumes(postgres: Server) -> None:
    kill_and_resume(postgres.new_log(), POSTGRES)


@SHARED
@pytest.mark.slow
def test_processes_that_play_one_world_on_a_server_come_and_go(postgres: Server) -> None:
    """Two at a time: the older one is killed, another one comes, and the world goes on. No beat is applied twice."""
    url, chance = postgres.new_log(), SHARED.chance(8)
    found_bees(url)
    players = [play(url)]
    for _ in range(SHARED.rounds):
        players.append(play(url))
        for player in players:
            assert player.stdout is not None
            first = int(player.stdout.readline())
            until_seq = first + chance.randrange(40)
            while int(player.stdout.readline() or until_seq) < until_seq:
                assert player.poll() is None, "it ended by itself"
        oldest = players.pop(0)
        assert oldest.poll() is None, "it ended by itself"
        oldest.send_signal(signal.SIGKILL)
        oldest.communicate()
    for player in players:
        assert player.poll() is None, "it ended by itself"
        player.send_signal(signal.SIGKILL)
        player.communicate()
    with WorldLog.open(url) as world_log:
        check(world_log)
        assert list(world_log.log.verify()) == [] and replay_log(world_log).sound


def play(place: Path | str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(CHILD), str(place)], stdout=subprocess.PIPE)


def found_bees(path: Path | str) -> None:
    tempo = IntervalRules(min_interval=0.01, max_interval=0.04, first=0.02, quiet=0.01, looping=0)
    world_log = WorldLog.create(path, name="killed", seed=3, rules=WorldRules(tempo=tempo))
    architect = Architect(world_log)
    for number in range(8):
        model = ("improviser", "slow")[number % 2]
        architect.make_agent("persona", f"A{number}", "You keep bees.", model, rooms=(1,) if number else ())
    world_log.close()


def kill_and_resume(path: Path | str, campaign: Campaign) -> None:
    found_bees(path)
    chance, acknowledged, beats, lost = campaign.chance(5), 0, 0, 0
    for kill in range(10 * campaign.rounds):
        child = play(path)
        assert child.stdout is not None
        seen = child.stdout.readline()  # it plays: kill it some events later, or a moment after these
        last = int(seen) + chance.randrange(24)
        while int(seen) < last:
            seen = child.stdout.readline()
        time.sleep(chance.uniform(0, 0.01))
        child.send_signal(signal.SIGKILL)
        lines = (seen + child.stdout.read()).split(b"\n")
        child.wait()
        child.stdout.close()
        acknowledged = max(acknowledged, *(int(line) for line in lines[:-1]))
        if kill % 10 == 9:
            with WorldLog.open(path) as world_log:
                assert world_log.world.seq >= acknowledged, "nothing that was acknowledged is lost"
                assert list(world_log.log.verify()) == []
                assert world_log.world.beats > beats
                beats, lost = world_log.world.beats, check(world_log)
            if kill + 1 >= campaign.rounds and lost:
                break
    assert lost, "some were killed while they were thinking"
    with WorldLog.open(path) as world_log:
        open_ = [agent.id for agent in world_log.world.agents.values() if agent.current_beat]
        players = PlayerRegistry({"improviser": Improviser(), "slow": ScriptedPlayer({})})
        asyncio.run(WorldRunner(world_log, players, clock=SimulatedClock(world_log.world.now)).run(beats=20))
        assert not any(agent.current_beat for agent in world_log.world.agents.values())
        assert check(world_log) == lost + len(open_)
