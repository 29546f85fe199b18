"""Prefix caches of model servers: what they would have reused, what a call costs, where a prefix broke."""

from hudkit.caching.divergence import Break, Divergence, breaks, diverge
from hudkit.caching.policies import ANTHROPIC, ANTHROPIC_HOUR, OPENAI, CachePolicy
from hudkit.caching.requests import Block, Request
from hudkit.caching.simulate import CacheTree, CallCost, Rates, Totals, cost, rates, simulate, totals

__all__ = [
    "ANTHROPIC",
    "ANTHROPIC_HOUR",
    "OPENAI",
    "Block",
    "Break",
    "CachePolicy",
    "CacheTree",
    "CallCost",
    "Divergence",
    "Rates",
    "Request",
    "Totals",
    "breaks",
    "cost",
    "diverge",
    "rates",
    "simulate",
    "totals",
]
