"""When a host compacts by itself: the overflow arithmetic of OpenCode, as 002 gives it (A2)."""

from __future__ import annotations

import msgspec

from hudkit.errors import ConfigError
from hudkit.tokens.windows import Window

RESERVED = 20_000
"""Tokens kept free for the summary, where the model may write as many (002)."""


class OverflowRule(msgspec.Struct, frozen=True):
    """The settings of the arithmetic: `automatic=False` is the off switch, `reserved=None` the default of 002.

    `output_cap` is the most output that a host asks of any model, `None` where it asks for all of it.
    """

    automatic: bool = True
    reserved: int | None = None
    output_cap: int | None = None

    def __post_init__(self) -> None:
        for name, figure in (("reserved", self.reserved), ("output_cap", self.output_cap)):
            if figure is not None and figure < 0:
                raise ConfigError(f"{name} is {figure} tokens", hint="give zero or more", **{name: figure})


DEFAULT_RULE = OverflowRule()


def usable_of(window: Window, rule: OverflowRule = DEFAULT_RULE) -> int | None:
    """Tokens that can be used before the host compacts; `None` where automatic compaction is off.

    `input_limit - reserved`, or `limit_tokens - max output` for a window without an input limit; `reserved`
    defaults to `min(20,000, max output)`. A model whose output is not known is taken to write 20,000 tokens,
    or a tenth of a smaller window. Never below zero.
    """
    if not rule.automatic:
        return None
    output = output_of(window, rule)
    reserved = rule.reserved if rule.reserved is not None else min(RESERVED, output)
    usable = window.input_limit - reserved if window.input_limit is not None else window.limit_tokens - output
    return max(0, usable)


def output_of(window: Window, rule: OverflowRule = DEFAULT_RULE) -> int:
    """The output tokens that a request of this host keeps free."""
    output = window.max_output if window.max_output is not None else min(RESERVED, window.limit_tokens // 10)
    return output if rule.output_cap is None else min(output, rule.output_cap)


def is_overflow(used: int | None, window: Window, rule: OverflowRule = DEFAULT_RULE) -> bool:
    """Whether the host would compact now: at the usable window or above. Unknown usage is no overflow."""
    usable = usable_of(window, rule)
    return used is not None and usable is not None and used >= usable
