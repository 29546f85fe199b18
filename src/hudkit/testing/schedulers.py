"""What every scheduler must do, as plain methods that any test runner can collect.

Subclass `SchedulerConformance`, give `open_place`, and let pytest collect the subclass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hudkit.errors import HudkitError
from hudkit.rooms.scheduler.protocol import JobClaim, Scheduler, StaleClaim
from hudkit.testing.raising import raises

NOON = 1_800_000_000_000


class Place(Protocol):
    """A scheduler with what a test needs besides: jobs, and events that are appended in its transactions."""

    @property
    def scheduler(self) -> Scheduler[Any]: ...
    def add(self, tx: Any, due: int) -> int:
        """A new job; its number."""

    def remove(self, tx: Any, job: int) -> None:
        """Append the event that ends a job for good."""

    def begin(self, tx: Any, claim: JobClaim) -> None:
        """Append the event that makes a claim outlive the process."""

    def note(self, tx: Any, text: str) -> None:
        """Append an event."""

    def notes(self) -> list[str]:
        """What was noted, as another process reads it."""

    def again(self) -> Place:
        """The same jobs, as another process has them that begins now."""

    def close(self) -> None: ...


class SchedulerConformance:
    """The suite."""

    def open_place(self) -> Place:
        """A scheduler without jobs."""
        raise NotImplementedError

    # -- times -------------------------------------------------------------------------------------------------

    def test_nothing_is_due_before_its_time(self) -> None:
        place = self.open_place()
        assert place.scheduler.next_due() is None
        (job,) = _jobs(place, NOON)
        assert place.scheduler.due(job) == place.scheduler.next_due() == NOON
        assert _claim(place, NOON - 1) == ()
        assert _claim(place, NOON) == (JobClaim(job, 1, NOON),)
        place.close()

    def test_the_longest_due_comes_first_and_no_more_than_asked_for(self) -> None:
        place = self.open_place()
        jobs = _jobs(place, NOON + 30, NOON + 10, NOON + 20, NOON + 40)
        assert [claim.job for claim in _claim(place, NOON + 30, 2)] == [jobs[1], jobs[2]]
        assert [claim.job for claim in _claim(place, NOON + 30, 2)] == [jobs[0]]
        assert place.scheduler.next_due() == NOON + 40
        place.close()

    def test_schedule_moves_a_job_both_ways_and_wake_only_forward(self) -> None:
        place = self.open_place()
        (job,) = _jobs(place, NOON)
        steps: list[tuple[Callable[[int, int], None], int, int]] = [
            (place.scheduler.schedule, NOON + 50, NOON + 50),
            (place.scheduler.wake, NOON + 70, NOON + 50),
            (place.scheduler.wake, NOON + 20, NOON + 20),
            (place.scheduler.schedule, NOON + 5, NOON + 5),
        ]
        for verb, due, expected in steps:
            with place.scheduler.transaction():
                verb(job, due)
            assert place.scheduler.due(job) == place.scheduler.next_due() == expected
            assert _claim(place, expected - 1) == ()
        other = place.again()
        assert other.scheduler.due(job) == NOON + 5, "another process knows it, too"
        other.close()
        place.close()

    def test_one_job_is_taken_whenever_it_is_due(self) -> None:
        place = self.open_place()
        first, second = _jobs(place, NOON, NOON + 1_000_000)
        with place.scheduler.transaction():
            (claim,) = place.scheduler.claim(NOON, job=second)
            assert claim.job == second
            assert place.scheduler.claim(NOON, job=second) == ()
        assert [one.job for one in _claim(place, NOON + 2_000_000, 5)] == [first]
        with place.scheduler.transaction():
            assert place.scheduler.claim(NOON, job=999) == ()
        place.close()

    # -- claims ------------------------------------------------------------------------------------------------

    def test_a_job_is_claimed_once_until_it_is_finished(self) -> None:
        place = self.open_place()
        (job,) = _jobs(place, NOON)
        (claim,) = _begin(place, NOON)
        assert place.scheduler.due(job) is None
        assert _claim(place, NOON + 10_000_000, 9) == ()
        assert place.scheduler.holds(claim)
        with place.scheduler.transaction():
            place.scheduler.finish(claim, NOON + 5)
        assert not place.scheduler.holds(claim)
        assert place.scheduler.due(job) == NOON + 5
        (later,) = _claim(place, NOON + 5)
        assert later.fence > claim.fence
        place.close()

    def test_a_finished_claim_cannot_be_finished_again(self) -> None:
        place = self.open_place()
        _jobs(place, NOON)
        (claim,) = _begin(place, NOON)
        with place.scheduler.transaction():
            place.scheduler.finish(claim, NOON + 5)
        raises(StaleClaim, lambda: _finish(place, claim, NOON + 9, "twice"))
        assert place.notes() == []
        assert place.scheduler.next_due() == NOON + 5
        place.close()

    def test_a_claim_that_is_not_begun_is_given_back_or_given_up(self) -> None:
        place = self.open_place()
        (job,) = _jobs(place, NOON)
        (claim,) = _claim(place, NOON)
        other = place.again()
        assert other.scheduler.due(job) == NOON, "with the process, the claim is gone"
        other.close()
        with place.scheduler.transaction():
            place.scheduler.finish(claim, NOON + 7)
        assert place.scheduler.due(job) == NOON + 7
        assert place.scheduler.begun() == ()
        place.close()

    def test_what_is_due_after_a_finish_outlives_the_process(self) -> None:
        place = self.open_place()
        (job,) = _jobs(place, NOON)
        (claim,) = _begin(place, NOON)
        _finish(place, claim, NOON + 77, "done")
        other = place.again()
        assert other.scheduler.due(job) == NOON + 77
        assert other.notes() == ["done"]
        other.close()
        place.close()

    def test_what_is_in_somebody_s_hands_is_given_out_to_nobody_however_due_it_is_made(self) -> None:
        place = self.open_place()
        (job,) = _jobs(place, NOON)
        (claim,) = _begin(place, NOON)
        other = place.again()
        for one in (place, other):
            for verb in (one.scheduler.schedule, one.scheduler.wake):
                with one.scheduler.transaction():
                    verb(job, NOON - 5)
                assert _claim(place, NOON + 100) == _claim(other, NOON + 100) == ()
        with place.scheduler.transaction():
            assert place.scheduler.claim(NOON, job=job) == ()
        _finish(place, claim, NOON + 60, "done")
        assert place.scheduler.due(job) == NOON + 60, "whoever finishes says when it is due again"
        other.close()
        place.close()

    def test_a_job_that_is_gone_is_never_due_again_and_what_was_begun_of_it_ends(self) -> None:
        place = self.open_place()
        first, second, third = _jobs(place, NOON, NOON + 10, NOON + 20)
        (begun,) = _begin(place, NOON)
        (waiting,) = _claim(place, NOON + 10)
        other = place.again()
        with other.scheduler.transaction() as tx:
            for job in (first, second, third):
                other.remove(tx, job)
        raises(StaleClaim, lambda: _finish(place, waiting, NOON + 100, "too late"))
        _finish(place, begun, NOON + 100, "the end")
        for one in (place, other):
            with one.scheduler.transaction():
                assert one.scheduler.claim(NOON + 1_000, 9) == one.scheduler.claim(NOON, job=third) == ()
            assert one.scheduler.next_due() is None and one.scheduler.due(first) is None
            assert one.scheduler.begun() == () and one.notes() == ["the end"]
        other.close()
        place.close()

    # -- all or nothing ----------------------------------------------------------------------------------------

    def test_a_transaction_that_fails_leaves_nothing(self) -> None:
        place = self.open_place()
        first, second = _jobs(place, NOON, NOON + 50)

        def fail() -> None:
            with place.scheduler.transaction() as tx:
                place.note(tx, "never")
                place.scheduler.schedule(second, NOON + 10)
                (claim,) = place.scheduler.claim(NOON)
                place.begin(tx, claim)
                place.add(tx, NOON - 9)
                raise ZeroDivisionError

        raises(ZeroDivisionError, fail)
        assert place.notes() == []
        assert (place.scheduler.due(first), place.scheduler.due(second)) == (NOON, NOON + 50)
        assert place.scheduler.next_due() == NOON
        assert place.scheduler.begun() == ()
        assert [claim.job for claim in _claim(place, NOON + 50, 9)] == [first, second]
        place.close()

    def test_a_claim_in_a_transaction_that_fails_is_none(self) -> None:
        place = self.open_place()
        (job,) = _jobs(place, NOON)

        def fail() -> None:
            with place.scheduler.transaction():
                assert place.scheduler.claim(NOON)
                raise ZeroDivisionError

        raises(ZeroDivisionError, fail)
        assert place.scheduler.next_due() == place.scheduler.due(job) == NOON
        assert [claim.job for claim in _claim(place, NOON)] == [job]
        place.close()

    def test_a_failed_finish_leaves_the_claim(self) -> None:
        place = self.open_place()
        _jobs(place, NOON)
        (claim,) = _begin(place, NOON)

        def fail() -> None:
            with place.scheduler.transaction() as tx:
                place.scheduler.finish(claim, NOON + 1)
                place.note(tx, "never")
                raise ZeroDivisionError

        raises(ZeroDivisionError, fail)
        assert place.scheduler.holds(claim)
        _finish(place, claim, NOON + 2, "now")
        assert place.notes() == ["now"]
        place.close()

    # -- several processes -------------------------------------------------------------------------------------

    def test_what_one_process_began_no_other_gets(self) -> None:
        place = self.open_place()
        _jobs(place, NOON, NOON)
        other = place.again()
        (mine,) = _begin(place, NOON)
        (theirs,) = _begin(other, NOON)
        assert mine.job != theirs.job
        assert _begin(other, NOON) == _begin(place, NOON) == ()
        _finish(place, mine, NOON + 3, "mine")
        _finish(other, theirs, NOON + 4, "theirs")
        assert sorted(place.notes()) == ["mine", "theirs"]
        other.close()
        place.close()

    def test_what_another_process_schedules_and_wakes_is_known_in_the_next_transaction(self) -> None:
        place = self.open_place()
        first, second = _jobs(place, NOON + 50, NOON + 60)
        other = place.again()
        with place.scheduler.transaction():
            place.scheduler.schedule(first, NOON + 90)
            place.scheduler.wake(second, NOON + 10)
        assert [claim.job for claim in _claim(other, NOON + 50, 9)] == [second]
        other.close()
        place.close()

    def test_of_two_who_claimed_one_job_one_begins_it_and_the_other_s_claim_does_not_hold(self) -> None:
        """A claim that is not begun yet is known to nobody else: it may wait for whatever it needs."""
        place = self.open_place()
        _jobs(place, NOON)
        (waiting,) = _claim(place, NOON)
        other = place.again()
        for claim in _begin(other, NOON):  # a store that tells others of claims gives none
            with place.scheduler.transaction():
                assert not place.scheduler.holds(waiting), "another process began it"
            raises(StaleClaim, lambda: _finish(place, waiting, NOON + 100, "mine"))
            assert other.scheduler.holds(claim)
            _finish(other, claim, NOON + 5, "theirs")
            assert place.notes() == ["theirs"]
            with place.scheduler.transaction():
                assert not place.scheduler.holds(waiting)
                (again,) = place.scheduler.claim(NOON + 5)
                assert place.scheduler.holds(again) and again.fence > claim.fence
        other.close()
        place.close()

    def test_who_takes_over_may_finish_what_it_did_not_begin(self) -> None:
        place = self.open_place()
        (job,) = _jobs(place, NOON)
        (waiting,) = _claim(place, NOON)
        other = place.again()
        if _begin(other, NOON):
            with place.scheduler.transaction():
                (begun,) = place.scheduler.begun()
                assert not place.scheduler.holds(waiting) and place.scheduler.holds(begun)
                place.scheduler.finish(begun, NOON + 9)
            assert place.scheduler.due(job) == NOON + 9
        other.close()
        place.close()

    def test_the_fence_keeps_out_who_was_taken_over(self) -> None:
        place = self.open_place()
        (job,) = _jobs(place, NOON)
        (claim,) = _begin(place, NOON)
        other = place.again()
        assert other.scheduler.begun() == (claim,)
        _finish(other, other.scheduler.begun()[0], NOON + 1, "lost")
        raises(StaleClaim, lambda: _finish(place, claim, NOON + 100, "late"))
        assert place.notes() == ["lost"]
        (again,) = _begin(other, NOON + 1)
        raises(StaleClaim, lambda: _finish(place, claim, NOON + 100, "later"))
        assert other.scheduler.holds(again)
        _finish(other, again, NOON + 5, "anew")
        assert place.notes() == ["lost", "anew"]
        with place.scheduler.transaction():
            assert place.scheduler.due(job) == NOON + 5
        other.close()
        place.close()

    def test_the_fence_and_the_events_are_one_transaction(self) -> None:
        """Another process takes the claim over after it was looked at, and before the events are appended."""
        place = self.open_place()
        _jobs(place, NOON)
        (claim,) = _begin(place, NOON)
        other = place.again()

        def late() -> None:
            with place.scheduler.transaction() as tx:
                assert place.scheduler.holds(claim)
                place.note(tx, "late")
                place.scheduler.finish(claim, NOON + 100)
                _finish(other, claim, NOON + 1, "taken over")

        try:
            late()
        except HudkitError:
            assert place.notes() == ["taken over"]
        else:
            raise AssertionError("two processes finished one claim")
        assert other.scheduler.next_due() == NOON + 1
        other.close()
        place.close()


def _jobs(place: Place, *dues: int) -> list[int]:
    with place.scheduler.transaction() as tx:
        return [place.add(tx, due) for due in dues]


def _claim(place: Place, now: int, most: int = 1) -> tuple[JobClaim, ...]:
    with place.scheduler.transaction():
        return place.scheduler.claim(now, most)


def _begin(place: Place, now: int) -> tuple[JobClaim, ...]:
    with place.scheduler.transaction() as tx:
        claims = place.scheduler.claim(now)
        for claim in claims:
            place.begin(tx, claim)
        return claims


def _finish(place: Place, claim: JobClaim, due: int, text: str) -> None:
    with place.scheduler.transaction() as tx:
        place.note(tx, text)
        place.scheduler.finish(claim, due)
