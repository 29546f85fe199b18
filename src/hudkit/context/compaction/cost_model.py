"""What the calls to come will cost, and whether writing a part of the transcript anew now pays: one model for
rebases and for pruning. All costs are in input tokens at full price."""

from __future__ import annotations

from typing import NamedTuple

from hudkit.context.caching.policies import CachePolicy

ANSWER = 5.0
"""The price of an answer's token, in input tokens: Anthropic's; OpenAI's is 8, and counts only at compactions."""
SUMMARY = 2_000
"""Tokens of a compaction's summary, about."""
RESTED = 10_000
"""Tokens of the messages right after a compaction: the summary, and the end of the transcript that a host keeps."""
RETOLD = 0.4
"""The share of a transcript that is handed over to be summarised, where it is not known (long outputs are
shortened)."""


class CallCosts(NamedTuple):
    """Where a session stands before a call, in tokens.

    `load`: the request as it would go out; `fixed`: what stands in front of its messages; `pace`: what a call
    brings; `growth`: what of it stays, by what stayed until now; `calls`: how many there were; `usable`: the load
    at which the host compacts (`None`: never); `retold`: the share of the messages that it then hands over. `cold`:
    the cache holds nothing of the request, or all of it is written anew for another reason: a change costs nothing.
    """

    load: float
    fixed: float
    pace: float
    growth: float
    calls: int
    usable: float | None = None
    retold: float = RETOLD
    cold: bool = False


class PrefixChange(NamedTuple):
    """Something that makes a request shorter by `freed` tokens; `behind` of the request's tokens stand after the
    place where it begins (what is freed among them), and `blocks` content blocks, about."""

    freed: float
    behind: float
    blocks: int = 0


def future_cost(load: float, standing: CallCosts, policy: CachePolicy) -> float:
    """What the calls after this one are expected to cost, from a cached request of so many tokens; compactions
    included.

    A session is expected to go on for as many calls as it has had: each call is the last one with the same chance.
    A sum over all calls to come, in closed form: to the next compaction, and from there in rounds.
    """
    go_on: float = standing.calls / (standing.calls + 1)
    growth = max(1.0, standing.growth)
    rest = standing.fixed + RESTED
    if standing.usable is None or standing.usable <= rest:
        return _stretch(load, growth, None, go_on, policy)
    compaction = (
        (standing.usable - standing.fixed) * standing.retold + SUMMARY * ANSWER + RESTED * policy.write_factor
    )
    lasts = (standing.usable - rest) / growth
    round_: float = (_stretch(rest, growth, lasts, go_on, policy) + compaction * go_on**lasts) / (1 - go_on**lasts)
    calls = max(0.0, standing.usable - load) / growth
    reached: float = go_on**calls
    return _stretch(load, growth, calls, go_on, policy) + reached * (compaction + round_)


def _stretch(load: float, growth: float, calls: float | None, go_on: float, policy: CachePolicy) -> float:
    """What `calls` growing calls cost (`None`: all), each made with the chance `go_on` where the one before was."""
    end = 0.0 if calls is None else go_on**calls
    ends = 1 - go_on
    sum_of_one = (1 - end) / ends
    sum_of_n = (go_on - go_on * end) / ends**2 - (calls or 0.0) * end / ends
    each = load * policy.read_factor + growth * policy.write_factor
    return each * sum_of_one + growth * policy.read_factor * sum_of_n


def rewritten_tokens(change: PrefixChange, standing: CallCosts, policy: CachePolicy) -> float:
    """Tokens of the changed request that cannot be read from the cache."""
    if standing.cold:
        return standing.load - change.freed
    if policy.lookback and change.blocks >= policy.lookback:  # no breakpoint in reach: all messages are written
        return max(0.0, standing.load - standing.fixed - change.freed)
    return max(0.0, change.behind - change.freed)


def upfront_cost(change: PrefixChange, standing: CallCosts, policy: CachePolicy) -> float:
    """What a change costs at its own call above the call as it is; negative where it saves at once."""
    now = standing.load * (policy.write_factor if standing.cold else policy.read_factor)
    anew = rewritten_tokens(change, standing, policy)
    kept = standing.load - change.freed - anew
    return kept * policy.read_factor + anew * policy.write_factor - now


def _future_saving(change: PrefixChange, standing: CallCosts, policy: CachePolicy) -> float:
    """What it saves of the calls that are expected after this one."""
    return future_cost(standing.load, standing, policy) - future_cost(standing.load - change.freed, standing, policy)


MARGIN = 2.0
"""By how much the gain has to exceed what is invested while the cache is warm: the future is a guess."""


def net_saving(change: PrefixChange, standing: CallCosts, policy: CachePolicy, loss: float = 0.0) -> float:
    """What a change saves in all, 0 where it does not pay; `loss` is what it may cost later (things asked for
    again)."""
    cost = upfront_cost(change, standing, policy)
    saved = _future_saving(change, standing, policy) - loss
    if saved <= 0 or (cost > 0 and saved < MARGIN * cost):
        return 0.0
    return max(0.0, saved - cost)
