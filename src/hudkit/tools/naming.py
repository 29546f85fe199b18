"""Which item is meant: by its id, its exact text, its place, or a part of its text that no other has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.sections.items import SectionItem
from hudkit.tools.lines import called, echo, stored
from hudkit.tools.operation import MOST_BYTES

CANDIDATES = 5

Name = Annotated[str, Meta(min_length=1, max_length=MOST_BYTES, pattern=r"\S")]

I = TypeVar("I", bound=SectionItem)  # noqa: E741


def named(items: Sequence[I], name: str | int, noun: str, text: Callable[[I], str], *, places: bool = False) -> I:
    """The one item that `name` names; with `places` a number is a place, counted from 1.

    Raises `OperationError` with the candidates; its `wrong` and `right` say what to put in place of what.
    """
    if isinstance(name, int):
        if places and 1 <= name <= len(items):
            return items[name - 1]
        raise _unknown(items, name, noun, text)
    asked = stored(name)
    for exact in (lambda item: item.id == asked, lambda item: text(item) == asked):
        for item in items:
            if exact(item):
                return item
    if places and asked.isascii() and asked.strip().isdigit() and 1 <= int(asked[:9]) <= len(items):
        return items[int(asked[:9]) - 1]
    part = asked.strip().casefold()
    found = [item for item in items if item.id.casefold() == part]
    found = found or [item for item in items if part in text(item).casefold()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise _unknown(items, name, noun, text)
    raise OperationError(
        f"{echo(name)} names {len(found)} {noun}s",
        hint=f"It could be {_candidates(found, text)}.",
        wrong=name,
        right=found[0].id,
        candidates=[item.id for item in found[:CANDIDATES]],
    )


def _unknown(items: Sequence[I], name: str | int, noun: str, text: Callable[[I], str]) -> OperationError:
    if not items:
        return OperationError(f"there is no {noun} {_said(name)}", hint=f"There are no {noun}s now.")
    newest = items[::-1]
    return OperationError(
        f"there is no {noun} {_said(name)}",
        hint=f"There {'are' if len(items) > 1 else 'is'}: {_candidates(newest, text)}.",
        wrong=name,
        right=newest[0].id,
        candidates=[item.id for item in newest[:CANDIDATES]],
    )


def _said(name: str | int) -> str:
    return echo(name) if isinstance(name, str) else f"at place {str(name)[:20]}"


def _candidates(items: Sequence[I], text: Callable[[I], str]) -> str:
    told = [
        f"{called(item.id)}{'' if text(item) == item.id else ' ' + echo(text(item), 40)}"
        for item in items[:CANDIDATES]
    ]
    rest = len(items) - len(told)
    return "; ".join(told) + (f"; and {rest} more" if rest > 0 else "")
