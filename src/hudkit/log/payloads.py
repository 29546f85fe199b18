"""The words of the log: every event type as one tagged union of frozen structs.

An event says what happened, never what to show. The tag is the event's type as it is stored; a new type is one
more class in this file (those of a call are in `calls`, those between sessions in `between`). Ids of items may be
left empty: the reducer then numbers them (`d1`, `n3`), which is deterministic because order is by sequence number.
Source of the first nineteen types: 001; the others: design.
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar, Literal

import msgspec

from hudkit.log.between import *  # noqa: F403 (its words are words of the log, too)
from hudkit.log.calls import *  # noqa: F403 (likewise)
from hudkit.log.payload import Payload as Payload

# -- task ------------------------------------------------------------------------------------------------------


class TaskSet(Payload, frozen=True, tag="task.set"):
    """The current task is this; it replaces whatever was the task before. Here and in other types, `taken` names the
    session from which something was taken up."""

    description: str
    taken: str = ""


class TaskUpdate(Payload, frozen=True, tag="task.update"):
    """The same task, described better."""

    description: str


class TaskClear(Payload, frozen=True, tag="task.clear"):
    """There is no task now."""


# -- constraints -----------------------------------------------------------------------------------------------


class ConstraintAdd(Payload, frozen=True, tag="constraint.add"):
    """A rule that holds until it is removed; `source` quotes where a derived one was read."""

    text: str
    id: str = ""
    derived: bool = False
    source: str = ""
    taken: str = ""


class ConstraintRemove(Payload, frozen=True, tag="constraint.remove"):
    """The constraint with this `id`, or without one with this `text`, holds no longer; a rule may be `derived` to be
    over, and stated again."""

    id: str
    text: str = ""
    derived: bool = False


class ConstraintConfirm(Payload, frozen=True, tag="constraint.confirm"):
    """A derived constraint was right."""

    id: str


# -- decisions -------------------------------------------------------------------------------------------------


class DecisionRecord(Payload, frozen=True, tag="decision.record"):
    """A decision; `replaces` are the summaries of those that it supersedes, where no id is known."""

    summary: str
    details: str = ""
    id: str = ""
    derived: bool = False
    replaces: tuple[str, ...] = ()
    taken: str = ""


class DecisionConfirm(Payload, frozen=True, tag="decision.confirm"):
    """A derived decision was right."""

    id: str


class DecisionRemove(Payload, frozen=True, tag="decision.remove"):
    id: str


class DecisionSupersede(Payload, frozen=True, tag="decision.supersede"):
    """Decision `id` is replaced by decision `by` and never comes back."""

    id: str
    by: str


# -- notes -----------------------------------------------------------------------------------------------------


class NoteAdd(Payload, frozen=True, tag="note.add"):
    content: str
    id: str = ""
    taken: str = ""


class NoteUpdate(Payload, frozen=True, tag="note.update"):
    id: str
    content: str


class NoteRemove(Payload, frozen=True, tag="note.remove"):
    id: str


# -- files -----------------------------------------------------------------------------------------------------


class FileOpen(Payload, frozen=True, tag="file.open"):
    """A file was read (`reading`) or only named (`referenced`)."""

    path: str
    status: Literal["reading", "referenced"] = "reading"


class FileEdit(Payload, frozen=True, tag="file.edit"):
    path: str


class FileClose(Payload, frozen=True, tag="file.close"):
    """A file left the view; it stays in the log."""

    path: str


# -- steps -----------------------------------------------------------------------------------------------------


class StepAdd(Payload, frozen=True, tag="step.add"):
    description: str
    id: str = ""
    taken: str = ""


class StepUpdate(Payload, frozen=True, tag="step.update"):
    id: str
    description: str


class StepComplete(Payload, frozen=True, tag="step.complete"):
    id: str


class StepReorder(Payload, frozen=True, tag="step.reorder"):
    """The steps named in `ids` come first, in this order; the others keep their order behind them."""

    ids: tuple[str, ...]


class StepRemove(Payload, frozen=True, tag="step.remove"):
    id: str


# -- errors and blockers ---------------------------------------------------------------------------------------


class ErrorEncountered(Payload, frozen=True, tag="error.encountered"):
    """Something failed. `key` groups repetitions of one failure (a tool and its command, say); `by_call` is the
    call whose output tells it."""

    message: str
    id: str = ""
    key: str = ""
    by_call: str = ""


class ErrorResolved(Payload, frozen=True, tag="error.resolved"):
    """The error with this `id`, or every open error with this `key`, is over."""

    id: str = ""
    key: str = ""


class BlockerAdd(Payload, frozen=True, tag="blocker.add"):
    description: str
    id: str = ""
    taken: str = ""


class BlockerRemove(Payload, frozen=True, tag="blocker.remove"):
    id: str


# -- progress: what runs, commits and plan files tell ----------------------------------------------------------


class TestsRan(Payload, frozen=True, tag="tests.ran"):
    """A test run ended with these counts; `command` names what ran."""

    __test__: ClassVar[bool] = False

    command: str
    passed: int
    failed: int
    skipped: int = 0
    runner: str = ""


class CommitMade(Payload, frozen=True, tag="commit.made"):
    """A commit: its short hash and its subject."""

    sha: str
    subject: str
    branch: str = ""


class PlanPoint(msgspec.Struct, frozen=True, omit_defaults=True):
    text: str
    done: bool = False


class PlanSync(Payload, frozen=True, tag="plan.sync"):
    """The points of a plan file are these now, whole."""

    path: str
    points: tuple[PlanPoint, ...] = ()


# -- the host's own todo list ----------------------------------------------------------------------------------


class TodoItem(msgspec.Struct, frozen=True, omit_defaults=True):
    content: str
    status: str = "pending"
    priority: str = ""


class TodoSync(Payload, frozen=True, tag="todo.sync"):
    """The host's todo list is this now, whole."""

    todos: tuple[TodoItem, ...]


