"""Between the port and pydantic-ai: requests to its messages and settings, its responses to events of the port.

The bytes on the wire must depend on the request alone (decision: prefix caches read equal beginnings), so whatever
pydantic-ai would add, trim or join by itself is switched off or written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

import msgspec
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from hudkit.models.model_errors import UnreadableAnswer
from hudkit.models.port import (
    AssistantMessage,
    CallUsage,
    Completion,
    CompletionRequest,
    FinishReason,
    Media,
    Message,
    Reasoning,
    ReasoningDelta,
    TextContent,
    TextDelta,
    ToolCall,
    ToolResult,
    UserMessage,
    with_cost,
)
from hudkit.tokens import Prices

# --- Cache breakpoints, for the providers that cache only what a request names

# Anthropic takes four breakpoints in all. OpenCode spends them the same way, and its cache figures are ours.
_SYSTEM_BREAKPOINTS = 2
_MESSAGE_BREAKPOINTS = 2


def needs_breakpoints(system: str, model: str) -> bool:
    """Return whether breakpoints help: with Anthropic's models, whoever serves them; others cache by themselves."""
    return system == "anthropic" or (system in ("bedrock", "openrouter") and "claude" in model.lower())


def _breakpoint_places(messages: Sequence[Message]) -> frozenset[int]:
    """Return the indices of the messages whose end is a breakpoint: the last two that can carry one.

    A breakpoint cannot stand after reasoning, which is not a cacheable block, nor after an empty message.
    """
    following = (*messages[1:], None)
    pairs = enumerate(zip(messages, following, strict=True))
    able = [place for place, (message, after) in pairs if _carries(message, after)]
    return frozenset(able[-_MESSAGE_BREAKPOINTS:])


def _carries(message: Message, after: Message | None) -> bool:
    if isinstance(message, AssistantMessage):
        return bool(message.parts) and not isinstance(message.parts[-1], Reasoning)
    # The results of parallel calls are one message on the wire.
    return not (isinstance(message, ToolResult) and isinstance(after, ToolResult))


OWN_FAILURES = frozenset({"anthropic", "bedrock"})
"""Providers whose tool results have a flag for failure; for others pydantic-ai would put words into the text."""

OWN_MEDIA = frozenset({"anthropic", "bedrock"})
"""Providers whose tool results may hold media; for others the media follow as a message of the user's."""

OWN_PATIENCE = frozenset({"bedrock"})
"""Providers whose clients take time-outs and retries when they are constructed, not with a request."""

_BOUNDARIES = ("bedrock_cache_instructions", "openrouter_cache_instructions")


