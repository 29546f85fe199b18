"""A host's messages, as they are uploaded or handed over, become events: each fact once, whatever is sent again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hudkit.api import Session
from hudkit.context.caching import Piece
from hudkit.context.compaction.fallback import static_summary, unusable
from hudkit.errors import SequenceConflict
from hudkit.hud.session import ATTEMPTS
from hudkit.ingest.event_ids import event_id, fingerprint, message_time
from hudkit.ingest.extraction import KnownStatements
from hudkit.ingest.failures import OpenError
from hudkit.ingest.fork import fork_drafts
from hudkit.ingest.message_facts import Fact, KnownFacts, derive_facts, session_facts, todo_facts
from hudkit.ingest.shell_statements import ShellStatement
from hudkit.log import Draft
from hudkit.log.payloads import (
    CompactAfter,
    CompactBefore,
    ContextSnapshot,
    ErrorResolved,
    PlanSync,
    Redact,
    SessionStart,
    TestsRan,
    TodoSync,
    type_of,
)
from hudkit.sections.session import SessionFacts
from hudkit.sections.state import HudState
from hudkit.transcripts import Message, PatchPart, SessionRow, TextPart, ToolPart
from hudkit.transcripts.opencode_rows import message_of, part_of, todos_of
from hudkit.transcripts.window import marker_of

_LATEST_WINS = (SessionStart, TodoSync, ContextSnapshot, ErrorResolved, TestsRan, PlanSync)
"""Facts that would undo a newer one, if an old message told them again; so would what is named by its words: "going
with Redis" was not told where Redis was decided, and must not be told now that it is not."""

_replace = msgspec.structs.replace


class IngestBatch(msgspec.Struct, frozen=True):
    """What a host tells at once: messages (as OpenCode's `{info, parts}`, or as they are in `history`), todos where
    they were told, and what is known of the session (empty: not told). `limit` is the model's window in tokens;
    `anchors` are those of the transcript."""

    messages: Sequence[Mapping[str, Any] | Message] = ()
    todos: Sequence[Mapping[str, Any]] | None = None
    title: str = ""
    agent: str = ""
    parent: str = ""
    limit: int | None = None
    anchors: Sequence[str] = ()


class TranscriptIngester:
    """One session as its messages come in. What was told is known from the log alone, so that nothing has to be kept
    beside it; within a process, it is remembered. Not safe for several threads."""

    def __init__(self, session: Session, host_session: str, directory: str, host: str = "opencode") -> None:
        self.session = session
        self.unread = 0
        """Messages that could not be understood; they were passed over."""
        self.order = -1
        """Of the last question for a frame, as the plugin numbers them."""
        self.pieces: tuple[Piece, ...] | None = None
        """The transcript of the last call, as far as this process knows."""
        self._row = SessionRow(id=host_session, host=host, directory=directory)
        self._ids: set[str] = set()
        self._seq = 0
        self._appended = 0
        self._heard_to = 0  # time of the newest message that was heard before this process, as far as the log tells
        self._newest = 0  # and in this process
        self._reported = 0  # time of the newest message that told how full the window is, or emptied it
        self._emptied = 0  # and of the newest that emptied it
        self._pending = False  # a compaction was announced and is not finished
        self._trigger = ""
        self._known: KnownFacts | None = None
        self._told: dict[str, frozenset[str]] = {}
        self._last: IngestBatch | None = None

    @property
    def seq(self) -> int:
        """The number of the last event that this session is known to have."""
        return max(self._seq, self._appended)

    def hear(self, upload: IngestBatch) -> int:
        """Append what is new in an upload, all or none; gives the number of events. Raises a `StoreError`."""
        conflict: SequenceConflict | None = None
        for _ in range(ATTEMPTS):
            staged = self.stage(upload)
            try:
                if staged.drafts:
                    self.session.log.append(self.session.id, staged.drafts, expected=staged.seq)
            except SequenceConflict as error:
                conflict = error
                continue
            self.settle(staged)
            return len(staged.drafts)
        assert conflict is not None
        raise conflict

    def stage(self, upload: IngestBatch) -> PendingEvents:
        """What is new in an upload, to be appended behind event `seq` and then settled; staged again, where another
        writer came between. Where the upload is a fork's first, its source's events are appended before."""
        anchors, upload = upload.anchors, _replace(upload, anchors=())
        if upload == self._last and not upload.messages:
            return PendingEvents(self._seq)
        messages = self._read(upload.messages)
        conflict: SequenceConflict | None = None
        for _ in range(ATTEMPTS):
            self._catch_up()
            step = _Step(self, upload, messages)
            if self._ids or self.session.state.epoch.base is not None:
                return PendingEvents(self._seq, tuple(step.drafts), step, upload)
            drafts = fork_drafts(self.session, self._seq, step.drafts, messages, anchors)
            if not drafts:
                return PendingEvents(self._seq, tuple(step.drafts), step, upload)
            try:
                self.session.log.append(self.session.id, drafts, expected=self._seq)
                self._known, self._seq = None, 0  # take up what it told
            except SequenceConflict as error:
                conflict = error
        assert conflict is not None
        raise conflict

    def settle(self, staged: PendingEvents) -> None:
        """What was staged last is in the log now."""
        if staged.step is None or staged.upload is None:
            return
        self._appended = staged.seq + len(staged.drafts)
        self._known = staged.step.known
        self._told.update(staged.step.told)
        self._newest = max(self._newest, staged.step.newest)
        self._reported = max(self._reported, staged.step.reported)
        self._emptied = max(self._emptied, staged.step.emptied)
        self._last = _replace(staged.upload, messages=())

    def _catch_up(self) -> None:
        """Read what was appended since, by whomever; the first time, take up what was told from the log."""
        first = self._known is None
        for event in self.session.events(after=self._seq):
            self._seq = event.seq
            at = message_time(event.id)
            if at is not None:
                self._ids.add(event.id)
                if first:
                    self._heard_to = max(self._heard_to, at)
            match event.payload:
                case CompactBefore(trigger=trigger):
                    self._pending, self._trigger = True, trigger
                case CompactAfter():
                    self._pending, self._trigger = False, ""
                case Redact():
                    first = True  # what is remembered may hold it
        if first:
            self._known = facts_from_state(self.session.state, self._trigger)
        elif self._known is not None and not (self._pending and self._known.trigger):
            self._known = _replace(self._known, trigger=self._trigger)  # hosts without a marker tell none

    def _read(self, raw: Sequence[Mapping[str, Any] | Message]) -> list[Message]:
        found = []
        for each in raw:
            message = each if isinstance(each, Message) else message_from(each, self._row.id)
            if message is None:
                self.unread += 1
            else:
                found.append(message)
        return sorted(found, key=lambda message: (message.created, message.id))


