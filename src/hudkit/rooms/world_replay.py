"""Replaying a log: every HUD composed anew from the events before it, and compared with what its agent saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hudkit.errors import HudkitError
from hudkit.rooms.fold_log import fold_logged_event
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.world import World
from hudkit.rooms.world_events import BeatBegun
from hudkit.rooms.world_log import WorldLog

Progress = Callable[[int, int, str], None]
"""Called with the event that was reached, the last one, and what is being done."""


class _HudDifference(msgspec.Struct, frozen=True):
    """A HUD that came out otherwise. `why` where it could not be composed, or rests on an event that is gone."""

    seq: int
    agent: int
    beat: int
    why: str = ""


class ReplayReport(msgspec.Struct, frozen=True):
    """What a replay found: `beats` of a log, how many HUDs are the `same`, those that `differ`, and how many were
    never composed (`unseen`).

    `state`: whether the world comes out as it is. `gone`: events that were redacted, or are of a newer version.
    """

    events: int
    beats: int
    same: int
    unseen: int
    differ: tuple[_HudDifference, ...]
    state: bool
    gone: int

    @property
    def sound(self) -> bool:
        """Whether nothing came out otherwise."""
        return not self.differ and self.state


def replay_log(world_log: WorldLog, progress: Progress | None = None, every: int = 500) -> ReplayReport:
    """Replay a whole log, from its first event and without snapshots, and return what came out otherwise.

    `progress` is called every so many events. Raises `StoreDamaged`.
    """
    world, renderer = World(), CachedRenderer()
    beats = same = unseen = gone = 0
    differ: list[_HudDifference] = []
    last = world_log.world.seq
    for entry, event in world_log.events(upto=last):
        # Entries that cannot be read are not yielded: a gap in the numbers says how many they were.
        gone += entry.seq - world.seq - 1
        world.seq = entry.seq - 1
        if isinstance(event, BeatBegun):
            beats += 1
            # Without a digest the beat failed before its HUD was composed: there is nothing to compare.
            if not event.hud:
                unseen += 1
            elif (why := _difference(world, event, renderer)) is None:
                same += 1
            else:
                why = why or ("an event before it is gone" if gone else "")
                differ.append(_HudDifference(entry.seq, event.agent, event.number, why))
        if not fold_logged_event(world, entry, event, holes=bool(gone)):
            world.seq = entry.seq
        if progress is not None and entry.seq % every == 0:
            progress(entry.seq, last, "replaying")
    gone += last - world.seq
    world.seq, world.holes = last, bool(gone)
    return ReplayReport(last, beats, same, unseen, tuple(differ), world == world_log.world, gone)


def sum_reports(reports: Sequence[ReplayReport]) -> ReplayReport:
    """Return what the replays of a world's partitions found together; `seq` is a number in its partition's log."""
    return ReplayReport(
        sum(report.events for report in reports),
        sum(report.beats for report in reports),
        sum(report.same for report in reports),
        sum(report.unseen for report in reports),
        tuple(difference for report in reports for difference in report.differ),
        all(report.state for report in reports),
        sum(report.gone for report in reports),
    )


def _difference(world: World, beat: BeatBegun, renderer: CachedRenderer) -> str | None:
    """Return why a beat's HUD cannot be composed, `""` where it is another one, `None` where it is the same."""
    try:
        hud = build_agent_hud(world, beat.agent, beat.composed_at, renderer, base=beat.base)
    except (HudkitError, LookupError) as error:  # what it rests on may be gone
        return str(error)
    return None if hud.digest == beat.hud else ""
