"""Backups of a database, restoring one, and repairing a damaged log: what verifies is kept, what does not is named.

Backing up and restoring are the same for each kind of our databases; a `DatabaseKind` says how a file is read through
and what brings it to this release. `LOG` is that of logs, also of worlds.

**Replacing a log** never loses the one that is there. Under a lock that nobody else can have, the present files get a
second name (`hudkit.db.before-repair-TIME`), then one rename puts the new file in place. Killed at any moment, it
leaves the old log or the new one, each whole.

**Repairing.** A hash chain says of every row whether it is the one that was appended, wherever the row was read. So
rows may be gathered from anywhere: by SQL, and where SQL fails, from the raw pages of the database and of its
write-ahead log (`raw_pages.carved_rows`). Each session is then walked from its first event on, and of all rows with a
number the one is taken that verifies. Where none does, an `event.gap` takes its place, so that all others keep their
numbers:

    rows        1  2  3' 4  5        3' is damaged: its digest is that of another body
    new log     1  2  gap 4  5       the links of gap, 4 and 5 are computed anew

Behind an event of which not even the link is left, a row cannot be tied to the one before it; it is taken where the
row behind it, or the session's head, confirms its own link.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, NamedTuple, NoReturn

import msgspec

from hudkit.errors import ConfigError, StoreBusy, StoreDamaged, StoreError, StoreTooNew
from hudkit.log import Finding, Origin, type_of
from hudkit.log.codec import GENESIS, encode_payload, is_id, payload_digest
from hudkit.log.payloads import EventGap, Redact
from hudkit.log.stores.hash_chain import (
    FINDING_MESSAGES,
    ChainHead,
    EventRow,
    decode_row,
    redaction_target,
    row_link,
)
from hudkit.log.stores.log_tables import COLUMNS, ArchiveReader
from hudkit.log.stores.migrations import Schema, check_definitions, check_version, migrate
from hudkit.log.stores.raw_pages import carved_rows
from hudkit.log.stores.sqlite_files import (
    DATABASE_SUFFIXES,
    OpenFiles,
    check_private_path,
    companion_path,
    connect_reader,
    connect_writer,
    create_private_file,
    is_open_elsewhere,
    store_errors,
    sync_directory,
)
from hudkit.log.stores.sqlite_log import (
    SqliteLog,
    connect_log_reader,
    is_wal_foreign,
    put_foreign_wal_aside,
    verify_database,
)

_BACKUP = ".backup-"
_BEFORE = ".before-"
_PART = ".part-"
_SQLITE = b"SQLite format 3\0"
_BUSY_SECONDS = 5.0
_NOWHERE = float("inf")
_STAMPED = re.compile(r"(\d{8}T\d{6})(?:\.(\d{3}))?Z")
_LEFTOVER = re.compile(
    rf"(?:{re.escape(_BACKUP)}\d{{8}}T\d{{6}}\.\d{{3}}Z)?{re.escape(_PART)}(\d+)(?:-wal|-shm|-journal|\.mark)?"
)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_MALFORMED = (sqlite3.Error, sqlite3.Warning, StoreError, OverflowError, UnicodeError)


# -- backups ---------------------------------------------------------------------------------------------------------


class DatabaseKind(NamedTuple):
    """What a backup needs to know of a kind of database.

    `find_damage` reads a whole file and returns what is wrong with it; `upgrade` brings a file to this release's
    schema. Both raise a `StoreError`.
    """

    find_damage: Callable[[Path], list[Finding]]
    upgrade: Callable[[Path], None]
    damage_hint: str = "`hudkit restore` puts the last backup back"


def database_kind(schema: Schema) -> DatabaseKind:
    """Return the kind of the databases of a schema that have no chain of hashes: SQLite's own checks have to do."""

    def find_damage(path: Path) -> list[Finding]:
        try:
            with closing(connect_reader(path, _BUSY_SECONDS)) as db:
                if check_version(db, path, schema) == len(schema.steps):
                    check_definitions(db, path, schema)
                problems = [str(row[0]) for row in db.execute("PRAGMA integrity_check(3)")]
                orphans = len(db.execute("PRAGMA foreign_key_check").fetchall())
        except StoreDamaged as error:
            return [Finding("file", "", 0, error.message)]
        except StoreError:
            raise
        except _MALFORMED as error:
            return [Finding("file", "", 0, f"{path}: {error}")]
        if orphans:
            problems = [*(problem for problem in problems if problem != "ok"), f"{orphans} rows belong to none"]
        return [] if problems == ["ok"] else [Finding("file", "", 0, "; ".join(problems))]

    def upgrade(path: Path) -> None:
        with closing(connect_writer(path, _BUSY_SECONDS)) as db:
            migrate(db, path, schema)
            check_definitions(db, path, schema)

    return DatabaseKind(find_damage, upgrade)


