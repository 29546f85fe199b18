"""The HUD's tools in pydantic-ai's form. A mistake in a call is answered, so that none counts as a retry."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

Answer = Callable[[str, Mapping[str, object] | str], str]
"""Answers a call of a tool, by its name and its arguments as the model wrote them."""

_BROKEN = "\0"
"""The name of the only argument where the model's arguments are no JSON object: they are answered as text."""


class HudToolset(AbstractToolset[Any]):
    """`definitions` are tools as name, description and JSON Schema."""

    def __init__(self, definitions: Sequence[Mapping[str, Any]], answer: Answer) -> None:
        self._definitions = definitions
        self._answer = answer

    @property
    def id(self) -> str:
        return "hudkit"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002 (all the same)
        return {
            one["name"]: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=one["name"],
                    description=one["description"],
                    parameters_json_schema=one["parameters"],
                    strict=False,
                ),
                max_retries=1,
                args_validator=_AsWritten(),
            )
            for one in self._definitions
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],  # noqa: ARG002 (the run is known)
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> str:
        return await asyncio.to_thread(self._answer, name, tool_args.get(_BROKEN, tool_args))


class _AsWritten:
    """Takes any arguments; the operations check their own, and tell the agent how to call them right."""

    def validate_json(
        self,
        input: str | bytes | bytearray,
        *,
        allow_partial: bool | Literal["off", "on", "trailing-strings"] = False,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> dict[str, Any]:
        try:
            given = json.loads(input)
        except ValueError:
            given = None
        if isinstance(given, dict):
            return given
        return {_BROKEN: input if isinstance(input, str) else bytes(input).decode("utf-8", "replace")}

    def validate_python(
        self,
        input: Any,
        *,
        allow_partial: bool | Literal["off", "on", "trailing-strings"] = False,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> dict[str, Any]:
        return input if isinstance(input, dict) else {_BROKEN: str(input)}
