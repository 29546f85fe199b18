"""Which outputs are pruned, and when: the pure rule."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.context.caching import ANTHROPIC, OPENAI, CachePolicy
from hudkit.context.compaction.cost_model import CallCosts, PrefixChange, future_cost, net_saving, upfront_cost
from hudkit.context.compaction.pruning import (
    PruneBounds,
    choose_pruning,
    prune_bounds,
    prune_candidates,
    stub_text,
    superseded_reads,
)
from hudkit.context.compaction.request_parts import CallOutput, MessageOutputs, locate_outputs
from hudkit.sections.call_history import FileUse

BOUNDS = PruneBounds(8_000, 6_000, 50_000)
POLICIES = pytest.mark.parametrize("policy", [ANTHROPIC, OPENAI], ids=lambda policy: policy.name)


def laid(sizes: list[int], tool: str = "bash", words: int = 400) -> list[CallOutput]:
    """Outputs of so many tokens, oldest first, with words of an answer before each, each in a turn of its own."""
    behind = [0, *accumulate(size + words for size in reversed(sizes))]
    return [
        CallOutput(f"c{n}", tool, 4 * size, 4 * behind[later], 2 * later, later)
        for n, size in enumerate(sizes)
        for later in [len(sizes) - 1 - n]
    ]


def standing(outputs: list[CallOutput], calls: int = 60, **more: float | bool) -> CallCosts:
    messages = (outputs[0].size + outputs[0].behind) / 4
    told = {"load": 10_000 + messages, "pace": messages / len(outputs), "growth": messages / len(outputs)} | more
    return CallCosts(fixed=10_000, calls=calls, usable=180_000, **told)  # type: ignore[arg-type]


@POLICIES
def test_a_cold_cache_is_the_time_for_everything_that_is_old(policy: CachePolicy) -> None:
    outputs = laid([3_000] * 20)
    options = prune_candidates(outputs, (), BOUNDS)
    choice = choose_pruning(options, standing(outputs, calls=1, cold=True), policy, BOUNDS)
    assert choice is not None
    assert [one.call for one in choice.outputs] == [one.call for one in options] == [f"c{n}" for n in range(17)]
    assert choice.cost < 0 < choice.saves
    assert choice.again == 0


@POLICIES
def test_a_warm_cache_is_left_alone_in_a_young_session(policy: CachePolicy) -> None:
    outputs = laid([3_000] * 20)
    options = prune_candidates(outputs, (), BOUNDS)
    assert choose_pruning(options, standing(outputs, calls=2), policy, BOUNDS) is None
    assert choose_pruning(options, standing(outputs, calls=100), policy, BOUNDS) is not None


def test_with_a_cache_that_reads_any_prefix_the_old_part_stays_in_it() -> None:
    """What was small and long ago is not worth to write all that is behind it again."""
    outputs = laid([150, 5_000, 5_000, *([150] * 100), *([6_000] * 4), 9_000, 150, 150])
    options = prune_candidates(outputs, (), BOUNDS)
    choice = choose_pruning(options, standing(outputs), OPENAI, BOUNDS)
    assert choice is not None
    assert choice.outputs[0].call != "c0"
    assert choice.outputs == options[-len(choice.outputs) :]


def test_what_is_protected_small_or_pruned_is_no_candidate() -> None:
    outputs = [
        *laid([5_000] * 4),
        *(
            CallOutput(tool, tool, 40_000, 200_000, 90, 9)
            for tool in ("hud", "memory", "skill", "todowrite", "task", "mine")
        ),
        CallOutput("small", "bash", 300, 200_000, 90, 9),
        CallOutput("near", "bash", 40_000, 20_000, 4, 9),
        CallOutput("failed", "bash", 40_000, 200_000, 90, 9),
        CallOutput("now", "bash", 40_000, 200_000, 90, 0),
        CallOutput("last", "bash", 40_000, 200_000, 90, 1),
        CallOutput("unknown", "read", 40_000, 200_000, 90, 9),
    ]
    candidates = prune_candidates(outputs, {"c1"}, BOUNDS, tools=["mi*"], needed={"failed"})
    assert [candidate.call for candidate in candidates] == ["c0"]  # c2 and c3 stand too near to the end


def test_what_was_pruned_before_protects_nothing() -> None:
    """The protected end is counted in what is really there."""
    outputs = laid([5_000] * 4)
    assert [one.call for one in prune_candidates(outputs, (), PruneBounds(10_000, 1))] == ["c0", "c1"]
    assert [one.call for one in prune_candidates(outputs, ("c3",), PruneBounds(10_000, 1))] == ["c0"]


def test_names_of_tools() -> None:
    everything = PruneBounds(0, 1)
    assert not prune_candidates(laid([5_000] * 3, tool="todowrite"), (), everything)
    assert prune_candidates(laid([5_000] * 3), (), everything, tools=("bas", "x*"))
    assert not prune_candidates(laid([5_000] * 3), (), everything, tools=("bas*",))
    stub = stub_text("p3", "a]\nb [c", 1_234)
    assert stub == '[pruned: a) b (c, 1,234 characters; memory output {"id":"p3"} gets it]'
    assert len(stub_text('a"\nb', "read", 9).splitlines()) == 1, "a host's own id of a call cannot break the line"
    assert len(stub_text("p99999", "\u202e" * 9_000, 10**12).splitlines()) == 1
    assert len(stub_text("p99999", "\u202e" * 9_000, 10**12)) < 400


def test_bounds_shrink_with_the_window_but_not_those_that_the_user_sets() -> None:
    assert prune_bounds(200_000, None, None, 50) == PruneBounds(8_000, 6_000, 100_000)
    assert prune_bounds(44_000, None, None, 50) == PruneBounds(3_666, 5_500, 22_000)
    assert prune_bounds(44_000, 40_000, 20_000, 60) == PruneBounds(40_000, 20_000, 26_400)
    assert prune_bounds(44_000, 8_000, 6_000, 50) == PruneBounds(8_000, 6_000, 22_000)


def test_what_a_later_read_repeats_is_superseded() -> None:
    a, b, c = "a.py", "b.py", "c.py"
    uses = [FileUse(a, "c1"), FileUse(a, "c2"), FileUse(a), FileUse(a, "c3"), FileUse(a, "c4")]
    uses += [FileUse(b, "c5"), FileUse(b, "c6", part="lines 1 to 20"), FileUse(b, "c7")]
    uses += [FileUse(c, "c8"), FileUse(c, "c9"), FileUse(c)]
    assert superseded_reads(uses) == {"c3", "c5"}
    assert superseded_reads(()) == frozenset()


@pytest.mark.slow
@POLICIES
@given(
    load=st.integers(12_000, 190_000),
    freed=st.integers(0, 10_000),
    growth=st.integers(0, 4_000),
    calls=st.integers(1, 2_000),
    usable=st.sampled_from([None, 36_000, 180_000, 900_000]),
)
def test_what_is_ahead_is_a_sum_over_calls(
    policy: CachePolicy, load: int, freed: int, growth: int, calls: int, usable: int | None
) -> None:
    """The closed form against the sum that it stands for, call by call."""
    now = CallCosts(load, 10_000, growth, growth, calls, usable)
    assert future_cost(load, now, policy) >= 0
    if usable is None:
        go_on, step = calls / (calls + 1), max(1, growth)
        summed, chance, size = 0.0, 1.0, float(load)
        for _ in range(60 * calls):
            summed += chance * (size * policy.read_factor + step * policy.write_factor)
            chance, size = chance * go_on, size + step
        assert future_cost(load, now, policy) == pytest.approx(summed, rel=1e-6)
        shorter = future_cost(load - freed, now, policy)
        assert shorter <= future_cost(load, now, policy)
        assert shorter == pytest.approx(
            future_cost(load, now, policy) - freed * policy.read_factor * (calls + 1), rel=1e-6
        )


@POLICIES
def test_what_pays_is_more_than_what_it_costs(policy: CachePolicy) -> None:
    now = CallCosts(100_000, 10_000, 1_500, 1_500, 50, 180_000)
    for freed in range(0, 80_000, 5_000):
        change = PrefixChange(freed, 90_000, 100)
        saves, cost = net_saving(change, now, policy), upfront_cost(change, now, policy)
        if saves:
            assert saves >= cost
        if not freed:
            assert saves == 0
    assert net_saving(PrefixChange(60_000, 90_000, 100), now, policy) > 0
    assert upfront_cost(PrefixChange(60_000, 90_000, 100), now._replace(cold=True), policy) == pytest.approx(
        -60_000 * policy.write_factor
    )


# -- what may never go, in any transcript ----------------------------------------------------------------------


class Step(NamedTuple):
    """A call in a random transcript: `path` is what a read or an edit is of."""

    tool: str
    path: str
    part: str
    size: int
    new_turn: bool


STEPS = st.lists(
    st.builds(
        Step,
        tool=st.sampled_from(["read", "read", "edit", "bash", "grep", "hud", "other"]),
        path=st.sampled_from(["a.py", "b.py", "c.py"]),
        part=st.sampled_from(["", "", "1-40"]),
        size=st.sampled_from([80, 2_000, 30_000, 120_000]),
        new_turn=st.booleans(),
    ),
    min_size=1,
    max_size=40,
)


@pytest.mark.slow
@POLICIES
@given(steps=STEPS, cold=st.booleans(), used=st.integers(0, 200_000), gone=st.sets(st.integers(0, 39)))
def test_what_is_protected_is_never_pruned(
    policy: CachePolicy, steps: list[Step], cold: bool, used: int, gone: set[int]
) -> None:
    """Against the rules said plainly: each output is looked at alone, with all that was done after it."""
    messages, uses = [], []
    for n, step in enumerate(steps):
        if step.new_turn:
            messages.append(MessageOutputs(200, prompt=True))
        messages.append(MessageOutputs(step.size + 400, [(f"c{n}", step.tool, step.size)]))
        if step.tool in ("read", "edit"):
            uses.append(FileUse(step.path, f"c{n}" if step.tool == "read" else "", step.part))
    outputs = locate_outputs(messages)
    bounds = prune_bounds(200_000, 4_000, 1, 50)
    stubs = {f"c{n}" for n in gone}
    candidates = prune_candidates(outputs, stubs, bounds, uses=uses, tools=["gr*"], needed={"c3"})
    costs = CallCosts(max(used, 1), 0.0, 2_000, 2_000, 50, 180_000, cold=cold, used=used)
    choice = choose_pruning(candidates, costs, policy, bounds)
    assert choice is None or (used >= 100_000 and set(choice.outputs) <= set(candidates))
    for candidate in candidates:
        n = int(candidate.call[1:])
        step, later = steps[n], steps[n + 1 :]
        assert sum(each.new_turn for each in later) >= 2, "the current turn and the last one"
        assert candidate.call not in {"c3", *stubs} and step.tool not in ("hud", "grep") and step.size > 400
        if step.tool == "read":
            on_file = [each for each in later if each.path == step.path and each.tool in ("read", "edit")]
            assert any(each.tool == "read" and each.part == step.part for each in on_file), "the last read of a file"
            assert all(each.tool == "read" for each in on_file), "a file that was edited since"
