"""hudkit's own HUD as a plugin: on the hooks that every plugin has, and through nothing else.

Base in `system_transform`, deltas and tail in `messages_transform` (anchored, kept in the HUD's log alone), the tools
`hud`, `memory` and the two that compact, the prompt of a compaction, and what happened derived from the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hudkit.agent.hooks import (
    Chat,
    ChatMessage,
    ChatPart,
    Compacting,
    CompactionPrompt,
    Messages,
    System,
    ToolDefinition,
    ToolExecuteBefore,
    Tools,
    ToolsWanted,
)
from hudkit.agent.plugins import PluginInput
from hudkit.agent.telemetry import names
from hudkit.api import Hud
from hudkit.context.compaction.request_parts import request_parts
from hudkit.errors import TranscriptError
from hudkit.hosts.host_session import COMPACT_TOOLS, HostCall, HostMessage, HostSession, last_usage
from hudkit.hosts.in_process import TOOL_DEFINITIONS, InProcessHud
from hudkit.hud.frame import Frame
from hudkit.log.payloads import Parts
from hudkit.transcripts import Message, Part, PatchPart, ToolPart

_ARGUMENT_NAMES: Mapping[str, Mapping[str, str]] = {
    "bash": {"path": "workdir"},
}
"""For each tool of the session, what its arguments are called there."""


def to_ingest_message(message: Message, root: Path) -> Message:
    """A message as it is heard; paths of changed files (relative to `root`) become whole ones."""
    return replace(message, parts=tuple(_part(part, root) for part in message.parts))


def _part(part: Part, root: Path) -> Part:
    if isinstance(part, PatchPart):
        return replace(part, files=tuple(str(root / name) for name in part.files))
    if not isinstance(part, ToolPart):
        return part
    names = _ARGUMENT_NAMES.get(part.tool, {})
    given: dict[str, Any] = {names.get(name, name): value for name, value in part.input.items()}
    metadata = part.metadata
    if "session" in metadata:
        metadata = {**metadata, "sessionId": metadata["session"]}
    tool = "todowrite" if part.tool == "todo" and isinstance(given.get("todos"), list) else part.tool
    return replace(part, tool=tool, input=given, metadata=metadata)


HOST = "session"
PLUGIN_NAME = "hud"
"""The plugin's name."""

HUD_FILE = "hudkit.db"
"""The HUD's log in hudkit's data directory, where nothing else is said."""

_SUMMARISER = "compaction"
"""The agent whose calls get no HUD: it writes what the HUD need not say."""


