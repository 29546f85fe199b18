"""A log in memory: the rules of every store without a medium, for tests and for sessions that nobody keeps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from threading import RLock

from hudkit.errors import StoreError
from hudkit.log import Batch, Event, EventDraft, Finding, SessionHead, Snapshot
from hudkit.log.codec import GENESIS
from hudkit.log.stores.hash_chain import (
    ChainHead,
    ChainScan,
    EventRow,
    PreparedBatch,
    check_id,
    decode_row,
    prepare_batch,
)
from hudkit.log.stores.log_tables import SNAPSHOTS_KEPT, check_snapshot

_PAGE = 256


class MemoryLog:
    """An `EventLog` that forgets everything with the process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._rows: dict[str, list[EventRow]] = {}
        self._all: list[tuple[str, int]] = []
        self._snapshots: dict[tuple[str, str], dict[int, Snapshot]] = {}
        self._lock = RLock()
        self._closed = False

    def append(
        self, session_id: str, drafts: Sequence[EventDraft], *, expected: int | None = None
    ) -> tuple[Event, ...]:
        """Append all or none; return the events as stored. See `EventLog.append`."""
        with self._lock:
            self._check_open()
            return self._store(Batch(session_id, tuple(drafts), expected))

    def append_many(self, batches: Sequence[Batch]) -> list[tuple[Event, ...] | StoreError]:
        """Append several batches; return an answer for each, its error for a bad one. See `EventLog.append_many`."""
        answers: list[tuple[Event, ...] | StoreError] = []
        with self._lock:
            self._check_open()
            for batch in batches:
                try:
                    answers.append(self._store(batch))
                except StoreError as error:
                    answers.append(error)
        return answers

    def append_together(self, batches: Sequence[Batch]) -> list[tuple[Event, ...]]:
        """Append all of several batches or none; return the events of each. See `EventLog.append_together`."""
        with self._lock:
            self._check_open()
            before = {batch.session_id: list(self._rows.get(batch.session_id, ())) for batch in batches}
            all_before, snapshots = list(self._all), {key: dict(by_seq) for key, by_seq in self._snapshots.items()}
            try:
                return [self._store(batch) for batch in batches]
            except BaseException:
                for session_id, rows in before.items():
                    self._rows[session_id] = rows
                    if not rows:
                        del self._rows[session_id]
                self._all, self._snapshots = all_before, snapshots
                raise

    def read(
        self,
        session_id: str,
        *,
        after: int = 0,
        upto: int | None = None,
        past_damage: bool = False,  # noqa: ARG002 (of the protocol: what is in memory is not damaged)
    ) -> Iterator[Event]:
        """Return the events with `after < seq <= upto` that are there when this is called; see `EventLog.read`."""
        with self._lock:
            self._check_open()
            rows = self._rows.get(session_id, [])
            end = len(rows) if upto is None else max(0, min(upto, len(rows)))
        return self._pages(rows, max(0, after), end)

    def last_seq(self, session_id: str) -> int:
        """Return the session's last sequence number, 0 for an unknown session."""
        with self._lock:
            self._check_open()
            return len(self._rows.get(session_id, ()))

    def event_ids(self, session_id: str, *, upto: int) -> list[str]:
        """Return the ids of the events with `seq <= upto`, in order; see `EventLog.event_ids`."""
        return [event.id for event in self.read(session_id, upto=upto)]

    def last_seq_of(self, session_id: str, types: Collection[str], *, upto: int) -> int:
        """Return the number of the last event of one of these types; see `EventLog.last_seq_of`."""
        return max((event.seq for event in self.read(session_id, upto=upto) if event.type in types), default=0)

    def sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions, in order of their first event."""
        with self._lock:
            self._check_open()
            return tuple(self._rows)

    def heads(self) -> tuple[SessionHead, ...]:
        """Return the last event of every session; see `EventLog.heads`."""
        with self._lock:
            self._check_open()
            newest: dict[str, int] = {}
            for session_id, seq in reversed(self._all):
                newest.setdefault(session_id, seq)
            heads = [SessionHead(id, seq, self._rows[id][seq - 1].timestamp) for id, seq in newest.items()]
            return tuple(reversed(heads))

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a saved state; see `EventLog.put_snapshot`. Raises `StoreError` where it has no such event."""
        check_snapshot(snapshot)
        check_id(snapshot.session_id, "a session id")
        with self._lock:
            self._check_open()
            last = len(self._rows.get(snapshot.session_id, ()))
            check_snapshot(snapshot, last=last)
            if any(row.type == "redact" for row in self._rows[snapshot.session_id][snapshot.seq :]):
                return
            by_seq = self._snapshots.setdefault((snapshot.session_id, snapshot.version), {})
            by_seq[snapshot.seq] = snapshot
            for seq in sorted(by_seq)[:-SNAPSHOTS_KEPT]:
                del by_seq[seq]

    def get_snapshot(self, session_id: str, version: str, *, upto: int | None = None) -> Snapshot | None:
        """Return the newest snapshot of this version with `seq <= upto`, `None` where there is none."""
        with self._lock:
            self._check_open()
            by_seq = self._snapshots.get((session_id, version), {})
            seqs = [seq for seq in by_seq if upto is None or seq <= upto]
            return by_seq[max(seqs)] if seqs else None

    def verify(self) -> Iterator[Finding]:
        """Return the first event of each session that does not verify."""
        with self._lock:
            self._check_open()
            scan = ChainScan()
            for position, (session_id, seq) in enumerate(self._all, 1):
                scan.take(position, self._rows[session_id][seq - 1])
        return iter(scan.findings())

    def recorded_findings(self) -> tuple[Finding, ...]:
        """Return nothing: what is in memory is lost with it."""
        return ()

    def close(self) -> None:
        """End the use of this log; closing twice is harmless."""
        self._closed = True

    def _store(self, batch: Batch) -> tuple[Event, ...]:
        rows = self._rows.get(check_id(batch.session_id, "a session id"), [])
        head = ChainHead(len(rows), rows[-1].link if rows else GENESIS)
        built = prepare_batch(batch, head, lambda seq: rows[seq - 1].type if seq <= len(rows) else None)
        if built.rows:
            self._keep(batch.session_id, built)
        return built.events

    def _keep(self, session_id: str, built: PreparedBatch) -> None:
        rows = self._rows.setdefault(session_id, [])
        for target in built.erased:
            rows[target - 1] = rows[target - 1]._replace(body=None)
            for (session, _), by_seq in self._snapshots.items():
                for seq in [seq for seq in by_seq if session == session_id and seq >= target]:
                    del by_seq[seq]
        rows.extend(built.rows)
        self._all.extend((session_id, row.seq) for row in built.rows)

    def _pages(self, rows: list[EventRow], start: int, end: int) -> Iterator[Event]:
        while start < end:
            with self._lock:
                self._check_open()
                page = list(islice(rows, start, min(start + _PAGE, end)))
                previous = rows[start - 1].link if start else GENESIS
            for row in page:
                yield decode_row(row, previous)
                previous = row.link
            start += len(page)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the log is closed", hint="Open it again")
