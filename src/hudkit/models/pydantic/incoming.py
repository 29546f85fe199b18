"""An answer of pydantic-ai as pieces of the port."""

from __future__ import annotations

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from hudkit.models.failures import Unreadable
from hudkit.models.port import (
    Assistant,
    Finished,
    Reason,
    Reasoning,
    ReasoningDelta,
    Spent,
    Text,
    TextDelta,
    ToolCall,
    priced,
)
from hudkit.models.pydantic.outgoing import sealed
from hudkit.tokens import Prices

# What a provider itself called the end, where pydantic-ai's word says less.
_RAW: dict[str, Reason] = {
    "model_context_window_exceeded": "compact",
    "compaction": "compact",
    "compact": "compact",
    "refusal": "refusal",
}

_REASONS: dict[str, Reason] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool-calls",
    "content_filter": "refusal",
    "error": "other",
}


def delta(event: ModelResponseStreamEvent | object) -> TextDelta | ReasoningDelta | None:
    """The text in an event; `None` for one that has none."""
    match event:
        case PartStartEvent(part=TextPart(content=text)) if text:
            return TextDelta(text)
        case PartStartEvent(part=ThinkingPart(content=text)) if text:
            return ReasoningDelta(text)
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return TextDelta(text)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
            return ReasoningDelta(text)
        case _:
            return None


def ending(response: ModelResponse, who: str, prices: Prices | None) -> Finished:
    """The end of an answer whose stream ended by itself. Raises `Unreadable` for one that broke off unsaid."""
    answer = Assistant(tuple(piece for part in response.parts if (piece := _part(part)) is not None))
    reason = _reason(response, answer)
    if reason is None:
        raise Unreadable(f"the answer of {who} broke off", hint="try again")
    named = response.model_name or "", response.provider_response_id or ""
    return Finished(reason, answer, spent(response.usage, prices), *named)


def _part(part: object) -> Text | Reasoning | ToolCall | None:
    match part:
        case TextPart():
            return Text(part.content, sealed(part)) if part.content or part.provider_details else None
        case ThinkingPart():
            return Reasoning(part.content, sealed(part))
        case ToolCallPart():
            raw = part.args if isinstance(part.args, str) else part.args_as_json_str()
            return ToolCall(part.tool_call_id, part.tool_name, raw or "{}", sealed(part))
        case _:
            return None


def _reason(response: ModelResponse, answer: Assistant) -> Reason | None:
    raw = str((response.provider_details or {}).get("finish_reason", ""))
    if not raw and response.finish_reason is None:
        return None
    known = _RAW.get(raw) or _REASONS.get(response.finish_reason or "", "other")
    return "tool-calls" if known in ("stop", "other") and answer.calls else known


def spent(usage: RequestUsage, prices: Prices | None) -> Spent | None:
    """The tokens of a call: pydantic-ai's total holds the cached ones, whatever the provider's own words."""
    if usage.unmeasured_requests or not (usage.input_tokens or usage.output_tokens):
        return None
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    fresh = max(usage.input_tokens - read - written, 0)
    thought = usage.output_reasoning_tokens or int(usage.details.get("reasoning_tokens", 0))
    return priced(Spent(fresh, read, written, usage.output_tokens, thought), prices)