class HudPlugin:
    """The plugin of one open session and its sub-sessions. All its hooks run in its own thread."""

    def __init__(self, hud: Hud | Path, given: PluginInput, *, resume: str = "") -> None:
        self.attached = InProcessHud(hud, host=HOST, project=given.directory)
        self._given = given
        self._resume = resume
        self._seen: dict[str, _SessionMemory] = {}

    def tool(self, given: ToolsWanted, output: Tools) -> None:  # noqa: ARG002 (the same for every session)
        for one in TOOL_DEFINITIONS:
            name, run = str(one["name"]), self._router(str(one["name"]))
            output.tools[name] = ToolDefinition(name, str(one["description"]), dict(one["parameters"]), run)

    def messages_transform(self, given: Chat, output: Messages) -> None:
        if not given.session_id or given.agent == _SUMMARISER:
            return
        seen = self._of(given.session_id)
        row = self._given.client.session(given.session_id)
        if self._resume and not seen.parent:
            self._resume = self.attached.resume(given.session_id, self._resume)
        asked = HostCall(
            entries=self._entries(seen, given.session_id, output.messages),
            window=self._given.client.window(),
            model=given.model.rpartition(":")[2],
            parts=_parts(output.messages, seen.system),
            title=row.title if row is not None else "",
            agent=row.agent if row is not None else "",
        )
        placing = self.attached.prepare_call(given.session_id, asked, parent=seen.parent)
        seen.base = placing.base
        if placing.frame is not None:
            self._given.client.figures(given.session_id, **_figures(placing.frame))
        for at, blocks in placing.behind.items():
            for n, block in enumerate(blocks):
                _append(output.messages[at], block, f"{n}")
        if placing.tail and output.messages:
            _append(output.messages[-1], placing.tail, "tail")

    def system_transform(self, given: Chat, output: System) -> None:
        if not given.session_id or given.agent == _SUMMARISER:
            return
        seen = self._of(given.session_id)
        seen.system = sum(map(len, output.system))
        if seen.base:
            output.system.append(seen.base)

    def session_compacting(self, given: Compacting, output: CompactionPrompt) -> None:
        seen = self._of(given.session_id)
        self._take_up(seen, given.session_id)

        def prompt(conversation: HostSession) -> str:
            conversation.ingest(tuple(seen.entries.values()))
            return conversation.start_compaction("host" if given.auto else "agent")

        output.prompt = self.attached.with_session(given.session_id, prompt, parent=seen.parent)

    def close(self) -> None:
        """Close the log, where it was opened for this plugin."""
        self.attached.close()

    # -- inside ------------------------------------------------------------------------------------------------

    def _router(self, name: str) -> Callable[[dict[str, Any], ToolExecuteBefore], str]:
        def run(arguments: dict[str, Any], call: ToolExecuteBefore) -> str:
            seen = self._of(call.session_id)
            if name in COMPACT_TOOLS:
                self._take_up(seen, call.session_id)
                used = last_usage([one.message for one in seen.entries.values()])
                self.attached.report_usage(call.session_id, used, parent=seen.parent)
            said = self.attached.tool(call.session_id, name, arguments, parent=seen.parent)
            if name in COMPACT_TOOLS and said.ok:
                self._given.client.summarise(call.session_id)
            return said.text

        return run

    def _entries(self, seen: _SessionMemory, session_id: str, sent: Sequence[ChatMessage]) -> list[HostMessage]:
        """The messages of a request, with what each of them tells."""
        self._take_up(seen, session_id)
        found = []
        for one in sent:
            entry = seen.entries.get(one.id)
            message = entry.message if entry is not None else Message(one.id, session_id, one.role, one.created)
            found.append(HostMessage(one.id, message, _role(one), _size(one)))
        return found

    def _take_up(self, seen: _SessionMemory, session_id: str) -> None:
        """Read what was said since; all of it, where what was read was taken back."""
        try:
            fresh = self._given.client.messages(session_id, after=seen.upto)
        except TranscriptError:
            seen.entries.clear()
            fresh = self._given.client.messages(session_id)
        for one in fresh:
            heard = to_ingest_message(one, self._given.worktree)
            seen.entries[one.id] = HostMessage(one.id, heard, one.role, 0)
        closed = list(takewhile(_closed, fresh))
        seen.upto = closed[-1].id if closed else seen.upto

    def _of(self, session_id: str) -> _SessionMemory:
        if session_id not in self._seen:
            row = self._given.client.session(session_id)
            self._seen[session_id] = _SessionMemory(row.parent_id if row is not None else "")
        return self._seen[session_id]


class _SessionMemory:
    """What is remembered of one session beside its log: the messages up to the one with the id `upto`, and the base
    and the size of the system prompt of the last call."""

    def __init__(self, parent: str) -> None:
        self.parent = parent
        self.entries: dict[str, HostMessage] = {}
        self.upto = ""
        self.base = ""
        self.system = 0


def hud_plugin(hud: Hud | Path, *, resume: str = "") -> Callable[[PluginInput], HudPlugin]:
    """The plugin over a `Hud`, or over a log at a path, which it opens. Nobody else may use this `Hud` meanwhile.
    `resume` names a session of any host whose task a new session takes up."""

    def plugin(given: PluginInput) -> HudPlugin:
        return HudPlugin(hud, given, resume=resume)

    return plugin


def _figures(frame: Frame) -> dict[str, int | str | tuple[str, ...]]:
    """What telemetry is told of a frame: its tokens, its density, and the layers that it has."""
    layers = {"base": frame.base, "deltas": frame.deltas, "tail": frame.tail}
    return {
        names.FRAME_TOKENS: frame.tokens,
        names.FRAME_DENSITY: str(frame.density),
        names.FRAME_PLACED: tuple(name for name, layer in layers.items() if layer),
    }


def _closed(message: Message) -> bool:
    return message.role != "assistant" or bool(message.finish or message.error)


def _role(message: ChatMessage) -> str:
    if message.role == "assistant" and any(part.kind == "tool" for part in message.parts):
        return "tool"
    return message.role


def _append(message: ChatMessage, text: str, id: str) -> None:
    """Put a block behind a message: as a part of a user's, behind the last result of a response's calls."""
    last = next((part for part in reversed(message.parts) if part.kind == "tool"), None)
    if message.role == "assistant" and last is not None:
        last.text = f"{last.text}\n{text}"
    else:
        message.parts.append(ChatPart("text", text, f"{message.id}-hud-{id}", synthetic=True))


def _size(message: ChatMessage) -> int:
    return sum(len(part.text) + len(str(part.arguments)) for part in message.parts)


def _parts(messages: Sequence[ChatMessage], system: int) -> Parts:
    """What the request carries, in characters."""
    outputs = ((part.tool, len(part.text)) for one in messages for part in one.parts if part.kind == "tool")
    return request_parts(sum(map(_size, messages)), outputs, system or None, None)


__all__ = ["HudPlugin", "hud_plugin"]
