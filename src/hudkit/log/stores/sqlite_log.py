"""The embedded log: one SQLite file in WAL mode, a hash chain per session, and a high-water mark beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import count
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import Any

from hudkit.errors import StoreBusy, StoreDamaged, StoreError, StoreGone, StoreReadOnly
from hudkit.log import Batch, Event, Finding, SessionHead, Snapshot
from hudkit.log.codec import GENESIS, is_id
from hudkit.log.event_log import ANOTHER_EVENT, MORE_THAN_ONE_SESSION
from hudkit.log.stores import log_tables
from hudkit.log.stores.hash_chain import ChainHead, ChainScan, EventRow, check_id, damage_error
from hudkit.log.stores.high_water_mark import HighWaterMark, HighWaterMarkFile, SyncTimer, sync_file
from hudkit.log.stores.log_tables import (
    COLUMNS,
    LOG_SCHEMA,
    ArchivedBodies,
    ArchiveReader,
    BatchAppends,
    append_dropped_rows,
    archive_chunk,
    read_events,
    record_damage,
    store_batch,
    unarchive_chunk,
)
from hudkit.log.stores.migrations import check_current, check_definitions, check_version, migrate
from hudkit.log.stores.sqlite_files import (
    OpenFiles,
    check_private_path,
    companion_path,
    connect_alone,
    connect_reader,
    connect_writer,
    create_private_file,
    is_open_elsewhere,
    store_errors,
    sync_directory,
    translate_error,
)

_Part = Callable[[sqlite3.Connection], list[Finding]]
_MALFORMED = (sqlite3.Error, sqlite3.Warning, MemoryError, OverflowError, UnicodeError, TypeError, ValueError)
_CHECKPOINT_PAGES = 1000
_LAST = 2**63 - 1
_SELECT_HEADS = (
    "SELECT e.session_id, e.seq, e.timestamp FROM heads h"
    " JOIN events e ON e.session_id = h.session_id AND e.seq = h.seq ORDER BY e.position"
)
_opening = RLock()


class SqliteLog(BatchAppends):
    """An `EventLog` in a file. Several threads and several processes may use the same file at once.

    A call returns when its events would survive a loss of power, but for batches that need no sync. Writers are
    ordered by SQLite's write lock; heads are read inside the write transaction, so nothing is cached that another
    process could make stale.
    """

    _refusals_of_all = (StoreBusy, StoreGone, StoreReadOnly)

    def __init__(
        self, files: OpenFiles, path: Path, db: sqlite3.Connection, mark: HighWaterMarkFile | None, timeout: float
    ) -> None:
        """Use `open`. `mark` is `None` where the log is read only."""
        self._files = files
        self._path = path
        self._db = _escape_invalid_text(db)
        self._mark = mark
        self._timeout = timeout
        self._lock = RLock()
        self._closed = False
        self._pages = 0  # written since the last checkpoint, roughly
        self._truncate = False  # the write-ahead log still holds a payload that was redacted
        self._unsynced: HighWaterMark | None = None  # of the last commit, where that did not wait for the disk
        self._waits = True  # whether a commit of this connection waits for the disk
        self._sync_timer = SyncTimer(self._sync_in_time)

    @property
    def path(self) -> Path:
        """Return the log's file."""
        return self._path

    @classmethod
    def open(cls, path: str | PathLike[str], *, read_only: bool = False, busy_timeout: float = 5.0) -> SqliteLog:
        """Return a log that is open; unless `read_only`, make the file (0600) and its directory (0700) where missing.

        `busy_timeout` is in seconds. A loss that the high-water mark shows is recorded in the file, and named by
        `verify` from then on; what is left can be read and appended to. Raises `StoreUnsafe`, `StoreReadOnly`,
        `StoreTooNew`, `StoreDamaged` (not a log, or malformed), `StoreBusy`, `StoreFull`.
        """
        file = Path(path)
        with store_errors(file), _opening:
            file = file.absolute()
            check_private_path(file, create=not read_only)
            return (_open_reader if read_only else _open_writer)(file, busy_timeout)

    def read(
        self, session_id: str, *, after: int = 0, upto: int | None = None, past_damage: bool = False
    ) -> Iterator[Event]:
        """Return the events with `after < seq <= upto` that are there when this is called; see `EventLog.read`.

        How they are verified: `log_tables.read_events`.
        """
        end = 0
        if is_id(session_id):
            with self._reading() as db:
                # A tail that is gone is damage, too; who goes past it ends where appending goes on.
                end = (_last_seq if past_damage else _expected_last_seq)(db, session_id)
        end = end if upto is None else min(upto, end)
        return read_events(self._fetch, session_id, max(0, after), end, past_damage=past_damage)

    def last_seq(self, session_id: str) -> int:
        """Return the session's last sequence number, 0 for an unknown session."""
        if not is_id(session_id):
            return 0
        with self._lock:  # asked before each frame: `_reading` written out, which takes longer than the question
            try:
                self._check_open()
                return _last_seq(self._db, session_id)
            except StoreError:
                raise
            except Exception as error:
                translated = translate_error(error, self._path)
                if translated is None:
                    raise
                raise translated from error

    def event_ids(self, session_id: str, *, upto: int) -> list[str]:
        """Return the ids of the events with `seq <= upto`, in order; see `EventLog.event_ids`."""
        if not is_id(session_id):
            return []
        # As bytes, decoded at once: a decoder for each row takes longer than the reading.
        rows = self._fetch(
            "SELECT CAST(id AS BLOB) FROM events WHERE session_id = ? AND seq <= ? ORDER BY seq", (session_id, upto)
        )
        ids = b"\n".join([row[0] for row in rows]).decode("utf-8", "surrogateescape")
        return ids.split("\n") if rows else []

    def last_seq_of(self, session_id: str, types: Collection[str], *, upto: int) -> int:
        """Return the number of the last event of one of these types; see `EventLog.last_seq_of`."""
        if not is_id(session_id):
            return 0
        marks = ", ".join("?" * len(types))
        of_types = f"session_id = ? AND seq <= ? AND type IN ({marks})"
        rows = self._fetch(
            f"SELECT seq FROM events WHERE {of_types} ORDER BY seq DESC LIMIT 1", (session_id, upto, *types)
        )
        return int(rows[0][0]) if rows else 0

    def sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions with at least one event, in order of their first event."""
        return tuple(str(row[0]) for row in self._fetch("SELECT session_id FROM heads ORDER BY key", ()))

    def heads(self) -> tuple[SessionHead, ...]:
        """Return the last event of every session; see `EventLog.heads`."""
        return tuple(SessionHead(str(row[0]), int(row[1]), int(row[2])) for row in self._fetch(_SELECT_HEADS, ()))

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a saved projection; the newest three of a session and version are kept.

        Raises `StoreError` where the session has no event `snapshot.seq`.
        """
        log_tables.check_snapshot(snapshot)
        check_id(snapshot.session_id, "a session id")
        with self._writing(sync=False) as (db, _):  # it only saves time, and is behind its events
            log_tables.put_snapshot(db, snapshot)
            db.execute("COMMIT")
        self._pages += 3 + len(snapshot.body) // 4096
        self._sync_timer.start()

    def get_snapshot(self, session_id: str, version: str, *, upto: int | None = None) -> Snapshot | None:
        """Return the newest snapshot of this version with `seq <= upto`; one that does not verify is passed over."""
        if not is_id(session_id) or not _is_text(version):
            return None
        last = _LAST if upto is None else max(0, min(upto, _LAST))
        try:
            with self._reading() as db:
                return log_tables.get_snapshot(db, session_id, version, last)
        except StoreDamaged:
            return None

    def verify(self) -> Iterator[Finding]:
        """Return the first bad event of each session, and what is wrong with the medium; reads all of it first."""
        with store_errors(self._path):
            self._check_open()
            return iter(verify_database(self._path, self._timeout))

    def recorded_findings(self) -> tuple[Finding, ...]:
        """Return what was found wrong when the log was opened or written; see `EventLog.recorded_findings`."""
        with self._reading() as db:
            return tuple(_recorded(db))

    def archive(self, session_id: str, below: int) -> ArchivedBodies:
        """Compress the bodies of a session's events before event `below`; return what was moved.

        Everything reads and verifies as before. Each chunk is a transaction of its own: other writers come between,
        and what is interrupted leaves a whole log.
        """
        done, after = ArchivedBodies(), 0
        while True:
            with self._writing() as (db, _):
                step = archive_chunk(db, check_id(session_id, "a session id"), after, below)
                db.execute("COMMIT")
            if not step.last:
                return done
            after = step.last
            done = ArchivedBodies(
                done.events + step.events, done.bytes + step.bytes, done.packed + step.packed, step.last
            )
            self._pages += (step.bytes + step.packed) // 4096
            self._checkpoint()

    def unarchive(self, session_id: str) -> ArchivedBodies:
        """Put all archived bodies of a session back; return what was moved.

        Raises `StoreDamaged` where some cannot be unpacked.
        """
        done = ArchivedBodies()
        while True:
            with self._writing() as (db, _):
                try:
                    step = unarchive_chunk(db, check_id(session_id, "a session id"))
                except ValueError as error:
                    raise damage_error(Finding("payload", session_id, 0, str(error))) from error
                db.execute("COMMIT")
            if not step.packed:
                return done
            done = ArchivedBodies(
                done.events + step.events, done.bytes + step.bytes, done.packed + step.packed, step.last
            )
            self._pages += step.bytes // 4096
            self._checkpoint()

    def unpacked(self, session_id: str, below: int) -> tuple[int, int]:
        """Return how many bodies of events before event `below` are not archived, and their bytes."""
        sql = "SELECT count(*), coalesce(sum(length(body)), 0) FROM events WHERE session_id = ? AND seq < ?"
        ((count, size),) = self._fetch(f"{sql} AND body IS NOT NULL AND type != 'redact'", (session_id, below))
        return int(count), int(size)

    def archived(self) -> dict[str, tuple[int, int]]:
        """Return, by session, how many chunks its archive has, and their bytes."""
        sql = "SELECT session_id, count(*), sum(length(body)) FROM archive GROUP BY session_id"
        return {str(name): (count, size) for name, count, size in self._fetch(sql, ())}

    def rewrite(self) -> bool:
        """Write the whole file anew, so that nothing is left in it of what was removed.

        Returns whether the write-ahead log could be emptied, too (not while another process reads for longer than the
        time-out). Raises a `StoreError`.
        """
        with self._reading() as db:
            if self._mark is None:
                raise StoreReadOnly(f"{self._path} was opened read-only", hint="Open it for writing")
            self._sync()
            self._mark.sync()
            self._have_commits_wait(True)
            db.execute("VACUUM")
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            self._pages, self._truncate = 0, bool(busy)
            return not busy

    def close(self) -> None:
        """Sync and close; closing twice is harmless."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            with store_errors(self._path):
                try:
                    self._sync_timer.cancel()
                    self._sync()
                    if self._truncate:
                        self._checkpoint()
                    if self._mark is not None:
                        self._mark.close()
                finally:
                    self._db.close()

    def __enter__(self) -> SqliteLog:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _commit(self, batches: Sequence[Batch], *, together: bool) -> list[tuple[Event, ...] | StoreError]:
        answers: list[tuple[Event, ...] | StoreError] = []
        pages, erased, sync = 0, False, any(batch.sync for batch in batches)
        with self._writing(sync=sync) as (db, mark):
            last: HighWaterMark | None = None
            for batch in batches:
                try:
                    written = store_batch(db, batch)
                except StoreError as error:
                    if together:
                        raise
                    answers.append(error)
                    continue
                answers.append(written.events)
                pages += written.pages
                erased = erased or written.erased
                if written.mark is not None:
                    last = written.mark
            db.execute("COMMIT")
            self._files.check(db)
            if last is not None and sync:
                # A commit that is synced syncs those before it.
                self._unsynced = None
                with suppress(OSError):  # the events are durable; the next commit writes the mark again
                    mark.write(last)
            elif last is not None:
                self._unsynced = last
                self._sync_timer.start()
        self._pages += pages
        self._truncate = self._truncate or erased
        if sync:
            self._checkpoint()
        return answers

    def _reconcile(self, remarks: Sequence[Finding]) -> None:
        """Compare the mark with the events: read back or record what was lost, bring the mark up to date.

        `remarks` are recorded, too.
        """
        with self._writing() as (db, mark):
            for remark in remarks:
                record_damage(db, remark)
            mark_read = mark.peek()
            lost = _compare_mark(db, mark_read)
            if lost is not None and isinstance(mark_read, HighWaterMark):
                lost = _read_back(db, self._path, mark_read)
            if lost is not None:
                record_damage(db, lost)
            there = _newest_event(db)
            db.execute("COMMIT")
            if there != mark_read and (mark_read or there.position):
                mark.write(there)
                mark.sync()

    def _sync_in_time(self) -> None:
        self._sync()
        if self._truncate:
            self._checkpoint()
        else:
            self._checkpoint_aside()

    def _checkpoint_aside(self) -> None:
        """Do what `_checkpoint` does over a connection of its own, so that others read and write meanwhile.

        What is committed meanwhile may reach the database before its mark is durable, as the mark of every commit may
        be a second behind.
        """
        if self._mark is None or self._pages < _CHECKPOINT_PAGES:
            return
        self._pages = 0
        with suppress(OSError, sqlite3.Error, StoreError), closing(connect_writer(self._path, self._timeout)) as db:
            self._sync()
            self._mark.sync()
            db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def _sync(self) -> None:
        """Make durable what was committed without waiting for the disk, and write its mark."""
        unsynced = self._unsynced
        if unsynced is None or self._mark is None:
            return
        # Without the lock, so that nobody waits. No lock of SQLite's is on this file, which closing it would end.
        fd = os.open(companion_path(self._path, "-wal"), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            sync_file(fd)
        finally:
            os.close(fd)
        with self._lock:
            if self._unsynced is not unsynced:
                return  # what came since was synced, or will be
            self._mark.lock(self._timeout)
            try:
                there = self._mark.peek()
                if not isinstance(there, HighWaterMark) or there.position < unsynced.position:
                    self._mark.write(unsynced)  # else another process has written a later one
            finally:
                self._mark.unlock()
            self._unsynced = None

    @contextmanager
    def _writing(self, *, sync: bool = True) -> Iterator[tuple[sqlite3.Connection, HighWaterMarkFile]]:
        """A write transaction with the mark's lock; the block commits and then writes the mark.

        Without `sync` the commit does not wait for the disk, and writes no mark: then nothing is asked of the system
        that is not needed, as with each question another thread may come between. Its files are looked at behind it.
        """
        with self._lock:
            self._check_open()
            db, mark = self._db, self._mark
            if mark is None:
                raise StoreReadOnly(f"{self._path} was opened read-only", hint="Open it for writing")
            if sync:
                self._files.check(db)
            try:
                self._have_commits_wait(sync)
                # In this order always, so that two processes cannot wait for each other: SQLite's lock, then the
                # mark's.
                db.execute("BEGIN IMMEDIATE")
                if sync:
                    mark.lock(self._timeout)
                yield db, mark
            except BaseException as error:
                if db.in_transaction:
                    with suppress(sqlite3.Error):
                        db.execute("ROLLBACK")
                translated = translate_error(error, self._path) if isinstance(error, Exception) else None
                if translated is None:
                    raise
                raise translated from error
            finally:
                if sync:
                    mark.unlock()

    def _have_commits_wait(self, waits: bool) -> None:
        """Have the next commits wait for the disk, or not; return nothing. Checkpoints wait for it in any case."""
        if waits is not self._waits:
            self._db.execute(f"PRAGMA synchronous = {'FULL' if waits else 'NORMAL'}")
            self._waits = waits

    def _checkpoint(self) -> None:
        """Move the write-ahead log into the database where it is long; what was committed is durable either way."""
        if self._mark is None or (self._pages < _CHECKPOINT_PAGES and not self._truncate):
            return
        with self._lock, suppress(OSError, sqlite3.Error, StoreError):
            # First the mark: a checkpoint throws away the log that would tell of a loss.
            self._sync()
            self._mark.sync()
            how = "TRUNCATE" if self._truncate else "PASSIVE"
            busy = self._db.execute(f"PRAGMA wal_checkpoint({how})").fetchone()[0]
            self._pages, self._truncate = 0, self._truncate and bool(busy)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, store_errors(self._path):
            self._check_open()
            yield self._db

    def _fetch(self, sql: str, args: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._reading() as db:
            return db.execute(sql, args).fetchall()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the log is closed", hint="Open it again")


def _read_back(db: sqlite3.Connection, path: Path, mark: HighWaterMark) -> Finding | None:
    """Append the events that SQLite dropped with the rest of a write-ahead log; return what is to be recorded.

    It drops everything behind a damaged frame; the frames behind are there as long as nothing was written over them,
    and the hash chain proves their rows. Where the last ones stay lost, the finding says so.
    """
    with suppress(FileNotFoundError):
        count = append_dropped_rows(db, companion_path(path, "-wal").read_bytes(), mark)
        if count and _compare_mark(db, mark) is None:
            message = f"the write-ahead log was damaged; {count} events behind the damage were read back"
            return Finding("file", "", 0, message)
    return _compare_mark(db, mark)


def _newest_event(db: sqlite3.Connection) -> HighWaterMark:
    """Return the mark that the newest stored event asks for. Raises `StoreDamaged` where its row has no such values.

    One flipped bit in the table's definition is enough for that: `position` is then a column without a value.
    """
    row = db.execute("SELECT position, session_id, seq, link FROM events ORDER BY position DESC LIMIT 1").fetchone()
    if row is None:
        return HighWaterMark(0, "", 0, GENESIS)
    if tuple(map(type, row)) != (int, str, int, bytes):
        raise damage_error(Finding("file", "", 0, "the row of the newest event does not hold what an event has"))
    return HighWaterMark(*row)


def _is_text(text: str) -> bool:
    """Return whether SQLite can be asked about `text`."""
    try:
        return bool(text.encode()) or not text
    except (UnicodeEncodeError, AttributeError):
        return False


def _open_reader(path: Path, timeout: float) -> SqliteLog:
    files = OpenFiles(path)
    db = connect_log_reader(path, timeout)
    try:
        check_current(db, path, LOG_SCHEMA)
        check_definitions(db, path, LOG_SCHEMA)
    except BaseException:
        db.close()
        raise
    return SqliteLog(files, path, db, None, timeout)


def _open_writer(path: Path, timeout: float) -> SqliteLog:
    with suppress(FileExistsError):
        create_private_file(path)
    remarks = put_foreign_wal_aside(path, timeout)
    if path.stat().st_size:  # a newer or a foreign file must stay as it is: look before anything can be written
        probe = connect_reader(path, timeout)
        try:
            check_version(probe, path, LOG_SCHEMA)
        finally:
            probe.close()
    mark = HighWaterMarkFile(companion_path(path, ".mark"))
    try:
        files = OpenFiles(path)
        db = connect_writer(path, timeout)
        try:
            if migrate(db, path, LOG_SCHEMA):
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            check_definitions(db, path, LOG_SCHEMA)
            log = SqliteLog(files, path, db, mark, timeout)
            log._reconcile(remarks)
            return log
        except BaseException:
            db.close()
            raise
    except BaseException:
        mark.close()
        raise


# -- a write-ahead log that is of another database -------------------------------------------------------------


def connect_log_reader(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection that reads a log, without a write-ahead log that is of another database."""
    if is_wal_foreign(path, timeout):
        return connect_alone(path, timeout)
    return connect_reader(path, timeout)


