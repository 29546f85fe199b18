"""A message that grows while the records of a JSONL transcript are read, and calls that wait for their results."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from hudkit.transcripts.fields import bounded
from hudkit.transcripts.transcript import CompactionPart, Message, Part, Reported, TextPart, ToolPart

OPEN = 64
"""Messages that are kept back for a result that may still come."""


class Draft:
    """One message in the making; `key` groups the records that belong to it."""

    def __init__(self, id: str, role: str, created: int, key: str = "") -> None:
        self.id, self.role, self.created, self.key = id, role, created, key
        self.parts: list[Part] = []
        self.completed = 0
        self.model = self.finish = self.parent = self.error = self.agent = self.provider = ""
        self.summary = self.aborted = False
        self.usage: Reported | None = None

    def done(self, session_id: str) -> Message:
        return Message(
            id=self.id,
            session_id=session_id,
            role=self.role,
            created=self.created,
            completed=self.completed,
            agent=self.agent,
            model=self.model,
            provider=self.provider,
            parent_id=self.parent,
            finish=self.finish,
            summary=self.summary,
            error=self.error,
            aborted=self.aborted,
            usage=self.usage,
            parts=tuple(self.parts),
        )


class Drafts:
    """The last messages of a session in order, and where in them a call is."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.open: deque[Draft] = deque()
        self._calls: dict[str, tuple[Draft, int]] = {}

    def begin(self, draft: Draft) -> Draft:
        self.open.append(draft)
        return draft

    def last(self, role: str, key: str) -> Draft | None:
        """The newest message of this key, if nothing of the other role came since."""
        for draft in reversed(self.open):
            if draft.role != role:
                return None
            if draft.key == key:
                return draft
        return None

    def call(self, draft: Draft, part: ToolPart) -> None:
        self._calls[part.call_id] = (draft, len(draft.parts))
        draft.parts.append(part)

    def result(self, call_id: str, text: str, *, failed: bool, at: int) -> None:
        """A result goes to its call; without one, nowhere."""
        found = self._calls.pop(call_id, None)
        if found is None:
            return
        draft, index = found
        part = draft.parts[index]
        assert isinstance(part, ToolPart)
        changes: dict[str, Any] = {"error": text} if failed else {"output": text}
        status = "error" if failed else "completed"
        draft.parts[index] = msgspec.structs.replace(part, status=status, end=at, **changes)

    def compaction(self, id: str, at: int, summary: str, *, auto: bool, usage: Reported | None = None) -> None:
        """A compaction as two messages: the marker, and the summary that answers it."""
        marker = self.begin(Draft(id, "user", at))
        marker.parts.append(CompactionPart(f"{id}-c", auto=auto))
        answer = self.begin(Draft(f"{id}-s", "assistant", at))
        answer.parent, answer.finish, answer.summary, answer.completed, answer.usage = id, "stop", True, at, usage
        answer.parts.append(TextPart(f"{id}-t", summary))

    def ready(self) -> Iterator[Message]:
        """The messages to which nothing will be added any more."""
        while len(self.open) > OPEN:
            yield self._out()

    def rest(self) -> Iterator[Message]:
        while self.open:
            yield self._out()

    def _out(self) -> Message:
        draft = self.open.popleft()
        self._calls = {id: place for id, place in self._calls.items() if place[0] is not draft}
        return draft.done(self.session_id)


def stamp(value: object) -> int:
    """Unix milliseconds of an ISO 8601 text; 0 where it is none."""
    if not isinstance(value, str) or len(value) > 40:
        return 0
    try:
        moment = datetime.fromisoformat(value)
        return max(int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000), 0)
    except (ValueError, OverflowError):
        return 0


def said(content: object) -> str:
    """The text of a content that is a text, or a list of blocks of which some have a text."""
    if isinstance(content, str):
        return bounded(content)
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") for block in content if isinstance(block, dict)]
    return bounded("\n".join(text for text in texts if isinstance(text, str)))
