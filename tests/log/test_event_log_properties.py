"""Both stores behave alike, whatever is done to them, errors included."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hudkit.errors import StoreError
from hudkit.log import Batch, EventDraft, EventLog, Origin, Payload, Snapshot
from hudkit.log.payloads import DecisionRecord, NoteAdd, Redact, StepReorder
from hudkit.log.stores import MemoryLog, SqliteLog
from hudkit.testing.store_conformance import FutureEvent

SESSIONS = st.sampled_from(["a", "b", "ß", "", "x" * 401, "\ud800"])
TEXT = st.text(max_size=30) | st.sampled_from(["password=hunter2", "\ud800", "AKIA" + "IOSFODNN7EXAMPLE"])
PAYLOADS: st.SearchStrategy[Payload] = st.one_of(
    st.builds(NoteAdd, TEXT, id=TEXT),
    st.builds(DecisionRecord, TEXT, details=TEXT, derived=st.booleans()),
    st.builds(StepReorder, st.lists(TEXT, max_size=3).map(tuple)),
    st.builds(Redact, st.integers(-1, 8), reason=TEXT),
    st.builds(FutureEvent, TEXT),
    st.just(NoteAdd(5)),  # type: ignore[arg-type]
)
DRAFTS = st.builds(
    EventDraft,
    st.text("abc-\0", max_size=6),
    st.integers(-(2**63) - 1, 2**63),
    st.integers(-3, 3),
    st.sampled_from(Origin),
    PAYLOADS,
)
BATCHES = st.builds(
    Batch,
    SESSIONS,
    st.lists(DRAFTS, max_size=4).map(tuple),
    st.none() | st.integers(0, 6),
)


def outcome(call: Callable[[], object]) -> object:
    try:
        return plain(call())
    except StoreError as error:
        return plain(error)


def plain(answer: object) -> object:
    """An answer, or an error's kind, text and details, in a form that can be compared."""
    if isinstance(answer, StoreError):
        return type(answer).__name__, str(answer), dict(answer.details)
    return [plain(item) for item in answer] if isinstance(answer, list) else answer


class Alike(RuleBasedStateMachine):
    """Every call is made to both stores; the answers are the same."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.memory: EventLog = MemoryLog()
        self.sqlite: EventLog = SqliteLog.open(self.folder / "log.db")

    def teardown(self) -> None:
        self.sqlite.close()
        shutil.rmtree(self.folder)

    def both(self, call: Callable[[EventLog], object]) -> object:
        expected = outcome(lambda: call(self.memory))
        assert outcome(lambda: call(self.sqlite)) == expected
        return expected

    @rule(batch=BATCHES)
    def append(self, batch: Batch) -> None:
        self.both(lambda log: log.append(batch.session_id, batch.drafts, expected=batch.expected))

    @rule(batches=st.lists(BATCHES, max_size=4))
    def append_many(self, batches: list[Batch]) -> None:
        self.both(lambda log: log.append_many(batches))

    @rule(session=SESSIONS, after=st.integers(-2, 12), upto=st.none() | st.integers(-2, 12))
    def read(self, session: str, after: int, upto: int | None) -> None:
        self.both(lambda log: list(log.read(session, after=after, upto=upto)))

    @rule(session=SESSIONS, seq=st.integers(-1, 8), version=st.sampled_from(["1", "2"]), body=st.binary(max_size=5))
    def put_snapshot(self, session: str, seq: int, version: str, body: bytes) -> None:
        self.both(lambda log: log.put_snapshot(Snapshot(session, seq, version, body)))

    @rule(session=SESSIONS, version=st.sampled_from(["1", "2", "\ud800"]), upto=st.none() | st.integers(-1, 9))
    def get_snapshot(self, session: str, version: str, upto: int | None) -> None:
        self.both(lambda log: log.get_snapshot(session, version, upto=upto))

    @rule()
    def reopen(self) -> None:
        self.sqlite.close()
        self.sqlite = SqliteLog.open(self.folder / "log.db")

    @rule()
    def verify(self) -> None:
        assert self.both(lambda log: list(log.verify())) == []

    @invariant()
    def same_sessions(self) -> None:
        self.both(lambda log: (log.sessions(), [log.last_seq(name) for name in log.sessions()]))

    @invariant()
    def reading_from_every_number_is_one_whole(self) -> None:
        for name in self.memory.sessions():
            whole = list(self.sqlite.read(name))
            assert [event.seq for event in whole] == list(range(1, len(whole) + 1))
            for after in range(len(whole) + 1):
                assert list(self.sqlite.read(name, after=after)) == whole[after:]


TestAlike = pytest.mark.slow(Alike.TestCase)
TestAlike.settings = settings(deadline=None, max_examples=60, stateful_step_count=25)
