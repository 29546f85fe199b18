"""The words of the log: every event type, as one tagged union of frozen structs.

An event says what happened, never what to show: state, and every frame, is folded from these. The `tag` of a class is
the event's type as it is stored, and a field's name is the key in the stored JSON, so neither may change: a Python
field that gets a better name keeps its stored one (`msgspec.field(name=...)`), a payload of another shape gets a
higher `V` and an upcast in `codec`. A new event type is one more class in this file.

Who writes what: the tools `hud` and `memory` write what the agent records (origin `agent`); the command line and the
pages write what a user does (`user`); ingest writes what a host's messages say (`tool`, `host`, and `user` for the
user's own words, then with `derived=True`); composing and compaction write what they did (`system`).

Ids of items may be left empty: the reducer then numbers them (`d1`, `n3`), which is deterministic because order is by
sequence number. Fields that several types share:

- `derived`: read out of plain words by ingest, not recorded on purpose. A user or the agent may confirm it.
- `taken_from` (stored as `taken`): the id of the session from which the item was taken up, where the agent resumed
  earlier work.
- `level`: where an item holds beyond its session, because its user said so: in all sessions of the `project`, or in
  all of the `user`. Believed of no agent.
- `source`: the words in which a derived item was read.
- `sentence`: the whole sentence from which ingest read an item; `form` is what the sentence was taken for (`order`,
  `limit`, `preference`, `answer` …), which says why it was taken.

Source of the first nineteen types: seed document 001; the others: the project's design.
"""

# No `annotations` from `__future__`: a decoder would evaluate each of them anew, at 10 µs.
from functools import cache
from typing import ClassVar, Literal, TypeAlias

import msgspec

Level: TypeAlias = Literal["", "project", "user"]


class Payload(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True, gc=False):
    """Root of the union. `V` is the version of a type's payload: see `codec.UPCASTS`.

    `HAS_WORDS`: whether a field holds what a person or a model wrote; else nobody looks for secrets in it.
    """

    V: ClassVar[int] = 1
    HAS_WORDS: ClassVar[bool] = True


FORM_BY_GRAMMAR = "lasting"
"""The `form` of what was heard by the grammar of its sentence alone, which no table of wordings knows."""

FORM_IN_PLACE = "in its place"
"""The `form` of what a message that ends a statement says in its place, in words that state nothing by themselves."""

FORM_BY_MODEL = "model"
"""The `form` of a sentence that only the model of the extra `hearing` takes for one that is meant to last."""

LESS_SURE_FORMS = frozenset([FORM_BY_GRAMMAR, FORM_BY_MODEL, FORM_IN_PLACE])
"""The forms of what has its turn behind what a table of wordings knows."""

# -- task ------------------------------------------------------------------------------------------------------


class TaskSet(Payload, frozen=True, tag="task.set"):
    """The current task is this; it replaces whatever was the task before.

    Written by the agent (`task.set`) or a user, and where the task of an earlier session is taken up.
    """

    description: str
    taken_from: str = msgspec.field(default="", name="taken")


class TaskUpdate(Payload, frozen=True, tag="task.update"):
    """The same task, described better. Written by the agent (`task.update`)."""

    description: str


class TaskClear(Payload, frozen=True, tag="task.clear"):
    """There is no task now. Written by the agent (`task.clear`)."""


# -- constraints -----------------------------------------------------------------------------------------------


class ConstraintAdd(Payload, frozen=True, tag="constraint.add"):
    """A rule that holds until it is removed; `source` quotes where a derived one was read.

    Written by the agent (`constraints.add`), a user, or ingest, which reads rules out of the user's messages.
    """

    text: str
    id: str = ""
    derived: bool = False
    source: str = ""
    taken_from: str = msgspec.field(default="", name="taken")
    sentence: str = ""
    form: str = ""
    level: Level = ""


