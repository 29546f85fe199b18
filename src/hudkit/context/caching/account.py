"""An account of a session's calls: what the provider's cache could have read of each, what it was reported to read,
and what broke the prefix (D6).

**The estimate.** Nobody outside of the provider sees the cache. Known are, for each call, the layers of the frame
in tokens, the lengths of the transcript's messages in characters (and where it diverged from the call before), and,
later, the tokens of the request as reported. From the differences between neighbouring reports comes the rate of
tokens per character; from the call with the shortest transcript what stands in front of everything, the host's own
prompt and tools. With these two, each place in a transcript is a place in the request in tokens, and the rules of
the cache say how much of that a call could read: up to the first divergence where prefixes of any length are kept,
up to the last breakpoint before it where breakpoints are asked for; nothing once the time-to-live has passed.

Example: call 1 has 8,000 characters and was reported with 5,000 tokens, call 2 has 12,000 and 6,000: 0.25 tokens a
character. The frame had 600 of the 5,000, the transcript 2,000; so 2,400 are the host's. Call 2 begins with all that
call 1 had but its tail of 30 tokens: 4,970 tokens can be read (4,864 in steps of 128).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from hudkit.context.budget import TOKENS_PER_CHARACTER
from hudkit.context.caching.policies import ANTHROPIC, CachePolicy, policy_for
from hudkit.context.caching.simulation import TokenPrices
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
    SessionStart,
)

ENOUGH_CHARACTERS = 2_000
"""Characters by which a transcript must have grown to work out its rate: of fewer, one odd message decides."""

MIN_RATE, MAX_RATE = 0.05, 1.0
"""Tokens per character beyond which a rate is an error of measuring: a report that came late, or an image."""

BLOCKS_PER_MESSAGE = 2
"""Content blocks of a message, about: a call and its result, or words and a call."""


SURPRISE_TOKENS, SURPRISE_SHARE = 1_024, 0.1
"""By how many tokens, and by what share of the prediction, a report may fall short without being a break: the
prediction is an estimate, and no cache keeps less than 1,024 tokens."""

PriceOf = Callable[[str], TokenPrices | None]
"""Gives the prices of a model; `None` where there are none."""

_with = msgspec.structs.replace


class LayerTokens(msgspec.Struct, frozen=True):
    """Tokens by layer; `rest` is what is not the HUD's: the host's tools, its own text and the transcript."""

    base: int = 0
    deltas: int = 0
    tail: int = 0
    rest: int = 0


class CallHits(msgspec.Struct, frozen=True):
    """One call, `call` counted from 1, `time` in Unix ms, everything else in tokens.

    `request`, `read` and `written` are as reported, `None` where nothing was. `predicted` is what a cache that holds
    the call before could give, `None` where too little is known of that. `reason` is filled where a base was written.
    `carried` is the request by layer (without `rest` where no request was reported).
    """

    call: int
    seq: int
    time: int = msgspec.field(name="at")
    epoch: int
    reason: str
    request: int | None
    read: int | None
    written: int | None
    predicted: int | None
    difference: int | None
    carried: LayerTokens
    predicted_layers: LayerTokens
    read_layers: LayerTokens | None


class PrefixBreak(msgspec.Struct, frozen=True):
    """What changed first, where, and what it cost; `call` counts from 1, `time` is Unix ms.

    `what`: `base` (`reason` says why it was written; `section` and the lines `before` and `after` are what changed
    first in it), `message` (with its anchor, role, `how`, and characters before and now), `pruned` (the same, where
    that is why), `model`, `idle` (for `idle_ms`), or `unseen`: less was read than predicted, and the log does not
    know why. `offset` counts characters of the base or of the transcript; `offset_tokens` estimates what stands in
    front of it in the request. `again` are the tokens that were sent before and had to be processed anew, an
    estimate; `usd` what they cost above the price of reading them. `None`: not known.
    """

    call: int
    seq: int
    time: int = msgspec.field(name="at")
    what: Literal["base", "message", "pruned", "model", "idle", "unseen"] = "unseen"
    how: str = ""
    reason: str = ""
    section: str = ""
    before: str = ""
    after: str = ""
    anchor: str = ""
    role: str = ""
    was: int = 0
    now: int = 0
    idle_ms: int = 0
    offset: int | None = None
    offset_tokens: int | None = None
    again: int | None = None
    usd: float | None = None
    outputs: int = 0
    freed: int = 0
    saved_calls: int = 0
    saved_usd: float | None = None


class CacheAccount(msgspec.Struct, frozen=True):
    """The calls and breaks of a session; `policy` is the cache that the provider's was taken for, `because` says why.

    `per_character`: tokens of a character of the transcript, worked out from the reports or (`assumed_rate`) assumed.
    """

    model: str
    policy: CachePolicy
    because: str
    per_character: float
    assumed_rate: bool
    calls: tuple[CallHits, ...]
    breaks: tuple[PrefixBreak, ...]

    @property
    def reported(self) -> tuple[CallHits, ...]:
        """Return the calls whose response was reported."""
        return tuple(hits for hits in self.calls if hits.request is not None)

    @property
    def compared(self) -> tuple[CallHits, ...]:
        """Return the calls of which it is known what was predicted and what was reported."""
        return tuple(hits for hits in self.calls if hits.difference is not None)


class LayerTotal(msgspec.Struct, frozen=True):
    """Tokens of a layer over several calls, and how many of them a cache could give and gave; `None`: not known."""

    tokens: int
    predicted: int
    reported: int | None


def account_for_calls(events: Iterable[Event], price_of: PriceOf) -> CacheAccount:
    """Return the account of a session's events, in order. What a fork took over is not counted again."""
    records = _read_calls(events)
    policy, because = _policy_from_reports(records)
    rate = _tokens_per_character(records)
    estimator = _CacheEstimator(records, policy, TOKENS_PER_CHARACTER if rate is None else rate)
    # A provider that never reports a read may not tell of reads at all: then less than predicted says nothing.
    tells_reads = any(record.spent and record.spent.read for record in records)
    calls: list[CallHits] = []
    breaks: list[PrefixBreak] = []
    for place, now in enumerate(records):
        if now.inherited:
            continue
        before = records[place - 1] if place else None
        hits = _hits_of(estimator, before, now, len(calls) + 1)
        calls.append(hits)
        if before is not None:
            missing = -(hits.difference or 0)
            missing = missing if tells_reads and _is_surprising(missing, hits.predicted or 0) else 0
            blank = PrefixBreak(hits.call, now.seq, now.time)
            prefix_break = _find_break(estimator, before, now, blank, missing, price_of)
            if prefix_break is not None:
                breaks.append(prefix_break)
    model = records[-1].model if records else ""
    return CacheAccount(model, policy, because, estimator.rate, rate is None, tuple(calls), tuple(breaks))


