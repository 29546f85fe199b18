"""How large a model's window is, who says so, and how much of it can be used before a host compacts (A1, A2).

A window is what the host reports; where it reports none, what the bundled table of model families has; then the
user's setting; then an assumption that is shown as one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from hudkit.errors import ConfigError
from hudkit.tokens import catalogue

Source = Literal["host", "user", "table", "assumed"]

ASSUMED_WINDOW = 200_000
"""Tokens of the window of a model that nobody knows (000); shown as assumed."""

WINDOWS_READ = "2026-11"
"""When the windows were read (from genai-prices 0.2.3). Output and input limits are as far as known and unchecked:
what a host reports comes first."""

# family, window, most output tokens, most input tokens (None: not known or not limited apart from the window)
FAMILIES: tuple[tuple[str, int, int | None, int | None], ...] = (
    ("claude-2", 200_000, 4_096, None),
    ("claude-3-haiku", 200_000, 4_096, None),
    ("claude-3-opus", 200_000, 4_096, None),
    ("claude-3-sonnet", 200_000, 4_096, None),
    ("claude-3-5-haiku", 200_000, 8_192, None),
    ("claude-3-5-sonnet", 200_000, 8_192, None),
    ("claude-3-7-sonnet", 200_000, 64_000, None),
    ("claude-opus-4", 200_000, 32_000, None),
    ("claude-opus-4-0", 200_000, 32_000, None),
    ("claude-opus-4-1", 200_000, 32_000, None),
    ("claude-opus-4-5", 200_000, 64_000, None),
    ("claude-opus-4-6", 1_000_000, None, None),
    ("claude-opus-4-7", 1_000_000, None, None),
    ("claude-opus-4-8", 1_000_000, None, None),
    ("claude-opus-5", 1_000_000, None, None),
    ("claude-opus-5-5", 1_000_000, None, None),
    ("claude-sonnet-4", 200_000, 64_000, None),
    ("claude-sonnet-4-0", 200_000, 64_000, None),
    ("claude-sonnet-4-5", 200_000, 64_000, None),
    ("claude-sonnet-4-6", 1_000_000, None, None),
    ("claude-sonnet-5", 1_000_000, None, None),
    ("claude-sonnet-5-5", 1_000_000, None, None),
    ("claude-haiku-4-5", 200_000, 64_000, None),
    ("claude-haiku-5-5", 1_000_000, None, None),
    ("gpt-3.5-turbo", 16_385, 4_096, None),
    ("gpt-4", 8_192, 8_192, None),
    ("gpt-4-32k", 32_000, None, None),
    ("gpt-4-0125", 128_000, 4_096, None),
    ("gpt-4-1106", 128_000, 4_096, None),
    ("gpt-4-vision", 128_000, 4_096, None),
    ("gpt-4-turbo", 128_000, 4_096, None),
    ("gpt-4o", 128_000, 16_384, None),
    ("chatgpt-4o", 128_000, 16_384, None),
    ("gpt-4.1", 1_047_576, 32_768, None),
    ("gpt-5", 400_000, 128_000, 272_000),
    ("gpt-5.1", 400_000, 128_000, 272_000),
    ("gpt-5.2", 400_000, 128_000, 272_000),
    ("gpt-5.3", 128_000, None, None),
    ("gpt-5.3-codex", 400_000, 128_000, 272_000),
    ("gpt-5.4", 1_050_000, None, None),
    ("gpt-5.4-mini", 400_000, None, None),
    ("gpt-5.4-nano", 400_000, None, None),
    ("gpt-5.5", 1_000_000, None, None),
    ("gpt-oss", 131_072, None, None),
    ("o1", 200_000, 100_000, None),
    ("o1-mini", 128_000, 65_536, None),
    ("o1-preview", 128_000, 32_768, None),
    ("o3", 200_000, 100_000, None),
    ("o4-mini", 200_000, 100_000, None),
    ("codex-mini", 200_000, 100_000, None),
    ("gemini-1.5-flash", 1_000_000, 8_192, None),
    ("gemini-1.5-pro", 1_000_000, 8_192, None),
    ("gemini-2.0-flash", 1_000_000, 8_192, None),
    ("gemini-2.5-flash", 1_048_576, 65_536, None),
    ("gemini-2.5-pro", 1_048_576, 65_536, None),
    ("gemini-3-flash", 1_000_000, 65_536, None),
    ("gemini-3.5-flash", 1_000_000, None, None),
    ("grok-4", 256_000, None, None),
    ("grok-4-fast", 2_000_000, None, None),
    ("grok-code-fast-1", 256_000, None, None),
)


class Window(msgspec.Struct, frozen=True):
    """A model's capacity in tokens.

    `limit_tokens` is the whole window, `max_output` the most that one answer may have, `input_limit` the most
    that a request may have where that is less than the window. `source` says who gave `limit_tokens`.
    """

    limit_tokens: int
    max_output: int | None
    input_limit: int | None
    source: Source

    def __post_init__(self) -> None:
        if self.limit_tokens <= 0:
            raise ConfigError(f"a window of {self.limit_tokens} tokens", hint="a window has at least one token")


def window_of(
    model: str,
    *,
    host: int | None = None,
    user: int | None = None,
    host_output: int | None = None,
    host_input: int | None = None,
    use_catalogue: bool = False,
) -> Window:
    """Return the window of `model`: the host's report, else the table's, else the user's setting, else 200,000.

    The order is that of feature A1: the user's setting fills a gap, it does not overrule what is known. Host
    figures of zero or less mean "not reported" (OpenCode writes 0). Output and input limits come from the
    host, else from the table where it agrees with the host on the window. `use_catalogue` asks `genai-prices`
    as a second table: it is slow to load, so not within an agent's call.

    Raises `ConfigError` for a user's setting that is not positive.
    """
    if user is not None and user <= 0:
        raise ConfigError(
            f"the window of {model!r} is set to {user} tokens", hint="give a positive number", user=user
        )
    row = family_of(model)
    table = row[1] if row else (catalogue.listed_window(model) if use_catalogue else None)
    limit, source = _first_positive((host, "host"), (table, "table"), (user, "user"), (ASSUMED_WINDOW, "assumed"))
    # A host with another window runs another variant of the model: the table's other limits say nothing of it.
    limits = row[2:] if row and limit == table else (None, None)
    return Window(
        limit_tokens=limit,
        max_output=_positive(host_output) or limits[0],
        input_limit=_positive(host_input) or limits[1],
        source=source,
    )


def _positive(figure: int | None) -> int | None:
    return figure if figure is not None and figure > 0 else None


def _first_positive(*figures: tuple[int | None, Source]) -> tuple[int, Source]:
    return next((figure, source) for figure, source in figures if figure is not None and figure > 0)


# -- the table of families -------------------------------------------------------------------------------------


def name_parts(model: str) -> tuple[str, ...]:
    """Split a model's name: `us.anthropic.claude-sonnet-4.5` returns us, anthropic, claude, sonnet, 4, 5."""
    return tuple(part for part in re.split(r"[^a-z0-9]+", model.lower()) if part)


