"""`HudRunner`: runs agents as the SDK's `Runner` does, with the HUD in every call."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from agents import (
    Agent,
    AgentHooks,
    FunctionTool,
    FunctionToolResult,
    Handoff,
    ModelResponse,
    RunConfig,
    Runner,
    RunResult,
    RunResultStreaming,
    SQLiteSession,
    Tool,
)
from agents.agent import ToolsToFinalOutputResult
from agents.items import TResponseInputItem
from agents.memory import Session
from agents.run import RunState
from agents.run_context import AgentHookContext, RunContextWrapper
from agents.tool_context import ToolContext

from hudkit.api import Hud
from hudkit.errors import ConfigError
from hudkit.hosts.host_session import COMPACTION_TOOL_NAMES
from hudkit.hosts.in_process import TOOL_DEFINITIONS, InProcessHud
from hudkit.hosts.openai_agents.call_filter import ACTIVE_CALL, CallFilter, RunnerState, RunOptions, config_option
from hudkit.tokens import Window
from hudkit.tools import DEFINITIONS as ROUTERS

HOST = "openai-agents"
"""What this host is called in a log."""

Input = str | list[TResponseInputItem] | RunState[Any]


class HudRunner:
    """Runs agents with the HUD: `await HudRunner().run(agent, "...", session="s1")` for `await Runner.run(...)`.

    One is enough for all agents and conversations of a program; runs at the same time keep to their own.
    """

    def __init__(
        self,
        hud: Hud | str | os.PathLike[str] | None = None,
        *,
        project: str | os.PathLike[str] | None = None,
        sessions: str | os.PathLike[str] = ":memory:",
        window: int | Window | None = None,
        compact: bool = True,
        tools: Mapping[str, str] | None = None,
        resume: str = "",
    ) -> None:
        """`hud` is an open `Hud`, the path of a log, or nothing: the user's own log, which all hosts share. `project`
        is the directory that the agents work in. Sessions that are given by a name are the SDK's SQLite sessions in
        the file `sessions`. `window` is the model's, in tokens (default: as the table of models has it). `compact`:
        a conversation that fills the window is compacted. `tools` says what the agents' tools do, where their names
        do not (`{"load_text": "read"}`: read, write, edit, bash, apply_patch, todowrite). `resume` names a session of
        any host, whose task the first conversation takes up."""
        self.attached = InProcessHud(hud, host=HOST, project=project)
        self._file = sessions
        self._tools = [_hud_tool(definition) for definition in (TOOL_DEFINITIONS if compact else ROUTERS)]
        self._sessions: dict[str, SQLiteSession] = {}
        self._shared = RunnerState(
            self.attached,
            window=window,
            compact=compact,
            names=dict(tools or {}),
            offered=frozenset(tool.name for tool in self._tools),
            resume=resume,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the log and the sessions that were opened here; twice is harmless."""
        self.attached.close()
        while self._sessions:
            self._sessions.popitem()[1].close()

    async def run(
        self, agent: Agent[Any], input: Input, *, session: Session | str | None = None, **options: Any
    ) -> RunResult:
        """Run an agent as `Runner.run` does, with its options, and return the result.

        The session, or else the `conversation_id` or the `group_id` of the run configuration, is the conversation
        that the HUD belongs to; without one of them, a run is one of its own.
        """
        with _apart():
            return await Runner.run(self.agent(agent), input, **self._options(session, options))

    def run_sync(
        self, agent: Agent[Any], input: Input, *, session: Session | str | None = None, **options: Any
    ) -> RunResult:
        """Run an agent as `Runner.run_sync` does, where no event loop runs, and return the result."""
        with _apart():
            return Runner.run_sync(self.agent(agent), input, **self._options(session, options))

    def run_streamed(
        self, agent: Agent[Any], input: Input, *, session: Session | str | None = None, **options: Any
    ) -> RunResultStreaming:
        """Run an agent as `Runner.run_streamed` does, and return its stream of events."""
        with _apart():
            return Runner.run_streamed(self.agent(agent), input, **self._options(session, options))

    def agent(self, agent: Agent[Any]) -> Agent[Any]:
        """Return a copy of an agent with the HUD's tools, its handoffs too; for sub-agents
        (`hud.agent(a).as_tool(...)`) and for runs that are taken up (`RunState.from_json(hud.agent(a), ...)`).

        Twice is harmless. Raises `ConfigError` where the agent has a tool with such a name.
        """
        return _with_hud_tools(agent, self._tools)

    def run_config(
        self,
        config: RunOptions = None,
        *,
        session: Session | None = None,
        conversation: str = "",
        chained: bool = False,
    ) -> RunConfig:
        """Return a run configuration that brings the HUD into the calls of `hud.agent(...)`, for whoever runs it:
        `Runner`, or `as_tool(session=s, run_config=hud.run_config(session=s))`.

        For one conversation. `conversation` names one that has no session; `chained`: the provider keeps it.
        """
        filtered = self._filtered(config, session, conversation, chained=chained)
        return filtered if isinstance(filtered, RunConfig) else RunConfig(**filtered)

    # -- inside ------------------------------------------------------------------------------------------------

    def _options(self, session: Session | str | None, options: dict[str, Any]) -> dict[str, Any]:
        own_session = self._session(session) if isinstance(session, str) else session
        before, name = options.get("previous_response_id"), options.get("conversation_id")
        chained = bool(before or name or options.get("auto_previous_response_id"))
        name = name or self._shared.behind(before or "")
        config = self._filtered(options.get("run_config"), own_session, name, chained=chained)
        return {**options, "session": own_session, "run_config": config}

    def _session(self, id: str) -> SQLiteSession:
        if id not in self._sessions:
            self._sessions[id] = SQLiteSession(id, self._file if self._file == ":memory:" else str(self._file))
        return self._sessions[id]

    def _filtered(
        self, config: RunOptions, session: Session | None, name: str, *, chained: bool
    ) -> RunConfig | dict[str, Any]:
        """Return the configuration with our filter; still a dict where it was none, so that the SDK closes what it
        opens.
        """
        calls = CallFilter(
            self._shared, config, session, name=name or config_option(config, "group_id") or "", chained=chained
        )
        if isinstance(config, RunConfig):
            return replace(config, call_model_input_filter=calls)
        return {**(config or {}), "call_model_input_filter": calls}


