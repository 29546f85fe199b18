"""One session of a host that calls hooks: what its transcript file tells is recorded, and each hook is answered.

The host's own file is what is believed. What was said comes from there, with the ids by which `memory` finds it; and
so does which of our texts stand in the window. An answer that was lost is therefore given again with the next hook, a
resumed session gets no second base, and a process that starts knows what the one before it sent. A text is looked for
once the model has answered behind it: the host writes it down some time after the hook.

For example, a prompt is answered with the base (1.0). Two tools run, and their hooks find one response in the file,
which was there before: nothing can be said of 1.0 yet. At the next prompt the file has the model's answer, and the
base in front of it. Had the first answer been lost, it would not be there, and a base would be given now.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock

import msgspec
from msgspec.structs import replace

from hudkit.api import Hud, HudSession, PendingEvents, TranscriptIngester
from hudkit.context.caching import Segment, common_prefix, hud_texts, receipt_of_trail
from hudkit.context.caching.cache_text import receipt_line
from hudkit.errors import HudkitError, StoreError
from hudkit.hosts.compaction_records import compaction_notes, record_start
from hudkit.hosts.hook_wire import (
    MAX_CONTEXT_TOKENS,
    NOTHING_NEW,
    TAKES_CONTEXT,
    CallerFacts,
    HookAnswer,
    HookPayload,
    HostEvent,
)
from hudkit.hud.frame import Frame
from hudkit.hud.frame_request import TranscriptPosition, default_budget, position_at_end
from hudkit.hud.session_keys import keys_with_id
from hudkit.ingest import IngestBatch
from hudkit.ingest.subagents import MAX_RESULT
from hudkit.ingest.tool_calls import one_line
from hudkit.log import EventDraft, Origin
from hudkit.log.payloads import FrameBase, Payload, SessionLink, SubagentEnd, SubagentStart
from hudkit.sections.call_history import NEW_WINDOW
from hudkit.tools import RouterReply, reply
from hudkit.transcripts import Message, ReasoningPart, TextPart, ToolPart
from hudkit.transcripts.transcript_follower import FollowedTranscript, TranscriptFollower

_LOG = logging.getLogger("hudkit.ingest")

_BEGINNINGS = ("session", "compaction", NEW_WINDOW)
"""The reasons of bases that stand at the beginning of a window."""

_NOT_READ = FollowedTranscript()
CLAUDE_CODE = "claude-code"

_BLOCK = re.compile(r"\[hud \w+\]")


class HookWishes(msgspec.Struct, frozen=True):
    """What holds for all sessions of a host. `hides_remaining`: the user wants our words on the tokens that remain,
    and not the host's. `on_frame` is called with a session after each frame; it must not wait."""

    hides_remaining: bool = False
    on_frame: Callable[[HookSession], None] | None = None


_NO_WISHES = HookWishes()


