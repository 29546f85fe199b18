"""A batch of a host's messages becomes events, each fact once, whatever is sent again: `ingest(state, batch)`.

Hosts send messages again: while they grow, after a restart, from a fork, by two processes at once. So every event has
an id that is made of its message (`event_ids`), and what the log has already is known by its id. The log is the only
memory. `IngestState` is what a process remembers of it: it is built by `observe` from the session's events and state,
and given on from batch to batch. Both functions are pure; reading and appending is done by
`hudkit.api.TranscriptIngester`, which also repeats the step where another writer came between.

The hard part is a fact that comes late or again, where a newer one is in the log:

- an event whose id the log has is left out, and what the message said changes nothing that is known;
- of a message that is older than what the log was read to, a fact of which only the latest counts (the todo list, the
  window in use, a title) and one that is named by its words is left out too. It was not told then, or is not true
  now;
- usage that is reported behind a newer report (the end of a turn, where a compaction followed at once) is kept
  as late: its cost counts, its level does not;
- where the machine's clock went back, what comes next is older by its time than what was read, and is new all the
  same: then the times that lie ahead are not gone by (`set_back`).

For example, a plugin sends m1 "Never touch legacy/" and m2 with a failed `pytest`; the log gets `constraint.add` and
`error.encountered`. It starts anew and sends m1, m2 and m3 with a passing `pytest`. The ids of m1 and m2 are in the
log, so only `error.resolved` of m3 is new. It settles the error though this process never saw it open: the open
errors, with the commands in their keys, were read from the state.

A fork takes over the log of the session that it came from: the same events in the same order, so the same bytes
(`fork_events`). OpenCode does not say that a session is a fork. But it keeps the creation times of the messages and
the ids of the calls, so that the facts of a fork's first batch have ids that another session of the project has
recorded already. The session with the most of them is the source, where it has recorded something of at least half of
the fork's responses. Its events are copied up to the first message that the fork does not have.

For example, session A recorded m1 (t=1), m2 (t=2), m3 (t=3). A session B of the same project begins with m1, m2 and a
new m4 (t=9). The ids of B's facts at t=1 and t=2 are in A, so that A is the source. A's events up to the end of m2
are copied to B, then the link to A, and B goes on with the facts of m4. What the agent itself recorded in A since m2
ended is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hudkit.context.compaction.summaries import static_summary, unusable_reason
from hudkit.ingest.event_ids import IngestEvent, event_id, fingerprint, message_time
from hudkit.ingest.extraction import KnownStatements
from hudkit.ingest.extraction.sentence_judge import SentenceJudge
from hudkit.ingest.failures import OpenError, statement_of_key
from hudkit.ingest.message_facts import Fact, KnownFacts, derive_facts, session_facts, todo_facts
from hudkit.log import Event, Origin
from hudkit.log.payloads import (
    CommandRan,
    CompactAfter,
    CompactBefore,
    ContextSnapshot,
    ErrorResolved,
    EventRestate,
    EventUndo,
    FrameBase,
    FrameDelta,
    MessagesRevert,
    Payload,
    PlanSync,
    Redact,
    SessionLink,
    SessionStart,
    TestsRan,
    TodoSync,
    type_of,
)
from hudkit.sections.session_facts import SessionFacts
from hudkit.sections.state import HudState
from hudkit.transcripts import Message, PatchPart, SessionRow, TextPart, Todo, ToolPart
from hudkit.transcripts.opencode_json import parse_message, parse_part
from hudkit.transcripts.prompt_window import compaction_marker

# Told again by an old message, these would undo a newer one.
_LATEST_WINS = (SessionStart, TodoSync, ContextSnapshot, ErrorResolved, CommandRan, TestsRan, PlanSync)

_SLACK = 60_000
"""Milliseconds by which a host's clock may differ from ours, and a message be older than our reading it."""

_replace = msgspec.structs.replace


