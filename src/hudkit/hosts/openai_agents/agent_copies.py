"""Agents of the SDK with the HUD's tools: copies, whose handoffs lead to copies too, and whose hooks we hear."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from agents import Agent, AgentHooks, FunctionTool, FunctionToolResult, Handoff, ModelResponse, Tool
from agents.agent import ToolsToFinalOutputResult
from agents.items import TResponseInputItem
from agents.run_context import AgentHookContext, RunContextWrapper
from agents.tool_context import ToolContext

from hudkit.errors import ConfigError
from hudkit.hosts.host_session import COMPACTION_TOOL_NAMES
from hudkit.hosts.openai_agents.call_filter import ACTIVE_CALL

_AgentCopies = dict[int, tuple[Agent[Any], Agent[Any]]]
"""Agents by their identity, each with its copy."""


def hud_tool(definition: dict[str, Any]) -> FunctionTool:
    """One of the HUD's tools. It answers for whichever conversation calls it, and never raises."""
    name = str(definition["name"])

    async def invoke(context: ToolContext[Any], arguments: str) -> str:  # noqa: ARG001 (the SDK's signature)
        now = ACTIVE_CALL.get()
        if now is None:
            return "not recorded: this run was not started with the HUD"
        if name in COMPACTION_TOOL_NAMES and not now.scope.compacts:
            return "Not compacted: this conversation is kept and compacted elsewhere."
        return await asyncio.to_thread(now.calls.tool, now.scope, name, arguments)

    return FunctionTool(name, str(definition["description"]), dict(definition["parameters"]), invoke, False)


def with_hud_tools(agent: Agent[Any], tools: list[FunctionTool], copies: _AgentCopies | None = None) -> Agent[Any]:
    """A copy of the agent with these tools; the agent itself where it has them. Raises `ConfigError` where it has a
    tool of its own with such a name."""
    copies = {} if copies is None else copies
    if id(agent) in copies:
        return copies[id(agent)][1]
    if all(any(one is tool for one in agent.tools) for tool in tools):
        return agent
    names = {tool.name for tool in tools}
    taken = [one.name for one in agent.tools if one.name in names]
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
    copy.handoffs = [_handoff(one, tools, copies) for one in agent.handoffs]
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


def _handoff(one: Agent[Any] | Handoff[Any, Any], tools: list[FunctionTool], copies: _AgentCopies) -> Any:
    if isinstance(one, Agent):
        return with_hud_tools(one, tools, copies)
    lead = one.on_invoke_handoff

    async def invoke(context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
        return with_hud_tools(await lead(context, arguments), tools, copies)

    return replace(one, on_invoke_handoff=invoke)


def _entered(tool: Tool) -> Tool:
    """A tool that is an agent: what it runs is a conversation of its own, of the call's id."""
    if not isinstance(tool, FunctionTool) or not getattr(tool, "_is_agent_tool", False):
        return tool
    run = tool.on_invoke_tool

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        now = ACTIVE_CALL.get()
        token = ACTIVE_CALL.set(now._replace(call=context.tool_call_id) if now is not None else None)
        try:
            return await run(context, arguments)
        finally:
            ACTIVE_CALL.reset(token)

    return replace(tool, on_invoke_tool=invoke)


def _first_but(
    names: set[str],
) -> Callable[[RunContextWrapper[Any], list[FunctionToolResult]], Awaitable[ToolsToFinalOutputResult]]:
    """`stop_on_first_tool`, for the tools that have none of these names."""

    async def ends(_: RunContextWrapper[Any], results: list[FunctionToolResult]) -> ToolsToFinalOutputResult:
        first = next((one for one in results if one.tool.name not in names), None)
        return ToolsToFinalOutputResult(first is not None, first.output if first is not None else None)

    return ends
