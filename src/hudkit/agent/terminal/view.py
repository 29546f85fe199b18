"""What is shown of a session while it works: live on a terminal, plain lines elsewhere, JSON lines for programs.

`docs/terminal.md` has the fields of the JSON lines.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO

from rich.cells import cell_len
from rich.text import Text

from hudkit.agent import events
from hudkit.agent.events import AgentEvent
from hudkit.agent.loop import AgentLoop
from hudkit.agent.records import ChangedFiles, ReportedUsage, StoredCall, StoredMessage, StoredText
from hudkit.agent.terminal.changed_lines import diff_lines
from hudkit.agent.terminal.markdown import markdown_lines, split_finished_blocks
from hudkit.agent.terminal.screen import Screen, clip, one_line, printable, wrap_text

_SUBJECTS = {
    "bash": "command",
    "read": "path",
    "write": "path",
    "edit": "path",
    "glob": "pattern",
    "grep": "pattern",
    "task": "description",
    "skill": "name",
}
"""The argument that says what a call is about; of other tools it is the first text."""

_STATES = {"completed": ("✓", "green"), "error": ("✗", "red"), "running": ("·", "yellow"), "pending": ("·", "dim")}

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

_THOUGHT = "┊ "

_Kind = Literal["", "text", "thought", "call", "note"]


class View(Protocol):
    """Who is told what happens. Nothing here may raise for what a model or a tool says."""

    def opened(self, loop: AgentLoop, resumed: bool) -> None:
        """Show that a session is open; all that follows is of it. Return nothing, as all methods here."""

    def begin(self, doing: str = "") -> None:
        """Show that work begins; `doing` says what it is, where it is no turn."""

    def take(self, event: AgentEvent) -> None:
        """Show an event."""

    def tick(self) -> None:
        """Draw what moves: a tenth of a second has passed."""

    def end(self, ended: events.TurnEnded | None) -> None:
        """Show that the work is over; `None`: it was no turn."""

    def note(self, text: str) -> None:
        """Show a remark of the program's own."""

    def problem(self, text: str) -> None:
        """Show what went wrong that the work goes on without."""