def layer_totals(account: CacheAccount) -> dict[str, LayerTotal]:
    """Return the sums by layer (`base`, `deltas`, `tail`, `rest`, `whole`) over the calls that are `compared`.

    Where nothing was reported: of the HUD's own layers, over all calls but the first.
    """
    calls = account.compared if account.reported else account.calls[1:]
    totals = {}
    for name in ("base", "deltas", "tail", *(("rest",) if account.reported else ())):
        reads = [None if hits.read_layers is None else getattr(hits.read_layers, name) for hits in calls]
        totals[name] = LayerTotal(
            sum(getattr(hits.carried, name) for hits in calls),
            sum(getattr(hits.predicted_layers, name) for hits in calls),
            _sum_if_complete(reads),
        )
    if account.reported:
        totals["whole"] = LayerTotal(
            sum(hits.request or 0 for hits in calls),
            sum(hits.predicted or 0 for hits in calls),
            sum(hits.read or 0 for hits in calls),
        )
    return totals


def _sum_if_complete(amounts: Sequence[int | None]) -> int | None:
    numbers = [amount for amount in amounts if amount is not None]
    return sum(numbers) if len(numbers) == len(amounts) else None


def _policy_from_reports(records: Sequence[_CallRecord]) -> tuple[CachePolicy, str]:
    """The rules of the provider's cache as far as one can tell, and by what one can."""
    if any(record.spent and record.spent.written for record in records):
        return ANTHROPIC, "the provider tells what it writes to its cache"
    return policy_for(records[-1].model if records else "")


