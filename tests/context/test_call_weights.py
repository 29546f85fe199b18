"""What the HUD cost: the calls as reported, beside an estimate of the same calls without it."""

from __future__ import annotations

import pytest

from hudkit.context.caching import ANTHROPIC, CacheAccount, CallHits, LayerTokens, PrefixBreak, weigh_calls


def call(
    number: int, *, fresh: int = 0, read: int = 0, written: int = 0, hud: LayerTokens = LayerTokens()
) -> CallHits:
    """A call whose request was reported; of its HUD, what stands in front of the tail was read where anything was."""
    cached = LayerTokens(hud.base, hud.deltas) if read else None
    return CallHits(
        number, number * 10, 0, 1, "", fresh + read + written, read, written, read, 0, hud, LayerTokens(), cached
    )


def account(*calls: CallHits, breaks: tuple[PrefixBreak, ...] = ()) -> CacheAccount:
    return CacheAccount("claude-sonnet-4-5", ANTHROPIC, "", 0.25, False, calls, breaks)


def test_the_huds_own_tokens_are_not_sent_without_it() -> None:
    hud = LayerTokens(base=500, deltas=100, tail=40)
    (weight,) = weigh_calls(account(call(1, fresh=0, read=9_000, written=1_000, hud=hud)))
    assert weight.with_hud == pytest.approx(9_000 * 0.1 + 1_000 * 1.25)
    assert weight.with_hud - weight.without_hud == pytest.approx(600 * 0.1 + 40 * 1.25)


def test_a_prefix_that_a_new_base_broke_would_have_been_read() -> None:
    broken = PrefixBreak(2, 20, 0, "base", again=5_000)
    _, weight = weigh_calls(account(call(1, read=9_000), call(2, written=9_000), breaks=(broken,)))
    assert weight.with_hud - weight.without_hud == pytest.approx(5_000 * (1.25 - 0.1))


def test_what_pruning_took_out_would_still_be_read_by_later_calls() -> None:
    pruned = PrefixBreak(1, 10, 0, "pruned", again=1_000, outputs=2, freed=4_000, saved_calls=2)
    weights = weigh_calls(account(*(call(n, fresh=9_000) for n in (1, 2, 3, 4)), breaks=(pruned,)))
    gains = [weight.without_hud - weight.with_hud for weight in weights]
    assert gains == pytest.approx([-1_000 * (1.25 - 0.1), 400, 400, 0])


@pytest.mark.parametrize(
    "broken",
    [PrefixBreak(1, 10, 0, "idle", again=5_000), PrefixBreak(1, 10, 0, "base", reason="compaction", again=5_000)],
    ids=["idle", "compaction"],
)
def test_a_break_that_would_have_come_anyway_is_not_the_huds(broken: PrefixBreak) -> None:
    (weight,) = weigh_calls(account(call(1, written=9_000), breaks=(broken,)))
    assert weight.with_hud == weight.without_hud


def test_calls_without_a_report_weigh_nothing() -> None:
    silent = CallHits(1, 10, 0, 1, "", None, None, None, None, None, LayerTokens(500), LayerTokens(), None)
    assert weigh_calls(account(silent)) == ()
