"""Operations on progress: test runs, commits and plan files, as they were heard; they are read here only."""

from __future__ import annotations

from hudkit.hud import SessionCore
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, list_rows
from hudkit.tools.operation import SECTION_LISTINGS, AnswerRow, OperationResult, reading, section_listing


@section_listing("progress", "Progress", clears=True, ordered=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    progress = state.progress
    suites = (
        AnswerRow("tests", suite.command, (f"{suite.passed} passed", f"{suite.failed} failed"), suite, suite.mark.seq)
        for suite in progress.suites
    )
    commits = (
        AnswerRow(
            "commit",
            f"{commit.sha} {commit.subject}",
            (commit.branch,) * bool(commit.branch),
            commit,
            commit.mark.seq,
        )
        for commit in progress.recent_commits
    )
    plans = (
        AnswerRow("plan", f"{plan.path}: {point.text}", ("done",) if point.done else (), plan, plan.mark.seq)
        for plan in progress.plans
        for point in plan.points
    )
    return (*suites, *commits, *plans)


@reading("progress.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the last test runs, the last commits and the points of plan files."""
    return list_rows(SECTION_LISTINGS["progress"], _rows(session.state), args, session.state.time)
