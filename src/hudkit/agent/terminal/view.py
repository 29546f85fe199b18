"""What a person sees of a session while it works: the answer as it comes on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol

from rich.text import Text

from hudkit.agent import events
from hudkit.agent.events import AgentEvent
from hudkit.agent.loop import AgentLoop
from hudkit.agent.records import ChangedFiles, StoredCall, StoredMessage
from hudkit.agent.terminal import words
from hudkit.agent.terminal.markdown import blocks, lines_of
from hudkit.agent.terminal.safe import clipped, shown
from hudkit.agent.terminal.screen import Screen, wrapped

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
THOUGHT = "┊ "

Kind = Literal["", "text", "thought", "call", "note"]


class View(Protocol):
    """Who is told what happens. Nothing here may raise for what a model or a tool says."""

    def opened(self, loop: AgentLoop, resumed: bool) -> None:
        """A session is open: all that follows is of it."""

    def begin(self) -> None:
        """Work begins."""

    def take(self, one: AgentEvent) -> None:
        """Something happened."""

    def tick(self) -> None:
        """A tenth of a second has passed."""

    def end(self, ended: events.TurnEnded | None) -> None:
        """The work is over; `None`: it was no turn."""

    def note(self, text: str) -> None:
        """A remark of the program's own."""

    def problem(self, text: str) -> None:
        """Something went wrong that the work goes on without."""


