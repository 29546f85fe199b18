"""What holds for every run of requests, under every policy."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.context.caching import ANTHROPIC, ANTHROPIC_HOUR, OPENAI, CacheBlock, CacheRequest, simulate_cache

POLICIES = pytest.mark.parametrize("policy", [ANTHROPIC, ANTHROPIC_HOUR, OPENAI], ids=lambda policy: policy.name)

SIZES = {f"k{number}": number * 173 % 1_500 for number in range(12)}  # one key, one size
BLOCK = st.builds(
    lambda key, role: CacheBlock(key, SIZES[key], role),
    st.sampled_from(sorted(SIZES)),
    st.sampled_from(["system", "user"]),
)


def marked(blocks: list[CacheBlock], places: set[int]) -> tuple[CacheBlock, ...]:
    return tuple(
        CacheBlock(block.key, block.tokens, block.role, place in places) for place, block in enumerate(blocks)
    )


@st.composite
def requests(draw) -> list[CacheRequest]:
    """A run in which requests share prefixes, grow, shrink and change; minutes apart; up to 4 breakpoints."""
    run: list[CacheRequest] = []
    content = draw(st.lists(BLOCK, min_size=1, max_size=30))
    at = 0
    for _ in range(draw(st.integers(1, 6))):
        cut = draw(st.integers(0, len(content)))
        content = content[:cut] + draw(st.lists(BLOCK, max_size=25))
        places = draw(st.sets(st.integers(0, max(0, len(content) - 1)), max_size=4))
        run.append(CacheRequest(marked(content, places), at))
        at += draw(st.integers(0, 8 * 60_000))
    return run


def common_tokens(one: CacheRequest, other: CacheRequest) -> int:
    tokens = 0
    for old, new in zip(one.blocks, other.blocks, strict=False):
        if (old.key, old.role) != (new.key, new.role):
            break
        tokens += new.tokens
    return tokens


@pytest.mark.slow
@POLICIES
@given(run=requests())
@settings(deadline=None)
def test_each_token_is_counted_once(policy, run):
    for request, call in zip(run, simulate_cache(run, policy), strict=True):
        assert call.read + call.written + call.fresh == request.tokens
        assert min(call.read, call.written, call.fresh) >= 0


@pytest.mark.slow
@POLICIES
@given(run=requests())
@settings(deadline=None)
def test_no_more_is_reused_than_was_ever_sent(policy, run):
    for place, call in enumerate(simulate_cache(run, policy)):
        assert call.read <= max((common_tokens(earlier, run[place]) for earlier in run[:place]), default=0)


@pytest.mark.slow
@POLICIES
@given(growth=st.lists(st.lists(BLOCK, min_size=1, max_size=19), min_size=2, max_size=8))
@settings(deadline=None)
def test_appending_never_reduces_reuse(policy, growth):
    """The breakpoint on the last block; never more new blocks than the look-back spans."""
    content: list[CacheBlock] = []
    run = []
    for new in growth:
        content = content + new
        run.append(CacheRequest(marked(content, {len(content) - 1}), 0))
    reads = [call.read for call in simulate_cache(run, policy)]
    assert reads == sorted(reads)
    for before, request, read in zip(run, run[1:], reads[1:], strict=False):
        assert (
            read >= min(before.tokens, request.tokens) - policy.step or before.tokens < policy.minimum + policy.step
        )


@pytest.mark.slow
@POLICIES
@given(history=st.lists(BLOCK, min_size=1, max_size=30), place=st.integers(0, 2))
@settings(deadline=None)
def test_a_changed_system_block_leaves_nothing_behind_it(policy, history, place):
    system = [CacheBlock(f"s{number}", 1_280, "system") for number in range(3)]
    changed = [*system]
    changed[place] = CacheBlock("new", 1_280, "system")
    ends = {2, 2 + len(history)}
    run = [CacheRequest(marked(content + history, {0, 1, *ends}), 0) for content in (system, changed)]
    assert simulate_cache(run, policy)[1].read == 1_280 * place