class _Lines:
    """What both views have in common: all but the words of the answer goes into lines that stay."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.responses: list[StoredMessage] = []
        """The responses of the work that is under way, those of sub-agents too."""
        self._loop: AgentLoop | None = None
        self._kind: _Kind = ""
        self._thought = ""
        self._compacting: set[str] = set()
        self._paused = False
        self._doing = ""
        self._started = 0.0
        self._steps = 0

    def opened(self, loop: AgentLoop, resumed: bool) -> None:
        self._loop = loop
        self._compacting.clear()
        for name, why in loop.problems:
            self.problem(f"{_about(name, loop.setup.workspace.root)} is left out: {why}")
        if resumed and loop.recovered:
            calls, messages = len(loop.recovered.calls), len(loop.recovered.messages)
            about = f"{_counted(calls, 'call')} and {_counted(messages, 'response')}"
            self.note(f"this session was cut off: {about} had not ended. They are closed; nothing is run again.")

    def begin(self, doing: str = "") -> None:
        self.responses, self._kind, self._doing = [], "", doing
        self._started, self._steps, self._thought = time.monotonic(), 0, ""

    def take(self, event: AgentEvent) -> None:
        inner = self._loop is not None and event.session_id != self._loop.id
        match event:
            case events.TextChunk(text=text) if not inner and event.session_id not in self._compacting:
                self.think()
                self.say(text)
            case events.ReasoningChunk(text=text) if not inner and event.session_id not in self._compacting:
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
                self.problem(f"{error}\nAgain in {_duration_text(wait)} (attempt {attempt + 1}).")
            case events.CompactionStarted(auto=auto, overflow=overflow):
                self._compacting.add(event.session_id)
                why = "the request was too long" if overflow else "the window is full" if auto else "as asked"
                self.note(f"Compacting: {why}.")
            case events.CompactionFinished(message=message, without_model=without):
                self._compacting.discard(event.session_id)
                self.responses.append(message)
                self.note("Compacted: a summary stands for what came before.")
                if without:
                    self.problem(f"No model wrote the summary ({without}); it is made of the records.")
            case events.MessagesTrimmed(messages=count, calls=calls):
                left = [f"The oldest {_counted(count, 'message')}"] if count else []
                left += [f"the outputs of {_counted(len(calls), 'old call')}"] if calls else []
                words = " and ".join(left)
                self.note(f"{words[:1].upper()}{words[1:]} left the window; memory reads them.")
            case events.OutputsPruned(calls=calls):
                self.note(f"The outputs of {_counted(len(calls), 'old call')} left the window.")
            case events.ModelSubstituted(wanted=wanted, model=model, reason=reason):
                self.problem(f"{model} works in the place of {wanted}: {reason}")
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
        usage = _total_usage(self.responses)
        parts = [_counted(self._steps, "model call")] if self._steps else []
        parts += [_usage_text(usage, sum(message.cost for message in self.responses) or None)] if usage else []
        if parts:
            took = _duration_text(time.monotonic() - self._started)
            self.put("note", [Text(f"{took}: {', '.join(parts)}", "dim")])

    def note(self, text: str) -> None:
        self.put("note", wrap_text(printable(text), self.screen.columns, style="dim"))

    def problem(self, text: str) -> None:
        self.put("note", wrap_text(printable(text), self.screen.columns, style="yellow"))

    def put(self, kind: _Kind, lines: Sequence[Text]) -> None:
        """Lines that stay, behind an empty one where something else begins."""
        if lines:
            self.screen.put(*self.gap(kind), *lines)
            self._kind = kind

    def gap(self, kind: _Kind) -> list[Text]:
        return [Text()] if self._kind and (kind != self._kind or kind == "text") else []

    def think(self) -> None:
        """Reasoning that is over becomes lines."""
        if self._thought.strip():
            self.put("thought", self.thoughts())
        self._thought = ""

    def thoughts(self) -> list[Text]:
        lines = wrap_text(printable(self._thought.strip()), self.screen.columns, indent=_THOUGHT)
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
            self.put("call", [_call_line(call, self.screen.columns, inner=inner)])

    def flush(self) -> None:
        """What came so far becomes lines."""
        self.think()

    def _changed(self, message: StoredMessage) -> None:
        if self._loop is not None:
            diffs = self._loop.setup.store.diffs(message.session_id, message_id=message.id)
            self.put("call", list(diff_lines(diffs, self.screen.columns)))


class LiveView(_Lines):
    """The view of a terminal: the answer grows, and below it stands what is under way, with the panel."""

    def __init__(self, screen: Screen, panel: Callable[[int], Text]) -> None:
        super().__init__(screen)
        self._panel = panel
        self.typed: Callable[[], Sequence[Text]] = list
        """What was typed ahead, in lines."""
        self._source = ""
        self._running: dict[str, tuple[StoredCall, bool]] = {}
        self._busy = False

    def begin(self, doing: str = "") -> None:
        """Begin to show work, with the line of the state at the bottom; return nothing."""
        super().begin(doing)
        self._kind = "note"  # the prompt stands above
        self._source, self._busy = "", True
        self._running.clear()
        self.tick()

    def end(self, ended: events.TurnEnded | None) -> None:
        """Take the live lines away and show how the work ended; return nothing."""
        self._busy = False
        self._running.clear()
        super().end(ended)
        self.screen.hold()

    def take(self, event: AgentEvent) -> None:
        """Show an event; return nothing. Pieces of an answer are drawn with the next tick."""
        super().take(event)
        if not isinstance(event, events.TextChunk | events.ReasoningChunk):
            self.tick()

    def tick(self) -> None:
        """Draw the live lines anew while work goes on; return nothing."""
        if self._busy and not self._paused:
            self.screen.hold([*self._unfinished(), *self._under_way(), self._status(), *self.typed()])

    def say(self, text: str) -> None:
        """Add a piece of the answer; blocks that are finished become lines. Return nothing."""
        self._source += text
        if "\n" in text:
            finished, self._source = split_finished_blocks(self._source)
            self.put("text", markdown_lines(finished, self.screen.columns))

    def call(self, call: StoredCall, inner: bool) -> None:
        """Show a call: among the live lines while it runs, as a line that stays when it is done. Return nothing."""
        if call.done:
            self._running.pop(call.id, None)
        elif call.status == "running":
            self._running[call.id] = (call, inner)
        super().call(call, inner)

    def flush(self) -> None:
        """Turn what came so far into lines that stay; return nothing."""
        super().flush()
        source, self._source = self._source, ""
        self.put("text", markdown_lines(source, self.screen.columns))

    def _unfinished(self) -> list[Text]:
        if self._thought.strip():
            return [*self.gap("thought"), *self.thoughts()]
        lines = markdown_lines(self._source, self.screen.columns)
        return [*self.gap("text"), *lines] if lines else []

    def _under_way(self) -> list[Text]:
        running = list(self._running.values())
        return [_call_line(call, self.screen.columns, inner=inner) for call, inner in running]

    def _status(self) -> Text:
        took = time.monotonic() - self._started
        doing = "compacting" if self._compacting else "running" if self._running else "waiting for the model"
        if self._source or self._thought:
            doing = "answering"
        head = f"{_SPINNER[int(took * 10) % len(_SPINNER)]} {self._doing or doing} {took:.0f}s · "
        return Text.assemble((head, "dim"), self._panel(self.screen.columns - cell_len(head)))


class PlainView(_Lines):
    """The view without a terminal: the last answer goes to `out`, everything else to the error stream or nowhere."""

    def __init__(self, out: Screen, progress: Screen, *, quiet: bool = False) -> None:
        super().__init__(progress)
        self._out = out
        self._quiet = quiet
        self._said = ""

    def tick(self) -> None:
        """Do nothing: nothing moves here."""

    def put(self, kind: _Kind, lines: Sequence[Text]) -> None:
        """Write lines of progress, unless they are not wanted; return nothing."""
        if not self._quiet:
            super().put(kind, lines)

    def problem(self, text: str) -> None:
        """Write what went wrong, also where no progress is wanted; return nothing."""
        super().put("note", wrap_text(printable(text), self.screen.columns))

    def gap(self, kind: _Kind) -> list[Text]:  # noqa: ARG002 (it is the same for all)
        """Return no empty line: lines of progress stand close together."""
        return []

    def say(self, text: str) -> None:
        """Add a piece of the answer; return nothing."""
        self._said += text

    def call(self, call: StoredCall, inner: bool) -> None:
        """Write a call as a line, after what was said before it; return nothing."""
        if not inner:  # what was said so far is not the last answer
            earlier, self._said = self._said, ""
            if earlier.strip():
                self.put("text", wrap_text(printable(earlier.strip()), self.screen.columns))
        super().call(call, inner)

    def end(self, ended: events.TurnEnded | None) -> None:
        """Write the last answer to the output; return nothing."""
        super().end(ended)
        self._said = ""
        if ended is not None and ended.answer is not None:
            self._out.put(Text(json.dumps(ended.answer)))
        elif ended is not None and ended.text.strip():
            self._out.put(*(Text(line) for line in printable(ended.text.strip("\n")).split("\n")))


class JsonView:
    """A view that prints one object a line, in ASCII; `schema` is the version of the fields."""

    def __init__(self, out: TextIO, schema: int) -> None:
        self._out = out
        self._schema = schema
        self._loop: AgentLoop | None = None
        self._responses: list[StoredMessage] = []
        self._compacting: set[str] = set()

    def opened(self, loop: AgentLoop, resumed: bool) -> None:
        """Write the line of the session; return nothing."""
        self._loop = loop
        session, window = loop.session, loop.window
        limit_tokens = None if window.source == "assumed" else window.limit_tokens
        about = {
            "directory": session.directory,
            "agent": session.agent,
            "model": session.model,
            "window": limit_tokens,
        }
        self.write("session", loop.id, **about, resumed=resumed)
        for name, why in loop.problems:
            self.write("plugin-failed", loop.id, plugin=name, hook="", error=why)

    def begin(self, doing: str = "") -> None:  # noqa: ARG002 (what is no turn has no line)
        """Forget what was counted for the turn before; return nothing."""
        self._responses = []
        self._compacting.clear()

    def take(self, event: AgentEvent) -> None:
        """Write the line of an event, where it has one; return nothing."""
        if isinstance(event, events.ResponseFinished | events.CompactionFinished):
            self._responses.append(event.message)
            self._compacting.discard(event.session_id)
        elif isinstance(event, events.CompactionStarted):
            self._compacting.add(event.session_id)
        elif isinstance(event, events.TextChunk | events.ReasoningChunk) and event.session_id in self._compacting:
            return  # a summary is no answer
        for type, fields in _fields(event):
            self.write(type, event.session_id, **fields)

    def tick(self) -> None:
        """Do nothing: time is no fact."""

    def end(self, ended: events.TurnEnded | None) -> None:
        """Write the line of the end, with cost and usage; return nothing."""
        if ended is None or self._loop is None:
            return
        cost = sum(message.cost for message in self._responses) or None
        fields = {"reason": ended.reason, "text": ended.text, "error": ended.error, "steps": ended.steps}
        more = {"cost": cost, "usage": _usage(_total_usage(self._responses))}
        if ended.answer is not None:
            more["answer"] = ended.answer
        limit = self._loop.window.limit_tokens
        self.write("ended", ended.session_id, **fields, **more, used=self._loop.used_tokens, limit=limit)

    def note(self, text: str) -> None:
        """Remarks are for people."""

    def problem(self, text: str) -> None:
        """Do nothing: what went wrong is in the facts."""

    def write(self, type: str, session: str, **fields: Any) -> None:
        """Write a line of this type about a session; return nothing."""
        print(json.dumps({"schema": self._schema, "type": type, "session": session, **fields}), file=self._out)
        self._out.flush()


def _about(name: str, root: Path) -> str:
    """Return what a problem is about: a file, the project's below its root, or a plugin by its name."""
    path = Path(name)
    if path.is_absolute():
        return str(path.relative_to(root) if path.is_relative_to(root) else path)
    return f"the plugin {name}"