@contextmanager
def _apart() -> Iterator[None]:
    """Keep what a run leaves in this context from the next one."""
    token = ACTIVE_CALL.set(ACTIVE_CALL.get())
    try:
        yield
    finally:
        ACTIVE_CALL.reset(token)


# --- Agents with the HUD's tools: copies, whose handoffs lead to copies too, and whose hooks are forwarded.


_AgentCopies = dict[int, tuple[Agent[Any], Agent[Any]]]
"""Agents by their identity, each with its copy."""


def _hud_tool(definition: dict[str, Any]) -> FunctionTool:
    """Return one of the HUD's tools. It answers for whichever conversation calls it, and never raises."""
    name = str(definition["name"])

    async def invoke(context: ToolContext[Any], arguments: str) -> str:  # noqa: ARG001 (the SDK's signature)
        now = ACTIVE_CALL.get()
        if now is None:
            return "not recorded: this run was not started with the HUD"
        if name in COMPACTION_TOOL_NAMES and not now.scope.compacts:
            return "Not compacted: this conversation is kept and compacted elsewhere."
        return await asyncio.to_thread(now.calls.tool, now.scope, name, arguments)

    # Not strict: an operation takes more arguments than the definition lists.
    return FunctionTool(name, str(definition["description"]), dict(definition["parameters"]), invoke, False)


