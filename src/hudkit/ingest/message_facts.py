"""The facts that one message of a host tells, in order: pure functions of a session, a message and what is known.

`derive_facts` is a fold. It takes what is known and gives back what is known now, so that it can be called again
while a message grows (live) or once for each message (recorded), and gives each fact once. There is a function for
each kind of fact: session, request, attached files, statements, files and results of tool calls, failures, todos,
compactions, usage. Origins: what a tool returned is the tool's, what the user typed is the user's (in a sub-agent's
session, the parent agent typed it), the rest is the host's.

For example, in a session in `/work`, a response with the finished call `edit(filePath="/work/a.py")` and a reported
usage of 12,000 tokens gives `FileEdit("a.py")` of the tool, then `ContextSnapshot(12000)` of the host. The same
message passed again with what is known now gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from hudkit.ingest.commands import ran_command
from hudkit.ingest.extraction import (
    Ended,
    Extracted,
    KnownStatements,
    count_tests,
    extract,
    find_closed_files,
    find_commits,
    is_plan_file,
    plan_points,
    update_points,
)
from hudkit.ingest.extraction.sentence_judge import SentenceJudge
from hudkit.ingest.failures import MAX_ERROR, CallVerdict, OpenError, judge_call
from hudkit.ingest.host_tools import is_own_tool, neutral_call
from hudkit.ingest.subagents import subagent_of_call, subagents_in_message
from hudkit.ingest.tool_calls import (
    FinishedCall,
    edited_paths,
    finished_call,
    one_line,
    read_path,
    relative_path,
)
from hudkit.log import Origin, Payload
from hudkit.log.payloads import (
    CommitMade,
    CompactAfter,
    CompactBefore,
    ConstraintAdd,
    ConstraintRemove,
    ContextSnapshot,
    DecisionRecord,
    DecisionRemove,
    ErrorEncountered,
    ErrorResolved,
    FileClose,
    FileEdit,
    FileOpen,
    NoteAdd,
    NoteRemove,
    PlanSync,
    PreferenceAdd,
    PreferenceRemove,
    ResponseTokens,
    SessionLink,
    SessionStart,
    StatementDoubt,
    TestsRan,
    TodoItem,
    TodoSync,
)
from hudkit.transcripts import FilePart, Message, PatchPart, SessionRow, TextPart, Todo, ToolPart
from hudkit.transcripts.opencode_json import parse_todos
from hudkit.transcripts.prompt_window import compaction_marker, is_summary

_MAX_COMPACTION_SUMMARY = 32_000
"""Characters of a compaction's summary that are recorded: some 8,000 tokens, more than any model was seen to
write."""

_MAX_REQUEST = 300
"""Characters of the user's last message that stand in for a task."""

_MAX_STANDING = 200
"""Rules, and decisions, that are compared with a message: those before them are no longer looked through."""

_MAX_COMMAND = 90
_MAX_SUBJECT = 120  # what git itself calls long is 72
_MAX_BRANCH = 60
_RECENT_MESSAGES = 8  # a host still writes to these; what was read of an older one need not be remembered
_MAX_OPEN_ERRORS = 200  # that are followed, oldest out first
_MAX_PLANS = 5
_MAX_EDITED = 60
"""Edited files, the newest ones, that words may close."""
_PLACEHOLDER_TITLE = re.compile(r"^(?:New session|Child session) - \d{4}-\d\d-\d\dT")
_MODEL_ERROR = "model"
"""The key of the error of a model call: there is one at a time, and the next response settles it."""


class Fact(msgspec.Struct, frozen=True):
    """One event to append: who said it, what, and when (Unix ms, 0 where the host does not tell)."""

    origin: Origin
    payload: Payload
    timestamp: int = 0
    key: str = ""
    """Names the fact by what it says, where a message tells several of a kind."""


class KnownFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the messages of one session told so far, as far as later messages are read with it.

    A plain value that can be encoded, but it holds commands and texts as they were typed: the log redacts secrets,
    this does not.
    """

    start: SessionStart | None = None
    request: str = ""
    parent_linked: bool = False
    todos: tuple[TodoItem, ...] | None = None
    open_errors: tuple[OpenError, ...] = ()
    trigger: str = ""
    """Why the compaction that is going on was started."""
    tail_start: str = ""
    """The message from which on that compaction leaves the transcript as it is."""
    used_tokens: int | None = None
    read_units: tuple[tuple[str, frozenset[str]], ...] = ()
    """For the newest messages (by id), which of their parts were read."""
    statements: KnownStatements = KnownStatements()
    plans: tuple[PlanSync, ...] = ()
    edited: tuple[str, ...] = ()
    """Paths of files that calls changed, the newest last: words may say that one is closed."""


NO_FACTS = KnownFacts()
"""What is known of a session before its first message."""

FactStep = tuple[KnownFacts, tuple[Fact, ...]]


def derive_facts(
    session: SessionRow,
    message: Message,
    facts: KnownFacts = NO_FACTS,
    *,
    limit_tokens: int | None = None,
    plain_words: bool = True,
    judge: SentenceJudge | None = None,
) -> FactStep:
    """Return what is known now, and the facts of a message that were not told before, in order.

    Messages must come in the transcript's order. One of the last eight may be passed again as it grows: a tool call
    is told when it has its result, usage when the response is finished. `limit_tokens` is the model's window.
    Without `plain_words` no rules, preferences, decisions and facts are read from what is said; a `judge` is asked
    beside the rules what the user's sentences are said for.
    """
    step = _Step(facts, message, plain_words=plain_words, judge=judge)
    _tell_session(step, session, message)
    if message.role == "user":
        _tell_user_message(step, session, message)
    else:
        _tell_response(step, session, message, limit_tokens)
    return step.result()


def session_facts(session: SessionRow, facts: KnownFacts = NO_FACTS) -> FactStep:
    """Return `session.start` and `session.link` where a session's title or place is new."""
    step = _Step(facts, None)
    _tell_session(step, session, None)
    return step.result()


def todo_facts(todos: tuple[Todo, ...], facts: KnownFacts = NO_FACTS, *, timestamp: int = 0) -> FactStep:
    """Return `todo.sync` where the host's own list differs from the one that was told last."""
    step = _Step(facts, None)
    _tell_todos(step, todos, Origin.HOST, timestamp)
    return step.result()


class _Step:
    """The working copy of one step; it lives no longer than the call that made it."""

    def __init__(
        self,
        facts: KnownFacts,
        message: Message | None,
        *,
        plain_words: bool = True,
        judge: SentenceJudge | None = None,
    ) -> None:
        self.facts = facts
        self.plain_words = plain_words
        self.judge = judge
        self._new_facts: list[Fact] = []
        self._message_id = message.id if message else ""
        self._units: set[str] = set(dict(facts.read_units).get(self._message_id, ()))

    def result(self) -> FactStep:
        """Return what is known now, and the new facts."""
        if self._message_id and self._units:
            others = [entry for entry in self.facts.read_units if entry[0] != self._message_id]
            newest = (*others, (self._message_id, frozenset(self._units)))[-_RECENT_MESSAGES:]
            self.remember(read_units=newest)
        return self.facts, tuple(self._new_facts)

    def tell(self, origin: Origin, payload: Payload, timestamp: int, key: str = "") -> None:
        """Add a fact."""
        self._new_facts.append(Fact(origin, payload, timestamp, key))

    def remember(self, **changes: object) -> None:
        """Change what is known, by fields of `KnownFacts`."""
        self.facts = replace(self.facts, **changes)

    def first_time(self, unit: str) -> bool:
        """Whether a part of the message is read now; the next time it is not."""
        if unit in self._units:
            return False
        self._units.add(unit)
        return True


# -- the session -----------------------------------------------------------------------------------------------


