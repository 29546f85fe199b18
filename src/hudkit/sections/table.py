"""The table of sections: which there are, in the order of the document, and every number and word about each.

A new section is one more row here, a module beside this one, and a field of `HudState`. The task, the session's facts
and a compaction's summary are no lists of items: they have their priority from their modules.
"""

from __future__ import annotations

from hudkit.sections import (
    blockers,
    compacted,
    constraints,
    custom,
    decisions,
    errors,
    files,
    notes,
    preferences,
    progress,
    project,
    recent,
    session_facts,
    shared,
    steps,
    subagents,
    task,
    todos,
)
from hudkit.sections.section import SectionSpec

SECTIONS: tuple[SectionSpec, ...] = (
    SectionSpec("task", task.LOGIC, "Task", "task", contradicts=True, readable=True),
    SectionSpec(
        "constraints",
        constraints.LOGIC,
        "Constraints",
        "constraint",
        priority=95,
        keeps="oldest",
        named_at_minimal=True,
        whole=True,
        favoured=True,
        counted="constraint",
        readable=True,
    ),
    SectionSpec(
        "preferences",
        preferences.LOGIC,
        "Preferences",
        "preference",
        priority=94,
        keeps="oldest",
        named_at_minimal=True,
        whole=True,
        favoured=True,
        counted="preference",
        readable=True,
    ),
    SectionSpec(
        "blockers",
        blockers.LOGIC,
        "⚠ Blockers",
        "blocker",
        priority=90,
        named_at_minimal=True,
        whole=True,
        always=True,
        counted="blocker",
        closing="gone",
        readable=True,
    ),
    SectionSpec(
        "steps",
        steps.LOGIC,
        "Next Steps",
        "step",
        priority=75,
        keeps="oldest",
        counted="step",
        closing="dropped",
        ordered=True,
        readable=True,
    ),
    SectionSpec(
        "todos",
        todos.LOGIC,
        "Todos",
        "todo",
        priority=72,
        keeps="oldest",
        counted="todo",
        pace="turn",
        readable=True,
    ),
    SectionSpec(
        "recent",
        recent.LOGIC,
        "Done before the compaction, do not repeat without need",
        "done before the compaction",
        priority=62,
        # The newest comes first there.
        keeps="oldest",
        pace="never",
        one_line=True,
    ),
    SectionSpec(
        "decisions",
        decisions.LOGIC,
        "Decisions",
        "decision",
        priority=80,
        counted="decision",
        closing="withdrawn",
        readable=True,
    ),
    SectionSpec(
        "subagents",
        subagents.LOGIC,
        "Sub-agents",
        "sub-agent",
        priority=68,
        # The newest comes first there.
        keeps="oldest",
        counted="sub-agent",
        pace="never",
    ),
    SectionSpec("shared", shared.LOGIC, "From other agents", "from another agent", priority=70, keeps="oldest"),
    SectionSpec(
        "errors",
        errors.LOGIC,
        "Open Errors",
        "error",
        priority=88,
        counted="open error",
        pace="turn",
        closing="resolved",
        readable=True,
    ),
    SectionSpec("notes", notes.LOGIC, "Notes", "note", priority=64, counted="note", readable=True),
    SectionSpec(
        "files",
        files.LOGIC,
        "Active Files",
        "file",
        priority=66,
        counted="file",
        pace="turn",
        closing="left",
        readable=True,
    ),
    SectionSpec("progress", progress.LOGIC, "Progress", "progress", priority=45, pace="never"),
    SectionSpec("compacted", compacted.LOGIC, "Earlier Context", "earlier context", pace="never", readable=True),
    SectionSpec("project", project.LOGIC, "Project", "project", priority=35, see="project.get", readable=True),
    SectionSpec("session", session_facts.LOGIC, "Session", "session", pace="never", readable=True),
    # Each custom section has a priority of its own.
    SectionSpec("custom", custom.LOGIC, "Custom sections", "custom section", pace="turn"),
)
"""Every section that is shown, in the order of the document.

The priorities are the order of worth: the rules and preferences of the user, what is in the way and what failed, what
is being done (86), what was decided, the plan, the files being edited, the notes, and the rest; custom sections have
60 at most.
"""
