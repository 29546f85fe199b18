"""The task: what the agent said it is, and what stands in for it where nobody said anything."""

from __future__ import annotations

import msgspec

from hudkit.compose import Density, h, shorten
from hudkit.compose.formats.markdown.verbatim import verbatim
from hudkit.log.event import Event, Origin
from hudkit.log.payloads import SectionClear, SectionReplace, TaskClear, TaskSet, TaskUpdate
from hudkit.sections.section import KeyedRow, SectionLogic, ShownBlock
from hudkit.sections.session_facts import SessionFacts

TASK_CHARS = {Density.FULL: 600, Density.COMPACT: 200, Density.MINIMAL: 100}
"""Characters of the task that are shown, at most; it always stays."""

_PRIORITY = 100
"""Nothing has its turn before the task."""

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

    The first message that asks for something stands in for it, else the session's title, else the last message, else
    `NO_TASK_TEXT`.
    """
    if task:
        return task.description, ""
    if session.first_request:
        return session.first_request, " (from the first message)"
    if session.title:
        return session.title, " (from the session's title)"
    if session.request:
        return session.request, " (from the last message)"
    return NO_TASK_TEXT, ""


def _show(task: TaskState, session: SessionFacts, density: Density) -> tuple[ShownBlock, ...]:
    whole, source = task_text(task, session)
    text = shorten(whole, TASK_CHARS[density])
    is_full = density is Density.FULL
    words = (*verbatim(text, first=is_full), source)
    if is_full:
        element = h.section(title="Task", level=1, key="task")[h.text[words]]
    else:
        element = h.text(key="task")["Task: ", *words]
    return (ShownBlock("task", _PRIORITY, (element,), whole, text == whole),)


def _rows(task: TaskState, session: SessionFacts) -> tuple[KeyedRow, ...]:
    text, source = task_text(task, session)
    # What stands in is no news: the request is in the transcript, and a title says less than that.
    return (KeyedRow("task", shorten(text, TASK_CHARS[Density.FULL]) + source, quiet=not task),)


LOGIC = SectionLogic(
    handles=(TaskSet, TaskUpdate, TaskClear, SectionReplace, SectionClear),
    reduce=_reduce,
    show=_show,
    rows=_rows,
    reads=("task", "session"),
)