class HookSession:
    """One session of a host that calls hooks. `follow` may run in another thread, all else is for one."""

    def __init__(
        self,
        session: HudSession,
        host_session: str,
        directory: str,
        host: str,
        *,
        format: str = "",
        parent: str = "",
        started_by: HudSession | None = None,
        wishes: HookWishes = _NO_WISHES,
    ) -> None:
        """`host_session` and `parent` (the session that started it) are the host's own ids, `format` is the host
        whose transcripts the session's file is like (default: `host`). `started_by` is told when a sub-agent starts
        and ends, where its host's transcripts do not tell."""
        self.session = session
        self.host_session = host_session
        self.is_subagent = bool(parent)
        self._wishes = wishes
        self._ingester = TranscriptIngester(session, host_session, directory, host)
        self._format = format or host
        self._parent = parent
        session.is_subagent = bool(parent)
        self._started_by = started_by
        self._file: Path | None = None
        self._follower: TranscriptFollower | None = None
        self._reading = Lock()
        self._read = _NOT_READ
        self._new: list[Message] = []  # read, and not recorded yet
        self._messages: dict[str, Message] = {}
        self._segments_of: dict[str, Segment] = {}  # of messages, by their ids: a long session has thousands
        self._known: frozenset[str] = frozenset()  # ids of the messages of the branch that was followed last
        self._sent: dict[str, int] = {}  # ids of blocks, with the responses there were when they were sent
        self._base_told = -1  # the epoch whose base the caller shows
        self._pieces: tuple[Segment, ...] | None = None
        self._notice = ""
        self._answered_at = -1
        self._resumes_at = ""
        self._began = (-1, -1)  # responses and compactions when a window began

    # -- the transcript ----------------------------------------------------------------------------------------

    def follow(self, payload: HookPayload) -> None:
        """Read what is new in the session's file. It may take long where there is much; nothing is recorded yet."""
        path = payload.agent_transcript_path or payload.transcript_path
        with self._reading:
            if path and (self._file is None or self._file != Path(path)):
                self._file = Path(path)
                self._follower = TranscriptFollower(self._format, self._file)
            if self._follower is None:
                return
            read = self._follower.read()
            self._new += read.new
            self._read = self._follower.go_back_to(self._resumes_at) if self._resumes_at else read
            self._resumes_at = ""

    def resume_at(self, record: str) -> None:
        """Take the record with this id for the transcript's last one: the host goes on from there, and has not
        written so yet."""
        self._resumes_at = record

    # -- answers -----------------------------------------------------------------------------------------------

    def answer(self, payload: HookPayload) -> HookAnswer:
        """Return what a hook is answered, recorded before it goes out.

        Never raises: what is wrong with the HUD is no reason for the host to fail. Then there is nothing new.
        """
        try:
            return self._answer(payload)
        except HudkitError as error:
            _LOG.warning("a hook goes without the HUD: %s", error)
        except Exception:
            _LOG.exception("a hook goes without the HUD")
        return NOTHING_NEW

    def tool(self, router: str, arguments: Mapping[str, object] | str) -> RouterReply:
        """Answer a call of `hud` or `memory` and return the answer; a mistake is answered, not raised."""
        before = self.session.state
        answer = reply(self.session, router, arguments, origin=Origin.AGENT)
        self.session.note_answered(before)
        return answer

    @property
    def answered_at(self) -> int:
        """Return how many responses the transcript had when a hook was answered last."""
        return self._answered_at

    def has_read(self, words: str, behind: int) -> bool:
        """Return whether the response that ends with these words was read, behind the first so many.

        The host writes it down some time after it said so.
        """
        with self._reading:
            if self._read.responses <= behind:
                return False
            messages = (*self._messages.values(), *self._new)
        newest = next((message for message in reversed(messages) if message.role == "assistant"), None)
        texts = [part.text for part in newest.parts if isinstance(part, TextPart)] if newest is not None else []
        return bool(texts) and words.strip().endswith(texts[-1].strip())

    def _answer(self, payload: HookPayload) -> HookAnswer:
        read = self._take_read()
        event, caller = payload.event, payload.hud or CallerFacts()
        if self._started_by is not None:
            self._tell_parent(payload, self._started_by)
        used = caller.used if caller.used is not None else read.usage.used if read.usage is not None else None
        self._follow_history(read, used)
        batch = self._batch(read, caller)
        if event is HostEvent.COMPACTION_STARTS:
            self._record(batch)
            return self._start_compaction(payload, used, echoed=caller.echoes and payload.trigger == "manual")
        if payload.hook_event_name not in TAKES_CONTEXT:
            self._record(batch)
            return self._receipt() if event is HostEvent.SESSION_ENDED else self._nothing_new()
        self._answered_at = read.responses
        if event is HostEvent.SESSION_RESUMED and self.session.state.epoch.base is not None:
            first = self._window_bases()[-1]
            if _is_missing_in_prompt(first, read):
                # The host sends that prompt again as it is, so that nothing can be put into it any more.
                caller = replace(caller, base=False)
            elif self._is_whole(first, read):
                self._record(batch)
                return self._as_it_was(first, caller)
        begins = event is HostEvent.SESSION_CLEARED
        if event is HostEvent.WINDOW_COMPACTED:
            self._record(batch)
            batch = IngestBatch()
            begins = not self._is_told_again(read) and self._is_ahead_of_file(used)
        elif begins:
            begins = not self._is_told_again(read)
        return self._compose(payload, caller, read, batch, used, begins=begins)

    def _tell_parent(self, payload: HookPayload, parent: HudSession) -> None:
        """Record in the session that started this sub-agent that it starts, or what it brings."""
        id, agent = self.host_session, payload.agent_type or ""
        if payload.event is HostEvent.SUBAGENT_STARTED:
            news: tuple[Payload, ...] = (SessionLink("child", id), SubagentStart(agent, "", id))
        elif payload.event is HostEvent.SUBAGENT_ENDED:
            news = (SubagentEnd(agent, result=one_line(self._last_words(), MAX_RESULT), session_id=id),)
        else:
            return
        try:
            parent.append(*news, origin=Origin.HOST)
        except StoreError as error:
            _LOG.warning("what a sub-agent does is not recorded: %s", error.code)

    def _last_words(self) -> str:
        """The text of the newest response."""
        responses = [message for message in self._messages.values() if message.role == "assistant"]
        parts = responses[-1].parts if responses else ()
        return " ".join(part.text for part in parts if isinstance(part, TextPart))

    def _take_read(self) -> FollowedTranscript:
        """Return the transcript as it was read last, with the messages that are not recorded yet as the new ones."""
        with self._reading:
            for message in self._new:
                self._messages[message.id] = message
                anchor = f"{message.role}:{message.created}:{message.id}"
                self._segments_of[message.id] = Segment(anchor, message.role, sum(map(_size, message.parts)))
            return replace(self._read, new=tuple(self._new))

    def _batch(self, read: FollowedTranscript, caller: CallerFacts) -> IngestBatch:
        return IngestBatch(
            messages=read.new,
            todos=read.todos,
            title=read.title,
            parent=self._parent,
            limit=caller.window or read.window,
            anchors=self._anchors(read),
        )

    def _record(self, batch: IngestBatch) -> None:
        try:
            self._ingester.record(batch)
        except StoreError as error:
            _LOG.warning("what was said is not recorded yet: %s", error)
            return
        self._recorded(batch)

    def _recorded(self, batch: IngestBatch) -> None:
        done = {id(message) for message in batch.messages}
        with self._reading:
            self._new = [message for message in self._new if id(message) not in done]

    def _follow_history(self, read: FollowedTranscript, used: int | None) -> None:
        """Take back what messages recorded that are on no branch of the conversation any more."""
        ids = frozenset(read.all_anchors)
        gone, first = self._known - ids, not self._known
        self._known = ids
        if not ids or not (gone or first) or any(message.summary for message in read.new):
            return
        if first and not self.session.state.seq:
            return
        try:
            self.session.follow_transcript(self._named(read.all_anchors), whole=True, used_tokens=used)
        except StoreError as error:
            _LOG.warning("what was taken back is not recorded yet: %s", error)

    def _receipt(self) -> HookAnswer:
        """The receipt of the session for the person, once at its end; nothing where nothing of ours was in a call."""
        texts = hud_texts(self.session.events())
        with self._reading:
            trail = self._follower.read(trail=True).trail if self._follower is not None else ()
        return HookAnswer(message=receipt_line(receipt_of_trail(trail, texts))) if texts else NOTHING_NEW

    def _start_compaction(self, payload: HookPayload, used: int | None, *, echoed: bool) -> HookAnswer:
        instructions = compaction_notes(self.session, echoed=echoed)
        try:
            record_start(self.session, payload.trigger or "host", used)
        except StoreError as error:
            # What the summary is told is worth more than the record of it.
            _LOG.warning("compact.before is not recorded: %s", error.code)
        return HookAnswer(instructions=instructions, hides_remaining=self._wishes.hides_remaining)

    def _nothing_new(self) -> HookAnswer:
        return HookAnswer(hides_remaining=self._wishes.hides_remaining)

    def _is_told_again(self, read: FollowedTranscript) -> bool:
        """Whether the beginning of this window was told before: a host may call two hooks for it."""
        before, self._began = self._began, (read.responses, read.compactions)
        return before == self._began

    def _is_ahead_of_file(self, used: int | None) -> bool:
        """Whether a compaction is told that the file does not have yet."""
        epoch = self.session.state.epoch
        if epoch.over == "compaction" or epoch.base is None:
            return False
        if not epoch.compacting_at:
            record_start(self.session, "host", used)
        return True

    # -- frames ------------------------------------------------------------------------------------------------

    def _compose(
        self,
        payload: HookPayload,
        caller: CallerFacts,
        read: FollowedTranscript,
        batch: IngestBatch,
        used: int | None,
        *,
        begins: bool,
    ) -> HookAnswer:
        standing = frozenset[str]() if begins else self._standing(read)
        if caller.base and self._stands_in_conversation(standing):
            # It began where nobody had a place for it; a second one would say the same.
            caller = replace(caller, base=False)
        elif payload.hud is None and self._stands_in_prompt() and not begins:
            # The host sends a window's system prompt as it was first made, also where who made it is gone.
            caller = replace(caller, base=True)
        pending = PendingEvents()

        def new_events() -> Sequence[EventDraft]:
            nonlocal pending
            pending = self._ingester.prepare(batch, looked=True)  # by the frame, which asks
            return (*pending.drafts, *self._ingester.time_drafts())

        is_turn = payload.event not in (HostEvent.TOOL_DONE, HostEvent.TOOL_FAILED, HostEvent.TOOLS_DONE)
        pieces = self._segments(read)
        frame = self.session.frame(
            used_tokens=used,
            limit_tokens=caller.window or read.window,
            budget=None if caller.base else self._budget(caller.window or read.window),
            placement="kept" if caller.base else "conversation",
            transcript=self._position(read, standing, turn_start=is_turn),
            model=payload.model or read.model,
            pending_events=new_events,
            sent_prefix=common_prefix(self._pieces, pieces),
            history=(),
            tells_usage=read.tells_remaining if caller.tells_remaining is None else caller.tells_remaining,
            new_window=begins,
            old_blocks=payload.event is not HostEvent.SESSION_CLEARED and self._has_old_blocks(read),
        )
        self._pieces = pieces
        if not frame.notice:
            self._ingester.settle(pending)
            self._recorded(batch)
        # A block whose epoch began with this call was not among those that stand.
        new = [delta for delta in frame.deltas if delta.id not in standing]
        self._sent.update({delta.id: read.responses for delta in new})
        message, self._notice = frame.notice if frame.notice != self._notice else "", frame.notice
        if self._wishes.on_frame is not None:
            self._wishes.on_frame(self)
        return HookAnswer(
            context="\n".join(delta.text.rstrip("\n") for delta in new),
            base=self._base(frame, caller, read),
            message=message,
            epoch=frame.epoch,
            tokens=frame.tokens,
            hides_remaining=self._wishes.hides_remaining,
        )

    def _stands_in_prompt(self) -> bool:
        epoch = self.session.state.epoch
        return epoch.base is not None and epoch.base.placement == "kept" and not epoch.over

    def _stands_in_conversation(self, standing: frozenset[str]) -> bool:
        base = self.session.state.epoch.base
        return base is not None and base.placement == "conversation" and f"{base.epoch}.0" in standing

    def _is_whole(self, first: FrameBase, read: FollowedTranscript) -> bool:
        """Whether a process goes on with a window whose base is there: in the prompt, which the host sends as it was
        first made, or among the messages. `first` is the base that the window began with."""
        epoch = self.session.state.epoch
        if epoch.base is None or epoch.over:
            return False
        standing = self._standing(read)
        return all(f"{base.epoch}.0" in standing for base in (epoch.base, first) if base.anchor)

    def _as_it_was(self, first: FrameBase, caller: CallerFacts) -> HookAnswer:
        """The answer to a process that goes on: nothing new, which comes with the prompt."""
        self._base_told = self.session.state.epoch.number
        base = first.text if caller.base and first.placement == "kept" else None
        return HookAnswer(base=base, hides_remaining=self._wishes.hides_remaining, epoch=self._base_told)

    def _budget(self, window: int | None) -> int | None:
        """The most that a text among the messages may have, where the settings allow more."""
        settings = self.session.settings.budget
        budget = default_budget(settings, window) if window else settings.max_tokens
        return MAX_CONTEXT_TOKENS if budget > MAX_CONTEXT_TOKENS else None

    def _base(self, frame: Frame, caller: CallerFacts, read: FollowedTranscript) -> str | None:
        """The base for the caller's own place; `None` where it has it, or has no such place."""
        if self._base_told < 0 and not caller.lacks_base and self._was_told(read):
            self._base_told = frame.epoch
        if not caller.base or (frame.epoch == self._base_told and not caller.lacks_base):
            return None
        self._base_told = frame.epoch
        if frame.base:
            return frame.base
        # A newer base stands among the messages; the one in the system prompt is what the window began with.
        first = self._window_bases()[-1]
        return first.text if caller.lacks_base and not first.anchor else None

    def _was_told(self, read: FollowedTranscript) -> bool:
        """Whether the epoch's base stands in the window: a daemon told it that has ended since."""
        base = self.session.state.epoch.base
        blocks = (*(read.prompt_blocks or ()), *read.blocks)
        return base is not None and any(base.text.strip() in block for block in blocks)

    def _window_bases(self) -> list[FrameBase]:
        """The bases of the window, the newest first; the last one is what it began with."""
        bases = []
        for event in reversed(tuple(self.session.events(0, self.session.state.seq))):
            if isinstance(event.payload, FrameBase):
                bases.append(event.payload)
                if not event.payload.anchor or event.payload.reason in _BEGINNINGS:
                    break
        return bases

    def _standing(self, read: FollowedTranscript) -> frozenset[str]:
        """The ids of the blocks that stand in the window, or may: the model has not answered behind them yet."""
        epoch = self.session.state.epoch
        if epoch.base is None:
            return frozenset()
        base = epoch.base
        blocks = [(f"{base.epoch}.0", base.text)] if base.anchor else []
        blocks += [(delta.id, delta.text) for delta in epoch.deltas]
        written = "\n".join(read.blocks)
        return frozenset(
            id
            for id, text in blocks
            if not text.strip() or text.strip() in written or not self._is_due(id, read) or not read.responses
        )

    def _has_old_blocks(self, read: FollowedTranscript) -> bool:
        """Whether blocks of an epoch before may be in the window. A compaction may keep the last messages with what
        is in them, and a host that asks before it writes the compaction down does not tell which."""
        return any(_BLOCK.search(text) for text in read.blocks)

    def _is_due(self, block: str, read: FollowedTranscript) -> bool:
        """Whether a block must be in the file, if it was sent at all."""
        return read.responses > self._sent.get(block, -1)

    def _position(
        self, read: FollowedTranscript, standing: frozenset[str], *, turn_start: bool
    ) -> TranscriptPosition:
        order = self._named(read.anchors)
        users = frozenset(anchor for anchor in order if anchor.startswith("user:"))
        last = self._messages.get(read.anchors[-1]) if read.anchors else None
        has_results = last is not None and any(isinstance(part, ToolPart) for part in last.parts)
        position = position_at_end(order, users, "tool" if has_results else last.role if last else "")
        return replace(position, turn_start=turn_start, blocks=standing)

    def _anchors(self, read: FollowedTranscript) -> tuple[str, ...]:
        return self._named(read.anchors)

    def _named(self, ids: Sequence[str]) -> tuple[str, ...]:
        """The anchors of messages: what frames and the log know them by."""
        return tuple([self._segments_of[id].anchor for id in ids if id in self._segments_of])

    def _segments(self, read: FollowedTranscript) -> tuple[Segment, ...]:
        """The transcript as it is sent, by the lengths of its messages in characters."""
        return tuple([self._segments_of[id] for id in read.anchors if id in self._segments_of])