def _fields(event: AgentEvent) -> Iterator[tuple[str, dict[str, Any]]]:
    match event:
        case events.PromptAccepted(message=message):
            yield "prompt", {"text": "".join(part.text for part in message.parts if isinstance(part, StoredText))}
        case events.ModelCallStarted(number=number, model=model):
            yield "step", {"number": number, "model": model}
        case events.TextChunk(text=text):
            yield "text", {"text": text}
        case events.ReasoningChunk(text=text):
            yield "reasoning", {"text": text}
        case events.ToolCallUpdated(call=call):
            yield "call", _call(call)
        case events.ResponseFinished(message=message):
            fields = {"finish": message.finish, "usage": _usage(message.usage), "cost": message.cost or None}
            yield "answer", fields
        case events.RetryScheduled(attempt=attempt, seconds=seconds, error=error):
            yield "retry", {"attempt": attempt, "seconds": seconds, "error": error}
        case events.CompactionStarted(auto=auto):
            yield "compacting", {"auto": auto}
        case events.CompactionFinished(without_model=without):
            yield "compacted", {"without_model": without}
        case events.MessagesTrimmed(messages=count, calls=calls):
            yield "trimmed", {"messages": count, "calls": list(calls)}
        case events.OutputsPruned(calls=calls):
            yield "pruned", {"calls": list(calls)}
        case events.ModelSubstituted(wanted=wanted, model=model, reason=reason):
            yield "substituted", {"wanted": wanted, "model": model, "reason": reason}
        case events.PluginFailed(failure=failed):
            yield "plugin-failed", {"plugin": failed.plugin, "hook": failed.hook, "error": failed.message}


