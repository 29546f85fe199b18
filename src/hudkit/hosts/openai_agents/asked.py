"""What is known of a model call of the Agents SDK, and what its response cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from agents import Agent, FunctionTool, Model, RunConfig
from agents.models import get_default_model
from agents.usage import Usage

from hudkit.hosts.host_session import HostCall, HostMessage
from hudkit.tokens import Window, window_of
from hudkit.transcripts import ReportedUsage

Config = RunConfig | dict[str, Any] | None
"""A run configuration, as users give it."""


def option(config: Config, name: str) -> Any:
    """An option of a run configuration; `None` where it is not given."""
    return config.get(name) if isinstance(config, dict) else getattr(config, name, None)


def asked(
    agent: Agent[Any],
    config: Config,
    window: int | Window | None,
    entries: Sequence[HostMessage],
    instructions: str | None,
    *,
    prunes: bool,
) -> HostCall:
    """What the HUD is asked for a call; `window` is the user's."""
    model = _model_of(agent, config)
    if not isinstance(window, Window):
        window = window_of(model) if window is None else Window(window, None, None, "user")
    return HostCall(
        entries=entries,
        window=window,
        model=model,
        system=len(instructions or ""),
        tools=_sizes(agent),
        agent=agent.name,
        prunes=prunes,
    )


def _model_of(agent: Agent[Any], config: Config) -> str:
    """The name of the model that a call goes to, without those of its providers."""
    over = option(config, "model")
    model = over if over is not None else agent.model
    if isinstance(model, Model):
        return str(getattr(model, "model", "")).rpartition("/")[2]
    return (model or get_default_model()).rpartition("/")[2]


def _sizes(agent: Agent[Any]) -> int | None:
    """Characters of the tools' definitions; `None` where servers have more of them."""
    if agent.mcp_servers:
        return None
    mine = [tool for tool in agent.tools if isinstance(tool, FunctionTool)]
    return sum(
        len(one.name) + len(one.description) + len(msgspec.json.encode(one.params_json_schema)) for one in mine
    )


def reported(usage: Usage) -> ReportedUsage | None:
    """The tokens of a response; of its last request where the SDK tried several times."""
    told: Any = usage.request_usage_entries[-1] if usage.request_usage_entries else usage
    if not told.total_tokens:
        return None
    cached = getattr(told.input_tokens_details, "cached_tokens", 0) or 0
    written = getattr(told.input_tokens_details, "cache_write_tokens", 0) or 0
    return ReportedUsage(
        told.total_tokens,
        max(0, told.input_tokens - cached - written),
        told.output_tokens,
        getattr(told.output_tokens_details, "reasoning_tokens", 0) or 0,
        cached,
        written,
    )
