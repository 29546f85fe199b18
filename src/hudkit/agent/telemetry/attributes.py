"""What is known of an operation, as attributes under the names of the conventions. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from hudkit.agent.telemetry import content, names
from hudkit.agent.telemetry.happenings import (
    AgentBegan,
    Figure,
    ModelAnswered,
    ModelCalled,
    ToolBegan,
    ToolEnded,
    Usage,
)

Attributes = dict[str, Figure]


def of_agent(began: AgentBegan) -> Attributes:
    found: Attributes = {names.OPERATION: names.INVOKE_AGENT, names.CONVERSATION: began.session_id}
    found[names.AGENT] = began.agent
    return found | of_model(began.model)


def of_model(name: str) -> Attributes:
    """The provider and the model of a name such as `openai:gpt-5`; nothing for an empty one."""
    if not name:
        return {}
    provider, model = names.provider_and_model(name)
    return {names.PROVIDER: provider, names.REQUEST_MODEL: model}


def of_call(called: ModelCalled, trigger: str) -> Attributes:
    """Of a model call before it goes out. `trigger` is why a summary is asked for."""
    found: Attributes = {names.OPERATION: names.CHAT, names.CONVERSATION: called.session_id}
    found[names.AGENT], found[names.REQUEST_STREAM] = called.agent, True
    found |= of_model(called.model)
    optional: Mapping[str, Figure | None] = {
        names.REQUEST_MAX_TOKENS: called.max_tokens,
        names.REQUEST_TEMPERATURE: called.temperature,
        names.REQUEST_TOP_P: called.top_p,
        names.WINDOW_LIMIT: called.limit or None,
        names.COMPACTION_TRIGGER: trigger if called.summary else None,
    }
    return found | {name: value for name, value in optional.items() if value is not None}


def of_request(called: ModelCalled, limit: int) -> Attributes:
    """What a request says, in at most `limit` characters an attribute."""
    said, omitted = content.messages(called.messages, limit)
    found: Attributes = {names.INPUT_MESSAGES: said}
    if called.system:
        found[names.SYSTEM_INSTRUCTIONS] = content.instructions(called.system, limit)
    if omitted:
        found[names.OMITTED] = omitted
    return found


def of_answer(answered: ModelAnswered) -> Attributes:
    found: Attributes = {names.FINISH_REASONS: (finish(answered.reason),)}
    if answered.usage is not None:
        found |= of_usage(answered.usage)
        found[names.WINDOW_USED] = answered.usage.input + answered.usage.output
    optional = {names.COST: answered.cost, names.RESPONSE_MODEL: answered.model, names.RESPONSE_ID: answered.id}
    return found | {name: value for name, value in optional.items() if value}


def of_usage(usage: Usage) -> Attributes:
    """The request's tokens with the cached ones, as the conventions ask for."""
    found: Attributes = {
        names.INPUT_TOKENS: usage.input,
        names.OUTPUT_TOKENS: usage.output,
        names.CACHE_READ: usage.read,
        names.CACHE_CREATION: usage.written,
    }
    return found | ({names.REASONING_TOKENS: usage.reasoning} if usage.reasoning else {})


def of_tool(tool: ToolBegan | ToolEnded, agent: str) -> Attributes:
    return {
        names.OPERATION: names.EXECUTE_TOOL,
        names.CONVERSATION: tool.session_id,
        names.AGENT: agent,
        names.TOOL: tool.tool,
        names.TOOL_CALL: tool.call_id,
        names.TOOL_TYPE: "function",
    }


def of_metrics(called: ModelCalled, response_model: str = "") -> Attributes:
    """Of a measurement: few values each, so that a measurement is not one of a kind."""
    found: Attributes = {names.OPERATION: names.CHAT} | of_model(called.model)
    return found | ({names.RESPONSE_MODEL: response_model} if response_model else {})


def finish(reason: str) -> str:
    return names.FINISHES.get(reason, reason)


def added(one: Usage, two: Usage) -> Usage:
    """The sums of two usages."""
    return Usage(
        one.fresh + two.fresh,
        one.read + two.read,
        one.written + two.written,
        one.output + two.output,
        one.reasoning + two.reasoning,
    )
