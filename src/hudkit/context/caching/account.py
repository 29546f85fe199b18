"""What a provider's cache could have read of each call, what it was reported to read, and what broke the prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from hudkit.context.caching.estimator import (
    PER_CHARACTER,
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

# -- Why a call could not read all that the call before had sent: what changed first, where, and what it cost (D6).


SURPRISE_BOUNDS = (1_024, 0.1)
"""The tokens, and the share of what was predicted, by which a report may fall short without being a break."""

PriceOf = Callable[[str], TokenPrices | None]
"""The prices of a model; `None` where there are none."""


class PrefixBreak(msgspec.Struct, frozen=True):
    """What changed first, where, and what it cost; `call` counts from 1, `at` is Unix ms.

    `what`: `base` (`reason` says why it was written; `section` and the lines `before` and `after` are what changed
    first in it), `message` (with its anchor, role, `how`, and characters before and now), `pruned` (the same, where
    that is why), `model`, `idle` (for `idle_ms`), or `unseen`: less was read than predicted, and the log does not
    know why. `offset` counts characters of the base or of the transcript; `offset_tokens` estimates what stands in
    front of it in the request. `again` are the tokens that were sent before and had to be processed anew, an
    estimate; `usd` what they cost above the price of reading them. `None`: not known.
    """

    call: int
    seq: int
    at: int
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


def find_break(
    reckoning: CacheEstimator, before: CallRecord, now: CallRecord, one: PrefixBreak, short: int, price_of: PriceOf
) -> PrefixBreak | None:
    """What broke the prefix between two calls, laid over `one`; `None` where nothing did. `short` is how much less
    was read than predicted."""
    found = _found(reckoning, before, now, one, short)
    if found and now.pruned is not None:
        found = _pruned(reckoning, now, now.pruned, found, price_of)
    prices = price_of(now.model) if found and found.again else None
    if found is None or found.again is None or prices is None:
        return found
    dear = prices.cache_write if reckoning.policy.explicit else prices.input
    return _with(found, usd=found.again * max(0.0, dear - prices.cached_read) / 1_000_000)


def _pruned(
    reckoning: CacheEstimator, now: CallRecord, pruning: OutputsPrune, found: PrefixBreak, price_of: PriceOf
) -> PrefixBreak:
    """The same break as one that pruning made, with what that has saved: what left the window was not read by any
    call of the same transcript since, and not written at this one where the cache was cold."""
    later = sum(entry.compactions == now.compactions for entry in reckoning.entries[now.place + 1 :])
    what = "pruned" if found.what == "message" else found.what
    found = _with(found, what=what, outputs=len(pruning.stubs), freed=pruning.freed, saved_calls=later)
    prices = price_of(now.model)
    if prices is None:
        return found
    anew = prices.cache_write if reckoning.policy.explicit else prices.input
    at_once = prices.cached_read if what == "pruned" else anew
    return _with(found, saved_usd=pruning.freed * (later * prices.cached_read + at_once) / 1_000_000)


def _is_surprising(short: int, predicted: int) -> bool:
    """Whether a report that falls short by so much calls for a reason."""
    return short > max(SURPRISE_BOUNDS[0], SURPRISE_BOUNDS[1] * predicted)


def _found(
    reckoning: CacheEstimator, before: CallRecord, now: CallRecord, one: PrefixBreak, short: int
) -> PrefixBreak | None:
    front, first = reckoning.readable(before, now), now.sent.first
    if now.model != before.model:
        return _with(one, what="model", before=before.model, after=now.model, offset_tokens=0, again=front)
    if not reckoning.held(before, now):
        return _with(one, what="idle", idle_ms=now.at - before.at, offset_tokens=0, again=front)
    if has_new_base(before, now):
        again = None
        if now.sent.kept is not None:
            again = reckoning.tokens(now.sent.kept + (first.again if first else 0))
        return _with(_in_base(one, before.base, now.base), offset_tokens=front, again=again)
    if first:
        kept = shared_characters(before, now)
        deltas = reckoning.deltas(before, now, before.sent.size) - reckoning.deltas(before, now, kept)
        return _with(
            one,
            what="message",
            how=first.how,
            anchor=first.anchor,
            role=first.role,
            was=first.was,
            now=first.now,
            offset=kept,
            offset_tokens=front,
            again=reckoning.tokens(first.again) + deltas,
        )
    return _with(one, offset_tokens=now.spent.read, again=short) if short and now.spent else None


_with = msgspec.structs.replace


def _in_base(one: PrefixBreak, old: FrameBase | None, new: FrameBase | None) -> PrefixBreak:
    """Where the bytes of two bases depart, and in which line their content does: the epoch's tag is none."""
    one = _with(one, what="base", reason=new.reason if new else "")
    if old is None or new is None:
        return one
    one = _with(one, offset=_parting(old.text, new.text))
    former = old.text.replace(old.tag, new.tag) if old.tag and new.tag else old.text
    at = _parting(former, new.text)
    if at is None:
        return one
    return _with(one, section=_section(new.text, at), before=_line(former, at), after=_line(new.text, at))


def _parting(old: str, new: str) -> int | None:
    """The first character in which two texts differ; `None` where they are the same."""
    if old == new:
        return None
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(old), len(new)))


