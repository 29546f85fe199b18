"""One session of a host in this process: its messages are ingested, and each of its model calls gets its frame.

What in-process hosts share. An adapter reads the host's messages as `HostMessage`s and describes a call as
`HostCall`; `HostSession.prepare_call` answers with an `Injection`, which the adapter puts into the host's request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import is_
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from hudkit.api import HudSession, PendingEvents, TranscriptIngester
from hudkit.clock import unix_ms
from hudkit.context.caching import Segment, common_prefix
from hudkit.context.compaction.cooldown import is_compaction_due
from hudkit.context.compaction.cut_point import cut_point, tail_room
from hudkit.context.compaction.request_parts import CallOutput, MessageOutputs, locate_outputs, request_parts
from hudkit.context.compaction.summaries import NOTHING_KNOWN, static_summary, unusable_reason
from hudkit.errors import HudkitError, OperationError, StoreError
from hudkit.hosts import compaction_records
from hudkit.hud.frame import Frame
from hudkit.hud.frame_request import TranscriptPosition, position_at_end
from hudkit.ingest import IngestBatch
from hudkit.log import EventDraft, Origin
from hudkit.log.payloads import RequestParts
from hudkit.tokens import Window
from hudkit.tokens.model_facts import OverflowRule
from hudkit.tools import RouterReply, reply
from hudkit.transcripts import Message, SessionRow, TextPart, ToolPart
from hudkit.transcripts.conversation_store import ConversationStore

_LOG = logging.getLogger("hudkit.ingest")

_TITLE_CHARACTERS = 200

COMPACTION_TOOL_NAMES = ("hud_compact", "memory_compact")
"""The tools by which the agent has its window compacted."""


class HostMessage(NamedTuple):
    """One message of a host's transcript, as its adapter read it."""

    key: str
    """What the message is known by: the same after a restart."""
    message: Message
    """What it says, with the results of its calls; `created` is 0 where the host does not date it."""
    role: str
    """What stands last in it: `user`, `assistant` or `tool`."""
    size: int
    """Its characters as the host sends it."""
    media: frozenset[str] = frozenset()
    """Calls of it whose results are more than plain text: nothing stands for them, since `memory` gives text back."""
    editable: bool = False
    """A message of the user that may be edited under its id; the key is a `version_key`."""


class HostCall(msgspec.Struct, frozen=True, kw_only=True):
    """A model call that a host is about to make. Sizes are in characters, `None` where they are not known."""

    entries: Sequence[HostMessage]
    window: Window
    model: str = ""
    used: int | None = None
    """Tokens in the window, as far as the host knows."""
    system: int | None = None
    tools: int | None = None
    parts: RequestParts | None = None
    """What the request carries, where outputs are not as the entries have them."""
    title: str = ""
    agent: str = ""
    prunes: bool = False
    """The host can leave old outputs away."""
    kept_later: bool = False
    """What is said is kept by `keep_conversation` once the call has gone out: where nothing is left away, nobody
    needs it before."""
    recorded_later: bool = False
    """A frame that carries nothing for the first time is recorded by `write_behind` once the call has gone out."""
    history: Sequence[HostMessage] | None = None
    """All messages that the host has, where the entries are only a part of them; empty where the entries need not go
    on from those of the call before, so that nobody can tell what was taken back."""
    history_goes_on: bool = False
    """The host knows that nothing was taken back since the call before: it need not be looked for."""


class Injection(msgspec.Struct, frozen=True):
    """Where the HUD goes in a host's request. Empty where there is no HUD.

    The base and the blocks stay with each call that follows, the tail does not.
    """

    base: str = ""
    """Behind the system prompt."""
    behind: Mapping[int, tuple[str, ...]] = {}
    """The blocks that follow an entry, by its index."""
    tail: str = ""
    """Behind everything."""
    stubs: Mapping[str, str] = {}
    """What stands instead of old outputs, by the id of the call."""
    frame: Frame | None = None
    why: str = ""
    """Why there is no HUD."""


