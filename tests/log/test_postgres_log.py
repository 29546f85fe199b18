"""What a log on PostgreSQL promises beyond the suite: many writers, kills, a server that goes away, damage by hand,
errors that say what would be right, and a password that is shown nowhere."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from campaigns import Campaign
from hudkit.api import Hud
from hudkit.errors import (
    SequenceConflict,
    StoreBusy,
    StoreDamaged,
    StoreDenied,
    StoreError,
    StoreMissing,
    StoreReadOnly,
    StoreTooNew,
    StoreUnreachable,
)
from hudkit.log import Batch, EventLog, Finding, Snapshot
from hudkit.log.payloads import NoteAdd, Redact
from hudkit.log.stores import MemoryLog, PostgresLog, open_log
from hudkit.testing.store_conformance import make_draft, note_drafts
from postgres_server import Server, running_server
from waiting import PATIENCE

pytestmark = pytest.mark.slow

CHILD = Path(__file__).with_name("writer_child.py")
KILLS = Campaign("postgres", quick=20, full=200)
CRASHES = Campaign("postgres", quick=2, full=20)
STEPS = Campaign("postgres", quick=12, full=100)


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.new_log()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that a test may stop."""
    with running_server() as server:
        yield server


# -- many writers, and kills ---------------------------------------------------------------------------------------


