"""What broke a prefix cache, in words: its cause, what it cost, and what a pruning saved since."""

from __future__ import annotations

from hudkit.compose import shorten, visible
from hudkit.context.caching import CostReceipt, PrefixBreak

CACHE_RULES = {"anthropic": "Anthropic's cache rules", "openai": "OpenAI's automatic cache"}
"""The rules of a provider's cache, by the name of their policy."""

EPOCH_REASONS = {
    "session": "the session began",
    "compaction": "a compaction",
    "window": "the host began its window anew",
    "undone": "a compaction was undone",
    "idle": "the cache had expired anyway",
    "pays": "it saves more than it costs",
    "budget": "changes outgrew the budget",
    "density": "another density was asked for",
    "placement": "another placement was asked for",
    "pruning": "old outputs were pruned with it",
    "revert": "the host took messages back",
    "redaction": "something was redacted",
    "damage": "events are damaged",
    "anchor": "the message that the base stood behind is gone",
}
"""Why an epoch began, in words."""

_WHO = {
    "user": "a message of the user",
    "assistant": "an answer of the model",
    "tool": "an answer with tool calls",
    "cleared": "a tool's output",
}
_HOW = {
    "gone": "{who} is gone ({was:,} characters)",
    "changed": "{who} changed from {was:,} to {now:,} characters",
    "new": "{who} was put in front of others ({now:,} characters)",
}


def break_cause(break_: PrefixBreak) -> str:
    """Return what changed first, and where."""
    match break_.what:
        case "model":
            return f"The model changed from {visible(break_.before)} to {visible(break_.after)}: another cache."
        case "idle":
            return f"{break_.idle_ms / 60_000:.0f} minutes without a call: the cache was let go."
        case "base":
            return f"The base was written anew: {epoch_reason(break_.reason)}. {_in_base(break_)}"
        case "message" | "pruned":
            who = _WHO.get(break_.role, "a message")
            words = _HOW[break_.how].format(who=who, was=break_.was, now=break_.now)
            place = f"at character {break_.offset or 0:,} of the transcript: {visible(break_.anchor)}"
            return f"{'Pruned: ' if break_.what == 'pruned' else ''}{words[0].upper()}{words[1:]}, {place}."
    return (
        "Less was read than predicted, and nothing that hudkit sees had changed: the host's own text or tools, a "
        "message that kept its length, or the provider let go of its cache."
    )


def epoch_reason(reason: str) -> str:
    """Return why a base was written, in words."""
    return EPOCH_REASONS.get(reason, visible(reason) or "not known")


def _in_base(break_: PrefixBreak) -> str:
    if break_.offset is None:
        return "Where it departs is not known."
    if not (break_.before or break_.after):
        return f"It departs at character {break_.offset:,}; only the epoch's tag is new."
    heading = break_.after.startswith("#")
    where = f", in {visible(break_.section)}" if break_.section and not heading else ""
    before, after = (f'"{shorten(visible(text), 60)}"' for text in (break_.before, break_.after))
    words = f"{before} became {after}" if break_.before and break_.after else ""
    words = words or (f"{after} is new" if break_.after else f"{before} is gone")
    return f"It departs at character {break_.offset:,}; what changed first{where}: {words}."


def break_cost(break_: PrefixBreak) -> str:
    """Return what had to be processed again, in tokens and, where a price is known, in dollars."""
    front = f"About {break_.offset_tokens:,} tokens stood in front of it. " if break_.offset_tokens else ""
    if break_.again is None:
        return f"{front}What was processed again is not known."
    if not break_.again:
        return f"{front}Nothing that was sent before was processed again."
    price = f", {dollar_text(break_.usd)}" if break_.usd is not None else ""
    return f"{front}About {break_.again:,} tokens were processed again{price}."


def pruning_savings(break_: PrefixBreak) -> str:
    """Return what the outputs that left the window would have cost since."""
    worth = f": {dollar_text(break_.saved_usd)} saved since" if break_.saved_usd is not None else ""
    outputs, calls = count_text(break_.outputs, "output"), count_text(break_.saved_calls, "later call")
    return f"{outputs} left the window, about {break_.freed:,} tokens, not read by {calls}{worth}."


def receipt_line(receipt: CostReceipt) -> str:
    """Return what the HUD cost a session, in one line; nothing where no call's usage is known."""
    if receipt.times is None:
        return ""
    compactions = f"{count_text(receipt.compactions, 'compaction')}, " if receipt.compactions else ""
    return f"HUD: × {receipt.times:.2f} of the cost without it, {compactions}{count_text(receipt.calls, 'call')}"


def dollar_text(amount: float) -> str:
    """Return an amount of dollars, a small one with four digits."""
    return f"${amount:.4f}" if amount < 0.1 else f"${amount:.2f}"


def count_text(count: int, word: str) -> str:
    """Return a number of things: `1 call`, `2 calls`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
