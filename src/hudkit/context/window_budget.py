"""How many tokens each part of a request may have, in a session that is trimmed instead of summarised.

**The idea.** A request has a fixed front (system prompt, definitions of tools, the HUD), and messages behind it. The
front has ceilings; the messages have what is left of the usable window, and outputs of tools two thirds of that, so
that a third is always left for words. When a ceiling of the messages is reached, so much leaves at once that half of
it is free again: each time, all that stands behind the system prompt is written to the provider's cache anew, so it
has to happen rarely.

**Example.** 200,000 tokens, 20,000 of them for the answer. System prompt and tools may have 45,000 each and have
4,000 and 6,000; the HUD may have 1,500. So the messages may have 168,500, outputs 112,333 of them. At 168,501 the
oldest leave until 84,250 are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hudkit.context.budget import TOKENS_PER_CHARACTER

FRONT_PARTS = 4
"""System prompt and tools may each have one of so many parts of the usable window."""

OUTPUT_SHARE = 2 / 3
"""The share of the messages that outputs of tools may have."""

TRIMMED_SHARE = 0.5
"""The share of each ceiling that is left after a trim: the larger it is, the more often the cache is broken."""

ONE_OUTPUT_SHARE = 1 / 4
"""The share of all outputs that one may have: else the newest alone could be more than is to be left."""

MIN_OUTPUT_CHARACTERS = 2_000
"""Characters that one output may have in any window."""


class MessageSize(NamedTuple):
    """Characters of one message: of its words (texts, thoughts, calls), and of the outputs of its calls."""

    words: int
    outputs: int


class WindowBudget(NamedTuple):
    """Tokens at most: of the whole request (`usable`), and of each part. `most` is a number of messages."""

    usable: int
    system: int
    tools: int
    hud: int
    messages: int
    outputs: int
    most: int | None = None

    @property
    def one_output_characters(self) -> int:
        """Return the characters that the output of one call may have."""
        return max(MIN_OUTPUT_CHARACTERS, int(self.outputs * ONE_OUTPUT_SHARE / TOKENS_PER_CHARACTER))


class WindowLoad(NamedTuple):
    """Tokens that the parts of a request have now, estimated; the HUD's are those that it may have.

    `number` is that of the messages.
    """

    system: int
    tools: int
    hud: int
    words: int
    outputs: int
    number: int

    @property
    def messages(self) -> int:
        """Return the tokens of all messages."""
        return self.words + self.outputs


def front_ceiling(usable: int) -> int:
    """Return the tokens that the system prompt, and the definitions of tools, may each have."""
    return usable // FRONT_PARTS


def window_budget(
    usable: int,
    *,
    system: int,
    tools: int,
    hud: int,
    messages: int | None = None,
    outputs: int | None = None,
    most: int | None = None,
) -> WindowBudget:
    """Return the budget of a usable window, whose front has so many tokens of `system`, `tools` and `hud`.

    `messages`, `outputs` and `most` are what the user wants at most; they are never more than there is room for.
    """
    ceiling = front_ceiling(usable)
    left = max(0, usable - min(system, ceiling) - min(tools, ceiling) - hud)
    all_messages = left if messages is None else min(messages, left)
    share = int(all_messages * OUTPUT_SHARE)
    all_outputs = share if outputs is None else min(outputs, all_messages)
    return WindowBudget(usable, ceiling, ceiling, hud, all_messages, all_outputs, most)


def exceeds(load: WindowLoad, budget: WindowBudget) -> bool:
    """Return whether the messages have more than they may, or the whole request has."""
    if load.system + load.tools + load.hud + load.messages > budget.usable:
        return True
    if budget.most is not None and load.number > budget.most:
        return True
    return load.messages > budget.messages or load.outputs > budget.outputs


def keep_from(sizes: Sequence[int], room: int, count: int | None) -> int:
    """Return the index of the oldest message that stays, where `room` characters and `count` messages may.

    The newest stays in any case. Example: 500, 400, 300 and 200 characters and room for 600: the last two stay, 2.
    """
    start = len(sizes) - 1
    left = room - sizes[start] if sizes else 0
    while start > 0 and sizes[start - 1] <= left and (count is None or len(sizes) - start < count):
        start -= 1
        left -= sizes[start]
    return max(0, start)
