"""Invented conversations of many sessions as a `Transcript`, and questions with the messages that answer them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from hudkit.transcripts import Message, SessionRow, TextPart, Todo, ToolPart, UnreadableRecord

_HERE = Path(__file__).parent
_LABEL = re.compile(r"#([a-z0-9-]+) ")


class Asked(NamedTuple):
    text: str
    gold: frozenset[str]


class Talks:
    """`talks.txt`: a line a message, `#label` names one that a question is about."""

    host = "talks"
    skipped: tuple[UnreadableRecord, ...] = ()

    def __init__(self) -> None:
        self.rows: list[SessionRow] = []
        self.said: dict[str, list[Message]] = {}
        self.labels: dict[str, str] = {}
        for line in (_HERE / "talks.txt").read_text("utf-8").splitlines():
            if line.startswith("@"):
                self._begin(line)
            elif line:
                self._say(line)

    def _begin(self, line: str) -> None:
        id, title, root, day = (part.strip() for part in line[1:].split("|"))
        at = int(datetime.fromisoformat(day).replace(hour=9, tzinfo=UTC).timestamp() * 1000)
        self.rows.append(SessionRow(id, self.host, title=title, directory=root, root=root, created=at, updated=at))
        self.said[id] = []

    def _say(self, line: str) -> None:
        row = self.rows[-1]
        messages = self.said[row.id]
        id, at = f"{row.id}:{len(messages) + 1}", row.created + 60_000 * len(messages)
        who, _, text = line.partition(": ")
        for label in _LABEL.findall(text):
            self.labels[label] = id
        text = _LABEL.sub("", text)
        tool = who.partition(" ")[2]
        part = ToolPart(id, tool, id, "completed", {}, text) if tool else TextPart(id, text)
        role = "user" if who == "u" else "assistant"
        messages.append(Message(id, row.id, role, at, at, finish="stop", parts=(part,)))

    def questions(self) -> list[Asked]:
        lines = (_HERE / "questions.txt").read_text("utf-8").splitlines()
        found = [line.split(" => ") for line in lines if line]
        return [Asked(text, frozenset(self.labels[one] for one in gold.split())) for text, gold in found]

    # -- the protocol ------------------------------------------------------------------------------------------

    def sessions(self) -> tuple[SessionRow, ...]:
        return tuple(self.rows)

    def session(self, session_id: str) -> SessionRow | None:
        return next((row for row in self.rows if row.id == session_id), None)

    def messages(self, session_id: str, *, after: str = "") -> Iterator[Message]:
        said = self.said.get(session_id, [])
        start = next((n for n, one in enumerate(said, 1) if one.id == after), 0)
        return iter(said[start:])

    def todos(self, session_id: str) -> tuple[Todo, ...]:
        return ()

    def close(self) -> None:
        pass
