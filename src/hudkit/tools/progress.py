"""Operations on progress: test runs, commits and plan files, as they were heard; they are read here only."""

from __future__ import annotations

from hudkit.hud import SessionCore
from hudkit.sections.state import HudState
from hudkit.tools.lines import Page, listing
from hudkit.tools.operation import SHOWN, Answer, Row, reading, section


@section("progress", "Progress", clears=True, ordered=True)
def rows(state: HudState) -> tuple[Row, ...]:
    progress = state.progress
    suites = (
        Row("tests", one.command, (f"{one.passed} passed", f"{one.failed} failed"), one, one.mark.seq)
        for one in progress.suites
    )
    made = (
        Row("commit", f"{one.sha} {one.subject}", (one.branch,) * bool(one.branch), one, one.mark.seq)
        for one in progress.recent_commits
    )
    plans = (
        Row("plan", f"{plan.path}: {point.text}", ("done",) if point.done else (), plan, plan.mark.seq)
        for plan in progress.plans
        for point in plan.points
    )
    return (*suites, *made, *plans)


@reading("progress.list", Page)
def list_(session: SessionCore, args: Page) -> Answer:
    """List the last test runs, the last commits and the points of plan files."""
    return listing(SHOWN["progress"], rows(session.state), args, session.state.time)
