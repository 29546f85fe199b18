"""What a compaction will do, as far as it can be known: about how much it frees, what stays, what leaves. Pure.

The rest of a window after a compaction: what stands in front of the messages, a summary, and the newest messages. How
many of these OpenCode 1.18 keeps is its own rule: a quarter of what is usable, from 2,000 to 8,000 tokens.
"""

from __future__ import annotations

import msgspec

from hudkit.context.compaction.live import counted, live
from hudkit.context.compaction.receipts import Measured, measured
from hudkit.sections.state import HudState

SUMMARY = 2_000
"""Tokens of a summary, about."""
TAIL_SHARE, TAIL_LEAST, TAIL_MOST = 0.25, 2_000, 8_000


class Forecast(msgspec.Struct, frozen=True):
    """In tokens: `used` of `limit`, and `frees` of them (estimated; `None`: not known); the request by part."""

    used: int
    limit: int
    frees: int | None
    parts: Measured | None

    @property
    def percent(self) -> float:
        return 100 * self.used / self.limit


def forecast(state: HudState, used: int, limit: int) -> Forecast:
    """What a compaction now would free."""
    asked = state.model_calibration.last
    if asked is None:
        return Forecast(used, limit, None, None)
    parts = measured(asked, state.model_calibration.of(asked.model))
    messages = parts.words + sum(size for _, size in parts.outputs)
    tail = min(messages, max(TAIL_LEAST, min(TAIL_MOST, int(limit * TAIL_SHARE))))
    rest = parts.system + parts.tools + parts.hud + SUMMARY + tail
    return Forecast(used, limit, max(0, used - rest), parts)


def announced(state: HudState, found: Forecast) -> str:
    """What the agent is told before its turn ends: in use, freed, stays, leaves, and how it is found again."""
    freed = (
        f"about {found.frees:,} will be freed (estimated)"
        if found.frees is not None
        else "how many will be freed is not known"
    )
    held = counted(live(state)) or "what it holds"
    lines = [
        "A compaction starts when this turn ends.",
        f"- in use: {found.percent:.0f} % of the window ({found.used:,} of {found.limit:,} tokens); {freed}",
        f"- stays: the HUD as it is ({held}), a summary that you write, and the newest messages",
    ]
    gone = "the older messages and outputs of tools"
    if found.parts is not None and found.parts.outputs:
        tools = sorted(found.parts.outputs, key=lambda one: -one[1])[:3]
        gone += f" (of {found.parts.messages} messages; most by {', '.join(tool for tool, _ in tools)})"
    lines.append(f"- leaves: {gone}")
    lines.append('- found again by: memory "messages", "message" and "search"; "compactions" has the receipt')
    return "\n".join(lines)
