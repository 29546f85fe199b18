"""A conversation of a host in this process: what its messages tell is heard, and each of its calls gets its frame."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from hudkit.api import Session
from hudkit.context.caching import Piece, compare
from hudkit.context.compaction import thrash
from hudkit.context.compaction.carried import Output, parts_of
from hudkit.context.compaction.fallback import static_summary, unusable
from hudkit.errors import HudkitError, StoreError
from hudkit.hosts import compaction_records
from hudkit.hud.frame import Frame
from hudkit.ingest.first_seen import FirstSeenTimes
from hudkit.ingest.ingester import IngestBatch, PendingEvents, TranscriptIngester
from hudkit.log import Draft, Origin
from hudkit.log.payloads import Parts
from hudkit.tokens import Window
from hudkit.tokens.overflow import OverflowRule, usable_of
from hudkit.tools import Reply, reply
from hudkit.transcripts import Message, ToolPart

_LOG = logging.getLogger("hudkit.ingest")

EMPTY_SUMMARY = "Nothing is known of the work so far."
"""The summary where neither a model nor the log has one."""

COMPACT_TOOLS = ("hud_compact", "memory_compact")
"""The tools by which the agent has its window compacted."""

TAIL_SHARE = 8
"""What a compaction leaves word for word is at most this part of the usable window."""
TAIL_TOKENS = 8_000
CHARS_PER_TOKEN = 3
"""Characters that a token is taken for where room is given: fewer than it has, so that no tail is too large."""


class HostMessage(NamedTuple):
    """One message of a transcript: what it is known by (`key`, the same after a restart), what it says (with the
    results of its calls; `created` is 0 where the host does not date it), what stands last in it (`user`,
    `assistant` or `tool`), and its characters as the host sends it."""

    key: str
    message: Message
    role: str
    size: int


class HostCall(msgspec.Struct, frozen=True, kw_only=True):
    """A model call that a host is about to make. `used` are the tokens in the window as far as the host knows; sizes
    are in characters, `None` where they are not known; `parts` is what the request carries, where outputs are not as
    the entries have them. `prunes`: the host can leave old outputs away."""

    entries: Sequence[HostMessage]
    window: Window
    model: str = ""
    used: int | None = None
    system: int | None = None
    tools: int | None = None
    parts: Parts | None = None
    title: str = ""
    agent: str = ""
    prunes: bool = False


class Injection(msgspec.Struct, frozen=True):
    """Where the HUD goes: `base` behind the system prompt, `behind` each entry (by its place) the blocks that follow
    it, `tail` behind everything, `stubs` instead of old outputs (by the call's id). The blocks stay with each
    call, the tail does not. Empty where there is no HUD; `why` then says why."""

    base: str = ""
    behind: Mapping[int, tuple[str, ...]] = {}
    tail: str = ""
    stubs: Mapping[str, str] = {}
    frame: Frame | None = None
    why: str = ""


class HostSession:
    """One session of a host. Not safe for several threads."""

    def __init__(
        self,
        session: Session,
        host_session: str,
        directory: str,
        host: str,
        *,
        clock: Callable[[], int] | None = None,
        parent: str = "",
    ) -> None:
        self.session = session
        self.wanted = False
        """The agent asked for a compaction, and was told that it comes."""
        self._live = TranscriptIngester(session, host_session, directory, host)
        self._sighted = FirstSeenTimes(session)
        self._clock = clock or unix_ms
        self._parent = parent
        self._heard: set[str] = set()
        self._pieces: tuple[Piece, ...] | None = None
        self._used: int | None = None
        self._window: Window | None = None

    # -- calls -------------------------------------------------------------------------------------------------

    def place(self, asked: HostCall) -> Injection:
        """What the call carries, recorded before it goes out. Never raises: what is wrong with the HUD is no reason
        for an agent's call to fail."""
        try:
            return self._placed(asked)
        except HudkitError as error:
            _LOG.warning("a call goes without the HUD: %s", error)
            return Injection(why=str(error))
        except Exception as error:
            _LOG.exception("a call goes without the HUD")
            return Injection(why=f"{type(error).__name__}: {error}")

    def hear(self, entries: Sequence[HostMessage], *, title: str = "", agent: str = "") -> None:
        """Take up what was said, also where no call follows. What cannot be recorded is told again with the next."""
        messages, closed = self._fresh(self._dated(entries))
        upload = IngestBatch(
            messages=messages, title=title, agent=agent, parent=self._parent, limit=self._limit(), anchors=()
        )
        try:
            self._live.hear(upload)
            if drafts := self._sighted.drafts():
                self.session.log.append(self.session.id, drafts)
                self._sighted.settle()
        except StoreError as error:
            _LOG.warning("what was said is not recorded yet: %s", error)
            return
        self._remember(messages, closed)

    def tool(self, router: str, arguments: Mapping[str, object] | str) -> Reply:
        """Answer a call of `hud`, `memory`, `hud_compact` or `memory_compact`; a mistake is answered, not raised."""
        if router in COMPACT_TOOLS:
            may, said = self.compact()
            return Reply(said, may)
        before = self.session.state
        answer = reply(self.session, router, arguments, origin=Origin.AGENT)
        self.session.said(before)
        return answer

    def resume(self, session_id: str) -> str:
        """Take up the task of another session, of any host, where this one has taken up none yet; what was said
        of it. Raises `OperationError` where there is no such session, a `StoreError`."""
        if any(link.relation == "resume" for link in self.session.state.session.links):
            return ""
        return self.session.call("task.resume", {"session": session_id}, origin=Origin.USER).text

    # -- compactions -------------------------------------------------------------------------------------------

    @property
    def used(self) -> int | None:
        """Tokens in the window after the last response; `None`: not known, as after a compaction."""
        return self._used if self._used is not None else self.session.state.window.used_tokens

    def reported(self, used: int | None) -> None:
        """A response has come, with so many tokens in the window after it, where its host tells."""
        self._used = used if used is not None else self._used

    def compact(self) -> tuple[bool, str]:
        """Whether the compaction that the agent asks for is done before the next step, and what it is told."""
        try:
            may, said = compaction_records.request_compaction(self.session, self.used, self.session.settings)
        except StoreError as error:
            return False, f"Not compacted: {error}."
        self.wanted = self.wanted or may
        return may, said

    def due(self, window: Window) -> bool:
        """Whether a host that compacts by our rules should do so now: the agent asked, or the window is full and the
        last compaction was of some use."""
        if self.wanted:
            return True
        settings, used = self.session.settings, self.used
        usable = usable_of(window, OverflowRule(settings.overflow.auto, settings.overflow.reserved_tokens))
        if used is None or usable is None or used < usable:
            return False
        rules = replace(settings.compaction, cooldown_calls=0)
        return not thrash.refusal(self.session.state.rounds, used, window.limit_tokens, rules)

    def kept_from(self, entries: Sequence[HostMessage], window: Window) -> int:
        """The place of the first entry that a compaction leaves word for word; their number where it leaves none."""
        usable = usable_of(window, OverflowRule(reserved=self.session.settings.overflow.reserved_tokens)) or 0
        room = min(TAIL_TOKENS, usable // TAIL_SHARE) * CHARS_PER_TOKEN
        at = len(entries)
        while at > 0 and entries[at - 1].size <= room:
            at -= 1
            room -= entries[at].size
        return at if at > 0 else len(entries)

    def prompt(self, trigger: str = "auto") -> str:
        """What a model is asked for when it is to write the summary; that a compaction comes is recorded."""
        try:
            if not self.wanted:  # recorded when it was asked for
                compaction_records.record_start(self.session, trigger, self.used)
        except StoreError as error:
            _LOG.warning("a compaction is not recorded: %s", error)
        self.wanted = False
        return compaction_records.summary_request(self.session, carries=False)

    def summary(self, text: str, finish: str = "") -> tuple[str, str]:
        """The summary to store: the model's, or the log's own where that one cannot be used, and then why."""
        why = unusable(text, finish)
        if not why:
            return text, ""
        return static_summary(self.session.state, shown=True) or EMPTY_SUMMARY, why

    # -- inside ------------------------------------------------------------------------------------------------

    def _placed(self, asked: HostCall) -> Injection:
        entries = self._dated(asked.entries)
        self._window = asked.window
        messages, closed = self._fresh(entries)
        anchors = [f"{one.message.role}:{one.message.created}:{one.key}" for one in entries]
        outputs = _outputs(entries) if asked.prunes else ()
        upload = IngestBatch(
            messages=messages,
            title=asked.title,
            agent=asked.agent,
            parent=self._parent,
            limit=asked.window.limit_tokens,
            anchors=anchors,
        )
        staged = PendingEvents(0)

        def news() -> Sequence[Draft]:
            nonlocal staged
            staged = self._live.stage(upload)
            more = compaction_records.undone_drafts(self.session, anchors, staged.drafts)
            return (*staged.drafts, *more, *self._sighted.drafts())

        used = asked.used if asked.used is not None else last_usage(messages, self._used)
        frame = self.session.frame(
            used_tokens=used,
            limit_tokens=asked.window.limit_tokens,
            transcript=[(anchor, one.role) for anchor, one in zip(anchors, entries, strict=True)],
            model=asked.model,
            first=news,
            sent=lambda stubs: compare(self._pieces, _sent_pieces(entries, anchors, stubs)),
            parts=asked.parts or _parts(entries, asked),
            outputs=outputs,
        )
        self._pieces = _sent_pieces(entries, anchors, {stub.call: len(stub.text) for stub in frame.pruned})
        if not frame.notice:
            self._live.settle(staged)
            self._sighted.settle()
            self._remember(messages, closed)
        return _injection(frame, anchors)

    def _dated(self, entries: Sequence[HostMessage]) -> Sequence[HostMessage]:
        """The entries with times. A summary that is new stands before what it left word for word, but is newer."""
        undated = sorted((one for one in entries if not one.message.created), key=lambda one: one.message.summary)
        if not undated:
            return entries
        keys = [one.key for one in undated]
        dates = dict(zip(keys, self._sighted.dates(keys, self._clock()), strict=True))
        return [
            one if one.message.created else one._replace(message=replace(one.message, created=dates[one.key]))
            for one in entries
        ]

    def _fresh(self, entries: Sequence[HostMessage]) -> tuple[list[Message], list[str]]:
        """Messages that were not heard in full, and the keys of those of them that will not change any more."""
        fresh = [one for one in entries if one.key not in self._heard]
        return [one.message for one in fresh], [one.key for one in fresh if _closed(one.message)]

    def _remember(self, messages: Sequence[Message], closed: Sequence[str]) -> None:
        self._used = last_usage(messages, self._used)
        self._heard.update(closed)

    def _limit(self) -> int | None:
        return self._window.limit_tokens if self._window is not None else None


def unix_ms() -> int:
    return time.time_ns() // 1_000_000


def _injection(frame: Frame, anchors: Sequence[str]) -> Injection:
    places = {anchor: at for at, anchor in enumerate(anchors)}
    behind: dict[int, tuple[str, ...]] = {}
    for delta in frame.deltas:
        if delta.anchor in places:
            at = places[delta.anchor]
            behind[at] = (*behind.get(at, ()), delta.text)
    return Injection(frame.base, behind, frame.tail, {stub.call: stub.text for stub in frame.pruned}, frame)


def _sent_pieces(
    entries: Sequence[HostMessage], anchors: Sequence[str], stubs: Mapping[str, int]
) -> tuple[Piece, ...]:
    """The transcript as it is sent, where the calls in `stubs` have outputs of so many characters."""
    pieces = []
    for anchor, one in zip(anchors, entries, strict=True):
        cut = sum(len(part.output) - stubs[part.call_id] for part in _calls(one.message) if part.call_id in stubs)
        pieces.append(Piece(anchor, one.role, max(0, one.size - cut)))
    return tuple(pieces)


def _parts(entries: Sequence[HostMessage], asked: HostCall) -> Parts:
    brought = ((part.tool, len(part.output)) for one in entries for part in _calls(one.message))
    return parts_of(sum(one.size for one in entries), brought, asked.system, asked.tools)


def _outputs(entries: Sequence[HostMessage]) -> tuple[Output, ...]:
    """The outputs of finished calls, oldest first, with what stands behind each."""
    found: list[Output] = []
    behind = blocks = 0
    for one in reversed(entries):
        inner = 0
        for part in reversed(_calls(one.message)):
            found.append(Output(part.call_id, part.tool, len(part.output), behind + inner, blocks))
            inner += len(part.output)
            blocks += 2
        behind += max(one.size, inner)
        blocks += 1
    return tuple(reversed(found))


def _calls(message: Message) -> list[ToolPart]:
    return [part for part in message.parts if isinstance(part, ToolPart) and part.done]


def _closed(message: Message) -> bool:
    if message.role == "user":
        return True
    ended = bool(message.finish or message.error)
    return ended and all(part.done for part in message.parts if isinstance(part, ToolPart))


def last_usage(messages: Sequence[Message], before: int | None = None) -> int | None:
    """Tokens in the window after the last response of these, by their time: what a summary left word for word stands
    behind it, and is older. `before` is what it was before them."""
    for message in sorted(messages, key=lambda one: one.created)[::-1]:
        if message.role == "assistant" and message.summary and message.finish and not message.error:
            return None
        if message.role == "assistant" and not message.summary and message.usage is not None:
            return message.usage.used
    return before
