"""The messages of a scripted session in order, and what a model is sent of them as text with its count of tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from bench.retention.sessions import Turn
from hudkit.tokens import shared_counter

SYSTEM = (
    "You are an agent that works in a project of the user's with tools. Keep to what the user asks, say what you "
    "decide, and go on until the task is done."
)
AROUND = 4
"""Tokens that a message costs beside its text."""


class Message(msgspec.Struct, frozen=True):
    """`role` is user, assistant or tool; an assistant's message may hold one call, and the tool's answers it."""

    id: str
    role: str
    text: str
    call: str = ""
    tool: str = ""
    input: dict[str, Any] = {}

    @property
    def whole(self) -> str:
        """The text as the model gets it, the call included."""
        if self.role != "assistant" or not self.call:
            return self.text
        return written(self.text, ((self.tool, self.input),))


def written(text: str, calls: Iterable[tuple[str, Any]]) -> str:
    """A text and its tool calls."""
    told = [f"{name}({json.dumps(given, ensure_ascii=False)})" for name, given in calls]
    return "\n".join([text, *told] if text else told)


def before(number: int, turn: Turn) -> Iterator[Message]:
    """What comes in front of a turn's model call."""
    if turn.user:
        yield Message(f"u{number}", "user", turn.user)


def after(number: int, turn: Turn) -> Iterator[Message]:
    """The model's answer with its call, and the call's result."""
    call = f"call_{number}"
    yield Message(f"a{number}", "assistant", turn.agent, call, turn.tool.name, turn.tool.input)
    yield Message(f"t{number}", "tool", turn.tool.output, call, turn.tool.name)


@lru_cache(maxsize=20_000)
def size(text: str) -> int:
    """Tokens of one message (o200k_base)."""
    return _COUNTER.count(text) + AROUND


def sizes(texts: Iterable[str]) -> int:
    return sum(map(size, texts))


def cut(messages: list[Message], keep: int) -> int:
    """Where the last `keep` messages begin; a tool's result is not parted from its call."""
    place = max(len(messages) - keep, 0)
    while place and messages[place].role == "tool":
        place -= 1
    return place


_COUNTER = shared_counter()
