"""A recorded run of a world, played again: its events are written into a new log one after the other, at their pace.

A recording is what `hudkit rooms export --format jsonl` wrote, compressed, behind a line that says who played. The
events keep their times and ids, so every HUD is composed again byte for byte as it was, without a model or a network.
As soon as somebody else does something in the world it is no longer the recorded one, and other players take over.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from hudkit.errors import ConfigError, OperationError
from hudkit.log import Event, EventDraft, Origin
from hudkit.rooms import FIRST_RECORDING
from hudkit.rooms import world_events as ev
from hudkit.rooms.architect import Architect
from hudkit.rooms.players import IMPROVISER_MODEL
from hudkit.rooms.scheduler import Clock, RealClock, RunnerMetrics, WorldRunner
from hudkit.rooms.world_export import json_lines
from hudkit.rooms.world_log import WORLD_SESSION, WorldLog

_FILE_VERSION = 1

PACE = 4.0
"""How many times as fast as it happened a recording is shown."""
_SHORTEST_WAIT = 0.001
"""Seconds below which nobody waits: a clock may not be able to say less."""
_LONGEST_WAIT = 5.0
"""Seconds between two events at most: whoever watches should not wait for a model that thought."""


class Recording(msgspec.Struct, frozen=True):
    """A recorded run: the world's name, who played and when, in words for people, and what happened."""

    name: str
    about: str
    drafts: tuple[EventDraft, ...]

    def position(self, world_log: WorldLog) -> int | None:
        """Return how many of its events a log begins with, where it has no others; `None`: it is another world."""
        last = world_log.log.last_seq(WORLD_SESSION)
        if last > len(self.drafts):
            return None
        if last == 0:
            return 0
        newest: Event = next(iter(world_log.log.read(WORLD_SESSION, after=last - 1)))
        return last if newest.id == self.drafts[last - 1].id else None


def write_recording(world_log: WorldLog, about: str, upto: int | None = None) -> bytes:
    """Return a world's log up to event `upto` (not given: all of it) as the bytes of a recording's file."""
    head = json.dumps({"recording": _FILE_VERSION, "name": world_log.world.name, "about": about})
    lines = json_lines(world_log.events(upto=upto))
    return gzip.compress("\n".join([head, *lines]).encode(), mtime=0)


def recording_beside(path: Path | str) -> Recording | None:
    """Return the recording that a world's file was made of, which lies beside it; `None` where there is none."""
    file = recording_file(path)
    return read_recording(file) if file is not None and file.exists() else None


def recording_file(path: Path | str) -> Path | None:
    """Return where the recording of a world's file would be; `None` for a world on a server."""
    return path.with_suffix(".recording") if isinstance(path, Path) else None


def read_recording(path: Path) -> Recording:
    """Return the recording in a file. Raises `ConfigError` for what is none."""
    try:
        return parse_recording(path.read_bytes())
    except (gzip.BadGzipFile, zlib.error, ValueError, LookupError, TypeError, EOFError) as error:
        hint = "`hudkit rooms export --format recording` writes one"
        raise ConfigError(f"{path} is not a recording: {error}", hint=hint) from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="Name a recording") from None


def recording_that_ships() -> bytes:
    """Return the file of the run that comes with hudkit, which a small model played."""
    return (files("hudkit.rooms") / "world_files" / f"{FIRST_RECORDING}.recording").read_bytes()


def parse_recording(content: bytes) -> Recording:
    """Return the recording in the bytes of a file. Raises `ValueError` or `LookupError` for what is none."""
    head, *lines = gzip.decompress(content).decode().split("\n")
    facts = json.loads(head)
    if facts["recording"] != _FILE_VERSION:
        raise ValueError(f"it is of version {facts['recording']}")
    return Recording(facts["name"], facts["about"], tuple(_draft(json.loads(line)) for line in lines))


def _draft(line: Mapping[str, Any]) -> EventDraft:
    event = msgspec.convert({"type": line["type"], **line["data"]}, ev.EVENT_TYPES[line["type"]])
    return EventDraft(line["id"], line["at"], 0, Origin(line["origin"]), event)


def found_recorded_world(recording: Recording, path: Path | str) -> WorldLog:
    """Make a world in a new log of what a recording has before its first beat, and return it.

    Raises `ConfigError` where there is a world, a `StoreError`.
    """
    first = next(n for n, draft in enumerate(recording.drafts) if isinstance(draft.payload, ev.BeatBegun))
    world_log = WorldLog.open_empty(path)
    world_log.log.append(WORLD_SESSION, list(recording.drafts[:first]), expected=0)
    world_log.refresh()
    return world_log


