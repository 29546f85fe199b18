"""The task, or what stands in for it."""

from __future__ import annotations

from hudkit.compose import Density, Element, component, h, shorten
from hudkit.sections.session import SessionFacts
from hudkit.sections.task import Task as TaskState
from hudkit.sections.views.section import Row, Section, View

LENGTHS = {Density.FULL: 600, Density.COMPACT: 200, Density.MINIMAL: 100}
"""Characters of the task that are shown; it has no priority and always stays."""

NONE = "none set yet (task.set sets it)"


def words(task: TaskState, session: SessionFacts) -> tuple[str, str]:
    """The task, and where it was taken from if nobody set it: the session's title, else the last request."""
    if task:
        return task.description, ""
    if session.title:
        return session.title, " (from the session's title)"
    if session.request:
        return session.request, " (from the last request)"
    return NONE, ""


@component
def Task(task: TaskState, session: SessionFacts, view: View) -> Element:
    text, derived = words(task, session)
    text = shorten(text, LENGTHS[view.density])
    if view.density is Density.FULL:
        return h.section(title="Task", level=1, key="task")[h.text[text, derived]]
    return h.text(key="task")["Task: ", text, derived]


def rows(task: TaskState, session: SessionFacts) -> tuple[Row, ...]:
    text, derived = words(task, session)
    return (Row("task", shorten(text, LENGTHS[Density.FULL]) + derived),)


SECTION = Section("task", "Task", "task", ("task", "session"), Task, rows)
