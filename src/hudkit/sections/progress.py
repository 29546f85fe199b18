"""Progress: how the last test runs ended, the last commits, and the plan files with their points."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import CommitMade, PlanPoint, PlanSync, SectionClear, TestsRan
from hudkit.sections.items import Mark, mark


class Suite(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last run of a command that runs tests."""

    command: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    runner: str = ""
    mark: Mark = Mark()


class Made(msgspec.Struct, frozen=True, omit_defaults=True):
    sha: str
    subject: str = ""
    branch: str = ""
    mark: Mark = Mark()


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    path: str
    points: tuple[PlanPoint, ...] = ()
    mark: Mark = Mark()

    @property
    def done(self) -> int:
        """How many points are ticked."""
        return sum(point.done for point in self.points)

    @property
    def next(self) -> str:
        """The first point that is open, or nothing."""
        return next((point.text for point in self.points if not point.done), "")


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """`suites`, `made` and `plans` are in the order in which they last changed; `commits` counts all."""

    suites: tuple[Suite, ...] = ()
    made: tuple[Made, ...] = ()
    plans: tuple[Plan, ...] = ()
    commits: int = 0


SUITES_KEPT = 5
MADE_KEPT = 5
PLANS_KEPT = 5

HANDLES = (TestsRan, CommitMade, PlanSync, SectionClear)


def reduce(progress: Progress, event: Event) -> Progress:
    match event.payload:
        case TestsRan() as ran:
            suite = Suite(ran.command, ran.passed, ran.failed, ran.skipped, ran.runner, mark(event))
            rest = tuple(one for one in progress.suites if one.command != ran.command)
            return msgspec.structs.replace(progress, suites=(*rest, suite)[-SUITES_KEPT:])
        case CommitMade(sha=sha, subject=subject, branch=branch):
            if any(one.sha == sha for one in progress.made):
                return progress
            made = (*progress.made, Made(sha, subject, branch, mark(event)))[-MADE_KEPT:]
            return msgspec.structs.replace(progress, made=made, commits=progress.commits + 1)
        case PlanSync(path=path, points=points):
            others = tuple(one for one in progress.plans if one.path != path)
            plans = (*others, Plan(path, points, mark(event)))[-PLANS_KEPT:] if points else others
            return msgspec.structs.replace(progress, plans=plans)
        case SectionClear(section="progress"):
            return Progress(commits=progress.commits)
    return progress
