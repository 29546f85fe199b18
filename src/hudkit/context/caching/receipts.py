"""A session's receipt: what its calls cost with the HUD ÷ what they would have cost without it.

Two sources. Of a host that keeps our texts where they were put (Claude Code, Codex), its own transcript has every
call's usage and which of our texts were new in it: without the HUD these tokens were not sent. A text is paid in full
(and written to the cache) with its first call, and read from the cache with each later one until a compaction. Of
other hosts the log has both (`weigh_calls`). The answers are left out, since they are the same.

Example: a base of 500 tokens and 40 calls of 20,000 tokens that are read at a tenth. The calls weigh 40 x 2,000, the
base 500 x 1.25 and 39 times 50: together 2,575 of 80,000, so x 1.03.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from hudkit.context.caching.account import CacheAccount
from hudkit.context.caching.hud_cost import weigh_calls
from hudkit.context.caching.policies import ANTHROPIC, CachePolicy, policy_for
from hudkit.log.event import Event
from hudkit.log.payloads import FrameBase, FrameDelta
from hudkit.transcripts.cost_trail import TrailCall


class HudText(msgspec.Struct, frozen=True):
    """A text of ours, as the log has it: its tokens, when it was made (Unix ms), and whether it stands in the system
    prompt, where a transcript does not show it."""

    text: str
    tokens: int
    time: int = 0
    in_system: bool = False


class CostReceipt(msgspec.Struct, frozen=True):
    """Calls of a session, weighed in tokens at the full input price, with the HUD and without."""

    calls: int
    compactions: int
    with_hud: float
    without_hud: float

    @property
    def times(self) -> float | None:
        """Return cost with the HUD ÷ cost without it; `None` where nothing was reported."""
        return self.with_hud / self.without_hud if self.without_hud > 0 else None


def hud_texts(events: Iterable[Event]) -> tuple[HudText, ...]:
    """Return the texts that a session's model was sent, in the order of the log."""
    texts = []
    for event in events:
        match event.payload:
            case FrameBase(text=text, tokens=tokens, anchor=anchor):
                texts.append(HudText(text, tokens, event.timestamp, not anchor))
            case FrameDelta(text=text, tokens=tokens) if text:
                texts.append(HudText(text, tokens, event.timestamp))
    return tuple(texts)


def receipt_of_trail(trail: Iterable[TrailCall], texts: Sequence[HudText]) -> CostReceipt:
    """Return the receipt of a session by its host's transcript, and our texts in the order of the log."""
    tokens_of = {text.text.strip(): text.tokens for text in texts if not text.in_system and text.text.strip()}
    system = [text for text in texts if text.in_system]
    calls = compactions = 0
    standing, with_hud, own = 0, 0.0, 0.0
    in_system = 0
    for call in trail:
        calls += 1
        compactions += call.compacted
        standing = 0 if call.compacted else standing
        policy = _policy(call)
        new = _own_tokens(call.blocks, tokens_of)
        base = next((text.tokens for text in reversed(system) if text.time <= call.time), 0)
        # A base in the system prompt is one text that takes the place of another.
        if base != in_system or call.compacted:
            new, old, in_system = new + base, standing, base
        else:
            old = standing + base
        with_hud += _weight(call, policy)
        own += new * _full(policy) + old * (policy.read_factor if call.usage.cache_read else _full(policy))
        standing += _own_tokens(call.blocks, tokens_of)
    return CostReceipt(calls, compactions, with_hud, max(with_hud - own, 0.0))


def receipt_of_account(account: CacheAccount, compactions: int) -> CostReceipt:
    """Return the receipt of a session by its log, whose calls are the host's model calls."""
    weights = weigh_calls(account)
    return CostReceipt(
        calls=len(weights),
        compactions=compactions,
        with_hud=sum(weight.with_hud for weight in weights),
        without_hud=sum(weight.without_hud for weight in weights),
    )


def _policy(call: TrailCall) -> CachePolicy:
    return ANTHROPIC if call.usage.cache_write else policy_for(call.model)[0]


def _full(policy: CachePolicy) -> float:
    return policy.write_factor if policy.explicit else 1.0


def _weight(call: TrailCall, policy: CachePolicy) -> float:
    usage = call.usage
    return usage.input + usage.cache_read * policy.read_factor + usage.cache_write * policy.write_factor


def _own_tokens(blocks: Iterable[str], tokens_of: Mapping[str, int]) -> int:
    """The tokens of our texts in what hooks added; one hook can carry several of them."""
    tokens = 0
    for block in blocks:
        if block.strip() in tokens_of:
            tokens += tokens_of[block.strip()]
            continue
        tokens += sum(count for text, count in tokens_of.items() if text in block)
    return tokens
