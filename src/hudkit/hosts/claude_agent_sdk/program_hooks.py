"""What one program's options bring to Claude Code: hooks with deadlines, and the server with the HUD's tools."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import anyio
import anyio.to_thread
from claude_agent_sdk import ClaudeAgentOptions, ContextUsageResponse, HookMatcher, McpSdkServerConfig
from mcp import types
from mcp.server import Server
from msgspec.structs import replace

from hudkit import __version__
from hudkit.hosts.hook_deadlines import hook_seconds
from hudkit.hosts.hook_session import with_agent_file
from hudkit.hosts.hook_wire import (
    NOTHING_NEW,
    TAKES_CONTEXT,
    CallerFacts,
    HookAnswer,
    HookPayload,
    HostEvent,
    read_hook,
)
from hudkit.hosts.in_process_hooks import InProcessHooks
from hudkit.tools import DEFINITIONS

SERVER = "hudkit"
"""The name of the server with the tools: the model knows them as `mcp__hudkit__hud` and `mcp__hudkit__memory`."""

TOOL_NAMES = tuple(f"mcp__{SERVER}__{definition['name']}" for definition in DEFINITIONS)
"""What the model calls them."""

_EVENTS = ("UserPromptSubmit", "PostToolBatch", "PreCompact", "SessionStart", "SubagentStart", "SubagentStop", "Stop")
"""The hooks that are answered. Of session starts only those behind a compaction or a `/clear` come to a program."""

_ENDS = (HostEvent.TURN_ENDED, HostEvent.SUBAGENT_ENDED)
_BEGINS = (HostEvent.WINDOW_COMPACTED, HostEvent.SESSION_CLEARED, HostEvent.COMPACTION_STARTS)

_FIELDS = tuple(name for name in HookPayload.__struct_fields__ if name != "hud")

_LONG_WINDOW = ("context-1m", 1_000_000)
"""How the name of the beta begins with which a model reads so many tokens."""

_HOST_SECONDS = 2 * hook_seconds("PreCompact")
"""Seconds after which the host gives a hook up, should we not keep to our own deadline."""

_MOST_SILENT = 2
"""Hooks in a row without an answer in time, after which only those of a new window are answered."""

_SILENT_SECONDS = 30.0
"""Seconds after which all are answered again."""

_MAX_CALLS = 256
"""Tool calls of which it is remembered whose they are, until they are carried out."""

_TOOL_USE_ID = "claudecode/toolUseId"

_LOG = logging.getLogger("hudkit.hosts.claude_agent_sdk")


class ProgramHooks:
    """The hooks and tools of one options object, whichever sessions are begun with it."""

    def __init__(
        self,
        answers: InProcessHooks,
        options: ClaudeAgentOptions,
        facts: CallerFacts,
        take_resume: Callable[[], str],
    ) -> None:
        """`facts` are what hooks say of their host; `take_resume` returns the session whose task the next session
        takes up, if any."""
        self._answers = answers
        self._take_resume = take_resume
        # A fork has an id of its own, and the conversation of the other session.
        self._resume = options.resume or "" if options.fork_session else ""
        self._resume_at = options.resume_session_at or "" if not options.fork_session else ""
        long = any(str(beta).startswith(_LONG_WINDOW[0]) for beta in options.betas)
        self._facts = replace(facts, window=_LONG_WINDOW[1]) if long else facts
        self._measured: ContextUsageResponse | None = None
        self._callers: dict[str, HookPayload] = {}
        self._silent, self._silent_since = 0, 0.0

    def hooks(self) -> dict[str, HookMatcher]:
        """Return the hook for each event; that for tools is called for the HUD's own only."""
        answer, note_caller = cast("Any", self._answer), cast("Any", self._note_caller)
        matchers = {event: HookMatcher(None, [answer], _HOST_SECONDS) for event in _EVENTS}
        return {**matchers, "PreToolUse": HookMatcher(f"mcp__{SERVER}__.*", [note_caller])}

    def server(self) -> McpSdkServerConfig:
        """Return the server with the tools, as options list it."""
        server: Server[Any] = Server(
            SERVER, version=__version__, on_list_tools=self._list_tools, on_call_tool=self._call_tool
        )
        # Else Claude Code shows the tools' names only, and their schemas when the model searches for them.
        config = {"type": "sdk", "name": SERVER, "instance": server, "alwaysLoad": True}
        return cast("McpSdkServerConfig", config)

    def measured(self, usage: ContextUsageResponse) -> None:
        """Use what Claude Code measured of a window with the next hook."""
        self._measured = usage

    # -- hooks -------------------------------------------------------------------------------------------------

    async def _answer(self, asked: Mapping[str, Any], _call: str | None, _context: object) -> dict[str, Any]:
        """Return what a hook is answered, in time; nothing where that is not to be had."""
        try:
            payload = self._payload(asked)
            if payload.event in _ENDS:
                words = str(asked.get("last_assistant_message") or "")
                self._answers.read_on(payload, words)
                return {}
            return _written(payload, await self._answer_in_time(payload))
        except Exception:
            _LOG.exception("a hook goes without the HUD")
            return {}

    async def _answer_in_time(self, payload: HookPayload) -> HookAnswer:
        is_first = self._answers.begins(payload)
        is_silent = self._silent >= _MOST_SILENT and time.monotonic() < self._silent_since + _SILENT_SECONDS
        if is_silent and payload.event not in _BEGINS:
            return NOTHING_NEW
        seconds = hook_seconds(payload.hook_event_name)
        if is_first and not is_silent:
            seconds = max(seconds, hook_seconds("SessionStart"))
        try:
            with anyio.fail_after(seconds):
                if is_first and payload.agent_id is None:
                    await anyio.to_thread.run_sync(self._begin, payload, abandon_on_cancel=True)
                answer = await anyio.to_thread.run_sync(
                    self._answers.answer, payload, seconds, abandon_on_cancel=True
                )
        except TimeoutError:
            _LOG.warning("%s goes without the HUD: no answer within %g s", payload.hook_event_name, seconds)
            self._silent, self._silent_since = self._silent + 1, time.monotonic()
            return NOTHING_NEW
        self._silent = 0
        return answer

    def _begin(self, payload: HookPayload) -> None:
        """Take up the task of another session, and go back where the options say so."""
        other = self._resume or self._take_resume()
        if other and other != payload.session_id:
            self._resume = self._answers.resume(payload, other)
        if self._resume_at:
            self._answers.resume_at(payload, self._resume_at)
            self._resume_at = ""

    def _payload(self, asked: Mapping[str, Any]) -> HookPayload:
        facts, measured = self._facts, self._measured
        if measured is not None and not asked.get("agent_id"):
            facts = replace(facts, window=measured["rawMaxTokens"], used=measured["totalTokens"])
            self._facts, self._measured = replace(facts, used=None), None
        payload = read_hook({name: asked[name] for name in _FIELDS if name in asked})
        return with_agent_file(replace(payload, hud=facts))

    # -- tools -------------------------------------------------------------------------------------------------

    async def _note_caller(self, asked: Any, _call: str | None, _context: object) -> dict[str, Any]:
        """Remember whose a call of our tools is: the server is told its id, and not the session."""
        try:
            payload = self._payload(asked)
            if payload.tool_use_id:
                self._callers[payload.tool_use_id] = payload
            while len(self._callers) > _MAX_CALLS:
                del self._callers[next(iter(self._callers))]
        except Exception:
            _LOG.exception("it is not known whose a call is")
        return {}

    async def _list_tools(self, _: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_TOOLS)

    async def _call_tool(self, _: object, asked: types.CallToolRequestParams) -> types.CallToolResult:
        caller = self._callers.pop(str((asked.meta or {}).get(_TOOL_USE_ID, "")), None)
        text, ok = "not recorded: it is not known which session this call is of", False
        if caller is not None:
            call = partial(self._answers.tool, caller, asked.name, asked.arguments or {})
            reply = await anyio.to_thread.run_sync(call)
            text, ok = reply.text, reply.ok
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=not ok)


_TOOLS = [
    types.Tool(
        name=str(definition["name"]),
        description=str(definition["description"]),
        input_schema=definition["parameters"],
        annotations=types.ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False),
    )
    for definition in DEFINITIONS
]


def _written(payload: HookPayload, answer: HookAnswer) -> dict[str, Any]:
    """The answer in the host's words; of a hook before a compaction the message goes into the summary's prompt."""
    written: dict[str, Any] = {}
    if answer.context and payload.hook_event_name in TAKES_CONTEXT:
        output = {"hookEventName": payload.hook_event_name, "additionalContext": answer.context}
        written["hookSpecificOutput"] = output
    message = answer.instructions if payload.event is HostEvent.COMPACTION_STARTS else answer.message
    if message:
        written["systemMessage"] = message
    return written