def _section(text: str, at: int) -> str:
    """The heading that a line is below, or that it is."""
    end = text.find("\n", _begin(text, at))
    lines = text[: end if end >= 0 else len(text)].split("\n")
    return next((line.lstrip("#").strip() for line in reversed(lines) if line.startswith("#")), "")


def _line(text: str, at: int) -> str:
    return text[_begin(text, at) :].partition("\n")[0].strip()


def _begin(text: str, at: int) -> int:
    """Where the line begins that a place is in, or the next one that has something in it."""
    begin = text.rfind("\n", 0, at) + 1
    while text[begin : begin + 1] == "\n":
        begin += 1
    return begin


class CallHits(msgspec.Struct, frozen=True):
    """One call, `call` counted from 1, `at` in Unix ms, everything else in tokens.

    `request`, `read` and `written` are as reported, `None` where nothing was. `predicted` is what a cache that holds
    the call before could give, `None` where too little is known of that. `reason` is filled where a base was written.
    `carried` is the request by layer (without `rest` where no request was reported).
    """

    call: int
    seq: int
    at: int
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
        """The calls whose response was reported."""
        return tuple(one for one in self.calls if one.request is not None)

    @property
    def compared(self) -> tuple[CallHits, ...]:
        """The calls of which it is known what was predicted and what was reported."""
        return tuple(one for one in self.calls if one.difference is not None)


class LayerTotal(msgspec.Struct, frozen=True):
    """Tokens of a layer over several calls, and how many of them a cache could give and gave; `None`: not known."""

    tokens: int
    predicted: int
    reported: int | None


def account_for_calls(events: Iterable[Event], price_of: PriceOf) -> CacheAccount:
    """The account of a session's events, in order. What a fork took over is not counted again."""
    entries = read_calls(events)
    policy, because = _policy_from_reports(entries)
    rate = tokens_per_character(entries)
    reckoning = CacheEstimator(entries, policy, PER_CHARACTER if rate is None else rate)
    tells = any(entry.spent and entry.spent.read for entry in entries)  # else less than predicted says nothing
    calls: list[CallHits] = []
    breaks: list[PrefixBreak] = []
    for place, now in enumerate(entries):
        if now.inherited:
            continue
        before = entries[place - 1] if place else None
        hits = _call(reckoning, before, now, len(calls) + 1)
        calls.append(hits)
        if before is not None:
            short = -(hits.difference or 0)
            short = short if tells and _is_surprising(short, hits.predicted or 0) else 0
            found = find_break(reckoning, before, now, PrefixBreak(hits.call, now.seq, now.at), short, price_of)
            if found is not None:
                breaks.append(found)
    model = entries[-1].model if entries else ""
    return CacheAccount(model, policy, because, reckoning.rate, rate is None, tuple(calls), tuple(breaks))


def layer_totals(found: CacheAccount) -> dict[str, LayerTotal]:
    """The sums by layer (`base`, `deltas`, `tail`, `rest`, `whole`) over the calls that are `compared`; where nothing
    was reported, of the HUD's own layers over all calls but the first."""
    calls = found.compared if found.reported else found.calls[1:]
    out = {}
    for name in ("base", "deltas", "tail", *(("rest",) if found.reported else ())):
        out[name] = LayerTotal(
            sum(getattr(one.carried, name) for one in calls),
            sum(getattr(one.predicted_layers, name) for one in calls),
            _whole([None if one.read_layers is None else getattr(one.read_layers, name) for one in calls]),
        )
    if found.reported:
        told = [(one.request or 0, one.predicted or 0, one.read or 0) for one in calls]
        out["whole"] = (
            LayerTotal(*(sum(column) for column in zip(*told, strict=True))) if told else LayerTotal(0, 0, 0)
        )
    return out


def _whole(amounts: Sequence[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def _policy_from_reports(entries: Sequence[CallRecord]) -> tuple[CachePolicy, str]:
    """The rules of the provider's cache as far as one can tell, and by what one can."""
    if any(entry.spent and entry.spent.written for entry in entries):
        return ANTHROPIC, "the provider tells what it writes to its cache"
    return policy_for(entries[-1].model if entries else "")


def _call(reckoning: CacheEstimator, before: CallRecord | None, now: CallRecord, number: int) -> CallHits:
    predicted = reckoning.predicted(before, now) if before else None
    spent = now.spent
    hud = now.base_tokens + now.delta_tokens + now.tail_tokens
    rest = max(0, spent.request - hud) if spent else 0
    return CallHits(
        call=number,
        seq=now.seq,
        at=now.at,
        epoch=now.call.epoch,
        reason=now.base.reason if now.base and (before is None or has_new_base(before, now)) else "",
        request=spent.request if spent else None,
        read=spent.read if spent else None,
        written=spent.written if spent else None,
        predicted=predicted,
        difference=spent.read - predicted if spent and predicted is not None else None,
        carried=LayerTokens(now.base_tokens, now.delta_tokens, now.tail_tokens, rest),
        predicted_layers=reckoning.predicted_layers(before, now, predicted),
        read_layers=reckoning.reached(now, spent.read) if spent else None,
    )
