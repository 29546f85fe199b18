"""What a provider's cache could have read of each call, what it was reported to read, and what broke the prefix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from hudkit.context.caching.ledger import Entry, ledger
from hudkit.context.caching.policies import ANTHROPIC, CachePolicy, policy_for
from hudkit.context.caching.prefix_breaks import PrefixBreak, PriceOf, broken, surprising
from hudkit.context.caching.reckoning import PER_CHARACTER, Layers, Reckoning, new_base, rate_of
from hudkit.log.event import Event


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
    carried: Layers
    predicted_layers: Layers
    read_layers: Layers | None


class Account(msgspec.Struct, frozen=True):
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


class Share(msgspec.Struct, frozen=True):
    """Tokens of a layer over several calls, and how many of them a cache could give and gave; `None`: not known."""

    tokens: int
    predicted: int
    reported: int | None


def account(events: Iterable[Event], price_of: PriceOf) -> Account:
    """The account of a session's events, in order. What a fork took over is not counted again."""
    entries = ledger(events)
    policy, because = policy_of(entries)
    rate = rate_of(entries)
    reckoning = Reckoning(entries, policy, PER_CHARACTER if rate is None else rate)
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
            short = short if tells and surprising(short, hits.predicted or 0) else 0
            found = broken(reckoning, before, now, PrefixBreak(hits.call, now.seq, now.at), short, price_of)
            if found is not None:
                breaks.append(found)
    model = entries[-1].model if entries else ""
    return Account(model, policy, because, reckoning.rate, rate is None, tuple(calls), tuple(breaks))


def shares(found: Account) -> dict[str, Share]:
    """The sums by layer (`base`, `deltas`, `tail`, `rest`, `whole`) over the calls that are `compared`; where nothing
    was reported, of the HUD's own layers over all calls but the first."""
    calls = found.compared if found.reported else found.calls[1:]
    out = {}
    for name in ("base", "deltas", "tail", *(("rest",) if found.reported else ())):
        out[name] = Share(
            sum(getattr(one.carried, name) for one in calls),
            sum(getattr(one.predicted_layers, name) for one in calls),
            _whole([None if one.read_layers is None else getattr(one.read_layers, name) for one in calls]),
        )
    if found.reported:
        told = [(one.request or 0, one.predicted or 0, one.read or 0) for one in calls]
        out["whole"] = Share(*(sum(column) for column in zip(*told, strict=True))) if told else Share(0, 0, 0)
    return out


def _whole(amounts: Sequence[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def policy_of(entries: Sequence[Entry]) -> tuple[CachePolicy, str]:
    """The rules of the provider's cache as far as one can tell, and by what one can."""
    if any(entry.spent and entry.spent.written for entry in entries):
        return ANTHROPIC, "the provider tells what it writes to its cache"
    return policy_for(entries[-1].model if entries else "")


def _call(reckoning: Reckoning, before: Entry | None, now: Entry, number: int) -> CallHits:
    predicted = reckoning.predicted(before, now) if before else None
    spent = now.spent
    hud = now.base_tokens + now.delta_tokens + now.tail_tokens
    rest = max(0, spent.request - hud) if spent else 0
    return CallHits(
        call=number,
        seq=now.seq,
        at=now.at,
        epoch=now.call.epoch,
        reason=now.base.reason if now.base and (before is None or new_base(before, now)) else "",
        request=spent.request if spent else None,
        read=spent.read if spent else None,
        written=spent.written if spent else None,
        predicted=predicted,
        difference=spent.read - predicted if spent and predicted is not None else None,
        carried=Layers(now.base_tokens, now.delta_tokens, now.tail_tokens, rest),
        predicted_layers=reckoning.predicted_layers(before, now, predicted),
        read_layers=reckoning.reached(now, spent.read) if spent else None,
    )