def _hits_of(estimator: _CacheEstimator, before: _CallRecord | None, now: _CallRecord, number: int) -> CallHits:
    predicted = estimator.predicted(before, now) if before else None
    spent = now.spent
    hud = now.base_tokens + now.delta_tokens + now.tail_tokens
    rest = max(0, spent.request - hud) if spent else 0
    return CallHits(
        call=number,
        seq=now.seq,
        time=now.time,
        epoch=now.call.epoch,
        reason=now.base.reason if now.base and (before is None or _has_new_base(before, now)) else "",
        request=spent.request if spent else None,
        read=spent.read if spent else None,
        written=spent.written if spent else None,
        predicted=predicted,
        difference=spent.read - predicted if spent and predicted is not None else None,
        carried=LayerTokens(now.base_tokens, now.delta_tokens, now.tail_tokens, rest),
        predicted_layers=estimator.predicted_layers(before, now, predicted),
        read_layers=estimator.layers_within(now, spent.read) if spent else None,
    )


# -- what broke a prefix ---------------------------------------------------------------------------------------


def _is_surprising(missing: int, predicted: int) -> bool:
    """Whether a report that falls short by so many tokens calls for a reason."""
    return missing > max(SURPRISE_TOKENS, SURPRISE_SHARE * predicted)


def _find_break(
    estimator: _CacheEstimator,
    before: _CallRecord,
    now: _CallRecord,
    blank: PrefixBreak,
    missing: int,
    price_of: PriceOf,
) -> PrefixBreak | None:
    """What broke the prefix between two calls, laid over `blank`; `None` where nothing did.

    `missing` is how much less was read than predicted.
    """
    prefix_break = _first_change(estimator, before, now, blank, missing)
    if prefix_break and now.pruned is not None:
        prefix_break = _by_pruning(estimator, now, now.pruned, prefix_break, price_of)
    prices = price_of(now.model) if prefix_break and prefix_break.again else None
    if prefix_break is None or prefix_break.again is None or prices is None:
        return prefix_break
    anew = prices.cache_write if estimator.policy.explicit else prices.input
    return _with(prefix_break, usd=prefix_break.again * max(0.0, anew - prices.cached_read) / 1_000_000)


def _first_change(
    estimator: _CacheEstimator, before: _CallRecord, now: _CallRecord, blank: PrefixBreak, missing: int
) -> PrefixBreak | None:
    front, first = estimator.readable(before, now), now.sent.first
    # In this order: another model or an expired cache holds nothing, whatever else has changed.
    if _is_other_model(before, now):
        return _with(blank, what="model", before=before.model, after=now.model, offset_tokens=0, again=front)
    if not estimator.is_held(before, now):
        return _with(blank, what="idle", idle_ms=now.time - before.time, offset_tokens=0, again=front)
    if _has_new_base(before, now):
        again = None
        if now.sent.shared_size is not None:
            again = estimator.tokens(now.sent.shared_size + (first.reprocessed if first else 0))
        return _with(_in_base(blank, before.base, now.base), offset_tokens=front, again=again)
    if first:
        shared = _shared_characters(before, now)
        whole = estimator.shared_deltas(before, now, before.sent.size)
        deltas = whole - estimator.shared_deltas(before, now, shared)
        return _with(
            blank,
            what="message",
            how=first.how,
            anchor=first.anchor,
            role=first.role,
            was=first.was,
            now=first.now,
            offset=shared,
            offset_tokens=front,
            again=estimator.tokens(first.reprocessed) + deltas,
        )
    return _with(blank, offset_tokens=now.spent.read, again=missing) if missing and now.spent else None


def _by_pruning(
    estimator: _CacheEstimator, now: _CallRecord, pruning: OutputsPrune, prefix_break: PrefixBreak, price_of: PriceOf
) -> PrefixBreak:
    """The same break as one that pruning made, with what that has saved: what left the window was not read by any
    call of the same transcript since, and not written at this one where the cache was cold."""
    later = sum(record.compactions == now.compactions for record in estimator.records[now.place + 1 :])
    what = "pruned" if prefix_break.what == "message" else prefix_break.what
    prefix_break = _with(prefix_break, what=what, outputs=len(pruning.stubs), freed=pruning.freed, saved_calls=later)
    prices = price_of(now.model)
    if prices is None:
        return prefix_break
    anew = prices.cache_write if estimator.policy.explicit else prices.input
    at_once = prices.cached_read if what == "pruned" else anew
    saved = pruning.freed * (later * prices.cached_read + at_once)
    return _with(prefix_break, saved_usd=saved / 1_000_000)