def _is_missing_in_prompt(first: FrameBase, read: FollowedTranscript) -> bool:
    """Whether the base that a window's system prompt was to have came too late for it."""
    if first.anchor or read.prompt_blocks is None:
        return False
    return not any(first.text.strip() in block for block in read.prompt_blocks)


def _size(part: object) -> int:
    match part:
        case TextPart(text=text) | ReasoningPart(text=text):
            return len(text)
        case ToolPart():
            return len(part.output or part.error) + sum(len(str(value)) for value in part.input.values())
    return 0


class HookSessions:
    """The sessions of one host that calls hooks, and of their sub-agents. Not safe for several threads, but for
    `HookSession.follow`."""

    def __init__(
        self,
        host: str,
        open_session: Callable[[str, str], HudSession],
        *,
        format: str = "",
        max_open: int = 256,
        wishes: HookWishes = _NO_WISHES,
    ) -> None:
        """`open_session` gives the session of the log for a host's id and a directory; `format` is as in
        `HookSession`. Of more than `max_open` sessions the one that was asked about longest ago is let go of: the
        log and its file have all of it."""
        self._host = host
        self._open_session = open_session
        self._format = format
        self._max_open = max_open
        self._wishes = wishes
        self._sessions: dict[str, HookSession] = {}

    def of(self, payload: HookPayload) -> HookSession | None:
        """Return the session that a hook is of; `None` for the end of a sub-agent that was never heard of."""
        agent = payload.agent_id or ""
        id = agent_session(agent, self._format or self._host) if agent else payload.session_id
        hook_session = self._sessions.pop(id, None)
        if hook_session is None:
            if payload.event is HostEvent.SUBAGENT_ENDED:
                return None
            session = self._open_session(id, payload.cwd)
            parent = payload.session_id if agent else ""
            tells = bool(agent) and (self._format or self._host) != CLAUDE_CODE
            hook_session = HookSession(
                session,
                id,
                payload.cwd,
                self._host,
                format=self._format,
                parent=parent,
                started_by=self._open_session(parent, payload.cwd) if tells else None,
                wishes=self._wishes,
            )
            if len(self._sessions) >= self._max_open:
                self._sessions.pop(next(iter(self._sessions)))
        self._sessions[id] = hook_session
        return hook_session


