"""Compactions that do not help: when another one is refused to the agent, and what is said of one by the host. Pure.

A compaction that freed too little will free as little again until the window has grown by what one has to free; what
stays is then something else (the host's prompt, tools, the summary, the newest messages).
"""

from __future__ import annotations

from hudkit.config import CompactionSettings
from hudkit.sections.call_history import CompactionHistory, PastCompaction

INSTEAD = "shorter tool outputs, closed files or a new session (its task can be resumed there) help more"
"""What else frees the window, in words."""


def _freed_percent(one: PastCompaction) -> float | None:
    """Per cent of the window that a compaction freed; `None`: not known."""
    if one.before is None or one.after is None or not one.limit:
        return None
    return 100 * (one.before - one.after) / one.limit


def ineffective_compaction(rounds: CompactionHistory, rules: CompactionSettings) -> PastCompaction | None:
    """The last compaction, where it freed too little."""
    last = rounds.last[-1] if rounds.last else None
    share = _freed_percent(last) if last is not None else None
    return last if share is not None and share < rules.min_freed_percent else None


def cooldown_refusal(rounds: CompactionHistory, used: int, limit: int, rules: CompactionSettings) -> str:
    """Why the agent may not compact again now; empty where it may."""
    if not rounds.last:
        return ""
    last = rounds.last[-1]
    since = rounds.calls - last.call
    if since < rules.cooldown_calls:
        calls = "1 model call" if since == 1 else f"{since} model calls"
        due = f"the next is due after {rules.cooldown_calls}"
        return f"the last compaction was {calls} ago, and {due}; until then, {INSTEAD}"
    thin = ineffective_compaction(rounds, rules)
    if thin is None or thin.after is None:
        return ""
    grown = 100 * (used - thin.after) / limit
    if grown >= rules.min_freed_percent:
        return ""
    return (
        f"the last compaction freed {_freed_percent(thin) or 0:.0f} % of the window, and {max(0, grown):.0f} % came "
        f"since, so that another would free no more; {INSTEAD}"
    )


def ineffective_advice(rounds: CompactionHistory, rules: CompactionSettings) -> str:
    """What the start of a turn says, once, of a compaction that freed too little; empty where there is nothing."""
    thin = ineffective_compaction(rounds, rules)
    if thin is None or rounds.announced >= thin.seq:
        return ""
    return f"; the last compaction freed only {max(0.0, _freed_percent(thin) or 0):.0f} %: {INSTEAD}"