def is_wal_foreign(path: Path, timeout: float) -> bool:
    """Return whether the write-ahead log beside a database is of another one.

    SQLite cannot tell: it reads every page of it as a page of this database, and writes them there in the end. But
    a log is only appended to. So it is another one's where with it the event of the mark is not there, and neither
    is the newest event that the database has without it, while the database alone is whole. An example:

        alone:       events 1 2 3         mark: event 3
        with a log   events x y           -> of another database: what is in it was never ours
        cut short    events 1 2 3         mark: event 5 -> our own: 4 and 5 are lost
    """
    mark = _read_mark(path, timeout)
    wal = companion_path(path, "-wal")
    if not isinstance(mark, HighWaterMark) or not mark.position or not wal.exists() or not wal.stat().st_size:
        return False
    if _event_at(path, mark.position, timeout) == mark:
        return False
    try:
        with closing(_escape_invalid_text(connect_alone(path, timeout))) as alone:
            if _integrity(alone) or _events(alone):
                return False
            newest = _newest_event(alone)
    except _MALFORMED:
        return False
    if newest.position:
        return _event_at(path, newest.position, timeout) != newest
    return _event_at(path, mark.position, timeout) is not None


def _event_at(path: Path, position: int, timeout: float) -> HighWaterMark | None:
    """Return the event at a position of a log as SQLite reads it, as the mark would name it; `None` for none.

    So it is where what is read is no log, or malformed. Raises what SQLite raises of locks and of the medium.
    """
    try:
        with closing(_escape_invalid_text(connect_reader(path, timeout))) as db:
            sql = "SELECT position, session_id, seq, link FROM events WHERE position = ?"
            row = db.execute(sql, (position,)).fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
            return None
        raise
    return None if row is None else HighWaterMark(*row)


