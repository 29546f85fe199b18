"""Workers come, go, share, and are killed: one that lives plays each partition, and no beat is applied twice."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from runner_child import talk
from test_kills_rooms import check, found_bees
from worker_child import WorkerChild

from campaigns import Campaign
from hudkit.cli import main
from hudkit.log.stores.postgres_leases import PostgresLeases
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.players import DelayedPlayer, Improviser, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import WorldRunner
from hudkit.rooms.workers import LeaseKeeper, SessionLease, Worker
from hudkit.rooms.world_log import WorldLog, played_sessions
from hudkit.rooms.world_replay import replay_log
from postgres_server import Server, running_server
from waiting import until

pytestmark = pytest.mark.slow

KILLS = Campaign("workers", quick=6, full=200)
CRASHES = Campaign("workers", quick=2, full=20)
LEASE = 0.6
"""Seconds of a lease where many workers are killed."""

Run = Callable[..., tuple[int, str, str]]


class Clock:
    """Time that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds

    def ms(self) -> int:
        return round(1000 * self.seconds)


def play(url: str, seconds: float = LEASE) -> WorkerChild:
    return WorkerChild(url, seconds)


def found(url: str, partitions: int) -> None:
    """Eight bee keepers in one hall, half of whom think slowly."""
    found_bees(url + "_whole")
    with WorldLog.open(url + "_whole") as whole:
        whole.found_elsewhere(url, partitions).close()


def parts(url: str) -> Iterator[WorldLog]:
    for session in played_sessions(url):
        with WorldLog.open_session(url, session) as part:
            yield part


def beats(url: str) -> int:
    with WorldLog.open(url, read_only=True) as whole:
        return whole.world.beats


def finish(url: str) -> None:
    """Let everything that is under way end, and every inbox be taken up."""

    async def play_on() -> None:
        slow = DelayedPlayer(ScriptedPlayer(talk), lambda _: asyncio.sleep(0.001))
        worker = Worker(url, lambda: PlayerRegistry({"improviser": Improviser(), "slow": slow}), seconds=LEASE)
        going = asyncio.create_task(worker.run())
        count = len(played_sessions(url))
        while len(worker.metrics()) < count or any(not figures.beats for figures in worker.metrics().values()):
            await asyncio.sleep(0.02)
        worker.stop()
        await going

    asyncio.run(play_on())
    while any(part.receive(part.world.now) for part in parts(url)):
        pass


def check_whole(url: str) -> int:
    """Every partition is right by itself and replays alike; all heard the same in the hall, each once."""
    lost, heard = 0, []
    for part in parts(url):
        lost += check(part)
        assert replay_log(part).sound
        if part.world.partition:
            assert part.log.last_seq(part.inbox) == part.world.received, "everything that was sent was taken up"
            numbers = [what.number for _, what in part.events() if isinstance(what, e.EventReceived) and what.number]
            assert numbers == list(range(1, len(numbers) + 1)), "and nothing twice"
        hall = [part.world.messages[id] for id in part.world.rooms[1].messages]
        heard.append(Counter((one.sender, one.content) for one in hall if one.sender > 0))
    assert all(there == heard[0] for there in heard)
    with WorldLog.open(url) as whole:
        assert list(whole.log.verify()) == []
        for part in parts(url):
            for agent in part.world.agents.values():
                if not agent.home:
                    same = whole.world.agents[agent.id]
                    assert (same.beats, same.knowledge, same.rooms) == (agent.beats, agent.knowledge, agent.rooms)
        assert whole.world.beats == sum(part.world.beats for part in parts(url))
    return lost


