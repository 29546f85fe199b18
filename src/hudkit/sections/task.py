"""The task: what the agent said it is, and what stands in for it where nobody said anything."""

from __future__ import annotations

import msgspec

from hudkit.compose import Density, Element, h, shorten
from hudkit.log.event import Event, Origin
from hudkit.log.payloads import SectionClear, SectionReplace, TaskClear, TaskSet, TaskUpdate
from hudkit.sections.section import KeyedRow, SectionLogic, SectionView
from hudkit.sections.session_facts import SessionFacts

TASK_CHARS = {Density.FULL: 600, Density.COMPACT: 200, Density.MINIMAL: 100}
"""Characters of the task that are shown; it has no priority and always stays."""

NO_TASK_TEXT = "none set yet (task.set sets it)"


class TaskState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The task; falsy where none is set. `taken_from` is the session from which it was taken up."""

    description: str = ""
    seq: int = 0
    updated_at: int = 0
    origin: Origin = Origin.AGENT
    taken_from: str = msgspec.field(default="", name="taken")

    def __bool__(self) -> bool:
        return bool(self.description)


def _reduce(task: TaskState, event: Event) -> TaskState:
    """The last description that was set; clearing the task or the whole HUD removes it."""
    match event.payload:
        case TaskSet(description=text, taken_from=taken_from):
            return TaskState(text, event.seq, event.timestamp, event.origin, taken_from)
        case TaskUpdate(description=text):
            # A better description of a task that was taken up is still that task.
            return TaskState(text, event.seq, event.timestamp, event.origin, task.taken_from)
        case SectionReplace(section="task", values=values):
            return TaskState("\n".join(values), event.seq, event.timestamp, event.origin)
        case TaskClear() | SectionClear(section="task" | ""):
            return TaskState()
    return task


def task_text(task: TaskState, session: SessionFacts) -> tuple[str, str]:
    """Return the task, and the words for where it was taken from if nobody set it.

    The session's title stands in for it, else the last request, else `NO_TASK_TEXT`.
    """
    if task:
        return task.description, ""
    if session.title:
        return session.title, " (from the session's title)"
    if session.request:
        return session.request, " (from the last request)"
    return NO_TASK_TEXT, ""


def _show(task: TaskState, session: SessionFacts, view: SectionView) -> Element:
    text, source = task_text(task, session)
    text = shorten(text, TASK_CHARS[view.density])
    if view.density is Density.FULL:
        return h.section(title="Task", level=1, key="task")[h.text[text, source]]
    return h.text(key="task")["Task: ", text, source]


def _rows(task: TaskState, session: SessionFacts) -> tuple[KeyedRow, ...]:
    text, source = task_text(task, session)
    return (KeyedRow("task", shorten(text, TASK_CHARS[Density.FULL]) + source),)


LOGIC = SectionLogic(
    handles=(TaskSet, TaskUpdate, TaskClear, SectionReplace, SectionClear),
    reduce=_reduce,
    show=_show,
    rows=_rows,
    reads=("task", "session"),
)
