"""The baseline: when the window is full to the trigger, all but the last messages are gone."""

from __future__ import annotations

from bench.retention.measure import KEEP, TRIGGER, System
from bench.retention.spoken import SYSTEM, Message, cut, sizes


class Tail(System):
    """Tail truncation, a result never without its call."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    def hear(self, message: Message) -> None:
        self._messages.append(message)

    def ask(self) -> list[str]:
        texts = self._texts()
        if sizes(texts) >= TRIGGER:
            del self._messages[: cut(self._messages, KEEP)]
            self.compactions += 1
            texts = self._texts()
        return texts

    def _texts(self) -> list[str]:
        return [SYSTEM, *(one.whole for one in self._messages)]
