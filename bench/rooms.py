"""What playing a world costs without model time: beats a second against a bare loop, lateness, memory, and age."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from operator import truediv
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import msgspec

from bench.figures import Figure
from bench.rooms_world import BODY, SAID, BareLoop, BenchWorld, Busy, EndingClock
from hudkit.rooms import world_events as e
from hudkit.rooms.experiments.scale import neighbourhoods
from hudkit.rooms.hud import CachedRenderer
from hudkit.rooms.players import PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import RealClock, WorldRunner, freeze_survivors
from hudkit.rooms.world_file import island_world, populate_world
from hudkit.rooms.world_log import WorldLog

TITLE = "rooms: beats a second and core, without model time"

SIZES = (5_000, 1_000, 100)
FULL = 150
"""Messages there that fill a HUD."""
ROUNDS, BEATS = 9, 320
BEFORE = 4
"""Beats an agent, on average, before it is measured: the first ones cost more, and HUDs grow with what is said. With
fewer, most beats of a large world were first and second ones, and few of a small world."""
LEAST = 0.6
"""The share of the bare loop's beats a second that a runner should reach."""
FOUNDED, FOUNDING_ROUNDS = 2_500, 3
"""Agents of the smaller world whose founding is measured."""
SKIPPED = 20_000
"""Beats that are skipped while that is measured, roughly."""
SETTLING, LATE_FOR = 25.0, 20.0
"""Seconds after which lateness is watched, and for which, in real time."""


class Speed(msgspec.Struct):
    agents: int
    beats: int
    ours: float
    """Seconds of processor time a beat; `bare` the same, `wall` with waiting for the disk."""
    bare: float
    wall: float
    bare_wall: float
    to_bare: float
    """How many times as much as the bare loop in the same round: the machine's speed changes from one to the next."""
    to_quick: float
    tokens: int
    events: float
    memory: float
    """Bytes an agent; only the first world of a process tells, for later ones use what earlier ones left."""


def speed(folder: Path, agents: int) -> Speed:
    """Medians over rounds that take turns."""
    CachedRenderer().count("The vocabulary of the tokenizer takes as much for one agent as for a million.")
    before = resident_bytes()
    bench_world = BenchWorld(folder / f"{agents}.db", agents, Busy(agents))
    bench_world.play(BEFORE * agents)
    memory = (resident_bytes() - before) / agents
    loops = {
        name: BareLoop(folder / f"{agents}-{name}.db", bench_world, quick=name == "quick")
        for name in ("bare", "quick")
    }
    taken: dict[str, list[float]] = {
        name: [] for name in ("ours", "wall", "bare", "bare_wall", "quick", "quick_wall")
    }
    tokens = beats = events = 0
    for _ in range(ROUNDS):
        seen = bench_world.lively.seen = []
        seq, count, commits = bench_world.world_log.world.seq, bench_world.runner.metrics().beats, bench_world.commits
        cpu, wall = process_time(), perf_counter()
        bench_world.play(BEATS)
        taken["ours"].append((process_time() - cpu) / BEATS)
        taken["wall"].append((perf_counter() - wall) / BEATS)
        assert bench_world.runner.metrics().beats - count == len(seen) == BEATS
        bench_world.lively.seen = None
        documents = [msgspec.json.decode(one.text) for one in seen]
        stored = [(row, msgspec.json.decode(row[BODY])) for row in bench_world.last_rows(seq)]
        commits = bench_world.commits - commits
        tokens += sum(what.tokens for _, what in bench_world.world_log.events(seq) if isinstance(what, e.BeatBegun))
        beats, events = beats + BEATS, events + len(stored)
        for name, loop in loops.items():
            loop.learn(bench_world.world_log.world)
            assert loop.encoded(documents[-1]).decode() == seen[-1].text
            assert all(loop.event(payload) == row[BODY] for row, payload in stored)
            cpu, wall = process_time(), perf_counter()
            loop.play(documents, stored, commits)
            taken[name].append((process_time() - cpu) / BEATS)
            taken[f"{name}_wall"].append((perf_counter() - wall) / BEATS)
    at = {name: median(one) for name, one in taken.items()}
    bench_world.world_log.close()
    for loop in loops.values():
        loop.db.close()
    return Speed(
        agents,
        beats,
        at["ours"],
        at["bare"],
        at["wall"],
        at["bare_wall"],
        median(map(truediv, taken["ours"], taken["bare"])),
        median(map(truediv, taken["ours"], taken["quick"])),
        tokens // beats,
        events / beats,
        memory,
    )


def skipping(folder: Path, agents: int = 1_000) -> float:
    """Seconds of processor time that a beat costs which is skipped, because nothing is new."""
    clock = EndingClock()
    bench_world = BenchWorld(folder / "skipping.db", agents, clock, said=2)
    silent = WorldRunner(bench_world.world_log, PlayerRegistry({"lively": ScriptedPlayer({})}), clock=clock)
    asyncio.run(silent.run(beats=agents))

    clock.stop_at(clock.monotonic() + 7.5 * SKIPPED / agents, silent)
    before, cpu = silent.metrics().skipped, process_time()
    asyncio.run(silent.run())
    each = (process_time() - cpu) / (silent.metrics().skipped - before)
    bench_world.world_log.close()
    return each


