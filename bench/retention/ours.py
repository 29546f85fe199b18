"""hudkit on a scripted session: the rules derive, the agent records a share of the facts, a host compacts.

The host is the smallest one that there can be: it summarises all but the last messages when the window is full to the
trigger, with hudkit's own prompt for that, and puts the layers of the frame where they belong. What the HUD costs is
counted: its base and changes, the tools' definitions, and the agent's calls that record, with their answers.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from bench.retention.measure import KEEP, TRIGGER, WINDOW, System
from bench.retention.sessions import DIRECTORY, Change, Fact
from bench.retention.spoken import SYSTEM, Message, cut, size, sizes
from hudkit.api import Hud
from hudkit.config import BudgetSettings, Settings
from hudkit.context.compaction.pruning import stub_text
from hudkit.context.compaction.summaries import summary_prompt
from hudkit.context.window_budget import TRIMMED_SHARE, keep_from, window_budget
from hudkit.hud.frame import Frame
from hudkit.ingest import KnownFacts, derive_facts
from hudkit.log import Origin
from hudkit.log.payloads import CompactAfter, CompactBefore
from hudkit.tools import DEFINITIONS
from hudkit.transcripts import Message as Told
from hudkit.transcripts import SessionRow, TextPart, Todo, ToolPart, UnreadableRecord
from hudkit.transcripts.search import PastSessions

SESSION = "ses_1"
SECTIONS = {
    "task": "task",
    "constraint": "constraints",
    "decision": "decisions",
    "step": "steps",
    "note": "notes",
    "blocker": "blockers",
    "error": "errors",
    "file": "files",
}
"""The section of each kind of fact."""

RECORDS = {
    "task": ("task.set", "description"),
    "constraint": ("constraints.add", "text"),
    "decision": ("decisions.record", "summary"),
    "step": ("steps.add", "description"),
    "note": ("notes.add", "content"),
    "blocker": ("blockers.add", "description"),
    "error": ("errors.add", "message"),
    "file": ("files.edit", "path"),
}
"""The operation that records a fact of each kind, and its argument."""

ENDS = {
    "constraint": ("constraints.remove", "id"),
    "decision": ("decisions.remove", "id"),
    "step": ("steps.complete", "id"),
    "note": ("notes.remove", "id"),
    "blocker": ("blockers.remove", "id"),
    "error": ("errors.resolve", "id"),
    "file": ("files.close", "path"),
}
"""The operation that ends one; a task is set anew."""


class Ours(System):
    """`share` of the facts is recorded by the agent, as the seed draws them; the rules derive what they can."""

    def __init__(
        self,
        summarise: Callable[[str], str],
        *,
        share: float = 1.0,
        seed: int = 0,
        budget: int | None = None,
    ) -> None:
        ticking = itertools.count(1_795_000_000_000, 60_000)
        numbers = itertools.count(1)
        settings = (
            Settings() if budget is None else Settings(budget=BudgetSettings(min_tokens=budget, max_tokens=budget))
        )
        self._folder = TemporaryDirectory(prefix="hk")
        self.said: list[Told] = []
        self.past = PastSessions([_Spoken(self.said)], Path(self._folder.name) / "index.db")
        self._session_of = Hud.in_memory(
            clock=lambda: next(ticking),
            ids=lambda: f"01a00000-0000-7000-8000-{next(numbers):012x}",
            settings=settings,
            past=self.past,
        )
        self.session = self._session_of.session(SESSION)
        self._summarise = summarise
        self._share, self._seed = share, seed
        self._known = KnownFacts()
        self._row = SessionRow(SESSION, "opencode", directory=DIRECTORY)
        self._messages: list[Message] = []
        self._frame: Frame | None = None
        self._tools = json.dumps(DEFINITIONS)
        self._notes = itertools.count(1)

    # -- the host ----------------------------------------------------------------------------------------------

    def hear(self, message: Message) -> None:
        self._messages.append(message)
        if message.role == "assistant" and message.call:
            return  # told with its result
        self._derive(message)

    def ask(self) -> list[str]:
        texts = self._request()
        if sizes(texts) >= TRIGGER:
            self._compact(sizes(texts))
            texts = self._request()
        return texts

    def acted(self, changes: Sequence[Change]) -> None:
        """The agent records what it knows: with its next answer, as calls of `hud`."""
        for operation, given in self._records(changes):
            arguments = {"tool": operation, "args": given}
            answer = self.session.tool("hud", arguments)
            number = next(self._notes)
            self._messages.append(Message(f"h{number}", "assistant", "", f"hud_{number}", "hud", arguments))
            self._messages.append(Message(f"r{number}", "tool", answer, f"hud_{number}", "hud"))

    def has(self, fact: Fact) -> bool:
        return any(self._known_as(fact, kind) for kind in SECTIONS)

    def close(self) -> None:
        self._session_of.close()
        self.past.close()
        self._folder.cleanup()

    def _request(self) -> list[str]:
        """System prompt, tools, base, and each message with the changes that are anchored to it."""
        frame = self.session.frame(
            used_tokens=sizes(self._texts(self._frame)) if self._frame else None,
            limit_tokens=WINDOW,
            transcript=[(one.id, one.role) for one in self._messages],
        )
        self._frame = frame
        return self._texts(frame)

    def _texts(self, frame: Frame) -> list[str]:
        behind: dict[str, str] = {}
        for delta in frame.deltas:
            behind[delta.anchor] = f"{behind.get(delta.anchor, '')}\n{delta.text}"
        texts = [f"{one.whole}{behind.get(one.id, '')}" for one in self._messages]
        return [SYSTEM, self._tools, frame.base, *texts, frame.tail]

    def _compact(self, used: int) -> None:
        place = cut(self._messages, KEEP)
        old, kept = self._messages[:place], self._messages[place:]
        self.session.append(CompactBefore("auto", used), origin=Origin.HOST)
        asked = "\n".join(
            [
                *(one.whole for one in old),
                summary_prompt(
                    self.session.frame_after_compaction().base,
                    over=self.session.ended_texts(),
                    unshown=self.session.unshown_texts(),
                ),
            ]
        )
        summary = self._summarise(asked)
        self.session.append(CompactAfter(summary, "auto"), origin=Origin.HOST)
        self.compactions += 1
        self._messages = [Message(f"s{self.compactions}", "user", summary), *kept]
        self._frame = None

    # -- what the rules derive -----------------------------------------------------------------------------------

    def _derive(self, message: Message) -> None:
        told = self._told(message)
        self.said.append(told)
        self._known, facts = derive_facts(self._row, told, self._known)
        for fact in facts:
            self.session.append(fact.payload, origin=fact.origin)

    def _told(self, message: Message) -> Told:
        """A message as the host's reader gives it: a result together with its call."""
        at = 1_795_000_000_000 + 60_000 * len(self.said)
        if message.role == "user":
            return Told(message.id, SESSION, "user", at, parts=(TextPart(f"p{message.id}", message.text),))
        asked = self._messages[-2]
        shell = {"exit": 1 if "FAILED" in message.text else 0} if message.tool == "bash" else {}
        tool = ToolPart(
            f"p{message.id}",
            message.tool,
            message.call,
            "completed",
            asked.input,
            message.text,
            metadata=shell,
            start=at,
            end=at + 900,
        )
        return Told(
            asked.id,
            SESSION,
            "assistant",
            at,
            at + 900,
            finish="stop",
            parts=(TextPart(f"p{asked.id}", asked.text), tool),
        )

    # -- what the agent records ----------------------------------------------------------------------------------

    def _records(self, changes: Sequence[Change]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The calls for those changes that the agent cares to record; what the HUD shows already is not recorded
        again. They are made one after the other: each sees what the one before did."""
        for one in changes:
            if not self._recorded(one.fact):
                continue
            if not one.live:
                for kind, (operation, name) in ENDS.items():  # a rule may have put it into another section
                    for id in self._known_as(one.fact, kind):
                        yield operation, {name: id}
            elif not self._known_as(one.fact, one.fact.kind):
                operation, name = RECORDS[one.fact.kind]
                yield operation, {name: one.fact.text}

    def _recorded(self, fact: Fact) -> bool:
        return random.Random(f"{self._seed} {fact.word} recorded").random() < self._share

    def _known_as(self, fact: Fact, kind: str) -> list[str]:
        """The ids of the live items of a kind that tell of a fact."""
        section: Any = getattr(self.session.state, SECTIONS[kind])
        if kind == "task":
            return ["task"] if fact.word in (section.description or "") else []
        items = next((getattr(section, name) for name in ("open", "active") if hasattr(section, name)), section)
        return [item.id for item in items if fact.word in item.words]

    # -- what a call brings back ---------------------------------------------------------------------------------

    def recovers(self, fact: Fact) -> bool:
        """By the list of its section, or by a search for what is known of it without its own word."""
        section = SECTIONS[fact.kind]
        listed = self.session.tool("hud", {"tool": f"{section}.get" if section == "task" else f"{section}.list"})
        if fact.word in listed:
            return True
        self.past.update()
        found = self.session.tool("memory", {"tool": "search", "args": {"query": fact.topic}})
        return fact.word in found


class Trimmed(Ours):
    """The same without summaries: the oldest messages leave in steps, as in the agent's loop; no model is asked."""

    def __init__(self, share: float = 1.0, budget: int | None = None) -> None:
        super().__init__(lambda _: "", share=share, budget=budget)

    def _compact(self, used: int) -> None:
        fixed = used - sizes(one.whole for one in self._messages)
        room = window_budget(TRIGGER, system=0, tools=fixed, hud=0)
        outputs = room.outputs * TRIMMED_SHARE
        for index in range(len(self._messages) - 1, -1, -1):
            message = self._messages[index]
            outputs -= size(message.text) if message.role == "tool" else 0
            if message.role == "tool" and outputs < 0 and message.tool != "hud" and len(message.text) >= 400:
                self._messages[index] = replace(
                    message, text=stub_text(message.call, message.tool, len(message.text))
                )
        lengths = [size(one.whole) for one in self._messages]
        start = keep_from(lengths, int(room.messages * TRIMMED_SHARE), None)
        while self._messages[start].role == "tool":  # a result is not parted from its call
            start -= 1
        self.compactions += 1
        note = Message(
            f"s{self.compactions}", "user", f"[{start} older messages left the window; memory reads them.]"
        )
        self._messages = [note, *self._messages[start:]] if start else self._messages
        self._frame = None


class _Spoken:
    """The session's own transcript, for the index."""

    host = "opencode"
    skipped: tuple[UnreadableRecord, ...] = ()

    def __init__(self, said: list[Told]) -> None:
        self._said = said

    def sessions(self) -> tuple[SessionRow, ...]:
        newest = self._said[-1].created if self._said else 0
        return (SessionRow(SESSION, "opencode", directory=DIRECTORY, updated=newest),)

    def session(self, session_id: str) -> SessionRow | None:
        return self.sessions()[0] if session_id == SESSION else None

    def messages(self, session_id: str, *, after: str = "") -> Iterator[Told]:
        ids = [one.id for one in self._said]
        start = ids.index(after) + 1 if after else 0
        return iter(self._said[start:] if session_id == SESSION else ())

    def todos(self, session_id: str) -> tuple[Todo, ...]:  # noqa: ARG002 (of the protocol)
        return ()

    def close(self) -> None:
        """Nothing is open."""