def _in_base(blank: PrefixBreak, old: FrameBase | None, new: FrameBase | None) -> PrefixBreak:
    """Where the bytes of two bases depart, and in which line their content does: the epoch's tag is none."""
    blank = _with(blank, what="base", reason=new.reason if new else "")
    if old is None or new is None:
        return blank
    blank = _with(blank, offset=_first_difference(old.text, new.text))
    former = old.text.replace(old.tag, new.tag) if old.tag and new.tag else old.text
    offset = _first_difference(former, new.text)
    if offset is None:
        return blank
    section = _section_at(new.text, offset)
    return _with(blank, section=section, before=_line_at(former, offset), after=_line_at(new.text, offset))


def _first_difference(old: str, new: str) -> int | None:
    """The first character in which two texts differ; `None` where they are the same."""
    if old == new:
        return None
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(old), len(new)))


def _section_at(text: str, offset: int) -> str:
    """The heading that a line is below, or that it is."""
    end = text.find("\n", _line_start(text, offset))
    lines = text[: end if end >= 0 else len(text)].split("\n")
    return next((line.lstrip("#").strip() for line in reversed(lines) if line.startswith("#")), "")


def _line_at(text: str, offset: int) -> str:
    return text[_line_start(text, offset) :].partition("\n")[0].strip()


def _line_start(text: str, offset: int) -> int:
    """Where the line begins that a place is in, or the next one that has something in it."""
    start = text.rfind("\n", 0, offset) + 1
    while text[start : start + 1] == "\n":
        start += 1
    return start


# -- the calls of a session ------------------------------------------------------------------------------------


class _CarriedDelta(msgspec.Struct, frozen=True):
    """A delta that a call carried.

    `since` is the index of the call that carried it first, `offset` where it stands in this one, in characters of the
    transcript.
    """

    delta: FrameDelta
    since: int
    offset: int = 0


class _CallRecord(msgspec.Struct):
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
    deltas: tuple[_CarriedDelta, ...]
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