def _tell_session(step: _Step, session: SessionRow, message: Message | None) -> None:
    before = step.facts.start
    # A summary is often written by another model, which is not the session's.
    speaker = message if message and not message.summary and not compaction_marker(message) else None
    start = SessionStart(
        host=session.host,
        host_session=session.id,
        title="" if _PLACEHOLDER_TITLE.match(session.title) else one_line(session.title, _MAX_REQUEST),
        agent=(speaker.agent if speaker else "") or (before.agent if before else session.agent),
        model=(speaker.model if speaker else "") or (before.model if before else session.model),
        directory=session.directory,
    )
    timestamp = message.created if message else session.created
    if start != before:
        step.remember(start=start)
        step.tell(Origin.HOST, start, timestamp)
    if session.parent_id and not step.facts.parent_linked:
        step.remember(parent_linked=True)
        step.tell(Origin.HOST, SessionLink("parent", session.parent_id), timestamp)


# -- a user's message ------------------------------------------------------------------------------------------


def _tell_user_message(step: _Step, session: SessionRow, message: Message) -> None:
    speaker = Origin.AGENT if session.parent_id else Origin.USER
    _tell_compaction_start(step, message)
    for part in message.parts:
        if isinstance(part, FilePart) and part.path and step.first_time(part.id):
            path = relative_path(part.path, session.directory)
            step.tell(speaker, FileOpen(path, "referenced"), message.created)
    _tell_subagents(step, message)
    request = _request_text(message)
    if request and request != step.facts.request:
        step.remember(request=request)
        start = SessionStart(host=session.host, host_session=session.id, request=request)
        step.tell(speaker, start, message.created)
    if not compaction_marker(message) and not message.summary:
        _tell_statements(step, message, speaker)


def _tell_compaction_start(step: _Step, message: Message) -> None:
    marker = compaction_marker(message)
    if marker and step.first_time("compaction"):
        trigger = "overflow" if marker.overflow else "auto" if marker.auto else "manual"
        step.remember(trigger=trigger, tail_start=marker.tail_start_id)
        step.tell(Origin.HOST, CompactBefore(trigger, step.facts.used_tokens), message.created)


def _tell_subagents(step: _Step, message: Message) -> None:
    """What the host tells of sub-agents that worked on their own."""
    texts = [part.text for part in message.parts if isinstance(part, TextPart) and part.synthetic]
    if texts and step.first_time("subagents"):
        for ended in subagents_in_message("\n".join(texts)):
            step.tell(Origin.HOST, ended, message.created, ended.session_id)


def _tell_statements(step: _Step, message: Message, speaker: Origin, *, by_agent: bool = False) -> None:
    """What is stated or announced in plain words."""
    if not step.plain_words or not step.first_time("words"):
        return
    text = _plain_text(message)
    statements, payloads = _extract_statements(
        text, step.facts.statements, None if by_agent else step.judge, by_agent=by_agent
    )
    for key, payload in payloads:
        step.tell(speaker, payload, _end_of(message), key)
    step.remember(statements=statements)
    for path in find_closed_files(text, step.facts.edited):
        step.tell(speaker, FileClose(path), _end_of(message), path)
        step.remember(edited=tuple(other for other in step.facts.edited if other != path))


# -- what a message says in plain words: the request, rules, rules taken back, decisions ----------------------------


def _request_text(message: Message) -> str:
    """Return what the user typed, on one line of at most `_MAX_REQUEST` characters; empty for a compaction marker."""
    if compaction_marker(message):
        return ""
    typed = (part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic)
    text = " ".join(typed).strip()
    # `opencode run` puts quotes around an argument with spaces
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        text = text[1:-1]
    return one_line(text, _MAX_REQUEST)


def _plain_text(message: Message) -> str:
    """Return the text that the author wrote and the model sees, part by part with an empty line between."""
    parts = (part for part in message.parts if isinstance(part, TextPart))
    return "\n\n".join(part.text for part in parts if not part.synthetic and not part.ignored)


