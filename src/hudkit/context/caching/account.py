"""An account of a session's calls: what the provider's cache could have read of each, what it was reported to read,
and what broke the prefix (D6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from hudkit.context.budget import TOKENS_PER_CHARACTER
from hudkit.context.caching.estimator import (
    CacheEstimator,
    CallRecord,
    LayerTokens,
    has_new_base,
    read_calls,
    shared_characters,
    tokens_per_character,
)
from hudkit.context.caching.policies import ANTHROPIC, CachePolicy, policy_for
from hudkit.context.caching.simulation import TokenPrices
from hudkit.log.event import Event
from hudkit.log.payloads import FrameBase, OutputsPrune

SURPRISE_TOKENS, SURPRISE_SHARE = 1_024, 0.1
"""By how many tokens, and by what share of the prediction, a report may fall short without being a break: the
prediction is an estimate, and no cache keeps less than 1,024 tokens."""

PriceOf = Callable[[str], TokenPrices | None]
"""Gives the prices of a model; `None` where there are none."""

_with = msgspec.structs.replace


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
    records = read_calls(events)
    policy, because = _policy_from_reports(records)
    rate = tokens_per_character(records)
    estimator = CacheEstimator(records, policy, TOKENS_PER_CHARACTER if rate is None else rate)
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


def _policy_from_reports(records: Sequence[CallRecord]) -> tuple[CachePolicy, str]:
    """The rules of the provider's cache as far as one can tell, and by what one can."""
    if any(record.spent and record.spent.written for record in records):
        return ANTHROPIC, "the provider tells what it writes to its cache"
    return policy_for(records[-1].model if records else "")


def _hits_of(estimator: CacheEstimator, before: CallRecord | None, now: CallRecord, number: int) -> CallHits:
    predicted = estimator.predicted(before, now) if before else None
    spent = now.spent
    hud = now.base_tokens + now.delta_tokens + now.tail_tokens
    rest = max(0, spent.request - hud) if spent else 0
    return CallHits(
        call=number,
        seq=now.seq,
        time=now.time,
        epoch=now.call.epoch,
        reason=now.base.reason if now.base and (before is None or has_new_base(before, now)) else "",
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
    estimator: CacheEstimator,
    before: CallRecord,
    now: CallRecord,
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
    estimator: CacheEstimator, before: CallRecord, now: CallRecord, blank: PrefixBreak, missing: int
) -> PrefixBreak | None:
    front, first = estimator.readable(before, now), now.sent.first
    # In this order: another model or an expired cache holds nothing, whatever else has changed.
    if now.model != before.model:
        return _with(blank, what="model", before=before.model, after=now.model, offset_tokens=0, again=front)
    if not estimator.is_held(before, now):
        return _with(blank, what="idle", idle_ms=now.time - before.time, offset_tokens=0, again=front)
    if has_new_base(before, now):
        again = None
        if now.sent.kept is not None:
            again = estimator.tokens(now.sent.kept + (first.again if first else 0))
        return _with(_in_base(blank, before.base, now.base), offset_tokens=front, again=again)
    if first:
        shared = shared_characters(before, now)
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
            again=estimator.tokens(first.again) + deltas,
        )
    return _with(blank, offset_tokens=now.spent.read, again=missing) if missing and now.spent else None


def _by_pruning(
    estimator: CacheEstimator, now: CallRecord, pruning: OutputsPrune, prefix_break: PrefixBreak, price_of: PriceOf
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
