"""Recorded answers played again with something changed: a world goes the same way until a HUD differs.

The past of a world is copied up to a moment, the change is made there, and the rest of the log follows, event by
event. Before each beat the HUD is composed in the changed world. As long as it has the same bytes, the model would
have answered to the same words, and its recorded answer is taken. At the first HUD that differs the two worlds part:
from there the models of the changed world are asked, or nothing more happens.

For example, where agent 3's background is changed and agents 1 and 2 have the beats before agent 3's first one, those
follow the record, and the worlds part at agent 3's beat: its HUD says who it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any

import msgspec

from hudkit.compose import shorten
from hudkit.errors import HudkitError
from hudkit.log import Event, EventDraft, Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.fold_log import fold_logged_event
from hudkit.rooms.hud import AgentHud, CachedRenderer, build_agent_hud
from hudkit.rooms.world import World
from hudkit.rooms.world_log import WORLD_SESSION, WorldLog

_DIFFERENCES = 6
"""Differences of two HUDs that are told."""
_TEXT = 80
"""Characters of a value that are told."""


class HudDifference(msgspec.Struct, frozen=True):
    """What differs in a HUD: where, what it was, and what it is now. Empty: it is not there."""

    path: str
    before: str
    after: str


class Parting(msgspec.Struct, frozen=True):
    """Where two worlds part: before event `seq` of the recorded one, the beat `number` of an agent, at `minute`.

    `why` where no HUD can be compared: an event of the record cannot follow in the changed world.
    """

    seq: int
    agent: int
    name: str
    number: int
    minute: float
    differences: tuple[HudDifference, ...] = ()
    more: int = 0
    """Differences that are not told."""
    why: str = ""


class RerunReport(msgspec.Struct, frozen=True):
    """What was played again: the event before the change, events and beats that went the same way, and the parting.

    `people`: what the Architect did in the record after the parting, which is not done again. `parting` `None`:
    nothing differed.
    """

    changed_after: int
    events: int
    beats: int
    people: int
    beats_left: int
    parting: Parting | None


def founding_end(world_log: WorldLog) -> int:
    """Return the number of the last event before a world's first beat."""
    for entry, event in world_log.events():
        if isinstance(event, e.BeatBegun):
            return entry.seq - 1
    return world_log.world.seq


def rerun_log(
    world_log: WorldLog,
    path: str | PathLike[str] | None,
    change: Callable[[WorldLog], None],
    *,
    after: int | None = None,
    name: str = "",
) -> tuple[WorldLog, RerunReport]:
    """Copy a world up to event `after` (not given: its founding), change the copy, and let the record follow.

    Returns the new world's log at `path` (`None`: in memory), up to where it parts from the record, and the report.
    `change` acts in the copy, at the time of its last event. Raises what `WorldLog.fork` and `change` do.
    """
    start = founding_end(world_log) if after is None else world_log.check_seq(after)
    copy = world_log.fork(path, start, name=name)
    try:
        copy.clock = lambda: copy.world.now
        change(copy)
        record = _Record(world_log, copy)
        drafts = list(record.follow(start))
        if drafts:
            copy.log.append(WORLD_SESSION, drafts)
            copy.refresh()
        copy.clock = world_log.clock
    except BaseException:
        copy.close()
        raise
    left = world_log.world.beats - record.beats_before - record.beats
    people = _people_after(world_log, record.parting.seq) if record.parting is not None else 0
    return copy, RerunReport(start, len(drafts), record.beats, people, left, record.parting)


