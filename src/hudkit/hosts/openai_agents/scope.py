"""Conversations of the Agents SDK, as the runs of one `HudRunner` see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from agents import ModelResponse

from hudkit.hosts.in_process import InProcessHud
from hudkit.hosts.openai_agents.asked import reported
from hudkit.hosts.openai_agents.compacting import Compacted
from hudkit.hosts.openai_agents.items import Hearing, Item, Span, spans
from hudkit.tokens import Window
from hudkit.transcripts import ReportedUsage

REMEMBERED = 1_000
"""Responses by whose ids a conversation without a name is known again."""


class Scope:
    """One conversation of the SDK as its runs see it. `parent` is the host's id of the one that started it."""

    def __init__(self, id: str, parent: str, names: Mapping[str, str]) -> None:
        self.id = id
        self.parent = parent
        self.busy = 0
        """Tools of it that are running now: what is started meanwhile is started by it."""
        self.compacts = False
        self.compacted = Compacted()
        self.items: list[Item] = []
        """The transcript of the last call, and what was answered."""
        self.used: int | None = None
        """Tokens in the window after the last response."""
        self.hearing = Hearing(id, names, {}, {})
        self._untold: ReportedUsage | None = None

    def read(self, items: Sequence[Item]) -> list[Span]:
        """The messages of a transcript; what the last response cost is that of the last one."""
        found = spans(items, self.hearing)
        if self._untold is None:
            return found
        last = next((span.entry for span in reversed(found) if span.entry.message.role == "assistant"), None)
        if last is not None and not last.message.summary:
            self.hearing.usage[last.key] = self._untold
        self._untold = None
        return spans(items, self.hearing)

    def answered(self, response: ModelResponse) -> bool:
        """Take up a response; whether it calls tools."""
        made = cast(list[Item], response.to_input_items())
        self.items = [*self.items, *made]
        self._untold = reported(response.usage)
        self.used = self._untold.used if self._untold is not None else None
        return any(str(item.get("type", "")).endswith("_call") for item in made)

    def rest(self) -> None:
        """Forget what is in the host's own session."""
        self.items = []
        self.hearing.read.clear()
        self.hearing.usage.clear()


class Shared:
    """What the runs of one `HudRunner` have in common. `offered` are the names of the HUD's tools: an agent without
    them gets no HUD."""

    def __init__(
        self,
        attached: InProcessHud,
        *,
        window: int | Window | None,
        compact: bool,
        names: Mapping[str, str],
        offered: frozenset[str],
        resume: str,
    ) -> None:
        self.attached = attached
        self.window = window
        self.compact = compact
        self.names = names
        self.offered = offered
        self.resume = resume
        self.scopes: dict[str, Scope] = {}
        self._responses: dict[str, str] = {}

    def scope(self, id: str, parent: str) -> Scope:
        """The conversation with the host's id `id`; `parent` is that of the one that started it."""
        return self.scopes.setdefault(id, Scope(id, parent, self.names))

    def remember(self, response_id: str, id: str) -> None:
        """A conversation that has no name is known by the provider's ids of its responses."""
        self._responses[response_id] = id
        while len(self._responses) > REMEMBERED:
            del self._responses[next(iter(self._responses))]

    def behind(self, response_id: str) -> str:
        """The conversation that had this response; nothing where that is not known."""
        return self._responses.get(response_id, "")
