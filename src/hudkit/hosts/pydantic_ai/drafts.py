"""Which parts of a run's messages belong together: a response and the results of its calls; what else is said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelResponse,
    RetryFeedbackPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

OURS = "hudkit"
"""The key of what we note in metadata of the host's messages."""


class At(NamedTuple):
    """A part of a message, by their places."""

    message: int
    part: int


class Draft:
    """What belongs to one entry: a response with the results of its calls, or what a request says beside results."""

    def __init__(self, message: ModelMessage, first: At) -> None:
        self.message = message
        self.first = first
        self.last: At | None = None
        self.response = message if isinstance(message, ModelResponse) else None
        self.results: dict[str, Any] = {}
        self.parts: list[Any] = []

    @property
    def things(self) -> tuple[object, ...]:
        return (self.message, *self.results.values()) if self.response is not None else tuple(self.parts)

    @property
    def at(self) -> datetime | None:
        """When a run of the host made it; `None` where that is not known."""
        message = self.message
        if self.summary is not None:
            return _noted(self.summary)
        if self.response is not None:
            return message.timestamp if message.run_id else None
        # Two requests that the host joins lose their runs; one that was made anew beside it has neither.
        return getattr(self.parts[0], "timestamp", None) if message.run_id or message.timestamp else None

    @property
    def summary(self) -> CompactionPart | None:
        return next((part for part in self.parts if isinstance(part, CompactionPart)), None)

    @property
    def calls(self) -> list[str]:
        return [part.tool_call_id for part in self.message.parts if isinstance(part, ToolCallPart)][:1]


def _noted(summary: CompactionPart) -> datetime | None:
    """When a summary of ours was written."""
    noted = (summary.metadata or {}).get(OURS)
    try:
        return datetime.fromisoformat(noted["at"]) if isinstance(noted, dict) else None
    except (KeyError, TypeError, ValueError):
        return None


def drafts(messages: Sequence[ModelMessage]) -> list[Draft]:
    found: list[Draft] = []
    answered: dict[str, Draft] = {}
    for n, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            compacted = [at for at, part in enumerate(message.parts) if isinstance(part, CompactionPart)]
            if compacted:
                found, answered = [_summary(message, At(n, compacted[-1]))], {}
                if len(message.parts) == compacted[-1] + 1:
                    continue
            draft = Draft(message, At(n, 0))
            answered |= {part.tool_call_id: draft for part in message.parts if isinstance(part, ToolCallPart)}
            found.append(draft)
            continue
        asked: Draft | None = None
        parts: Sequence[Any] = message.parts
        for at, part in enumerate(parts):
            if isinstance(part, CompactionPart):
                found.append(_summary(message, At(n, at)))
            elif _is_result(part):
                if (owner := answered.get(part.tool_call_id)) is not None:
                    owner.results[part.tool_call_id] = part
                    owner.last = At(n, at)
            elif isinstance(part, UserPromptPart | RetryFeedbackPart) or part.part_kind == "retry-prompt":
                if asked is None:
                    asked = Draft(message, At(n, at))
                    found.append(asked)
                asked.parts.append(part)
                asked.last = At(n, at)
    return found


def _summary(message: ModelMessage, at: At) -> Draft:
    draft = Draft(message, at)
    draft.parts = [message.parts[at.part]]
    if draft.response is None:
        draft.last = at
    draft.response = None
    return draft


def _is_result(part: Any) -> bool:
    """Whether a part answers a call; a `RetryPromptPart` of older code does where it names a tool."""
    return isinstance(part, ToolReturnPart) or (part.part_kind == "retry-prompt" and part.tool_name is not None)
