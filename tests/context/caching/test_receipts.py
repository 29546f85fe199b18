"""A session's receipt: cost with the HUD ÷ without, from what the host recorded of its own calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudkit.context.caching import CostReceipt, HudText, receipt_of_trail
from hudkit.context.caching.cache_text import receipt_line
from hudkit.transcripts.cost_trail import TrailCall
from hudkit.transcripts.transcript import ReportedUsage
from hudkit.transcripts.transcript_follower import TranscriptFollower

DATA = Path(__file__).parents[2] / "transcripts" / "data"
BASE = HudText("<hud>the base</hud>\n", 500)
DELTA = HudText("<hud>a change</hud>\n", 100)


def _call(read: int, written: int, *blocks: str, compacted: bool = False) -> TrailCall:
    return TrailCall(0, "claude-sonnet-4-5", ReportedUsage(cache_read=read, cache_write=written), blocks, compacted)


def test_a_text_is_paid_in_full_once_and_then_read() -> None:
    trail = [
        _call(0, 20_000, "<hud>the base</hud>"),
        _call(20_000, 1_000),
        _call(21_000, 400, "x\n<hud>a change</hud>"),
    ]
    receipt = receipt_of_trail(trail, [BASE, DELTA])
    assert receipt.with_hud == pytest.approx(25_000 + 2_000 + 1_250 + 2_100 + 500)
    own = 500 * 1.25 + 500 * 0.1 + 500 * 0.1 + 100 * 1.25
    assert receipt.with_hud - receipt.without_hud == pytest.approx(own)
    assert (receipt.calls, receipt.compactions) == (3, 0)


def test_what_stood_before_a_compaction_costs_nothing_after_it() -> None:
    before = [_call(0, 20_000, "<hud>the base</hud>")]
    alone = receipt_of_trail(before, [BASE])
    both = receipt_of_trail([*before, _call(10_000, 500, compacted=True)], [BASE])
    assert both.compactions == 1
    assert both.with_hud - both.without_hud == pytest.approx(alone.with_hud - alone.without_hud)


def test_a_base_in_the_system_prompt_is_in_every_call_since_it_was_made() -> None:
    base = HudText("base", 500, time=10, in_system=True)
    trail = [TrailCall(time, "claude-x", ReportedUsage(cache_read=10_000, cache_write=1)) for time in (5, 15, 20)]
    receipt = receipt_of_trail(trail, [base])
    assert receipt.with_hud - receipt.without_hud == pytest.approx(500 * 1.25 + 500 * 0.1)


def test_texts_of_others_are_not_ours_and_nothing_reported_is_no_receipt() -> None:
    receipt = receipt_of_trail([_call(0, 20_000, "another hook's text")], [BASE])
    assert receipt.times == 1.0
    assert receipt_line(receipt) == "HUD: × 1.00 of the cost without it, 1 call"
    assert receipt_line(CostReceipt(0, 0, 0.0, 0.0)) == ""


@pytest.mark.parametrize(
    ("name", "host", "calls", "blocks"), [("claude-day", "claude-code", 11, 20), ("codex-day", "codex", 9, 10)]
)
def test_the_trail_has_every_call_and_what_hooks_added_in_real_files(
    name: str, host: str, calls: int, blocks: int
) -> None:
    trail = TranscriptFollower(host, DATA / f"{name}.jsonl").read(trail=True).trail
    assert len(trail) == calls
    assert sum(len(call.blocks) for call in trail) >= blocks
    assert all(block.startswith("<hud") for call in trail for block in call.blocks)
    compactions = [call.compacted for call in trail].count(True)
    assert compactions == {"claude-day": 1, "codex-day": 2}[name]
