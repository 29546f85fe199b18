"""What the HUD cost a session: its calls as they were reported, beside an estimate of the same calls without it.

**The estimate.** Of each call it is known how many tokens were read from the cache, written to it and processed, and
how many of them were the HUD's. Without the HUD, these are not sent; where a new base broke the prefix (but for a
compaction, which breaks it anyway), what was processed again for it would have been read from the cache; what the
HUD's pruning took out of the window would still be read by each call. Everything is weighed in tokens at the full
input price: a token from the cache costs `read_factor` of it. The answers are left out, since they are the same.

Example: a call of 10,000 tokens, 9,000 of them read at a tenth, weighs 1,900. Of its HUD 600 tokens were read (60)
and 40 of the tail processed (40): without the HUD it would weigh 1,800.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from hudkit.context.caching.account import CacheAccount, CallHits, PrefixBreak
from hudkit.context.caching.policies import CachePolicy


class CallWeight(msgspec.Struct, frozen=True):
    """A call's request with the HUD and without it, in tokens at the full input price; `seq` is its event."""

    seq: int
    with_hud: float
    without_hud: float


def weigh_calls(account: CacheAccount) -> tuple[CallWeight, ...]:
    """Return the weights of the calls whose usage was reported, in order."""
    breaks: dict[int, list[PrefixBreak]] = {}
    for prefix_break in account.breaks:
        breaks.setdefault(prefix_break.seq, []).append(prefix_break)
    return tuple(_weights(account.calls, breaks, account.policy))


def _weights(
    calls: Iterable[CallHits], breaks: dict[int, list[PrefixBreak]], policy: CachePolicy
) -> Iterator[CallWeight]:
    full = policy.write_factor if policy.explicit else 1.0
    pruned: list[tuple[int, int]] = []  # tokens that left the window, and how many later calls would have read them
    for call in calls:
        extra = sum(freed for freed, _ in pruned) * policy.read_factor
        pruned = [(freed, left - 1) for freed, left in pruned if left > 1]
        own_breaks = breaks.get(call.seq, ())
        pruned += [(each.freed, each.saved_calls) for each in own_breaks if each.freed and each.saved_calls]
        if call.request is None or call.read is None or call.written is None:
            continue
        fresh = max(0, call.request - call.read - call.written)
        with_hud = fresh + call.read * policy.read_factor + call.written * policy.write_factor
        own = _hud_weight(call, policy.read_factor, full)
        again = sum(each.again or 0 for each in own_breaks if _is_the_huds(each))
        without = with_hud - own - again * (full - policy.read_factor) + extra
        yield CallWeight(call.seq, with_hud, max(0.0, without))


def _is_the_huds(prefix_break: PrefixBreak) -> bool:
    """Whether a prefix would not have broken without the HUD: a compaction replaces the messages in any case."""
    return prefix_break.what == "pruned" or (prefix_break.what == "base" and prefix_break.reason != "compaction")


def _hud_weight(call: CallHits, read_factor: float, full: float) -> float:
    carried, read = call.carried, call.read_layers
    tokens = carried.base + carried.deltas + carried.tail
    cached = min(tokens, read.base + read.deltas + read.tail) if read is not None else 0
    return cached * read_factor + (tokens - cached) * full