class ConstraintRemove(Payload, frozen=True, tag="constraint.remove"):
    """The constraint with this `id`, or without one with this `text`, holds no longer.

    Written by the agent, a user, or ingest where the user says that a rule is over (`derived`). A rule that is over
    may be stated again.
    """

    id: str
    text: str = ""
    derived: bool = False
    sentence: str = ""


class ConstraintConfirm(Payload, frozen=True, tag="constraint.confirm"):
    """A derived constraint was right: from now on it counts like one that was recorded.

    Written by the agent or a user.
    """

    id: str


# -- preferences -----------------------------------------------------------------------------------------------


class PreferenceAdd(Payload, frozen=True, tag="preference.add"):
    """How the user likes things done: how to answer, to write, to work.

    Written by the agent (`preferences.add`), a user, or ingest, which reads preferences out of the user's messages.
    """

    text: str
    id: str = ""
    derived: bool = False
    taken_from: str = msgspec.field(default="", name="taken")
    sentence: str = ""
    form: str = ""
    level: Level = ""


class PreferenceRemove(Payload, frozen=True, tag="preference.remove"):
    """The preference with this `id`, or without one with this `text`, holds no longer.

    Written by the agent, a user, or ingest where the user says something else (`derived`); it may be stated again.
    """

    id: str
    text: str = ""
    derived: bool = False
    sentence: str = ""


class PreferenceConfirm(Payload, frozen=True, tag="preference.confirm"):
    """A derived preference was right: from now on it counts like one that was recorded."""

    id: str


# -- decisions -------------------------------------------------------------------------------------------------


class DecisionRecord(Payload, frozen=True, tag="decision.record"):
    """A decision and its reasons; `replaces` are the summaries of those that it supersedes, where no id is known.

    Written by the agent (`decisions.record`) or ingest, which reads decisions out of messages.
    """

    summary: str
    details: str = ""
    id: str = ""
    derived: bool = False
    replaces: tuple[str, ...] = ()
    taken_from: str = msgspec.field(default="", name="taken")
    sentence: str = ""
    form: str = ""
    level: Level = ""


class DecisionConfirm(Payload, frozen=True, tag="decision.confirm"):
    """A derived decision was right. Written by the agent or a user."""

    id: str


class DecisionRemove(Payload, frozen=True, tag="decision.remove"):
    """The decision with this `id`, or without one with this `summary`, no longer holds, and nothing replaces it.

    Written by the agent, a user, or ingest where a message says so (`derived`).
    """

    id: str
    summary: str = ""
    derived: bool = False
    sentence: str = ""


class DecisionSupersede(Payload, frozen=True, tag="decision.supersede"):
    """Decision `id` is replaced by decision `by` and never comes back. Written by the agent."""

    id: str
    by: str


# -- notes -----------------------------------------------------------------------------------------------------


class NoteAdd(Payload, frozen=True, tag="note.add"):
    """A fact that the agent wants to keep, or that the user stated as one (`derived`).

    Written by the agent (`notes.add`), a user, or ingest, which reads plain facts out of the user's messages.
    """

    content: str
    id: str = ""
    taken_from: str = msgspec.field(default="", name="taken")
    derived: bool = False
    sentence: str = ""
    form: str = ""
    level: Level = ""


class NoteUpdate(Payload, frozen=True, tag="note.update"):
    """Note `id` says this now. Written by the agent."""

    id: str
    content: str


class NoteRemove(Payload, frozen=True, tag="note.remove"):
    """The note with this `id`, or without one with this `content`, is no longer needed.

    Written by the agent, a user, or ingest where the user states another value (`derived`).
    """

    id: str
    content: str = ""
    derived: bool = False
    sentence: str = ""


class NoteConfirm(Payload, frozen=True, tag="note.confirm"):
    """A derived note was right. Written by the agent or a user."""

    id: str


# -- doubts ----------------------------------------------------------------------------------------------------


