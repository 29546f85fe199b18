"""The HUD as a plugin of ADK's runners and apps, and a summarizer that is told what the HUD keeps."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.context import Context
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from hudkit.api import Hud
from hudkit.context.compaction.summaries import SUMMARY_SYSTEM_PROMPT
from hudkit.errors import HudkitError
from hudkit.hosts.google_adk.adk_contents import read_contents, reported_usage, with_frame
from hudkit.hosts.host_session import HostCall
from hudkit.hosts.in_process import InProcessHud
from hudkit.tokens import Window, window_of
from hudkit.tools import DEFINITIONS as ROUTERS

_LOG = logging.getLogger("hudkit.hosts.google_adk")

HOST = "google-adk"

_CALLER: ContextVar[str] = ContextVar("hudkit_adk_caller", default="")
"""The session whose tool runs now: an agent that it starts is a sub-agent of that session."""

_SUMMARY_FOLLOWS = "\n\nThe conversation:\n\n{conversation_history}"


class _Lineage(NamedTuple):
    """A session of ADK, and the one whose tool started it."""

    session: str
    parent: str = ""


class HudAdkPlugin(BasePlugin):
    """The HUD in every model call of an app: `App(name="shop", root_agent=agent, plugins=[HudAdkPlugin()])`.

    The HUD's session is ADK's session. An agent that runs as a tool of another one (`AgentTool`) is a sub-agent of
    it, with a session of its own; agents that a task is transferred to share the session. Safe for many runs at once.
    """

    def __init__(
        self,
        hud: Hud | str | os.PathLike[str] | None = None,
        *,
        project: str | os.PathLike[str] | None = None,
        window: int | None = None,
        output: int | None = None,
        tools: Mapping[str, str] | None = None,
        resume: str = "",
        name: str = "hudkit",
    ) -> None:
        """`hud` is an open `Hud`, the path of a log, or nothing: the user's own log, which all hosts share. `project`
        is the directory that the agent works in (default: the current one). `window` and `output` (tokens) overrule
        what is known of the model. `tools` says what tools of yours are, where their names do not:
        `{"load_text": "read"}`. `resume` names a session of any host whose task the first new session takes up.

        Nothing is opened before the first call; a log that cannot be used stops no call.
        """
        super().__init__(name=name)
        self._attached = InProcessHud(hud, host=HOST, project=project)
        self._window, self._output = window, output
        self._names = dict(tools or {})
        self._resume = resume
        self._tools = [_AdkTool(definition, self._attached) for definition in ROUTERS]
        self._runs: dict[str, str] = {}
        """The session of each invocation, the newest few: a summarizer is told events, and not whose they are."""

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Put the HUD into the request, and its tools; the call goes on with both, or as it was."""
        try:
            offered = [tool for tool in self._tools if tool.name not in llm_request.tools_dict]
            llm_request.append_tools(list[BaseTool](offered))
            await asyncio.to_thread(self._place, callback_context, llm_request)
        except Exception:
            _LOG.exception("a call goes without the HUD")
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Note the tokens that a response reports."""
        usage = reported_usage(llm_response.usage_metadata)
        if usage is not None and not llm_response.partial:
            line = _lineage(callback_context)
            await asyncio.to_thread(self._attached.report_usage, line.session, usage.used, parent=line.parent)
        return None

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Note whose tool runs: an agent that it starts belongs to that session."""
        del tool, tool_args
        _CALLER.set(tool_context.session.id)
        return None

    async def close(self) -> None:
        """Close the log, where it was opened here; twice is harmless."""
        self._attached.close()

    def summarizer(self, model: BaseLlm) -> BaseEventsSummarizer:
        """Return a summarizer for `EventsCompactionConfig`, whose model is asked for what the HUD does not keep."""
        return _HudSummarizer(self, model)

    def _place(self, context: CallbackContext, request: LlmRequest) -> None:
        line = _lineage(context)
        self._remember_run(context.invocation_id, line.session)
        if self._resume and not line.parent:
            self._resume = self._attached.resume(line.session, self._resume)
        read = read_contents(request.contents, context.session.events, self._names)
        instruction = request.config.system_instruction
        call = HostCall(
            entries=read.entries,
            window=self._window_of(request.model or ""),
            model=request.model or "",
            system=len(instruction) if isinstance(instruction, str) else None,
            tools=_tool_characters(request),
            agent=context.agent_name,
            prunes=True,
        )
        placing = self._attached.prepare_call(line.session, call, parent=line.parent)
        request.contents = with_frame(request.contents, read, placing)
        if placing.base:
            request.append_instructions([placing.base])

    def _window_of(self, model: str) -> Window:
        if self._window is not None:
            return Window(self._window, self._output, None, "user")
        return window_of(model, host_output=self._output)

    def _remember_run(self, invocation: str, session: str) -> None:
        self._runs.pop(invocation, None)
        self._runs[invocation] = session
        while len(self._runs) > _MAX_RUNS:
            del self._runs[next(iter(self._runs))]

    def summary_prompt(self, events: Sequence[Event]) -> str:
        """Return what a model is asked that summarises these events; empty where their session is not known, or the
        log cannot be reached."""
        sessions = (self._runs.get(event.invocation_id) for event in reversed(events))
        session = next(filter(None, sessions), "")
        if not session:
            return ""
        try:
            return self._attached.with_session(session, lambda talk: talk.start_compaction())
        except (HudkitError, OSError) as error:
            _LOG.warning("a summary is made without the HUD: %s", error)
            return ""


_MAX_RUNS = 1_000
"""Invocations whose session is remembered."""


class _HudSummarizer(BaseEventsSummarizer):
    """ADK's own summarizer, with a prompt that says what the HUD keeps."""

    def __init__(self, plugin: HudAdkPlugin, model: BaseLlm) -> None:
        self._plugin = plugin
        self._model = model

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Return the event with the summary; `None` where the model gives none."""
        prompt = await asyncio.to_thread(self._plugin.summary_prompt, events)
        template = prompt.replace("{", "{{").replace("}", "}}") + _SUMMARY_FOLLOWS if prompt else None
        model = _SummaryModel(model=self._model.model, inner=self._model)
        return await LlmEventSummarizer(model, template).maybe_summarize_events(events=events)


class _SummaryModel(BaseLlm):
    """A model that is told that it writes a summary: ADK's own request has no system prompt."""

    inner: BaseLlm

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Ask the model, and yield what it answers."""
        llm_request.append_instructions([SUMMARY_SYSTEM_PROMPT])
        async for response in self.inner.generate_content_async(llm_request, stream):
            yield response


class _AdkTool(BaseTool):
    """One of the HUD's tools. What is wrong with a call is said in its result."""

    def __init__(self, definition: Mapping[str, Any], attached: InProcessHud) -> None:
        super().__init__(name=str(definition["name"]), description=str(definition["description"]))
        self._parameters = definition["parameters"]
        self._attached = attached

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Answer the call."""
        line = _lineage(tool_context)
        reply = await asyncio.to_thread(self._attached.tool, line.session, self.name, args, parent=line.parent)
        return {"result": reply.text} if reply.ok else {"error": reply.text}


def _lineage(context: Context) -> _Lineage:
    session = context.session.id
    caller = _CALLER.get()
    return _Lineage(session, "" if caller == session else caller)


def _tool_characters(request: LlmRequest) -> int:
    """Characters of the definitions of a request's tools."""
    declared = [
        each for tool in request.config.tools or () for each in getattr(tool, "function_declarations", None) or ()
    ]
    return sum(len(each.model_dump_json(exclude_none=True)) for each in declared)
