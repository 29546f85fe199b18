"""Prefix caches of model servers: what they would have reused, what a call costs, where a prefix broke."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudkit.lazy import lazy_names

if TYPE_CHECKING:
    from hudkit.context.caching.account import (
        CacheAccount,
        CallHits,
        LayerTokens,
        LayerTotal,
        PrefixBreak,
        account_for_calls,
        layer_totals,
    )
    from hudkit.context.caching.hud_cost import CallWeight, weigh_calls
    from hudkit.context.caching.policies import ANTHROPIC, ANTHROPIC_HOUR, OPENAI, CachePolicy
    from hudkit.context.caching.prefix_diff import (
        BlockDivergence,
        CacheBreak,
        Segment,
        common_prefix,
        find_breaks,
        find_divergence,
    )
    from hudkit.context.caching.receipts import CostReceipt, HudText, hud_texts, receipt_of_account, receipt_of_trail
    from hudkit.context.caching.recorded_breaks import RecordedBreak, find_recorded_break
    from hudkit.context.caching.simulation import (
        CacheBlock,
        CacheRequest,
        CacheTree,
        CallCost,
        CostTotals,
        TokenRates,
        rates_for,
        simulate_cache,
        sum_costs,
        usd_cost,
    )

__all__ = [
    "ANTHROPIC",
    "ANTHROPIC_HOUR",
    "OPENAI",
    "BlockDivergence",
    "CacheAccount",
    "CacheBlock",
    "CacheBreak",
    "CachePolicy",
    "CacheRequest",
    "CacheTree",
    "CallCost",
    "CallHits",
    "CallWeight",
    "CostReceipt",
    "CostTotals",
    "HudText",
    "LayerTokens",
    "LayerTotal",
    "PrefixBreak",
    "RecordedBreak",
    "Segment",
    "TokenRates",
    "account_for_calls",
    "common_prefix",
    "find_breaks",
    "find_divergence",
    "find_recorded_break",
    "hud_texts",
    "layer_totals",
    "rates_for",
    "receipt_of_account",
    "receipt_of_trail",
    "simulate_cache",
    "sum_costs",
    "usd_cost",
    "weigh_calls",
]

# A frame needs the policies; who asks what a cache has cost needs the transcripts as well.
__getattr__ = lazy_names(
    __name__,
    {
        "account": (
            "CacheAccount",
            "CallHits",
            "LayerTokens",
            "LayerTotal",
            "PrefixBreak",
            "account_for_calls",
            "layer_totals",
        ),
        "hud_cost": ("CallWeight", "weigh_calls"),
        "policies": ("ANTHROPIC", "ANTHROPIC_HOUR", "OPENAI", "CachePolicy"),
        "prefix_diff": (
            "BlockDivergence",
            "CacheBreak",
            "Segment",
            "common_prefix",
            "find_breaks",
            "find_divergence",
        ),
        "receipts": ("CostReceipt", "HudText", "hud_texts", "receipt_of_account", "receipt_of_trail"),
        "recorded_breaks": ("RecordedBreak", "find_recorded_break"),
        "simulation": (
            "CacheBlock",
            "CacheRequest",
            "CacheTree",
            "CallCost",
            "CostTotals",
            "TokenRates",
            "rates_for",
            "simulate_cache",
            "sum_costs",
            "usd_cost",
        ),
    },
)