def put_foreign_wal_aside(path: Path, timeout: float) -> list[Finding]:
    """Rename a write-ahead log that is of another database, and return what is to be said of it.

    Nothing of it reaches the database, and its owner can have it back.
    """
    if not path.exists() or not is_wal_foreign(path, timeout):
        return []
    if is_open_elsewhere(path):
        hint = "End the programs that have it open, then try again"
        raise StoreBusy(f"the write-ahead log of {path} is of another database, and in use", hint=hint)
    names = (companion_path(path, f".before-open-{number}-wal") for number in count(1))
    aside = next(name for name in names if not os.path.lexists(name))
    companion_path(path, "-wal").rename(aside)
    companion_path(path, "-shm").unlink(missing_ok=True)
    sync_directory(path.parent)
    return [Finding("file", "", 0, f"the write-ahead log was that of another database; it is {aside.name} now")]


# -- verification: everything that can be wrong with a log ---------------------------------------------------


def verify_database(path: Path, timeout: float) -> list[Finding]:
    """Return all findings of a log: of the file, of the first bad event of each session, of what was lost.

    All of it is read once. Four looks, of which each goes on where another fails: SQLite's own integrity check, the
    definitions of the tables, the hash chain of every session (`hash_chain.ChainScan`), and what was recorded as
    damage before. Then the high-water mark: events that were acknowledged and are gone leave no other trace.

    Reads on a connection of its own, as of one moment, and holds up no writer. Raises `StoreError` only where the
    file cannot be opened for another reason than damage (`StoreBusy`, say).
    """
    mark = _read_mark(path, timeout)  # before the events: a writer may be at work, and its mark follows its commit
    foreign: list[Finding] = []
    try:
        if is_wal_foreign(path, timeout):
            foreign.append(Finding("file", "", 0, "the write-ahead log is that of another database: it is not read"))
        db = _escape_invalid_text(connect_log_reader(path, timeout))
    except _MALFORMED as error:
        return [Finding("file", "", 0, f"{path}: {error}")]
    try:
        db.execute("BEGIN")
        check_current(db, path, LOG_SCHEMA)
        findings: list[Finding] = []
        for part in (_integrity, partial(_altered, path), _events, _recorded):
            findings += _guarded(part, db, path)
        if not any(finding.code == "file" for finding in findings):
            lost = _compare_mark(db, mark)
            findings += [] if lost is None else [lost]
        return list(dict.fromkeys(foreign + findings))
    except StoreDamaged as error:
        return [_finding_of(error)]
    except _MALFORMED as error:
        return [Finding("file", "", 0, f"{path}: {error}")]
    finally:
        db.close()