class HostSession:
    """One session of a host. Not safe for several threads."""

    def __init__(
        self,
        session: HudSession,
        host_session: str,
        directory: str,
        host: str,
        *,
        clock: Callable[[], int] | None = None,
        parent: str = "",
        conversations: ConversationStore | None = None,
    ) -> None:
        """`host_session` and `parent` (the session that started it) are the host's own ids; `clock` gives Unix ms.

        `conversations` keeps what is said, where the host keeps nothing that `memory` could read. Without one, no
        output is left away.
        """
        self.session = session
        self.compaction_requested = False
        """The agent asked for a compaction, and was told that it comes."""
        self._ingester = TranscriptIngester(session, host_session, directory, host)
        self._clock = clock or unix_ms
        self._parent = parent
        session.is_subagent = bool(parent)
        self._row = SessionRow(host_session, host, parent, directory, root=directory)
        self._conversations = conversations
        self._written: set[str] = set()  # keys of messages in the store that will not change any more
        self._ingested: set[str] = set()  # keys of messages that will not change any more
        self._pieces: tuple[Segment, ...] | None = None
        # the entries of the last call, with their anchors and pieces
        self._followed: tuple[Sequence[HostMessage], list[str], tuple[Segment, ...]] = ((), [], ())
        self._about: IngestBatch | None = None  # the facts of the last call, without messages
        self._follows_history = False  # what the host took back so far is recorded
        self._used: int | None = None
        self._window: Window | None = None

    # -- calls -------------------------------------------------------------------------------------------------

    def prepare_call(self, call: HostCall) -> Injection:
        """Return what a call carries, recorded before it goes out.

        Never raises: what is wrong with the HUD is no reason for an agent's call to fail. Then the injection is empty
        and says why.
        """
        try:
            return self._prepare_call(call)
        except HudkitError as error:
            _LOG.warning("a call goes without the HUD: %s", error)
            return Injection(why=str(error))
        except Exception as error:
            _LOG.exception("a call goes without the HUD")
            return Injection(why=f"{type(error).__name__}: {error}")

    def ingest(self, entries: Sequence[HostMessage], *, title: str = "", agent: str = "") -> None:
        """Record what messages tell, also where no call follows. What cannot be recorded is told with the next."""
        entries = self._dated(entries)
        self._keep_conversation(entries, title, agent)
        messages, closed = self._new_messages(entries)
        limit = self._window.known_tokens if self._window is not None else None
        batch = IngestBatch(messages=messages, title=title, agent=agent, parent=self._parent, limit=limit)
        try:
            self._ingester.record(batch)
        except StoreError as error:
            _LOG.warning("what was said is not recorded yet: %s", error)
            return
        self._remember(messages, closed)

    def keep_conversation(self, call: HostCall) -> None:
        """Keep what is said in a call that has gone out, to be read again. What cannot be is kept with the next.

        The entries are dated. Only here another thread may come in between what is asked of this session.
        """
        self._keep_conversation(call.entries, call.title, call.agent, call.model)

    def read_ahead(self, entry: HostMessage) -> None:
        """Work out what a message tells that the next call has last; nothing is recorded.

        It may be given several times as it grows, and need not be stored yet: before its calls have ended, only its
        words are read. Never raises: the call does it then.
        """
        if self._about is None:
            return
        message = entry.message
        try:
            if all(part.done for part in message.parts if isinstance(part, ToolPart)):
                self._ingester.look_ahead(replace(self._about, messages=(message,)))
            else:
                self._ingester.hear_ahead(message)
        except Exception:
            _LOG.exception("what was said is not looked at yet")

    def write_behind(self) -> None:
        """Record the last call, where it went out before; return nothing. Whoever asks this session does it first."""
        self.session.write_behind()

    def follow_history(self, entries: Sequence[HostMessage], *, whole: bool = False) -> None:
        """Take back what messages recorded that the host took back, and bring back what is there again.

        The entries tell it: all that the host has, where they are the `whole` history. Each call does this first; a
        host that knows when messages go says it at once. What cannot be recorded is told with the next call.
        """
        if not entries and not whole:
            return
        self._follows_history = False
        dated = self._dated(entries)
        answered = any(entry.message.role == "assistant" for entry in dated)
        edited = self._take_back_versions(dated)
        if not whole and not edited and (not answered or self._has_new_summary(dated)):
            # A prompt alone may be the first one, said again; and what is not there now is in the summary.
            return
        used = last_usage([entry.message for entry in dated])
        try:
            events = self.session.follow_transcript(_anchors(dated), whole=whole, used_tokens=used)
        except StoreError as error:
            _LOG.warning("what was taken back is not recorded yet: %s", error)
            return
        self._follows_history = True
        if events:
            # What is remembered of the last response, and of what it asked for, may be over.
            self._used, self.compaction_requested = used, False

    def _take_back_versions(self, entries: Sequence[HostMessage]) -> bool:
        """Take back the other versions of the message that this call answers; return whether there are any.

        What followed them goes with them: the host went back there to edit the message. Of a message further up that
        cannot be told, since an application may write into one with each call.
        """
        if not entries or not entries[-1].editable:
            return False
        versions = self._ingester.other_versions(entries[-1].key)
        for time in versions:
            # unknown: it is taken back already
            with suppress(OperationError, StoreError):
                self.session.revert(f"user:{time}")
        return bool(versions)

    def _has_new_summary(self, entries: Sequence[HostMessage]) -> bool:
        standing = tuple(compaction.anchor for compaction in self.session.state.compacted.summary_anchors)
        summaries = _anchors([entry for entry in entries if entry.message.summary])
        return any(not summary.startswith(standing) for summary in summaries)

    def tool(self, router: str, arguments: Mapping[str, object] | str) -> RouterReply:
        """Answer a call of `hud`, `memory`, `hud_compact` or `memory_compact` and return the answer.

        A mistake is answered, not raised.
        """
        if router in COMPACTION_TOOL_NAMES:
            allowed, answer = self.request_compaction()
            return RouterReply(answer, allowed)
        before = self.session.state
        reply_text = reply(self.session, router, arguments, origin=Origin.AGENT)
        self.session.note_answered(before)
        return reply_text

    def resume(self, session_id: str) -> str:
        """Take up the task of another session: see `resume_task`."""
        return resume_task(self.session, session_id)

    # -- compactions -------------------------------------------------------------------------------------------

    @property
    def used(self) -> int | None:
        """Tokens in the window after the last response; `None` where they are not known, as after a compaction."""
        return self._used if self._used is not None else self.session.state.window.used_tokens

    def report_usage(self, used: int | None) -> None:
        """Note that a response has come, with so many tokens in the window after it (`None`: the host does not
        tell)."""
        self._used = used if used is not None else self._used

    def request_compaction(self) -> tuple[bool, str]:
        """Return whether the compaction that the agent asks for is done before the next step, and what it is told."""
        try:
            allowed, answer = compaction_records.request_compaction(self.session, self.used, self.session.settings)
        except StoreError as error:
            return False, f"Not compacted: {error}."
        self.compaction_requested = self.compaction_requested or allowed
        return allowed, answer

    def is_compaction_due(self, window: Window) -> bool:
        """Return whether a host that compacts by our rules should do so now.

        It should where the agent asked, or where the window is full and the last compaction was of some use.
        """
        if self.compaction_requested:
            return True
        settings, used = self.session.settings, self.used
        rule = OverflowRule(settings.overflow.auto, settings.overflow.reserved_tokens)
        history = self.session.state.compaction_history
        return is_compaction_due(used, window, rule, history, settings.compaction.min_freed_percent)

    def tail_start(self, entries: Sequence[HostMessage], window: Window) -> int:
        """Return the index of the first entry that a compaction leaves word for word; their number where it is none.

        The tail has room for an eighth of the usable window. It is never the whole transcript: then nothing would be
        compacted.
        """
        room = tail_room(window, OverflowRule(reserved=self.session.settings.overflow.reserved_tokens))
        return cut_point([entry.size for entry in entries], room) or len(entries)

    def start_compaction(self, trigger: str = "auto") -> str:
        """Record that a compaction comes, and return the prompt with which a model is asked for the summary."""
        try:
            if not self.compaction_requested:  # what the agent asked for was recorded then
                compaction_records.record_start(self.session, trigger, self.used)
        except StoreError as error:
            _LOG.warning("a compaction is not recorded: %s", error)
        self.compaction_requested = False
        return compaction_records.summary_request(self.session, carries=False)

    def usable_summary(self, text: str, finish: str = "") -> tuple[str, str]:
        """Return the summary to store: the model's, or the log's own where that cannot be used, and then why."""
        why = unusable_reason(text, finish)
        if not why:
            return text, ""
        return static_summary(self.session.state, shown=True) or NOTHING_KNOWN, why

    # -- inside ------------------------------------------------------------------------------------------------

    def _prepare_call(self, call: HostCall) -> Injection:
        self.write_behind()
        entries = self._dated(call.entries)
        self._window = call.window
        if not (call.history_goes_on and self._follows_history):
            self.follow_history(entries if call.history is None else call.history, whole=bool(call.history))
        readable = not call.kept_later and self._keep_conversation(entries, call.title, call.agent, call.model)
        messages, closed = self._new_messages(entries)
        anchors, pieces = self._follow_entries(entries)
        batch = IngestBatch(
            messages=messages,
            title=call.title,
            agent=call.agent,
            parent=self._parent,
            limit=call.window.known_tokens,
            anchors=anchors,
        )
        self._about = replace(batch, messages=(), anchors=())
        pending = PendingEvents()

        def new_events() -> Sequence[EventDraft]:
            # In one commit with the frame that shows them; asked again where another writer came between.
            nonlocal pending
            pending = self._ingester.prepare(batch, looked=True)  # by the frame, which asks for these
            undone = compaction_records.undone_drafts(self.session, anchors, pending.drafts)
            return (*pending.drafts, *undone, *self._ingester.time_drafts())

        def recorded() -> None:
            self._ingester.settle(pending)
            self._remember(messages, closed)

        frame = self.session.frame(
            used_tokens=call.used if call.used is not None else last_usage(messages, self._used),
            limit_tokens=call.window.known_tokens,
            transcript=_position(anchors, entries),
            model=call.model,
            pending_events=new_events,
            sent_prefix=lambda stubs: common_prefix(self._pieces, _sent_pieces(entries, pieces, stubs)),
            parts=call.parts or _parts(entries, call),
            outputs=_outputs(entries) if call.prunes and readable else (),
            history=(),
            recorded=recorded if call.recorded_later else None,
        )
        self._hold_pruned(entries, frame)
        self._pieces = _sent_pieces(entries, pieces, {stub.call: len(stub.text) for stub in frame.pruned})
        if not call.recorded_later and not frame.notice:  # else nothing is recorded, and the next call tells it again
            recorded()
        return _injection(frame, anchors)

    def _keep_conversation(
        self, entries: Sequence[HostMessage], title: str = "", agent: str = "", model: str = ""
    ) -> bool:
        """Write what is new of the conversation; return whether all of it can be read again.

        The host holds it until the next compaction: what cannot be written now is written with the next call.
        """
        if self._conversations is None:
            return False
        first = next((n for n, entry in enumerate(entries) if entry.key not in self._written), None)
        if first is None:
            return True
        own_words = (entry for entry in entries if entry.role == "user")
        self._row = replace(
            self._row,
            title=title or self._row.title or next(filter(None, map(_title, own_words)), ""),
            agent=agent or self._row.agent,
            model=model or self._row.model,
            created=self._row.created or entries[0].message.created,
            updated=max(self._row.updated, entries[-1].message.created),
        )
        window = [replace(entry.message, id=entry.key, session_id=self._row.id) for entry in entries[first:]]
        new = {message.id for message in window} - self._written
        closed = {message.id for message in window if _is_closed(message)}
        try:
            self._conversations.record(self._row, window, new, closed)
        except StoreError as error:
            _LOG.warning("what was said cannot be kept to be read again: %s", error)
            return False
        self._written |= closed
        return True

    def _follow_entries(self, entries: Sequence[HostMessage]) -> tuple[list[str], tuple[Segment, ...]]:
        """Return the anchors of the entries, and their pieces where nothing is pruned.

        Where a host gives the very entries of the call before, as it does who remembers them, only new ones are
        worked out: in a long session that is all but one or two.
        """
        before, anchors, pieces = self._followed
        alike = list(map(is_, before, entries))
        shared = alike.index(False) if False in alike else len(alike)
        new = entries[shared:]
        anchors = [*anchors[:shared], *_anchors(new)]
        added = [Segment(a, entry.role, max(0, entry.size)) for a, entry in zip(anchors[shared:], new, strict=True)]
        pieces = (*pieces[:shared], *added)
        self._followed = (tuple(entries), anchors, pieces)
        return anchors, pieces

    def _hold_pruned(self, entries: Sequence[HostMessage], frame: Frame) -> None:
        """Hold the messages whose outputs the call has as one line: that line says that they can be had."""
        if self._conversations is None:
            return
        pruned = {stub.call for stub in frame.pruned}
        holding = (entry for entry in entries if pruned and not pruned.isdisjoint(_call_ids(entry.message)))
        self._conversations.hold(
            self._row, [replace(entry.message, id=entry.key, session_id=self._row.id) for entry in holding]
        )

    def _dated(self, entries: Sequence[HostMessage]) -> Sequence[HostMessage]:
        """Return the entries with times.

        A summary that is new stands before what it left word for word, but is newer.
        """
        undated = [entry for entry in entries if not entry.message.created]
        if not undated:
            return entries
        keys = [entry.key for entry in sorted(undated, key=lambda entry: entry.message.summary)]
        times = dict(zip(keys, self._ingester.first_seen(keys, self._clock()), strict=True))
        dated = []
        for entry in entries:
            if not entry.message.created:
                entry = entry._replace(message=replace(entry.message, created=times[entry.key]))
            dated.append(entry)
        return dated

    def _new_messages(self, entries: Sequence[HostMessage]) -> tuple[list[Message], list[str]]:
        """Return messages that were not ingested in full, and the keys of those of them that will not change any
        more.
        """
        new = [entry for entry in entries if entry.key not in self._ingested]
        return [entry.message for entry in new], [entry.key for entry in new if _is_closed(entry.message)]

    def _remember(self, messages: Sequence[Message], closed: Sequence[str]) -> None:
        self._used = last_usage(messages, self._used)
        self._ingested.update(closed)