class StatementDoubt(Payload, frozen=True, tag="statement.doubt"):
    """The sentence `by` speaks against the derived item of a `section` with this `text`; whether it ends it is open.

    The item is marked, and leaves with the next base unless somebody confirms it. A `suspended` one holds, but not in
    the case that the sentence names, and stays. Written by ingest.
    """

    section: Literal["constraints", "preferences", "decisions", "notes"]
    text: str
    by: str = ""
    suspended: bool = False


# -- beyond the session ------------------------------------------------------------------------------------------


class StatementPromote(Payload, frozen=True, tag="statement.promote"):
    """The item of a `section` with this `text` is right, and holds at this `level` from now on; empty: not any more.

    Written by a user (`hudkit review`); from anybody else it changes nothing. Sessions that begin take the item up by
    an event of their own.
    """

    section: Literal["constraints", "preferences", "decisions", "notes"]
    text: str
    level: Level = ""


# -- files -----------------------------------------------------------------------------------------------------


class FileOpen(Payload, frozen=True, tag="file.open"):
    """A file was read (`reading`) or only named (`referenced`). Written by ingest for each tool call that reads.

    `by_call` is the id of that call, and `part` a digest of what it asked for beside the path (lines, say): two reads
    with the same part ask for the same.
    """

    path: str
    status: Literal["reading", "referenced"] = "reading"
    by_call: str = ""
    part: str = ""


class FileEdit(Payload, frozen=True, tag="file.edit"):
    """A file was changed. Written by ingest for each tool call that writes, and for changes on disk."""

    path: str


class FileClose(Payload, frozen=True, tag="file.close"):
    """A file left the view; it stays in the log. Written by the agent (`files.close`)."""

    path: str


# -- steps -----------------------------------------------------------------------------------------------------


class StepAdd(Payload, frozen=True, tag="step.add"):
    """A step of the agent's plan, open until it is completed or removed. Written by the agent (`steps.add`)."""

    description: str
    id: str = ""
    taken_from: str = msgspec.field(default="", name="taken")


class StepUpdate(Payload, frozen=True, tag="step.update"):
    """Step `id` is described better. Written by the agent."""

    id: str
    description: str


class StepComplete(Payload, frozen=True, tag="step.complete"):
    """Step `id` is done. Written by the agent."""

    id: str


class StepReorder(Payload, frozen=True, tag="step.reorder"):
    """The steps named in `ids` come first, in this order; the others keep their order behind them."""

    ids: tuple[str, ...]


class StepRemove(Payload, frozen=True, tag="step.remove"):
    """Step `id` is not going to be done. Written by the agent."""

    id: str


# -- errors and blockers ---------------------------------------------------------------------------------------


class ErrorEncountered(Payload, frozen=True, tag="error.encountered"):
    """Something failed.

    Written by ingest from a failed tool call, or by the agent (`errors.add`). `key` groups the repetitions of one
    failure (a tool and its command, say); `by_call` is the id of the tool call whose output tells of it.
    """

    message: str
    id: str = ""
    key: str = ""
    by_call: str = ""


class ErrorResolved(Payload, frozen=True, tag="error.resolved"):
    """The error with this `id`, or every open error with this `key`, is over.

    Written by the agent, or by ingest when the same tool and command succeed later.
    """

    id: str = ""
    key: str = ""


class BlockerAdd(Payload, frozen=True, tag="blocker.add"):
    """Something stops the work until somebody removes it. Written by the agent (`blockers.add`)."""

    description: str
    id: str = ""
    taken_from: str = msgspec.field(default="", name="taken")


class BlockerRemove(Payload, frozen=True, tag="blocker.remove"):
    """Blocker `id` stops the work no longer. Written by the agent or a user."""

    id: str


# -- progress: what runs, commits and plan files tell ----------------------------------------------------------


class TestsRan(Payload, frozen=True, tag="tests.ran"):
    """A test run ended with these counts; `command` names what ran. Written by ingest from the run's output."""

    __test__: ClassVar[bool] = False

    command: str
    passed: int
    failed: int
    skipped: int = 0
    runner: str = ""


