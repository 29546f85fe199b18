"""Progress: the last test runs, the last commit, and how far the plan files are ticked."""

from __future__ import annotations

from collections.abc import Iterator

from hudkit.compose import Element, component, shorten
from hudkit.sections.progress import Progress as ProgressState
from hudkit.sections.views.section import Line, Row, Section, View, listed

COMMAND = 60
"""Characters of a command that names a test run."""

POINT = 80
"""Characters of a plan's next point."""


@component
def Progress(progress: ProgressState, view: View) -> Element | None:
    return listed("progress", "Progress", (Line(row.key, row.text) for row in rows(progress)), view)


def rows(progress: ProgressState) -> tuple[Row, ...]:
    return tuple(_rows(progress))


def _rows(progress: ProgressState) -> Iterator[Row]:
    for plan in progress.plans:
        left = f", next: {shorten(plan.next, POINT)}" if plan.next else ""
        yield Row(f"plan {plan.path}", f"plan {plan.path}: {plan.done}/{len(plan.points)} done{left}")
    if progress.made:
        last = progress.made[-1]
        yield Row(
            "commit", f"commit {last.sha}{f' ({last.branch})' if last.branch else ''}: {shorten(last.subject, 80)}"
        )
    for suite in progress.suites[-2:]:
        bad = f", {suite.failed} failed" if suite.failed else ""
        yield Row(f"tests {suite.command}", f"tests, {shorten(suite.command, COMMAND)}: {suite.passed} passed{bad}")


SECTION = Section("progress", "Progress", "progress", ("progress",), Progress, rows, pace="never")