def resume_task(session: HudSession, other: str) -> str:
    """Take up the task of the session `other`, of any host, where this one has taken up none yet.

    Returns what is told of it, empty where one was taken up before. Raises `OperationError` where there is no such
    session, a `StoreError` where it cannot be recorded.
    """
    if any(link.relation == "resume" for link in session.state.session.links):
        return ""
    return session.call("task.resume", {"session": other}, origin=Origin.USER).text


def _position(anchors: Sequence[str], entries: Sequence[HostMessage]) -> TranscriptPosition:
    users = [anchor for anchor, entry in zip(anchors, entries, strict=True) if entry.role == "user"]
    return position_at_end(tuple(anchors), frozenset(users), entries[-1].role if entries else "")


def _anchors(entries: Sequence[HostMessage]) -> list[str]:
    return [f"{entry.message.role}:{entry.message.created}:{entry.key}" for entry in entries]


def last_usage(messages: Sequence[Message], before: int | None = None) -> int | None:
    """Return the tokens in the window after the last response of these, `before` where none tells.

    The last is the newest by its time: what a summary left word for word stands behind it, and is older.
    """
    for message in sorted(messages, key=lambda message: message.created)[::-1]:
        if message.role == "assistant" and message.summary and message.finish and not message.error:
            return None
        if message.role == "assistant" and not message.summary and message.usage is not None:
            return message.usage.used
    return before


