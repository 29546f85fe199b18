"""A world of 100,000 agents on one machine: founding it, each agent's first beat, memory, and how late beats are."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from bench.figures import Figure
from bench.rooms import resident_bytes
from bench.rooms_world import BenchWorld, Busy, shared
from hudkit.cli.rooms.new import create_world
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import CachedRenderer
from hudkit.rooms.scheduler import RealClock, freeze_survivors
from hudkit.rooms.world_file import read_world_file

TITLE = "rooms: 100,000 agents in one process"

AGENTS = 100_000
INTERVAL = 10.0
"""Seconds between beats."""
LATE_FOR = 60.0
"""Seconds, in real time, for which lateness is watched."""
BACKGROUND = "You mend nets by the harbour, and know who comes and goes. At night you write down what you heard."


def run() -> list[Figure]:
    """Figures without targets; the limit is what one core plays, beside what so many agents ask for.

    `HUDKIT_BENCH_AGENTS` says how many agents, where the machine is too small.
    """
    scratch = Path(".cache").absolute()
    scratch.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as place, freeze_survivors():
        return large(Path(place), int(os.environ.get("HUDKIT_BENCH_AGENTS", AGENTS)))


def large(folder: Path, agents: int) -> list[Figure]:
    """Found a world of so many agents, give each its first beat, and watch it on the real clock."""
    CachedRenderer().count("The vocabulary of the tokenizer takes as much for one agent as for a million.")
    before, cpu, wall = resident_bytes(), process_time(), perf_counter()
    bench_world = BenchWorld(folder / "large.db", agents, Busy(agents))
    founding = process_time() - cpu, perf_counter() - wall
    founded = (resident_bytes() - before) / agents
    cpu, wall, seq = process_time(), perf_counter(), bench_world.world_log.world.seq
    _play_first_beats(bench_world, agents)
    world = bench_world.world_log.world
    beats = world.beats
    first = (process_time() - cpu) / beats, (perf_counter() - wall) / beats
    memory = (resident_bytes() - before) / agents
    size = sum(file.stat().st_size for file in folder.iterdir())
    late = asyncio.run(_watch(bench_world))
    due, share = agents / INTERVAL, late[3]
    limit = (
        f"{late[0]:,.0f} beats/s, 99 of 100 within {late[2]:.1f} s; {due:,.0f} beats/s are due, a core plays "
        f"{share:,.0f}: {due / share:.1f} cores, or {share * INTERVAL:,.0f} agents on one"
    )
    bench_world.world_log.close()
    return [
        Figure(
            "founding an agent, µs of the processor", 1e6 * founding[0] / agents, None, f"{founding[1]:.0f} s in all"
        ),
        Figure(
            "a first beat, ms of the processor",
            1e3 * first[0],
            None,
            f"{beats:,} beats until each agent had one, {beats * first[1]:.0f} s in all; "
            f"{(world.seq - seq) / beats:.1f} events a beat; log {size / 1e9:.1f} GB with snapshots",
        ),
        Figure("memory of an agent in KiB", memory / 1024, None, f"{founded / 1024:.1f} before its first beat"),
        Figure(f"seconds late (median) at a beat every {INTERVAL:g} s, after {LATE_FOR:g} s", late[1], None, limit),
        found_from_file(folder, agents),
    ]


def found_from_file(folder: Path, agents: int) -> Figure:
    """What `hudkit rooms new --file` takes for a file of so many agents in neighbourhoods of five."""
    file = folder / "large.toml"
    with file.open("w", encoding="utf-8") as lines:
        for id in range(1, agents + 1):
            neighbour = "" if id == shared(id) else f'rooms = ["Neighbour {shared(id)}"]\n'
            lines.write(f'[[agents]]\nname = "Neighbour {id}"\n{neighbour}background = "{BACKGROUND}"\n\n')
    cpu, wall = process_time(), perf_counter()
    founding = read_world_file(file)
    read = process_time() - cpu
    with create_world(folder / "founded.db", founding) as world_log:
        assert len(world_log.world.agents) == agents
    cpu, wall = process_time() - cpu, perf_counter() - wall
    size = file.stat().st_size / 1e6
    note = f"{wall:.0f} s in all, a file of {size:.0f} MB; {1e6 * read / agents:.0f} µs of it to read that"
    return Figure("founding an agent from a world file, µs of the processor", 1e6 * cpu / agents, None, note)


def _play_first_beats(bench_world: BenchWorld, agents: int) -> None:
    """Play until each agent had a beat, in one run: at the beginning of each, beats that were missed are spread, and
    that is an event for each of them."""
    world_log, runner, left = bench_world.world_log, bench_world.runner, agents

    def watch(event: e.WorldEvent | None) -> None:
        nonlocal left
        if isinstance(event, e.BeatBegun) and event.number == 1:
            left -= 1
            if not left:
                runner.stop()

    world_log.watchers.append(watch)
    asyncio.run(runner.run())
    world_log.watchers.remove(watch)


async def _watch(bench_world: BenchWorld) -> tuple[float, float, float, float]:
    """Beats a second; median and 99 of 100 of the lateness of those in the last third, in seconds; and beats a second
    of a core."""
    world_log = bench_world.world_log
    for agent in world_log.world.agents.values():
        agent.interval = INTERVAL
    seq, cpu = world_log.world.seq, process_time()
    runner = bench_world.run_by(RealClock())
    playing = asyncio.ensure_future(runner.run())
    await asyncio.sleep(LATE_FOR)
    runner.stop()
    await playing
    cpu = process_time() - cpu
    beats = [what for _, what in world_log.events(seq) if isinstance(what, e.BeatBegun)]
    late = sorted(max(0, what.composed_at - what.due) / 1000 for what in beats[-len(beats) // 3 :])
    return len(beats) / LATE_FOR, median(late), late[len(late) * 99 // 100], len(beats) / cpu
