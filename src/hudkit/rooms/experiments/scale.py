"""What a world of many agents takes: beats, rows and bytes of its log, tokens, dollars, cores, memory.

The model is linear in agents and time, and its factors are measured: a sample of a hundred or a thousand agents is
played on a simulated clock by the improviser, in a log on disk, and counted. Larger worlds are taken to be many such
neighbourhoods, side by side: agents know their neighbours, not everybody. That is the assumption that makes a million
agents a million times one; a room that all are in would not scale so, and no HUD could hold it.

For example, a sample of 200 agents with 1,000 beats in two minutes, 8,000 rows and 4 MB of log is 2.5 beats a minute
and agent, 8 rows and 4 KB a beat. A million agents for an hour are then 150 million beats, 1.2 billion rows, 600 GB.

What each agent's HUD costs grows with what there is to see, until it is full; a forecast for longer than the sample
takes the HUDs of its last third.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from hudkit.errors import ConfigError
from hudkit.log.stores.sqlite_files import DATABASE_SUFFIXES, companion_path
from hudkit.rooms import world_events as e
from hudkit.rooms.cost_forecast import OUTPUT_TOKENS, HudSizes, forecast_model
from hudkit.rooms.hud import CachedRenderer
from hudkit.rooms.players import Improviser, PlayerRegistry
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner, freeze_survivors
from hudkit.rooms.world_file import WorldFile, populate_world
from hudkit.rooms.world_log import FIRST_SNAPSHOT, SNAPSHOT_GROWTH, WorldLog

_MINUTE = 60_000
_NO_SNAPSHOTS = 10**12
"""Events before the first one."""


class ScaleSample(msgspec.Struct, frozen=True):
    """What a world of `agents` took in `minutes` of its time. Rows and bytes are without those of its founding, which
    are `founding_rows` and `founding_bytes`; `seconds` are of the processor, `memory` bytes of the process's growth.
    """

    agents: int
    minutes: float
    beats: int
    skipped: int
    rows: int
    bytes: int
    founding_rows: int
    founding_bytes: int
    hud_tokens: int
    full_hud: float
    """Tokens of a HUD in the last third of its beats."""
    messages: int
    seconds: float
    memory: int
    founding_state: int = 0
    """Bytes of a snapshot of the world behind its founding, and at its end (`state`); none is among `bytes`."""
    state: int = 0


class ScaleForecast(msgspec.Struct, frozen=True):
    """What a world will take. `cost` in dollars at list prices without a cache; `None`: no model, or no price.

    `cores`: how many keep up with a real clock; `memory` in bytes.
    """

    agents: int
    minutes: float
    beats: int
    rows: int
    bytes: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    cores: float
    memory: int


def neighbourhoods(founding: WorldFile, agents: int) -> WorldFile:
    """Return a founding of `agents` agents: copies of the given one, side by side, each with rooms of its own."""
    entries = []
    for number in range(agents):
        copy, place = divmod(number, len(founding.agents))
        entry = founding.agents[place]
        # The last copy may be a part of the founding only: rooms of those who are left out fall away.
        there = {other.name for other in founding.agents[: agents - copy * len(founding.agents)]}
        rooms = tuple(f"{room} {copy + 1}" for room in entry.rooms if room in there)
        name = f"{entry.name or f'Bot-{place + 1}'} {copy + 1}"
        entries.append(msgspec.structs.replace(entry, name=name, rooms=rooms))
    return msgspec.structs.replace(founding, agents=tuple(entries), messages=())


def measure_scale(founding: WorldFile, agents: int, minutes: float, *, snapshots: bool = False) -> ScaleSample:
    """Play a world of so many agents for so many minutes of its time, and return what it took.

    Its log has no snapshots where they are not asked for: a larger world has others, which are reckoned by
    themselves. Raises `ConfigError` for a founding that cannot be.
    """
    clock = SimulatedClock()
    player = Improviser()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.db"
        # The vocabulary of the tokenizer takes as much for one agent as for a million.
        CachedRenderer().count("Loads it.")
        before = _memory()
        rules = msgspec.structs.replace(founding.rules, caps=msgspec.structs.replace(founding.rules.caps, cost=0.0))
        settings: dict[str, Any] = {"clock": clock.wall, "every": FIRST_SNAPSHOT if snapshots else _NO_SNAPSHOTS}
        options = {"name": "sample", "seed": founding.seed, "rules": rules, **settings}
        with WorldLog.in_memory(**options) as trial:  # as `rooms new` does it
            populate_world(trial, neighbourhoods(founding, agents))
            with trial.found_elsewhere(path, **settings) as world_log:
                founding_rows, founding_state = world_log.world.seq, _state_size(world_log)
        # The garbage collector need not walk it, and the memory is free for what is played.
        del trial, world_log
        # Closed, so that all of it is in the file, and once.
        founding_bytes = _size(path)
        with WorldLog.open(path, **settings) as world_log:
            runner = WorldRunner(world_log, PlayerRegistry({}, lambda _: player), clock=clock)
            start = time.process_time()
            with freeze_survivors():  # as the commands that play a world do
                asyncio.run(_play(runner, clock, minutes))
            seconds = time.process_time() - start
            sizes = [event.tokens for _, event in world_log.events() if isinstance(event, e.BeatBegun)]
            messages = sum(message.sender > 0 for message in world_log.world.messages.values())
            rows, skipped = world_log.world.seq - founding_rows, runner.metrics().skipped
            grown, state = _memory() - before, _state_size(world_log)
        size = _size(path)
    if not sizes:
        raise ConfigError("nobody had a beat in the sample", hint="Play it for longer, with --sample-minutes")
    return ScaleSample(
        agents,
        minutes,
        len(sizes),
        skipped,
        rows,
        max(0, size - founding_bytes),
        founding_rows,
        founding_bytes,
        sum(sizes),
        HudSizes.measured(sizes).later,
        messages,
        seconds,
        max(0, grown),
        founding_state,
        state,
    )


def forecast_scale(sample: ScaleSample, agents: int, minutes: float, model: str = "") -> ScaleForecast:
    """Return what a world of so many agents takes in so many minutes, by a sample.

    `model` is who answers; without one nothing is paid.
    """
    beats = sample.beats / sample.agents / sample.minutes * agents * minutes
    sizes = HudSizes(sample.beats, sample.hud_tokens, sample.full_hud).scaled(agents / sample.agents)
    tokens = sizes.total(beats)
    # Tokens are counted, whoever answers; dollars are those of a model.
    priced = forecast_model(model, round(beats), tokens) if model else None
    scale = agents / sample.agents
    rows = sample.founding_rows * scale + beats * sample.rows / sample.beats
    size = sample.founding_bytes * scale + beats * sample.bytes / sample.beats
    return ScaleForecast(
        agents,
        minutes,
        round(beats),
        round(rows),
        round(size + _snapshots_size(sample, scale, rows)),
        round(tokens),
        round(beats * OUTPUT_TOKENS),
        None if priced is None else priced.cost,
        sample.seconds / (sample.minutes * 60) * scale,
        round(sample.memory * scale),
    )


def _snapshots_size(sample: ScaleSample, scale: float, rows: float) -> float:
    """Return the bytes of all snapshots of a world with so many rows.

    One is behind its founding, one where it is closed, and between them they stand at distances that grow by a
    quarter. The state is that of the founding, and then grows with what is said.
    """
    founded, each_row = sample.founding_rows * scale, (sample.state - sample.founding_state) / max(1, sample.rows)
    marks, row = [founded, rows], float(FIRST_SNAPSHOT)
    while row < rows:
        if row > founded:
            marks.append(row)
        row *= SNAPSHOT_GROWTH
    sizes = (sample.founding_state * scale + each_row * (mark - founded) for mark in marks if mark >= FIRST_SNAPSHOT)
    return sum(sizes)


def _state_size(world_log: WorldLog) -> int:
    return len(msgspec.msgpack.encode(world_log.world))


async def _play(runner: WorldRunner, clock: SimulatedClock, minutes: float) -> None:
    end = runner.now() + round(minutes * _MINUTE)

    async def stop() -> None:
        await clock.sleep((end - runner.now()) / 1000)
        runner.stop()

    stopping = asyncio.create_task(stop())
    await asyncio.sleep(0)
    await runner.run()
    await stopping


def _size(path: Path) -> int:
    files = (companion_path(path, suffix) for suffix in DATABASE_SUFFIXES)
    return sum(file.stat().st_size for file in files if file.exists())


def _memory() -> int:
    """Return the memory that this process has, in bytes; where the system does not say, the most that it ever had."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