def start(url: str, session: str, count: int, group: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(CHILD), url, session, str(count), str(group)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def test_processes_that_create_and_write_at_once_leave_no_gap(url: str) -> None:
    children = [start(url, session, 60, group) for session, group in (("s", 1), ("s", 3), ("t", 1))]
    outputs = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    with PostgresLog.open(url) as log:
        assert (log.last_seq("s"), log.last_seq("t")) == (120, 60)
        seqs = sorted(int(line) for output in outputs[:2] for line in output.split())
        assert seqs == list(range(1, 121)), "each number was given to one writer"
        assert list(log.verify()) == []


@KILLS
def test_no_acknowledged_event_is_lost_over_many_kills_of_writers(url: str) -> None:
    chance = KILLS.chance(9)
    acknowledged: list[int] = []
    for turn in range(KILLS.rounds):
        child = start(url, "s", 0, (1, 4)[turn % 2])
        assert child.stdout is not None
        first = child.stdout.readline()  # it writes: kill it somewhere in what follows
        time.sleep(chance.uniform(0, 0.02))
        child.send_signal(signal.SIGKILL)
        seen = (first + child.stdout.read()).split(b"\n")
        child.wait()
        child.stdout.close()
        acknowledged += [int(line) for line in seen[:-1]]  # the last piece is empty or cut off
    with PostgresLog.open(url) as log:
        events = list(log.read("s"))
        assert [event.seq for event in events] == list(range(1, len(events) + 1)), "no gap, no duplicate"
        assert len({event.id for event in events}) == len(events)
        assert set(acknowledged) <= {event.seq for event in events}, "no acknowledged event is lost"
        assert len(acknowledged) == len(set(acknowledged)) >= KILLS.rounds
        assert list(log.verify()) == []


@CRASHES
def test_a_server_that_crashes_under_writers_loses_nothing_and_doubles_nothing(own_server: Server) -> None:
    url, chance = own_server.new_log(), CRASHES.chance(4)
    PostgresLog.open(url).close()
    for turn in range(CRASHES.rounds):
        children = [start(url, session, 0, group) for session, group in (("s", 1), ("s", 3), ("t", 1))]
        for child in children:
            assert child.stdout is not None and child.stdout.readline()
        time.sleep(chance.uniform(0, 0.05))
        own_server.stop("immediate")
        own_server.start()
        # Each goes on by itself: what it had sent and got no answer for is there once.
        for child in children:
            assert child.stdout is not None and all(child.stdout.readline() for _ in range(9))
            child.send_signal(signal.SIGKILL)
            child.communicate()
        with PostgresLog.open(url) as log:
            assert list(log.verify()) == [], turn
            for session in ("s", "t"):
                events = list(log.read(session))
                assert [event.seq for event in events] == list(range(1, len(events) + 1))
                assert len({event.id for event in events}) == len(events), "none was appended twice"
                by_writer: dict[str, list[int]] = {}
                for event in events:
                    by_writer.setdefault(event.id.partition("-")[0], []).append(int(event.id.partition("-")[2]))
                for numbers in by_writer.values():
                    assert numbers == list(range(len(numbers))), "each writer's events, in its order, none left out"


def test_an_append_survives_a_restart_of_the_server_and_a_reader_too(own_server: Server) -> None:
    with PostgresLog.open(own_server.new_log(), busy_timeout=PATIENCE) as log:
        log.append("s", note_drafts(3))
        reading = log.read("s")
        next(reading)
        own_server.stop("immediate")
        own_server.start()
        assert log.append("s", note_drafts(1, 4), expected=3)[0].seq == 4
        own_server.stop()
        own_server.start()
        assert [event.seq for event in reading] == [2, 3]
        assert log.append_many([Batch("s", tuple(note_drafts(1, 5))), Batch("t", tuple(note_drafts(1)))])
        assert list(log.verify()) == []


def test_a_commit_whose_answer_was_lost_is_looked_up_and_not_done_again(postgres: Server, url: str) -> None:
    """The connection is cut by a trigger's doing: after the commit, and before its answer."""
    import psycopg

    with PostgresLog.open(url) as log:
        log.append("s", note_drafts(1))
        connect, cuts = psycopg.Connection.execute, [0]

        def execute(self: psycopg.Connection, query: str, *args: object, **options: object) -> object:
            done = connect(self, query, *args, **options)  # type: ignore[arg-type]
            if cuts[0] and (query.startswith("WITH moved") or query == "COMMIT"):
                cuts[0] -= 1
                pid = self.info.backend_pid
                postgres.sql(url, f"SELECT pg_terminate_backend({pid}, 10000)")
                connect(self, "SELECT 1")  # finds out
            return done

        psycopg.Connection.execute = execute  # type: ignore[method-assign,assignment]
        try:
            for number in range(2, 12):
                cuts[0] = 1
                assert log.append("s", note_drafts(1, number), expected=number - 1)[0].seq == number
                cuts[0] = 1
                batches = [Batch("t", tuple(note_drafts(1, number))), Batch(f"new{number}", tuple(note_drafts(2)))]
                assert [len(answer) for answer in log.append_many(batches)] == [1, 2]  # type: ignore[arg-type]
                assert not cuts[0]
        finally:
            psycopg.Connection.execute = connect  # type: ignore[method-assign]
        assert [event.seq for event in log.read("s")] == list(range(1, 12))
        assert log.last_seq("t") == 10 and log.last_seq("new7") == 2
        assert list(log.verify()) == []


def test_several_threads_share_a_log_and_several_logs_a_session(url: str) -> None:
    logs = [PostgresLog.open(url, busy_timeout=PATIENCE) for _ in range(2)]
    failed: list[BaseException] = []

    def write(log: PostgresLog, name: str) -> None:
        try:
            for number in range(40):
                log.append("shared", [make_draft(NoteAdd(f"{name} {number}"), number)])
                log.append_many([Batch(id, tuple(note_drafts(1))) for id in ("b", "a")[:: 1 if number % 2 else -1]])
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=write, args=(logs[at % 2], str(at))) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [event.seq for event in logs[0].read("shared")] == list(range(1, 161))
    assert (logs[0].last_seq("a"), logs[0].last_seq("b")) == (160, 160)
    assert list(logs[1].verify()) == []
    for log in logs:
        log.close()


def test_expected_sees_what_another_connection_wrote(url: str) -> None:
    with PostgresLog.open(url) as one, PostgresLog.open(url) as two:
        one.append("s", note_drafts(1), expected=0)
        with pytest.raises(SequenceConflict):
            two.append("s", note_drafts(1, 2), expected=0)
        assert two.append("s", note_drafts(1, 2), expected=1)[0].seq == 2
        with pytest.raises(SequenceConflict):
            one.append("s", note_drafts(1, 2), expected=1)
        assert one.append("s", note_drafts(1, 3), expected=2)[0].seq == 3
        assert two.append("s", note_drafts(1, 4))[0].seq == 4, "behind what it had not seen"


