"""What a suite asks of a call that has to fail, whatever runs the suite: an error of one kind, to look at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def expect_error(kind: type[E], call: Callable[[], object]) -> E:
    """Return the error of this kind that `call` raises; an `AssertionError` where it raises none."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def expect_async_error(kind: type[E], awaitable: Awaitable[object]) -> E:
    """Return the error of this kind that is raised by what is awaited; an `AssertionError` where none is."""
    try:
        await awaitable
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")