def _extract_statements(
    text: str, standing: KnownStatements, judge: SentenceJudge | None, *, by_agent: bool
) -> tuple[KnownStatements, tuple[tuple[str, Payload], ...]]:
    """Return what stands after a message, and the payloads of what it states, each with its key."""
    if not text.strip():
        return standing, ()
    extracted, after = _extracted(text, standing, by_agent, judge)
    most = max(map(len, (after.rules, after.decisions, after.preferences, after.facts)))
    if not extracted and most <= _MAX_STANDING:  # as a rule
        return after, ()
    payloads: list[Payload] = [ConstraintRemove("", rule, derived=True) for rule in extracted.withdrawn]
    payloads += [_ending(ended) for ended in extracted.ended]
    payloads += [
        ConstraintAdd(
            rule.text, derived=True, source=rule.reason, sentence=_said(rule.sentence, rule.text), form=rule.form
        )
        for rule in extracted.rules
    ]
    payloads += [
        PreferenceAdd(heard.text, derived=True, sentence=_said(heard.sentence, heard.text), form=heard.form)
        for heard in extracted.preferences
    ]
    payloads += [
        DecisionRecord(
            decision.summary,
            decision.details,
            derived=True,
            replaces=decision.replaces,
            sentence=_said(decision.sentence, decision.summary),
            form=decision.form,
        )
        for decision in extracted.decisions
    ]
    payloads += [
        NoteAdd(heard.text, derived=True, sentence=_said(heard.sentence, heard.text), form=heard.form)
        for heard in extracted.facts
    ]
    after = replace(
        after,
        rules=after.rules[-_MAX_STANDING:],
        decisions=after.decisions[-_MAX_STANDING:],
        preferences=after.preferences[-_MAX_STANDING:],
        facts=after.facts[-_MAX_STANDING:],
    )
    return after, tuple((statement_key(payload), payload) for payload in payloads)


@lru_cache(maxsize=2)
def _extracted(
    text: str, standing: KnownStatements, by_agent: bool, judge: SentenceJudge | None
) -> tuple[Extracted, KnownStatements]:
    """What `hear_ahead` has worked out; of a response that has ended since, or of one that is told again at once."""
    return extract(text, standing, by_agent=by_agent, judge=judge)


def hear_ahead(message: Message, facts: KnownFacts) -> None:
    """Work out what a response states whose calls have not ended yet; return nothing.

    `derive_facts` is quick then, as long as what stands before it is the same.
    """
    text = _plain_text(message)
    if text.strip() and message.role == "assistant" and not message.summary:
        _extracted(text, facts.statements, True, None)


def _said(sentence: str, text: str) -> str:
    """The sentence where it says more than the item that was read in it."""
    return "" if sentence.rstrip(" .!") == text else sentence


def _ending(ended: Ended) -> Payload:
    if ended.doubt:
        section: Any = ended.section
        return StatementDoubt(section, ended.text, ended.sentence, ended.suspended)
    removal = {"constraints": ConstraintRemove, "preferences": PreferenceRemove, "decisions": DecisionRemove}
    return removal.get(ended.section, NoteRemove)("", ended.text, derived=True, sentence=ended.sentence)


STATEMENTS = (
    ConstraintAdd,
    ConstraintRemove,
    PreferenceAdd,
    PreferenceRemove,
    DecisionRecord,
    DecisionRemove,
    NoteAdd,
    NoteRemove,
    StatementDoubt,
)
"""What plain words become, of the user or the agent."""

_WORD_FIELDS = ("summary", "content", "text")


def statement_key(payload: Payload) -> str:
    """Return the key of what a message states: a digest of its words."""
    words = next((getattr(payload, name) for name in _WORD_FIELDS if hasattr(payload, name)), "")
    return blake2b(str(words).encode("utf-8", "replace"), digest_size=6).hexdigest()


# -- a response and its tool calls -----------------------------------------------------------------------------


