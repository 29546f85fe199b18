"""What the calls to come will cost, and whether writing a part of the transcript anew now pays: one model for new
bases and for pruning. All costs are in input tokens at full price.

**The idea.** A change of what was already sent costs once, at this call: all that stands behind it is written to the
cache anew instead of read from it. It saves at every later call, which carries less. How many calls will follow
nobody knows; a session is expected to go on for as many as it has had. So the saving is the difference of two sums
over all calls to come, each weighted by the chance that it is made, and both interrupted by the compactions on the
way, which a shorter transcript also puts off.

**Example.** A session at its 20th call sends 60,000 tokens, of which 20,000 stand behind some old outputs of 8,000
tokens; a token costs a tenth where it is read, 1.25 where it is written. Letting the outputs go writes the 12,000
that remain behind them anew: about 12,000 x (1.25 - 0.1) - 8,000 x 0.1 = 13,000 now. Each of the about 20 calls
expected after this one reads 8,000 tokens less: 800 a call, 16,000 in all. The gain has to be twice the price, since
the future is a guess, so it is left; with a cold cache, where everything is written anyway, it saves at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from hudkit.context.budget import TOKENS_PER_CHARACTER
from hudkit.context.caching.policies import CachePolicy
from hudkit.context.compaction.cut_point import MAX_TAIL_TOKENS
from hudkit.context.compaction.request_parts import HANDED_OVER_CHARACTERS, CallOutput

ANSWER_FACTOR = 5.0
"""The price of an answer's token, in input tokens: Anthropic's; OpenAI's is 8, and counts only at compactions."""

SUMMARY_TOKENS = 2_000
"""Tokens of a compaction's summary, about: what models wrote when they were asked for our six parts."""

AFTER_COMPACTION_TOKENS = SUMMARY_TOKENS + MAX_TAIL_TOKENS
"""Tokens of the messages right after a compaction: the summary, and the end of the transcript that a host keeps."""

HANDED_OVER_SHARE = 0.4
"""The share of a transcript that is handed over to be summarised, where it is not known (long outputs are
shortened)."""

MARGIN = 2.0
"""By how much the gain has to exceed what is invested while the cache is warm: the future is a guess."""


class CallCosts(NamedTuple):
    """Where a session stands before a call, in tokens.

    `load`: the request as it would go out; `fixed`: what stands in front of its messages; `pace`: what a call
    brings; `growth`: what of it stays, by what stayed until now; `calls`: how many there were; `usable`: the load
    at which the host compacts (`None`: never); `handed_over`: the share of the messages that it then hands over.
    `cold`: the cache holds nothing of the request, or all of it is written anew for another reason: a change costs
    nothing. `used`: the tokens in use as the host reported them last (`None`: the load has to do).
    """

    load: float
    fixed: float
    pace: float
    growth: float
    calls: int
    usable: float | None = None
    handed_over: float = HANDED_OVER_SHARE
    cold: bool = False
    used: float | None = None


class PrefixChange(NamedTuple):
    """Something that makes a request shorter by `freed` tokens.

    `behind` of the request's tokens stand after the place where it begins (what is freed among them), and `blocks`
    content blocks, about.
    """

    freed: float
    behind: float
    blocks: int = 0


def estimate_costs(
    outputs: Sequence[CallOutput],
    pruned: Collection[str],
    *,
    words: int,
    fixed: float,
    used: int | None,
    messages: int,
    calls: int,
    usable: int | None,
    cold: bool,
) -> CallCosts:
    """Return the figures of a call, from what its transcript has.

    `outputs` are all of the transcript, those of the calls in `pruned` are gone already; `words` are its characters
    beside outputs. `fixed` tokens stand in front of the messages, `used` were reported last (`None`: not known).
    """
    left = [output.size for output in outputs if output.call not in pruned]
    characters = words + sum(left)
    handed_over = words + sum(min(size, HANDED_OVER_CHARACTERS) for size in left)
    load = max(float(used or 0), fixed + characters * TOKENS_PER_CHARACTER)
    brought = words + sum(output.size for output in outputs)
    return CallCosts(
        load=load,
        fixed=fixed,
        pace=brought * TOKENS_PER_CHARACTER / messages,
        growth=max(0.0, load - fixed) / messages,
        calls=calls,
        usable=usable,
        handed_over=handed_over / characters if characters else 1.0,
        cold=cold,
        used=used,
    )


