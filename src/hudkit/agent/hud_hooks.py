"""hudkit's own HUD as a plugin: on the hooks that every plugin has, and through nothing else.

The base goes into the system prompt (`system_transform`). Deltas and tail go behind messages (`messages_transform`),
where they are anchored; they are kept in the HUD's log alone. The plugin gives the tools `hud`, `memory` and the two
that compact, writes the prompt of a compaction, and derives from the messages what happened.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from itertools import takewhile
from operator import is_
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from msgspec.structs import replace

from hudkit.agent.hooks import (
    ChatMessage,
    ChatPart,
    CompactionContext,
    CompactionPrompt,
    HookEvent,
    Messages,
    ModelCallContext,
    NoOutput,
    System,
    ToolDefinition,
    ToolExecuteBefore,
    Tools,
    ToolsRequest,
    on_events,
    replaces_messages,
)
from hudkit.agent.plugins import PluginClient, PluginInput
from hudkit.agent.records import StoredCall, StoredMessage
from hudkit.agent.session_transcript import HOST
from hudkit.agent.telemetry import names
from hudkit.api import Hud
from hudkit.context.compaction.request_parts import request_parts
from hudkit.errors import HudkitError, TranscriptError
from hudkit.hosts.host_session import COMPACTION_TOOL_NAMES, HostCall, HostMessage, HostSession, last_usage
from hudkit.hosts.in_process import TOOL_DEFINITIONS, InProcessHud
from hudkit.hud.frame import Frame
from hudkit.log.payloads import RequestCeilings, RequestParts
from hudkit.transcripts import Message, Part, PatchPart, ToolPart

_LOG = logging.getLogger("hudkit.ingest")

PLUGIN_NAME = "hud"
"""The plugin's name."""

HUD_FILE = "hudkit.db"
"""The HUD's log in hudkit's data directory, where nothing else is said."""

_SUMMARISER = "compaction"
"""The agent whose calls get no HUD: it writes what the HUD need not say."""


_LATEST_RECORD = 0.05
"""Seconds after which a call is recorded that did not go out."""

_TRIMMED = (
    "Before the next step the older messages leave the window. What is in the HUD and the newest messages stay; "
    "`memory` reads the others. No summary is written: record now what must not be looked for."
)
"""What `hud_compact` answers in a session without summaries."""


