"""The words of the log: every event type as one tagged union of frozen structs.

An event says what happened, never what to show. The tag is the event's type as it is stored; a new type is one
more class in this file. Ids of items may be left empty: the reducer then numbers them (`d1`, `n3`), which is
deterministic because order is by sequence number. Source of the first nineteen types: 001; the others: design.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec


class Payload(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Root of the union. `V` is the version of a type's payload; see `upcasts`."""

    V: ClassVar[int] = 1


# -- task ------------------------------------------------------------------------------------------------------


class TaskSet(Payload, frozen=True, tag="task.set"):
    """The current task is this; it replaces whatever was the task before."""

    description: str


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
    """Something failed. `key` groups repetitions of one failure (a tool and its command, say)."""

    message: str
    id: str = ""
    key: str = ""


class ErrorResolved(Payload, frozen=True, tag="error.resolved"):
    """The error with this `id`, or every open error with this `key`, is over."""

    id: str = ""
    key: str = ""


class BlockerAdd(Payload, frozen=True, tag="blocker.add"):
    description: str
    id: str = ""


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


class ProjectSet(Payload, frozen=True, tag="project.set"):
    """A project's defaults, whole; copied into the log of each new session of the project."""

    project: str = ""
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()


# -- window, compaction, frames --------------------------------------------------------------------------------


class Left(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a base leaves out: where it belongs, what it is, its tokens, and why."""

    path: str
    text: str
    tokens: int
    reason: str


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """The arguments of one composition and its volatile bytes, so that its frame can be rebuilt byte for byte."""

    budget: int
    placement: str
    counter: str  # name of the token counter
    renderer: str  # version of the components and the writer
    epoch: int
    density: str | None = None  # as asked for; `None` follows the band
    shown: tuple[str, ...] = ()  # ids of the deltas whose anchors were in the transcript, in order
    turn_start: bool = True  # the last real message was the user's: the tail is allowed
    band: str = ""  # the band that the agent was told
    tail: str = ""
    tokens: int = 0


class Departure(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first message in which a transcript departs from that of the call before.

    `how`: `gone`, `changed` (from `was` to `now` characters) or `new` (in front of others that stay). `place` counts
    messages from 0; `again` counts the characters of the messages behind it that were sent before, too.
    """

    anchor: str
    role: str
    how: Literal["gone", "changed", "new"]
    place: int = 0
    was: int = 0
    now: int = 0
    again: int = 0


class Sent(msgspec.Struct, frozen=True, omit_defaults=True):
    """The transcript of a call in characters, as the host sends it: its messages, their size, and of the last one.

    `kept` are those from the start that the call before had too, `None` where that one is not known.
    """

    messages: int = 0
    size: int = 0
    last: int = 0
    kept: int | None = None
    first: Departure | None = None


class Spent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a provider reported of one response, in tokens: `read` from its cache, `written` to it, `fresh` beside
    both; and the answer's."""

    fresh: int = 0
    read: int = 0
    written: int = 0
    output: int = 0

    @property
    def request(self) -> int:
        """Tokens of the request."""
        return self.fresh + self.read + self.written


class ContextSnapshot(Payload, frozen=True, tag="context.snapshot"):
    """The window in use, in tokens, as reported (`None`: unknown), and the call that it was taken for, with what of
    it the host had sent before; or what a response had cost."""

    used_tokens: int | None = None
    limit_tokens: int | None = None
    output_tokens: int = 0
    model: str = ""
    source: Literal["reported", "estimated", "assumed", ""] = ""
    call: Call | None = None
    sent: Sent | None = None
    spent: Spent | None = None


class CompactBefore(Payload, frozen=True, tag="compact.before"):
    """The transcript is about to be compacted; `state` is the whole projection as JSON text."""

    trigger: str = ""
    used_tokens: int | None = None
    state: str = ""


class CompactAfter(Payload, frozen=True, tag="compact.after"):
    """The transcript was compacted into `summary`."""

    summary: str = ""
    trigger: str = ""
    used_tokens: int | None = None


class FrameBase(Payload, frozen=True, tag="frame.base"):
    """The base layer of a new epoch: the exact bytes that every call of the epoch carries.

    `tokens` is exact where deltas are added to it; with placement `system`, the sum of its parts.
    """

    epoch: int
    tag: str
    text: str
    tokens: int
    density: str
    placement: str
    budget: int
    covers: int  # the base shows the state as of this sequence number
    reason: str = ""  # why a new epoch began
    omitted: tuple[Left, ...] = ()


class FrameDelta(Payload, frozen=True, tag="frame.delta"):
    """One anchored block of changes: exact bytes, the anchor, and how a host puts it there (`form`).

    An empty `text` says that the transcript itself tells, up to this anchor, what had changed; where something else
    has yet to be told, `heard` are the events of which it tells.
    """

    id: str
    epoch: int
    anchor: str
    form: str
    text: str
    tokens: int
    covers: int
    since: int = -1  # it tells what changed after this event; -1: after what the delta before it covers
    heard: tuple[int, ...] = ()


class FrameUnsent(Payload, frozen=True, tag="frame.unsent"):
    """A frame came too late for its call: of the epoch's deltas, those behind the first `kept` were never sent."""

    epoch: int
    kept: int


# -- about events ----------------------------------------------------------------------------------------------


class EventUndo(Payload, frozen=True, tag="event.undo"):
    """The event with this sequence number is compensated."""

    seq: int
    reason: str = ""


class Redact(Payload, frozen=True, tag="redact"):
    """The payload of the event with this sequence number was removed physically; its digest stays in the chain."""

    seq: int
    reason: str = ""


class Unknown(msgspec.Struct, frozen=True):
    """A stored payload of an unknown type or a newer version: kept as it is, passed over by every reducer."""

    type: str
    v: int
    body: bytes


def _tag(kind: type[Payload]) -> str:
    tag = kind.__struct_config__.tag
    assert isinstance(tag, str)
    return tag


PAYLOADS: dict[str, type[Payload]] = {_tag(kind): kind for kind in Payload.__subclasses__()}
"""Every known event type by its tag."""


def type_of(payload: Payload | Unknown) -> str:
    """The event type of a payload, as stored."""
    return payload.type if isinstance(payload, Unknown) else _tag(type(payload))
