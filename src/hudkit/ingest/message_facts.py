"""What a host tells becomes events without the agent's help: pure functions over sessions, messages and todos.

`derive` is a fold: it takes what was known and gives back what is known now, so that it can be called again while a
message grows (live) or once per message (recorded), and says each thing once. Origins: what a tool returned is the
tool's, what the user typed the user's (in a subagent's session the parent agent typed it), the rest the host's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from hudkit.ingest.extraction import KnownStatements
from hudkit.ingest.failures import OpenError, judge_call
from hudkit.ingest.statements import extract_statements
from hudkit.ingest.tool_calls import one_line, patched_files, relative_path
from hudkit.ingest.tool_results import changed_plan, count_tests, find_commits
from hudkit.log import Origin, Payload
from hudkit.log.payloads import (
    CompactAfter,
    CompactBefore,
    ContextSnapshot,
    ErrorEncountered,
    ErrorResolved,
    FileEdit,
    FileOpen,
    PlanSync,
    SessionLink,
    SessionStart,
    Spent,
    TodoItem,
    TodoSync,
)
from hudkit.transcripts import (
    FilePart,
    Message,
    PatchPart,
    SessionRow,
    TextPart,
    Todo,
    ToolPart,
)
from hudkit.transcripts.opencode_rows import todos_of
from hudkit.transcripts.window import is_summary, marker_of

MAX_REQUEST = 300
"""Characters of the user's last message that stand in for a task."""
MAX_SUMMARY = 32_000
"""Characters of a compaction's summary that are kept."""

_RECENT = 8  # messages whose told parts are remembered: a host still writes to these
_MAX_OPEN = 200  # open errors that are followed, oldest out first
_MAX_PLANS = 5
_PLACEHOLDER = re.compile(r"^(?:New session|Child session) - \d{4}-\d\d-\d\dT")
_READS = frozenset({"read"})
_EDITS = frozenset({"write", "edit", "multiedit"})
_PATCHES = frozenset({"patch", "apply_patch"})
_OWN = frozenset({"hud", "memory", "hud_compact", "memory_compact"})  # our tools append their own events


class Fact(msgspec.Struct, frozen=True):
    """One event to append: who said it, what, and when (Unix ms, 0 where the host does not tell)."""

    origin: Origin
    payload: Payload
    at: int = 0
    key: str = ""
    """Names the fact by what it says, where a message tells several of a kind."""


class KnownFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What has been told of one session so far. A plain value that can be encoded, but it holds commands and texts as
    they were typed: the log redacts secrets, this does not."""

    start: SessionStart | None = None
    request: str = ""
    linked: bool = False
    todos: tuple[TodoItem, ...] | None = None
    errors: tuple[OpenError, ...] = ()
    trigger: str = ""
    tail: str = ""
    used: int | None = None
    told: tuple[tuple[str, frozenset[str]], ...] = ()
    held: KnownStatements = KnownStatements()
    plans: tuple[PlanSync, ...] = ()


NO_FACTS = KnownFacts()
"""What is known of a session before its first message."""

FactStep = tuple[KnownFacts, tuple[Fact, ...]]


def derive_facts(
    session: SessionRow, message: Message, known: KnownFacts = NO_FACTS, *, limit_tokens: int | None = None
) -> FactStep:
    """The events that a message brings which were not told before, in order, and what is known now.

    Messages must come in the transcript's order. One of the last eight may be passed again as it grows: a tool call
    is told when it has its result, usage when the response is finished.
    """
    fold = _Fold(known, message)
    fold.session(session, message)
    if message.role == "user":
        fold.user(session, message)
    else:
        fold.response(session, message, limit_tokens)
    return fold.result()


def session_facts(session: SessionRow, known: KnownFacts = NO_FACTS) -> FactStep:
    """`session.start` and `session.link` where a session's title or place is new."""
    fold = _Fold(known, None)
    fold.session(session, None)
    return fold.result()


def todo_facts(todos: tuple[Todo, ...], known: KnownFacts = NO_FACTS, *, at: int = 0) -> FactStep:
    """`todo.sync` where the host's own list differs from the one told last."""
    fold = _Fold(known, None)
    fold.todos(todos, Origin.HOST, at)
    return fold.result()


