"""The calls of a session as its log tells them: the layers of each, and what was reported of its response.

A fold over events. The calls that a fork took over from its source are marked: they belong to the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from hudkit.context.caching.policies import CachePolicy
from hudkit.log.event import Event
from hudkit.log.payloads import (
    CompactAfter,
    ContextSnapshot,
    FrameArguments,
    FrameBase,
    FrameDelta,
    FrameUnsent,
    OutputsPrune,
    ResponseTokens,
    SentTranscript,
    SessionLink,
)


class CarriedDelta(msgspec.Struct, frozen=True):
    """A delta that a call carried. `since` is the place (in the ledger) of the call that carried it first, `at` where
    it stands in this one, in characters of the transcript."""

    delta: FrameDelta
    since: int
    at: int = 0


class CallRecord(msgspec.Struct):
    """One call. `base` is `None` where it was redacted; `spent` where nothing was reported of its response; `pruned`
    where no outputs left the window with it. `compactions` counts those before it."""

    place: int  # in the ledger, from 0
    seq: int
    at: int  # Unix ms
    model: str
    call: FrameArguments
    sent: SentTranscript
    base: FrameBase | None
    deltas: tuple[CarriedDelta, ...]
    spent: ResponseTokens | None = None
    inherited: bool = False
    pruned: OutputsPrune | None = None
    compactions: int = 0

    @property
    def base_tokens(self) -> int:
        return self.base.tokens if self.base else 0

    @property
    def delta_tokens(self) -> int:
        return sum(one.delta.tokens for one in self.deltas)

    @property
    def tail_tokens(self) -> int:
        return max(0, self.call.tokens - self.base_tokens - self.delta_tokens) if self.call.tail else 0


def read_calls(events: Iterable[Event]) -> tuple[CallRecord, ...]:
    """The calls in order.

    A report belongs to the last call that was made before its response ended, by their times: reports come late, and
    those of a history from before the HUD belong to no call.
    """
    entries: list[CallRecord] = []
    bases: dict[int, FrameBase] = {}
    deltas: dict[str, CarriedDelta] = {}
    model = ""
    pruned: OutputsPrune | None = None
    compactions = 0
    for event in events:
        match event.payload:
            case FrameBase() as written:
                bases[written.epoch] = written
                deltas = {}
            case FrameDelta() as delta:
                deltas[delta.id] = CarriedDelta(delta, len(entries), -1)
            case FrameUnsent(epoch=epoch, kept=kept):
                dropped = {f"{epoch}.{n}" for n in range(kept + 1, kept + 1 + len(deltas))}
                for entry in entries:
                    entry.deltas = tuple(one for one in entry.deltas if one.delta.id not in dropped)
            case OutputsPrune() as pruned:
                pass
            case CompactAfter():
                compactions += 1
            case SessionLink(relation="fork"):
                for entry in entries:
                    entry.inherited = True
            case ContextSnapshot() as taken:
                model = taken.model or model
                if taken.call is not None:
                    sent, place = taken.sent or SentTranscript(), len(entries)
                    deltas = {id: _moved(one, sent) for id, one in deltas.items()}
                    shown = tuple(deltas[id] for id in taken.call.shown if id in deltas)
                    base = bases.get(taken.call.epoch)
                    entries.append(
                        CallRecord(place, event.seq, event.timestamp, model, taken.call, sent, base, shown)
                    )
                    entries[-1].pruned, entries[-1].compactions = pruned, compactions
                    pruned = None
                if taken.spent is not None:
                    _report(entries, event.timestamp, taken.spent)
    return tuple(entries)


def _moved(one: CarriedDelta, sent: SentTranscript) -> CarriedDelta:
    """Where a delta stands once the first message that departs is another; a new one stands at the end."""
    kept, at = sent.size if sent.kept is None else sent.kept, one.at
    if sent.first and at > kept:
        at = max(kept, at + sent.first.now - sent.first.was)
    return msgspec.structs.replace(one, at=sent.size if at < 0 else min(at, sent.size))


def _report(entries: list[CallRecord], at: int, spent: ResponseTokens) -> None:
    asked = next((entry for entry in reversed(entries) if entry.at <= at), None)
    if asked is not None and asked.spent is None:
        asked.spent = spent


# -- How much of each call of a ledger stands in the cache, and in which layers; places are those of its entries.


PER_CHARACTER = 0.25
"""Tokens of a character of a transcript, where too little was reported to work it out."""
ENOUGH = 2_000
"""Characters by which a transcript must have grown to work it out."""


class LayerTokens(msgspec.Struct, frozen=True):
    """Tokens by layer; `rest` is what is not the HUD's: the host's tools, its own text and the transcript."""

    base: int = 0
    deltas: int = 0
    tail: int = 0
    rest: int = 0


def tokens_per_character(entries: Sequence[CallRecord]) -> float | None:
    """Tokens per character, from how reported requests grew with their transcripts; `None`: too little is known."""
    tokens = characters = 0
    for before, now in pairwise(entries):
        if before.spent and now.spent and before.sent.size and now.sent.kept == before.sent.size:
            tokens += (now.spent.request - now.call.tokens) - (before.spent.request - before.call.tokens)
            characters += now.sent.size - before.sent.size
    return min(1.0, max(0.05, tokens / characters)) if characters >= ENOUGH else None


def has_new_base(before: CallRecord, now: CallRecord) -> bool:
    """Whether a call carries another base than the one before it."""
    return before.call.epoch != now.call.epoch


def shared_characters(before: CallRecord, now: CallRecord) -> int:
    """Characters of the transcript that both calls begin with; where that was not told, all of the former."""
    return before.sent.size if now.sent.kept is None else now.sent.kept


class CacheEstimator:
    """Works out what can be known of a ledger's calls under a cache's rules, with `rate` tokens per character."""

    def __init__(self, entries: Sequence[CallRecord], policy: CachePolicy, rate: float) -> None:
        self.entries = entries
        self.policy = policy
        self.rate = rate
        self.host = self._host()
        """Tokens in front of the base, the host's tools and its own text, `None` where too little was reported."""
        self._ends = self._marked() if policy.explicit else []

    def held(self, before: CallRecord, now: CallRecord) -> bool:
        """Whether the cache still has what the call before left in it. A clock that goes back expires nothing."""
        return now.at - before.at <= self.policy.ttl_ms and now.model == before.model

    def _host(self) -> int | None:
        """From the call with the shortest transcript: there an error of the rate matters least."""
        known = [entry for entry in self.entries if entry.spent and entry.sent.size]
        if not known:
            return None
        least = min(known, key=lambda entry: entry.sent.size)
        assert least.spent is not None
        return max(0, least.spent.request - least.call.tokens - self.tokens(least.sent.size))

    def tokens(self, characters: int) -> int:
        return round(self.rate * characters)

    def readable(self, before: CallRecord, now: CallRecord) -> int | None:
        """Tokens that both requests begin with, as far as such a cache finds them; `None`: not known."""
        if before.spent is None:
            return None
        if has_new_base(before, now):
            return self.host
        kept, first = shared_characters(before, now), now.sent.first
        if self.policy.explicit:
            far = first is not None and 2 * (now.sent.messages - first.place) > self.policy.lookback
            end = None if far else self._ends[now.place]
            base = None if self.host is None else self.host + before.base_tokens  # a breakpoint too
            return base if end is None else end
        return self._up_to(before, kept)

    def _up_to(self, entry: CallRecord, kept: int) -> int:
        """Tokens of a reported request up to so many characters of its transcript."""
        assert entry.spent is not None
        behind = entry.tail_tokens + self.tokens(entry.sent.size - kept)
        behind += entry.delta_tokens - self.deltas(entry, entry, kept)
        return max(0, entry.spent.request - behind)

    def _marked(self) -> list[int | None]:
        """For each call, the tokens up to the last breakpoint in its transcript that a call before it had, too.

        Hosts put them behind the last two messages; one behind a tail is not met again.
        """
        found: list[int | None] = []
        ends: list[tuple[int, int]] = []  # characters of the transcript, tokens of the request; rising
        before: CallRecord | None = None
        for now in self.entries:
            if before is not None and has_new_base(before, now):
                ends.clear()
            while before is not None and ends and ends[-1][0] > shared_characters(before, now):
                ends.pop()
            found.append(ends[-1][1] if ends else None)
            if before is not None and not self.held(before, now):
                ends.clear()
            if now.spent is not None:
                size, last = now.sent.size, now.sent.last
                for end in (size - last, *(() if now.call.tail else (size,))):
                    if not ends or end >= ends[-1][0]:
                        ends.append((end, self._up_to(now, end)))
            before = now
        return found

    def predicted(self, before: CallRecord, now: CallRecord) -> int | None:
        """Tokens of a call that can be read from the cache, where that keeps what the call before had."""
        if not self.held(before, now):
            return 0
        tokens = self.readable(before, now)
        if tokens is None:
            return None
        return tokens - tokens % self.policy.step if tokens >= self.policy.minimum else 0

    def predicted_layers(self, before: CallRecord | None, now: CallRecord, predicted: int | None) -> LayerTokens:
        """The same by layer; what is known of the HUD's own, where nothing is known of the whole."""
        if before is None or predicted == 0 or not self.held(before, now) or has_new_base(before, now):
            return LayerTokens(rest=predicted or 0)
        reached = None if predicted is None else self.reached(now, predicted)
        if reached is not None:
            return reached
        deltas = self.deltas(before, now, shared_characters(before, now))
        return LayerTokens(now.base_tokens, deltas, 0, max(0, (predicted or 0) - now.base_tokens - deltas))

    def deltas(self, before: CallRecord, now: CallRecord, kept: int) -> int:
        """Tokens of the deltas that both calls carry within so many characters of the transcript."""
        told = {(one.delta.id, one.since) for one in now.deltas}
        both = (one for one in before.deltas if (one.delta.id, one.since) in told)
        return sum(one.delta.tokens for one in both if one.at <= kept)

    def reached(self, now: CallRecord, read: int) -> LayerTokens | None:
        """The layers that a prefix of `read` tokens reaches over; `None`: not known."""
        if now.spent is None or self.host is None:
            return None
        deltas = 0
        base = _overlap(read, self.host + now.base_tokens, now.base_tokens)
        for one in now.deltas:
            first = self.entries[one.since]
            known = first if first.spent else now
            assert known.spent is not None
            end = known.spent.request - known.tail_tokens - self.tokens(known.sent.size - one.at)
            deltas += _overlap(read, end, one.delta.tokens)
        tail = _overlap(read, now.spent.request, now.tail_tokens)
        return LayerTokens(base, deltas, tail, max(0, read - base - deltas - tail))


def _overlap(read: int, end: int, tokens: int) -> int:
    """How many of so many tokens that end there a prefix of `read` tokens has."""
    return max(0, min(tokens, read - (end - tokens)))
