"""What the list, the keys and the options of `hudkit review` share: how an item is shown, what each answer does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from hudkit.api import HudSession
from hudkit.compose import visible
from hudkit.log.event import Origin
from hudkit.tools.review import ReviewedItem, drop_item, edit_item, keep_item, undo_answer

ANSWERS = {"keep": "kept", "edit": "edited", "drop": "dropped"}
"""What can be answered, each with how it is told afterwards."""

_INDENT = "    "

_WHO = {Origin.USER: "you", Origin.AGENT: "the agent", Origin.TOOL: "a tool's output", Origin.HOST: "the host"}


class ItemAnswer(msgspec.Struct, frozen=True):
    """What was answered about an item: the numbers of the events that record it, and what is told of it."""

    item: ReviewedItem
    answer: str
    seqs: tuple[int, ...]
    words: str


class ReviewSession(NamedTuple):
    """A session that is reviewed, and how it is called."""

    session: HudSession
    heading: str

    def answer(self, answer: str, item: ReviewedItem, text: str = "") -> ItemAnswer:
        """Record an answer about an item and return what was done. Raises `ConfigError` or a `StoreError`."""
        words = ANSWERS[answer]
        if answer == "keep":
            seqs = keep_item(self.session, item)
        elif answer == "drop":
            seqs = drop_item(self.session, item)
        else:
            seqs = edit_item(self.session, item, text)
            words = f"{words}, now: {text}"
        return ItemAnswer(item, answer, seqs, words)

    def take_back(self, answered: ItemAnswer) -> None:
        """Take an answer back: the item is as it was. Raises a `StoreError`."""
        if answered.seqs:
            undo_answer(self.session, answered.seqs)


def item_lines(item: ReviewedItem) -> Iterator[str]:
    """Return what a person needs to know of an item to answer: its text, and the sentence, who, when and doubt."""
    yield visible(f"{item.id}  {item.kind}: {item.text}")
    if item.reason:
        yield visible(f"{_INDENT}because: {item.reason}")
    if item.sentence and item.sentence != item.text:
        yield visible(f"{_INDENT}read in: {item.sentence}")
    form = f", as {_article(item.form)}" if item.form and item.form != item.kind else ""
    yield visible(f"{_INDENT}from {_WHO.get(item.origin, item.origin)}, {_minute(item.time)}{form}")
    if item.doubt:
        word = "but" if item.suspended else "may be over"
        yield visible(f"{_INDENT}{word}: {item.doubt}")


def _article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def _minute(timestamp: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return f"{timestamp} ms"
