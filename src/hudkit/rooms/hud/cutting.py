"""The longest beginning of a list or of a text that fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hudkit.compose import shorten

T = TypeVar("T")


def most_that_fits(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """The greatest number up to `most` that fits, or `least` where none does; what fits, fits with less, too."""
    if most <= least or fits(most):
        return most
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if fits(middle) else (least, middle)
    return least


def first_that_fit(items: Sequence[T], fits: Callable[[list[T]], bool]) -> list[T]:
    """As many of the first items as fit together; none where not even one does."""
    return list(items[: most_that_fits(0, len(items), lambda number: fits(list(items[:number])))])


def cut(text: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning of a text that fits, with an ellipsis; the ellipsis alone where none does."""
    return shorten(text, most_that_fits(1, len(text), lambda number: fits(shorten(text, number))))