class IngestBatch(msgspec.Struct, frozen=True):
    """What a host tells at once. What is empty was not told.

    `limit` is the model's window in tokens; `anchors` are those of the whole transcript, of which a fork sends only
    the new messages.
    """

    messages: Sequence[Message] = ()
    todos: tuple[Todo, ...] | None = None
    title: str = ""
    agent: str = ""
    parent: str = ""
    """The host's id of the session that started this one."""
    limit: int | None = None
    anchors: Sequence[str] = ()


class _RecordedIds(msgspec.Struct, frozen=True):
    """The ids of events that the log has from messages: a set that grows without being copied whole.

    Each generation is more than twice as large as the next one. So an id is copied a logarithmic number of times in a
    session's life, and looked up in as many sets.
    """

    generations: tuple[frozenset[str], ...] = ()

    def __contains__(self, event_id: str) -> bool:
        for generation in self.generations:  # noqa: SIM110 (asked for each event: a generator costs more than it)
            if event_id in generation:
                return True
        return False

    def __bool__(self) -> bool:
        return bool(self.generations)

    def with_ids(self, event_ids: Iterable[str]) -> _RecordedIds:
        """Return the set with these ids as well."""
        newest, older = frozenset(event_ids), self.generations
        if not newest:
            return self
        while older and len(older[-1]) <= 2 * len(newest):
            newest, older = newest | older[-1], older[:-1]
        return _RecordedIds((*older, newest))


class IngestState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one session: from its log up to event `seq`, and from the batches of this process."""

    row: SessionRow
    """The session as its host names it."""
    hud: HudState
    """The session's state as of event `seq`."""
    seq: int = 0
    facts: KnownFacts | None = None
    """What later messages are read with; `None`: to be taken from the state."""
    recorded: _RecordedIds = _RecordedIds()
    read_units: Mapping[str, frozenset[str]] = {}
    """Which parts of a message, by its fingerprint, this process has read."""
    earlier_until: int = 0
    """Time of the newest message that another process recorded, as far as the log tells."""
    newest: int = 0
    """Time of the newest message of this process."""
    usage_at: int = 0
    """Time of the newest message that told how full the window is, or emptied it."""
    emptied_at: int = 0
    """Time of the newest message that emptied it."""
    plain_words: bool = True
    """Whether rules, preferences, decisions and facts are read from what is said."""
    judge: SentenceJudge | None = None
    """What is asked, too, what the user's sentences are said for."""
    compacting: bool = False
    """A compaction was announced and is not finished."""
    trigger: str = ""
    """Why it was started."""


def observe(state: IngestState, events: Iterable[Event], hud: HudState) -> IngestState:
    """Return what is known when the session's events after `state.seq`, by whomever, were read; `hud` is its state.

    The first time, after a redaction (what is remembered may hold the secret) and after an undo or a revert (what is
    remembered may be over), the facts are taken from the state.
    """
    afresh = state.facts is None
    seq, earlier_until = state.seq, state.earlier_until
    compacting, trigger = state.compacting, state.trigger
    ids: list[str] = []
    for event in events:
        seq = event.seq
        told_at = message_time(event.id)
        if told_at is not None:
            ids.append(event.id)
            if afresh:
                earlier_until = max(earlier_until, told_at)
        match event.payload:
            case CompactBefore(trigger=cause):
                compacting, trigger = True, cause
            case CompactAfter():
                compacting, trigger = False, ""
            case Redact() | EventUndo() | MessagesRevert():
                afresh = True
    facts = state.facts
    if afresh or facts is None:
        facts = _facts_from_state(hud, trigger)
    elif not (compacting and facts.trigger):
        facts = _replace(facts, trigger=trigger)  # a host without a marker tells no cause of its own
    return _replace(
        state,
        hud=hud,
        seq=seq,
        facts=facts,
        recorded=state.recorded.with_ids(ids),
        earlier_until=earlier_until,
        compacting=compacting,
        trigger=trigger,
    )


def set_back(state: IngestState, now: int) -> IngestState:
    """Return what is known where the clock went back: times that lie ahead of it become times shortly before it.

    What comes from now on is newer than all that was read, whatever its time says. Up to a minute is taken for a
    difference of two clocks: the host's and ours.
    """
    times = ("earlier_until", "newest", "usage_at", "emptied_at")
    ahead = [name for name in times if getattr(state, name) > now + _SLACK]
    return _replace(state, **dict.fromkeys(ahead, now - _SLACK)) if ahead else state