def _read_mark(path: Path, timeout: float) -> HighWaterMark | bytes:
    """Return the mark beside a database, or the bytes that are not one; empty bytes where there is none."""
    try:
        mark = HighWaterMarkFile(companion_path(path, ".mark"), read_only=True)
    except FileNotFoundError:
        return b""
    try:
        return mark.read(timeout)
    finally:
        mark.close()


def _compare_mark(db: sqlite3.Connection, mark: HighWaterMark | bytes) -> Finding | None:
    """Return what a mark knows that the database does not.

    `None` where the database holds the event that the mark names.
    """
    if not isinstance(mark, HighWaterMark):
        return Finding("file", "", 0, "the high-water mark was damaged") if mark else None
    if mark.position == 0:
        return None
    last = _last_position(db)
    if last < mark.position:
        first = min(_last_seq(db, mark.session_id) + 1, mark.seq)
        missing = mark.position - last
        whose = f"the last was event {mark.seq} of this session"
        if missing > mark.seq - first + 1:
            whose = MORE_THAN_ONE_SESSION
        message = f"event {first}: lost; {missing} acknowledged events are missing, {whose}"
        return Finding("lost", mark.session_id, first, message)
    row = db.execute("SELECT session_id, seq, link FROM events WHERE position = ?", (mark.position,)).fetchone()
    if row != (mark.session_id, mark.seq, mark.link):
        return Finding("lost", mark.session_id, mark.seq, f"event {mark.seq}: {ANOTHER_EVENT}")
    return None