_FAMILY_PARTS = tuple((name_parts(row[0]), row) for row in FAMILIES)


@lru_cache(maxsize=256)
def family_of(model: str) -> tuple[str, int, int | None, int | None] | None:
    """Return the row of the longest family name that stands in the model's name, as whole parts, in order.

    A family followed by a short number is another version (`gpt-5` is not `gpt-5.9`); dates and words that
    follow are variants of it. `None` where no family fits.
    """
    name = name_parts(model)
    best: tuple[str, int, int | None, int | None] | None = None
    longest = 0
    for parts, row in _FAMILY_PARTS:
        if len(parts) > longest and _is_named(parts, name):
            best, longest = row, len(parts)
    return best


def _is_named(family: tuple[str, ...], name: tuple[str, ...]) -> bool:
    for start in range(len(name) - len(family) + 1):
        end = start + len(family)
        if name[start:end] == family:
            follower = name[end] if end < len(name) else ""
            # One or two digits are a version; a date (`20251001`) has more.
            return not (follower.isdigit() and len(follower) <= 2)
    return False


# -- the part of a window that can be used ---------------------------------------------------------------------

DEFAULT_RESERVE = 20_000
"""Tokens kept free for the summary, where the model may write as many (002)."""


class OverflowRule(msgspec.Struct, frozen=True):
    """When a host compacts by itself: the settings of OpenCode's arithmetic, as 002 gives it (A2).

    `automatic=False` is the off switch, `reserved=None` the default of 002, in tokens. `output_cap` is the most
    output that a host asks of any model, `None` where it asks for all of it.
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
    """Return the tokens that can be used before the host compacts; `None` where it never does by itself.

    They are `input_limit - reserved`, or `limit_tokens - max output` for a window without an input limit; `reserved`
    defaults to `min(20,000, max output)`. A model whose output is not known is taken to write 20,000 tokens,
    or a tenth of a smaller window. Never below zero.

    Example: of 200,000 tokens with 64,000 of output, 136,000 can be used; with an input limit of 180,000, 160,000.
    """
    if not rule.automatic:
        return None
    output = window.max_output if window.max_output is not None else min(DEFAULT_RESERVE, window.limit_tokens // 10)
    if rule.output_cap is not None:
        output = min(output, rule.output_cap)
    if window.input_limit is None:
        return max(0, window.limit_tokens - output)
    reserved = rule.reserved if rule.reserved is not None else min(DEFAULT_RESERVE, output)
    return max(0, window.input_limit - reserved)