def backup_paths(path: Path) -> list[Path]:
    """Return the backups that lie beside a database, the oldest first."""
    return sorted(file for file in _companions(path, _BACKUP) if backup_time(file) is not None)


def backup_time(backup: Path) -> int | None:
    """Return the time (Unix ms) in the name of a backup; `None` for another name.

    A file's own time is no help: whoever copies the file may set it.
    """
    parts = _STAMPED.fullmatch(backup.name.rpartition(_BACKUP)[2])
    if parts is None:
        return None
    try:
        seconds = datetime.strptime(parts[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:  # the 31st of a short month
        return None
    return int(seconds) * 1000 + int(parts[2] or 0)


def backup_source(copy: Path) -> str:
    """Return the name of the file that a backup, or what a restore or repair left, is of; empty for another name."""
    source, mark, _ = copy.name.rpartition(_BACKUP)
    if mark and backup_time(copy) is not None:
        return source
    return copy.name.rpartition(_BEFORE)[0]


def back_up(
    path: Path, now: int, *, target: Path | None = None, keep: int = 0, kind: DatabaseKind | None = None
) -> tuple[Path, list[Path]]:
    """Copy a database, as of one moment and also while others write to it.

    Returns the copy and what was rotated away. The copy is read again and verified before it has its name; its mode
    is 0600. It goes to `target`, or beside the database under a name with the time `now` (Unix ms); of those beside
    it, the new one and the newest others stay, `keep` in all (0: all). `kind` is that of a log where none is given.

    Raises `StoreDamaged` where the database does not verify: then no copy is made, and the earlier ones stay. Raises
    `ConfigError` where there is a file `target`, and a `StoreError`.
    """
    kind = kind or LOG
    path = path.absolute()
    copy = target.absolute() if target is not None else companion_path(path, f"{_BACKUP}{_stamp(now)}")
    with store_errors(copy):
        check_private_path(path, create=False)
        check_private_path(copy, create=True)
        _remove_leftovers(copy if target is not None else path)
        part = companion_path(copy, f"{_PART}{os.getpid()}")
        part.unlink(missing_ok=True)
        create_private_file(part)
        try:
            with store_errors(path):
                _copy_database(path, part)
            try:
                damage = kind.find_damage(part)
            except StoreTooNew as error:
                raise StoreTooNew(error.message.replace(str(part), str(path)), hint=error.hint) from None
            if damage:
                raise StoreDamaged(
                    f"{path} is damaged ({damage[0].message}): no backup was made, and earlier ones stay as they are",
                    hint=kind.damage_hint,
                    finding=damage[0],
                )
            _give_name(part, copy)
        finally:
            _remove_database(part)
        sync_directory(copy.parent)
        others = [file for file in backup_paths(path) if file != copy]
        # The new one stays in any case: with the clock set back, its name is not the last one.
        old = others[: max(0, len(others) - (keep - 1))] if keep and target is None else []
        for file in old:
            file.unlink(missing_ok=True)
    return copy, old


def _give_name(part: Path, copy: Path) -> None:
    """Give a finished copy its name. Raises `ConfigError` where there is a file of that name."""
    try:
        try:
            os.link(part, copy)  # a rename would write over a file
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            create_private_file(copy)  # a memory stick, say: its file system knows one name of a file only
            part.replace(copy)
    except FileExistsError:
        raise ConfigError(f"there is a file {copy}", hint="Name another one") from None


def _companions(path: Path, suffix: str) -> list[Path]:
    """Return the files beside `path` whose names go on with `suffix`."""
    return list(path.parent.glob(f"{glob.escape(path.name + suffix)}*"))


def unrecorded_findings(path: Path) -> list[Finding]:
    """Return what is wrong with a log now, without what was found and recorded before. Raises a `StoreError`."""
    findings = verify_database(path, _BUSY_SECONDS)
    if not findings:
        return []
    recorded: set[Finding] = set()
    with suppress(sqlite3.Error, StoreError), closing(connect_reader(path, _BUSY_SECONDS)) as db:
        recorded = {Finding(*row) for row in db.execute("SELECT code, session_id, seq, message FROM damage")}
    return [finding for finding in findings if finding not in recorded]


LOG = DatabaseKind(
    unrecorded_findings,
    lambda path: SqliteLog.open(path).close(),
    "`hudkit repair` keeps what verifies; `hudkit restore` puts the last backup back",
)
"""Logs of sessions and of worlds."""


def _copy_database(path: Path, copy: Path) -> None:
    """Copy a database into an empty file, as of one moment, durably and as a single file."""
    with closing(connect_log_reader(path, _BUSY_SECONDS)) as source, closing(_connect(copy)) as target:
        target.execute("PRAGMA synchronous = FULL")
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS)


def _stamp(now: int) -> str:
    """Return a time (Unix ms) as a part of a file's name, which sorts: `20261123T021500.250Z`."""
    return datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%dT%H%M%S") + f".{now % 1000:03d}Z"


def _remove_leftovers(path: Path) -> None:
    """Remove what a process that was killed left half done beside a database.

    Only files that a copy of ours can be: an archive in parts has names like these, too.
    """
    for file in path.parent.glob(f"{glob.escape(path.name)}*{_PART}*"):
        parts = _LEFTOVER.fullmatch(file.name[len(path.name) :])
        if parts is None or file.is_symlink() or not file.is_file() or _is_alive(int(parts[1])):
            continue
        with file.open("rb") as opened:
            start = opened.read(len(_SQLITE))
        is_database = file.name.endswith(parts[1])
        if not is_database or start in (_SQLITE, b""):
            file.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's, or no number of a process
        return True
    return True


# -- putting another file in the place of a log ----------------------------------------------------------------------


def restore(path: Path, backup: Path, now: int, *, kind: DatabaseKind | None = None) -> Path | None:
    """Put a backup in the place of a database; return where the one that was there is now (`None`: there was none).

    The backup is copied, brought to the newest schema and verified before anything is changed. `kind` is that of a
    log where none is given. Raises `StoreDamaged` where the backup does not verify, `StoreBusy` where a process has
    the database open, and another `StoreError`.
    """
    kind = kind or LOG
    path, backup = path.absolute(), backup.absolute()
    with store_errors(backup):
        check_private_path(path, create=True)
        _remove_leftovers(path)
        new = companion_path(path, f"{_PART}{os.getpid()}")
        try:
            _remove_database(new)
            create_private_file(new)
            _copy_database(backup, new)
            kind.upgrade(new)
            _make_single(new)
            damage = kind.find_damage(new)
            if damage:
                raise StoreDamaged(
                    f"{backup} does not verify: {damage[0].message}", hint="Take another backup", finding=damage[0]
                )
            return _replace_log(path, new, f"{_BEFORE}restore-{_stamp(now)}")
        finally:
            _remove_database(new)


def _make_single(path: Path) -> None:
    """Make a closed log a single file, synced, with nothing beside it."""
    with closing(_connect(path)) as db:
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA journal_mode = DELETE")
    for suffix in DATABASE_SUFFIXES[1:]:
        companion_path(path, suffix).unlink(missing_ok=True)


def _remove_database(path: Path) -> None:
    for suffix in DATABASE_SUFFIXES:
        companion_path(path, suffix).unlink(missing_ok=True)


def _replace_log(path: Path, new: Path, suffix: str) -> Path | None:
    """Put the single file `new` in the place of the log at `path`, whose files stay under names with `suffix`.

    Steps, each of which leaves a whole log where it is the last: second names for the files that are there;
    everything into the database file, and no other connection (SQLite's own way out of the write-ahead mode asks for
    that); the mark away, which knows only the old log; the new file in place.
    """
    # What is no part of the log that is there must not get into it below.
    put_foreign_wal_aside(path, _BUSY_SECONDS)
    # The clock may have been set back: no earlier log is in the way.
    names = (companion_path(path, f"{suffix}-{number}" if number else suffix) for number in count())
    second_name = next(name for name in names if not os.path.lexists(name))
    there = [end for end in ("", "-wal", ".mark") if os.path.lexists(companion_path(path, end))]
    for end in there:
        os.link(companion_path(path, end), companion_path(second_name, end))
    db = None
    try:
        if path.exists():
            db = _lock_alone(path)
        for end in ("-wal", "-shm", "-journal", ".mark"):
            # Only of a file that is no database any more, there still is a write-ahead log: it has its second name.
            companion_path(path, end).unlink(missing_ok=True)
        new.replace(path)
        sync_directory(path.parent)
    except StoreBusy:
        for end in there:
            companion_path(second_name, end).unlink(missing_ok=True)
        raise
    finally:
        if db is not None:
            db.close()
    return second_name if "" in there else None


def _lock_alone(path: Path) -> sqlite3.Connection | None:
    """Return a connection that holds a log for itself, all of it in one file; `None` where it is no database.

    Raises `StoreBusy` where another process has it open.
    """
    in_use = StoreBusy(
        f"{path} is in use by another process", hint="End the programs that have it open, then try again"
    )
    # What SQLite says of a file with a damaged header may be "locked" just as well: so its locks are asked for first.
    if is_open_elsewhere(path):
        raise in_use
    db = sqlite3.connect(path, isolation_level=None, timeout=1.0)
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        if db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "wal":
            raise in_use
        db.execute("BEGIN EXCLUSIVE")
    except sqlite3.DatabaseError:
        db.close()
        if is_open_elsewhere(path):
            raise in_use from None
        return None
    except StoreBusy:
        db.close()
        raise
    return db


# -- repairing -------------------------------------------------------------------------------------------------------


class LostEvent(msgspec.Struct, frozen=True):
    """An event that could not be brought back, and why (`code` and `message` are those of a finding)."""

    session: str
    seq: int
    code: str
    message: str
    type: str = ""


class RepairReport(msgspec.Struct, frozen=True):
    """What a repair does: how many `events` of how many `sessions` verify, which are `lost`, how many were read from
    raw pages (`carved`), what was found before (`findings`), and where the old log is (`old_log`; empty: nothing was
    changed)."""

    events: int = 0
    sessions: int = 0
    carved: int = 0
    lost: tuple[LostEvent, ...] = ()
    findings: tuple[Finding, ...] = ()
    old_log: str = ""


def repair(path: Path, now: int, ids: Callable[[], str], *, dry_run: bool = False) -> RepairReport:
    """Write a damaged log anew with all that verifies, and an `event.gap` for each event that does not.

    Returns what was found; with `dry_run` nothing is changed, and neither is a log without findings. The old files
    stay beside the new one. Saved states are left out: they are made again. `now` (Unix ms) and `ids` date and name
    the gaps. All of the log is held in memory. Raises `StoreBusy` where a process has the log open, and a
    `StoreError`.
    """
    path = path.absolute()
    with store_errors(path):
        check_private_path(path, create=not dry_run)
        findings = tuple(verify_database(path, _BUSY_SECONDS))
        if not findings:
            return RepairReport()
        gathered = _gather(path)
        sessions = _walk(gathered)
        read = sum(entry.row is not None for chain in sessions.values() for entry in chain)
        if not sessions or any(entry.lost for chain in sessions.values() for entry in chain):
            _gather_raw(path, gathered)
            sessions = _walk(gathered)
        entries = [entry for chain in sessions.values() for entry in chain]
        events = sum(entry.row is not None for entry in entries)
        lost = tuple(entry.lost for entry in entries if entry.lost is not None)
        report = RepairReport(events, len(sessions), max(0, events - read), lost, findings)
        if not events:
            raise StoreDamaged(
                f"nothing in {path} verifies", hint="`hudkit restore` puts a backup back", finding=findings[0]
            )
        if dry_run:
            return report
        _remove_leftovers(path)
        new = companion_path(path, f"{_PART}{os.getpid()}")
        try:
            _remove_database(new)
            SqliteLog.open(new).close()
            _write_rows(new, sessions, _untold(findings, sessions), gathered, now, ids)
            _make_single(new)
            wrong = verify_database(new, _BUSY_SECONDS)
            if wrong:
                raise StoreError(f"the repaired log does not verify: {wrong[0].message}", hint="Nothing was changed")
            old_log = _replace_log(path, new, f"{_BEFORE}repair-{_stamp(now)}")
        finally:
            _remove_database(new)
        return msgspec.structs.replace(report, old_log=str(old_log))


class SalvagedLog(SqliteLog):
    """What verifies of a log that cannot be opened any more, to be read; an append raises what is wrong with it."""

    @classmethod
    def of(cls, path: Path, error: StoreDamaged) -> SalvagedLog:
        """Return what verifies of the log at `path`, in a private temporary file that ends with it.

        `error` says why the log cannot be opened. Raises it where nothing verifies.
        """
        gathered = _gather(path)
        _gather_raw(path, gathered)
        sessions = _walk(gathered)
        if not sessions:
            raise error
        folder = Path(mkdtemp(prefix="hudkit-"))
        copy = folder / "log.db"
        try:
            SqliteLog.open(copy).close()
            _write_rows(copy, sessions, (), gathered, 0, lambda: "")
            salvaged = cls(OpenFiles(copy), copy, connect_reader(copy, _BUSY_SECONDS), None, _BUSY_SECONDS)
        except BaseException:
            rmtree(folder, ignore_errors=True)
            raise
        salvaged._folder, salvaged._error = folder, error
        return salvaged

    _folder: Path
    _error: StoreDamaged

    def _writing(self, *, sync: bool = True) -> NoReturn:  # noqa: ARG002 (as the log has it)
        """Everything that writes begins here."""
        raise self._error

    def close(self) -> None:
        """Close and remove the file; closing twice is harmless."""
        super().close()
        rmtree(self._folder, ignore_errors=True)


def _walk(gathered: _Gathered) -> dict[str, list[_Entry]]:
    """Return the entries of each session of which anything verifies."""
    chains = {session_id: _walk_session(session_id, gathered) for session_id in tuple(gathered.rows)}
    return {session_id: chain for session_id, chain in chains.items() if any(entry.row for entry in chain)}


def _untold(findings: Sequence[Finding], sessions: Mapping[str, Sequence[_Entry]]) -> list[Finding]:
    """Return the losses at the end of a log that no event of their session tells of yet."""
    losses = [finding for finding in findings if finding.code == "lost" and finding.session_id in sessions]
    tag = type_of(EventGap("", ""))
    return [
        finding
        for finding in losses
        if not any(
            entry.row is not None and entry.row.type == tag and finding.message.encode() in (entry.row.body or b"")
            for entry in sessions[finding.session_id]
        )
    ]


class _Entry(NamedTuple):
    """One number of a session: the row that verifies, or what was lost; and where it stood among all events."""

    seq: int
    position: float
    row: EventRow | None
    lost: LostEvent | None = None
    packed: bool = False  # the body is in the archive


class _Gathered:
    """All rows of a log, from wherever they could be read."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[int, list[EventRow]]] = defaultdict(lambda: defaultdict(list))
        self.positions: dict[tuple[str, int], int] = {}
        self.heads: dict[str, ChainHead] = {}
        self.packed: set[tuple[str, int]] = set()
        self.archive: list[tuple[Any, ...]] = []

    def take(self, position: object, row: EventRow) -> None:
        """Take a row, unless the same one is there."""
        if not is_id(row.session_id) or type(row.seq) is not int or row.seq < 1 or type(row.link) is not bytes:
            return
        others = self.rows[row.session_id][row.seq]
        if row not in others:
            others.append(row)
            if type(position) is int:
                self.positions.setdefault((row.session_id, row.seq), position)


def _gather(path: Path) -> _Gathered:
    """Return every row of a log that SQL can read."""
    gathered = _Gathered()
    with suppress(*_MALFORMED), closing(connect_log_reader(path, _BUSY_SECONDS)) as db:
        db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        archived = ArchiveReader(lambda sql, args: db.execute(sql, args).fetchall())
        with suppress(*_MALFORMED):
            gathered.archive = db.execute("SELECT session_id, first, last, body FROM archive ORDER BY key").fetchall()
        with suppress(*_MALFORMED):
            for session_id, seq, link in db.execute("SELECT session_id, seq, link FROM heads"):
                if type(seq) is int and type(link) is bytes:
                    gathered.heads[session_id] = ChainHead(seq, link)
        with suppress(*_MALFORMED):
            for position, *values in db.execute(f"SELECT position, {COLUMNS} FROM events NOT INDEXED"):
                row = EventRow(*values)
                if row.body is None and type(row.seq) is int:
                    with suppress(*_MALFORMED):
                        row = row._replace(body=archived.body(row.session_id, row.seq))
                    if row.body is not None:
                        gathered.packed.add((row.session_id, row.seq))
                gathered.take(position, row)
    return gathered


def _gather_raw(path: Path, gathered: _Gathered) -> None:
    """Add the rows that can be seen in the raw bytes of the files."""
    files = [path] if is_wal_foreign(path, _BUSY_SECONDS) else [path, companion_path(path, "-wal")]
    for position, row in carved_rows(*(file.read_bytes() if file.exists() else b"" for file in files)):
        gathered.take(position, row)


def _walk_session(session_id: str, gathered: _Gathered) -> list[_Entry]:
    """Return the entries of a session from 1 to its last one: of each number the row that verifies, or a loss."""
    rows = gathered.rows[session_id]
    head = gathered.heads.get(session_id, ChainHead(0, b""))
    redacts = (row for same in rows.values() for row in same if _is_sound(row))
    redacted = {target for row in redacts if (target := redaction_target(row)) is not None}
    # A number that a flipped bit made must not stretch the session to a million events.
    limit = 2 * len(rows) + 1000
    end = max((seq for seq in (*rows, head.seq) if seq <= limit), default=0)
    entries: list[_Entry] = []
    links: list[bytes] = [GENESIS]
    sound = 0
    for seq in range(1, end + 1):
        variants = [variant for row in rows.get(seq, ()) for variant in _variants(row, redacted)]
        row = _verified(variants, links, partial(_is_confirmed, rows, head, seq))
        if row is None and seq > 1 and entries[-1].row is None:
            row = _verified_from_behind(variants, rows.get(seq, ()), partial(_is_confirmed, rows, head, seq))
        if row is not None:
            position = gathered.positions.get((session_id, seq), _NOWHERE)
            entries.append(_Entry(seq, position, row, None, (session_id, seq) in gathered.packed))
            links, sound = [row.link], seq
        else:
            entries.append(_Entry(seq, _NOWHERE, None, _loss(session_id, seq, rows.get(seq, ()), links)))
            links = _links_behind(rows.get(seq, ()), links)
    del entries[_end_of(entries, sound, head, rows) :]
    bound = _NOWHERE
    for n in range(len(entries) - 1, -1, -1):  # whatever the positions say: each before the next one of its session
        bound = min(bound, entries[n].position)
        entries[n] = entries[n]._replace(position=bound)
    return entries


def _variants(row: EventRow, redacted: Container[int]) -> Iterator[EventRow]:
    """The row as it is, and as it is if only its digest was damaged; each only with a body that is its own."""
    if row.seq in redacted:
        yield row._replace(body=None)
    elif type(row.body) is bytes:
        digest = payload_digest(row.body)
        yield row if row.digest == digest else row._replace(digest=digest)


def _verified(
    variants: Sequence[EventRow], links: Sequence[bytes], is_confirmed: Callable[[bytes], bool]
) -> EventRow | None:
    """Return the row that follows one of these links: by its own link, or by one that the row behind it confirms."""
    for row in variants:
        for before in links:
            link = row_link(row, before)
            if link is not None and (link == row.link or is_confirmed(link)) and _can_be_read(row):
                return row._replace(link=link)
    return None


def _verified_from_behind(
    variants: Sequence[EventRow], stored: Container[EventRow], is_confirmed: Callable[[bytes], bool]
) -> EventRow | None:
    """Return the row behind a lost event, whose link nothing before it can check: the event behind it confirms that.

    Only with the digest that was stored: one worked out from the body would make a damaged body the event's own.
    """
    for row in variants:
        own = row.body is None or row in stored
        if own and is_confirmed(row.link) and (row.body is None or _can_be_read(row)):
            return row
    return None


def _is_sound(row: EventRow) -> bool:
    return type(row.body) is bytes and payload_digest(row.body) == row.digest


def _can_be_read(row: EventRow) -> bool:
    """Whether the body is one of its type: a type that was damaged together with its link would not be seen else."""
    try:
        decode_row(row, None)
    except StoreDamaged:
        return False
    return True


def _is_confirmed(rows: Mapping[int, Sequence[EventRow]], head: ChainHead, seq: int, link: bytes) -> bool:
    """Whether a link of event `seq` is the one that the session's head or the next event rests on."""
    return head == (seq, link) or any(row_link(row, link) == row.link for row in rows.get(seq + 1, ()))


def _loss(session_id: str, seq: int, rows: Sequence[EventRow], links: Sequence[bytes]) -> LostEvent:
    """Say what is wrong with an event that does not verify; its type is named where its envelope does."""
    if not rows:
        return LostEvent(session_id, seq, "gap", FINDING_MESSAGES["gap"])
    sure = next((row for row in rows for before in links if row_link(row, before) == row.link), None)
    code = "payload" if sure is not None else "chain"
    return LostEvent(session_id, seq, code, FINDING_MESSAGES[code], sure.type if sure is not None else "")


def _links_behind(rows: Sequence[EventRow], links: Sequence[bytes]) -> list[bytes]:
    """Return what the event behind a lost one may rest on: the stored links, and those that the fields ask for."""
    computed = [row_link(row, before) for row in rows for before in links]
    return [row.link for row in rows] + [link for link in computed if link is not None]


def _end_of(entries: Sequence[_Entry], sound: int, head: ChainHead, rows: Container[int]) -> int:
    """Return how many entries a session has: its sound ones, and behind them those that its head tells of."""
    last = entries[sound - 1].row if sound else None
    if last is not None and last.link == head.link:
        return sound
    if sound < head.seq <= len(entries):
        return head.seq
    end = sound
    while end < len(entries) and entries[end].seq in rows and not head.seq:
        end += 1
    return end


def _write_rows(
    path: Path,
    sessions: Mapping[str, Sequence[_Entry]],
    findings: Sequence[Finding],
    gathered: _Gathered,
    now: int,
    ids: Callable[[], str],
) -> None:
    """Write the entries into a new log, in their order, with the links that follow from what is there."""
    ordered = sorted(
        ((entry.position, session_id, entry.seq, entry) for session_id, chain in sessions.items() for entry in chain),
        key=lambda item: item[:3],
    )
    heads: dict[str, ChainHead] = {}
    turns: dict[str, int] = {}
    rows: list[EventRow] = []

    def append(row: EventRow) -> None:
        before = heads.get(row.session_id, ChainHead(0, GENESIS))
        link = row_link(row, before.link)
        assert link is not None
        heads[row.session_id] = ChainHead(row.seq, link)
        turns[row.session_id] = row.turn
        rows.append(row._replace(link=link))

    def append_event(session_id: str, payload: EventGap | Redact) -> None:
        encoded = encode_payload(payload)
        seq = heads.get(session_id, ChainHead(0, GENESIS)).seq + 1
        turn = turns.get(session_id, 0)
        fields = (session_id, seq, ids(), turn, now, type_of(payload), payload.V, Origin.SYSTEM.value)
        append(EventRow(*fields, encoded.body, encoded.digest, b""))

    for _, session_id, _, entry in ordered:
        if entry.row is not None:
            append(entry.row._replace(body=None) if entry.packed else entry.row)
        else:
            assert entry.lost is not None
            append_event(session_id, EventGap(entry.lost.code, entry.lost.message, entry.lost.type))
    for session_id, chain in sessions.items():
        for seq in _without_redaction(chain):
            append_event(session_id, Redact(seq, "the redaction was damaged"))
    for finding in findings:
        append_event(finding.session_id, EventGap(finding.code, finding.message))
    columns = ", ".join("?" * (len(EventRow._fields) + 1))
    with closing(_connect(path)) as db:
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        db.executemany(
            f"INSERT INTO events (position, {COLUMNS}) VALUES ({columns})",
            [(position, *row) for position, row in enumerate(rows, 1)],
        )
        db.executemany(
            "INSERT INTO heads (session_id, seq, link) VALUES (?, ?, ?)", [(id, *head) for id, head in heads.items()]
        )
        db.executemany(
            "INSERT INTO archive (session_id, first, last, body) VALUES (?, ?, ?, ?)",
            [chunk for chunk in gathered.archive if _is_used(chunk, gathered)],
        )
        db.execute("COMMIT")


def _without_redaction(chain: Sequence[_Entry]) -> list[int]:
    """Return the numbers of the events without a payload whose redaction is among the lost events behind them."""
    rows = [(entry.row, entry.packed) for entry in chain if entry.row is not None]
    redacted = {redaction_target(row) for row, _ in rows}
    last_lost = max((entry.seq for entry in chain if entry.lost is not None), default=0)
    return [
        row.seq
        for row, packed in rows
        if row.body is None and not packed and row.seq < last_lost and row.seq not in redacted
    ]


def _is_used(chunk: tuple[Any, ...], gathered: _Gathered) -> bool:
    session_id, first, last, body = chunk
    if not all(type(number) is int for number in (first, last)) or type(body) is not bytes:
        return False
    return any(name == session_id and first <= seq <= last for name, seq in gathered.packed)
