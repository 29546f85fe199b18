"""Estimating what a provider's cache holds of each call of a session, as its log tells of them.

Nobody outside of the provider sees the cache. Known are, for each call, the layers of the frame in tokens, the
lengths of the transcript's messages in characters (and where it diverged from the call before), and, later, the
tokens of the request as reported. From the differences between neighbouring reports comes the rate of tokens per
character; from the call with the shortest transcript what stands in front of everything, the host's own prompt and
tools. With these two, each place in a transcript is a place in the request in tokens, and the rules of the cache say
how much of that a call could read: up to the first divergence where prefixes of any length are kept, up to the last
breakpoint before it where breakpoints are asked for; nothing once the time-to-live has passed.

Example: call 1 has 8,000 characters and was reported with 5,000 tokens, call 2 has 12,000 and 6,000: 0.25 tokens a
character. The frame had 600 of the 5,000, the transcript 2,000; so 2,400 are the host's. Call 2 begins with all that
call 1 had but its tail of 30 tokens: 4,970 tokens can be read (4,864 in steps of 128).
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

ENOUGH_CHARACTERS = 2_000
"""Characters by which a transcript must have grown to work out its rate: of fewer, one odd message decides."""

MIN_RATE, MAX_RATE = 0.05, 1.0
"""Tokens per character beyond which a rate is an error of measuring: a report that came late, or an image."""

BLOCKS_PER_MESSAGE = 2
"""Content blocks of a message, about: a call and its result, or words and a call."""


# -- the calls of a session ------------------------------------------------------------------------------------


class CarriedDelta(msgspec.Struct, frozen=True):
    """A delta that a call carried.

    `since` is the index of the call that carried it first, `offset` where it stands in this one, in characters of the
    transcript.
    """

    delta: FrameDelta
    since: int
    offset: int = 0


class CallRecord(msgspec.Struct):
    """One call. `base` is `None` where it was redacted; `spent` where nothing was reported of its response.

    `pruned` is `None` where no outputs left the window with it. `compactions` counts those before it. What a fork
    took over from its source is `inherited`: it belongs to the source.
    """

    place: int  # among the session's calls, from 0
    seq: int
    time: int  # Unix ms
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
        """Return the tokens of the base, 0 where it was redacted."""
        return self.base.tokens if self.base else 0

    @property
    def delta_tokens(self) -> int:
        """Return the tokens of all deltas that it carried."""
        return sum(carried.delta.tokens for carried in self.deltas)

    @property
    def tail_tokens(self) -> int:
        """Return the tokens of the tail: what the frame has beside base and deltas."""
        return max(0, self.call.tokens - self.base_tokens - self.delta_tokens) if self.call.tail else 0


def read_calls(events: Iterable[Event]) -> tuple[CallRecord, ...]:
    """Fold a session's events and return its calls in order.

    A report belongs to the last call that was made before its response ended, by their times: reports come late, and
    those of a history from before the HUD belong to no call.
    """
    records: list[CallRecord] = []
    bases: dict[int, FrameBase] = {}
    deltas: dict[str, CarriedDelta] = {}
    model = ""
    pruned: OutputsPrune | None = None
    compactions = 0
    for event in events:
        match event.payload:
            case FrameBase() as base:
                bases[base.epoch] = base
                deltas = {}
            case FrameDelta() as delta:
                deltas[delta.id] = CarriedDelta(delta, len(records), -1)
            case FrameUnsent(epoch=epoch, kept=sent_deltas):
                unsent = {f"{epoch}.{n}" for n in range(sent_deltas + 1, sent_deltas + 1 + len(deltas))}
                for record in records:
                    record.deltas = tuple(each for each in record.deltas if each.delta.id not in unsent)
            case OutputsPrune() as pruned:
                pass
            case CompactAfter():
                compactions += 1
            case SessionLink(relation="fork"):
                for record in records:
                    record.inherited = True
            case ContextSnapshot() as snapshot:
                model = snapshot.model or model
                if snapshot.call is not None:
                    sent = snapshot.sent or SentTranscript()
                    deltas = {id: _moved(carried, sent) for id, carried in deltas.items()}
                    record = CallRecord(
                        place=len(records),
                        seq=event.seq,
                        time=event.timestamp,
                        model=model,
                        call=snapshot.call,
                        sent=sent,
                        base=bases.get(snapshot.call.epoch),
                        deltas=tuple(deltas[id] for id in snapshot.call.shown if id in deltas),
                        pruned=pruned,
                        compactions=compactions,
                    )
                    records.append(record)
                    pruned = None
                if snapshot.spent is not None:
                    _report(records, event.timestamp, snapshot.spent)
    return tuple(records)


def _moved(carried: CarriedDelta, sent: SentTranscript) -> CarriedDelta:
    """Where a delta stands once the first message that diverges is another; a new one stands at the end."""
    shared, offset = sent.size if sent.kept is None else sent.kept, carried.offset
    if sent.first and offset > shared:
        offset = max(shared, offset + sent.first.now - sent.first.was)
    return msgspec.structs.replace(carried, offset=sent.size if offset < 0 else min(offset, sent.size))


def _report(records: list[CallRecord], ended: int, spent: ResponseTokens) -> None:
    """Note what a response that ended then had spent, at the call that it answers."""
    answered = next((record for record in reversed(records) if record.time <= ended), None)
    if answered is not None and answered.spent is None:
        answered.spent = spent


# -- what the cache holds of them ------------------------------------------------------------------------------


class LayerTokens(msgspec.Struct, frozen=True):
    """Tokens by layer; `rest` is what is not the HUD's: the host's tools, its own text and the transcript."""

    base: int = 0
    deltas: int = 0
    tail: int = 0
    rest: int = 0


def tokens_per_character(records: Sequence[CallRecord]) -> float | None:
    """Return the tokens per character, from how reported requests grew with their transcripts.

    `None` where too little is known.
    """
    tokens = characters = 0
    for before, now in pairwise(records):
        if before.spent and now.spent and before.sent.size and now.sent.kept == before.sent.size:
            tokens += (now.spent.request - now.call.tokens) - (before.spent.request - before.call.tokens)
            characters += now.sent.size - before.sent.size
    return min(MAX_RATE, max(MIN_RATE, tokens / characters)) if characters >= ENOUGH_CHARACTERS else None


def has_new_base(before: CallRecord, now: CallRecord) -> bool:
    """Return whether a call carries another base than the one before it."""
    return before.call.epoch != now.call.epoch


def shared_characters(before: CallRecord, now: CallRecord) -> int:
    """Return the characters of the transcript that both calls begin with; all of the former, where nobody told."""
    return before.sent.size if now.sent.kept is None else now.sent.kept


class CacheEstimator:
    """Estimates what a cache with these rules holds of a session's calls, with `rate` tokens per character."""

    def __init__(self, records: Sequence[CallRecord], policy: CachePolicy, rate: float) -> None:
        self.records = records
        self.policy = policy
        self.rate = rate
        self.host = self._host_tokens()
        """Tokens in front of the base, the host's tools and its own text, `None` where too little was reported."""
        self._breakpoint_ends = self._find_breakpoints() if policy.explicit else []

    def is_held(self, before: CallRecord, now: CallRecord) -> bool:
        """Return whether the cache still has what the call before left in it.

        A clock that goes back expires nothing.
        """
        return now.time - before.time <= self.policy.ttl_ms and now.model == before.model

    def _host_tokens(self) -> int | None:
        """From the call with the shortest transcript: there an error of the rate matters least."""
        reported = [record for record in self.records if record.spent and record.sent.size]
        if not reported:
            return None
        shortest = min(reported, key=lambda record: record.sent.size)
        assert shortest.spent is not None
        return max(0, shortest.spent.request - shortest.call.tokens - self.tokens(shortest.sent.size))

    def tokens(self, characters: int) -> int:
        """Return the tokens of so many characters of the transcript."""
        return round(self.rate * characters)

    def readable(self, before: CallRecord, now: CallRecord) -> int | None:
        """Return the tokens that both requests begin with, as far as such a cache finds them; `None`: not known."""
        if before.spent is None:
            return None
        if has_new_base(before, now):
            return self.host
        shared, first = shared_characters(before, now), now.sent.first
        if self.policy.explicit:
            blocks_behind = BLOCKS_PER_MESSAGE * (now.sent.messages - first.place) if first is not None else 0
            end = None if blocks_behind > self.policy.lookback else self._breakpoint_ends[now.place]
            base = None if self.host is None else self.host + before.base_tokens  # a breakpoint too
            return base if end is None else end
        return self._tokens_up_to(before, shared)

    def _tokens_up_to(self, record: CallRecord, characters: int) -> int:
        """Tokens of a reported request up to so many characters of its transcript."""
        assert record.spent is not None
        behind = record.tail_tokens + self.tokens(record.sent.size - characters)
        behind += record.delta_tokens - self.shared_deltas(record, record, characters)
        return max(0, record.spent.request - behind)

    def _find_breakpoints(self) -> list[int | None]:
        """For each call, the tokens up to the last breakpoint in its transcript that a call before it had, too.

        Hosts put them behind the last two messages; one behind a tail is not met again.
        """
        last_ends: list[int | None] = []
        ends: list[tuple[int, int]] = []  # characters of the transcript, tokens of the request; rising
        before: CallRecord | None = None
        for now in self.records:
            if before is not None and has_new_base(before, now):
                ends.clear()
            while before is not None and ends and ends[-1][0] > shared_characters(before, now):
                ends.pop()
            last_ends.append(ends[-1][1] if ends else None)
            if before is not None and not self.is_held(before, now):
                ends.clear()
            if now.spent is not None:
                size, last = now.sent.size, now.sent.last
                for end in (size - last, *(() if now.call.tail else (size,))):
                    if not ends or end >= ends[-1][0]:
                        ends.append((end, self._tokens_up_to(now, end)))
            before = now
        return last_ends

    def predicted(self, before: CallRecord, now: CallRecord) -> int | None:
        """Return the tokens of a call that can be read, where the cache keeps what the call before had."""
        if not self.is_held(before, now):
            return 0
        tokens = self.readable(before, now)
        if tokens is None:
            return None
        return tokens - tokens % self.policy.step if tokens >= self.policy.minimum else 0

    def predicted_layers(self, before: CallRecord | None, now: CallRecord, predicted: int | None) -> LayerTokens:
        """Return the same by layer; what is known of the HUD's own, where nothing is known of the whole."""
        if before is None or predicted == 0 or not self.is_held(before, now) or has_new_base(before, now):
            return LayerTokens(rest=predicted or 0)
        reached = None if predicted is None else self.layers_within(now, predicted)
        if reached is not None:
            return reached
        deltas = self.shared_deltas(before, now, shared_characters(before, now))
        return LayerTokens(now.base_tokens, deltas, 0, max(0, (predicted or 0) - now.base_tokens - deltas))

    def shared_deltas(self, before: CallRecord, now: CallRecord, characters: int) -> int:
        """Return the tokens of the deltas that both calls carry within so many characters of the transcript."""
        present = {(carried.delta.id, carried.since) for carried in now.deltas}
        both = (carried for carried in before.deltas if (carried.delta.id, carried.since) in present)
        return sum(carried.delta.tokens for carried in both if carried.offset <= characters)

    def layers_within(self, now: CallRecord, prefix: int) -> LayerTokens | None:
        """Return the layers that a prefix of so many tokens reaches over; `None`: not known."""
        if now.spent is None or self.host is None:
            return None
        deltas = 0
        base = _overlap(prefix, self.host + now.base_tokens, now.base_tokens)
        for carried in now.deltas:
            # Where it stands is known best from the call that it ended: nothing but the tail was behind it.
            first = self.records[carried.since]
            measured = first if first.spent else now
            assert measured.spent is not None
            behind = measured.tail_tokens + self.tokens(measured.sent.size - carried.offset)
            deltas += _overlap(prefix, measured.spent.request - behind, carried.delta.tokens)
        tail = _overlap(prefix, now.spent.request, now.tail_tokens)
        return LayerTokens(base, deltas, tail, max(0, prefix - base - deltas - tail))


def _overlap(prefix: int, end: int, tokens: int) -> int:
    """How many of so many tokens that end there a prefix of `prefix` tokens has."""
    return max(0, min(tokens, prefix - (end - tokens)))
