"""What a host took back: which events of a log came from messages that its transcript has no more. Pure.

A revert, an undo, a rewound checkpoint and a shortened history look the same from here: the newest messages are gone,
and those before them stand. What the gone ones recorded must not be told any more (`MessagesRevert`); where they come
back, it is told again.

**Messages and their events.** A message has a name: role and creation time (`user:1795000000000`), as the ids of
ingested events and the anchors of transcripts have them both; an anchor of another form is a name as it stands. What
the agent recorded with a tool has no message in its id. It stands in the log behind the call in whose response it was
made, and each call's event names the messages that were new in it (`FrameArguments.anchor`, `new`). For example:

    1 file.open, of user:10        2 call (anchor user:10)                       3 note.add, by the agent
    4 tests.ran, of assistant:20   5 call (anchor user:30, new assistant:20)     6 decision.record, by the agent
    7 file.edit, of assistant:40

**Gone, or out of the window.** A compaction and a trimmed history drop what is oldest; a revert drops what is newest.
So of the messages of earlier calls the newest one that is still there is looked for: all that the log knows of behind
it was taken back, and what is missing before it only left the window. With `user:10` and `assistant:20` still there,
events 6 and 7 are taken back; event 3 stays, as its response is there. What a summary stands for was not taken back
while that is there. With nothing left that is known, only a host that gives its `whole` history is believed; else it
may be a request that carries new messages alone. And where a response that is new stands behind what is still there,
an application keeps less of a turn than was said in it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from hudkit.hud.frame_request import KEPT_PLACEMENTS
from hudkit.ingest.event_ids import event_id, fingerprint, message_time
from hudkit.ingest.message_facts import STATEMENTS, statement_key
from hudkit.log import Event, Origin
from hudkit.log.payloads import (
    CompactAfter,
    CompactBefore,
    CompactUndone,
    ContextSnapshot,
    EventGap,
    EventUndo,
    FileOpen,
    MessagesRevert,
    Payload,
    SectionPrepared,
    SessionStart,
    ShareSync,
    TodoSync,
    Unknown,
    type_of,
)
from hudkit.sections.state import PERMANENT_TYPES, undone_seqs
from hudkit.transcripts import Message


class HistoryChange(msgspec.Struct, frozen=True):
    """What a transcript tells of reverts: the reverts (sequence numbers) whose messages are there again, and what was
    taken back now (`None`: nothing)."""

    restored: tuple[int, ...] = ()
    revert: MessagesRevert | None = None

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """Return what is to be recorded."""
        undos = tuple(EventUndo(seq, "the messages are there again") for seq in self.restored)
        return (*undos, *((self.revert,) if self.revert is not None else ()))


def message_name(anchor: str) -> str:
    """Return the name of the message with an anchor: `role:created`, or the anchor where it has another form."""
    role, _, rest = anchor.partition(":")
    created = rest.partition(":")[0]
    return f"{role}:{created}" if role in ("user", "assistant") and created.isdecimal() else anchor


def event_message(event: Event) -> str:
    """Return the name of the message that an event was ingested from; empty where it was from none."""
    created = message_time(event.id)
    if created is None:
        return ""
    user = Message("", "", "user", created)
    return fingerprint(user if _is_users(user, event) else msgspec.structs.replace(user, role="assistant"))


def find_history_change(
    events: Sequence[Event],
    present: Sequence[str],
    *,
    whole: bool,
    used_tokens: int | None = None,
    names: Mapping[str, str] = {},
) -> HistoryChange:
    """Return what the messages that are there (`present`: their names, in order) tell of those that the log knows.

    `events` are the session's, or its last ones; `whole`: the host has no messages but these. `used_tokens` are
    those in the window without what was taken back. `names` are those of anchors that have them not in them.
    """
    gone = undone_seqs(events)
    standing = [event for event in events if isinstance(event.payload, MessagesRevert) and event.seq not in gone]
    restored = []
    for event in standing:
        assert isinstance(event.payload, MessagesRevert)
        if any(name in present for name in event.payload.messages):
            restored.append(event.seq)
    if restored:
        undos = [
            msgspec.structs.replace(events[-1], seq=events[-1].seq + number, payload=EventUndo(seq))
            for number, seq in enumerate(restored, 1)
        ]
        gone = undone_seqs((*events, *undos))
    history = _KnownMessages(events, gone, names)
    lost = history.lost(present, whole=whole)
    revert = history.revert(lost, used_tokens, compactions=whole) if lost else None
    return HistoryChange(tuple(restored), revert)


def revert_from(
    events: Sequence[Event], name: str, used_tokens: int | None = None, names: Mapping[str, str] = {}
) -> MessagesRevert | None:
    """Return what takes back the message with a name and all after it; `None` where the log does not know it."""
    history = _KnownMessages(events, undone_seqs(events), names)
    if name not in history.names:
        return None
    return history.revert(history.names[history.names.index(name) :], used_tokens, compactions=True)


class _Gap(msgspec.Struct):
    """What stands between two calls in the log: the response to the first one (`anchor`: what that ended with).

    `others` are events from no message; `names` are those of the messages that became known here, `responses` those
    of them that are no user's; `end` is what the call that closes it ends with. `starts_turn`: the first call was at
    the start of a turn; `is_late`: the call that closes it is of a host that writes its messages down late.
    """

    anchor: str = ""
    starts_turn: bool = False
    is_late: bool = False
    others: list[Event] = []
    names: list[str] = []
    responses: list[str] = []
    end: str = ""


class _KnownMessages:
    """The messages that a log knows and that count, in the order in which they became known, and what they told."""

    def __init__(self, events: Sequence[Event], gone: Collection[int], names: Mapping[str, str]) -> None:
        self._own: dict[str, list[Event]] = {}
        self._gaps = [_Gap()]
        self._off_line: set[str] = set()
        self._compactions: list[tuple[str, int]] = []
        self._compaction_seqs = [
            event.seq
            for event in events
            if isinstance(event.payload, CompactAfter | CompactUndone) and event.seq not in gone
        ]
        self._is_compacting = False
        reverted, over = False, {name for event in events if event.seq not in gone for name in _taken_back(event)}
        for event in events:
            payload = event.payload
            if isinstance(payload, MessagesRevert | EventUndo | CompactAfter | CompactUndone):
                reverted = True
            name = event_message(event)
            if event.seq not in gone and isinstance(payload, CompactAfter):
                self._compactions.append((name, len(self._own)))
            if isinstance(payload, CompactBefore | CompactAfter):
                self._is_compacting = isinstance(payload, CompactBefore)
            if name:
                self._add(name, over, event)
            elif isinstance(payload, ContextSnapshot) and payload.call is not None and payload.call.anchor:
                before = self._gaps[-1].anchor
                for anchor in (*payload.call.new, payload.call.anchor):
                    self._gaps[-1].end = name = names.get(anchor) or message_name(anchor)
                    self._add(name, over, answers=anchor in payload.call.answers)
                # What messages told is appended before their call, late ones among them: by their times, in order.
                for message in sorted(self._gaps[-1].names, key=_created):
                    self._own[message] = self._own.pop(message)
                self._gaps[-1].is_late = payload.call.placement in KEPT_PLACEMENTS
                self._gaps.append(_Gap(self._gaps[-1].end, starts_turn=payload.call.turn_start))
                if before and not payload.call.new and name != before and not reverted:
                    self._off_line.add(name)
                reverted = self._is_compacting = False
            elif event.seq not in gone:
                self._gaps[-1].others.append(event)
        self._gone = gone

    @property
    def names(self) -> list[str]:
        return list(self._own)

    def lost(self, transcript: Sequence[str], *, whole: bool) -> list[str]:
        """Return the messages that were taken back; none where that cannot be told."""
        names, present = self.names, set(transcript)
        if whole:
            return [name for name in names if name not in present]
        # What came since the last call may be there in place of what was taken back: it proves nothing.
        came_since = set(self._gaps[-1].names) if len(self._gaps) > 1 else set()
        there = [place for place, name in enumerate(names) if name in present and name not in came_since]
        if not there or self._is_compacting:
            return []
        behind = transcript[max(transcript.index(names[place]) for place in there) + 1 :]
        if behind and behind[0].startswith("assistant:"):
            return []  # an application that keeps only the last words of a turn: nobody took the rest back
        after = max(there[-1] + 1, self._covered_by_summary(present))
        lost = [name for name in names[after:] if name not in present]
        # A call that did not go on from the one before may belong to another conversation under the same name.
        return lost if self._off_line.isdisjoint(lost) else []

    def _covered_by_summary(self, present: Collection[str]) -> int:
        """How many of the first messages a summary stands for: they are gone because of it."""
        covered = 0
        for summary, before in self._compactions:
            if not summary or summary in present:
                covered = before
        return covered

    def revert(self, lost: Sequence[str], used_tokens: int | None, *, compactions: bool) -> MessagesRevert:
        """Return what takes these messages back, with the `compactions` that they were part of, or without."""
        names = set(lost)
        seqs = [
            event.seq
            for name in lost
            for event in self._own[name]
            if event.seq not in self._gone and _is_messages_own(event, compactions=compactions)
        ]
        for number, gap in enumerate(self._gaps):
            is_lost = self._recorder(number) in names
            seqs += [event.seq for event in gap.others if _is_recorded_by(event, gap, names, is_lost=is_lost)]
        lost_compactions = [seq for seq in seqs if seq in self._compaction_seqs]
        if lost_compactions:
            # What was said of compactions since rests on the first of these: which summary stands, and for what.
            seqs += [seq for seq in self._compaction_seqs if seq > min(lost_compactions) and seq not in seqs]
        return MessagesRevert(tuple(sorted(seqs)), tuple(lost), used_tokens)

    def _recorder(self, number: int) -> str:
        """The message in which the agent recorded what stands in a gap: its response, else what that answers."""
        first, prompt = self._gaps[number], ""
        for gap in self._gaps[number:]:
            if gap is not first and gap.starts_turn:
                break
            if gap.responses:
                # The first response behind a call is the one to it; another may have been made in its place.
                return gap.responses[0]
            prompt = prompt or next((name for name in gap.names if name.startswith("user:")), "")
            if not gap.is_late:
                break
        return prompt if first.is_late and prompt else first.anchor

    def _add(self, name: str, over: Collection[str], event: Event | None = None, *, answers: bool = False) -> None:
        if name in over:
            return  # taken back already
        if name not in self._own:
            self._own[name] = []
            self._gaps[-1].names.append(name)
            role = "" if event is not None and isinstance(event.payload, CompactAfter) else name.partition(":")[0]
            # A summary is no response to the call before it: what was recorded there is not its.
            if role == "assistant" or (answers and role != "user" and not self._gaps[-1].responses):
                self._gaps[-1].responses.append(name)
        if event is not None:
            self._own[name].append(event)


def _created(name: str) -> float:
    """When a message was made (Unix ms); one whose name does not tell stands behind the others."""
    created = name.partition(":")[2]
    return int(created) if created.isdecimal() else float("inf")


def _taken_back(event: Event) -> tuple[str, ...]:
    return event.payload.messages if isinstance(event.payload, MessagesRevert) else ()


def _is_messages_own(event: Event, *, compactions: bool) -> bool:
    """Whether an ingested event goes with its message. What a response cost stays counted."""
    payload = event.payload
    if payload is None or isinstance(payload, Unknown | ContextSnapshot | EventGap):
        return False
    return compactions if isinstance(payload, CompactBefore | CompactAfter) else True


def _is_recorded_by(event: Event, gap: _Gap, lost: Collection[str], *, is_lost: bool) -> bool:
    """Whether an event from no message was recorded in one that is lost; `is_lost`: the agent's response is."""
    payload = event.payload
    if payload is None or isinstance(payload, Unknown) or event.origin is Origin.USER:
        return False  # what a user recorded beside the conversation stands
    if event.origin is Origin.SYSTEM:
        # made for the call that closes the gap, and made again for the next one where it still holds
        prepared = isinstance(payload, SectionPrepared) or (
            isinstance(payload, ShareSync) and payload.relation == "child"
        )
        return prepared and gap.end in lost
    if event.origin is not Origin.AGENT and not isinstance(payload, TodoSync):
        return False
    if type_of(payload) in PERMANENT_TYPES and not isinstance(payload, TodoSync):
        return False
    return is_lost


def _is_users(message: Message, event: Event) -> bool:
    """Whether an ingested event is of a user's message: an id has the role in it, but cannot be read backwards."""
    match event.payload:
        case FileOpen(status=status):
            return status == "referenced"
        case SessionStart():
            return True
        case CompactBefore():
            return True
    if isinstance(event.payload, STATEMENTS):
        return event_id(message, "user", event.type, 0, statement_key(event.payload)) == event.id
    return False