class PendingEvents(msgspec.Struct, frozen=True):
    """Drafts to be appended behind event `seq` of the session, and what is known once they are."""

    seq: int
    drafts: tuple[Draft, ...] = ()
    step: _Step | None = None
    upload: IngestBatch | None = None


class _Step:
    """What one upload comes to: the events to append, and what is known once they are."""

    def __init__(self, live: TranscriptIngester, upload: IngestBatch, messages: Sequence[Message]) -> None:
        assert live._known is not None
        self.known: KnownFacts = live._known
        self.told: dict[str, frozenset[str]] = {}
        self.drafts: list[Draft] = []
        self.newest = max((message.created for message in messages), default=0)
        self.reported, self.emptied = live._reported, live._emptied
        self._live = live
        self._limit = upload.limit
        self._state = live.session.state
        self._row = self._session(upload, messages)
        for message in messages:
            self._message(message)
        if upload.todos is not None:
            self.known, facts = todo_facts(todos_of(list(upload.todos)), self.known)
            for fact in facts:
                self._append(fact)

    def _session(self, upload: IngestBatch, messages: Sequence[Message]) -> SessionRow:
        before = self.known.start or SessionStart()
        links = self._state.session.links
        parent = upload.parent or next((link.session_id for link in links if link.relation == "parent"), "")
        since = max(self._live._heard_to, self._live._newest)
        new = [one for one in messages if one.created >= since and not one.summary and not marker_of(one)]
        row = _replace(
            self._live._row,
            title=upload.title or before.title,
            agent=upload.agent or _last(one.agent for one in new) or before.agent,
            model=_last(one.model for one in new) or before.model,
            parent_id=parent,
        )
        after, facts = session_facts(row, _replace(self.known, start=None))
        for fact in facts:
            if not isinstance(fact.payload, SessionStart) or _says_more(fact.payload, self._state.session):
                self._append(fact)
        self.known = after
        return row

    def _message(self, message: Message) -> None:
        name = fingerprint(message)
        told = set(self._live._told.get(name, ()))
        old = message.created < self._live._heard_to
        for unit, part, hidden in _units(message, told):
            before = self.known
            known = _replace(before, told=((message.id, frozenset(hidden)),))
            after, facts = derive_facts(self._row, part, known, limit_tokens=self._limit)
            stale = False
            counts: dict[str, int] = {}
            for fact in facts:
                if isinstance(fact.payload, SessionStart) and not fact.payload.request:
                    continue  # an older message's agent and model
                kind = type_of(fact.payload)
                counts[kind] = counts.get(kind, -1) + 1
                id = event_id(message, unit, kind, counts[kind], fact.key)
                if id in self._live._ids or (old and (fact.key or isinstance(fact.payload, _LATEST_WINS))):
                    stale = True
                elif isinstance(fact.payload, ContextSnapshot) and message.created < self.reported:
                    # The end of a turn is told late where a compaction follows at once.
                    used = fact.payload.used_tokens if message.created < self.emptied else None
                    late = ContextSnapshot(late=used, spent=fact.payload.spent)
                    self._append(_replace(fact, payload=late), id)
                elif not (isinstance(fact.payload, CompactBefore) and self._live._pending):
                    if isinstance(fact.payload, ContextSnapshot | CompactAfter):
                        self.reported = message.created
                    if isinstance(fact.payload, CompactAfter):
                        self.emptied = message.created
                    self._append(self._usable(fact, message), id)
            self.known = before if stale else _replace(after, start=before.start)
            told |= {unit, *dict(after.told).get(message.id, ())}
        self.told[name] = frozenset(told)

    def _usable(self, fact: Fact, message: Message) -> Fact:
        """Where the model wrote no summary, the log's own stands in, and the one before goes on."""
        done = fact.payload
        why = unusable(done.summary, message.finish) if isinstance(done, CompactAfter) else ""
        if not why or not isinstance(done, CompactAfter):
            return fact
        parts = (static_summary(self._state, shown=True), self._state.compacted.summary)
        text = "\n\n".join(part for part in parts if part)
        return _replace(fact, payload=_replace(done, summary=text, by="static", why=why, anchor=""))

    def _append(self, fact: Fact, id: str = "") -> None:
        turn = self._state.window.calls
        draft = self._live.session.drafts((fact.payload,), fact.origin, turn)[0]
        self.drafts.append(_replace(draft, id=id or draft.id, timestamp=fact.at or draft.timestamp))


