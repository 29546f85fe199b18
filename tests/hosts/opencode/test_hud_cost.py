"""What the HUD costs in real OpenCode: the same session with and without it, priced on the captured requests."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from coding_day import FILES, LIMIT, STEPS, in_system, lived
from opencode_host import Hosts

from hudkit.context.caching import ANTHROPIC, OPENAI, CacheRequest, simulate_cache, sum_costs, usd_cost
from hudkit.models.captured_request import CapturedRequest, RequestPiece
from hudkit.testing.model_server import ScriptedModel
from hudkit.tokens import count_tokens, prices_of

pytestmark = pytest.mark.slow

DAYS = {7: 1.043, 17: 1.034, 20: 1.033}
"""Turns of a day, and what it may cost with the HUD, to the same day without it. The shorter begins the longer.

Wanted are 1.04 and 1.03, and measured 1.040, 1.032 and 1.030 (docs/benchmarks.md); on a machine that others use a
frame that comes too late costs up to 0.003 more."""

AS_A_LARGE_MODEL = '[budget]\ndigest = "far"\nguide = "never"\n'
"""What a model gets that is known to be a large one; the scripted model's name is one that nobody knows."""


def moved(chat: CapturedRequest, told: tuple[str, list[str]]) -> CapturedRequest:
    """The request with the whole HUD behind the system prompt, and none of its layers."""
    whole, gone = told
    pieces = []
    for piece in chat.pieces:
        text = piece.text
        for one in gone:
            text = text.replace(one, "")
        if text or not piece.text:
            pieces.append(msgspec.structs.replace(piece, text=text))
    last = max(n for n, piece in enumerate(pieces) if piece.role == "system")
    return msgspec.structs.replace(
        chat, pieces=(*pieces[: last + 1], RequestPiece("system", whole), *pieces[last + 1 :])
    )


def requests(chats: list[CapturedRequest]) -> list[CacheRequest]:
    return [chat.request(count_tokens, timestamp=1000 * n) for n, chat in enumerate(chats)]


def test_what_is_reused_is_never_less_and_the_hud_costs_little(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path
) -> None:
    """Without pruning, as is the default: it would hide in its savings what the HUD's layers cost."""
    (place / "config.toml").write_text(AS_A_LARGE_MODEL)
    env = {"HUDKIT_CONFIG": str(place / "config.toml")}
    told: dict[bool, list[CacheRequest]] = {}
    system: list[CacheRequest] = []
    for with_hud in (False, True):
        plugins = [plugin] if with_hud else []
        host = opencode(own=True, shape="anthropic", plugins=plugins, files=FILES, limit=LIMIT, env=env)
        chats = lived(host, model, max(DAYS), with_hud)
        told[with_hud] = requests(chats)
        if with_hud:
            whole = in_system(plugin.parent / "hudkit.db")
            system = requests([moved(*pair) for pair in zip(chats, whole, strict=True)])
        host.close()
    for turns, most in DAYS.items():
        calls = turns * (STEPS + 1)
        priced({on: sent[:calls] for on, sent in told.items()}, system[:calls], most)


def priced(told: dict[bool, list[CacheRequest]], system: list[CacheRequest], most: float) -> None:
    """The price with the HUD to that without it is at most `most`, and in the system prompt it would be high."""
    prices = prices_of("claude-sonnet-4-5")
    for policy in (ANTHROPIC, OPENAI):
        without, with_it = (simulate_cache(told[key], policy) for key in (False, True))
        ratio = usd_cost(with_it, prices) / usd_cost(without, prices)
        hits = f"hits {sum_costs(without).hit_ratio:.3f} -> {sum_costs(with_it).hit_ratio:.3f}"
        worse = usd_cost(simulate_cache(system, policy), prices) / usd_cost(without, prices)
        print(f"{policy.name}: {len(system)} calls, x {ratio:.3f}, in the system prompt x {worse:.2f}, {hits}")
        assert ratio <= most < 2 < worse, policy
        reused = [(a.read, b.read) for a, b in zip(without, with_it, strict=True)]
        assert all(b >= a for a, b in reused[1:]), reused
