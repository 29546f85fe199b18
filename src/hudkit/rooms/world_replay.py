"""Playing a log again: every HUD composed anew from the events before it, and compared with what its agent saw."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hudkit.errors import HudkitError
from hudkit.rooms.fold_log import fold_logged_event
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.world import World
from hudkit.rooms.world_events import BeatBegun
from hudkit.rooms.world_log import WorldLog

Progress = Callable[[int, int, str], None]


class HudDifference(msgspec.Struct, frozen=True):
    """A HUD that came out otherwise. `why` where it could not be composed, or rests on an event that is gone."""

    seq: int
    agent: int
    beat: int
    why: str = ""


class ReplayReport(msgspec.Struct, frozen=True):
    """`beats` of a log, how many HUDs are the `same`, and those that `differ`; `unseen` had none. `state`: whether
    the world comes out as it is. `gone`: events that were redacted, or are of a newer version."""

    events: int
    beats: int
    same: int
    unseen: int
    differ: tuple[HudDifference, ...]
    state: bool
    gone: int

    @property
    def sound(self) -> bool:
        return not self.differ and self.state


def replay_log(book: WorldLog, progress: Progress | None = None, every: int = 500) -> ReplayReport:
    """Play the whole log of a book again, from its first event and without snapshots; `progress` is told every so
    many events. Raises `StoreDamaged`."""
    world, typeset = World(), CachedRenderer()
    beats = same = unseen = gone = 0
    differ: list[HudDifference] = []
    last = book.world.seq
    for event, what in book.happenings(upto=last):
        gone += event.seq - world.seq - 1
        world.seq = event.seq - 1
        if isinstance(what, BeatBegun):
            beats += 1
            if not what.hud:
                unseen += 1
            elif (why := _otherwise(world, what, typeset)) is None:
                same += 1
            else:
                why = why or ("an event before it is gone" if gone else "")
                differ.append(HudDifference(event.seq, what.agent, what.number, why))
        if not fold_logged_event(world, event, what, holes=bool(gone)):
            world.seq = event.seq
        if progress is not None and event.seq % every == 0:
            progress(event.seq, last, "replaying")
    gone += last - world.seq
    world.seq, world.holes = last, bool(gone)
    return ReplayReport(last, beats, same, unseen, tuple(differ), world == book.world, gone)


def _otherwise(world: World, beat: BeatBegun, typeset: CachedRenderer) -> str | None:
    """Why a HUD cannot be composed, or nothing where it is another one; `None` where it is the same."""
    try:
        seen = build_agent_hud(world, beat.agent, beat.at, typeset)
    except (HudkitError, LookupError) as error:  # what it rests on may be gone
        return str(error)
    return None if seen.digest == beat.hud else ""
