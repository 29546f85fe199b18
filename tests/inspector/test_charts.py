"""Plots: every call has its place, heights are in proportion, and what is drawn is told in numbers, too."""

from __future__ import annotations

import re

import pytest

from hudkit.inspector.charts import HEIGHT, MAX_COLUMNS, WIDTH, CallMark, Series, line_plot, share_bar, stacked_plot
from hudkit.web.elements import write


def marks(count: int) -> list[CallMark]:
    return [CallMark(n + 1, f"call {n + 1}: x", f"/call?at={n + 1}") for n in range(count)]


def test_layers_stand_on_one_another_in_proportion() -> None:
    series = [Series("low", "a", (10.0, 20.0)), Series("high", "b", (10.0, 40.0))]
    picture = write(stacked_plot("T", "tokens", series, marks(2), limit=100))
    low, high = re.findall(r'<path d="([^"]+)"', picture)
    assert low.startswith(f"M0 {HEIGHT * 0.9:g}H{WIDTH // 2}L{WIDTH // 2} {HEIGHT * 0.8:g}H{WIDTH}")
    assert high.startswith(f"M0 {HEIGHT * 0.8:g}H{WIDTH // 2}L{WIDTH // 2} {HEIGHT * 0.4:g}H{WIDTH}")
    assert "dashed: the limit of 100" in picture and 'class="limit"' in picture
    # The legend is in the order of the layers from above, with the last values; the table has all.
    assert picture.index(">high<b>40") < picture.index(">low<b>20")
    assert "<td>10</td><td>10</td>" in picture


def test_a_limit_far_above_is_told_and_not_drawn() -> None:
    picture = write(stacked_plot("T", "tokens", [Series("low", "a", (900.0,))], marks(1), limit=200_000))
    assert "the limit is 200,000" in picture and 'class="limit"' not in picture and ">1,000<" in picture


@pytest.mark.parametrize("count", [1, 2, MAX_COLUMNS, 5 * MAX_COLUMNS + 7])
def test_of_many_calls_neighbours_share_a_column_and_the_largest_is_drawn(count: int) -> None:
    peak = count - 1
    values = tuple(1_000.0 if n == peak else 1.0 for n in range(count))
    picture = write(stacked_plot("T", "tokens", [Series("x", "a", values)], marks(count)))
    assert picture.count('class="column"') == min(count, MAX_COLUMNS)
    assert (
        f"/call?at={peak + 1}" in picture
        and f"{WIDTH - WIDTH / min(count, MAX_COLUMNS):.1f}".removesuffix(".0") in picture
    )


def test_a_line_ends_at_the_height_of_its_last_value() -> None:
    picture = write(line_plot("T", "tokens", [Series("x", "a", (0.0, 50.0, 100.0))], marks(3)))
    (line,) = re.findall(r'<path d="([^"]+)"', picture)
    assert line.endswith(" 0") and line.count("L") == 2


def test_the_parts_of_a_bar_fill_their_share() -> None:
    bar = write(share_bar([("used", "a", 25), ("kept", "b", 25)], 100))
    assert re.findall(r'x="([\d.]+)" y="0" width="([\d.]+)"', bar) == [("0", "250"), ("250", "250")]
    assert "<title>used: 25</title>" in bar
