"""One recorded session told to two HUDs, call by call: one is framed anchored, one into the system prompt."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import msgspec

from hudkit.api import Hud, HudSession
from hudkit.errors import BudgetError
from hudkit.hud import TokenCounter
from hudkit.hud.frame import Frame
from hudkit.ingest import KnownFacts, derive_facts
from hudkit.log.payloads import CompactAfter, CompactBefore, FrameBase, type_of
from hudkit.sections.state import HudState
from hudkit.transcripts import LlmCall, Message, SessionRow, ToolPart, llm_calls


class ReplayClock:
    """Tells `at` (Unix ms) as the time, and gives UUIDv7 texts that follow from the seed and their number."""

    def __init__(self, seed: str) -> None:
        self.at = 0
        self._seed = seed
        self._given = 0

    def clock(self) -> int:
        """Return the time that is set (Unix ms)."""
        return self.at

    def ids(self) -> str:
        """Return the next id: a UUIDv7 text that follows from the seed, the number and the time."""
        self._given += 1
        digest = blake2b(f"{self._seed}/{self._given}".encode("utf-8", "replace"), digest_size=10).hexdigest()
        time = f"{max(self.at, 0) & 0xFFFF_FFFF_FFFF:012x}"
        return f"{time[:8]}-{time[8:]}-7{digest[:3]}-8{digest[3:6]}-{digest[6:18]}"


class Turn(msgspec.Struct, frozen=True):
    """One model call that does the agent's work, with its two frames; `number` counts from 1 and only these."""

    number: int
    call: LlmCall
    anchored: Frame
    system: Frame
    used: int | None
    """Tokens of the window in use, as last reported before the call."""
    last: str = ""
    """The anchor of the last message."""


class RecordedCompaction(msgspec.Struct, frozen=True):
    """A compaction: the state when it began and when it was done, and how many turns were before it."""

    before: HudState
    after: HudState
    trigger: str
    used: int | None
    turns: int


class TranscriptPlayer:
    """Hears a session's messages in order and composes its frames; each fact goes to both HUDs alike."""

    def __init__(self, row: SessionRow, counter: TokenCounter, *, window: int | None, budget: int | None) -> None:
        self.events: Tally[str] = Tally()
        self.compacted: list[RecordedCompaction] = []
        self.compactions = 0
        """Calls that wrote a summary; they carry no HUD and are left out of every figure."""
        self._row = row
        self._window = window
        self._budget = budget
        self._known = KnownFacts()
        self._turns = 0
        self._before: tuple[HudState, str, int | None] | None = None
        self._clocks = tuple(ReplayClock(f"{row.id}/{placement}") for placement in ("anchored", "system"))
        self.anchored, self.system = (
            Hud.in_memory(clock=clock.clock, ids=clock.ids, counter=counter).session("recorded")
            for clock in self._clocks
        )

    def turns(self, messages: Sequence[Message]) -> Iterator[Turn]:
        """Play the transcript and yield every call but those that write a summary.

        Raises `BudgetError` where not even the smallest frame fits.
        """
        last = 0
        for call in llm_calls(messages):
            for message in call.fresh:
                self.hear(message)
            last += len(call.fresh)
            if call.message.summary:
                self.compactions += 1
                continue
            yield self._turn(call)
        for message in messages[last:]:
            self.hear(message)

    def hear(self, message: Message) -> None:
        """Record what a message tells."""
        self._known, facts = derive_facts(self._row, message, self._known, limit_tokens=self._window)
        for fact in facts:
            self.events[type_of(fact.payload)] += 1
            before = self.anchored.state
            self._set_clocks(fact.timestamp or message.created)
            for session in (self.anchored, self.system):
                session.append(fact.payload, origin=fact.origin)
            self._watch(fact.payload, before)

    def epochs(self) -> tuple[FrameBase, ...]:
        """Return the base layers of the anchored frames, in order."""
        return tuple(event.payload for event in self.anchored.events() if isinstance(event.payload, FrameBase))

    def _turn(self, call: LlmCall) -> Turn:
        self._turns += 1
        self._set_clocks(call.message.created)
        used = self.anchored.state.window.used_tokens
        places = [(anchor(message), role(message)) for message in call.window]
        anchored = self._frame(self.anchored, "anchored", places)
        system = self._frame(self.system, "system", places)
        return Turn(self._turns, call, anchored, system, used, places[-1][0] if places else "")

    def _frame(self, session: HudSession, placement: str, places: list[tuple[str, str]]) -> Frame:
        try:
            return session.frame(
                limit_tokens=self._window, budget=self._budget, placement=placement, transcript=places
            )
        except BudgetError as error:
            what = f"call {self._turns} of session {self._row.id}: {error.message}"
            raise BudgetError(what, hint="Give a larger --budget", **dict(error.details)) from error

    def _watch(self, payload: object, before: HudState) -> None:
        match payload:
            case CompactBefore(trigger=trigger):
                self._before = (before, trigger, before.window.used_tokens)
            case CompactAfter(trigger=trigger):
                held, cause, used = self._before or (before, trigger, before.window.used_tokens)
                self.compacted.append(
                    RecordedCompaction(held, self.anchored.state, cause or trigger, used, self._turns)
                )
                self._before = None

    def _set_clocks(self, timestamp: int) -> None:
        for clock in self._clocks:
            clock.at = timestamp


def anchor(message: Message) -> str:
    """Return a fingerprint of a message that survives restart, revert and fork.

    It is made of role, creation time and first call id.
    """
    first = next((part.call_id for part in message.parts if isinstance(part, ToolPart)), "")
    return f"{message.role}:{message.created}:{first}"


def role(message: Message) -> str:
    """Return a message's role; `tool` for a response with tool results.

    What comes after such a response is one more step of the same turn.
    """
    if message.role == "assistant" and any(isinstance(part, ToolPart) for part in message.parts):
        return "tool"
    return message.role