COMPACTION_TYPES = (type_of(CompactBefore()), type_of(CompactAfter()))
"""Of the events that say whether a compaction is going on: the last one of them."""


def take_up(state: IngestState, event_ids: Iterable[str], compaction: Event | None, hud: HudState) -> IngestState:
    """Return what is known of a session as of its state `hud`, when it is met for the first time.

    It is what `observe` makes of all its events, made without their bodies.

    `event_ids` are those of all its events, `compaction` is the last one of a type of `COMPACTION_TYPES`.
    """
    of_messages = [event_id for event_id in event_ids if event_id[14:15] == "8"]
    started = compaction.payload if compaction is not None else None
    trigger = started.trigger if isinstance(started, CompactBefore) else ""
    return _replace(
        state,
        hud=hud,
        seq=hud.seq,
        facts=_facts_from_state(hud, trigger),
        recorded=state.recorded.with_ids(of_messages),
        # The time is in the first digits.
        earlier_until=message_time(max(of_messages, default="")) or 0,
        compacting=isinstance(started, CompactBefore),
        trigger=trigger,
    )


def ingest(state: IngestState, batch: IngestBatch) -> tuple[IngestState, tuple[IngestEvent, ...]]:
    """Return what is known once the events are in the log, and the events that a batch brings, in order.

    `state` comes from `observe`; the events are to be appended behind event `state.seq`. Where they were not, the
    state that comes back is dropped, and the batch is ingested again. Messages are read in order of their time.
    """
    assert state.facts is not None, "the log was not read"
    step = _BatchStep(state, state.facts)
    messages = sorted(batch.messages, key=lambda message: (message.created, message.id))
    row = _tell_session(step, batch, messages)
    for message in messages:
        _tell_message(step, row, message, batch.limit)
    if batch.todos is not None:
        step.facts, facts = todo_facts(batch.todos, step.facts)
        step.events += [_event(fact) for fact in facts]
    after = _replace(
        state,
        facts=step.facts,
        read_units={**state.read_units, **step.read_units},
        newest=max((state.newest, *(message.created for message in messages))),
        usage_at=step.usage_at,
        emptied_at=step.emptied_at,
    )
    return after, tuple(step.events)


def _facts_from_state(hud: HudState, trigger: str = "") -> KnownFacts:
    """Return what the log says was told; `trigger` is the cause of a compaction that is going on."""
    session = hud.session
    start = SessionStart(
        host=session.host,
        host_session=session.host_session,
        title=session.title,
        agent=session.agent,
        model=session.model,
        directory=session.directory,
    )
    errors = (
        OpenError(error.key, error.message, statement_of_key(error.key)) for error in hud.errors.open if error.key
    )
    rules = tuple(rule.text for rule in hud.constraints)
    decisions = tuple(decision.summary for decision in hud.decisions)
    preferences = tuple(preference.text for preference in hud.preferences)
    facts = tuple(note.content for note in hud.notes if note.derived)
    return KnownFacts(
        start=start if session.host else None,
        request=session.request,
        parent_linked=any(link.relation == "parent" for link in session.links),
        todos=hud.todos.items or None,
        open_errors=tuple(errors),
        trigger=trigger,
        used_tokens=hud.window.used_tokens,
        statements=KnownStatements(rules, decisions, preferences=preferences, facts=facts),
        plans=tuple(PlanSync(plan.path, plan.points) for plan in hud.progress.plans),
    )


def read_messages(raw: Iterable[Mapping[str, Any]], session_id: str) -> tuple[Message, ...]:
    """Return the messages of OpenCode's live JSON; what is not a message is passed over."""
    messages = (_message_from(entry, session_id) for entry in raw)
    return tuple(message for message in messages if message is not None)


