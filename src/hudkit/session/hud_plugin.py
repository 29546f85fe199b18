"""hudkit's own HUD as a plugin: on the hooks that every plugin has, and through nothing else.

Base in `system_transform`, deltas and tail in `messages_transform` (anchored, kept in the HUD's log alone), the tools
`hud`, `memory` and the two that compact, the prompt of a compaction, and what happened derived from the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hudkit.api import Hud
from hudkit.caching import Piece, compare
from hudkit.compaction.carried import parts_of
from hudkit.compaction.forecast import announced, forecast
from hudkit.errors import StoreError, TranscriptError
from hudkit.events import Draft, Origin
from hudkit.events.payloads import Parts
from hudkit.frames import Frame
from hudkit.hearing.compacting import begin, continue_with, refusal, undone
from hudkit.hearing.live import Live, Staged, Upload
from hudkit.history import Message
from hudkit.hooks import (
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
from hudkit.session.plugins import PluginInput
from hudkit.session.spoken import as_heard
from hudkit.tokens import Window
from hudkit.tools import DEFINITIONS, reply

HOST = "session"
NAME = "hud"
"""The plugin's name."""

FILE = "hudkit.db"
"""The HUD's log in hudkit's data directory, where nothing else is said."""

SUMMARISER = "compaction"
"""The agent whose calls get no HUD: it writes what the HUD need not say."""

_NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
_COMPACTS = (
    (
        "hud_compact",
        "Compacts the conversation before the next step; `hud` survives. Refused below half a window.",
    ),
    ("memory_compact", "The same as `hud_compact`."),
)


class HudPlugin:
    """The plugin of one open session and its sub-sessions. All its hooks run in its own thread."""

    def __init__(self, hud: Hud, given: PluginInput, *, own: bool = False) -> None:
        self.hud = hud
        self._own = own
        self._given = given
        self._seen: dict[str, _Seen] = {}

    def tool(self, given: ToolsWanted, output: Tools) -> None:  # noqa: ARG002 (the same for every session)
        for one in DEFINITIONS:
            name, said = str(one["name"]), str(one["description"])
            output.tools[name] = ToolDefinition(name, said, dict(one["parameters"]), self._router(name))
        for name, said in _COMPACTS:
            output.tools[name] = ToolDefinition(name, said, dict(_NOTHING), self._compact)

    def messages_transform(self, given: Chat, output: Messages) -> None:
        if not given.session_id or given.agent == SUMMARISER:
            return
        seen = self._of(given.session_id)
        placed = [(_anchor(one), _role(one), one) for one in output.messages]
        frame = self._frame(given, seen, placed)
        seen.frame = frame
        for delta in frame.deltas:
            at = next((one for anchor, _, one in placed if anchor == delta.anchor), None)
            if at is not None:
                _append(at, delta.text, delta.id)
        if frame.tail and output.messages:
            _append(output.messages[-1], frame.tail, "tail")

    def system_transform(self, given: Chat, output: System) -> None:
        if not given.session_id or given.agent == SUMMARISER:
            return
        seen = self._of(given.session_id)
        seen.system = sum(map(len, output.system))
        if seen.frame is not None and seen.frame.base:
            output.system.append(seen.frame.base)

    def session_compacting(self, given: Compacting, output: CompactionPrompt) -> None:
        session = self._of(given.session_id).live.session
        self._hear(given.session_id)
        with suppress(StoreError):  # the prompt is worth more than the record of it
            begin(session, "host" if given.auto else "agent", None)
        output.prompt = continue_with(session, carries=False)

    def close(self) -> None:
        """Close the log, where it was opened for this plugin."""
        if self._own:
            self.hud.close()

    # -- tools -----------------------------------------------------------------------------------------------------

    def _router(self, name: str) -> Callable[[dict[str, Any], ToolExecuteBefore], str]:
        def run(arguments: dict[str, Any], call: ToolExecuteBefore) -> str:
            session = self._of(call.session_id).live.session
            before = session.state
            said = reply(session, name, arguments, origin=Origin.AGENT)
            session.said(before)
            return said.text

        return run

    def _compact(self, arguments: dict[str, Any], call: ToolExecuteBefore) -> str:  # noqa: ARG002 (there are none)
        session = self._of(call.session_id).live.session
        used, limit = self._used(call.session_id), self._given.client.window().limit_tokens
        if said := refusal(session.state, used, limit, self.hud.settings):
            return f"Not compacted: {said}."
        self._given.client.summarise(call.session_id)
        return announced(session.state, forecast(session.state, used or 0, limit))

    # -- frames ----------------------------------------------------------------------------------------------------

    def _frame(self, given: Chat, seen: _Seen, placed: Sequence[tuple[str, str, ChatMessage]]) -> Frame:
        """The frame of a call, with all that the messages tell heard in the same commit."""
        window = self._given.client.window()
        messages = self._fresh(seen, given.session_id)
        upload = self._upload(given.session_id, messages, [anchor for anchor, _, _ in placed], window)
        pieces = tuple(Piece(anchor, role, _size(one)) for anchor, role, one in placed)
        staged = Staged(0)

        def news() -> Sequence[Draft]:
            nonlocal staged
            staged = seen.live.stage(upload)
            return (*staged.drafts, *undone(seen.live.session, upload.anchors, staged.drafts))

        frame = seen.live.session.frame(
            used_tokens=used_of(messages, seen.used),
            limit_tokens=window.limit_tokens,
            transcript=[(anchor, role) for anchor, role, _ in placed],
            model=given.model.rpartition(":")[2],
            first=news,
            sent=compare(seen.pieces, pieces),
            parts=_parts([one for _, _, one in placed], seen.system),
        )
        seen.pieces = pieces
        if not frame.notice:
            seen.live.settle(staged)
            seen.remember(messages)
        return frame

    def _hear(self, session_id: str) -> None:
        """Take up what was said since the last call."""
        seen = self._of(session_id)
        messages = self._fresh(seen, session_id)
        upload = self._upload(session_id, messages, (), self._given.client.window())
        try:
            seen.live.hear(upload)
        except StoreError:
            return  # it is told again with the next call
        seen.remember(messages)

    def _fresh(self, seen: _Seen, session_id: str) -> tuple[Message, ...]:
        """The messages that were not heard in full yet; all of them, where what was heard was taken back."""
        try:
            return self._given.client.messages(session_id, after=seen.heard)
        except TranscriptError:
            seen.heard, seen.used = "", None
            return self._given.client.messages(session_id)

    def _upload(self, session_id: str, messages: Sequence[Message], anchors: Sequence[str], window: Window) -> Upload:
        row = self._given.client.session(session_id)
        return Upload(
            messages=[as_heard(one, self._given.worktree) for one in messages],
            title=row.title if row is not None else "",
            agent=row.agent if row is not None else "",
            parent=row.parent_id if row is not None else "",
            limit=window.limit_tokens,
            anchors=anchors,
        )

    def _used(self, session_id: str) -> int | None:
        seen = self._of(session_id)
        return used_of(self._fresh(seen, session_id), seen.used)

    def _of(self, session_id: str) -> _Seen:
        if session_id not in self._seen:
            directory = self._given.directory
            session = self.hud.session(session_id, project=directory, host=HOST)
            self._seen[session_id] = _Seen(Live(session, session_id, str(directory), HOST))
        return self._seen[session_id]