def message_from(raw: Mapping[str, Any], session_id: str) -> Message | None:
    """A message of its live JSON, `{info, parts}`; `None` where it is none. A part that is none is left out."""
    info, parts = raw.get("info"), raw.get("parts")
    if not isinstance(info, dict) or info.get("role") not in ("user", "assistant"):
        return None
    id = info.get("id")
    given = enumerate(parts) if isinstance(parts, list) else ()
    return message_of(
        id if isinstance(id, str) else "",
        session_id,
        info,
        (part_of(_id(part, n), part) for n, part in given if isinstance(part, dict)),
    )


def facts_from_state(state: HudState, trigger: str = "") -> KnownFacts:
    """What the log says was told. A shell command is read back from the key of its error."""
    session = state.session
    start = SessionStart(
        host=session.host,
        host_session=session.host_session,
        title=session.title,
        agent=session.agent,
        model=session.model,
        directory=session.directory,
    )
    return KnownFacts(
        start=start if session.host else None,
        request=session.request,
        linked=any(link.relation == "parent" for link in session.links),
        todos=state.todos.items or None,
        errors=tuple(OpenError(one.key, one.message, _statement(one.key)) for one in state.errors.open if one.key),
        trigger=trigger,
        used=state.window.used_tokens,
        held=KnownStatements(
            tuple(rule.text for rule in state.constraints), tuple(decision.summary for decision in state.decisions)
        ),
        plans=tuple(PlanSync(plan.path, plan.points) for plan in state.progress.plans),
    )


def _units(message: Message, told: set[str]) -> Iterator[tuple[str, Message, set[str]]]:
    """The parts of a message that are told on their own, each as a message and what to pass over in it: a user's
    message, each finished tool call, each patch, and the end of a response."""
    if message.role == "user":
        yield "user", message, told
        return
    running = _replace(message, completed=0, finish="", error="", usage=None, summary=False)
    tools = tuple(part for part in message.parts if isinstance(part, ToolPart) and part.done)
    for n, tool in enumerate(tools):
        unit = f"call:{tool.call_id or n}"
        if unit not in told:
            yield unit, _replace(running, parts=(tool,)), set()
    for n, patch in enumerate(part for part in message.parts if isinstance(part, PatchPart)):
        unit = f"patch:{n}"
        if unit not in told:
            yield unit, _replace(running, parts=(*tools, patch)), {tool.id for tool in tools}
    texts = tuple(part for part in message.parts if isinstance(part, TextPart))
    yield "end", _replace(message, parts=texts), told


def _last(words: Iterable[str]) -> str:
    return next(reversed([word for word in words if word]), "")


def _says_more(start: SessionStart, session: SessionFacts) -> bool:
    return any(value and value != getattr(session, name) for name, value in msgspec.structs.asdict(start).items())


def _statement(key: str) -> ShellStatement | None:
    if not key.startswith("bash: "):
        return None
    text, where = key[6:], ""
    if text.startswith("("):
        where, _, text = text[1:].partition(") ")
    return ShellStatement(tuple(text.split(" ")), where=where)


def _id(part: Mapping[str, Any], n: int) -> str:
    id = part.get("id")
    return id if isinstance(id, str) and id else f"part {n}"
