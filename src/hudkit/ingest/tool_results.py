"""What a finished tool call says of the work: files, the host's todos, test counts, commits, plan files,
sub-agents."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hudkit.ingest import extraction
from hudkit.ingest.tool_calls import FinishedCall, one_line, relative_path
from hudkit.log.payloads import CommitMade, PlanSync, TestsRan

_MAX_COMMAND = 90
_MAX_SUBJECT = 120  # what git itself calls long is 72
_MAX_BRANCH = 60


def read_path(call: FinishedCall, directory: str) -> str:
    """Return the file that a call read, relative to `directory`; empty where it read none, or listed a directory."""
    if call.kind != "read" or call.path is None or "<type>directory</type>" in call.output[:2_000]:
        return ""
    return relative_path(call.path, directory)


def count_tests(call: FinishedCall) -> TestsRan | None:
    """Return the counts of the test run that a shell call shows at its end; `None` where it shows none."""
    if call.failed or call.command is None:
        return None
    counts = extraction.count_tests(call.command, call.output)
    return counts and replace(counts, command=one_line(counts.command, _MAX_COMMAND))


def find_commits(call: FinishedCall) -> tuple[CommitMade, ...]:
    """Return the commits that a shell call made."""
    if call.failed or call.command is None:
        return ()
    return tuple(
        CommitMade(commit.sha, one_line(commit.subject, _MAX_SUBJECT), one_line(commit.branch, _MAX_BRANCH))
        for commit in extraction.find_commits(call.command, call.output)
    )


def changed_plan(call: FinishedCall, directory: str, plans: Sequence[PlanSync]) -> PlanSync | None:
    """Return the plan file that a call wrote, ticked or read, as it is now; `None` where the call is about none.

    `plans` are those that are known, because an edit says only what it changed.
    """
    shown = relative_path(call.path or "", directory)
    if call.path is None or not shown or not extraction.is_plan_file(call.path):
        return None
    if call.kind in ("write", "read"):
        text = call.content if call.kind == "write" else call.output
        # Of a file that was read in part, the points that were not shown are not gone.
        partly = call.kind == "read" and call.partial
        points = () if partly or text is None else extraction.plan_points(text)
        return PlanSync(shown, points) if points else None
    if call.kind != "edit":
        return None
    before = next((plan.points for plan in plans if plan.path == shown), ())
    points = before
    for old, new in call.edits:
        points = extraction.update_points(points, old, new)
    return PlanSync(shown, points) if points and points != before else None
