"""What broke the prefix between two recorded calls, from the shapes of their requests and the reported usage (D6).

That tokens were processed again is told by the provider: a call reads from the cache what the one before it had sent,
and where it reads less, the prefix broke. Why is told by the recorded requests, where the host records them: another
model, other tools, another system prompt, a message that is gone. Without them only what a file tells in any case is
known: a compaction, another model, the time between two calls.

Example: a call had 23,000 tokens; the next one has 23,400, and 1,200 are read. 21,800 tokens were processed again.
The tool `Edit` is not among its tools any more: that is the cause.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from hudkit.context.caching.account import SURPRISE_SHARE, SURPRISE_TOKENS
from hudkit.context.caching.policies import ANTHROPIC, CachePolicy, policy_for
from hudkit.transcripts.recorded_calls import RequestShape, SizedPart, TranscriptCall

BreakCause = Literal["model", "idle", "compaction", "tools", "system", "message", "settings", "unseen"]


class RecordedBreak(msgspec.Struct, frozen=True):
    """A break of the prefix at the call `call` (from 1): its cause, and what was processed again.

    `detail` names what changed, as far as it is known: models, tools, the block of the system prompt, the message's
    place. `again` is in tokens; `usd` what they cost above reading them from the cache (`None`: no price is known).
    """

    call: int
    time: int
    cause: BreakCause
    detail: str
    again: int
    usd: float | None = None


def find_recorded_break(before: TranscriptCall, now: TranscriptCall, number: int) -> RecordedBreak | None:
    """Return what broke the prefix between two calls of a session; `None` where it held.

    Requests for different purposes (`source`) are not compared: each has a prefix of its own.
    """
    if _are_apart(before.request, now.request):
        return None
    policy = policy_of(now)
    cause, detail = _structural_cause(before, now, policy)
    again = max(0, _expected_read(before, now, cause, policy) - now.usage.cache_read)
    if again <= max(SURPRISE_TOKENS, int(SURPRISE_SHARE * before.usage.prompt)):
        # What changed was at the end, or the cache had it from an earlier call: nothing to speak of was lost.
        return None
    if not cause:
        other = before.request is not None and now.request is not None
        changed = other and before.request.settings != now.request.settings  # type: ignore[union-attr]
        cause, detail = ("settings", "thinking, effort or betas") if changed else ("unseen", "")
    return RecordedBreak(number, now.time, cause, detail, again)


def policy_of(call: TranscriptCall) -> CachePolicy:
    """Return the rules of the cache that a call used."""
    policy = ANTHROPIC if call.usage.cache_write else policy_for(call.model)[0]
    return policy if call.ttl_ms is None else msgspec.structs.replace(policy, ttl_ms=call.ttl_ms)


def _are_apart(before: RequestShape | None, now: RequestShape | None) -> bool:
    return before is not None and now is not None and before.source != now.source


def _structural_cause(
    before: TranscriptCall, now: TranscriptCall, policy: CachePolicy
) -> tuple[BreakCause, str] | tuple[Literal[""], str]:
    # In this order: another model or an expired cache holds nothing, whatever else has changed.
    if before.model != now.model:
        return "model", f"{before.model} to {now.model}"
    if now.time - before.time > policy.ttl_ms:
        return "idle", f"{(now.time - before.time) // 60_000} minutes without a call"
    if now.compactions != before.compactions or now.summary:
        return "compaction", ""
    if before.request is None or now.request is None:
        return "", ""
    return _changed_part(before.request, now.request)


def _changed_part(before: RequestShape, now: RequestShape) -> tuple[BreakCause, str] | tuple[Literal[""], str]:
    if [tool.digest for tool in before.tools] != [tool.digest for tool in now.tools]:
        return "tools", _tool_changes(before.tools, now.tools)
    if [block.digest for block in before.system] != [block.digest for block in now.system]:
        return "system", _system_changes(before.system, now.system)
    pairs = zip(before.messages, now.messages, strict=False)
    place = next(
        (n for n, (old, new) in enumerate(pairs) if old != new), min(len(before.messages), len(now.messages))
    )
    if place < len(before.messages):
        how = "gone" if before.messages[place] not in now.messages else "moved"
        return "message", f"message {place + 1} of {len(before.messages)} is {how}"
    return "", ""


def _tool_changes(before: Iterable[SizedPart], now: Iterable[SizedPart]) -> str:
    old, new = {tool.name: tool for tool in before}, {tool.name: tool for tool in now}
    gone = [name for name in old if name not in new]
    added = [name for name in new if name not in old]
    changed = [name for name, tool in new.items() if name in old and old[name].digest != tool.digest]
    words = [(gone, "gone"), (added, "new"), (changed, "changed")]
    changes = [f"{_named(names)} {how}" for names, how in words if names]
    return ", ".join(changes) or "another order"


def _named(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _system_changes(before: tuple[SizedPart, ...], now: tuple[SizedPart, ...]) -> str:
    for n, (old, new) in enumerate(zip(before, now, strict=False), 1):
        if old.digest != new.digest:
            return f"block {n} changed from {old.size:,} to {new.size:,} bytes"
    return f"{len(before)} blocks became {len(now)}"


def _expected_read(before: TranscriptCall, now: TranscriptCall, cause: str, policy: CachePolicy) -> int:
    """The tokens of a request that the one before had sent, about."""
    sent = min(before.usage.prompt, now.usage.prompt)
    if cause == "compaction":
        # What was dropped is not sent again; what stands in front of the messages is.
        sent = min(sent, _front_tokens(now))
    elif cause == "message" and before.request is not None and now.request is not None:
        sent = min(sent, int(before.usage.prompt * _shared_part(before.request, now.request)))
    return sent - sent % policy.step if sent >= policy.minimum else 0


def _front_tokens(call: TranscriptCall) -> int:
    """The tokens of tools and system prompt, by their part of the request's bytes; 0 where it is not known."""
    if call.request is None:
        return 0
    whole = call.request.front_size + sum(call.request.sizes.get(hash, 0) for hash in call.request.messages)
    return int(call.usage.prompt * call.request.front_size / whole) if whole else 0


def _shared_part(before: RequestShape, now: RequestShape) -> float:
    """How much of the earlier request's bytes is in the later one too."""
    present = set(now.messages)
    sizes = [(before.sizes.get(hash, 0), hash in present) for hash in before.messages]
    whole = before.front_size + sum(size for size, _ in sizes)
    shared = before.front_size + sum(size for size, is_present in sizes if is_present)
    return shared / whole if whole else 1.0
