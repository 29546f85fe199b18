"""Which item is meant: by its id, its exact text, its place, or a part of its text that no other has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.items import SectionItem
from hudkit.tools.answer_text import id_text, quote
from hudkit.tools.operation import MAX_TEXT_BYTES

_MAX_CANDIDATES = 5

ItemName = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_BYTES, pattern=r"\S")]

I = TypeVar("I", bound=SectionItem)  # noqa: E741


def resolve_item(
    items: Sequence[I], name: str | int, noun: str, text: Callable[[I], str], *, places: bool = False
) -> I:
    """Return the one item that `name` names; with `places` a number is a place, counted from 1.

    Raises `OperationError` with the candidates. None of them is offered as the right one: which item is meant, only
    the agent knows.
    """
    if isinstance(name, int):
        if places and 1 <= name <= len(items):
            return items[name - 1]
        raise _unknown_item(items, name, noun, text)
    asked = without_secrets(name)
    # What names an item exactly goes before a part of another's text.
    for exact in (lambda item: item.id == asked, lambda item: text(item) == asked):
        for item in items:
            if exact(item):
                return item
    # Nine digits are more than any list has, and few enough to convert.
    if places and asked.isascii() and asked.strip().isdigit() and 1 <= int(asked[:9]) <= len(items):
        return items[int(asked[:9]) - 1]
    part = asked.strip().casefold()
    matches = [item for item in items if item.id.casefold() == part]
    matches = matches or [item for item in items if part in text(item).casefold()]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise _unknown_item(items, name, noun, text)
    raise OperationError(
        f"{quote(name)} names {len(matches)} {noun}s",
        hint=f"It could be {_candidates(matches, text)}.",
        candidates=[item.id for item in matches[:_MAX_CANDIDATES]],
    )


def _unknown_item(items: Sequence[I], name: str | int, noun: str, text: Callable[[I], str]) -> OperationError:
    if not items:
        return OperationError(f"there is no {noun} {_quoted_name(name)}", hint=f"There are no {noun}s now.")
    # Whoever names a wrong item mostly means a recent one.
    newest = items[::-1]
    return OperationError(
        f"there is no {noun} {_quoted_name(name)}",
        hint=f"There {'are' if len(items) > 1 else 'is'}: {_candidates(newest, text)}.",
        candidates=[item.id for item in newest[:_MAX_CANDIDATES]],
    )


def _quoted_name(name: str | int) -> str:
    return quote(name) if isinstance(name, str) else f"at place {str(name)[:20]}"


def _candidates(items: Sequence[I], text: Callable[[I], str]) -> str:
    names = [
        f"{id_text(item.id)}{'' if text(item) == item.id else ' ' + quote(text(item), 40)}"
        for item in items[:_MAX_CANDIDATES]
    ]
    rest = len(items) - len(names)
    return "; ".join(names) + (f"; and {rest} more" if rest > 0 else "")
