"""The rules of the known prefix caches, as data."""

from __future__ import annotations

from functools import lru_cache

import msgspec

MINUTE = 60_000


class CachePolicy(msgspec.Struct, frozen=True):
    """How one kind of server caches prefixes; change a figure with `msgspec.structs.replace`.

    `explicit`: only prefixes that end at a breakpoint are kept. `breakpoints`: how many a request may have.
    `lookback`: positions searched from each breakpoint, the breakpoint's own block being the first.
    `minimum`: tokens of the shortest prefix that is kept. `step`: reuse comes in multiples of it.
    `ttl_ms`: how long an unused prefix is kept; a use renews it. `read_factor`, `write_factor`: the price of
    such a token, as a multiple of an input token's.
    """

    name: str
    explicit: bool
    minimum: int
    step: int
    ttl_ms: int
    breakpoints: int
    lookback: int
    read_factor: float
    write_factor: float


ANTHROPIC = CachePolicy(
    name="anthropic",
    explicit=True,
    minimum=1_024,
    step=1,
    ttl_ms=5 * MINUTE,
    breakpoints=4,
    lookback=20,
    read_factor=0.1,
    write_factor=1.25,
)
"""Anthropic's prompt caching guide; some models need 2,048 or 4,096 tokens instead of 1,024."""

ANTHROPIC_HOUR = msgspec.structs.replace(ANTHROPIC, name="anthropic-1h", ttl_ms=60 * MINUTE, write_factor=2.0)
"""The same with a time-to-live of an hour on every breakpoint."""

OPENAI = CachePolicy(
    name="openai",
    explicit=False,
    minimum=1_024,
    step=128,
    ttl_ms=10 * MINUTE,
    breakpoints=0,
    lookback=0,
    read_factor=0.1,
    write_factor=1.0,
)
"""OpenAI's prompt caching guide: in-memory prefixes live 5 to 10 minutes without use. The discount differs by
model: a cached token costs a tenth from GPT-5 on, a quarter with GPT-4.1, half with GPT-4o."""


@lru_cache(maxsize=64)
def policy_for(model: str) -> tuple[CachePolicy, str]:
    """Return the rules of a model's cache as far as its name tells, and by what one can tell."""
    name = model.lower()
    if "claude" in name:
        return ANTHROPIC, "by the model's name"
    if "gpt" in name or "codex" in name or name.rpartition("/")[2][:2] in ("o1", "o3", "o4"):
        return OPENAI, "by the model's name"
    # Most servers of open models keep prefixes by themselves, as OpenAI's do.
    return OPENAI, "assumed, the model's name tells nothing"