def _tell_response(step: _Step, session: SessionRow, message: Message, limit: int | None) -> None:
    edited: set[str] = set()
    for part in message.parts:
        if isinstance(part, ToolPart) and part.done and not is_own_tool(part.tool):
            call = finished_call(neutral_call(session.host, part))
            paths = edited_paths(call, session.directory)
            edited.update(paths)
            if step.first_time(part.id):
                _tell_call(step, call, paths, session.directory)
        elif isinstance(part, PatchPart) and step.first_time(part.id):
            # What changed on disk beside the edits: by the shell, or by a tool that nobody knows.
            for path in part.files:
                shown = relative_path(path, session.directory)
                if shown and shown not in edited:
                    step.tell(Origin.HOST, FileEdit(shown), _end_of(message))
    if message.summary:
        _tell_summary(step, message)
        return
    finished = message.completed or message.finish
    if finished and not message.aborted:
        _tell_statements(step, message, Origin.AGENT, by_agent=True)
    _tell_model_error(step, message)
    if finished:
        _tell_usage(step, message, limit)


def _tell_call(step: _Step, call: FinishedCall, edited: tuple[str, ...], directory: str) -> None:
    if not call.failed:
        path = read_path(call, directory)
        if path:
            step.tell(Origin.TOOL, FileOpen(path, by_call=call.id, part=call.part), call.ended)
        for changed in edited:
            step.tell(Origin.TOOL, FileEdit(changed), call.ended)
        others = [path for path in step.facts.edited if path not in edited]
        step.remember(edited=(*others, *edited)[-_MAX_EDITED:])
        if call.kind == "todos":
            _tell_todos(step, parse_todos(call.todos), Origin.TOOL, call.ended)
        if call.child_session:
            step.tell(Origin.HOST, SessionLink("child", call.child_session), call.ended)
        _tell_plan(step, call, directory)
    subagent = subagent_of_call(call)
    if subagent is not None:
        step.tell(Origin.TOOL, subagent, call.ended)
    verdicts = judge_call(call, directory)
    ran = ran_command(call, verdicts, directory)
    if ran is not None:
        step.tell(Origin.TOOL, ran, call.ended)
    if not call.failed:
        tests = _count_tests(call)
        for payload in (*((tests,) if tests else ()), *_find_commits(call)):
            step.tell(Origin.TOOL, payload, call.ended)
    for verdict in verdicts:
        _tell_verdict(step, verdict, call)


def _tell_plan(step: _Step, call: FinishedCall, directory: str) -> None:
    plan = _changed_plan(call, directory, step.facts.plans)
    if plan and plan not in step.facts.plans:
        others = (other for other in step.facts.plans if other.path != plan.path)
        step.remember(plans=(*others, plan)[-_MAX_PLANS:])
        step.tell(Origin.TOOL, plan, call.ended)


def _tell_todos(step: _Step, todos: tuple[Todo, ...], origin: Origin, timestamp: int) -> None:
    items = tuple(TodoItem(todo.content, todo.status, todo.priority) for todo in todos)
    if items != (step.facts.todos or ()):
        step.remember(todos=items)
        step.tell(origin, TodoSync(items), timestamp)


# -- what a finished call says of the work: a file that was read, test counts, commits, a plan file -----------------


def _count_tests(call: FinishedCall) -> TestsRan | None:
    """Return the counts of the test run that a shell call shows at its end; `None` where it shows none."""
    if call.failed or call.command is None:
        return None
    counts = count_tests(call.command, call.output)
    return counts and replace(counts, command=one_line(counts.command, _MAX_COMMAND))


def _find_commits(call: FinishedCall) -> tuple[CommitMade, ...]:
    """Return the commits that a shell call made."""
    if call.failed or call.command is None:
        return ()
    return tuple(
        CommitMade(commit.sha, one_line(commit.subject, _MAX_SUBJECT), one_line(commit.branch, _MAX_BRANCH))
        for commit in find_commits(call.command, call.output)
    )


