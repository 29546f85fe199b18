"""When a compaction is due, and when another one would not help. Pure.

A compaction that freed too little will free as little again until the window has grown by what one has to free; what
stays is then something else (the host's prompt, tools, the summary, the newest messages). So an agent that asks for
one is refused, and a full window is left alone, until then. Example, with 15 % to be freed: a compaction took the
window from 90 % to 82 %; at 93 % another one would be at work on 11 % that came since, and is refused; at 97 % it is
not.
"""

from __future__ import annotations

from hudkit.config import CompactionSettings
from hudkit.sections.call_history import CompactionHistory, PastCompaction
from hudkit.tokens.model_facts import DEFAULT_RULE, OverflowRule, Window, usable_of

INSTEAD = "shorter tool outputs, closed files or a new session (its task can be resumed there) help more"
"""What else frees the window, in words."""


def freed_percent(freed: int, limit: int) -> float:
    """Return `freed` tokens in per cent of the window: what a compaction freed, negative where the window grew."""
    return 100 * freed / limit


def _ineffective_compaction(history: CompactionHistory, min_freed_percent: float) -> PastCompaction | None:
    """Return the last compaction, where it is known to have freed too little of the window."""
    last = history.last[-1] if history.last else None
    percent = _freed_percent(last) if last is not None else None
    return last if percent is not None and percent < min_freed_percent else None


def cooldown_refusal(history: CompactionHistory, used: int, limit: int, settings: CompactionSettings) -> str:
    """Return why the agent may not compact again now, with `used` of `limit` tokens in use; empty where it may."""
    if not history.last:
        return ""
    since = history.calls - history.last[-1].call
    if since < settings.cooldown_calls:
        calls = "1 model call" if since == 1 else f"{since} model calls"
        due = f"the next is due after {settings.cooldown_calls}"
        return f"the last compaction was {calls} ago, and {due}; until then, {INSTEAD}"
    return _no_use(history, used, limit, settings.min_freed_percent)


def _no_use(history: CompactionHistory, used: int, limit: int, min_freed_percent: float) -> str:
    """Why another compaction would free too little; empty where it may free enough."""
    poor = _ineffective_compaction(history, min_freed_percent)
    if poor is None or poor.after is None:
        return ""
    grown = 100 * (used - poor.after) / limit
    if grown >= min_freed_percent:
        return ""
    return (
        f"the last compaction freed {_freed_percent(poor) or 0:.0f} % of the window, and {max(0, grown):.0f} % came "
        f"since, so that another would free no more; {INSTEAD}"
    )


def ineffective_advice(history: CompactionHistory, settings: CompactionSettings) -> str:
    """Return what the start of a turn says, once, of a compaction that freed too little; empty where none did."""
    poor = _ineffective_compaction(history, settings.min_freed_percent)
    if poor is None or history.announced >= poor.seq:
        return ""
    return f"; the last compaction freed only {max(0.0, _freed_percent(poor) or 0):.0f} %: {INSTEAD}"


def is_overflow(used: int | None, window: Window, rule: OverflowRule = DEFAULT_RULE) -> bool:
    """Return whether the usable window is full: `used` tokens at least. Unknown usage is no overflow."""
    usable = usable_of(window, rule)
    return used is not None and usable is not None and used >= usable


def is_compaction_due(
    used: int | None, window: Window, rule: OverflowRule, history: CompactionHistory, min_freed_percent: float
) -> bool:
    """Return whether a host should compact by itself now: the window is full, and the last compaction was of use.

    The calls since the last one do not count: a window that is full again so soon is full.
    """
    if used is None or not is_overflow(used, window, rule):
        return False
    return not _no_use(history, used, window.limit_tokens, min_freed_percent)


def _freed_percent(compaction: PastCompaction) -> float | None:
    if compaction.before is None or compaction.after is None or not compaction.limit:
        return None
    return freed_percent(compaction.before - compaction.after, compaction.limit)