def test_verify_while_others_write_sees_one_moment(url: str) -> None:
    stop = Event()
    with PostgresLog.open(url) as log, PostgresLog.open(url) as other:

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                other.append(f"s{number % 5}", note_drafts(1, number))

        thread = Thread(target=write)
        thread.start()
        try:
            for _ in range(20):
                assert list(log.verify()) == []
        finally:
            stop.set()
            thread.join()
        assert log.last_seq("s1") > 1


# -- damage --------------------------------------------------------------------------------------------------------


@pytest.fixture
def damaged(postgres: Server, url: str) -> tuple[str, Callable[..., object]]:
    """A log with two sessions, a snapshot and a redaction, and how it is changed by hand."""
    with PostgresLog.open(url) as log:
        for number in range(1, 25):
            log.append("alpha", [make_draft(NoteAdd(f"alpha {number} " + "x" * 60), number)])
            log.append("beta", [make_draft(NoteAdd(f"beta {number} " + "y" * 60), number)])
        log.append("alpha", [make_draft(Redact(5), 25)])
        log.put_snapshot(Snapshot("beta", 20, "1", b"state " * 40))
    return url, lambda *statements: postgres.sql(url, *statements)


OF = "WHERE session_id = 'alpha' AND seq = 7"
EDITS = {
    "body": (f"UPDATE events SET body = set_byte(body, 20, get_byte(body, 20) # 1) {OF}", "payload"),
    "body away": (f"UPDATE events SET body = NULL {OF}", "payload"),
    "digest": (f"UPDATE events SET digest = '\\x00' {OF}", "payload"),
    "link": (f"UPDATE events SET link = '\\x00' {OF}", "chain"),
    "id": (f"UPDATE events SET id = 'other' {OF}", "chain"),
    "turn": (f"UPDATE events SET turn = turn + 1 {OF}", "chain"),
    "timestamp": (f"UPDATE events SET timestamp = 0 {OF}", "chain"),
    "type": (f"UPDATE events SET type = 'task.set' {OF}", "chain"),
    "version": (f"UPDATE events SET v = 2 {OF}", "chain"),
    "origin": (f"UPDATE events SET origin = 'system' {OF}", "chain"),
    "deleted": (f"DELETE FROM events {OF}", "gap"),
    "moved to another session": (f"UPDATE events SET session_id = 'gamma' {OF}", "gap"),
    "moved to another number": (f"UPDATE events SET seq = 99 {OF}", "gap"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_row_changed_by_hand_is_named(damaged: tuple[str, Callable[..., object]], edit: str) -> None:
    url, by_hand = damaged
    statement, code = EDITS[edit]
    assert by_hand(statement) == [1]
    with PostgresLog.open(url) as log:
        found = list(log.verify())
        assert (code, "alpha", 7) in [(finding.code, finding.session_id, finding.seq) for finding in found]
        assert not any(finding.session_id == "beta" for finding in found)
        reading = log.read("alpha")
        assert [next(reading).seq for _ in range(6)] == [1, 2, 3, 4, 5, 6]
        with pytest.raises(StoreDamaged) as caught:
            next(reading)
        finding = caught.value.details["finding"]
        assert isinstance(finding, Finding)
        assert (finding.code, finding.session_id, finding.seq) == (code, "alpha", 7)
        assert len(list(log.read("beta"))) == 24
        assert [event.seq for event in log.read("alpha", after=8, upto=25)] == list(range(9, 26))
        past = list(log.read("alpha", past_damage=True))
        assert past[6].type == "event.gap" and past[7].seq == 8
        assert log.append("alpha", note_drafts(1, 50)), "and appending goes on"


def test_a_tail_deleted_by_hand_is_named_for_good(damaged: tuple[str, Callable[..., object]]) -> None:
    url, by_hand = damaged
    by_hand("DELETE FROM events WHERE session_id = 'beta' AND seq > 20")
    with PostgresLog.open(url) as log:
        with pytest.raises(StoreDamaged):
            list(log.read("beta"))
        assert log.get_snapshot("beta", "1") is not None
        assert ("beta", 21) in [(finding.session_id, finding.seq) for finding in log.verify()]
        assert log.append("beta", note_drafts(1, 70))[0].seq == 21
        assert len(list(log.read("beta"))) == 21
        assert [(finding.session_id, finding.seq) for finding in log.recorded_findings()] == [("beta", 21)]
    with PostgresLog.open(url) as log:
        assert [(finding.session_id, finding.seq) for finding in log.verify()] == [("beta", 21)]


def test_a_session_or_a_head_that_is_deleted_by_hand_is_noticed(damaged: tuple[str, Callable[..., object]]) -> None:
    url, by_hand = damaged
    for statement in (
        "UPDATE heads SET seq = 3 WHERE session_id = 'alpha'",
        "UPDATE heads SET link = '\\x00' WHERE session_id = 'alpha'",
        "DELETE FROM heads WHERE session_id = 'alpha'",
    ):
        by_hand(statement)
        with PostgresLog.open(url) as log:
            assert [finding.session_id for finding in log.verify()] == ["alpha"], statement
            assert log.append("alpha", note_drafts(1, 60)), "the events are the truth"
            assert list(log.read("alpha"))
            by_hand("DELETE FROM damage")
            assert list(log.verify()) == []
    by_hand("DELETE FROM events WHERE session_id = 'beta'", "DELETE FROM heads WHERE session_id = 'beta'")
    with PostgresLog.open(url) as log:
        assert [finding.code for finding in log.verify()] == ["gap"]


def test_a_redacted_payload_put_back_and_a_damaged_snapshot_are_noticed(
    damaged: tuple[str, Callable[..., object]],
) -> None:
    url, by_hand = damaged
    with PostgresLog.open(url) as log:
        log.put_snapshot(Snapshot("beta", 10, "1", b"older"))
        for column, value in (("body", "'\\x00'"), ("digest", "'\\x00'"), ("seq", "21")):
            by_hand(f"UPDATE snapshots SET {column} = {value} WHERE seq = 20")
            assert log.get_snapshot("beta", "1") == Snapshot("beta", 10, "1", b"older")
            by_hand("DELETE FROM snapshots WHERE seq <> 10")
            log.put_snapshot(Snapshot("beta", 20, "1", b"anew"))
        by_hand("UPDATE events SET body = convert_to('{}', 'UTF8') WHERE session_id = 'alpha' AND seq = 5")
        assert [(finding.code, finding.seq) for finding in log.verify()] == [("payload", 5)]


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("CREATE RULE keep AS ON DELETE TO events DO INSTEAD NOTHING", "rule keep was added"),
        ("CREATE POLICY few ON events", "policy few was added"),
        ("ALTER TABLE snapshots RENAME TO elsewhere", "table snapshots is missing"),
        (
            """CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
            CREATE TRIGGER swallow BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION f()""",
            "trigger swallow was added",
        ),
    ],
)
def test_tables_altered_by_hand_are_refused(
    damaged: tuple[str, Callable[..., object]], statement: str, what: str
) -> None:
    url, by_hand = damaged
    with PostgresLog.open(url) as log:
        by_hand(statement)
        assert "file" in [finding.code for finding in log.verify()]
        assert any(what in finding.message for finding in log.verify())
    with pytest.raises(StoreDamaged, match=what):
        PostgresLog.open(url)