def aging(folder: Path, agents: int = 100) -> tuple[float, float, int, int]:
    """Seconds of processor time a beat in a young world and in one with twenty times its past; their events."""
    bench_worlds = [
        BenchWorld(folder / "young.db", agents, Busy(agents), said=FULL),
        BenchWorld(folder / "old.db", agents, Busy(agents), said=20 * FULL),
    ]
    seqs = [bench_world.world_log.world.seq for bench_world in bench_worlds]
    taken: list[list[float]] = [[], []]
    for bench_world in bench_worlds:
        bench_world.play(2 * agents)
    for _ in range(ROUNDS):
        for bench_world, times in zip(bench_worlds, taken, strict=True):
            cpu = process_time()
            bench_world.play(BEATS)
            times.append((process_time() - cpu) / BEATS)
    for bench_world in bench_worlds:
        bench_world.world_log.close()
    return median(taken[0]), median(taken[1]), seqs[0], seqs[1]


def lateness(folder: Path, agents: int = 5_000, seconds: float = LATE_FOR) -> tuple[float, float, float, float]:
    """Beats a second on real time, and median, 99 of 100 and largest lateness in seconds; intervals are 5 to 10 s."""
    clock = RealClock()
    bench_world = BenchWorld(folder / "late.db", agents, clock)

    async def watch() -> int:
        playing = asyncio.ensure_future(bench_world.runner.run())
        await asyncio.sleep(SETTLING)  # first beats cost more, and are all due within one interval
        seq = bench_world.world_log.world.seq
        await asyncio.sleep(seconds)
        bench_world.runner.stop()
        await playing
        return seq

    with freeze_survivors():
        seq = asyncio.run(watch())
    beats = [what for _, what in bench_world.world_log.events(seq) if isinstance(what, e.BeatBegun)]
    late = sorted(max(0, what.composed_at - what.due) / 1000 for what in beats)
    bench_world.world_log.close()
    return len(beats) / seconds, median(late), late[len(late) * 99 // 100], late[-1]


def founding_seconds(agents: int) -> float:
    """Seconds of processor time an agent that is founded as a world file says, in memory."""
    founding = neighbourhoods(island_world(), agents)
    with WorldLog.in_memory(seed=1) as world_log:
        cpu = process_time()
        populate_world(world_log, founding)
        return (process_time() - cpu) / agents


def founding() -> tuple[float, float]:
    """Seconds of processor time an agent in a small world and in one of four times as many agents, in turns."""
    rounds = [(founding_seconds(FOUNDED), founding_seconds(4 * FOUNDED)) for _ in range(FOUNDING_ROUNDS)]
    return median(small for small, _ in rounds), median(large for _, large in rounds)


def run() -> list[Figure]:
    """A runner's processor time a beat to that of the bare loop: 1 / 0.6 at most."""
    return list(_figures())


def _figures() -> Iterator[Figure]:
    # On the disk that the repository is on: a memory file system would sync for nothing.
    scratch = Path(".cache").absolute()
    scratch.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as place:
        folder = Path(place)
        with freeze_survivors():  # as the commands that play a world do
            measured = [speed(folder, agents) for agents in SIZES]
        for one in reversed(measured):
            note = (
                f"{1 / one.ours:,.0f} beats/s a core, bare {1 / one.bare:,.0f}; with the disk "
                f"{1 / one.wall:,.0f} and {1 / one.bare_wall:,.0f}; "
                f"HUDs of {one.tokens:,} tokens, {one.events:.1f} events a beat"
            )
            yield Figure(f"a beat of {one.agents:,} agents / the bare loop", one.to_bare, 1 / LEAST, note)
            yield Figure("the same / the bare loop with msgspec", one.to_quick)
        largest = measured[0]
        note = f"{largest.agents:,} agents with {SAID} messages a room, and all that is kept to write HUDs quickly"
        yield Figure("memory of an agent in KiB", largest.memory / 1024, None, note)
        small, large = founding()
        note = f"{1e6 * large:.0f} and {1e6 * small:.0f} µs, as a world file says"
        yield Figure(f"founding an agent of {4 * FOUNDED:,} / of {FOUNDED:,}", large / small, 1.25, note)
        skip = skipping(folder)
        yield Figure("a skipped beat / a beat", skip / largest.ours, None, f"{1e6 * skip:.0f} µs; counted apart")
        young, old, few, many = aging(folder)
        yield Figure("a beat in an old world / in a young one", old / young, 1.25, f"{many:,} and {few:,} events")
        rate, middle, late, most = lateness(folder)
        note = f"{rate:,.0f} beats/s; seconds late: median {middle:.3f}, 99 of 100 {late:.3f}, at most {most:.3f}"
        yield Figure("lateness (99 of 100) of 5,000 agents / a second", late, None, note)


def resident_bytes() -> int:
    """Bytes of memory that this process has."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096
    except OSError:  # no Linux: the most that it ever had
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