class _Fold:
    """The working copy of one step; it lives no longer than the call that made it."""

    def __init__(self, known: KnownFacts, message: Message | None) -> None:
        self.known = known
        self.facts: list[Fact] = []
        self.id = message.id if message else ""
        self.told: set[str] = set(dict(known.told).get(self.id, ()))

    def result(self) -> FactStep:
        if self.id and self.told:
            others = [entry for entry in self.known.told if entry[0] != self.id]
            self._know(told=(*others, (self.id, frozenset(self.told)))[-_RECENT:])
        return self.known, tuple(self.facts)

    def session(self, session: SessionRow, message: Message | None) -> None:
        speaks = message if message and not message.summary and not marker_of(message) else None
        before = self.known.start
        start = SessionStart(
            host=session.host,
            host_session=session.id,
            title="" if _PLACEHOLDER.match(session.title) else one_line(session.title, MAX_REQUEST),
            agent=(speaks.agent if speaks else "") or (before.agent if before else session.agent),
            model=(speaks.model if speaks else "") or (before.model if before else session.model),
            directory=session.directory,
        )
        at = message.created if message else session.created
        if start != before:
            self._know(start=start)
            self._tell(Origin.HOST, start, at)
        if session.parent_id and not self.known.linked:
            self._know(linked=True)
            self._tell(Origin.HOST, SessionLink("parent", session.parent_id), at)

    def user(self, session: SessionRow, message: Message) -> None:
        speaker = Origin.AGENT if session.parent_id else Origin.USER
        marker = marker_of(message)
        if marker and self._first("compaction"):
            trigger = "overflow" if marker.overflow else "auto" if marker.auto else "manual"
            self._know(trigger=trigger, tail=marker.tail_start_id)
            self._tell(Origin.HOST, CompactBefore(trigger, self.known.used), message.created)
        for part in message.parts:
            if isinstance(part, FilePart) and part.path and self._first(part.id):
                self._tell(
                    speaker, FileOpen(relative_path(part.path, session.directory), "referenced"), message.created
                )
        request = _request(message)
        if request and request != self.known.request:
            self._know(request=request)
            start = SessionStart(host=session.host, host_session=session.id, request=request)
            self._tell(speaker, start, message.created)
        if not marker and not message.summary:
            self.words(message, speaker)

    def words(self, message: Message, speaker: Origin, *, by_agent: bool = False) -> None:
        """What is stated or announced in plain words."""
        if not self._first("words"):
            return
        at = message.completed or message.created
        text = "\n\n".join(
            part.text
            for part in message.parts
            if isinstance(part, TextPart) and not part.synthetic and not part.ignored
        )
        held, told = extract_statements(text, self.known.held, by_agent=by_agent)
        for key, payload in told:
            self.facts.append(Fact(speaker, payload, at, key))
        self._know(held=held)

    def response(self, session: SessionRow, message: Message, limit: int | None) -> None:
        edited: set[str] = set()
        for part in message.parts:
            if isinstance(part, ToolPart) and part.done and part.tool not in _OWN:
                paths = tuple(_edited(part, session.directory))
                edited.update(paths)
                if self._first(part.id):
                    self.tool(session, part, paths)
            elif isinstance(part, PatchPart) and self._first(part.id):
                for path in part.files:
                    shown = relative_path(path, session.directory)
                    if shown and shown not in edited:
                        self._tell(Origin.HOST, FileEdit(shown), message.completed or message.created)
        self.end(message, limit)

    def tool(self, session: SessionRow, part: ToolPart, edited: tuple[str, ...]) -> None:
        if part.status == "completed":
            path = _read(part, session.directory)
            if path:
                self._tell(Origin.TOOL, FileOpen(path), part.end)
            for changed in edited:
                self._tell(Origin.TOOL, FileEdit(changed), part.end)
            if part.tool == "todowrite":
                self.todos(todos_of(part.input.get("todos")), Origin.TOOL, part.end)
            child = part.metadata.get("sessionId")
            if part.tool == "task" and isinstance(child, str) and child:
                self._tell(Origin.HOST, SessionLink("child", child), part.end)
            plan = changed_plan(part, session.directory, self.known.plans)
            if plan and plan not in self.known.plans:
                others = (one for one in self.known.plans if one.path != plan.path)
                self._know(plans=(*others, plan)[-_MAX_PLANS:])
                self._tell(Origin.TOOL, plan, part.end)
            for fact in (*count_tests(part), *find_commits(part)):
                self._tell(Origin.TOOL, fact, part.end)
        for judgement in judge_call(part, session.directory):
            self._judge(judgement.error, judgement.settles, part.end, call=part.call_id)

    def todos(self, todos: tuple[Todo, ...], origin: Origin, at: int) -> None:
        items = tuple(TodoItem(todo.content, todo.status, todo.priority) for todo in todos)
        if items != (self.known.todos or ()):
            self._know(todos=items)
            self._tell(origin, TodoSync(items), at)

    def end(self, message: Message, limit: int | None) -> None:
        """What the end of a response tells: usage, a finished summary, an error of the call itself."""
        at = message.completed or message.created
        if message.summary:
            if is_summary(message) and self._first("summary"):
                text = "\n".join(part.text for part in message.parts if isinstance(part, TextPart))
                self._tell(Origin.HOST, self.compacted(message, text.strip()[:MAX_SUMMARY]), at)
                self._know(used=None, tail="")
            return
        finished = message.completed or message.finish
        if finished and not message.aborted:
            self.words(message, Origin.AGENT, by_agent=True)
        if message.error and not message.aborted and self._first("error"):
            line = one_line(f"model call: {message.error}", 200)
            self._judge(OpenError("model", line), None, at, Origin.HOST)
        elif finished and not message.error:
            for error in self.known.errors:
                if error.key == "model":
                    self._settle(error, at, Origin.HOST)
        if finished and message.usage and message.usage.used and self._first("usage"):
            used = message.usage.used
            self._know(used=used)
            told = message.usage
            spent = Spent(told.input, told.cache_read, told.cache_write, told.output) if told.prompt else None
            snapshot = ContextSnapshot(used, limit, model=message.model, source="reported", spent=spent)
            self._tell(Origin.HOST, snapshot, at)

    def compacted(self, message: Message, summary: str) -> CompactAfter:
        return CompactAfter(
            summary,
            self.known.trigger,
            began=message.created,
            marker=message.parent_id,
            message=message.id,
            tail=self.known.tail,
            anchor=f"{message.role}:{message.created}:" if message.created else "",
        )

    def _judge(
        self, error: OpenError | None, settles: object, at: int, origin: Origin = Origin.TOOL, call: str = ""
    ) -> None:
        if error:
            kept = (*(each for each in self.known.errors if each.key != error.key), error)
            self._know(errors=kept[-_MAX_OPEN:])
            self._tell(origin, ErrorEncountered(error.message, key=error.key, by_call=call), at)
        elif callable(settles):
            for each in self.known.errors:
                if settles(each):
                    self._settle(each, at, origin)

    def _settle(self, error: OpenError, at: int, origin: Origin) -> None:
        self._know(errors=tuple(each for each in self.known.errors if each.key != error.key))
        self._tell(origin, ErrorResolved(key=error.key), at)

    def _tell(self, origin: Origin, payload: Payload, at: int) -> None:
        self.facts.append(Fact(origin, payload, at))

    def _know(self, **changes: object) -> None:
        self.known = msgspec.structs.replace(self.known, **changes)

    def _first(self, what: str) -> bool:
        if what in self.told:
            return False
        self.told.add(what)
        return True


def _request(message: Message) -> str:
    """What the user typed, on one line; `opencode run` puts quotes around an argument with spaces."""
    if marker_of(message):
        return ""
    typed = (part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic)
    text = " ".join(typed).strip()
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        text = text[1:-1]
    return one_line(text, MAX_REQUEST)


def _read(part: ToolPart, directory: str) -> str:
    path = part.input.get("filePath")
    if part.tool not in _READS or not isinstance(path, str) or "<type>directory</type>" in part.output[:2_000]:
        return ""
    return relative_path(path, directory)


def _edited(part: ToolPart, directory: str) -> Iterator[str]:
    if part.status != "completed":
        return
    path, patch = part.input.get("filePath"), part.input.get("patchText")
    if part.tool in _EDITS and isinstance(path, str):
        found = [path]
    else:
        found = patched_files(patch) if part.tool in _PATCHES and isinstance(patch, str) else []
    yield from (shown for shown in (relative_path(each, directory) for each in found) if shown)
