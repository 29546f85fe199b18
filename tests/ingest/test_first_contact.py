"""A session that a process meets for the first time is known as if all of its log had been read, and it was not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from hudkit.api import Hud
from hudkit.hud.session_core import SNAPSHOT_EVERY
from hudkit.ingest import COMPACTION_TYPES, IngestState, observe, take_up
from hudkit.log import Event, EventLog
from hudkit.log import payloads as p
from hudkit.log.stores import open_log
from hudkit.sections.state import HudState
from hudkit.transcripts import SessionRow

NEW = IngestState(row=SessionRow(id="s", host="h"), hud=HudState())
AT = 1_795_000_000_000


def talk(hud: Hud, turns: int) -> None:
    session = hud.session("s")
    for number in range(turns):
        at = AT + 1_000 * number
        session.ingest([{"role": "user", "text": f"Never touch part {number}/", "time": at}])
        session.append(p.NoteAdd(f"note {number}"))


def known(state: IngestState, ids: list[str]) -> tuple[object, ...]:
    recorded = [event_id for event_id in ids if event_id in state.recorded]
    return (state.seq, state.facts, state.earlier_until, state.compacting, state.trigger, recorded, state.hud)


@pytest.mark.parametrize(
    "more",
    [
        (),
        (p.CompactBefore("overflow", 9_000),),
        (p.CompactBefore("host", 9_000), p.NoteAdd("beside it")),
        (p.CompactBefore("host", 9_000), p.CompactAfter("so far"), p.NoteAdd("and on")),
        (p.Redact(seq=2), p.EventUndo(3)),
    ],
)
def test_it_is_what_all_events_tell(hud: Hud, more: tuple[p.Payload, ...]) -> None:
    talk(hud, 5)
    session = hud.session("s")
    session.append(*more)
    events = tuple(session.events())
    ids = [event.id for event in events]
    last = hud.log.last_seq_of("s", COMPACTION_TYPES, upto=session.state.seq)
    compaction: Event | None = events[last - 1] if last else None
    assert known(take_up(NEW, ids, compaction, session.state), ids) == known(observe(NEW, events, session.state), ids)


class CountedLog:
    """A log that counts the events that are read with their bodies."""

    def __init__(self, log: EventLog) -> None:
        self._log, self.bodies = log, 0

    def read(self, session_id: str, **bounds: Any) -> Iterator[Event]:
        for event in self._log.read(session_id, **bounds):
            self.bodies += 1
            yield event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


@pytest.mark.slow
def test_most_of_a_long_log_is_not_read(tmp_path: Path) -> None:
    """The bodies of the events behind the last snapshot are, and no more."""
    with Hud.open(tmp_path / "hudkit.db") as hud:
        talk(hud, SNAPSHOT_EVERY)
    log = CountedLog(open_log(tmp_path / "hudkit.db"))
    with Hud(cast(EventLog, log)) as again:
        said = {"role": "user", "text": "Never touch part 7/", "time": AT + 7_000}
        assert again.session("s").ingest([said]) == (), "it is known"
        assert log.last_seq("s") > 2 * SNAPSHOT_EVERY > 2 * log.bodies > 0
