"""What finished tool calls tell of the work: test counts, commits, plan files."""

from __future__ import annotations

from collections.abc import Sequence

from hudkit.ingest import extraction
from hudkit.ingest.tool_calls import one_line, relative_path
from hudkit.log.payloads import CommitMade, PlanPoint, PlanSync, TestsRan
from hudkit.transcripts import ToolPart

_COMMAND = 90
_SUBJECT = 120
_WHOLE = {"write": "content", "read": ""}
_PARTS = ("edit", "multiedit")


def count_tests(part: ToolPart) -> tuple[TestsRan, ...]:
    """The counts of a test run that a shell call shows at its end."""
    command = part.input.get("command")
    if part.tool != "bash" or part.status != "completed" or not isinstance(command, str):
        return ()
    found = extraction.count_tests(command, part.output)
    if found is None:
        return ()
    named = one_line(found.command, _COMMAND)
    return (TestsRan(named, found.passed, found.failed, found.skipped, found.runner),)


def find_commits(part: ToolPart) -> tuple[CommitMade, ...]:
    """The commits that a shell call made."""
    command = part.input.get("command")
    if part.tool != "bash" or part.status != "completed" or not isinstance(command, str):
        return ()
    found = extraction.find_commits(command, part.output)
    return tuple(CommitMade(one.sha, one_line(one.subject, _SUBJECT), one_line(one.branch, 60)) for one in found)


def changed_plan(part: ToolPart, directory: str, known: Sequence[PlanSync]) -> PlanSync | None:
    """The plan file that a call wrote, ticked or read, as it is now; `None` where it is about none."""
    path = part.input.get("filePath")
    if not isinstance(path, str) or not extraction.is_plan_file(path):
        return None
    shown = relative_path(path, directory)
    if not shown:
        return None
    if part.tool in _WHOLE:
        text = part.input.get(_WHOLE[part.tool]) if _WHOLE[part.tool] else part.output
        partly = part.tool == "read" and (part.input.get("offset") or part.input.get("limit"))
        found = () if partly or not isinstance(text, str) else extraction.plan_points(text)
        return PlanSync(shown, _plain(found)) if found else None
    if part.tool not in _PARTS:
        return None
    before = next((one.points for one in known if one.path == shown), ())
    points = tuple(extraction.FoundPoint(one.text, one.done) for one in before)
    edits = part.input.get("edits")
    for edit in edits if isinstance(edits, list) else [part.input]:
        old, new = (edit.get("oldString"), edit.get("newString")) if isinstance(edit, dict) else (None, None)
        if isinstance(old, str) and isinstance(new, str):
            points = extraction.update_points(points, old, new)
    return PlanSync(shown, _plain(points)) if points and _plain(points) != before else None


def _plain(points: Sequence[extraction.FoundPoint]) -> tuple[PlanPoint, ...]:
    return tuple(PlanPoint(one.text, one.done) for one in points)