class _Record:
    """The rest of a recorded world, as it follows in a changed one."""

    def __init__(self, world_log: WorldLog, copy: WorldLog) -> None:
        self._world_log = world_log
        # Folded beside, so that an event that does not follow leaves no trace in the copy's log.
        self._world = copy.world_at(copy.world.seq)
        self._renderer = CachedRenderer()
        self.beats = 0
        self.beats_before = self._world.beats
        self.parting: Parting | None = None

    def follow(self, after: int) -> Iterator[EventDraft]:
        """Yield what follows in the changed world, as far as it goes the same way."""
        world = self._world
        for entry, event in self._world_log.events(after):
            if isinstance(event, e.BeatBegun) and (parting := self._compare(entry, event)) is not None:
                self.parting = parting
                return
            if (why := _mismatch(world, event)) or not fold_logged_event(
                world, entry, event, holes=True, seq=world.seq + 1
            ):
                self.parting = self._parting(entry, event, why=why or f"{entry.type} does not follow here")
                return
            self.beats += isinstance(event, e.BeatBegun)
            yield EventDraft(entry.id, entry.timestamp, entry.turn, entry.origin, event)

    def _compare(self, entry: Event, beat: e.BeatBegun) -> Parting | None:
        """Return the parting at a beat whose HUD differs; `None` where it has the same bytes."""
        try:
            hud = build_agent_hud(self._world, beat.agent, beat.composed_at, self._renderer)
        except (HudkitError, LookupError) as error:
            return self._parting(entry, beat, why=str(error))
        if hud.digest == beat.hud and self._world.agents[beat.agent].model == beat.model:
            return None
        recorded = self._world_log.world_at(entry.seq - 1)
        before = build_agent_hud(recorded, beat.agent, beat.composed_at, self._renderer)
        differences = list(_differences(before, hud))
        agent = self._world.agents[beat.agent]
        if agent.model != beat.model and not any(row.path == "self.identity.model" for row in differences):
            differences.insert(0, HudDifference("model", beat.model, agent.model))
        if not differences:  # the same data in other bytes, such as another format
            differences.append(HudDifference("format", before.format, hud.format))
        return self._parting(entry, beat, tuple(differences))

    def _parting(
        self, entry: Event, event: e.WorldEvent, differences: tuple[HudDifference, ...] = (), why: str = ""
    ) -> Parting:
        agent = getattr(event, "agent", 0)
        name = self._world.agents[agent].name if agent in self._world.agents else ""
        minute = round((entry.timestamp - self._world.created_at) / 60_000, 3)
        more = max(0, len(differences) - _DIFFERENCES)
        number = getattr(event, "number", 0)
        return Parting(entry.seq, agent, name, number, minute, differences[:_DIFFERENCES], more, why)


def _mismatch(world: World, event: e.WorldEvent) -> str:
    """Return why an event has another number than it would have here; empty: it fits."""
    match event:
        case e.MessagePosted(id=id) if id != world.next_message:
            return f"the message {id} of the record would be {world.next_message}"
        case e.MessageDelayed(id=id) if id != world.next_pending:
            return f"the waiting message {id} of the record would be {world.next_pending}"
        case e.AgentCreated(id=id) if id != world.next_agent:
            return f"the agent {id} of the record would be {world.next_agent}"
        case e.AccessRequested(id=id) if id != world.next_request:
            return f"the request {id} of the record would be {world.next_request}"
    return ""


def _people_after(world_log: WorldLog, seq: int) -> int:
    return sum(entry.origin is Origin.USER for entry, _ in world_log.events(seq - 1))


def _differences(before: AgentHud, after: AgentHud) -> Iterator[HudDifference]:
    """Yield what differs in the data of two HUDs, in the order in which they are read."""
    yield from _compare_values("", before.document, after.document)


def _compare_values(path: str, before: Any, after: Any) -> Iterator[HudDifference]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _compare_values(f"{path}.{key}" if path else str(key), before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list):
        for index in range(max(len(before), len(after))):
            left = before[index] if index < len(before) else None
            right = after[index] if index < len(after) else None
            yield from _compare_values(f"{path}[{index}]", left, right)
    else:
        yield HudDifference(path, _shown(before), _shown(after))


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return shorten(value if isinstance(value, str) else msgspec.json.encode(value).decode(), _TEXT)
