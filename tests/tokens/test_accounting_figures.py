"""Estimates of requests against reported usage, on the recorded calls of three wire shapes and the recorded day."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

import pytest
from bench.accounting import KINDS, SHAPES, errors, lived, recorded

from hudkit.log.payloads import CompactAfter, ContextSnapshot

MOST = 3.0
"""Per cent: the target of the issue."""


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_after_calibration_an_estimate_is_within_three_per_cent(shape: str, kind: str) -> None:
    day = recorded(f"{shape}_{kind}")
    found = errors(day)
    assert len(found) > 50
    assert median(found[5:]) <= MOST / 3
    most = 0.8 if kind == "words" else 0.9  # characters do not tell a script, and Chinese is four times as dense
    assert sum(each <= MOST for each in found[5:]) >= most * len(found[5:])
    assert median(errors(day, learning=0)) > MOST / 2, "without calibration it is no such thing"


@pytest.mark.slow
def test_the_recorded_day_is_within_three_per_cent() -> None:
    found = errors(lived())
    assert len(found) > 100 and max(found[5:]) <= MOST < median(errors(lived(), learning=0))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_another_session_begins_with_what_was_learned(shape: str) -> None:
    for before, after in pairwise(recorded(f"{shape}_{kind}") for kind in KINDS):
        assert errors(after, after=before)[0] <= MOST < errors(after)[0]


@pytest.mark.slow
def test_the_recordings_hold_a_compaction() -> None:
    for shape in SHAPES:
        for kind in KINDS:
            day = [payload for _, payload in recorded(f"{shape}_{kind}")]
            assert any(isinstance(one, CompactAfter) for one in day)
            assert any(isinstance(one, ContextSnapshot) and one.parts and one.parts.outputs for one in day)