def _read_calls(events: Iterable[Event]) -> tuple[_CallRecord, ...]:
    """Fold a session's events and return its calls in order.

    A report belongs to the last call that was made before its response ended, by their times: reports come late, and
    those of a history from before the HUD belong to no call.
    """
    records: list[_CallRecord] = []
    bases: dict[int, FrameBase] = {}
    deltas: dict[str, _CarriedDelta] = {}
    model = ""
    pruned: OutputsPrune | None = None
    compactions = 0
    for event in events:
        match event.payload:
            case FrameBase() as base:
                bases[base.epoch] = base
                deltas = {}
            case FrameDelta() as delta:
                deltas[delta.id] = _CarriedDelta(delta, len(records), -1)
            case FrameUnsent(epoch=epoch, sent_count=sent_deltas):
                unsent = {f"{epoch}.{n}" for n in range(sent_deltas + 1, sent_deltas + 1 + len(deltas))}
                for record in records:
                    record.deltas = tuple(each for each in record.deltas if each.delta.id not in unsent)
            case OutputsPrune() as pruned:
                pass
            case CompactAfter():
                compactions += 1
            case SessionStart() as start:
                model = start.model or model
            case SessionLink(relation="fork"):
                for record in records:
                    record.inherited = True
            case ContextSnapshot() as snapshot:
                model = snapshot.model or model
                if snapshot.call is not None:
                    sent = snapshot.sent or SentTranscript()
                    deltas = {id: _moved(carried, sent) for id, carried in deltas.items()}
                    record = _CallRecord(
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


def _moved(carried: _CarriedDelta, sent: SentTranscript) -> _CarriedDelta:
    """Where a delta stands once the first message that diverges is another; a new one stands at the end."""
    shared, offset = sent.size if sent.shared_size is None else sent.shared_size, carried.offset
    if sent.first and offset > shared:
        offset = max(shared, offset + sent.first.now - sent.first.was)
    return msgspec.structs.replace(carried, offset=sent.size if offset < 0 else min(offset, sent.size))


def _report(records: list[_CallRecord], ended: int, spent: ResponseTokens) -> None:
    """Note what a response that ended then had spent, at the call that it answers."""
    answered = next((record for record in reversed(records) if record.time <= ended), None)
    if answered is not None and answered.spent is None:
        answered.spent = spent


# -- what the cache holds of them ------------------------------------------------------------------------------


def _tokens_per_character(records: Sequence[_CallRecord]) -> float | None:
    """Return the tokens per character, from how reported requests grew with their transcripts.

    `None` where too little is known.
    """
    tokens = characters = 0
    for before, now in pairwise(records):
        if before.spent and now.spent and before.sent.size and now.sent.shared_size == before.sent.size:
            tokens += (now.spent.request - now.call.tokens) - (before.spent.request - before.call.tokens)
            characters += now.sent.size - before.sent.size
    return min(MAX_RATE, max(MIN_RATE, tokens / characters)) if characters >= ENOUGH_CHARACTERS else None


def _has_new_base(before: _CallRecord, now: _CallRecord) -> bool:
    """Return whether a call carries another base than the one before it."""
    return before.call.epoch != now.call.epoch


def _shared_characters(before: _CallRecord, now: _CallRecord) -> int:
    """Return the characters of the transcript that both calls begin with; all of the former, where nobody told."""
    return before.sent.size if now.sent.shared_size is None else now.sent.shared_size


class _CacheEstimator:
    """Estimates what a cache with these rules holds of a session's calls, with `rate` tokens per character."""

    def __init__(self, records: Sequence[_CallRecord], policy: CachePolicy, rate: float) -> None:
        self.records = records
        self.policy = policy
        self.rate = rate
        self.host = self._host_tokens()
        """Tokens in front of the base, the host's tools and its own text, `None` where too little was reported."""
        self._breakpoint_ends = self._find_breakpoints() if policy.explicit else []

    def is_held(self, before: _CallRecord, now: _CallRecord) -> bool:
        """Return whether the cache still has what the call before left in it.

        A clock that goes back expires nothing.
        """
        return now.time - before.time <= self.policy.ttl_ms and not _is_other_model(before, now)

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

    def readable(self, before: _CallRecord, now: _CallRecord) -> int | None:
        """Return the tokens that both requests begin with, as far as such a cache finds them; `None`: not known."""
        if before.spent is None:
            return None
        if _has_new_base(before, now):
            return self.host
        shared, first = _shared_characters(before, now), now.sent.first
        if self.policy.explicit:
            blocks_behind = BLOCKS_PER_MESSAGE * (now.sent.messages - first.index) if first is not None else 0
            end = None if blocks_behind > self.policy.lookback else self._breakpoint_ends[now.place]
            base = None if self.host is None else self.host + before.base_tokens  # a breakpoint too
            return base if end is None else end
        return self._tokens_up_to(before, shared)

    def _tokens_up_to(self, record: _CallRecord, characters: int) -> int:
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
        before: _CallRecord | None = None
        for now in self.records:
            if before is not None and _has_new_base(before, now):
                ends.clear()
            while before is not None and ends and ends[-1][0] > _shared_characters(before, now):
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

    def predicted(self, before: _CallRecord, now: _CallRecord) -> int | None:
        """Return the tokens of a call that can be read, where the cache keeps what the call before had."""
        if not self.is_held(before, now):
            return 0
        tokens = self.readable(before, now)
        if tokens is None:
            return None
        return tokens - tokens % self.policy.step if tokens >= self.policy.minimum else 0

    def predicted_layers(self, before: _CallRecord | None, now: _CallRecord, predicted: int | None) -> LayerTokens:
        """Return the same by layer; what is known of the HUD's own, where nothing is known of the whole."""
        if before is None or predicted == 0 or not self.is_held(before, now) or _has_new_base(before, now):
            return LayerTokens(rest=predicted or 0)
        reached = None if predicted is None else self.layers_within(now, predicted)
        if reached is not None:
            return reached
        deltas = self.shared_deltas(before, now, _shared_characters(before, now))
        return LayerTokens(now.base_tokens, deltas, 0, max(0, (predicted or 0) - now.base_tokens - deltas))

    def shared_deltas(self, before: _CallRecord, now: _CallRecord, characters: int) -> int:
        """Return the tokens of the deltas that both calls carry within so many characters of the transcript."""
        present = {(carried.delta.id, carried.since) for carried in now.deltas}
        both = (carried for carried in before.deltas if (carried.delta.id, carried.since) in present)
        return sum(carried.delta.tokens for carried in both if carried.offset <= characters)

    def layers_within(self, now: _CallRecord, prefix: int) -> LayerTokens | None:
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


def _is_other_model(before: _CallRecord, now: _CallRecord) -> bool:
    """Whether two calls are known to be of two models: a host may name it only after the first call."""
    return bool(before.model and now.model) and before.model != now.model


def _overlap(prefix: int, end: int, tokens: int) -> int:
    """How many of so many tokens that end there a prefix of `prefix` tokens has."""
    return max(0, min(tokens, prefix - (end - tokens)))
