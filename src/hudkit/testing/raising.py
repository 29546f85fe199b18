"""What a suite asks of a call that has to fail, whatever runs the suite."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def raises(kind: type[E], call: Callable[[], object]) -> E:
    """The error of this kind that `call` raises; an `AssertionError` where it raises none."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")