def _injection(frame: Frame, anchors: Sequence[str]) -> Injection:
    index_of = {anchor: index for index, anchor in enumerate(anchors)}
    behind: dict[int, tuple[str, ...]] = {}
    for delta in frame.deltas:
        if delta.anchor in index_of:  # else the host has cut its history
            index = index_of[delta.anchor]
            behind[index] = (*behind.get(index, ()), delta.text)
    return Injection(frame.base, behind, frame.tail, {stub.call: stub.text for stub in frame.pruned}, frame)


def _sent_pieces(
    entries: Sequence[HostMessage], pieces: tuple[Segment, ...], stubs: Mapping[str, int]
) -> tuple[Segment, ...]:
    """Return the transcript as it is sent, where the calls in `stubs` have outputs of so many characters; `pieces` is
    what it is without stubs."""
    if not stubs:  # as a rule: nothing is pruned, and no part has to be looked at
        return pieces
    shortened = []
    for piece, entry in zip(pieces, entries, strict=True):
        pruned = (part for part in _finished_calls(entry.message) if part.call_id in stubs)
        cut = sum(len(part.output) - stubs[part.call_id] for part in pruned)
        shortened.append(Segment(piece.anchor, piece.role, max(0, entry.size - cut)))
    return tuple(shortened)


def _parts(entries: Sequence[HostMessage], call: HostCall) -> RequestParts:
    calls = (part for entry in entries for part in _finished_calls(entry.message))
    outputs = ((part.tool, len(part.output)) for part in calls)
    return request_parts(sum(entry.size for entry in entries), outputs, call.system, call.tools)


