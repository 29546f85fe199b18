"""Attention: fixed percents, `%*` as an equal share of what is left, 100 in all."""

from __future__ import annotations

import pytest

from hudkit.errors import OperationError
from hudkit.rooms.allowances import attention_shares, check_share, parse_share


@pytest.mark.parametrize(
    ("attention", "rooms", "expected"),
    [
        ({}, [5, 8], {5: 50.0, 8: 50.0}),
        ({8: 30.0}, [5, 8, 9], {5: 35.0, 8: 30.0, 9: 35.0}),
        ({5: 50.0, 8: 30.0, 9: 20.0}, [5, 8, 9], {5: 50.0, 8: 30.0, 9: 20.0}),
        ({5: 30.0}, [5], {5: 30.0}),
        ({5: 100.0}, [5, 8], {5: 100.0, 8: 0.0}),
        ({5: 80.0, 8: 80.0}, [5, 8, 9], {5: 50.0, 8: 50.0, 9: 0.0}),
        ({7: 60.0}, [5, 8], {5: 50.0, 8: 50.0}),
        ({}, [], {}),
    ],
    ids=[
        "equal",
        "rest is shared",
        "all fixed",
        "rest stays unused",
        "nothing is left",
        "too much",
        "left room",
        "none",
    ],
)
def test_shares(attention: dict[int, float], rooms: list[int], expected: dict[int, float]) -> None:
    assert attention_shares(attention, rooms) == expected


@pytest.mark.parametrize(
    ("said", "percent"),
    [
        ("30%", 30.0),
        ("30", 30.0),
        (30, 30.0),
        (12.5, 12.5),
        (" 12.5 % ", 12.5),
        ("0%", 0.0),
        ("%*", None),
        ("*", None),
    ],
)
def test_what_an_agent_writes_as_a_share(said: object, percent: float | None) -> None:
    assert parse_share(said) == percent


@pytest.mark.parametrize(
    "said", ["101%", -1, 101, "much", "", None, True, "1e2", "30%%", [30], float("nan"), 10**400]
)
def test_what_is_no_share(said: object) -> None:
    with pytest.raises(OperationError, match="is no share of attention"):
        parse_share(said)


def test_no_more_than_all_attention() -> None:
    check_share({5: 70.0}, 8, 30.0)
    check_share({5: 70.0, 8: 10.0}, 8, 30.0)
    check_share({5: 100.0}, 8, None)
    with pytest.raises(OperationError, match="101% in all") as caught:
        check_share({5: 70.0}, 8, 31.0)
    assert "30% are left" in str(caught.value)
