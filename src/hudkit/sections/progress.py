"""Progress: how the last test runs ended, the last commit, and how far the plan files are ticked."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from hudkit.compose import shorten
from hudkit.log.event import Event
from hudkit.log.payloads import CommitMade, PlanPoint, PlanSync, SectionClear, TestsRan
from hudkit.sections.errors import ErrorsState
from hudkit.sections.items import ItemMark, mark_of
from hudkit.sections.recent import RecentState, shown_commands
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem

MAX_RECORDED = 5
"""Test runs, commits and plan files that are remembered, of each kind the newest."""

_MAX_COMMAND = 60
"""Characters of a command that names a test run."""

_MAX_POINT = 80
"""Characters of a plan's next point, and of a commit's subject."""


class SuiteRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last run of a command that runs tests."""

    command: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    runner: str = ""
    mark: ItemMark = ItemMark()


class RecordedCommit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A commit that was made in the session."""

    sha: str
    subject: str = ""
    branch: str = ""
    mark: ItemMark = ItemMark()


class PlanFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file with a list of points to tick."""

    path: str
    points: tuple[PlanPoint, ...] = ()
    mark: ItemMark = ItemMark()

    @property
    def done(self) -> int:
        """Return how many points are ticked."""
        return sum(point.done for point in self.points)

    @property
    def next(self) -> str:
        """Return the first point that is open, or an empty text."""
        return next((point.text for point in self.points if not point.done), "")


class ProgressState(msgspec.Struct, frozen=True, omit_defaults=True):
    """`suites`, `recent_commits` and `plans` are in the order in which they last changed; `commits` counts all."""

    suites: tuple[SuiteRun, ...] = ()
    recent_commits: tuple[RecordedCommit, ...] = msgspec.field(default=(), name="made")
    plans: tuple[PlanFile, ...] = ()
    commits: int = 0


def _reduce(progress: ProgressState, event: Event) -> ProgressState:
    match event.payload:
        case TestsRan() as ran:
            suite = SuiteRun(ran.command, ran.passed, ran.failed, ran.skipped, ran.runner, mark_of(event))
            others = tuple(each for each in progress.suites if each.command != ran.command)
            return msgspec.structs.replace(progress, suites=(*others, suite)[-MAX_RECORDED:])
        case CommitMade(sha=sha, subject=subject, branch=branch):
            if any(commit.sha == sha for commit in progress.recent_commits):
                return progress
            commit = RecordedCommit(sha, subject, branch, mark_of(event))
            recent = (*progress.recent_commits, commit)[-MAX_RECORDED:]
            return msgspec.structs.replace(progress, recent_commits=recent, commits=progress.commits + 1)
        case PlanSync(path=path, points=points):
            other_plans = tuple(plan for plan in progress.plans if plan.path != path)
            # A plan without points has nothing to tick any more.
            plans = (*other_plans, PlanFile(path, points, mark_of(event)))[-MAX_RECORDED:] if points else other_plans
            return msgspec.structs.replace(progress, plans=plans)
        case SectionClear(section="progress"):
            return ProgressState(commits=progress.commits)
    return progress


def _each_row(progress: ProgressState, elsewhere: Collection[str] = ()) -> Iterator[KeyedRow]:
    for plan in progress.plans:
        left = f", next: {shorten(plan.next, _MAX_POINT)}" if plan.next else ""
        yield KeyedRow(f"plan {plan.path}", f"plan {plan.path}: {plan.done}/{len(plan.points)} done{left}")
    if progress.recent_commits:
        commit = progress.recent_commits[-1]
        branch = f" ({commit.branch})" if commit.branch else ""
        yield KeyedRow("commit", f"commit {commit.sha}{branch}: {shorten(commit.subject, _MAX_POINT)}")
    for suite in [suite for suite in progress.suites if suite.command not in elsewhere][-2:]:
        failed = f", {suite.failed} failed" if suite.failed else ""
        command = shorten(suite.command, _MAX_COMMAND)
        yield KeyedRow(f"tests {suite.command}", f"tests, {command}: {suite.passed} passed{failed}")


def _rows(progress: ProgressState, *_others: object) -> tuple[KeyedRow, ...]:
    return tuple(_each_row(progress))


def _items(progress: ProgressState, recent: RecentState, errors: ErrorsState) -> Iterator[ShownItem]:
    elsewhere = {ran.suite for ran in shown_commands(recent, errors)}
    return (ShownItem(row.key, row.text) for row in _each_row(progress, elsewhere))


LOGIC = SectionLogic(
    handles=(TestsRan, CommitMade, PlanSync, SectionClear),
    reduce=_reduce,
    items=_items,
    rows=_rows,
    reads=("progress", "recent", "errors"),
)