def _message_from(raw: Mapping[str, Any], session_id: str) -> Message | None:
    """Return a message from OpenCode's live JSON, `{info, parts}`; `None` where it is not one.

    A part that is not one is left out.
    """
    info, parts = raw.get("info"), raw.get("parts")
    if not isinstance(info, dict) or info.get("role") not in ("user", "assistant"):
        return None
    numbered = enumerate(parts) if isinstance(parts, list) else ()
    read_parts = (parse_part(_part_id(part, number), part) for number, part in numbered if isinstance(part, dict))
    message_id = info.get("id")
    return parse_message(message_id if isinstance(message_id, str) else "", session_id, info, read_parts)


class _BatchStep:
    """The working copy of one batch; it lives no longer than the call that made it."""

    def __init__(self, state: IngestState, facts: KnownFacts) -> None:
        self.state = state
        self.facts = facts
        self.events: list[IngestEvent] = []
        self.read_units: dict[str, frozenset[str]] = {}
        self.usage_at, self.emptied_at = state.usage_at, state.emptied_at


def _tell_session(step: _BatchStep, batch: IngestBatch, messages: Sequence[Message]) -> SessionRow:
    """The session as its host knows it now: once a batch, because each message names an agent and a model."""
    before = step.facts.start or SessionStart()
    session = step.state.hud.session
    parents = (link.session_id for link in session.links if link.relation == "parent")
    since = max(step.state.earlier_until, step.state.newest)
    new = [message for message in messages if message.created >= since]
    speakers = [message for message in new if not message.summary and not compaction_marker(message)]
    row = _replace(
        step.state.row,
        title=batch.title or before.title,
        agent=batch.agent or _last(message.agent for message in speakers) or before.agent,
        model=_last(message.model for message in speakers) or before.model,
        parent_id=batch.parent or next(parents, ""),
    )
    step.facts, facts = session_facts(row, _replace(step.facts, start=None))
    for fact in facts:
        if not isinstance(fact.payload, SessionStart) or _says_more(fact.payload, session):
            step.events.append(_event(fact))
    return row


def _tell_message(step: _BatchStep, row: SessionRow, message: Message, limit: int | None) -> None:
    name = fingerprint(message)
    done = set(step.state.read_units.get(name, ()))
    for unit, part, hidden in _units(message, done):
        before = step.facts
        visible = _replace(before, read_units=((message.id, frozenset(hidden)),))
        state = step.state
        after, facts = derive_facts(
            row, part, visible, limit_tokens=limit, plain_words=state.plain_words, judge=state.judge
        )
        stale = _tell_unit(step, message, unit, facts)
        # What an old message says again may be over by now: then it changes nothing that is known.
        step.facts = _with_offer(before, after) if stale else _replace(after, start=before.start)
        done |= {unit, *dict(after.read_units).get(message.id, ())}
    step.read_units[name] = frozenset(done)


def _with_offer(before: KnownFacts, after: KnownFacts) -> KnownFacts:
    """What is known, with what the message left to the user: its answer may be in the next one."""
    return _replace(before, statements=_replace(before.statements, offer=after.statements.offer))


def _tell_unit(step: _BatchStep, message: Message, unit: str, facts: Iterable[Fact]) -> bool:
    """Add the events of one part of a message; whether one of them was told before, or is too old to be told."""
    stale = False
    counts: dict[str, int] = {}
    for fact in facts:
        payload = fact.payload
        if isinstance(payload, SessionStart) and not payload.request:
            continue  # an older message's agent and model
        kind = type_of(payload)
        number = counts[kind] = counts.get(kind, -1) + 1
        id = event_id(message, unit, kind, number, fact.key)
        if id in step.state.recorded or _is_outdated(step, message, fact):
            stale = True
        elif isinstance(payload, ContextSnapshot) and message.created < step.usage_at:
            used = payload.used_tokens if message.created < step.emptied_at else None
            late = ContextSnapshot(late=used, spent=payload.spent)
            step.events.append(_event(_replace(fact, payload=late), id))
        elif not (isinstance(payload, CompactBefore) and step.state.compacting):
            if isinstance(payload, ContextSnapshot | CompactAfter):
                step.usage_at = message.created
            if isinstance(payload, CompactAfter):
                step.emptied_at = message.created
                fact = _replace(fact, payload=_usable(payload, message, step.state.hud))
            step.events.append(_event(fact, id))
    return stale