class RecordingPlayer:
    """Plays a recording into its world's log, and hands the world over to a runner when it is no longer recorded.

    It is what `WorldRunner` is to the page and to `hudkit rooms run`. Pausing and speed are its own: an event of them
    would make another world of it.
    """

    def __init__(
        self, world_log: WorldLog, recording: Recording, runner: WorldRunner, clock: Clock | None = None
    ) -> None:
        """`runner` goes on behind the recording; until then it does nothing."""
        self.recording = recording
        self.pace = PACE
        self.paused = False
        self._world_log = world_log
        self._runner = runner
        self._clock = clock or RealClock()
        self._sign = asyncio.Event()
        self._stopping = False
        self._taken_over = False
        self._mark = self._clock.monotonic()
        self._beats = 0

    @property
    def is_recorded(self) -> bool:
        """Whether all that has happened in the world is the recording."""
        return not self._taken_over and self.recording.position(self._world_log) is not None

    @property
    def shown(self) -> int:
        """Return how many of its events were shown."""
        return self._world_log.world.seq

    def now(self) -> int:
        """Return the world's time (Unix ms): the recording's, which stands between its events."""
        if self._taken_over:
            return self._runner.now()
        last = self._world_log.world.now
        if self.paused or self._stopping or self.shown >= len(self.recording.drafts):
            return last
        gone = (self._clock.monotonic() - self._mark) * 1000 * self.pace
        following = self.recording.drafts[self.shown].timestamp
        return max(last, min(following, last + round(gone)))

    def due(self, agent: int) -> int | None:
        """Return when an agent's next beat is due (Unix ms)."""
        if self._taken_over:
            return self._runner.due(agent)
        return self._world_log.world.agents[agent].due

    def metrics(self) -> RunnerMetrics:
        """Return how it goes."""
        return self._runner.metrics() if self._taken_over else RunnerMetrics(beats=self._beats)

    def stop(self) -> None:
        """Let nothing more happen; `run` returns soon."""
        self._stopping = True
        self._sign.set()
        self._runner.stop()

    def hold(self, *, paused: bool) -> None:
        """Stop the recording where it is, or let it go on."""
        self.paused = paused
        self._mark = self._clock.monotonic()
        self._sign.set()

    def set_pace(self, factor: float) -> None:
        """Show it `factor` times as fast as it happened. Raises `OperationError` for what is no speed."""
        if not 0.01 <= factor <= 1000:
            raise OperationError(f"{factor:g} is no speed", hint="0.01 to 1000")
        self.pace = factor
        self._mark = self._clock.monotonic()
        self._sign.set()

    async def run(self, *, beats: int | None = None) -> None:
        """Play until the recording ends, `stop` is called, or `beats` beats are over; behind it the runner plays.

        At its end this returns: called again, the runner goes on from there.
        """
        self._stopping = False
        if self.is_recorded and self.shown >= len(self.recording.drafts):
            self.take_over()
        first = self._beats
        while self.is_recorded and not self._stopping and not (beats is not None and self._beats - first >= beats):
            if self.shown >= len(self.recording.drafts):
                return
            if await self._wait_for_next():
                self._append_next()
        if self._stopping or self.is_recorded:
            return
        self.take_over()
        await self._runner.run(beats=None if beats is None else beats - (self._beats - first))

    async def step(self, agent: int | None = None) -> object:
        """Let one beat take place: the next one of the recording, whoever's it is; behind it, the runner's."""
        while self.is_recorded and self.shown < len(self.recording.drafts):
            if isinstance(self._append_next(), ev.BeatFinished):
                return None
        self.take_over()
        return await self._runner.step(agent)

    def take_over(self) -> None:
        """Hand the world over to the runner; agents of the recorded model get the improviser's."""
        if self._taken_over:
            return
        self._taken_over = True
        architect = Architect(self._world_log, self._runner.now)
        recorded = {
            event.model for draft in self.recording.drafts if isinstance(event := draft.payload, ev.AgentCreated)
        }
        for agent in list(self._world_log.world.agents.values()):
            if not agent.retired and agent.model in recorded:
                architect.alter(agent.id, model=IMPROVISER_MODEL)

    async def _wait_for_next(self) -> bool:
        """Wait until the next event is due; return whether it is, and not something else happened."""
        self._sign.clear()
        if self.paused:
            await self._clock.wait(self._clock.poll_seconds, self._sign, busy=False)
            self._world_log.refresh()
            return False
        gap = self.recording.drafts[self.shown].timestamp - self._world_log.world.now
        seconds = min(_LONGEST_WAIT, max(0.0, gap / 1000 / self.pace))
        left = seconds - (self._clock.monotonic() - self._mark)
        if left <= _SHORTEST_WAIT:
            return True
        await self._clock.wait(min(left, self._clock.poll_seconds), self._sign, busy=False)
        self._world_log.refresh()
        return False

    def _append_next(self) -> ev.WorldEvent:
        draft = self.recording.drafts[self.shown]
        self._mark = self._clock.monotonic()
        self._world_log.log.append(WORLD_SESSION, [draft], expected=self.shown)
        self._world_log.refresh()
        assert isinstance(draft.payload, ev.WorldEvent)
        self._beats += isinstance(draft.payload, ev.BeatFinished)
        return draft.payload