class _Seal(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a provider needs to know its own part again, as our part keeps it in one opaque text."""

    provider: str = ""
    id: str | None = None
    signature: str | None = None
    details: dict[str, Any] | None = None


def _seal_of(part: TextPart | ThinkingPart | ToolCallPart) -> str:
    # Not every part has marks, and an empty seal keeps records of conversations small.
    signature = part.signature if isinstance(part, ThinkingPart) else None
    if part.id is None and signature is None and not part.provider_details:
        return ""
    seal = _Seal(part.provider_name or "", part.id, signature, part.provider_details)
    return msgspec.json.encode(seal, enc_hook=str).decode()


def request_messages(
    request: CompletionRequest, system: str, *, breaks: bool, joins: bool = False
) -> list[ModelMessage]:
    """Return a request's messages as pydantic-ai's; `breaks` puts cache breakpoints into them.

    What stands between two answers becomes one `ModelRequest`, tool results and the user's words in order. `joins`
    says that the provider has one text for all instructions: the system blocks become messages then, so that a
    change of the second does not change the bytes of the first.
    """
    marks = _breakpoint_places(request.messages) if breaks else frozenset[int]()
    blocks = _blocks(request) if joins else []
    out: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(text) for text in blocks])] if blocks else []
    numbered = enumerate(request.messages)
    open_mark = False
    for answers, group in groupby(numbered, key=lambda pair: isinstance(pair[1], AssistantMessage)):
        if answers:
            for place, message in group:
                out.append(ModelResponse(parts=_response_parts(cast(AssistantMessage, message), system)))
                open_mark = place in marks
        else:
            parts = _request_parts(list(group), system, marks)
            # pydantic-ai has no breakpoint at the end of an answer; at the start of the next request it means the
            # same.
            before = [UserPromptPart([CachePoint()])] if open_mark else []
            out.append(ModelRequest(parts=[*before, *parts]))
            open_mark = False
    return out


def _response_parts(message: AssistantMessage, system: str) -> list[ModelResponsePart]:
    # An empty text part carries marks that only its own provider takes; others refuse an empty text.
    parts = (
        part for part in message.parts if not isinstance(part, TextContent) or part.text or _is_own(part, system)
    )
    return [_response_part(part) for part in parts]


def _is_own(part: TextContent, system: str) -> bool:
    return _parse_seal(part.seal).provider == system


def _response_part(part: TextContent | Reasoning | ToolCall) -> ModelResponsePart:
    seal = _parse_seal(part.seal)
    marks: dict[str, Any] = {"id": seal.id, "provider_name": seal.provider or None, "provider_details": seal.details}
    match part:
        case TextContent():
            return TextPart(part.text, **marks)
        case Reasoning():
            return ThinkingPart(part.text, signature=seal.signature, **marks)
        case ToolCall():
            return ToolCallPart(part.name, part.arguments, tool_call_id=part.id, **marks)


def _parse_seal(text: str) -> _Seal:
    # A seal that somebody else wrote cannot be read: the part then goes out without marks.
    try:
        return msgspec.json.decode(text, type=_Seal) if text else _Seal()
    except msgspec.DecodeError:
        return _Seal()


def _request_parts(group: Sequence[tuple[int, Message]], system: str, marks: Iterable[int]) -> list[ModelRequestPart]:
    parts: list[ModelRequestPart] = []
    late_media: list[UserContent] = []
    for place, message in group:
        if isinstance(message, ToolResult):
            parts.append(_result(message, system))
            if message.media and system not in OWN_MEDIA:
                late_media += [f"Media from {message.name} ({message.call_id}):", *map(_binary, message.media)]
        elif isinstance(message, UserMessage):
            parts.append(UserPromptPart([_content(part) for part in message.parts]))
        if place in marks:
            parts.append(UserPromptPart([CachePoint()]))
    if late_media:
        # Behind the last result, because providers refuse anything else between a call and its results.
        last = max(index for index, part in enumerate(parts) if isinstance(part, ToolReturnPart))
        parts.insert(last + 1, UserPromptPart(late_media))
    return parts


def _result(message: ToolResult, system: str) -> ToolReturnPart:
    with_media = message.media and system in OWN_MEDIA
    content = [message.text, *map(_binary, message.media)] if with_media else message.text
    failed = message.failed and system in OWN_FAILURES
    return ToolReturnPart(
        message.name, content, tool_call_id=message.call_id, outcome="failed" if failed else "success"
    )


def _content(part: TextContent | Media) -> UserContent:
    return part.text if isinstance(part, TextContent) else _binary(part)


def _binary(part: Media) -> BinaryContent:
    return BinaryContent(part.data, media_type=part.media_type)


def request_parameters(request: CompletionRequest, *, joins: bool = False) -> ModelRequestParameters:
    """Return a request's tools and system blocks as pydantic-ai's parameters."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                parameters_json_schema=dict(tool.parameters),
                description=tool.description,
                strict=False,
            )
            for tool in request.tools
        ],
        # pydantic-ai puts its breakpoint after the last block that is not dynamic.
        instruction_parts=[
            InstructionPart(text, dynamic=place >= _SYSTEM_BREAKPOINTS)
            for place, text in enumerate([] if joins else _blocks(request))
        ],
    )


def _blocks(request: CompletionRequest) -> list[str]:
    return [text for text in request.system if text]


