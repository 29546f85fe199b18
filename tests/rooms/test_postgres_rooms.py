"""A world on a PostgreSQL server: founded and played by one command, the same scheduler, the same world as in a file,
and a crash of the server that it goes on after."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from heap_place import HeapPlace

from campaigns import Campaign
from hudkit.cli import main
from hudkit.errors import ConfigError, StoreError
from hudkit.log.stores import open_log
from hudkit.rooms.players import Improviser, PlayerRegistry
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_file import island_world, populate_world
from hudkit.rooms.world_log import WorldLog
from hudkit.rooms.world_replay import replay_log
from hudkit.testing.scheduler_conformance import SchedulerConformance, SchedulerHarness
from postgres_server import Server, running_server
from waiting import until

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]
NOON = 1_795_000_000_000
CRASHES = Campaign("postgres", quick=2, full=20)


class TestHeapOnPostgres(SchedulerConformance):
    @pytest.fixture(autouse=True)
    def _place(self, postgres: Server) -> None:
        self.url = postgres.new_log()

    def open_scheduler(self) -> SchedulerHarness:
        return HeapPlace(open_log(self.url), self.url)


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`rooms("show", ...)` gives the exit code, the output and the error output."""
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def call(*argv: object) -> tuple[int, str, str]:
        code = main(["rooms", *map(str, argv)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_a_world_is_founded_played_resumed_and_replayed_by_commands(
    rooms: Run, postgres: Server, tmp_path: Path
) -> None:
    url = postgres.new_log()
    code, out, _ = rooms("new", "harbour", "--db", url, "--json")
    founded = json.loads(out)
    assert (code, founded["name"], founded["agents"]) == (0, "harbour", 5) and founded["file"].endswith(url[-8:])
    for _ in range(2):
        code, out, err = rooms("run", "--db", url, "--beats", "12", "--fast", "--json")
        assert code == 0 and json.loads(out)["beats"] == 12, err
    assert "harbour" in rooms("show", "--db", url)[1]
    assert rooms("say", "1", "Who remembers the storm?", "--db", url)[0] == 0
    assert "Who remembers the storm?" in rooms("export", "--db", url)[1]
    code, out, _ = rooms("replay", "--db", url, "--json")
    report = json.loads(out)
    assert (code, report["sound"], report["state"], report["same"]) == (0, True, True, 24)
    fork = postgres.new_log()
    assert rooms("fork", fork, "--world", url)[0] == 0 and rooms("replay", "--world", fork)[0] == 0
    assert list(tmp_path.rglob("*.db")) == [], "nothing of it is in a file"


def test_one_command_founds_and_plays_and_none_shows_the_password(rooms: Run, postgres: Server) -> None:
    url = postgres.new_log()
    code, out, err = rooms("run", "--db", url, "--beats", "6", "--fast")
    assert code == 0 and "a new world" in err
    for words in (("new", "--db", url), ("show", "--db", postgres.new_log()), ("fork", url, "--db", url)):
        code, refused, complaint = rooms(*words)
        assert code == 2 and complaint.count("\n") == 1, complaint
        out, err = out + refused, err + complaint
    assert "there is a world in postgresql://hud@" in err
    for words in (("show",), ("serve", "--port", "70000"), ("replay",)):
        code, shown, complaint = rooms(*words, "--db", url)
        out, err = out + shown, err + complaint
    assert postgres.password not in out + err
    with pytest.raises(ConfigError) as caught:
        WorldLog.open(url + "_none")
    assert postgres.password not in str(caught.value)


def test_a_founding_that_fails_leaves_nothing_on_the_server(rooms: Run, postgres: Server, tmp_path: Path) -> None:
    url = postgres.new_log()
    (tmp_path / "wrong.toml").write_text('name = "x"\n[[agents]]\nname = "A"\nbackground = "b"\nrooms = ["Nobody"]\n')
    assert rooms("new", "--file", "wrong.toml", "--db", url)[0] == 2
    with pytest.raises(StoreError):
        open_log(url, read_only=True)


def played(place: Path | str, beats: int) -> list[str]:
    """What happens in a world of one seed, played on simulated time."""
    ticks = iter(range(1, 1_000_000))
    environment = {"clock": lambda: NOON, "ids": lambda: f"id-{next(ticks)}", "secret": lambda: "s" * 48, "every": 40}
    with WorldLog.create(place, name="alike", seed=7, **environment) as world_log:
        populate_world(world_log, island_world(), "island")
        players = PlayerRegistry({"improviser": Improviser()})
        asyncio.run(WorldRunner(world_log, players, clock=SimulatedClock(NOON)).run(beats=beats))
        assert replay_log(world_log).sound and list(world_log.log.verify()) == []
    with WorldLog.open(place) as world_log:
        assert replay_log(world_log).sound
        return [f"{entry.seq} {entry.timestamp} {event}" for entry, event in world_log.events()]


def test_a_world_plays_alike_in_a_file_and_on_a_server(postgres: Server, tmp_path: Path) -> None:
    on_server, in_file = played(postgres.new_log(), 60), played(tmp_path / "world.db", 60)
    assert len(on_server) > 200 and on_server == in_file


@pytest.fixture
def own_server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@CRASHES
def test_a_world_goes_on_after_the_server_has_crashed(own_server: Server) -> None:
    url = own_server.new_log()
    with WorldLog.create(url, name="crash", seed=3) as world_log:
        populate_world(world_log, island_world(), "island")
        runner = WorldRunner(
            world_log, PlayerRegistry({"improviser": Improviser()}), clock=SimulatedClock(world_log.world.now)
        )

        def crash() -> None:
            for _ in range(CRASHES.rounds):
                own_server.stop("immediate")
                own_server.start()
                until(lambda seq=world_log.world.seq: world_log.world.seq > seq, "nobody plays")  # type: ignore[misc]

        crashes = Thread(target=crash)
        crashes.start()
        while crashes.is_alive():
            asyncio.run(runner.run(beats=10))
        crashes.join()
        asyncio.run(runner.run(beats=10))
        assert replay_log(world_log).sound and list(world_log.log.verify()) == []
        again = WorldLog.open(url)
        assert again.world == world_log.world
        again.close()


def test_a_world_on_a_server_is_played_by_a_process_of_its_own(postgres: Server, tmp_path: Path) -> None:
    url = postgres.new_log()
    command = [sys.executable, "-m", "hudkit", "rooms", "run", "--db", url, "--beats", "5", "--fast", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0 and "5 beats" in done.stdout, done.stderr
