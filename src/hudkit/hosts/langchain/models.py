"""What a chat model of LangChain's tells of itself: its name and its window; and the size of tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from hudkit.tokens import Window, window_of


def bare(model: Any) -> Any:
    """The chat model within its bindings (`bind_tools`, `with_config`, `with_retry`)."""
    while (inner := getattr(model, "bound", None)) is not None:
        model = inner
    return model


def name_of(model: Any) -> str:
    """The model's name, as its provider has it; empty where it has none."""
    given = (getattr(bare(model), name, None) for name in ("model_name", "model", "model_id"))
    return next((one for one in given if isinstance(one, str) and one), "")


def window(model: Any, user: int | None = None) -> Window:
    """The model's window: as the `user` says, else as its profile, else as the table has it. A profile names the most
    that a request may have, which for some models is less than the window."""
    name, profile = name_of(model), getattr(bare(model), "profile", None)
    told: Mapping[str, Any] = profile if isinstance(profile, Mapping) else {}
    most, output = (_tokens(told.get(key)) for key in ("max_input_tokens", "max_output_tokens"))
    if user is not None:
        return Window(user, output, None, "user")
    known = window_of(name)
    if most is not None and known.input_limit == most:
        return known
    return window_of(name, host=most, host_output=output)


def bound_tools(model: Any) -> Sequence[Any]:
    """The tools that were bound to a model."""
    while model is not None:
        tools = (getattr(model, "kwargs", None) or {}).get("tools")
        if tools:
            return list(tools)
        model = getattr(model, "bound", None)
    return ()


class Offered:
    """Sizes of lists of tools, in characters of their definitions; each list is written out once."""

    def __init__(self) -> None:
        self._sizes: dict[tuple[str, ...], int] = {}

    def size(self, tools: Sequence[BaseTool | dict[str, Any]]) -> int:
        names = tuple(one.name if isinstance(one, BaseTool) else json.dumps(one, default=str) for one in tools)
        if names not in self._sizes:
            written = (one if isinstance(one, dict) else convert_to_openai_tool(one) for one in tools)
            self._sizes[names] = sum(len(json.dumps(one, default=str)) for one in written)
        return self._sizes[names]


def _tokens(figure: object) -> int | None:
    return figure if isinstance(figure, int) and figure > 0 else None