def test_a_redaction_takes_the_words_out_of_every_table(postgres: Server, url: str) -> None:
    with PostgresLog.open(url) as log:
        log.append("s", [make_draft(NoteAdd("the old address")), *note_drafts(1, 2)])
        log.put_snapshot(Snapshot("s", 2, "1", b"the old address"))
        log.append("s", [make_draft(Redact(1), 3)])
        assert next(log.read("s")).payload is None
    for table in ("events", "snapshots", "heads", "damage"):
        rows = postgres.sql(url, f"SELECT t::text FROM {table} t")
        assert "6f6c642061646472657373" not in str(rows) and "old address" not in str(rows)


# -- versions and refusals ----------------------------------------------------------------------------------------


def refused(kind: type[StoreError], url: str, **options: object) -> StoreError:
    """The error of opening; nothing of it, its cause or its traceback has the password."""
    with pytest.raises(kind) as caught:
        PostgresLog.open(url, **options)  # type: ignore[arg-type]
    assert type(caught.value) is kind and caught.value.hint
    password = url.partition("@")[0].rpartition(":")[2]
    text = "".join(traceback.format_exception(caught.value)) + repr(caught.value.details)
    assert len(password) < 8 or password not in text
    return caught.value


def test_what_is_refused_says_what_would_be_right(postgres: Server, url: str) -> None:
    assert "createdb nowhere" in refused(StoreMissing, postgres.address("nowhere")).hint
    assert "PGPASSWORD" in refused(StoreDenied, postgres.address(password="wrong-and-secret")).hint
    gone = postgres.address().replace(f":{postgres.port}", ":1")
    assert "no answer" in refused(StoreUnreachable, gone).message
    assert "there is no log" in refused(StoreMissing, url, read_only=True).message
    other = url.replace("hud:", "stranger:")
    refused(StoreDenied, other)
    for broken in ("postgresql://a:very-secret@[h/d", "postgresql://a:very-secret@h/d?very-secret=1", url + "-UP"):
        refused(StoreError, broken)


