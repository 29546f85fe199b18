"""Shares of a frame's budget, and what a character is taken for: each number once.

A budget is the most tokens that a frame may have. Its base has the budget less what is reserved for the tail and for
the deltas of its epoch. Example: of 1,500 tokens, 40 are reserved for the tail and 375 for deltas, 1,085 are the
base's; of 300 tokens it is 40 and 75, and 185 for the base.
"""

from __future__ import annotations

from hudkit.compose import Band

TAIL_RESERVE = 40
"""Tokens that a base leaves for the tail: usage, outlook and one alert have 20 to 40."""

DELTA_SHARE, MAX_DELTA_RESERVE = 0.25, 400
"""The share of the budget, and the most tokens, that a base leaves for the deltas of its epoch: a new base writes
everything anew, so that an epoch should last; but what is reserved and not used shows nothing."""

DIGEST_SHARE = 0.15
"""The share of the budget that the line of what holds now may have at most, at the start of a turn."""

DIGEST_LOAD_SHARE = 1 / 1000
"""The share of the window in use that this line may have at most: it recalls what stands far back, and a short
transcript is read whole. So it costs less than half a percent of a session."""

MIN_BASE_PARTS = 2
"""The base has at least one of so many parts of the budget, also where a tail is long."""

LATE_START_TOKENS = 20_000
"""Tokens in the window from which on a session that began without a HUD gets its first base at the end: in the system
prompt it would have all of them written to the cache anew, which costs more than a dozen bases."""

BAND_SHARES = {Band.RED: 0.6, Band.CRITICAL: 0.3}
"""The part of its share that a base has where the window is nearly full; all of it in the other bands. Source: the
design, decision 4."""

PRESSED_RULES = 200
"""Tokens up to which a base may grow beyond the part that a band leaves it, for the user's rules alone: what the
smallest windows are left with has no room for one rule, and a rule is broken most easily when the window is full."""

TOKENS_PER_CHARACTER = 0.25
"""Tokens of a character of a transcript where nothing better is known: English prose and code have 0.22 to 0.3."""

CHARACTERS_PER_TOKEN = 3
"""Characters that a token is taken for where room is given away: fewer than it has, so that nothing grows too
large."""


def base_share(budget: int, tail: int) -> int:
    """Return the tokens of the budget that a base may have, where the tail of its call has `tail` of them."""
    deltas = min(int(budget * DELTA_SHARE), MAX_DELTA_RESERVE)
    return max(budget - max(tail, TAIL_RESERVE) - deltas, budget // MIN_BASE_PARTS)