def _is_outdated(step: _BatchStep, message: Message, fact: Fact) -> bool:
    """Whether a message from before this process tells what only the newest message may tell.

    So is what is named by its words: "going with Redis" was not told where Redis was decided, and must not be told
    now that it is not decided any more.
    """
    if message.created >= step.state.earlier_until:
        return False
    return bool(fact.key) or isinstance(fact.payload, _LATEST_WINS)


def _usable(compacted: CompactAfter, message: Message, hud: HudState) -> CompactAfter:
    """Where the model wrote no summary, the log's own stands in, and the one before goes on."""
    why = unusable_reason(compacted.summary, message.finish)
    if not why:
        return compacted
    texts = (static_summary(hud, shown=True), hud.compacted.summary)
    summary = "\n\n".join(text for text in texts if text)
    return _replace(compacted, summary=summary, by="static", why=why, anchor="")


def _units(message: Message, done: set[str]) -> Iterator[tuple[str, Message, set[str]]]:
    """The parts of a message that are told on their own, each as a message and what to pass over in it: a user's
    message, each finished tool call, each patch, and the end of a response."""
    if message.role == "user":
        yield "user", message, done
        return
    running = _replace(message, completed=0, finish="", error="", usage=None, summary=False)
    calls = tuple(part for part in message.parts if isinstance(part, ToolPart) and part.done)
    for number, call in enumerate(calls):
        unit = f"call:{call.call_id or number}"
        if unit not in done:
            yield unit, _replace(running, parts=(call,)), set()
    patches = (part for part in message.parts if isinstance(part, PatchPart))
    for number, patch in enumerate(patches):
        unit = f"patch:{number}"
        if unit not in done:  # with the calls, so that what they edited is not told again
            yield unit, _replace(running, parts=(*calls, patch)), {call.id for call in calls}
    texts = tuple(part for part in message.parts if isinstance(part, TextPart))
    yield "end", _replace(message, parts=texts), done


def _event(fact: Fact, id: str = "") -> IngestEvent:
    return IngestEvent(fact.origin, fact.payload, id=id, timestamp=fact.timestamp or None)


def _last(words: Iterable[str]) -> str:
    return next(reversed([word for word in words if word]), "")


def _says_more(start: SessionStart, session: SessionFacts) -> bool:
    for name in start.__struct_fields__:
        value = getattr(start, name)
        if value and value != getattr(session, name):
            return True
    return False


def _part_id(part: Mapping[str, Any], number: int) -> str:
    id = part.get("id")
    return id if isinstance(id, str) and id else f"part {number}"


# -- forks -----------------------------------------------------------------------------------------------------

MAX_FORK_EVENTS = 20_000
"""Sessions with more events are not copied: a fork then begins with what its messages tell."""

MAX_SEARCHED_EVENTS = 60_000
"""Events of the project's sessions that are looked through, newest session first: about a third of a second."""

_MIN_COMMON_SHARE = 0.5
"""The share of a fork's responses of which its source must have recorded something."""

_USAGE = type_of(ContextSnapshot())
"""What the end of nearly every response tells."""

_SEQ_FIELDS: dict[type[Payload], tuple[str, ...]] = {
    FrameBase: ("covers",),
    FrameDelta: ("covers", "since", "answered"),
    Redact: ("seq",),
    EventRestate: ("seq",),
    EventUndo: ("seq",),
    MessagesRevert: ("seqs",),
}
"""Payloads that name events of their own session by number, and the fields that do (negative: none)."""


class ForkCandidate(msgspec.Struct, frozen=True):
    """Another session of the host and project, by its key in the log, with all of its events."""

    key: str
    events: Sequence[Event]


def related_sessions(session_key: str, keys: Sequence[str]) -> list[str]:
    """Return which of a log's sessions are of the same host and project as a session, newest first."""
    host, _, rest = session_key.partition("/")
    project = rest.rpartition("@")[2]
    related = [key for key in keys if key.startswith(f"{host}/") and key.endswith(f"@{project}")]
    return [key for key in reversed(related) if key != session_key]