def _call(call: StoredCall) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": call.call_id, "tool": call.tool, "status": call.status}
    fields["arguments"] = call.arguments
    if call.done:
        took = call.ended - call.started if call.started else None
        fields |= {"output": call.output, "error": call.error, "ms": took}
    return fields


def _usage(usage: ReportedUsage | None) -> dict[str, int] | None:
    if usage is None:
        return None
    names = ("input", "cache_read", "cache_write", "output", "reasoning")
    return {name: getattr(usage, name) for name in names}


def _call_line(call: StoredCall, columns: int, *, inner: bool = False) -> Text:
    """Return a call in one line: its state, the tool, what it is about, and how it ended."""
    failed = call.status == "error" or bool(call.metadata.get("exit"))
    mark, style = _STATES["error" if failed else call.status]
    head = f"{'│ ' if inner else ''}{mark} {one_line(call.tool)} "
    end = _outcome(call)
    about = _subject(call)
    room = columns - cell_len(head)
    end = clip(end, max(room // 2, room - cell_len(about) - 2))
    about = clip(about, room - (cell_len(end) + 2 if end else 0))
    text = Text()
    text.append(head, style).append(about)
    if end:
        text.append("  " if about else "").append(end, "red" if failed else "dim")
    return text


def _subject(call: StoredCall) -> str:
    """What a call is about, in one line."""
    arguments = call.arguments
    if call.tool in ("hud", "memory"):
        inner = arguments.get("args")
        return one_line(f"{arguments.get('tool', '')} {_first(inner) if isinstance(inner, dict) else ''}")
    if call.tool == "todo":
        return one_line(call.title)
    return one_line(str(arguments.get(_SUBJECTS.get(call.tool, ""), "") or _first(arguments)))


def _outcome(call: StoredCall) -> str:
    """How a call ended: what went wrong, or how long it took where that was noticeable."""
    if call.status == "error":
        return one_line(call.error)
    if call.status != "completed":
        return ""
    took = (call.ended - call.started) / 1000 if call.started else 0.0
    remarks = [f"exit code {call.metadata['exit']}"] if call.metadata.get("exit") else []
    remarks += [_duration_text(took)] if took >= 0.1 else []
    return ", ".join(remarks)


def _first(values: dict[str, object]) -> str:
    return next((value for value in values.values() if isinstance(value, str)), "")


def _usage_text(usage: ReportedUsage, cost: float | None) -> str:
    """Return tokens in and out, how much of the input came from the cache, and the cost where prices are known."""
    share = f" ({usage.cache_read * 100 / usage.prompt:.0f}% cached)" if usage.cache_read and usage.prompt else ""
    money = "" if cost is None else f", ${cost:.4f}" if cost < 0.1 else f", ${cost:.2f}"
    return f"{_tokens(usage.prompt)} in{share}, {_tokens(usage.output)} out{money}"


def _tokens(count: int) -> str:
    return f"{count / 1000:.1f}k" if count >= 1000 else str(count)


def _total_usage(messages: Sequence[StoredMessage]) -> ReportedUsage | None:
    """Return the usage of several responses together; `None` where none of them has any."""
    reported = [message.usage for message in messages if message.usage is not None]
    if not reported:
        return None
    names = ("input", "output", "reasoning", "cache_read", "cache_write")
    return ReportedUsage(None, *(sum(getattr(usage, name) for usage in reported) for name in names))


def _duration_text(took: float) -> str:
    """Return a duration: `0.4s`, `12s`, `3m 05s`."""
    if took < 10:
        return f"{took:.1f}s"
    return f"{took:.0f}s" if took < 60 else f"{int(took) // 60}m {int(took) % 60:02d}s"


def _counted(count: int, word: str) -> str:
    """Return a number with its noun: `1 call`, `3 calls`."""
    return f"{count} {word}{'' if count == 1 else 's'}"
