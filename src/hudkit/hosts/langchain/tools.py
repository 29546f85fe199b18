"""The HUD's tools as LangChain's: the two routers, and the two that compact."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from hudkit.hosts.in_process import TOOL_DEFINITIONS
from hudkit.hosts.langchain.lineage import Line, line_of_tool
from hudkit.tools import DEFINITIONS as ROUTERS
from hudkit.tools import RouterReply

Answer = Callable[[Line, str, Mapping[str, object] | str], RouterReply]


class HudTool(BaseTool):
    """One of the HUD's tools. What is wrong with a call is said in its result."""

    handle_tool_error: bool = True
    _answer: Answer = PrivateAttr()

    def __init__(self, definition: Mapping[str, Any], answer: Answer) -> None:
        super().__init__(
            name=str(definition["name"]),
            description=str(definition["description"]),
            args_schema=_lean(definition["parameters"]),
        )
        self._answer = answer

    def _run(self, *, config: RunnableConfig, **arguments: Any) -> str:
        reply = self._answer(line_of_tool(config), self.name, _read(arguments))
        if not reply.ok:
            raise ToolException(reply.text)
        return reply.text

    async def _arun(self, *, config: RunnableConfig, **arguments: Any) -> str:
        return await asyncio.to_thread(self._run, config=config, **arguments)


def hud_tools(answer: Answer, *, compacts: bool) -> Sequence[BaseTool]:
    """The tools that an agent gets; those that compact where that can be had."""
    return [HudTool(one, answer) for one in (TOOL_DEFINITIONS if compacts else ROUTERS)]


def strict(tools: Sequence[Any]) -> list[Any]:
    """The same tools for a request that asks for an answer in a schema: OpenAI's models then take no object without
    named properties, so that `args` is JSON text."""
    return [_textual(one) if isinstance(one, HudTool) else one for one in tools]


def readable(message: AIMessage, names: Sequence[str]) -> AIMessage:
    """The response with calls of the HUD's tools (`names`) that are no JSON made into calls that can be answered:
    LangChain would end the turn there, or tell the agent nothing of what was wrong."""
    broken = [one for one in message.invalid_tool_calls if one["name"] in names]
    if not broken:
        return message
    calls = [tool_call(name=str(one["name"]), args={"tool": one["args"] or ""}, id=one["id"]) for one in broken]
    others = [one for one in message.invalid_tool_calls if one not in broken]
    return message.model_copy(update={"tool_calls": [*message.tool_calls, *calls], "invalid_tool_calls": others})


def _textual(tool: HudTool) -> HudTool:
    schema = cast("dict[str, Any]", tool.args_schema)
    if "args" not in schema["properties"]:
        return tool
    properties = {**schema["properties"], "args": {"type": "string", "description": "The arguments as JSON text."}}
    return tool.model_copy(update={"args_schema": {**schema, "properties": properties}})


def _lean(schema: Any) -> Any:
    """The schema as LangChain writes those of other tools: each call pays for what stands in it."""
    if not isinstance(schema, dict):
        return schema
    return {name: _lean(value) for name, value in schema.items() if name != "additionalProperties"}


def _read(arguments: Mapping[str, Any]) -> Mapping[str, object] | str:
    """The arguments, or the text of a call that `readable` took up."""
    only = arguments.get("tool")
    return only if len(arguments) == 1 and isinstance(only, str) and only.lstrip()[:1] in ("{", "[") else arguments
