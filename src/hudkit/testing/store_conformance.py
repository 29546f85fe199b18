"""What every `EventLog` must do, as plain methods that any test runner can collect.

Subclass `StoreConformance`, give `open_store`, and let pytest collect the subclass:

    class TestMyLog(StoreConformance):
        def open_store(self): return MyLog()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Thread

from hudkit.errors import SequenceConflict, StoreError
from hudkit.log import Batch, Event, EventDraft, EventLog, Origin, Payload, Snapshot, Unknown
from hudkit.log.codec import encode_draft
from hudkit.log.payloads import ContextSnapshot, NoteAdd, Redact, StepReorder, TaskSet, TodoItem, TodoSync
from hudkit.testing.assertions import expect_error


class FutureEvent(Payload, frozen=True, tag="future.thing"):
    """An event type that this version of hudkit does not know."""

    text: str = ""


class _NewerNote(Payload, frozen=True, tag="note.add"):
    """A known type in a payload version that this version of hudkit does not know."""

    V = 2
    body: str = ""


SECRET = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def make_draft(payload: Payload, number: int = 1, *, origin: Origin = Origin.AGENT) -> EventDraft:
    """Return a draft with an id, a turn and a timestamp made from `number`."""
    return EventDraft(
        f"0190b5c0-0000-7000-8000-{number:012d}", 1_700_000_000_000 + number, number // 4, origin, payload
    )


def note_drafts(count: int, start: int = 1) -> list[EventDraft]:
    """Return `count` drafts of notes, numbered from `start`."""
    return [make_draft(NoteAdd(f"note {number}"), number) for number in range(start, start + count)]


class StoreConformance:
    """The suite. `open_store` gives a new, empty, writable log; each test closes what it opened."""

    def open_store(self) -> EventLog:
        """Return a new, empty log, open."""
        raise NotImplementedError

    # -- appending and reading ---------------------------------------------------------------------------------

    def test_is_an_event_log(self) -> None:
        log = self.open_store()
        assert isinstance(log, EventLog)
        log.close()

    def test_an_empty_log_answers(self) -> None:
        log = self.open_store()
        assert log.last_seq("nobody") == 0
        assert log.sessions() == ()
        assert list(log.read("nobody")) == []
        assert log.get_snapshot("nobody", "1") is None
        assert list(log.verify()) == []
        log.close()

    def test_append_numbers_and_returns_what_is_read_back(self) -> None:
        log = self.open_store()
        drafts = [
            make_draft(TaskSet("ship"), 1, origin=Origin.USER),
            make_draft(StepReorder(("s2", "s1")), 2, origin=Origin.TOOL),
            make_draft(TodoSync((TodoItem("a", "done"), TodoItem("ü €"))), 3, origin=Origin.HOST),
            make_draft(ContextSnapshot(used_tokens=None, limit_tokens=200_000), 4, origin=Origin.SYSTEM),
        ]
        events = log.append("s", drafts)
        assert [event.seq for event in events] == [1, 2, 3, 4]
        assert events == tuple(log.read("s"))
        assert events == tuple(log.read("s", past_damage=True)) and log.recorded_findings() == ()
        for event, source in zip(events, drafts, strict=True):
            assert event.session_id == "s"
            assert (event.id, event.timestamp, event.turn) == (source.id, source.timestamp, source.turn)
            assert (event.origin, event.payload, event.v) == (source.origin, source.payload, 1)
        assert [event.type for event in events] == ["task.set", "step.reorder", "todo.sync", "context.snapshot"]
        assert list(log.verify()) == []
        log.close()

    def test_sequence_numbers_go_on_across_calls(self) -> None:
        log = self.open_store()
        for number in range(1, 6):
            assert log.append("s", note_drafts(1, number))[0].seq == number
        assert log.last_seq("s") == 5
        log.close()

    def test_ids_and_the_last_of_a_type_are_told_without_bodies(self) -> None:
        log = self.open_store()
        other = [make_draft(StepReorder(("s2", "s1")), 4), make_draft(TodoSync((TodoItem("a", "done"),)), 5)]
        events = [*log.append("s", note_drafts(3)), *log.append("s", other), *log.append("s", note_drafts(1, 6))]
        log.append("another", note_drafts(2))
        for upto in range(len(events) + 2):
            assert log.event_ids("s", upto=upto) == [event.id for event in events[:upto]]
            for types in ({"note.add"}, {"todo.sync", "step.reorder"}, {"nothing.like.it"}):
                last = max((event.seq for event in events[:upto] if event.type in types), default=0)
                assert log.last_seq_of("s", types, upto=upto) == last
        assert (log.event_ids("nobody", upto=9), log.last_seq_of("nobody", {"note.add"}, upto=9)) == ([], 0)
        log.close()

    def test_reading_from_and_to_every_number(self) -> None:
        log = self.open_store()
        log.append("s", note_drafts(7))
        for after in range(-1, 9):
            for upto in (None, *range(-1, 9)):
                numbers = [event.seq for event in log.read("s", after=after, upto=upto)]
                assert numbers == [n for n in range(1, 8) if n > after and (upto is None or n <= upto)]
        assert list(log.read("s", after=2**70)) == []
        assert len(list(log.read("s", upto=2**70))) == 7
        log.close()

    def test_sessions_do_not_mix_and_keep_their_order(self) -> None:
        log = self.open_store()
        names = [f"s{number}" for number in (3, 1, 2, 30, 10)] + ["S3", "s3 ", "ß", "%", "*", "s\u2028"]
        for turn in range(3):
            for name in names:
                log.append(name, [make_draft(NoteAdd(f"{name} {turn}"), turn + 1)])
        assert log.sessions() == tuple(names)
        for name in names:
            assert [event.payload for event in log.read(name)] == [NoteAdd(f"{name} {turn}") for turn in range(3)]
        assert list(log.verify()) == []
        log.close()

    def test_heads_are_the_last_events_and_the_newest_comes_last(self) -> None:
        log = self.open_store()
        assert log.heads() == ()
        for number, name in enumerate(("a", "b", "a", "c", "b"), 1):
            log.append(name, [make_draft(NoteAdd(name), number)])
        assert [(head.session_id, head.seq) for head in log.heads()] == [("a", 2), ("c", 1), ("b", 2)]
        for head in log.heads():
            (last,) = log.read(head.session_id, after=head.seq - 1)
            assert head.timestamp == last.timestamp
        log.close()

    def test_order_is_by_number_whatever_the_clock_says(self) -> None:
        log = self.open_store()
        stamps = [5, -1, 2**62, 0, 5]
        for number, stamp in enumerate(stamps, 1):
            log.append("s", [EventDraft(f"id{number}", stamp, -number, Origin.AGENT, NoteAdd(str(number)))])
        assert [(event.seq, event.timestamp, event.turn) for event in log.read("s")] == [
            (number, stamp, -number) for number, stamp in enumerate(stamps, 1)
        ]
        log.close()

    def test_an_empty_batch_changes_nothing(self) -> None:
        log = self.open_store()
        assert log.append("s", []) == ()
        assert log.append_many([]) == []
        assert log.append_many([Batch("s", ())]) == [()]
        assert log.sessions() == ()
        log.append("s", note_drafts(2))
        expect_error(SequenceConflict, lambda: log.append("s", [], expected=1))
        assert log.append("s", [], expected=2) == ()
        log.close()

    def test_a_payload_of_ten_megabytes(self) -> None:
        log = self.open_store()
        text = "0123456789abcdef \n" * (10_000_000 // 18)
        log.append("s", [make_draft(NoteAdd(text)), make_draft(NoteAdd("small"), 2)])
        assert [event.payload for event in log.read("s")] == [NoteAdd(text), NoteAdd("small")]
        assert list(log.verify()) == []
        log.close()

    def test_reading_goes_on_while_others_append(self) -> None:
        log = self.open_store()
        log.append("s", note_drafts(700))
        numbers = []
        for event in log.read("s"):
            numbers.append(event.seq)
            if event.seq % 50 == 0:
                log.append("s", note_drafts(1, 1000 + event.seq))
        assert numbers == list(range(1, 701)), "a read ends where the log ended when it began"
        assert [event.seq for event in log.read("s")] == list(range(1, 715))
        log.close()

    # -- expectations and groups -------------------------------------------------------------------------------

    def test_expected_guards_against_a_writer_in_between(self) -> None:
        log = self.open_store()
        log.append("s", note_drafts(2), expected=0)
        error = expect_error(SequenceConflict, lambda: log.append("s", note_drafts(1, 9), expected=1))
        assert {key: error.details[key] for key in ("session_id", "expected", "actual")} == {
            "session_id": "s",
            "expected": 1,
            "actual": 2,
        }
        expect_error(SequenceConflict, lambda: log.append("s", note_drafts(1, 9), expected=3))
        expect_error(SequenceConflict, lambda: log.append("new", note_drafts(1, 9), expected=1))
        assert log.last_seq("s") == 2
        assert log.append("s", note_drafts(1, 3), expected=2)[0].seq == 3
        assert log.sessions() == ("s",)
        log.close()

    def test_a_conflicting_batch_does_not_disturb_the_others(self) -> None:
        log = self.open_store()
        log.append("a", note_drafts(1))
        answers = log.append_many(
            [
                Batch("a", tuple(note_drafts(2, 2)), expected=1),
                Batch("a", tuple(note_drafts(1, 4)), expected=1),
                Batch("b", tuple(note_drafts(1, 5)), expected=0),
                Batch("", tuple(note_drafts(1, 6))),
                Batch("a", tuple(note_drafts(1, 7)), expected=3),
            ]
        )
        assert [_seqs(answer) for answer in answers] == [[2, 3], "SequenceConflict", [1], "StoreError", [4]]
        assert [event.payload for event in log.read("a")] == [NoteAdd(f"note {n}") for n in (1, 2, 3, 7)]
        assert list(log.verify()) == []
        log.close()

    def test_batches_that_belong_together_are_appended_all_or_none(self) -> None:
        log = self.open_store()
        log.append("a", note_drafts(1))
        log.put_snapshot(Snapshot("a", 1, "v", b"kept"))
        for wrong in (Batch("a", tuple(note_drafts(1, 9)), expected=3), Batch("", tuple(note_drafts(1, 9)))):
            redact = Batch("a", (make_draft(Redact(1), 2),), expected=1)
            before = (redact, Batch("b", tuple(note_drafts(2, 2))), wrong)
            expect_error(StoreError, lambda batches=before: log.append_together(batches))  # type: ignore[misc]
            assert (log.last_seq("a"), log.last_seq("b"), log.sessions()) == (1, 0, ("a",))
            assert [event.payload for event in log.read("a")] == [NoteAdd("note 1")]
            assert log.get_snapshot("a", "v") == Snapshot("a", 1, "v", b"kept")
        batches = (
            Batch("a", tuple(note_drafts(2, 2)), expected=1),
            Batch("b", tuple(note_drafts(1, 4)), expected=0),
            Batch("a", tuple(note_drafts(1, 5))),
        )
        assert [_seqs(events) for events in log.append_together(batches)] == [[2, 3], [1], [4]]
        assert [event.payload for event in log.read("a")] == [NoteAdd(f"note {n}") for n in (1, 2, 3, 5)]
        assert log.append_together(()) == [] and list(log.verify()) == []
        log.close()

    def test_a_bad_draft_refuses_its_whole_batch(self) -> None:
        log = self.open_store()
        good = make_draft(NoteAdd("good"))
        bad = [
            make_draft(NoteAdd(5)),  # type: ignore[arg-type]
            make_draft(None),  # type: ignore[arg-type]
            make_draft(Unknown("x", 1, b"{}")),  # type: ignore[arg-type]
            EventDraft("", 1, 1, Origin.AGENT, NoteAdd("x")),
            EventDraft("a\0b", 1, 1, Origin.AGENT, NoteAdd("x")),
            EventDraft("\ud800", 1, 1, Origin.AGENT, NoteAdd("x")),
            EventDraft("id", 2**63, 1, Origin.AGENT, NoteAdd("x")),
            EventDraft("id", 1, 1.5, Origin.AGENT, NoteAdd("x")),  # type: ignore[arg-type]
            EventDraft("id", 1, 1, "root", NoteAdd("x")),  # type: ignore[arg-type]
        ]
        for bad_draft in bad:
            expect_error(StoreError, lambda bad_draft=bad_draft: log.append("s", [good, bad_draft, good]))  # type: ignore[misc]
        for name in ("", "a\0b", "\ud800", "x" * 401):
            expect_error(StoreError, lambda name=name: log.append(name, [good]))  # type: ignore[misc]
            assert log.last_seq(name) == 0
            assert list(log.read(name)) == []
        assert log.last_seq("s") == 0
        assert log.sessions() == ()
        assert log.append("x" * 400, [good])[0].seq == 1
        log.close()

    def test_writers_on_threads_lose_nothing(self) -> None:
        log = self.open_store()
        failed: list[BaseException] = []

        def write(name: str) -> None:
            try:
                for number in range(20):
                    log.append("shared", [make_draft(NoteAdd(f"{name} {number}"), number)])
                    log.append(name, [make_draft(NoteAdd(str(number)), number)], expected=number)
            except BaseException as error:  # told by the test's own thread
                failed.append(error)

        threads = [Thread(target=write, args=(name,)) for name in ("a", "b", "c")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert [event.seq for event in log.read("shared")] == list(range(1, 61))
        assert {name: log.last_seq(name) for name in "abc"} == {"a": 20, "b": 20, "c": 20}
        assert list(log.verify()) == []
        log.close()

    # -- payloads ----------------------------------------------------------------------------------------------

    def test_unknown_types_and_newer_versions_are_kept_as_they_are(self) -> None:
        log = self.open_store()
        log.append(
            "s", [make_draft(FutureEvent("later")), make_draft(_NewerNote("v2"), 2), make_draft(NoteAdd("known"), 3)]
        )
        first, second, third = log.read("s")
        assert first.type == "future.thing"
        assert first.payload == Unknown("future.thing", 1, b'{"type":"future.thing","text":"later"}')
        assert second.payload == Unknown("note.add", 2, b'{"type":"note.add","body":"v2"}')
        assert (second.v, third.payload) == (2, NoteAdd("known"))
        assert list(log.verify()) == []
        log.close()

    def test_secrets_are_taken_out_before_the_append(self) -> None:
        log = self.open_store()
        (event,) = log.append("s", [make_draft(NoteAdd(f"token is {SECRET}"))])
        assert event.payload == NoteAdd("token is [redacted:github-token]")
        assert list(log.read("s")) == [event]
        log.close()

    def test_what_was_sealed_before_is_stored_as_it_is(self) -> None:
        log = self.open_store()
        plain = make_draft(NoteAdd(f"token is {SECRET}"))
        sealed = encode_draft(plain.id, plain.timestamp, plain.turn, plain.origin, plain.payload)
        assert sealed.payload == NoteAdd("token is [redacted:github-token]")
        (event,), (same,) = log.append("s", [sealed]), log.append("t", [plain])
        assert event.payload == same.payload == sealed.payload
        assert list(log.read("s")) == [event]
        assert list(log.verify()) == []
        log.close()

    def test_half_surrogates_become_visible(self) -> None:
        log = self.open_store()
        (event,) = log.append("s", [make_draft(NoteAdd("a\ud800b\udfffc"))])
        assert event.payload == NoteAdd("a\\ud800b\\udfffc")
        assert list(log.read("s")) == [event]
        log.close()

    def test_control_characters_and_nul_come_back(self) -> None:
        log = self.open_store()
        text = "".join(map(chr, range(32))) + "\x7f\u0085\u2028\ufeff\U0001f600"
        log.append("s", [make_draft(NoteAdd(text))])
        assert [event.payload for event in log.read("s")] == [NoteAdd(text)]
        log.close()

    def test_redact_removes_the_payload_and_the_chain_still_verifies(self) -> None:
        log = self.open_store()
        log.append("s", [make_draft(NoteAdd(f"n{number}"), number) for number in range(1, 4)])
        log.put_snapshot(Snapshot("s", 1, "v", b"before"))
        log.put_snapshot(Snapshot("s", 3, "v", b"holds n2"))
        log.append("s", [make_draft(Redact(2, "asked for"), 4)])
        payloads = [event.payload for event in log.read("s")]
        assert payloads == [NoteAdd("n1"), None, NoteAdd("n3"), Redact(2, "asked for")]
        assert [event.payload for event in log.read("s", after=1, upto=2)] == [None]
        assert log.get_snapshot("s", "v") == Snapshot("s", 1, "v", b"before"), "a later snapshot may hold the text"
        assert list(log.verify()) == []
        log.put_snapshot(Snapshot("s", 3, "v", b"holds n2"))
        assert log.get_snapshot("s", "v") == Snapshot("s", 1, "v", b"before"), "its writer did not know"
        log.append("s", [make_draft(Redact(2), 5)])
        assert list(log.verify()) == []
        log.close()

    def test_what_is_redacted_while_somebody_reads_is_no_damage(self) -> None:
        log = self.open_store()
        log.append("s", note_drafts(700))
        log.append("s", [make_draft(Redact(1), 701)])
        reading = log.read("s", upto=700)
        assert next(reading).payload is None
        log.append("s", [make_draft(Redact(699), 702)])
        assert [event.seq for event in reading if event.payload is None] == [699]
        log.close()

    def test_redact_within_one_batch(self) -> None:
        log = self.open_store()
        events = log.append(
            "s", [make_draft(NoteAdd("gone")), make_draft(Redact(1), 2), make_draft(NoteAdd("stays"), 3)]
        )
        assert [event.payload for event in events] == [None, Redact(1), NoteAdd("stays")]
        assert tuple(log.read("s")) == events
        assert list(log.verify()) == []
        log.close()

    def test_redact_of_what_cannot_be_redacted_is_refused(self) -> None:
        log = self.open_store()
        log.append("s", [*note_drafts(2), make_draft(Redact(1), 3)])
        for target in (0, -1, 3, 4, 99):
            expect_error(StoreError, lambda target=target: log.append("s", [make_draft(Redact(target), 4)]))  # type: ignore[misc]
        assert log.last_seq("s") == 3
        log.close()

    # -- snapshots ---------------------------------------------------------------------------------------------

    def test_the_newest_fitting_snapshot_is_found(self) -> None:
        log = self.open_store()
        log.append("s", note_drafts(9))
        log.append("t", note_drafts(9))
        for seq in (2, 8, 5):
            log.put_snapshot(Snapshot("s", seq, "1", b"s%d" % seq))
        log.put_snapshot(Snapshot("s", 9, "2", b"other version"))
        log.put_snapshot(Snapshot("t", 9, "1", b""))
        snapshots = [log.get_snapshot("s", "1", upto=upto) for upto in (1, 2, 4, 7, 8, 2**70, None)]
        assert [snapshot.seq if snapshot else 0 for snapshot in snapshots] == [0, 2, 2, 5, 8, 8, 8]
        assert log.get_snapshot("s", "1") == Snapshot("s", 8, "1", b"s8")
        assert log.get_snapshot("t", "1") == Snapshot("t", 9, "1", b"")
        assert log.get_snapshot("t", "2") is None
        log.close()

    def test_three_snapshots_are_kept_of_a_session_and_version(self) -> None:
        log = self.open_store()
        log.append("s", note_drafts(6))
        for seq in (1, 2, 6, 3, 4, 5):
            log.put_snapshot(Snapshot("s", seq, "1", b"%d" % seq))
        assert [snapshot.seq if (snapshot := log.get_snapshot("s", "1", upto=n)) else 0 for n in range(1, 7)] == [
            0,
            0,
            0,
            4,
            5,
            6,
        ]
        log.close()

    def test_a_snapshot_is_replaced_by_one_of_the_same_number(self) -> None:
        log = self.open_store()
        log.append("s", note_drafts(1))
        log.put_snapshot(Snapshot("s", 1, "1", b"old"))
        log.put_snapshot(Snapshot("s", 1, "1", b"new"))
        assert log.get_snapshot("s", "1") == Snapshot("s", 1, "1", b"new")
        log.close()

    def test_a_snapshot_of_an_event_that_is_not_there_is_refused(self) -> None:
        log = self.open_store()
        log.append("s", note_drafts(2))
        for session_id, seq in (("s", 3), ("s", 0), ("s", -1), ("nobody", 1)):
            snapshot = Snapshot(session_id, seq, "1", b"x")
            expect_error(StoreError, lambda snapshot=snapshot: log.put_snapshot(snapshot))  # type: ignore[misc]
        expect_error(StoreError, lambda: log.put_snapshot(Snapshot("s", 1, "1", "text")))  # type: ignore[arg-type]
        assert log.get_snapshot("s", "1") is None
        log.close()

    # -- closing -----------------------------------------------------------------------------------------------

    def test_closing_twice_is_harmless_and_ends_the_use(self) -> None:
        log = self.open_store()
        log.append("s", note_drafts(600))
        reading = log.read("s")
        next(reading)
        log.close()
        log.close()
        calls: Sequence[Callable[[], object]] = (
            lambda: log.append("s", note_drafts(1)),
            lambda: log.append_many([Batch("s", ())]),
            lambda: log.read("s"),
            lambda: list(reading),
            lambda: log.last_seq("s"),
            lambda: log.event_ids("s", upto=1),
            lambda: log.last_seq_of("s", {"note.add"}, upto=1),
            log.sessions,
            lambda: log.put_snapshot(Snapshot("s", 1, "1", b"")),
            lambda: log.get_snapshot("s", "1"),
            lambda: list(log.verify()),
        )
        for call in calls:
            expect_error(StoreError, call)


def _seqs(answer: tuple[Event, ...] | StoreError) -> list[int] | str:
    return type(answer).__name__ if isinstance(answer, StoreError) else [event.seq for event in answer]