class CommandRan(Payload, frozen=True, tag="command.ran"):
    """A shell command ended: its first line, shortened, and how it ended as far as that can be told.

    `outcome` is empty where neither the status nor the output says it; `exit` is the status that the host reported.
    Written by ingest for each call `by_call` of a shell that does more than look.
    """

    command: str
    outcome: Literal["", "passed", "failed"] = ""
    exit: int | None = None
    by_call: str = ""


class CommitMade(Payload, frozen=True, tag="commit.made"):
    """A commit: its short hash and its subject. Written by ingest from the output of `git commit`."""

    sha: str
    subject: str
    branch: str = ""


class PlanPoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a plan file with a box to tick."""

    text: str
    done: bool = False


class PlanSync(Payload, frozen=True, tag="plan.sync"):
    """The points of a plan file are these now, whole. Written by ingest when a tool writes the file."""

    path: str
    points: tuple[PlanPoint, ...] = ()


# -- the host's own todo list ----------------------------------------------------------------------------------


class TodoItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the host's todo list, in the host's own words for status and priority."""

    content: str
    status: str = "pending"
    priority: str = ""


class TodoSync(Payload, frozen=True, tag="todo.sync"):
    """The host's todo list is this now, whole. Written by ingest from the host's own todo tool."""

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
    """A custom section is this text now; `reads` are the fields of the state that its source may see.

    Written by the agent (`sections.define`). The source runs in the sandbox, never here.
    """

    name: str
    source: str
    title: str = ""
    reads: tuple[str, ...] = ()
    priority: int = 30


class SectionRemove(Payload, frozen=True, tag="section.remove"):
    """A custom section exists no longer, wherever it was defined."""

    name: str


class SectionPrepared(Payload, frozen=True, tag="section.prepared"):
    """What the source of a custom section made of what it reads: trees as JSON by density, or why it failed.

    Written before composing, so that a replay needs no sandbox. `definition` and `input_digest` are digests of the
    text that ran and of its input: with both unchanged the section is not run again. `package` is the installed one
    that brings the section, with its version.
    """

    name: str
    definition: str
    input_digest: str = msgspec.field(name="given")
    title: str = ""
    priority: int = 30
    full: str = ""
    compact: str = ""
    minimal: str = ""
    error: str = ""
    package: str = ""


# -- session ---------------------------------------------------------------------------------------------------


class SessionStart(Payload, frozen=True, tag="session.start"):
    """What a host says about a session; sent again when something (a title) changes, and then filled fields win."""

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


# -- between sessions --------------------------------------------------------------------------------------------
# Written by composing where sessions are linked or belong to one project.


class SessionOffer(Payload, frozen=True, tag="session.offer"):
    """An earlier session of the project has an open `task` with this number of open `steps`; it last worked at
    `last_active_at` (Unix ms).

    Written by composing at the start of a session that has no task yet; the agent may take the task up. In a
    project's own log a person says so that its next session takes it up; one without a session takes that back.
    """

    session_id: str
    task: str
    steps: int = 0
    last_active_at: int = msgspec.field(default=0, name="at")


class SubagentStart(Payload, frozen=True, tag="subagent.start"):
    """A sub-agent (its kind: `agent`) is at work on a `task`, told in a few words, in a session of its own.

    Written by ingest where a host goes on while it works.
    """

    agent: str
    task: str
    session_id: str = ""
    by_call: str = ""


class SubagentEnd(Payload, frozen=True, tag="subagent.end"):
    """A sub-agent came back with a `result`, or failed; its first words.

    It is the one that started in this session (`session_id`), where one did. Written by ingest from the call that it
    was, or from the host's message that tells of its end.
    """

    agent: str = ""
    task: str = ""
    result: str = ""
    failed: bool = False
    session_id: str = ""
    by_call: str = ""


class SharedItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that a session shares: a task, constraint, decision, or a report; `derived` as it was there."""

    kind: Literal["task", "constraint", "decision", "report"]
    text: str
    derived: bool = False


class ShareSync(Payload, frozen=True, tag="share.sync"):
    """What a linked session shares with this one is this now, whole: the state of its parent, or a child's results.

    `name` is what the other session is called. Written by composing, in the session that is shown it.
    """

    session_id: str
    relation: Literal["parent", "child"]
    name: str = ""
    pieces: tuple[SharedItem, ...] = ()


class ShareReport(Payload, frozen=True, tag="share.report"):
    """A result of this session, for its parent. Written by the agent of the child (`share.report`)."""

    text: str


class ProjectSet(Payload, frozen=True, tag="project.set"):
    """A project's defaults, whole.

    They are kept in a log of the project's own and copied (`inherited`) into the logs of its sessions; `agents` are
    the texts that an agent set.
    """

    project: str = ""
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    inherited: bool = False


# -- a call: the window in use, and the frame that was composed --------------------------------------------------
# Together with the bytes of `frame.base` and `frame.delta` these rebuild any past frame byte for byte.


class OmittedItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a base leaves out: where it belongs, what it is, its tokens, and why."""

    path: str
    text: str
    tokens: int
    reason: str


class FrameArguments(msgspec.Struct, frozen=True, omit_defaults=True):
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
    anchor: str = ""  # of the last message of the request
    new: tuple[str, ...] = ()  # anchors since the last message of the call before; none where that is not there
    answers: tuple[str, ...] = ()  # those of them, and of the last, that are no user's, as far as the host told
    stale: tuple[int, ...] = ()  # last changes of the items that the tail says nobody has touched for long


