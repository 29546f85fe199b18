"""Where a compaction cuts a transcript: what stays word for word, and how long a text may be that is handed over.

The tail that stays has room for an eighth of the usable window, at most 8,000 tokens. The cut point is the oldest
message from which all the rest fits into that room. Example: room for 900 characters and messages of 500, 400, 300
and 200; the last three fit exactly, so that the cut point is the second.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hudkit.context.budget import CHARACTERS_PER_TOKEN
from hudkit.tokens.model_facts import DEFAULT_RULE, OverflowRule, Window, usable_of

TAIL_PARTS = 8
"""The tail has at most one of so many parts of the usable window: what is not summarised frees nothing."""

MAX_TAIL_TOKENS = 8_000
"""Tokens of the tail at most, in a large window too: the newest turns, and OpenCode keeps as many."""

TEXT_PARTS = 4
"""A text that is repeated after a compaction has at most one of so many parts of the usable window."""

MIN_TEXT_CHARACTERS = 2_000
"""Characters that it may have in any window."""


def tail_room(window: Window, rule: OverflowRule = DEFAULT_RULE, *, cap: int = MAX_TAIL_TOKENS) -> int:
    """Return the characters that may stay word for word after a compaction; `cap` is in tokens."""
    return min(cap, _usable(window, rule) // TAIL_PARTS) * CHARACTERS_PER_TOKEN


def cut_point(sizes: Sequence[int], room: int) -> int:
    """Return the index of the oldest message that stays, of messages of so many characters.

    It is `len(sizes)` where not even the last one fits into the room, and 0 where all of them do.
    """
    start = len(sizes)
    while start > 0 and sizes[start - 1] <= room:
        start -= 1
        room -= sizes[start]
    return start


def max_text_characters(window: Window, rule: OverflowRule = DEFAULT_RULE) -> int:
    """Return the characters that the user's last message may have where it is repeated after a compaction."""
    return max(MIN_TEXT_CHARACTERS, _usable(window, rule) * CHARACTERS_PER_TOKEN // TEXT_PARTS)


def cut_text(text: str, limit: int) -> str:
    """Return the text, or about `limit` characters of it: two thirds from its start, a third from its end."""
    if len(text) <= limit:
        return text
    left_out = f"[{len(text) - limit:,} characters are left out]"
    return f"{text[: limit * 2 // 3]}\n{left_out}\n{text[-(limit // 3) :]}"


def _usable(window: Window, rule: OverflowRule) -> int:
    # Also where automatic compaction is off: then a person asked for this one.
    return usable_of(window, msgspec.structs.replace(rule, automatic=True)) or 0