def test_a_newer_log_and_another_programs_tables_are_left_alone(postgres: Server, url: str) -> None:
    PostgresLog.open(url).close()
    postgres.sql(url, "UPDATE schema_version SET version = 99")
    assert "knows up to" in refused(StoreTooNew, url).message
    assert postgres.sql(url, "SELECT version FROM schema_version") == [(99,)]
    postgres.sql(url, "DROP TABLE schema_version")
    assert "is not a log of hudkit" in refused(StoreDamaged, url).message
    latin = postgres.address("latin")
    postgres.sql(postgres.address(), "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    assert "LATIN1" in refused(StoreError, latin).message


def test_a_user_without_rights_is_told_who_has_them(postgres: Server, url: str) -> None:
    PostgresLog.open(url).close()
    postgres.sql(url, "CREATE ROLE guest LOGIN PASSWORD 'guest-password'")
    guest = url.replace(f"hud:{postgres.password}", "guest:guest-password")
    refused(StoreDenied, guest)
    schema = url.rpartition("=")[2]
    postgres.sql(
        url,
        f"GRANT USAGE ON SCHEMA {schema} TO guest",
        "GRANT SELECT ON ALL TABLES IN SCHEMA " + schema + " TO guest",
    )
    with PostgresLog.open(guest, read_only=True) as log:
        assert log.sessions() == ()
    with PostgresLog.open(guest) as log, pytest.raises(StoreDenied):
        log.append("s", note_drafts(1))
    elsewhere = postgres.address(schema="of_nobody")
    refused(StoreDenied, elsewhere.replace(f"hud:{postgres.password}", "guest:guest-password"))


def test_read_only_reads_and_refuses_to_write(url: str) -> None:
    with PostgresLog.open(url) as writer, PostgresLog.open(url, read_only=True) as reader:
        events = writer.append("s", note_drafts(3))
        writer.put_snapshot(Snapshot("s", 2, "1", b"x"))
        assert tuple(reader.read("s")) == events and reader.get_snapshot("s", "1") == Snapshot("s", 2, "1", b"x")
        writer.append("s", note_drafts(1, 4))
        assert reader.last_seq("s") == 4 and list(reader.verify()) == []
        with pytest.raises(StoreReadOnly):
            reader.append("s", note_drafts(1))
        with pytest.raises(StoreReadOnly):
            reader.put_snapshot(Snapshot("s", 2, "1", b"x"))


def test_a_session_that_another_program_holds_is_busy(url: str) -> None:
    import psycopg

    with PostgresLog.open(url, busy_timeout=0.2) as log:
        log.append("s", note_drafts(1))
        base, _, schema = url.partition("?schema=")
        with psycopg.connect(base) as other:
            other.execute(f"SELECT * FROM {schema}.heads FOR UPDATE")
            with pytest.raises(StoreBusy):
                log.append("s", note_drafts(1, 2))
            assert [event.seq for event in log.read("s")] == [1], "readers wait for nobody"
        assert log.append("s", note_drafts(1, 2))[0].seq == 2


def test_commits_are_durable_whatever_the_servers_default(postgres: Server, url: str) -> None:
    postgres.sql(url, "ALTER ROLE hud SET synchronous_commit = off")
    try:
        with PostgresLog.open(url) as log:
            assert log._server.run(lambda db: db.execute("SHOW synchronous_commit").fetchone()) == ("on",)
    finally:
        postgres.sql(url, "ALTER ROLE hud RESET synchronous_commit")


def test_a_session_of_the_library_lives_on_a_server(url: str, postgres: Server) -> None:
    with Hud.open(url) as hud:
        session = hud.session("ses_1", project="/somewhere")
        session.call("task.set", {"description": "Implement auth"})
        session.call("notes.add", {"text": "the port is 8080"})
        frame = session.frame(used_tokens=1000, limit_tokens=200_000)
        assert "Implement auth" in frame.text
    with Hud.open(url) as hud:
        again = hud.session("ses_1", project="/somewhere")
        assert again.state.task is not None and "8080" in again.frame().text
        assert again.frame_at(max(event.seq for event in again.events() if event.type == "context.snapshot"))
        assert list(hud.log.verify()) == []
        assert postgres.password not in repr(hud.log.label) and postgres.password not in repr(vars(hud.log._server))  # type: ignore[attr-defined]
    assert postgres.password not in postgres.log_text()


# -- the same as every store, whatever is done ---------------------------------------------------------------------

SESSIONS = st.sampled_from(["a", "b", "ß", "", "x" * 401, "\ud800", "n\0l"])
PAYLOADS = st.one_of(
    st.builds(NoteAdd, st.text(max_size=20) | st.sampled_from(["password=hunter2", "\ud800", "\0"])),
    st.builds(Redact, st.integers(-1, 8)),
    st.just(NoteAdd(5)),  # type: ignore[arg-type]
)
NUMBERS = st.sampled_from([-(2**63), -1, 0, 2**63 - 1, 2**63])


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


@STEPS
def test_it_behaves_as_the_log_in_memory_does(postgres: Server) -> None:
    class Alike(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.url = postgres.new_log()
            self.memory: EventLog = MemoryLog()
            self.server: EventLog = open_log(self.url)
            self.second: EventLog = open_log(self.url)

        def teardown(self) -> None:
            self.server.close()
            self.second.close()

        def both(self, call: Callable[[EventLog], object]) -> object:
            expected = outcome(lambda: call(self.memory))
            assert outcome(lambda: call(self.server)) == expected
            # The next one by another writer: what the first remembers is old then.
            self.server, self.second = self.second, self.server
            return expected

        batches = st.builds(
            Batch,
            SESSIONS,
            st.lists(st.builds(make_draft, PAYLOADS, st.integers(1, 9)), max_size=3).map(tuple),
            st.none() | st.integers(0, 6),
        )

        @rule(batch=batches)
        def append(self, batch: Batch) -> None:
            self.both(lambda log: log.append(batch.session_id, batch.drafts, expected=batch.expected))

        @rule(batches=st.lists(batches, max_size=4))
        def append_many(self, batches: list[Batch]) -> None:
            self.both(lambda log: log.append_many(batches))

        @rule(session=SESSIONS, after=NUMBERS | st.integers(-2, 12), upto=st.none() | NUMBERS | st.integers(-2, 12))
        def read(self, session: str, after: int, upto: int | None) -> None:
            self.both(lambda log: list(log.read(session, after=after, upto=upto)))
            self.both(lambda log: log.event_ids(session, upto=12 if upto is None else upto))
            self.both(lambda log: log.last_seq_of(session, {"redact"}, upto=12 if upto is None else upto))

        @rule(
            session=SESSIONS,
            seq=st.integers(-1, 8),
            version=st.sampled_from(["1", "2\0"]),
            body=st.binary(max_size=5),
        )
        def put_snapshot(self, session: str, seq: int, version: str, body: bytes) -> None:
            self.both(lambda log: log.put_snapshot(Snapshot(session, seq, version, body)))

        @rule(session=SESSIONS, version=st.sampled_from(["1", "2\0", "\ud800"]), upto=st.none() | NUMBERS)
        def get_snapshot(self, session: str, version: str, upto: int | None) -> None:
            self.both(lambda log: log.get_snapshot(session, version, upto=upto))

        @rule()
        def verify(self) -> None:
            assert self.both(lambda log: list(log.verify())) == []

        @invariant()
        def same_sessions(self) -> None:
            self.both(lambda log: (log.sessions(), log.heads(), [log.last_seq(name) for name in log.sessions()]))

    from hypothesis.stateful import run_state_machine_as_test

    steps = settings(deadline=None, max_examples=STEPS.rounds, stateful_step_count=25, print_blob=False)
    run_state_machine_as_test(Alike, settings=steps)