@KILLS
@pytest.mark.parametrize("partitions", [0, 2])
def test_killed_workers_are_replaced_and_no_beat_is_applied_twice(postgres: Server, partitions: int) -> None:
    url, chance = postgres.new_log(), KILLS.chance(11)
    found(url, partitions) if partitions else found_bees(url)
    players = [play(url), play(url)]
    for _ in range(KILLS.rounds // 2):
        # Whoever plays is killed while it does; one that waits for a lease takes over what is free then.
        player = players.pop(0)
        player.wait_for_beats(chance.randrange(1, 20))
        player.kill()
        players.append(play(url))
    for player in players:
        player.kill()
    finish(url)
    lost = check_whole(url)
    # Few kills may all fall between two beats; the next test kills one that thinks.
    assert lost or KILLS.rounds < KILLS.full, "some were killed while they were thinking"


@CRASHES
def test_workers_go_on_after_the_server_has_crashed(tmp_path: Path) -> None:
    with running_server() as server:
        url = server.new_log()
        found(url, 2)
        players = [play(url), play(url)]
        for _ in range(CRASHES.rounds):
            for player in players:
                player.wait_for_beats(3)
            server.stop("immediate")
            server.start()
        for player in players:
            player.wait_for_beats(3)
            player.kill()
        finish(url)
        check_whole(url)


def test_workers_share_the_partitions_and_give_back_what_is_beyond_their_share(postgres: Server) -> None:
    url = postgres.new_log()
    found(url, 4)

    def taken() -> list[int]:
        count = Counter(lease.holder for lease in leases.live() if lease.exclusive)
        return sorted(count.values())

    leases = PostgresLeases(url)
    players = [play(url, 3.0)]
    until(lambda: taken() == [4], "one takes all")
    players.append(play(url, 3.0))
    until(lambda: taken() == [2, 2], "two have two each")
    players.pop(0).kill()
    until(lambda: taken() == [4], "who is left takes all")
    players.pop().kill()
    until(lambda: taken() == [], "leases end by themselves")
    leases.close()


def test_the_beats_of_a_killed_worker_come_back(postgres: Server) -> None:
    """A worker dies while its agents think; another one, which has waited, asks them again."""
    url = postgres.new_log()
    found_bees(url)
    first = play(url, 3.0)
    first.wait_for_beats(4)
    second = play(url, 3.0)
    first.wait_for_beats(4)
    first.kill()
    count = beats(url)
    until(lambda: beats(url) > count + 8, "the other one plays on")
    second.kill()
    finish(url)
    check_whole(url)


def test_a_lease_ends_where_it_is_not_renewed_and_its_session_can_be_taken(postgres: Server) -> None:
    clock, url = Clock(), postgres.new_log()
    found_bees(url)
    leases = PostgresLeases(url, seconds=3.0, clock=clock.ms)
    first = leases.take("world", "a", exclusive=True)
    assert first is not None and leases.take("world", "b", exclusive=True) is None
    assert leases.take("world.1", "b", exclusive=True) is not None, "each session by itself"
    clock.seconds += 2.9
    assert leases.renew("world", "a", first, [4, 2]) == []
    clock.seconds += 2.9
    beside = leases.take("world", "run", exclusive=False)
    assert beside is not None and leases.renew("world", "run", beside) == [frozenset({2, 4})]
    assert {lease.holder for lease in leases.live()} == {"a", "run"}
    clock.seconds += 0.1
    assert leases.renew("world", "a", first) is None, "too late"
    second = leases.take("world", "b", exclusive=True)
    assert second is not None and second > first
    leases.release("world", "a", first)
    assert leases.renew("world", "b", second) == [frozenset()], "who is over ends nothing"
    leases.release("world", "b", second)
    assert leases.take("world", "a", exclusive=True) is not None
    leases.close()


def test_a_beat_counts_as_lost_where_nobody_who_lives_has_it_in_hand(postgres: Server) -> None:
    clock, url = Clock(), postgres.new_log()
    found_bees(url)
    leases = PostgresLeases(url, seconds=600.0)
    fences = {holder: leases.take("world", holder, exclusive=False) for holder in ("me", "they")}
    assert fences["me"] and fences["they"]
    mine = SessionLease(leases, "world", "me", fences["me"], clock)
    leases.renew("world", "they", fences["they"], [1])
    mine.renew()
    assert mine.lost({1: 5, 2: 9}) == frozenset(), "one is in their hands; the other may be, and they say so soon"
    clock.seconds += 301
    assert mine.lost({1: 5, 2: 9, 3: 1}) == {2}
    leases.release("world", "they", fences["they"])
    mine.renew()
    assert mine.lost({1: 5, 2: 9}) == {1, 2}, "nobody else plays"
    clock.seconds += 601
    assert not mine.holds, "it was not renewed"
    leases.close()


def test_a_second_run_spares_the_beats_of_one_that_lives(postgres: Server) -> None:
    """Its predecessor would have given them up as lost, and asked the same agents again."""
    url = postgres.new_log()
    found_bees(url)

    async def think_for_ever(_: object) -> None:
        await asyncio.Event().wait()

    async def both() -> tuple[int, int]:
        registry = PlayerRegistry(
            {"improviser": Improviser(), "slow": DelayedPlayer(ScriptedPlayer(talk), think_for_ever)}
        )
        with LeaseKeeper(url) as older, LeaseKeeper(url) as younger:
            runners = []
            for keeper in (older, younger):
                lease = keeper.take("world", exclusive=False)
                assert lease is not None
                world_log = WorldLog.open(url)
                runner = WorldRunner(world_log, registry, leases=lease)
                runners.append((runner, asyncio.create_task(runner.run()), world_log))
                while runner.metrics().thinking < 4 and keeper is older:
                    await asyncio.sleep(0.01)
                lease.renew()
            begun = runners[1][2].world.beats
            while runners[1][2].world.beats < begun + 40:
                await asyncio.sleep(0.01)
            answer = runners[0][0].metrics().fenced, runners[1][0].metrics().lost
            for runner, task, world_log in runners:
                runner.stop()
                await task
                world_log.close()
            return answer

    assert asyncio.run(both()) == (0, 0)


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def call(*argv: object) -> tuple[int, str, str]:
        code = main(["rooms", *map(str, argv)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_a_world_in_partitions_is_founded_played_shown_and_replayed_by_commands(rooms: Run, postgres: Server) -> None:
    url = postgres.new_log()
    code, out, _ = rooms("new", "harbour", "--db", url, "--partitions", 2)
    assert code == 0 and "2 partitions: `rooms worker` with the same --db plays it" in out
    assert rooms("new", "x", "--partitions", 2)[0] == 2, "in a file there are none"
    assert rooms("new", "--db", postgres.new_log(), "--partitions", 6)[0] == 2, "five agents"
    assert rooms("run", "--db", url)[0] == 2, "workers play it"
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "hudkit", "rooms", "worker", "--db", url, "--json"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    until(lambda: beats(url) > 4, "they play")
    assert rooms("say", "Maren", "Who remembers the storm?", "--db", url)[0] == 0
    until(lambda: beats(url) > 12, "they go on")
    for worker in workers:
        worker.send_signal(signal.SIGTERM)
    said = [json.loads(line) for worker in workers for line in worker.communicate()[0].splitlines()]
    assert {worker.returncode for worker in workers} == {130}
    assert {one["worker"] for one in said} >= {"plays world.1", "plays world.2", "gave world.1 back"}
    assert all(postgres.password not in json.dumps(one) for one in said)
    shown = rooms("show", "--db", url)[1]
    assert "Who remembers the storm?" in shown and "Maren" in shown
    facts = json.loads(rooms("show", "--db", url, "--json")[1])
    report = json.loads(rooms("replay", "--db", url, "--json")[1])
    assert report["sound"] and report["beats"] == facts["beats"] > 4
    for agent in facts["agents"].values():
        seen = json.loads(rooms("show", agent["name"], "--db", url, "--json")[1])
        assert seen["agent"] == agent["id"] and agent["home"] in (1, 2)
    assert "Who remembers the storm?" in rooms("export", "--db", url)[1]


def test_what_the_architect_does_to_a_world_in_partitions_reaches_it_at_once(postgres: Server) -> None:
    url = postgres.new_log()
    found(url, 2)
    worker = play(url, 3.0)
    worker.wait_for_beats(4)
    with WorldLog.open(url) as whole:
        architect = Architect(whole)
        architect.pause()
        until(lambda: all(part.world.paused for part in parts(url)), "both pause")
        whole.refresh()
        number = architect.make_agent("persona", "New", "You are new here.", "improviser", rooms=(1,))
        architect.resume()
        home = whole.world.agents[number].home
    until(lambda: _beats_of(url, home, number) > 0, "the new one plays")
    worker.kill()
    finish(url)
    check_whole(url)


def _beats_of(url: str, home: int, number: int) -> int:
    with WorldLog.open_session(url, f"world.{home}", read_only=True) as part:
        agent = part.world.agents.get(number)
        return agent.beats if agent is not None else 0