class HudPlugin:
    """The plugin of one open session and its sub-sessions. All its hooks run in its own thread, what is done beside
    the session in another one."""

    def __init__(self, hud: Hud | Path, plugin_input: PluginInput, *, resume: str = "") -> None:
        """Open the HUD; `hud_plugin` is the door."""
        self.attached = InProcessHud(
            hud, host=HOST, project=plugin_input.directory, transcript=plugin_input.client.transcript
        )
        self._client = plugin_input.client
        self._worktree = plugin_input.worktree
        self._resume = resume
        self._memories: dict[str, _SessionMemory] = {}
        self._beside: _WorkBeside | None = None
        self._late_records: set[str] = set()
        self._client.watch(self._note_message)

    def tool(self, hook_input: ToolsRequest, output: Tools) -> None:  # noqa: ARG002 (the same for every session)
        """Add the tools `hud`, `memory` and the two that compact; return nothing."""
        for definition in TOOL_DEFINITIONS:
            name = str(definition["name"])
            parameters = dict(definition["parameters"])
            output.tools[name] = ToolDefinition(name, str(definition["description"]), parameters, self._runner(name))

    @replaces_messages
    def messages_transform(self, hook_input: ModelCallContext, output: Messages) -> None:
        """Put deltas and tail behind the messages that they belong to; return nothing.

        This hook runs before `system_transform`: the frame is made here, and its base is kept for that one.
        """
        if not hook_input.session_id or hook_input.agent == _SUMMARISER:
            return
        session_id = hook_input.session_id
        memory = self._memory_of(session_id)
        if self._beside is None:
            self._beside = _WorkBeside()
        self._beside.catch_up()
        title, agent = self._client.title_and_agent(session_id)
        if self._resume and not memory.parent:
            self._resume = self.attached.resume(session_id, self._resume)
        self._read_new(memory, session_id)
        sent = memory.sent
        sent.follow(output.messages, memory.entries, memory.renewed, session_id)
        memory.renewed.clear()
        call = HostCall(
            entries=sent.entries,
            window=self._client.window(),
            model=hook_input.model.rpartition(":")[2],
            parts=_request_parts(sent, memory.system_characters, self._client),
            title=title,
            agent=agent,
            history=tuple(memory.entries.values()),
            history_goes_on=memory.goes_on,
            recorded_later=self._client.watches(session_id),
        )
        injection = self.attached.prepare_call(session_id, call, parent=memory.parent)
        memory.goes_on = True
        if call.recorded_later and session_id not in self._late_records:
            # where no response begins, as after a failure of another plugin
            self._late_records.add(session_id)
            asyncio.get_running_loop().call_later(_LATEST_RECORD, self._record_late, session_id)
        memory.base = injection.base
        if injection.frame is not None:
            self._client.figures(session_id, **_figures(injection.frame))
        messages = output.messages
        before, memory.with_blocks = memory.with_blocks, {}
        for index, blocks in injection.behind.items():
            message = messages[index]
            last = before.get(message.id)
            if last is None or last[0] is not message or last[1] != blocks:
                last = (message, blocks, _with_blocks(message, blocks))
            memory.with_blocks[message.id], messages[index] = last, last[2]
        if injection.tail and messages:
            messages[-1] = _with_block(messages[-1], injection.tail, "tail")

    def system_transform(self, hook_input: ModelCallContext, output: System) -> None:
        """Append the base to the system prompt; return nothing."""
        if not hook_input.session_id or hook_input.agent == _SUMMARISER:
            return
        memory = self._memory_of(hook_input.session_id)
        # known from the second call on: messages come first, so the first frame counts no system prompt
        memory.system_characters = sum(map(len, output.system))
        if memory.base:
            output.system.append(memory.base)

    def session_compacting(self, hook_input: CompactionContext, output: CompactionPrompt) -> None:
        """Write the prompt of a compaction, from what the HUD knows; return nothing."""
        memory = self._memory_of(hook_input.session_id)
        self._read_new(memory, hook_input.session_id)

        def write_prompt(session: HostSession) -> str:
            session.ingest(tuple(memory.entries.values()))
            return session.start_compaction("host" if hook_input.auto else "agent")

        output.prompt = self.attached.with_session(hook_input.session_id, write_prompt, parent=memory.parent)

    @on_events("session.reverted", "session.updated")
    def event(self, hook_input: HookEvent, output: NoOutput) -> None:  # noqa: ARG002 (nothing can be changed)
        """Take back what messages recorded that an undo took back, and bring back what a redo did; return nothing.

        Also where a session is opened: a turn, or an undo, may have been cut off before it was told.
        """
        memory = self._memory_of(hook_input.session_id)
        memory.start_anew()
        self._read_new(memory, hook_input.session_id)
        entries = tuple(memory.entries.values())

        def follow(session: HostSession) -> None:
            session.follow_history(entries, whole=True)
            session.ingest(entries)

        with suppress(HudkitError, OSError):  # the next call does it
            self.attached.with_session(hook_input.session_id, follow, parent=memory.parent)

    def _note_message(self, message: StoredMessage) -> None:
        """Have work done beside the session, while it waits for the disk.

        That is what a frame left to be recorded, once its call goes out, and what a response tells: its words before
        its calls begin, what these did when they have ended, the rest when it has. This runs in the session's thread,
        what is done in another.
        """
        if self._beside is None or message.role != "assistant" or message.summary:
            return
        work: Callable[[], None]
        if message.finish or _is_settled(message):
            work = partial(self._read_ahead, message)
        elif not message.parts and not message.error:
            work = partial(self.attached.write_behind, message.session_id)
        else:
            return
        self._beside.add(work)

    def _record_late(self, session_id: str) -> None:
        self._late_records.discard(session_id)
        self.attached.write_behind(session_id)

    def _read_ahead(self, message: StoredMessage) -> None:
        memory = self._memory_of(message.session_id)
        self.attached.read_ahead(message.session_id, self._entry(memory, self._client.read(message)))

    def _entry(self, memory: _SessionMemory, message: Message) -> HostMessage:
        """Return a message as it is told to the HUD; the same where it was asked for last."""
        last_read, entry = memory.last_read  # at once: two threads read
        if last_read is not message or entry is None:
            entry = HostMessage(message.id, to_ingest_message(message, self._worktree), message.role, 0)
            memory.last_read = (message, entry)
        return entry

    def close(self) -> None:
        """Close the log, where it was opened for this plugin; return nothing."""
        if self._beside is not None:
            self._beside.close()
        self.attached.close()

    def _runner(self, name: str) -> Callable[[dict[str, Any], ToolExecuteBefore], str]:
        def run(arguments: dict[str, Any], call: ToolExecuteBefore) -> str:
            memory = self._memory_of(call.session_id)
            if name in COMPACTION_TOOL_NAMES and self._client.window_budget() is not None:
                self._client.summarise(call.session_id)
                return _TRIMMED
            if name in COMPACTION_TOOL_NAMES:
                # what these answer depends on how full the window is now
                self._read_new(memory, call.session_id)
                usage = last_usage([entry.message for entry in memory.entries.values()])
                self.attached.report_usage(call.session_id, usage, parent=memory.parent)
            reply = self.attached.tool(call.session_id, name, arguments, parent=memory.parent)
            if name in COMPACTION_TOOL_NAMES and reply.ok:
                self._client.summarise(call.session_id)
            return reply.text

        return run

    def _read_new(self, memory: _SessionMemory, session_id: str) -> None:
        """Read the messages since the last time; all of them, where what was read was taken back."""
        try:
            messages = self._client.messages(session_id, after=memory.upto)
        except TranscriptError:
            memory.start_anew()
            messages = self._client.messages(session_id)
        for message in messages:
            memory.entries[message.id] = self._entry(memory, message)
            memory.renewed.add(message.id)
        # only up to the last that cannot change any more: an open response is read again
        closed = list(takewhile(_is_closed, messages))
        memory.upto = closed[-1].id if closed else memory.upto

    def _memory_of(self, session_id: str) -> _SessionMemory:
        if session_id not in self._memories:
            row = self._client.session(session_id)
            self._memories[session_id] = _SessionMemory(row.parent_id if row is not None else "")
        return self._memories[session_id]