def _with_hud_tools(agent: Agent[Any], tools: list[FunctionTool], copies: _AgentCopies | None = None) -> Agent[Any]:
    """Return a copy of the agent with these tools; the agent itself where it has them.

    Raises `ConfigError` where it has a tool of its own with such a name.
    """
    copies = {} if copies is None else copies
    if id(agent) in copies:
        return copies[id(agent)][1]
    if all(any(owned is tool for owned in agent.tools) for tool in tools):
        return agent
    names = {tool.name for tool in tools}
    taken = [tool.name for tool in agent.tools if tool.name in names]
    if taken:
        raise ConfigError(
            f"the agent {agent.name!r} has a tool of its own with the name {taken[0]!r}",
            hint="give that tool another name",
        )
    over = {"tool_use_behavior": _first_but(names)} if agent.tool_use_behavior == "stop_on_first_tool" else {}
    copy = agent.clone(
        tools=[*map(_entered, agent.tools), *tools], hooks=_ForwardingHooks(agent.hooks), handoffs=[], **over
    )
    copies[id(agent)] = (agent, copy)
    copy.handoffs = [_handoff(handoff, tools, copies) for handoff in agent.handoffs]
    return copy


class _ForwardingHooks(AgentHooks[Any]):
    """Hooks of an agent: what they tell is taken up, and passed on to those that it had."""

    def __init__(self, own: AgentHooks[Any] | None) -> None:
        self._own: AgentHooks[Any] = own if own is not None else AgentHooks()

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        now = ACTIVE_CALL.get()
        if now is not None:
            await now.calls.answered(now.scope, response)
        await self._own.on_llm_end(context, agent, response)

    async def on_tool_start(self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool) -> None:
        now = ACTIVE_CALL.get()
        if now is not None:
            now.scope.busy += 1
        await self._own.on_tool_start(context, agent, tool)

    async def on_tool_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: object
    ) -> None:
        now = ACTIVE_CALL.get()
        if now is not None:
            now.scope.busy -= 1
        await self._own.on_tool_end(context, agent, tool, result)

    async def on_start(self, context: AgentHookContext[Any], agent: Agent[Any]) -> None:
        await self._own.on_start(context, agent)

    async def on_end(self, context: AgentHookContext[Any], agent: Agent[Any], output: Any) -> None:
        await self._own.on_end(context, agent, output)

    async def on_handoff(self, context: RunContextWrapper[Any], agent: Agent[Any], source: Agent[Any]) -> None:
        await self._own.on_handoff(context, agent, source)

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        await self._own.on_llm_start(context, agent, system_prompt, input_items)


def _handoff(target: Agent[Any] | Handoff[Any, Any], tools: list[FunctionTool], copies: _AgentCopies) -> Any:
    if isinstance(target, Agent):
        return _with_hud_tools(target, tools, copies)
    lead = target.on_invoke_handoff

    async def invoke(context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
        return _with_hud_tools(await lead(context, arguments), tools, copies)

    return replace(target, on_invoke_handoff=invoke)


def _entered(tool: Tool) -> Tool:
    """Return a tool that is an agent: what it runs is a conversation of its own, of the call's id."""
    if not isinstance(tool, FunctionTool) or not getattr(tool, "_is_agent_tool", False):
        return tool
    run = tool.on_invoke_tool

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        now = ACTIVE_CALL.get()
        if now is not None:
            now.scope.is_agent(tool.name)
        token = ACTIVE_CALL.set(now._replace(call=context.tool_call_id) if now is not None else None)
        try:
            return await run(context, arguments)
        finally:
            ACTIVE_CALL.reset(token)

    return replace(tool, on_invoke_tool=invoke)


def _first_but(
    names: set[str],
) -> Callable[[RunContextWrapper[Any], list[FunctionToolResult]], Awaitable[ToolsToFinalOutputResult]]:
    """Return `stop_on_first_tool`, for the tools that have none of these names."""

    async def ends(_: RunContextWrapper[Any], results: list[FunctionToolResult]) -> ToolsToFinalOutputResult:
        first = next((result for result in results if result.tool.name not in names), None)
        return ToolsToFinalOutputResult(first is not None, first.output if first is not None else None)

    return ends