def fork_events(
    ingested: Iterable[IngestEvent],
    messages: Sequence[Message],
    anchors: Sequence[str],
    candidates: Iterable[ForkCandidate],
    *,
    shift: int,
) -> tuple[IngestEvent, ...]:
    """Return the source's events up to the fork, and the link to it; nothing where no candidate is the source.

    `ingested` is what the session's first batch comes to, `anchors` tell of messages that are not uploaded yet. The
    events go behind the `shift` events that the fork has already, so that the sequence numbers in their payloads are
    moved by as many. What cannot be copied (a redacted payload, one of a newer version) leaves an empty event in its
    place.
    """
    known_by_anchor = [message for message in map(_response_of_anchor, anchors) if message is not None]
    own_messages = [*messages, *known_by_anchor]
    responses = [message for message in own_messages if message.role == "assistant"]
    times = {message.created for message in responses}
    ids = {event.id for event in ingested if message_time(event.id) in times}
    ids |= {event_id(message, "end", _USAGE, 0) for message in responses}
    source = _fork_source(candidates, ids, len(times)) if times and ids else None
    if source is None:
        return ()
    copied = _until_fork(source.events, own_messages)
    name = source.key.rpartition("@")[0].rpartition("/")[2] or source.key
    link = IngestEvent(Origin.HOST, SessionLink("fork", name, seq=len(copied)), turn=0)
    return (*(_copied_event(event, shift) for event in copied), link)


def _fork_source(candidates: Iterable[ForkCandidate], ids: set[str], responses: int) -> ForkCandidate | None:
    """The candidate that recorded something of the most responses."""
    best, best_common = None, 0
    for candidate in candidates:
        common = len({message_time(event.id) for event in candidate.events if event.id in ids})
        if common > best_common and common >= _MIN_COMMON_SHARE * responses:
            best, best_common = candidate, common
    return best


def _response_of_anchor(anchor: str) -> Message | None:
    """The response that an anchor (`role:created:first call`) stands for; `None` for a user's message."""
    role, _, rest = anchor.partition(":")
    created = rest.partition(":")[0]
    if role != "assistant" or not created.isdecimal() or len(created) > 15:
        return None
    return Message("", "", role, int(created))


def _until_fork(events: Sequence[Event], messages: Sequence[Message]) -> list[Event]:
    """The events from before the first message that the fork does not have: those that such a message told are left
    out with all that follow, and what the agent recorded since the last common message ended."""
    times = {message_time(event.id) for event in events}
    common = [message for message in messages if message.created in times]  # the fork's own are later than all
    if not common:
        return list(events)
    last = max(message.created for message in common)
    later = (index for index, event in enumerate(events) if (message_time(event.id) or 0) > last)
    cut = next(later, None)
    if cut is None:
        return list(events)
    end = max(max(message.completed, message.created, *_call_end_times(message)) for message in common)
    while cut and message_time(events[cut - 1].id) is None and events[cut - 1].timestamp > end:
        cut -= 1
    return list(events[:cut])


def _call_end_times(message: Message) -> list[int]:
    return [0, *(part.end for part in message.parts if isinstance(part, ToolPart))]


def _copied_event(event: Event, shift: int) -> IngestEvent:
    payload = event.payload if isinstance(event.payload, Payload) else SessionStart()
    numbers = {name: getattr(payload, name) for name in _SEQ_FIELDS.get(type(payload), ())}
    moved = {name: _shifted(seq, shift) for name, seq in numbers.items()}
    payload = msgspec.structs.replace(payload, **moved)
    # Only an id from a message may stand in two sessions: by it, the fork knows what it has.
    id = event.id if message_time(event.id) is not None else ""
    return IngestEvent(event.origin, payload, id=id, timestamp=event.timestamp, turn=event.turn)


def _shifted(seq: int | tuple[int, ...], shift: int) -> int | tuple[int, ...]:
    if isinstance(seq, tuple):
        return tuple(number + shift for number in seq)
    return seq + shift if seq >= 0 else seq
