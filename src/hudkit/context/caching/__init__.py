"""Prefix caches of model servers: what they would have reused, what a call costs, where a prefix broke."""

from hudkit.context.caching.account import Account, CallHits, Share, account, shares
from hudkit.context.caching.divergence import Break, Divergence, breaks, diverge
from hudkit.context.caching.policies import ANTHROPIC, ANTHROPIC_HOUR, OPENAI, CachePolicy
from hudkit.context.caching.prefix_breaks import PrefixBreak
from hudkit.context.caching.reckoning import Layers
from hudkit.context.caching.requests import Block, Request
from hudkit.context.caching.sent import Piece, compare
from hudkit.context.caching.simulate import CacheTree, CallCost, Rates, Totals, cost, rates, simulate, totals

__all__ = [
    "ANTHROPIC",
    "ANTHROPIC_HOUR",
    "OPENAI",
    "Account",
    "Block",
    "Break",
    "CachePolicy",
    "CacheTree",
    "CallCost",
    "CallHits",
    "Divergence",
    "Layers",
    "Piece",
    "PrefixBreak",
    "Rates",
    "Request",
    "Share",
    "Totals",
    "account",
    "breaks",
    "compare",
    "cost",
    "diverge",
    "rates",
    "shares",
    "simulate",
    "totals",
]
