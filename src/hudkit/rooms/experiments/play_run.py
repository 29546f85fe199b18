"""One run of an experiment: a world is founded, played to its end with its interventions, and resumed after a kill.

On a simulated clock a world is a function of its founding, its seed and the answers in it, but for one thing: a beat
that is skipped because nothing is new leaves no event, so a log does not say when the next one would have been due.
So an interrupted run is not continued in its log. It is played again from its beginning, and the answers that the log
has are given instead of asking for them: it comes to the same place, to the millisecond, and goes on from there.
Composing those HUDs again takes a millisecond each.

On a real clock nothing comes to the same place twice. There a run goes on in its own log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from hudkit.errors import HudkitError
from hudkit.log.stores.sqlite_files import DATABASE_SUFFIXES, companion_path
from hudkit.rooms.experiments.experiment_file import Experiment, Variant, run_name
from hudkit.rooms.experiments.interventions import (
    Intervention,
    ModelFailure,
    intervene,
    interventions_made,
)
from hudkit.rooms.experiments.run_tables import RunTables, tabulate_run
from hudkit.rooms.experiments.script_file import script_players
from hudkit.rooms.players import IMPROVISER_MODEL, PlayerRegistry, open_players
from hudkit.rooms.players.recorded_answers import ReplayingPlayers, failures_in, recorded_answers
from hudkit.rooms.scheduler import RealClock, SimulatedClock, WorldRunner
from hudkit.rooms.scheduler.heartbeat import ENDED, LOST
from hudkit.rooms.world import World
from hudkit.rooms.world_file import numbers_by_name, populate_world
from hudkit.rooms.world_log import WorldLog

_BEGINNING = 1_800_000_000_000
"""The time (Unix ms) at which worlds on a simulated clock begin: the same for all, or their HUDs would differ."""
_LONGEST = 24 * 60.0
"""Minutes of the world's time after which a run ends where its file says nothing else: a world in which nobody has
anything to say would have no end."""
_MINUTE = 60_000
_REPORT_SECONDS = 0.2

STOPPED = "stopped"
"""Why a run ended that is to be resumed."""

Report = Callable[[int, float], None]
"""Called with the beats and the dollars of a run so far."""


class RunRecord(msgspec.Struct, frozen=True):
    """What a run left in the results' folder. `definition` is a digest of all that decides it; `ended` empty: not
    yet."""

    definition: str
    ended: str = ""
    cost: float = 0.0
    tables: RunTables | None = None


class RunFiles:
    """The files of one run in a results' folder."""

    def __init__(self, folder: Path, variant: str, seed: int) -> None:
        """Nothing is made by this."""
        self.name = run_name(variant, seed)
        self.world = folder / "worlds" / f"{self.name}.db"
        self.earlier = folder / "worlds" / f"{self.name}.interrupted.db"
        self._record = folder / "runs" / f"{self.name}.json"

    def record(self) -> RunRecord | None:
        """Return what is recorded of the run; `None` where it never began."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._record.read_bytes(), type=RunRecord)
        return None

    def write(self, record: RunRecord) -> None:
        """Record what is true of the run: all of it, or nothing where the process is killed meanwhile."""
        for folder in (self._record.parent, self.world.parent):
            folder.mkdir(parents=True, exist_ok=True)
        draft = self._record.with_suffix(".draft")
        draft.write_bytes(msgspec.json.encode(record))
        draft.replace(self._record)

    def remove(self) -> None:
        """Remove all of them."""
        _remove_world(self.world)
        _remove_world(self.earlier)
        self._record.unlink(missing_ok=True)


def definition_of(experiment: Experiment, variant: Variant, seed: int) -> str:
    """Return a digest of all that decides how a run goes: two of the same definition are the same run."""
    script = Path(variant.script).read_text(encoding="utf-8") if variant.script else ""
    decides = (variant, seed, experiment.beats, experiment.minutes, _clock_name(experiment, variant), script)
    opinions = experiment.opinions
    return blake2b(msgspec.json.encode((decides, opinions)), digest_size=16).hexdigest()


async def play_run(
    experiment: Experiment, variant: Variant, seed: int, folder: Path, report: Report, stop: asyncio.Event
) -> str:
    """Play a run to its end, or from where it was interrupted, and return why it ended.

    What came out is in its record. `STOPPED`, and no record of an end, where `stop` was set before that. Raises a
    `HudkitError` for a founding that cannot be.
    """
    files = RunFiles(folder, variant.name, seed)
    definition = definition_of(experiment, variant, seed)
    simulated = _clock_name(experiment, variant) == "simulated"
    began = files.record() is not None
    files.write(RunRecord(definition))
    run = _RunInProgress(experiment, variant, seed, files, report, stop)
    if simulated or not began or not run.is_founded():
        ended = await run.play_anew(simulated=simulated)
    else:
        ended = await run.go_on()
    if run.tables is not None:
        files.write(RunRecord(definition, ended, run.tables.cost, run.tables))
        _remove_world(files.earlier)
    return ended


class _RunInProgress:
    """What one run needs on its way."""

    def __init__(
        self,
        experiment: Experiment,
        variant: Variant,
        seed: int,
        files: RunFiles,
        report: Report,
        stop: asyncio.Event,
    ) -> None:
        self.experiment, self.variant, self.seed = experiment, variant, seed
        self.files, self.report, self.stop = files, report, stop
        self.numbers = numbers_by_name(variant.founding)
        self.ended = ""
        self.tables: RunTables | None = None
        """The rows of the run, once it is over."""

    def is_founded(self) -> bool:
        """Return whether the run's world has all that its founding says: some beat was given in it."""
        with suppress(HudkitError), WorldLog.open(self.files.world, read_only=True) as world_log:
            return world_log.world.beats > 0
        return False

    async def play_anew(self, *, simulated: bool) -> str:
        """Play from the beginning, with the answers of the interrupted run where there was one."""
        self._keep_interrupted()
        answers = {}
        with suppress(HudkitError), WorldLog.open(self.files.earlier, read_only=True) as earlier:
            answers = recorded_answers(earlier.events(), (LOST, ENDED))
        clock = _StandingClock(_BEGINNING) if simulated else None
        time = {"clock": clock.wall} if clock is not None else {}
        founding = self.variant.founding
        with WorldLog.create(
            self.files.world,
            name=self.files.name,
            seed=self.seed,
            rules=founding.rules,
            prompts=self.variant.prompts,
            **time,
        ) as world_log:
            populate_world(world_log, founding, f"{self.experiment.where}, variant {self.variant.name!r}")
            return await self._play(world_log, ReplayingPlayers(self._players(), answers), clock)

    async def go_on(self) -> str:
        """Play on in the run's own log."""
        with WorldLog.open(self.files.world) as world_log:
            players = ReplayingPlayers(self._players(), {})
            recorded = interventions_made(world_log)
            for number, intervention in enumerate(self.variant.interventions, 1):
                if number in recorded and intervention.fail is not None:
                    self._fail(players, intervention.fail)
            # Failures of before the kill are over.
            over = failures_in(world_log.events())
            for model, count in players.failing.items():
                players.failing[model] = max(0, count - over)
            return await self._play(world_log, players, None)

    def _keep_interrupted(self) -> None:
        """Keep what an interrupted run has, beside the new world: the longer one, where there are two."""
        lengths = []
        for path in (self.files.earlier, self.files.world):
            length = 0
            with suppress(HudkitError), WorldLog.open(path) as world_log:
                length = world_log.world.seq
            lengths.append(length)
        if lengths[1] > lengths[0]:
            _remove_world(self.files.earlier)
            for suffix in DATABASE_SUFFIXES:
                with suppress(FileNotFoundError):
                    companion_path(self.files.world, suffix).replace(companion_path(self.files.earlier, suffix))
        _remove_world(self.files.world)

    def _players(self) -> PlayerRegistry:
        if self.variant.script:
            return script_players(Path(self.variant.script), self.numbers)
        return open_players()

    def _fail(self, players: ReplayingPlayers, failure: ModelFailure) -> None:
        players.failing[failure.model] = players.failing.get(failure.model, 0) + failure.beats

    async def _play(self, world_log: WorldLog, players: ReplayingPlayers, clock: SimulatedClock | None) -> str:
        """Play to the end and return why it ended."""
        runner = WorldRunner(world_log, players, clock=clock or RealClock())
        recorded = interventions_made(world_log)
        by_beat: list[tuple[int, int, Intervention]] = []
        tasks: list[asyncio.Task[None]] = []

        def make(number: int, intervention: Intervention) -> None:
            intervene(
                world_log,
                number,
                intervention,
                self.numbers,
                runner.now,
                lambda failure: self._fail(players, failure),
            )

        def watch(_: object) -> None:
            world = world_log.world
            if world.paused is not None:
                self._end(runner, f"paused: {world.paused}")
            elif world.agents and all(agent.retired for agent in world.agents.values()):
                self._end(runner, "nobody is left")

        async def at_minute(minute: float, do: Callable[[], None]) -> None:
            due = world_log.world.created_at + round(minute * _MINUTE)
            while (left := runner.time.until(due)) > 0:
                await (clock.sleep(left) if clock is not None else asyncio.sleep(min(left, 1.0)))
            do()

        for number, intervention in enumerate(self.variant.interventions, 1):
            if number in recorded:
                continue
            if intervention.beat is not None:
                by_beat.append((intervention.beat, number, intervention))
            elif intervention.minute is not None:
                do = lambda number=number, intervention=intervention: make(number, intervention)  # noqa: E731
                tasks.append(asyncio.create_task(at_minute(intervention.minute, do)))
        last = self.experiment.minutes or _LONGEST
        tasks.append(asyncio.create_task(at_minute(last, lambda: self._end(runner, f"{last:g} minutes"))))
        tasks.append(asyncio.create_task(self._report_on(world_log, runner)))
        world_log.watchers.append(watch)
        try:
            await asyncio.sleep(0)
            for beat, number, intervention in sorted(by_beat, key=lambda row: row[:2]):
                if not await self._play_until(runner, beat):
                    break
                make(number, intervention)
            if await self._play_until(runner, self.experiment.beats or None):
                self.ended = self.ended or f"{self.experiment.beats} beats"
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            world_log.watchers.remove(watch)
        self.report(world_log.world.beats, world_log.world.cost)
        if self.stop.is_set():
            return STOPPED
        self.tables = tabulate_run(world_log, self.variant.name, self.seed, self.experiment.opinions)
        return self.ended

    async def _play_until(self, runner: WorldRunner, beat: int | None) -> bool:
        """Play until the world had so many beats; return whether it came to that, and did not end before."""
        limit = self.experiment.beats
        if beat is not None and limit and beat > limit:
            beat = limit
        left = None if beat is None else beat - runner.world_log.world.beats
        if not self.ended and not self.stop.is_set() and (left is None or left > 0):
            await runner.run(beats=left)
        return not self.ended and not self.stop.is_set()

    def _end(self, runner: WorldRunner, why: str) -> None:
        self.ended = self.ended or why
        runner.stop()

    async def _report_on(self, world_log: WorldLog, runner: WorldRunner) -> None:
        """Say now and then how far it is, and end the runner when the run is to stop."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stop.wait(), _REPORT_SECONDS)
            self.report(world_log.world.beats, world_log.world.cost)
            if self.stop.is_set():
                runner.stop()
                return


def needs_no_time(world: World) -> bool:
    """Return whether nobody in a world needs time to answer: then its time may be simulated."""
    return {agent.model for agent in world.agents.values() if not agent.retired} <= {IMPROVISER_MODEL}


async def play_on(world_log: WorldLog, record: WorldLog, beats: int) -> int:
    """Play a world for some beats; what `record` has an answer to is not asked. Return how often that was so."""
    players = ReplayingPlayers(open_players(), recorded_answers(record.events(), (LOST, ENDED)))
    if world_log.world.paused is not None:
        return 0
    clock = SimulatedClock(world_log.world.now) if needs_no_time(world_log.world) else RealClock()
    runner = WorldRunner(world_log, players, clock=clock)

    def watch(_: object) -> None:
        world = world_log.world
        if world.paused is not None or all(agent.retired for agent in world.agents.values()):
            runner.stop()

    world_log.watchers.append(watch)
    await runner.run(beats=beats)
    world_log.watchers.remove(watch)
    return players.replayed


class _StandingClock(SimulatedClock):
    """A simulated clock that stands still while a model thinks, whatever else is awaited in it."""

    async def wait(self, seconds: float, sign: asyncio.Event, *, busy: bool) -> None:
        """See `Clock.wait`."""
        if busy:
            await sign.wait()
        else:
            await super().wait(seconds, sign, busy=False)


def _clock_name(experiment: Experiment, variant: Variant) -> str:
    """Return the clock of a run: simulated, where nobody needs time to answer and nothing else is asked for."""
    models = {entry.model or variant.founding.model for entry in variant.founding.agents}
    models |= {change.alter.model for change in variant.interventions if change.alter and change.alter.model}
    if experiment.clock:
        return experiment.clock
    return "simulated" if variant.script or models <= {IMPROVISER_MODEL} else "real"


def _remove_world(path: Path) -> None:
    for suffix in DATABASE_SUFFIXES:
        companion_path(path, suffix).unlink(missing_ok=True)