class _Seen:
    """What is remembered of one session beside its log."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.frame: Frame | None = None
        self.system = 0
        self.heard = ""
        self.used: int | None = None
        self.pieces: tuple[Piece, ...] | None = None

    def remember(self, messages: Sequence[Message]) -> None:
        """Messages were heard, and are in the log: those that have ended need not be looked at again."""
        closed = _closed(messages)
        self.used = used_of(closed, self.used)
        self.heard = closed[-1].id if closed else self.heard


def hud_plugin(hud: Hud | Path) -> Callable[[PluginInput], HudPlugin]:
    """The plugin over a `Hud`, or over a log at a path, which it opens. Nobody else may use this `Hud` meanwhile."""

    def plugin(given: PluginInput) -> HudPlugin:
        if isinstance(hud, Hud):
            return HudPlugin(hud, given)
        return HudPlugin(Hud.open(hud), given, own=True)

    return plugin


def used_of(messages: Sequence[Message], before: int | None = None) -> int | None:
    """Tokens in the window after the last response; `None` where a compaction came after it. `before` is what it was
    before these messages."""
    for message in reversed(messages):
        if message.role == "assistant" and message.summary and message.finish and not message.error:
            return None
        if message.role == "assistant" and not message.summary and message.usage is not None:
            return message.usage.used
    return before


def _closed(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages up to the first one in which something can still change."""
    for at, message in enumerate(messages):
        if message.role == "assistant" and not message.finish and not message.error:
            return messages[:at]
    return messages


def _anchor(message: ChatMessage) -> str:
    return f"{message.role}:{message.created or message.id}:{message.id}"


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
    return parts_of(sum(map(_size, messages)), outputs, system or None, None)


__all__ = ["HudPlugin", "hud_plugin", "used_of"]