def future_cost(load: float, costs: CallCosts, policy: CachePolicy) -> float:
    """Return what the calls after this one are expected to cost, from a cached request of so many tokens.

    Compactions are included. Each call is the last one with the same chance, 1 in `calls + 1`. It is a sum over all
    calls to come, in closed form: to the next compaction, and from there in rounds that are all alike.
    """
    go_on: float = costs.calls / (costs.calls + 1)
    growth = max(1.0, costs.growth)
    rest = costs.fixed + AFTER_COMPACTION_TOKENS
    if costs.usable is None or costs.usable <= rest:
        return _cost_of_calls(load, growth, None, go_on, policy)
    handed_over = (costs.usable - costs.fixed) * costs.handed_over
    compaction = handed_over + SUMMARY_TOKENS * ANSWER_FACTOR + AFTER_COMPACTION_TOKENS * policy.write_factor
    calls_a_round = (costs.usable - rest) / growth
    one_round = _cost_of_calls(rest, growth, calls_a_round, go_on, policy) + compaction * go_on**calls_a_round
    rounds: float = one_round / (1 - go_on**calls_a_round)  # each with the chance that the one before was finished
    calls = max(0.0, costs.usable - load) / growth
    reached: float = go_on**calls
    return _cost_of_calls(load, growth, calls, go_on, policy) + reached * (compaction + rounds)


def _cost_of_calls(load: float, growth: float, calls: float | None, go_on: float, policy: CachePolicy) -> float:
    """What `calls` growing calls cost (`None`: all), each made with the chance `go_on` where the one before was."""
    end = 0.0 if calls is None else go_on**calls
    ends = 1 - go_on
    expected_calls = (1 - end) / ends
    expected_steps = (go_on - go_on * end) / ends**2 - (calls or 0.0) * end / ends  # the sum of 0, 1, 2, ...
    each = load * policy.read_factor + growth * policy.write_factor
    return each * expected_calls + growth * policy.read_factor * expected_steps


def rewritten_tokens(change: PrefixChange, costs: CallCosts, policy: CachePolicy) -> float:
    """Return the tokens of the changed request that cannot be read from the cache."""
    if costs.cold:
        return costs.load - change.freed
    if policy.lookback and change.blocks >= policy.lookback:  # no breakpoint in reach: all messages are written
        return max(0.0, costs.load - costs.fixed - change.freed)
    return max(0.0, change.behind - change.freed)


def upfront_cost(change: PrefixChange, costs: CallCosts, policy: CachePolicy) -> float:
    """Return what a change costs at its own call above the call as it is; negative where it saves at once."""
    unchanged = costs.load * (policy.write_factor if costs.cold else policy.read_factor)
    anew = rewritten_tokens(change, costs, policy)
    read = costs.load - change.freed - anew
    return read * policy.read_factor + anew * policy.write_factor - unchanged


def net_saving(
    change: PrefixChange, costs: CallCosts, policy: CachePolicy, loss: float = 0.0, margin: float = MARGIN
) -> float:
    """Return what a change saves in all, 0 where it does not pay.

    `loss` is what it may cost later (things asked for again); the gain has to be `margin` times what it costs now.
    """
    cost = upfront_cost(change, costs, policy)
    after = future_cost(costs.load - change.freed, costs, policy)
    saved = future_cost(costs.load, costs, policy) - after - loss
    if saved <= 0 or (cost > 0 and saved < margin * cost):
        return 0.0
    return max(0.0, saved - cost)