class _WorkBeside:
    """Work that is done while the session waits, in the order in which it was added, in a thread of its own.

    Whoever adds some goes on: a lock is released, and the thread begins when he next waits. An event loop would be
    woken by a write to a socket, at which Python lets another thread run: the work would begin before the session has
    begun to wait, and hold it up.
    """

    def __init__(self) -> None:
        self._work: deque[Callable[[], object]] = deque()
        self._turn = Lock()
        self._wakes: SimpleQueue[bool] = SimpleQueue()
        Thread(target=self._run, name="hud beside the session", daemon=True).start()

    def add(self, work: Callable[[], object]) -> None:
        """Have it done; return nothing."""
        self._work.append(work)
        self._wakes.put(True)

    def catch_up(self) -> None:
        """Do what is left, and wait for what is under way; return nothing."""
        with self._turn:
            while self._work:
                try:
                    self._work.popleft()()
                except Exception:
                    _LOG.exception("work beside the session is left to the next call")

    def close(self) -> None:
        """Do what is left and end the thread; return nothing."""
        self.catch_up()
        self._wakes.put(False)

    def _run(self) -> None:
        while self._wakes.get():
            self.catch_up()


class _SessionMemory:
    """What is remembered of one session beside its log.

    `entries` are the messages, closed ones up to the id `upto`; the others are of the last call. `renewed` are the
    ids of those that were read since then, `goes_on`: since that call nothing was taken back. `with_blocks` are by
    their ids the messages of that call that blocks stand behind: each before, the blocks, and with them.
    """

    def __init__(self, parent: str) -> None:
        self.parent = parent
        self.entries: dict[str, HostMessage] = {}
        self.renewed: set[str] = set()
        self.upto = ""
        self.goes_on = False
        self.last_read: tuple[Message | None, HostMessage | None] = (None, None)
        self.sent = _SentMessages()
        self.with_blocks: dict[str, tuple[ChatMessage, tuple[str, ...], ChatMessage]] = {}
        self.base = ""
        self.system_characters = 0

    def start_anew(self) -> None:
        """Forget the messages: some were taken back, or are there again."""
        self.renewed.update(self.entries)
        self.entries.clear()
        self.upto, self.goes_on = "", False


class _SentMessages:
    """The messages of the last request as hooks see them, and what each of them tells: its entry.

    Nearly all are those of the request before, as they were: of these nothing is worked out again. `size` counts the
    characters of all, `outputs` those of the outputs of each tool.
    """

    def __init__(self) -> None:
        self.entries: list[HostMessage] = []
        self.size = 0
        self.outputs: Counter[str] = Counter()
        self._chats: list[ChatMessage] = []
        self._ids: set[str] = set()

    def follow(
        self,
        chats: Sequence[ChatMessage],
        stored: Mapping[str, HostMessage],
        renewed: AbstractSet[str],
        session_id: str,
    ) -> None:
        """Take up the messages of a request.

        `stored` has what is stored of each, by its id; what is `renewed` in it was read since the last request.
        """
        goes_on = len(chats) >= len(self._chats) and all(map(is_, self._chats, chats))
        if not goes_on or not self._ids.isdisjoint(renewed):  # what was added up is not known for a part
            self._chats, self._ids, self.entries, self.size, self.outputs = [], set(), [], 0, Counter()
        new = chats[len(self._chats) :]
        entries = [_entry_of(chat, stored.get(chat.id), session_id) for chat in new]
        # other lists: whoever was given the last ones compares them with these
        self._chats, self.entries = list(chats), [*self.entries, *entries]
        self._ids.update([chat.id for chat in new])
        self.size += sum([entry.size for entry in entries])
        for part in (part for chat in new for part in chat.parts if part.kind == "tool"):
            self.outputs[part.tool] += len(part.text)


