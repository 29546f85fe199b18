"""The current task: what the agent said it is, nothing else (what stands in for it is the component's choice)."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event, Origin
from hudkit.log.payloads import SectionClear, SectionReplace, TaskClear, TaskSet, TaskUpdate


class Task(msgspec.Struct, frozen=True, omit_defaults=True):
    """The task; falsy where none is set."""

    description: str = ""
    seq: int = 0
    updated_at: int = 0
    origin: Origin = Origin.AGENT
    taken: str = ""

    def __bool__(self) -> bool:
        return bool(self.description)


HANDLES = (TaskSet, TaskUpdate, TaskClear, SectionReplace, SectionClear)


def reduce(task: Task, event: Event) -> Task:
    """The last description that was set; clearing the task or the whole HUD removes it."""
    match event.payload:
        case TaskSet(description=text, taken=taken):
            return Task(text, event.seq, event.timestamp, event.origin, taken)
        case TaskUpdate(description=text):
            return Task(text, event.seq, event.timestamp, event.origin, task.taken)
        case SectionReplace(section="task", values=values):
            return Task("\n".join(values), event.seq, event.timestamp, event.origin)
        case TaskClear() | SectionClear(section="task" | ""):
            return Task()
    return task
