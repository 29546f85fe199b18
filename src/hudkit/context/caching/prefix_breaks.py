"""Why a call could not read all that the call before had sent: what changed first, where, and what it cost (D6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from hudkit.context.caching.ledger import Entry
from hudkit.context.caching.reckoning import Reckoning, kept_of, new_base
from hudkit.context.caching.simulate import PricedTokens
from hudkit.log.payloads import FrameBase, OutputsPrune

SURPRISE = (1_024, 0.1)
"""The tokens, and the share of what was predicted, by which a report may fall short without being a break."""

PriceOf = Callable[[str], PricedTokens | None]
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


def broken(
    reckoning: Reckoning, before: Entry, now: Entry, one: PrefixBreak, short: int, price_of: PriceOf
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
    reckoning: Reckoning, now: Entry, pruning: OutputsPrune, found: PrefixBreak, price_of: PriceOf
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


def surprising(short: int, predicted: int) -> bool:
    """Whether a report that falls short by so much calls for a reason."""
    return short > max(SURPRISE[0], SURPRISE[1] * predicted)


def _found(reckoning: Reckoning, before: Entry, now: Entry, one: PrefixBreak, short: int) -> PrefixBreak | None:
    front, first = reckoning.readable(before, now), now.sent.first
    if now.model != before.model:
        return _with(one, what="model", before=before.model, after=now.model, offset_tokens=0, again=front)
    if not reckoning.held(before, now):
        return _with(one, what="idle", idle_ms=now.at - before.at, offset_tokens=0, again=front)
    if new_base(before, now):
        again = None
        if now.sent.kept is not None:
            again = reckoning.tokens(now.sent.kept + (first.again if first else 0))
        return _with(_in_base(one, before.base, now.base), offset_tokens=front, again=again)
    if first:
        kept = kept_of(before, now)
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