def _guarded(part: _Part, db: sqlite3.Connection, path: Path) -> list[Finding]:
    try:
        return part(db)
    except _MALFORMED as error:
        return [Finding("file", "", 0, f"{path}: {error}")]


def _last_position(db: sqlite3.Connection) -> int:
    """Return the global position of the last event of all sessions; 0 where there is none."""
    return int(db.execute("SELECT coalesce(max(position), 0) FROM events").fetchone()[0])


def _integrity(db: sqlite3.Connection) -> list[Finding]:
    problems = [str(row[0]) for row in db.execute("PRAGMA integrity_check(3)")]
    return [] if problems == ["ok"] else [Finding("file", "", 0, "; ".join(problems))]


def _altered(path: Path, db: sqlite3.Connection) -> list[Finding]:
    try:
        check_definitions(db, path, LOG_SCHEMA)
    except StoreDamaged as error:
        return [_finding_of(error)]
    return []


def _events(db: sqlite3.Connection) -> list[Finding]:
    scan = ChainScan()
    findings: list[Finding] = []
    archived = ArchiveReader(lambda sql, args: db.execute(sql, args).fetchall())
    try:
        for position, *values in db.execute(f"SELECT position, {COLUMNS} FROM events NOT INDEXED ORDER BY position"):
            row = EventRow(*values)
            if row.body is None:
                row = row._replace(body=archived.body(row.session_id, row.seq))
            scan.take(position, row)
        without_head = set(scan.sessions())
        for session_id, seq, link in db.execute("SELECT session_id, seq, link FROM heads ORDER BY key"):
            scan.expect(session_id, ChainHead(seq, link))
            without_head.discard(session_id)
        findings += [Finding("chain", id_, 1, f"session {id_!a} has events but no head") for id_ in without_head]
    except _MALFORMED as error:
        findings.append(Finding("file", "", 0, str(error)))
    bad = {finding.session_id for finding in scan.findings()}
    return scan.findings() + [finding for finding in findings if finding.session_id not in bad]


def _recorded(db: sqlite3.Connection) -> list[Finding]:
    return [Finding(*row) for row in db.execute("SELECT code, session_id, seq, message FROM damage ORDER BY key")]


def _finding_of(error: StoreError) -> Finding:
    finding = error.details.get("finding")
    return finding if isinstance(finding, Finding) else Finding("file", "", 0, error.message)


def _escape_invalid_text(db: sqlite3.Connection) -> sqlite3.Connection:
    """Return the same connection; text that is not UTF-8 now comes back with escapes instead of stopping the read."""
    db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return db


def _expected_last_seq(db: sqlite3.Connection, session_id: str) -> int:
    """Return the last number that should be there: what is stored, or what the session's head says."""
    row = db.execute("SELECT seq FROM heads WHERE session_id = ?", (session_id,)).fetchone()
    from_head = row[0] if row is not None and type(row[0]) is int else 0
    return max(_last_seq(db, session_id), from_head)


def _last_seq(db: sqlite3.Connection, session_id: str) -> int:
    """Return the last sequence number that is stored, 0 for an unknown session."""
    query = "SELECT coalesce(max(seq), 0) FROM events WHERE session_id = ?"
    return int(db.execute(query, (session_id,)).fetchone()[0])
