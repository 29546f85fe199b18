"""A session of 111 calls in real OpenCode: what the HUD costs in it, what pruning saves or costs, and that each
request begins with the one before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from billing_session import FILES, LIMIT, PROMPTS, SWITCHED, calls_of_turn, layers_of, lived, without_hud
from hud_plugin import PRUNED, written
from opencode_host import Hosts
from opencode_workspace import PROVIDER

from campaigns import Campaign
from hudkit.context.caching import ANTHROPIC, OPENAI, CachePolicy, simulate_cache, usd_cost
from hudkit.daemon import client
from hudkit.models.captured_request import CapturedRequest
from hudkit.testing.assertions import epoch_tag, prefix_difference, without_tail
from hudkit.testing.model_server import ScriptedModel
from hudkit.tokens import count_tokens, prices_of

pytestmark = pytest.mark.slow

DAY = Campaign("cost", quick=5, full=len(PROMPTS))
"""Turns of the session."""

MOST = 1.04 if DAY.rounds < len(PROMPTS) else 1.03
"""What it may cost with the HUD, to the same requests without it."""

MODELS = {"anthropic": ("claude-sonnet-4-5", "claude-opus-4-5"), "openai": ("m", "n")}
"""Names from which the rules of the cache are known; the others pass for a server with an automatic cache."""

MINUTES = 60_000


def price(chats: Sequence[CapturedRequest], policy: CachePolicy) -> float:
    """US dollars, answers left out, in a simulated cache that is warm but for the other model's first call."""
    switched = sum(map(calls_of_turn, range(SWITCHED)))
    times = (1_000 * n + (60 * MINUTES if n >= switched else 0) for n in range(len(chats)))
    requests = [chat.request(count_tokens, timestamp=at) for chat, at in zip(chats, times, strict=True)]
    return usd_cost(simulate_cache(requests, policy), prices_of("claude-sonnet-4-5"))


def breaks_are_epochs(chats: Sequence[CapturedRequest]) -> int:
    """Each request begins with the one before, but for the tail, where no new epoch begins and the cache is not cold
    anyway; return how many epochs begin."""
    epochs = 0
    for place, (before, after) in enumerate(pairwise(chats), 1):
        difference = prefix_difference(before, after, without_tail)
        is_new = epoch_tag(before) != epoch_tag(after)
        assert is_new or not difference or place == sum(map(calls_of_turn, range(SWITCHED))), difference
        epochs += is_new
    return epochs


def stubs(chat: CapturedRequest) -> int:
    return sum(piece.text.startswith("[pruned: ") for piece in chat.pieces if piece.role == "tool")


@DAY
@pytest.mark.parametrize("shape", ["anthropic", "openai"])
def test_a_long_session_costs_little_and_less_with_pruning(
    opencode: Hosts, model: ScriptedModel, place: Path, shape: str
) -> None:
    limit = {"context": LIMIT[0], "output": LIMIT[1]}
    known = {name: {"name": name, "tool_call": True, "limit": limit} for name in MODELS[shape]}
    config: dict[str, Any] = {
        "model": f"{PROVIDER}/{MODELS[shape][0]}",
        "small_model": f"{PROVIDER}/{MODELS[shape][0]}",
        "provider": {PROVIDER: {"models": known}},
    }
    whole = DAY.rounds == len(PROMPTS)
    sent: dict[str, list[CapturedRequest]] = {}
    for kind, settings in (("off", ""), ("on", PRUNED)) if whole else (("off", ""),):
        data = place / kind
        data.mkdir()
        plugins = [written(data)]
        host = opencode(settings=settings, shape=shape, plugins=plugins, files=FILES, limit=LIMIT, config=config)
        sent[kind] = lived(host, model, DAY.rounds, MODELS[shape])
        host.close()
        client.stop(data / "run" / "d.sock")
    off, on = sent["off"], sent.get("on", ())
    epochs = [breaks_are_epochs(chats) for chats in sent.values()]
    assert not any(map(stubs, off))
    last = sum(count_tokens(piece.text) for piece in off[-1].pieces)
    print(f"{shape}: {len(off)} calls, {last:,} tokens at the end, new epochs {epochs}")
    layers = layers_of(place / "off" / "hudkit.db")
    bare, no_tools = ([without_hud(chat, layers, tools=tools) for chat in off] for tools in (False, True))
    for policy in (ANTHROPIC, OPENAI):
        spent = price(off, policy)
        to_bare, to_none = spent / price(bare, policy), spent / price(no_tools, policy)
        print(f"  {policy.name}: layers x {to_bare:.3f}, with tools and calls x {to_none:.3f}")
        assert 1 < to_bare < to_none <= MOST
        if on:
            pruned = price(on, policy) / spent
            print(f"  {policy.name}: with pruning x {pruned:.3f} of without, {stubs(on[-1])} outputs went")
            assert stubs(on[-1]) and pruned < 1
