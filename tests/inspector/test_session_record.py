"""A session that is held in memory: the same states and frames as the log gives, and only what is new is read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.errors import ConfigError
from hudkit.inspector.session_record import CHECKPOINT_EVERY, SessionRecord, SessionRecords
from hudkit.log import payloads as p


@pytest.fixture
def hud() -> Iterator[Hud]:
    ticks = itertools.count(1_795_000_000_000, 1_000)
    with Hud.in_memory(clock=lambda: next(ticks)) as made:
        yield made


@pytest.mark.slow
def test_every_state_and_frame_is_the_logs_own(hud: Hud) -> None:
    session = hud.session("s")
    session.append(p.TaskSet("Port the importer"))
    for n in range(CHECKPOINT_EVERY // 2 + 20):
        session.append(p.NoteAdd(f"note {n}"))
        if n % 9 == 0:
            session.frame(used_tokens=1_000 + n, limit_tokens=200_000)
        if n % 50 == 49:
            session.call("undo", {"seq": session.state.seq - 3})
    record = SessionRecord(hud, "s")
    assert record.refresh(60)
    fresh = Hud(hud.log).session("s")
    for seq in {0, 1, 7, 60, 61, CHECKPOINT_EVERY, CHECKPOINT_EVERY + 1, record.read_upto} & set(
        range(record.last + 1)
    ):
        assert record.state_at(seq) == fresh.state_at(seq), seq
    for call in record.calls[::7]:
        assert record.frame_at(call.seq).text == fresh.frame_at(call.seq).text
    assert [call.number for call in record.calls] == list(range(1, len(record.calls) + 1))
    with pytest.raises(ConfigError, match="has no event"):
        record.state_at(record.last + 1)


@pytest.mark.slow
def test_a_long_log_is_read_in_portions(hud: Hud) -> None:
    session = hud.session("s")
    session.append(*(p.NoteAdd(f"note {n}") for n in range(1_800)))
    record = SessionRecord(hud, "s")
    read = []
    while not record.refresh(0):
        read.append(record.read_upto)
    assert len(read) > 1 and read == sorted(set(read))
    assert record.read_upto == 1_800


def test_what_was_redacted_is_forgotten(hud: Hud) -> None:
    session = hud.session("s")
    (secret,) = session.append(p.NoteAdd("the door code is 4711"))
    records = SessionRecords(hud)
    record = records.get("s")
    record.refresh(60)
    assert "4711" in record.whole_frame(1).text
    session.append(p.Redact(secret.seq))
    record.refresh(60)
    assert record.is_stale
    anew = records.get("s")
    anew.refresh(60)
    assert anew is not record
    assert "4711" not in anew.whole_frame(anew.read_upto).text + str(list(anew.events()))


def test_new_calls_are_added_to_those_that_were_read(hud: Hud) -> None:
    session = hud.session("s")
    session.frame(used_tokens=1_000, limit_tokens=200_000)
    record = SessionRecord(hud, "s")
    record.refresh(60)
    before = list(record.calls)
    session.append(p.NoteAdd("more"))
    session.frame(used_tokens=2_000, limit_tokens=200_000)
    record.refresh(60)
    assert record.calls[:-1] == before and record.calls[-1].snapshot.used_tokens == 2_000
    assert record.account_at(record.read_upto).calls[-1].seq == record.calls[-1].seq


def test_an_unknown_session_is_an_error(hud: Hud) -> None:
    with pytest.raises(ConfigError, match="no session"):
        SessionRecords(hud).get("nothing")


@pytest.mark.slow
def test_reading_leaves_no_trace_in_the_log(orchard_log: Path, orchard: Hud, long_day: str) -> None:
    before = orchard_log.read_bytes()
    record = SessionRecord(orchard, long_day)
    record.refresh(60)
    for call in record.calls[::20]:
        record.frame_at(call.seq)
        record.frame_within(300, call.seq)
    record.receipts()
    assert orchard_log.read_bytes() == before
