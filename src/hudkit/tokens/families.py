"""The bundled table of model families: their windows, as data."""

from __future__ import annotations

import re
from functools import lru_cache

READ = "2026-11"
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


def parts_of(model: str) -> tuple[str, ...]:
    """A model's name in its parts: `us.anthropic.claude-sonnet-4.5` -> us, anthropic, claude, sonnet, 4, 5."""
    return tuple(part for part in re.split(r"[^a-z0-9]+", model.lower()) if part)


_FAMILY_PARTS = tuple((parts_of(row[0]), row) for row in FAMILIES)


@lru_cache(maxsize=256)
def family_of(model: str) -> tuple[str, int, int | None, int | None] | None:
    """The row of the longest family name that stands in the model's name, as whole parts, in order.

    A family followed by a short number is another version (`gpt-5` is not `gpt-5.9`); dates and words that
    follow are variants of it.
    """
    name = parts_of(model)
    best: tuple[str, int, int | None, int | None] | None = None
    longest = 0
    for parts, row in _FAMILY_PARTS:
        if len(parts) > longest and _stands_in(parts, name):
            best, longest = row, len(parts)
    return best


def _stands_in(family: tuple[str, ...], name: tuple[str, ...]) -> bool:
    for start in range(len(name) - len(family) + 1):
        end = start + len(family)
        if name[start:end] == family:
            follower = name[end] if end < len(name) else ""
            return not (follower.isdigit() and len(follower) <= 2)
    return False