class Divergence(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first message in which a transcript differs from the transcript of the call before.

    `how`: `gone`, `changed` (from `was` to `now` characters) or `new` (in front of others that stay). `index` counts
    messages from 0; `reprocessed` counts the characters of the messages behind it that were sent before, too: a
    prefix cache has to process those again.
    """

    anchor: str
    role: str
    how: Literal["gone", "changed", "new"]
    index: int = msgspec.field(default=0, name="place")
    was: int = 0
    now: int = 0
    reprocessed: int = msgspec.field(default=0, name="again")


class SentTranscript(msgspec.Struct, frozen=True, omit_defaults=True):
    """The transcript of a call as the host sends it, in characters: all messages, and the last one.

    `shared_size` is what the call before had too, from the start; `None` where that call is not known.
    """

    messages: int = 0
    size: int = 0
    last: int = 0
    shared_size: int | None = msgspec.field(default=None, name="kept")
    first: Divergence | None = None


class ToolOutputTotal(msgspec.Struct, frozen=True, array_like=True):
    """What the calls of one tool brought in all, in characters."""

    tool: str
    size: int


class RequestCeilings(msgspec.Struct, frozen=True):
    """Tokens that the parts of a request may have at most, in a session that is trimmed instead of summarised.

    `usable` is of the whole request; `outputs` of tools are among the `messages`.
    """

    usable: int
    system: int
    tools: int
    hud: int
    messages: int
    outputs: int


class RequestParts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a request carries, in characters.

    The host's system prompt and the definitions of its tools (`None`: not known), the words of messages and calls,
    and what each tool brought. `ceilings` is where the host holds these parts to a budget.
    """

    system: int | None = None
    tools: int | None = None
    words: int = 0
    outputs: tuple[ToolOutputTotal, ...] = ()
    ceilings: RequestCeilings | None = None


class ResponseTokens(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a provider reported of one response, in tokens.

    `read` from its cache, `written` to it, `fresh` beside both; `output` is the answer's.
    """

    fresh: int = 0
    read: int = 0
    written: int = 0
    output: int = 0

    @property
    def request(self) -> int:
        """Return the tokens of the request."""
        return self.fresh + self.read + self.written


class LearnedCalibration(msgspec.Struct, frozen=True):
    """What other sessions learned of how a model counts (`sections.model_calibration`), from so many reports."""

    model: str
    factors: tuple[float, ...]
    doubts: tuple[float, ...]
    reports: int


class ContextSnapshot(Payload, frozen=True, tag="context.snapshot"):
    """The window in use, in tokens, as of one moment (`used_tokens` is `None` where it is unknown).

    Written for three occasions, which the filled fields tell apart: a frame was composed (`call`, with what of the
    transcript the host had `sent` before, and its `parts`); a response's cost was reported (`spent`); a session
    begins with what is known of its model (`learned`). `late` is the usage of a response from before the last
    compaction, where the host reports it only afterwards: it says nothing of the window as it is now.
    """

    used_tokens: int | None = None
    limit_tokens: int | None = None
    output_tokens: int = 0
    model: str = ""
    source: Literal["reported", "estimated", "assumed", ""] = ""
    call: FrameArguments | None = None
    sent: SentTranscript | None = None
    parts: RequestParts | None = None
    spent: ResponseTokens | None = None
    learned: LearnedCalibration | None = None
    late: int | None = None


class FrameBase(Payload, frozen=True, tag="frame.base"):
    """The base layer of a new epoch: the exact bytes that every call of the epoch carries.

    `tokens` is exact where deltas are added to it; with placement `system`, it is the sum of its parts. A base with
    an `anchor` stands behind that message, as a delta does (`form`), and not in the system prompt. Written by
    composing before the base is first sent.
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
    omitted: tuple[OmittedItem, ...] = ()
    anchor: str = ""
    form: str = ""


class FrameDelta(Payload, frozen=True, tag="frame.delta"):
    """One anchored block of changes: exact bytes, the anchor, and how a host puts it there (`form`).

    Written by composing before the delta is first sent. An empty `text` says that the transcript itself shows, up to
    this anchor, what had changed; where something else has yet to be shown, `answered` (stored as `heard`) are the
    events that it shows.
    """

    id: str
    epoch: int
    anchor: str
    form: str
    text: str
    tokens: int
    covers: int
    since: int = -1  # it tells what changed after this event; -1: after what the delta before it covers
    answered: tuple[int, ...] = msgspec.field(default=(), name="heard")
    restored: tuple[str, ...] = ()  # paths of what the base had left out, and this tells


class FrameUnsent(Payload, frozen=True, tag="frame.unsent"):
    """A frame came too late for its call: of the epoch's deltas, those behind the first `sent_count` were never
    sent."""

    epoch: int
    sent_count: int = msgspec.field(name="kept")


# -- the transcript: compaction, pruning, first sight ------------------------------------------------------------
# What happened to the messages themselves, as the host tells it or as we did it.


class CompactBefore(Payload, frozen=True, tag="compact.before"):
    """The transcript is about to be compacted; `state` is the whole state as JSON text.

    Written by the host's adapter.
    """

    trigger: str = ""
    used_tokens: int | None = None
    state: str = ""


class CompactAfter(Payload, frozen=True, tag="compact.after"):
    """The transcript was compacted into `summary`, from `began` (Unix ms; 0: unknown) to the event's time.

    Where the host says so: `marker` and `message` are the ids of the messages that asked for the summary and that
    hold it, `tail` of the first one that was kept; `anchor` begins the anchor of the one that holds it. `by` is
    `static` where the model wrote no summary that can be used and the log's own stands in; `why` says what was wrong
    with the model's.
    """

    summary: str = ""
    trigger: str = ""
    used_tokens: int | None = None
    began: int = 0
    marker: str = ""
    message: str = ""
    tail: str = ""
    anchor: str = ""
    by: Literal["", "static"] = ""
    why: str = ""


class CompactUndone(Payload, frozen=True, tag="compact.undone"):
    """The host took the compaction of event `seq` back.

    What it dropped is in the transcript again, and `summary`, of the compaction before (empty: there is none), is
    what stands there.
    """

    seq: int
    summary: str = ""


class PrunedOutput(msgspec.Struct, frozen=True):
    """The one line that stands for the output of a call from now on, byte for byte."""

    call: str
    text: str


class OutputsPrune(Payload, frozen=True, tag="outputs.prune"):
    """Old outputs left the window, and stay out of it until the next compaction; the host keeps them.

    All numbers are estimates in tokens (`per_thousand` of them a thousand characters): `freed`, `reprocessed` (what
    had to be processed again that could have been read from the cache), and `saves`: what this is expected to save
    in all, in input tokens at full price. `reason`: `pays` (although the cache was warm), `idle` (the cache was
    cold), `base` (a base was written anyway).
    """

    stubs: tuple[PrunedOutput, ...]
    reason: str = ""
    freed: int = 0
    reprocessed: int = msgspec.field(default=0, name="again")
    saves: int = 0
    per_thousand: int = 250


class TranscriptSeen(Payload, frozen=True, tag="transcript.seen"):
    """Messages of a host that dates none, in the order in which they were first seen.

    `keys` are digests of them; each counts as made a millisecond after the one before, the first at the event's time.
    """

    keys: tuple[str, ...]


# -- about events ----------------------------------------------------------------------------------------------


class EventUndo(Payload, frozen=True, tag="event.undo"):
    """The event with this sequence number is compensated: the reducers fold the session as if it had not happened.

    Written by the agent (`undo`), and where messages that a host had taken back (`MessagesRevert`) are there again.
    """

    seq: int
    reason: str = ""


class MessagesRevert(Payload, frozen=True, tag="messages.revert"):
    """The host took messages back: what they recorded or derived, the events `seqs`, is compensated as by an undo.

    `messages` are the names of those messages (`hudkit.ingest.reverts`), oldest first: where they are in the
    transcript again, this event is undone, and all comes back. `used_tokens` are those in the window without them
    (`None`: not known). Written by the host's adapter, never for what a compaction replaced.
    """

    seqs: tuple[int, ...]
    messages: tuple[str, ...] = ()
    used_tokens: int | None = None


class Redact(Payload, frozen=True, tag="redact"):
    """The payload of the event with this sequence number was removed physically; its digest stays in the chain.

    A store acts on it as it is appended: see `EventLog.append`.
    """

    seq: int
    reason: str = ""


class EventRestate(Payload, frozen=True, tag="event.restate"):
    """What is left of the redacted event with this sequence number: a payload of version `v` as JSON text."""

    seq: int
    v: int
    body: str


class EventGap(Payload, frozen=True, tag="event.gap"):
    """What stood in the log is gone, and why: `code` and `message` are those of a finding.

    Three things are told in this way. A reader that goes past damage gets it in the place of an event that does not
    verify (`damaged`; it is never stored like that). `hudkit repair` stores it in the place of such an event, so that
    the numbers of all others stay. And where acknowledged events were lost from the end of the log (`code` is
    `lost`), it is appended to the session that lost them. `was` is the type of the event that is gone, where that is
    certain. A fourth: event `of` was found damaged behind a saved state, which holds what it said; it is appended, so
    that the damage is told although no fold comes across it.
    """

    code: str
    message: str
    was: str = ""
    damaged: bool = False
    of: int = 0


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


# Every subclass, in the order of this file: a type that is defined here cannot be forgotten in a list.
PAYLOADS: dict[str, type[Payload]] = {_tag(kind): kind for kind in Payload.__subclasses__()}
"""Every known event type by its tag."""


def type_of(payload: Payload | Unknown) -> str:
    """Return the event type of a payload, as stored: `task.set`, say."""
    return payload.type if isinstance(payload, Unknown) else _tag(type(payload))
