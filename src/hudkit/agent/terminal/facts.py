"""What happens in a session as JSON lines, for programs: `docs/terminal.md` has the fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from hudkit.agent import events
from hudkit.agent.events import AgentEvent
from hudkit.agent.loop import AgentLoop
from hudkit.agent.records import ReportedUsage, StoredCall, StoredMessage, StoredText
from hudkit.agent.terminal import words


class Facts:
    """A view that prints one object a line, in ASCII; `schema` is the version of the fields."""

    def __init__(self, out: TextIO, schema: int) -> None:
        self._out = out
        self._schema = schema
        self._loop: AgentLoop | None = None
        self._responses: list[StoredMessage] = []
        self._compacting: set[str] = set()

    def opened(self, loop: AgentLoop, resumed: bool) -> None:
        self._loop = loop
        one, window = loop.session, loop.window
        known = None if window.source == "assumed" else window.limit_tokens
        said = {"directory": one.directory, "agent": one.agent, "model": one.model, "window": known}
        self._print("session", loop.id, **said, resumed=resumed)
        for name, why in loop.problems:
            self._print("plugin-failed", loop.id, plugin=name, hook="", error=why)

    def begin(self) -> None:
        self._responses = []
        self._compacting.clear()

    def take(self, one: AgentEvent) -> None:
        if isinstance(one, events.ResponseFinished | events.CompactionFinished):
            self._responses.append(one.message)
            self._compacting.discard(one.session_id)
        elif isinstance(one, events.CompactionStarted):
            self._compacting.add(one.session_id)
        elif isinstance(one, events.TextChunk | events.ReasoningChunk) and one.session_id in self._compacting:
            return  # a summary is no answer
        for type, fields in _fields(one):
            self._print(type, one.session_id, **fields)

    def tick(self) -> None:
        """Time is no fact."""

    def end(self, ended: events.TurnEnded | None) -> None:
        if ended is None or self._loop is None:
            return
        cost = sum(one.cost for one in self._responses) or None
        fields = {"reason": ended.reason, "text": ended.text, "error": ended.error, "steps": ended.steps}
        more = {"cost": cost, "usage": _usage(words.total(self._responses))}
        limit = self._loop.window.limit_tokens
        self._print("ended", ended.session_id, **fields, **more, used=self._loop.used_tokens, limit=limit)

    def note(self, text: str) -> None:
        """Remarks are for people."""

    def problem(self, text: str) -> None:
        """What went wrong is in the facts."""

    def _print(self, type: str, session: str, **fields: Any) -> None:
        print(json.dumps({"schema": self._schema, "type": type, "session": session, **fields}), file=self._out)
        self._out.flush()


def _fields(one: AgentEvent) -> Iterator[tuple[str, dict[str, Any]]]:
    match one:
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
        case events.OutputsPruned(calls=calls):
            yield "pruned", {"calls": list(calls)}
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
