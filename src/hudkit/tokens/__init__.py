"""Tokens: counting them, the windows that hold them, how full those are, and what they cost."""

from hudkit.tokens.counting import Counter, count, counter
from hudkit.tokens.overflow import OverflowRule, is_overflow, usable_of
from hudkit.tokens.prices import Prices, prices_of
from hudkit.tokens.reports import in_use, requested
from hudkit.tokens.usage import Usage, settle, usage_of
from hudkit.tokens.windows import Window, window_of

__all__ = [
    "Counter",
    "OverflowRule",
    "Prices",
    "Usage",
    "Window",
    "count",
    "counter",
    "in_use",
    "is_overflow",
    "prices_of",
    "requested",
    "settle",
    "usable_of",
    "usage_of",
    "window_of",
]
