"""ModelCalibration: estimates that follow what is reported, whatever a report says; shares that add up."""

from __future__ import annotations

from math import isfinite

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.hud.window_usage import split_total
from hudkit.sections.model_calibration import (
    PART_COUNT,
    REQUEST_PARTS,
    ModelCalibration,
    estimate_tokens,
    inherit_calibration,
    learn_from_report,
)

TRUE = (1.3, 0.8, 1.0, 1.2, 1.4, 1.0, 1.1)
"""Factors of a model that counts otherwise than assumed."""


def amounts(call: int, *, small: bool = False) -> tuple[float, ...]:
    grown = call % 7 if small else call
    return (11_000.0, 24_000.0, 0.0, 900.0 * grown, 3_000.0 * grown, 1.0 + 2 * grown, 600.0)


def true(given: tuple[float, ...]) -> int:
    return round(sum(a * part[1] * f for a, part, f in zip(given, REQUEST_PARTS, TRUE, strict=True)))


def off(known: ModelCalibration, given: tuple[float, ...]) -> float:
    return abs(estimate_tokens(known, given).tokens - true(given)) / true(given)


def taught(calls: int) -> ModelCalibration:
    known = ModelCalibration("m")
    for call in range(calls):
        known = learn_from_report(known, amounts(call), true(amounts(call)))
    return known


def test_before_any_report_the_estimate_is_the_sum_of_the_parts() -> None:
    known = estimate_tokens(ModelCalibration(), amounts(3))
    assert known.tokens == pytest.approx(sum(a * part[1] for a, part in zip(amounts(3), REQUEST_PARTS, strict=True)))
    assert known.doubt > 0.05 * known.tokens and ModelCalibration().error is None


def test_reports_make_it_exact_and_sure() -> None:
    assert off(ModelCalibration(), amounts(8)) > 0.1
    known = taught(8)
    assert known.reports == 8 and off(known, amounts(8)) < 0.01
    assert off(known, amounts(40)) < 0.03, "far beyond what was seen"
    assert off(known, amounts(1)) < 0.03, "after a compaction"
    assert estimate_tokens(known, amounts(8)).doubt < estimate_tokens(ModelCalibration(), amounts(8)).doubt / 3


def test_a_single_odd_report_is_an_exception() -> None:
    known = taught(10)
    for odd in (true(amounts(10)) // 3, true(amounts(10)) * 4):
        after = learn_from_report(known, amounts(10), odd)
        assert after.outliers == 1
        assert off(after, amounts(11)) < 0.15
        again = learn_from_report(after, amounts(11), true(amounts(11)))
        assert off(again, amounts(12)) < 0.03


def test_a_model_that_counts_otherwise_from_now_on_is_followed() -> None:
    known = taught(10)
    for call in range(10, 16):
        known = learn_from_report(known, amounts(call), 2 * true(amounts(call)))
    assert abs(estimate_tokens(known, amounts(16)).tokens / true(amounts(16)) - 2) < 0.06


@pytest.mark.parametrize("reported", [0, -5])
def test_what_is_no_report_teaches_nothing(reported: int) -> None:
    assert learn_from_report(taught(3), amounts(3), reported) == taught(3)


def test_what_another_session_begins_with() -> None:
    known = inherit_calibration(taught(10))
    assert known.errors == () and known.factors == taught(10).factors
    assert off(known, amounts(1)) < 0.03
    assert estimate_tokens(known, amounts(9)).doubt > estimate_tokens(taught(10), amounts(9)).doubt


def test_the_error_is_of_estimates_made_before_their_reports() -> None:
    known = ModelCalibration("m")
    first = off(known, amounts(1))
    known = learn_from_report(known, amounts(1), true(amounts(1)))
    assert known.error == pytest.approx(first, abs=1e-4)


ANY = st.tuples(*(st.floats(0, 2**63) for _ in range(PART_COUNT)))


@given(st.lists(st.tuples(ANY, st.integers(-(2**63), 2**63)), max_size=6), ANY)
@settings(deadline=None)
def test_nothing_breaks_it(reports: list[tuple[tuple[float, ...], int]], ask: tuple[float, ...]) -> None:
    known = ModelCalibration("m")
    for given_, reported in reports:
        known = learn_from_report(known, given_, reported)
        assert all(isfinite(each) and abs(each) < 1e6 for each in (*known.factors, *known.doubts))
        assert msgspec.json.decode(msgspec.json.encode(known), type=ModelCalibration) == known
    found = estimate_tokens(known, ask)
    assert isfinite(found.tokens) and isfinite(found.doubt) and found.tokens >= 0 and min(found.shares) >= 0


NAMED = st.lists(st.tuples(st.text(max_size=3), st.floats(0, 1e9)), max_size=6)
COUNTED = st.lists(st.tuples(st.text(max_size=3), st.integers(0, 10**9)), max_size=3)


@given(st.integers(0, 10**9), NAMED, COUNTED)
@settings(deadline=None)
def test_shares_add_up(total: int, estimated: list[tuple[str, float]], exact: list[tuple[str, int]]) -> None:
    found = split_total(total, estimated, exact)
    something = any(weight for _, weight in (*estimated, *exact))
    assert sum(one.tokens for one in found) == (total if something else 0)
    assert [one.tokens for one in found] == sorted((one.tokens for one in found), reverse=True)
    assert all(one.tokens > 0 for one in found)
    if any(one.exact for one in found):
        assert {(one.part, one.tokens) for one in found if one.exact} <= set(exact)


def test_exact_parts_stay_and_the_others_are_scaled() -> None:
    found = split_total(1_000, [("words", 100.0), ("read", 300.0)], [("HUD", 200)])
    assert [(one.part, one.tokens, one.exact) for one in found] == [
        ("read", 600, False),
        ("HUD", 200, True),
        ("words", 200, False),
    ]
    assert [one.exact for one in split_total(100, [("words", 1.0)], [("HUD", 200)])] == [False]