def _outputs(entries: Sequence[HostMessage]) -> tuple[CallOutput, ...]:
    """Return the outputs of finished calls, oldest first, with what stands behind each."""
    messages = []
    for entry in entries:
        texts = (part for part in _finished_calls(entry.message) if part.call_id not in entry.media)
        sizes = [(part.call_id, part.tool, len(part.output)) for part in texts]
        messages.append(MessageOutputs(entry.size, sizes, entry.role == "user"))
    return locate_outputs(messages)


def _finished_calls(message: Message) -> list[ToolPart]:
    return [part for part in message.parts if isinstance(part, ToolPart) and part.done]


def _call_ids(message: Message) -> Iterator[str]:
    return (part.call_id for part in message.parts if isinstance(part, ToolPart))


def _title(entry: HostMessage) -> str:
    """Return the first line of a user's own words, which stand for a title."""
    texts = (part.text for part in entry.message.parts if isinstance(part, TextPart) and not part.synthetic)
    return next(filter(None, (text.strip().partition("\n")[0][:_TITLE_CHARACTERS] for text in texts)), "")


def _is_closed(message: Message) -> bool:
    """Return whether a message will not change any more."""
    if message.role == "user":
        return True
    ended = bool(message.finish or message.error)
    return ended and all(part.done for part in message.parts if isinstance(part, ToolPart))