def find_session(hud: Hud, host: str, host_session: str, directory: str) -> HudSession:
    """Return the session of a host with an id. Where the log has just one of them, it is that one, whatever the
    directory: an agent may go to another while it works."""
    keys = [key for key in keys_with_id(hud.log.sessions(), host_session) if key.startswith(f"{host}/")]
    session = hud.session(host_session, project=directory or None, host=host)
    if len(keys) == 1 and session.id != keys[0]:
        hud.forget(session)
        session = hud.session(keys[0])
    return session


def agent_session(agent: str, host: str = CLAUDE_CODE) -> str:
    """Return the id of a sub-agent's session: in Claude Code the name of its file, else its own."""
    return f"agent-{agent}" if host == CLAUDE_CODE else agent


def with_agent_file(payload: HookPayload, host: str = CLAUDE_CODE) -> HookPayload:
    """Return a hook with the file of the sub-agent that it is of: Claude Code names it only at a sub-agent's end."""
    if host != CLAUDE_CODE or not payload.agent_id or payload.agent_transcript_path or not payload.transcript_path:
        return payload
    folder = Path(payload.transcript_path).with_suffix("") / "subagents"
    return replace(payload, agent_transcript_path=str(folder / f"{agent_session(payload.agent_id)}.jsonl"))