# -- whole sections (000's `hud_update` and `hud_clear`) -------------------------------------------------------


class SectionReplace(Payload, frozen=True, tag="section.replace"):
    """The live items of a section are these texts now, in this order; an item whose text stays keeps its id."""

    section: str
    values: tuple[str, ...]


class SectionClear(Payload, frozen=True, tag="section.clear"):
    """A section, or with an empty name all that the agent maintains, is empty now."""

    section: str = ""


# -- custom sections -------------------------------------------------------------------------------------------


class SectionDefine(Payload, frozen=True, tag="section.define"):
    """A custom section is this text now; `reads` are the fields of the state that its source is given."""

    name: str
    source: str
    title: str = ""
    reads: tuple[str, ...] = ()
    priority: int = 30


class SectionRemove(Payload, frozen=True, tag="section.remove"):
    """A custom section is no more, wherever it was defined."""

    name: str


class SectionPrepared(Payload, frozen=True, tag="section.prepared"):
    """What the source of a custom section made of what it reads: trees as JSON by density, or why it failed.

    `definition` and `given` are digests of the text that ran, and of what it was given.
    """

    name: str
    definition: str
    given: str
    title: str = ""
    priority: int = 30
    full: str = ""
    compact: str = ""
    minimal: str = ""
    error: str = ""


# -- session ---------------------------------------------------------------------------------------------------


class SessionStart(Payload, frozen=True, tag="session.start"):
    """What a host tells of a session; sent again when something (a title) changes: filled fields win."""

    host: str = ""
    host_session: str = ""
    title: str = ""
    agent: str = ""
    model: str = ""
    directory: str = ""
    request: str = ""  # the user's last message, shortened: stands in where there is no task and no title


class SessionLink(Payload, frozen=True, tag="session.link"):
    """This session continues from another: its `parent`, a `fork` of it at `seq`, or a `resume` of its task."""

    relation: Literal["parent", "child", "fork", "resume"]
    session_id: str
    seq: int = 0


# -- about events ----------------------------------------------------------------------------------------------


class EventUndo(Payload, frozen=True, tag="event.undo"):
    """The event with this sequence number is compensated."""

    seq: int
    reason: str = ""


class Redact(Payload, frozen=True, tag="redact"):
    """The payload of the event with this sequence number was removed physically; its digest stays in the chain."""

    seq: int
    reason: str = ""


class EventRestate(Payload, frozen=True, tag="event.restate"):
    """What is left of the redacted event with this sequence number: a payload of version `v` as JSON text."""

    seq: int
    v: int
    body: str


class Unknown(msgspec.Struct, frozen=True):
    """A stored payload of an unknown type or a newer version: kept as it is, passed over by every reducer."""

    type: str
    v: int
    body: bytes


@cache
def _tag(kind: type[Payload]) -> str:
    tag = kind.__struct_config__.tag
    assert isinstance(tag, str)
    return tag


PAYLOADS: dict[str, type[Payload]] = {_tag(kind): kind for kind in Payload.__subclasses__()}
"""Every known event type by its tag."""


def type_of(payload: Payload | Unknown) -> str:
    """The event type of a payload, as stored."""
    return payload.type if isinstance(payload, Unknown) else _tag(type(payload))