def _changed_plan(call: FinishedCall, directory: str, plans: Sequence[PlanSync]) -> PlanSync | None:
    """Return the plan file that a call wrote, ticked or read, as it is now; `None` where the call is about none.

    `plans` are those that are known, because an edit says only what it changed.
    """
    shown = relative_path(call.path or "", directory)
    if call.path is None or not shown or not is_plan_file(call.path):
        return None
    if call.kind in ("write", "read"):
        text = call.content if call.kind == "write" else call.output
        # Of a file that was read in part, the points that were not shown are not gone.
        partly = call.kind == "read" and call.partial
        points = () if partly or text is None else plan_points(text)
        return PlanSync(shown, points) if points else None
    if call.kind != "edit":
        return None
    before = next((plan.points for plan in plans if plan.path == shown), ())
    points = before
    for old, new in call.edits:
        points = update_points(points, old, new)
    return PlanSync(shown, points) if points and points != before else None


# -- failures --------------------------------------------------------------------------------------------------


def _tell_verdict(step: _Step, verdict: CallVerdict, call: FinishedCall) -> None:
    if verdict.error:
        _open_error(step, verdict.error, Origin.TOOL, call.ended, call.id)
        return
    for error in step.facts.open_errors:
        if verdict.settles(error):
            _settle_error(step, error, Origin.TOOL, call.ended)


def _tell_model_error(step: _Step, message: Message) -> None:
    if message.error and not message.aborted and step.first_time("error"):
        line = one_line(f"model call: {message.error}", MAX_ERROR)
        _open_error(step, OpenError(_MODEL_ERROR, line), Origin.HOST, _end_of(message))
    elif (message.completed or message.finish) and not message.error:
        for error in step.facts.open_errors:
            if error.key == _MODEL_ERROR:
                _settle_error(step, error, Origin.HOST, _end_of(message))


def _open_error(step: _Step, error: OpenError, origin: Origin, timestamp: int, call_id: str = "") -> None:
    others = (other for other in step.facts.open_errors if other.key != error.key)
    step.remember(open_errors=(*others, error)[-_MAX_OPEN_ERRORS:])
    step.tell(origin, ErrorEncountered(error.message, key=error.key, by_call=call_id), timestamp)


def _settle_error(step: _Step, error: OpenError, origin: Origin, timestamp: int) -> None:
    left = tuple(other for other in step.facts.open_errors if other.key != error.key)
    step.remember(open_errors=left)
    step.tell(origin, ErrorResolved(key=error.key), timestamp)


# -- the end of a response: usage, or the summary of a compaction ----------------------------------------------


def _tell_usage(step: _Step, message: Message, limit: int | None) -> None:
    usage = message.usage
    if usage is None or not usage.used or not step.first_time("usage"):
        return
    step.remember(used_tokens=usage.used)
    spent = ResponseTokens(usage.input, usage.cache_read, usage.cache_write, usage.output) if usage.prompt else None
    snapshot = ContextSnapshot(usage.used, limit, model=message.model, source="reported", spent=spent)
    step.tell(Origin.HOST, snapshot, _end_of(message))


def _tell_summary(step: _Step, message: Message) -> None:
    if not is_summary(message) or not step.first_time("summary"):
        return
    text = "\n".join(part.text for part in message.parts if isinstance(part, TextPart))
    compacted = CompactAfter(
        text.strip()[:_MAX_COMPACTION_SUMMARY],
        step.facts.trigger,
        began=message.created,
        marker=message.parent_id,
        message=message.id,
        tail=step.facts.tail_start,
        anchor=f"{message.role}:{message.created}:" if message.created else "",
    )
    step.tell(Origin.HOST, compacted, _end_of(message))
    # How much of the window is in use is not known until the next response.
    step.remember(used_tokens=None, tail_start="")


def _end_of(message: Message) -> int:
    return message.completed or message.created