def request_settings(request: CompletionRequest, system: str, *, breaks: bool, joins: bool = False) -> ModelSettings:
    """Return a request's settings under pydantic-ai's names.

    Its clients do not retry, because the caller does and counts. With breakpoints, Anthropic's system blocks are
    written here, because pydantic-ai marks only one of them. OpenAI is asked to store nothing: each request says
    everything.
    """
    wanted, options = request.settings, dict(request.settings.options)
    effort = {"": None, "off": False}.get(wanted.effort, wanted.effort)
    named = {
        "max_tokens": wanted.max_output,
        "temperature": wanted.temperature,
        "top_p": wanted.top_p,
        "thinking": effort,
        "extra_headers": dict(wanted.headers) or None,
    }
    return cast(
        ModelSettings,
        {
            **{name: value for name, value in named.items() if value is not None},
            **(_boundaries(request, system, options.pop("extra_body", {})) if breaks else {}),
            **({"timeout": wanted.silence, "max_retries": 0} if system not in OWN_PATIENCE else {}),
            **({"openai_store": False} if joins else {}),
            # Last, so that a user's option wins over everything of ours.
            **options,
        },
    )


def _boundaries(request: CompletionRequest, system: str, body: Mapping[str, Any]) -> dict[str, Any]:
    texts = _blocks(request)
    if system != "anthropic" or not texts:
        return {**dict.fromkeys(_BOUNDARIES, True), **({"extra_body": dict(body)} if body else {})}
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    for block in blocks[:_SYSTEM_BREAKPOINTS]:
        block["cache_control"] = {"type": "ephemeral"}
    return {"extra_body": {"system": blocks, **body}}


# --- Responses

# The provider's own word for the end, where pydantic-ai's says less.
_RAW: dict[str, FinishReason] = {
    "model_context_window_exceeded": "compact",
    "compaction": "compact",
    "compact": "compact",
    "refusal": "refusal",
}

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool-calls",
    "content_filter": "refusal",
    "error": "other",
}


def text_delta(event: ModelResponseStreamEvent | object) -> TextDelta | ReasoningDelta | None:
    """Return the text in an event; `None` for an event without text."""
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


def completion(response: ModelResponse, who: str, prices: Prices | None) -> Completion:
    """Return the end of an answer whose stream ended by itself.

    Raises `UnreadableAnswer` where the stream ended without a reason to finish, which is how a broken connection
    looks to some clients.
    """
    answer = AssistantMessage(tuple(piece for part in response.parts if (piece := _content_of(part)) is not None))
    reason = _reason(response, answer)
    if reason is None:
        raise UnreadableAnswer(f"the answer of {who} broke off", hint="try again")
    named = response.model_name or "", response.provider_response_id or ""
    return Completion(reason, answer, _spent(response.usage, prices), *named)


def _content_of(part: object) -> TextContent | Reasoning | ToolCall | None:
    match part:
        case TextPart():
            return TextContent(part.content, _seal_of(part)) if part.content or part.provider_details else None
        case ThinkingPart():
            return Reasoning(part.content, _seal_of(part))
        case ToolCallPart():
            raw = part.args if isinstance(part.args, str) else part.args_as_json_str()
            return ToolCall(part.tool_call_id, part.tool_name, raw or "{}", _seal_of(part))
        case _:
            return None


def _reason(response: ModelResponse, answer: AssistantMessage) -> FinishReason | None:
    raw = str((response.provider_details or {}).get("finish_reason", ""))
    if not raw and response.finish_reason is None:
        return None
    reason = _RAW.get(raw) or _REASONS.get(response.finish_reason or "", "other")
    # Servers that imitate OpenAI's say `stop` behind tool calls, too.
    return "tool-calls" if reason in ("stop", "other") and answer.calls else reason


def _spent(usage: RequestUsage, prices: Prices | None) -> CallUsage | None:
    """Return the tokens of a call: pydantic-ai's total includes the cached ones, whatever the provider's own does."""
    if usage.unmeasured_requests or not (usage.input_tokens or usage.output_tokens):
        return None
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    fresh = max(usage.input_tokens - read - written, 0)
    thought = usage.output_reasoning_tokens or int(usage.details.get("reasoning_tokens", 0))
    return with_cost(CallUsage(fresh, read, written, usage.output_tokens, thought), prices)
