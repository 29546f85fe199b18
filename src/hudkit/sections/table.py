"""The table of sections: which there are, in the order of the document, and every number and word about each.

A new section is one more row here, a module beside this one, and a field of `HudState`. The task and the preamble
have no priority: they always stay. A compaction's summary goes first, because it stands in the transcript, too.
"""

from __future__ import annotations

from hudkit.config import SectionLimits
from hudkit.sections import (
    blockers,
    compacted,
    constraints,
    custom,
    decisions,
    errors,
    files,
    notes,
    progress,
    project,
    session_facts,
    shared,
    steps,
    task,
    todos,
)
from hudkit.sections.section import SectionSpec

_LIMITS = SectionLimits()
"""Limits that a user can set have their default in the settings; the others stand here."""

SECTIONS: tuple[SectionSpec, ...] = (
    SectionSpec("task", task.LOGIC, "Task", "task", readable=True),
    SectionSpec(
        "constraints",
        constraints.LOGIC,
        "Constraints",
        "constraint",
        priority=85,
        limit=_LIMITS.constraints,
        named_at_minimal=True,
        readable=True,
    ),
    SectionSpec(
        "blockers",
        blockers.LOGIC,
        "⚠ Blockers",
        "blocker",
        priority=90,
        limit=_LIMITS.blockers,
        named_at_minimal=True,
        closing="gone",
        readable=True,
    ),
    SectionSpec(
        "steps",
        steps.LOGIC,
        "Next Steps",
        "step",
        priority=80,
        limit=_LIMITS.steps,
        closing="dropped",
        ordered=True,
        readable=True,
    ),
    SectionSpec(
        "todos",
        todos.LOGIC,
        "Todos",
        "todo",
        priority=60,
        limit=_LIMITS.todos,
        counted="todo",
        pace="turn",
        readable=True,
    ),
    SectionSpec(
        "decisions",
        decisions.LOGIC,
        "Decisions",
        "decision",
        priority=75,
        limit=_LIMITS.decisions,
        preview=5,
        counted="decision",
        closing="withdrawn",
        readable=True,
    ),
    SectionSpec("shared", shared.LOGIC, "From other agents", "from another agent", priority=62),
    SectionSpec(
        "errors",
        errors.LOGIC,
        "Open Errors",
        "error",
        priority=70,
        limit=_LIMITS.errors,
        counted="open error",
        pace="turn",
        closing="resolved",
        readable=True,
    ),
    SectionSpec(
        "notes", notes.LOGIC, "Notes", "note", priority=50, limit=_LIMITS.notes, counted="note", readable=True
    ),
    SectionSpec(
        "files",
        files.LOGIC,
        "Active Files",
        "file",
        priority=40,
        limit=_LIMITS.files,
        preview=5,
        counted="file",
        pace="turn",
        closing="left",
        readable=True,
    ),
    SectionSpec("progress", progress.LOGIC, "Progress", "progress", priority=45, pace="never"),
    SectionSpec(
        "compacted", compacted.LOGIC, "Earlier Context", "earlier context", priority=15, pace="never", readable=True
    ),
    SectionSpec("project", project.LOGIC, "Project", "project", priority=35, readable=True),
    SectionSpec("session", session_facts.LOGIC, "Session", "session", priority=20, pace="never", readable=True),
    # Each custom section has a priority of its own; this one only says that they are a section of the document.
    SectionSpec("custom", custom.LOGIC, "Custom sections", "custom section", pace="turn"),
)
"""Every section that is shown, in the order of the document."""