class _Lines:
    """What both views have in common: all but the words of the answer goes into lines that stay."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.responses: list[StoredMessage] = []
        """The responses of the work that is under way, those of sub-agents too."""
        self._loop: AgentLoop | None = None
        self._kind: Kind = ""
        self._thought = ""
        self._compacting: set[str] = set()
        self._paused = False
        self._started = 0.0
        self._steps = 0

    def opened(self, loop: AgentLoop, resumed: bool) -> None:
        self._loop = loop
        self._compacting.clear()
        for name, why in loop.problems:
            self.problem(f"the plugin {name} is left out: {why}")
        if resumed and loop.recovered:
            calls, messages = len(loop.recovered.calls), len(loop.recovered.messages)
            said = f"{words.many(calls, 'call')} and {words.many(messages, 'response')}"
            self.note(f"this session was cut off: {said} had not ended. They are closed; nothing is run again.")

    def begin(self) -> None:
        self.responses, self._kind = [], ""
        self._started, self._steps, self._thought = time.monotonic(), 0, ""

    def take(self, one: AgentEvent) -> None:
        inner = self._loop is not None and one.session_id != self._loop.id
        match one:
            case events.TextChunk(text=text) if not inner and one.session_id not in self._compacting:
                self.think()
                self.say(text)
            case events.ReasoningChunk(text=text) if not inner and one.session_id not in self._compacting:
                self._thought += text
            case events.ModelCallStarted():
                self._steps += not inner
            case events.ToolCallUpdated(call=call):
                self.flush()
                self.call(call, inner)
            case events.ResponseFinished(message=message):
                self.responses.append(message)
                self.flush()
                if any(isinstance(part, ChangedFiles) for part in message.parts):
                    self._changed(message)
            case events.RetryScheduled(attempt=attempt, seconds=wait, error=error):
                self.flush()
                self.problem(f"{error}\nAgain in {words.seconds(wait)} (attempt {attempt + 1}).")
            case events.CompactionStarted(auto=auto, overflow=overflow):
                self._compacting.add(one.session_id)
                why = "the request was too long" if overflow else "the window is full" if auto else "as asked"
                self.note(f"Compacting: {why}.")
            case events.CompactionFinished(message=message, without_model=without):
                self._compacting.discard(one.session_id)
                self.responses.append(message)
                self.note("Compacted: a summary stands for what came before.")
                if without:
                    self.problem(f"No model wrote the summary ({without}); it is made of the records.")
            case events.OutputsPruned(calls=calls):
                self.note(f"The outputs of {words.many(len(calls), 'old call')} left the window.")
            case events.PluginFailed(failure=failed):
                self.problem(f"the plugin {failed.plugin} failed in {failed.hook}: {failed.message}")
            case events.TurnEnded() if not inner:
                self.flush()

    def end(self, ended: events.TurnEnded | None) -> None:
        self.flush()
        if ended is not None and ended.reason == "cancelled":
            self.problem("Cancelled. What was done stays; the next prompt goes on from here.")
        elif ended is not None and ended.reason != "done":
            self.problem(f"The turn ended ({ended.reason}): {ended.error or 'without a word'}")
        self._compacting.clear()
        usage = words.total(self.responses)
        parts = [words.many(self._steps, "model call")] if self._steps else []
        parts += [words.spent(usage, sum(one.cost for one in self.responses) or None)] if usage else []
        if parts:
            took = words.seconds(time.monotonic() - self._started)
            self.put("note", [Text(f"{took}: {', '.join(parts)}", "dim")])

    def note(self, text: str) -> None:
        self.put("note", wrapped(shown(text), self.screen.columns, style="dim"))

    def problem(self, text: str) -> None:
        self.put("note", wrapped(shown(text), self.screen.columns, style="yellow"))

    def put(self, kind: Kind, lines: Sequence[Text]) -> None:
        """Lines that stay, behind an empty one where something else begins."""
        if lines:
            self.screen.put(*self.gap(kind), *lines)
            self._kind = kind

    def gap(self, kind: Kind) -> list[Text]:
        return [Text()] if self._kind and (kind != self._kind or kind == "text") else []

    def think(self) -> None:
        """Reasoning that is over becomes lines."""
        if self._thought.strip():
            self.put("thought", self.thoughts())
        self._thought = ""

    def thoughts(self) -> list[Text]:
        lines = wrapped(shown(self._thought.strip()), self.screen.columns, indent=THOUGHT)
        for line in lines:
            line.stylize("dim")
        return lines

    @contextmanager
    def paused(self) -> Iterator[Screen]:
        """The screen alone, for a question."""
        self._paused = True
        self.screen.hold()
        try:
            yield self.screen
        finally:
            self._paused = False

    def say(self, text: str) -> None:
        raise NotImplementedError

    def call(self, call: StoredCall, inner: bool) -> None:
        if call.done:
            self.put("call", [words.call_line(call, self.screen.columns, inner=inner)])

    def flush(self) -> None:
        """What came so far becomes lines."""
        self.think()

    def _changed(self, message: StoredMessage) -> None:
        if self._loop is not None:
            diffs = self._loop.setup.store.diffs(message.session_id, message_id=message.id)
            self.put("call", list(words.diff_lines(diffs, self.screen.columns)))


class Live(_Lines):
    """The view of a terminal: the answer grows, and below it stands what is under way, with the panel."""

    def __init__(self, screen: Screen, panel: Callable[[], str]) -> None:
        super().__init__(screen)
        self._panel = panel
        self._source = ""
        self._running: dict[str, tuple[StoredCall, bool]] = {}
        self._busy = False

    def begin(self) -> None:
        super().begin()
        self._kind = "note"  # the prompt stands above
        self._source, self._busy = "", True
        self._running.clear()
        self.tick()

    def end(self, ended: events.TurnEnded | None) -> None:
        self._busy = False
        self._running.clear()
        super().end(ended)
        self.screen.hold()

    def take(self, one: AgentEvent) -> None:
        super().take(one)
        if not isinstance(one, events.TextChunk | events.ReasoningChunk):
            self.tick()

    def tick(self) -> None:
        if self._busy and not self._paused:
            self.screen.hold([*self._unfinished(), *self._under_way(), self._status()])

    def say(self, text: str) -> None:
        self._source += text
        if "\n" in text:
            finished, self._source = blocks(self._source)
            self.put("text", lines_of(finished, self.screen.columns))

    def call(self, call: StoredCall, inner: bool) -> None:
        if call.done:
            self._running.pop(call.id, None)
        elif call.status == "running":
            self._running[call.id] = (call, inner)
        super().call(call, inner)

    def flush(self) -> None:
        super().flush()
        source, self._source = self._source, ""
        self.put("text", lines_of(source, self.screen.columns))

    def _unfinished(self) -> list[Text]:
        if self._thought.strip():
            return [*self.gap("thought"), *self.thoughts()]
        lines = lines_of(self._source, self.screen.columns)
        return [*self.gap("text"), *lines] if lines else []

    def _under_way(self) -> list[Text]:
        found = list(self._running.values())
        return [words.call_line(call, self.screen.columns, inner=inner) for call, inner in found]

    def _status(self) -> Text:
        took = time.monotonic() - self._started
        doing = "compacting" if self._compacting else "running" if self._running else "waiting for the model"
        if self._source or self._thought:
            doing = "answering"
        said = f"{SPINNER[int(took * 10) % len(SPINNER)]} {doing} {took:.0f}s · {self._panel()}"
        return Text(clipped(said, self.screen.columns), "dim")


class Plain(_Lines):
    """The view without a terminal: the last answer goes to `out`, everything else to the error stream or nowhere."""

    def __init__(self, out: Screen, progress: Screen, *, quiet: bool = False) -> None:
        super().__init__(progress)
        self._out = out
        self._quiet = quiet
        self._said = ""

    def tick(self) -> None:
        """Nothing moves here."""

    def put(self, kind: Kind, lines: Sequence[Text]) -> None:
        if not self._quiet:
            super().put(kind, lines)

    def problem(self, text: str) -> None:
        super().put("note", wrapped(shown(text), self.screen.columns))

    def gap(self, kind: Kind) -> list[Text]:  # noqa: ARG002 (it is the same for all)
        """Lines of progress stand close together."""
        return []

    def say(self, text: str) -> None:
        self._said += text

    def call(self, call: StoredCall, inner: bool) -> None:
        if not inner:  # what was said so far is not the last answer
            said, self._said = self._said, ""
            if said.strip():
                self.put("text", wrapped(shown(said.strip()), self.screen.columns))
        super().call(call, inner)

    def end(self, ended: events.TurnEnded | None) -> None:
        super().end(ended)
        self._said = ""
        if ended is not None and ended.text.strip():
            self._out.put(*(Text(line) for line in shown(ended.text.strip("\n")).split("\n")))
