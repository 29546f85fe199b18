"""What every scheduler must do, as plain methods that any test runner can collect.

Subclass `SchedulerConformance`, give `open_scheduler`, and let pytest collect the subclass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hudkit.errors import HudkitError
from hudkit.rooms.scheduler.protocol import JobClaim, Scheduler, StaleClaim
from hudkit.testing.assertions import expect_error

NOON = 1_800_000_000_000
"""The time (Unix ms) that tests count from."""


class SchedulerHarness(Protocol):
    """A scheduler with what a test needs besides: jobs, and events that are appended in its transactions."""

    @property
    def scheduler(self) -> Scheduler[Any]:
        """Return the scheduler under test."""

    def add(self, tx: Any, due: int) -> int:
        """Add a job and return its number."""

    def remove(self, tx: Any, job: int) -> None:
        """Append the event that ends a job for good."""

    def begin(self, tx: Any, claim: JobClaim) -> None:
        """Append the event that makes a claim outlive the process."""

    def note(self, tx: Any, text: str) -> None:
        """Append an event."""

    def notes(self) -> list[str]:
        """Return what was noted, as another process reads it."""

    def again(self) -> SchedulerHarness:
        """Return the same jobs, as another process has them that begins now."""

    def close(self) -> None:
        """Close what was opened; return nothing."""


class SchedulerConformance:
    """The suite. `open_scheduler` gives a scheduler without jobs; each test closes what it opened."""

    def open_scheduler(self) -> SchedulerHarness:
        """Return an open scheduler without jobs."""
        raise NotImplementedError

    # -- times -------------------------------------------------------------------------------------------------

    def test_nothing_is_due_before_its_time(self) -> None:
        harness = self.open_scheduler()
        assert harness.scheduler.next_due() is None
        (job,) = _jobs(harness, NOON)
        assert harness.scheduler.due(job) == harness.scheduler.next_due() == NOON
        assert _claim(harness, NOON - 1) == ()
        assert _claim(harness, NOON) == (JobClaim(job, 1, NOON),)
        harness.close()

    def test_the_longest_due_comes_first_and_no_more_than_asked_for(self) -> None:
        harness = self.open_scheduler()
        jobs = _jobs(harness, NOON + 30, NOON + 10, NOON + 20, NOON + 40)
        assert [claim.job for claim in _claim(harness, NOON + 30, 2)] == [jobs[1], jobs[2]]
        assert [claim.job for claim in _claim(harness, NOON + 30, 2)] == [jobs[0]]
        assert harness.scheduler.next_due() == NOON + 40
        harness.close()

    def test_schedule_moves_a_job_both_ways_and_wake_only_forward(self) -> None:
        harness = self.open_scheduler()
        (job,) = _jobs(harness, NOON)
        steps: list[tuple[Callable[[int, int], None], int, int]] = [
            (harness.scheduler.schedule, NOON + 50, NOON + 50),
            (harness.scheduler.wake, NOON + 70, NOON + 50),
            (harness.scheduler.wake, NOON + 20, NOON + 20),
            (harness.scheduler.schedule, NOON + 5, NOON + 5),
        ]
        for verb, due, expected in steps:
            with harness.scheduler.transaction():
                verb(job, due)
            assert harness.scheduler.due(job) == harness.scheduler.next_due() == expected
            assert _claim(harness, expected - 1) == ()
        other = harness.again()
        assert other.scheduler.due(job) == NOON + 5, "another process knows it, too"
        other.close()
        harness.close()

    def test_one_job_is_taken_whenever_it_is_due(self) -> None:
        harness = self.open_scheduler()
        first, second = _jobs(harness, NOON, NOON + 1_000_000)
        with harness.scheduler.transaction():
            (claim,) = harness.scheduler.claim(NOON, job=second)
            assert claim.job == second
            assert harness.scheduler.claim(NOON, job=second) == ()
        assert [claim.job for claim in _claim(harness, NOON + 2_000_000, 5)] == [first]
        with harness.scheduler.transaction():
            assert harness.scheduler.claim(NOON, job=999) == ()
        harness.close()

    # -- claims ------------------------------------------------------------------------------------------------

    def test_a_job_is_claimed_once_until_it_is_finished(self) -> None:
        harness = self.open_scheduler()
        (job,) = _jobs(harness, NOON)
        (claim,) = _begin(harness, NOON)
        assert harness.scheduler.due(job) is None
        assert _claim(harness, NOON + 10_000_000, 9) == ()
        assert harness.scheduler.holds(claim)
        with harness.scheduler.transaction():
            harness.scheduler.finish(claim, NOON + 5)
        assert not harness.scheduler.holds(claim)
        assert harness.scheduler.due(job) == NOON + 5
        (later,) = _claim(harness, NOON + 5)
        assert later.fence > claim.fence
        harness.close()

    def test_a_finished_claim_cannot_be_finished_again(self) -> None:
        harness = self.open_scheduler()
        _jobs(harness, NOON)
        (claim,) = _begin(harness, NOON)
        with harness.scheduler.transaction():
            harness.scheduler.finish(claim, NOON + 5)
        expect_error(StaleClaim, lambda: _finish(harness, claim, NOON + 9, "twice"))
        assert harness.notes() == []
        assert harness.scheduler.next_due() == NOON + 5
        harness.close()

    def test_a_claim_that_is_not_begun_is_given_back_or_given_up(self) -> None:
        harness = self.open_scheduler()
        (job,) = _jobs(harness, NOON)
        (claim,) = _claim(harness, NOON)
        other = harness.again()
        assert other.scheduler.due(job) == NOON, "with the process, the claim is gone"
        other.close()
        with harness.scheduler.transaction():
            harness.scheduler.finish(claim, NOON + 7)
        assert harness.scheduler.due(job) == NOON + 7
        assert harness.scheduler.begun() == ()
        harness.close()

    def test_what_is_due_after_a_finish_outlives_the_process(self) -> None:
        harness = self.open_scheduler()
        (job,) = _jobs(harness, NOON)
        (claim,) = _begin(harness, NOON)
        _finish(harness, claim, NOON + 77, "done")
        other = harness.again()
        assert other.scheduler.due(job) == NOON + 77
        assert other.notes() == ["done"]
        other.close()
        harness.close()

    def test_what_is_in_somebody_s_hands_is_given_out_to_nobody_however_due_it_is_made(self) -> None:
        harness = self.open_scheduler()
        (job,) = _jobs(harness, NOON)
        (claim,) = _begin(harness, NOON)
        other = harness.again()
        for process in (harness, other):
            for verb in (process.scheduler.schedule, process.scheduler.wake):
                with process.scheduler.transaction():
                    verb(job, NOON - 5)
                assert _claim(harness, NOON + 100) == _claim(other, NOON + 100) == ()
        with harness.scheduler.transaction():
            assert harness.scheduler.claim(NOON, job=job) == ()
        _finish(harness, claim, NOON + 60, "done")
        assert harness.scheduler.due(job) == NOON + 60, "whoever finishes says when it is due again"
        other.close()
        harness.close()

    def test_a_job_that_is_gone_is_never_due_again_and_what_was_begun_of_it_ends(self) -> None:
        harness = self.open_scheduler()
        first, second, third = _jobs(harness, NOON, NOON + 10, NOON + 20)
        (begun,) = _begin(harness, NOON)
        (waiting,) = _claim(harness, NOON + 10)
        other = harness.again()
        with other.scheduler.transaction() as tx:
            for job in (first, second, third):
                other.remove(tx, job)
        expect_error(StaleClaim, lambda: _finish(harness, waiting, NOON + 100, "too late"))
        _finish(harness, begun, NOON + 100, "the end")
        for process in (harness, other):
            with process.scheduler.transaction():
                assert process.scheduler.claim(NOON + 1_000, 9) == process.scheduler.claim(NOON, job=third) == ()
            assert process.scheduler.next_due() is None and process.scheduler.due(first) is None
            assert process.scheduler.begun() == () and process.notes() == ["the end"]
        other.close()
        harness.close()

    # -- all or nothing ----------------------------------------------------------------------------------------

    def test_a_transaction_that_fails_leaves_nothing(self) -> None:
        harness = self.open_scheduler()
        first, second = _jobs(harness, NOON, NOON + 50)

        def fail() -> None:
            with harness.scheduler.transaction() as tx:
                harness.note(tx, "never")
                harness.scheduler.schedule(second, NOON + 10)
                (claim,) = harness.scheduler.claim(NOON)
                harness.begin(tx, claim)
                harness.add(tx, NOON - 9)
                raise ZeroDivisionError

        expect_error(ZeroDivisionError, fail)
        assert harness.notes() == []
        assert (harness.scheduler.due(first), harness.scheduler.due(second)) == (NOON, NOON + 50)
        assert harness.scheduler.next_due() == NOON
        assert harness.scheduler.begun() == ()
        assert [claim.job for claim in _claim(harness, NOON + 50, 9)] == [first, second]
        harness.close()

    def test_a_claim_in_a_transaction_that_fails_is_none(self) -> None:
        harness = self.open_scheduler()
        (job,) = _jobs(harness, NOON)

        def fail() -> None:
            with harness.scheduler.transaction():
                assert harness.scheduler.claim(NOON)
                raise ZeroDivisionError

        expect_error(ZeroDivisionError, fail)
        assert harness.scheduler.next_due() == harness.scheduler.due(job) == NOON
        assert [claim.job for claim in _claim(harness, NOON)] == [job]
        harness.close()

    def test_a_failed_finish_leaves_the_claim(self) -> None:
        harness = self.open_scheduler()
        _jobs(harness, NOON)
        (claim,) = _begin(harness, NOON)

        def fail() -> None:
            with harness.scheduler.transaction() as tx:
                harness.scheduler.finish(claim, NOON + 1)
                harness.note(tx, "never")
                raise ZeroDivisionError

        expect_error(ZeroDivisionError, fail)
        assert harness.scheduler.holds(claim)
        _finish(harness, claim, NOON + 2, "now")
        assert harness.notes() == ["now"]
        harness.close()

    # -- several processes -------------------------------------------------------------------------------------

    def test_what_one_process_began_no_other_gets(self) -> None:
        harness = self.open_scheduler()
        _jobs(harness, NOON, NOON)
        other = harness.again()
        (mine,) = _begin(harness, NOON)
        (theirs,) = _begin(other, NOON)
        assert mine.job != theirs.job
        assert _begin(other, NOON) == _begin(harness, NOON) == ()
        _finish(harness, mine, NOON + 3, "mine")
        _finish(other, theirs, NOON + 4, "theirs")
        assert sorted(harness.notes()) == ["mine", "theirs"]
        other.close()
        harness.close()

    def test_what_another_process_schedules_and_wakes_is_known_in_the_next_transaction(self) -> None:
        harness = self.open_scheduler()
        first, second = _jobs(harness, NOON + 50, NOON + 60)
        other = harness.again()
        with harness.scheduler.transaction():
            harness.scheduler.schedule(first, NOON + 90)
            harness.scheduler.wake(second, NOON + 10)
        assert [claim.job for claim in _claim(other, NOON + 50, 9)] == [second]
        other.close()
        harness.close()

    def test_of_two_who_claimed_one_job_one_begins_it_and_the_other_s_claim_does_not_hold(self) -> None:
        """A claim that is not begun yet is known to nobody else: it may wait for whatever it needs."""
        harness = self.open_scheduler()
        _jobs(harness, NOON)
        (waiting,) = _claim(harness, NOON)
        other = harness.again()
        for claim in _begin(other, NOON):  # a store that tells others of claims gives none
            with harness.scheduler.transaction():
                assert not harness.scheduler.holds(waiting), "another process began it"
            expect_error(StaleClaim, lambda: _finish(harness, waiting, NOON + 100, "mine"))
            assert other.scheduler.holds(claim)
            _finish(other, claim, NOON + 5, "theirs")
            assert harness.notes() == ["theirs"]
            with harness.scheduler.transaction():
                assert not harness.scheduler.holds(waiting)
                (again,) = harness.scheduler.claim(NOON + 5)
                assert harness.scheduler.holds(again) and again.fence > claim.fence
        other.close()
        harness.close()

    def test_who_takes_over_may_finish_what_it_did_not_begin(self) -> None:
        harness = self.open_scheduler()
        (job,) = _jobs(harness, NOON)
        (waiting,) = _claim(harness, NOON)
        other = harness.again()
        if _begin(other, NOON):
            with harness.scheduler.transaction():
                (begun,) = harness.scheduler.begun()
                assert not harness.scheduler.holds(waiting) and harness.scheduler.holds(begun)
                harness.scheduler.finish(begun, NOON + 9)
            assert harness.scheduler.due(job) == NOON + 9
        other.close()
        harness.close()

    def test_the_fence_keeps_out_who_was_taken_over(self) -> None:
        harness = self.open_scheduler()
        (job,) = _jobs(harness, NOON)
        (claim,) = _begin(harness, NOON)
        other = harness.again()
        assert other.scheduler.begun() == (claim,)
        _finish(other, other.scheduler.begun()[0], NOON + 1, "lost")
        expect_error(StaleClaim, lambda: _finish(harness, claim, NOON + 100, "late"))
        assert harness.notes() == ["lost"]
        (again,) = _begin(other, NOON + 1)
        expect_error(StaleClaim, lambda: _finish(harness, claim, NOON + 100, "later"))
        assert other.scheduler.holds(again)
        _finish(other, again, NOON + 5, "anew")
        assert harness.notes() == ["lost", "anew"]
        with harness.scheduler.transaction():
            assert harness.scheduler.due(job) == NOON + 5
        other.close()
        harness.close()

    def test_the_fence_and_the_events_are_one_transaction(self) -> None:
        """Another process takes the claim over after it was looked at, and before the events are appended."""
        harness = self.open_scheduler()
        _jobs(harness, NOON)
        (claim,) = _begin(harness, NOON)
        other = harness.again()

        def late() -> None:
            with harness.scheduler.transaction() as tx:
                assert harness.scheduler.holds(claim)
                harness.note(tx, "late")
                harness.scheduler.finish(claim, NOON + 100)
                _finish(other, claim, NOON + 1, "taken over")

        try:
            late()
        except HudkitError:
            assert harness.notes() == ["taken over"]
        else:
            raise AssertionError("two processes finished one claim")
        assert other.scheduler.next_due() == NOON + 1
        other.close()
        harness.close()


def _jobs(harness: SchedulerHarness, *dues: int) -> list[int]:
    with harness.scheduler.transaction() as tx:
        return [harness.add(tx, due) for due in dues]


def _claim(harness: SchedulerHarness, now: int, most: int = 1) -> tuple[JobClaim, ...]:
    with harness.scheduler.transaction():
        return harness.scheduler.claim(now, most)


def _begin(harness: SchedulerHarness, now: int) -> tuple[JobClaim, ...]:
    with harness.scheduler.transaction() as tx:
        claims = harness.scheduler.claim(now)
        for claim in claims:
            harness.begin(tx, claim)
        return claims


def _finish(harness: SchedulerHarness, claim: JobClaim, due: int, text: str) -> None:
    with harness.scheduler.transaction() as tx:
        harness.note(tx, text)
        harness.scheduler.finish(claim, due)
