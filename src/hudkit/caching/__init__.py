"""Prefix caches of model servers: what they would have reused, what a call costs, where a prefix broke."""

from hudkit.caching.account import Account, CallHits, Share, account, shares
from hudkit.caching.divergence import Break, Divergence, breaks, diverge
from hudkit.caching.policies import ANTHROPIC, ANTHROPIC_HOUR, OPENAI, CachePolicy
from hudkit.caching.prefix_breaks import PrefixBreak
from hudkit.caching.reckoning import Layers
from hudkit.caching.requests import Block, Request
from hudkit.caching.sent import Piece, compare
from hudkit.caching.simulate import CacheTree, CallCost, Rates, Totals, cost, rates, simulate, totals

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
