"""Tokens: counting them, the windows that hold them, how full those are, and what they cost."""

from hudkit.tokens.counting import TokenCounter, count_tokens, shared_counter
from hudkit.tokens.model_facts import OverflowRule, Prices, Window, known_prices, prices_of, usable_of, window_of
from hudkit.tokens.reports import request_tokens_of, used_tokens_of
from hudkit.tokens.usage import Usage, usage_of

__all__ = [
    "OverflowRule",
    "Prices",
    "TokenCounter",
    "Usage",
    "Window",
    "count_tokens",
    "known_prices",
    "prices_of",
    "request_tokens_of",
    "shared_counter",
    "usable_of",
    "usage_of",
    "used_tokens_of",
    "window_of",
]
