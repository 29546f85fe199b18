"""Where two requests part, and what the break costs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.context.caching import OPENAI, CacheBlock, CacheRequest, find_breaks, find_divergence, simulate_cache

SYSTEM = CacheBlock("system", 1_280, "system")
HUD = CacheBlock("hud1", 256, "system")
HUD2 = CacheBlock("hud2", 128, "system")
ASK = CacheBlock("ask", 512)
ANSWER = CacheBlock("answer", 384, "assistant")


def request(*blocks: CacheBlock) -> CacheRequest:
    return CacheRequest(blocks, 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((), ()),
        ((), (SYSTEM,)),
        ((SYSTEM, ASK), (SYSTEM, ASK)),
        ((SYSTEM, ASK), (SYSTEM, ASK, ANSWER)),
        ((SYSTEM, ASK, ANSWER), (SYSTEM, ASK)),
        ((SYSTEM, ASK), (SYSTEM, CacheBlock("ask", 512, breakpoint=True))),
    ],
    ids=["both empty", "from empty", "same", "appended", "cut", "breakpoint moved"],
)
def test_continuations_do_not_diverge(before, after):
    assert find_divergence(request(*before), request(*after)) is None


def test_a_changed_hud_in_the_system_prompt():
    found = find_divergence(request(SYSTEM, HUD, ASK), request(SYSTEM, HUD2, ASK, ANSWER))
    assert found is not None
    assert (found.index, found.offset) == (1, 1_280)
    assert (found.before, found.after) == (HUD, HUD2)
    assert found.processed == 128 + 512 + 384
    assert found.again == 512, "the question was there before; the answer is new anyway"


def test_a_role_that_changes_is_a_break():
    found = find_divergence(request(SYSTEM, ASK), request(SYSTEM, CacheBlock("ask", 512, "tool")))
    assert found is not None
    assert (found.before.role, found.after.role, found.again) == ("user", "tool", 0)


def test_repeated_blocks_count_once_each():
    found = find_divergence(request(HUD, ASK), request(HUD2, ASK, ASK, ASK))
    assert found is not None
    assert (found.processed, found.again) == (128 + 3 * 512, 512)


def test_breaks_of_a_run():
    run = [request(SYSTEM), request(SYSTEM, ASK), request(SYSTEM, HUD, ASK), request(SYSTEM, HUD, ASK, ANSWER)]
    found = find_breaks(run)
    assert [(entry.call, entry.divergence.index) for entry in found] == [(2, 1)]
    assert find_breaks(run[:1]) == find_breaks([]) == ()


BLOCK = st.sampled_from([SYSTEM, HUD, HUD2, ASK, ANSWER])


@given(one=st.lists(BLOCK, max_size=12), other=st.lists(BLOCK, max_size=12))
@settings(deadline=None)
def test_agrees_with_the_simulator(one, other):
    """All sizes are multiples of 128, so automatic caching reads exactly what lies before the divergence."""
    before, after = request(*one), request(*other)
    found = find_divergence(before, after)
    read = simulate_cache([before, after], OPENAI)[1].read
    if found is None:
        shared = min(before.tokens, after.tokens)
        assert read == (shared if shared >= OPENAI.minimum else 0)
    else:
        assert read == (found.offset if found.offset >= OPENAI.minimum else 0)
        assert found.offset + found.processed == after.tokens
        assert 0 <= found.again <= found.processed