def _entry_of(chat: ChatMessage, stored: HostMessage | None, session_id: str) -> HostMessage:
    # one that is not stored was put in by another plugin: it takes room and tells nothing
    message = stored.message if stored is not None else Message(chat.id, session_id, chat.role, chat.created)
    return HostMessage(chat.id, message, _role(chat), _size(chat))


def hud_plugin(hud: Hud | Path, *, resume: str = "") -> Callable[[PluginInput], HudPlugin]:
    """Return the HUD's plugin over a `Hud`, or over a log at a path, which it opens.

    Nobody else may use this `Hud` meanwhile. `resume` names a session of any host whose task a new session takes up.
    """

    def plugin(plugin_input: PluginInput) -> HudPlugin:
        return HudPlugin(hud, plugin_input, resume=resume)

    return plugin


_ARGUMENT_NAMES: Mapping[str, Mapping[str, str]] = {
    "bash": {"path": "workdir"},
}
"""For each tool of ours, what `hudkit.ingest` calls its arguments."""


def to_ingest_message(message: Message, root: Path) -> Message:
    """Return a message in the words of `hudkit.ingest`; paths of changed files (relative to `root`) become whole."""
    return replace(message, parts=tuple(_ingest_part(part, root) for part in message.parts))


def _ingest_part(part: Part, root: Path) -> Part:
    if isinstance(part, PatchPart):
        return replace(part, files=tuple(str(root / name) for name in part.files))
    if not isinstance(part, ToolPart):
        return part
    renamed = _ARGUMENT_NAMES.get(part.tool, {})
    arguments: dict[str, Any] = {renamed.get(name, name): value for name, value in part.input.items()}
    metadata = part.metadata
    if "session" in metadata:
        metadata = {**metadata, "sessionId": metadata["session"]}
    # `todo` without a list only reads
    writes_todos = part.tool == "todo" and isinstance(arguments.get("todos"), list)
    return replace(part, tool="todowrite" if writes_todos else part.tool, input=arguments, metadata=metadata)


def _figures(frame: Frame) -> dict[str, int | str | tuple[str, ...]]:
    """Return what telemetry is told of a frame: its tokens, its density, and the layers that it has."""
    layers = {"base": frame.base, "deltas": frame.deltas, "tail": frame.tail}
    return {
        names.FRAME_TOKENS: frame.tokens,
        names.FRAME_DENSITY: str(frame.density),
        names.FRAME_PLACED: tuple(name for name, layer in layers.items() if layer),
    }


def _is_settled(message: StoredMessage) -> bool:
    """Whether a response is whole and none of its calls has begun, or all have ended."""
    calls = [part for part in message.parts if isinstance(part, StoredCall)]
    return bool(calls) and (all(call.done for call in calls) or all(call.status == "pending" for call in calls))


def _is_closed(message: Message) -> bool:
    return message.role != "assistant" or bool(message.finish or message.error)


def _role(message: ChatMessage) -> str:
    if message.role == "assistant" and any(part.kind == "tool" for part in message.parts):
        return "tool"
    return message.role


def _with_blocks(message: ChatMessage, blocks: Sequence[str]) -> ChatMessage:
    for number, block in enumerate(blocks):
        message = _with_block(message, block, f"{number}")
    return message


def _with_block(message: ChatMessage, text: str, id: str) -> ChatMessage:
    """Return a message with a block behind it: as a part of a user's, behind the last result of a response's calls.

    The message itself stays as it is: it is compared with that of the next request.
    """
    parts = message.parts
    last = next((index for index in reversed(range(len(parts))) if parts[index].kind == "tool"), None)
    if message.role == "assistant" and last is not None:
        result = replace(parts[last], text=f"{parts[last].text}\n{text}")
        return replace(message, parts=[*parts[:last], result, *parts[last + 1 :]])
    block = ChatPart("text", text, f"{message.id}-hud-{id}", synthetic=True)
    return replace(message, parts=[*parts, block])


def _size(message: ChatMessage) -> int:
    return sum(len(part.text) + len(str(part.arguments)) for part in message.parts)


def _request_parts(sent: _SentMessages, system: int, client: PluginClient) -> RequestParts:
    """Return what the request carries, in characters, and what its parts may have."""
    parts = request_parts(sent.size, sent.outputs.items(), system or None, None)
    budget = client.window_budget()
    if budget is None:
        return parts
    ceilings = RequestCeilings(
        budget.usable, budget.system, budget.tools, budget.hud, budget.messages, budget.outputs
    )
    return replace(parts, tools=client.tools_characters(), ceilings=ceilings)
