"""A request of the port as pydantic-ai's messages, parameters and settings."""

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
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from hudkit.models import breakpoints
from hudkit.models.port import (
    Assistant,
    Media,
    Message,
    Reasoning,
    Request,
    Text,
    ToolCall,
    ToolResult,
    User,
)

OWN_FAILURES = frozenset({"anthropic", "bedrock"})
"""Systems whose tool results have a flag for failure; for the others pydantic-ai would rewrite the text."""

OWN_MEDIA = frozenset({"anthropic", "bedrock"})
"""Systems whose tool results may hold media; for the others they follow as the user's."""

OWN_PATIENCE = frozenset({"bedrock"})
"""Systems whose clients take time-outs and retries when they are made, not with a request."""

_BOUNDARIES = ("bedrock_cache_instructions", "openrouter_cache_instructions")


class Seal(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a provider needs to know its own part again."""

    provider: str = ""
    id: str | None = None
    signature: str | None = None
    details: dict[str, Any] | None = None


def sealed(part: TextPart | ThinkingPart | ToolCallPart) -> str:
    """The seal of a part of an answer; empty where it has no marks."""
    signature = part.signature if isinstance(part, ThinkingPart) else None
    if part.id is None and signature is None and not part.provider_details:
        return ""
    seal = Seal(part.provider_name or "", part.id, signature, part.provider_details)
    return msgspec.json.encode(seal, enc_hook=str).decode()


def messages(request: Request, system: str, *, breaks: bool, joins: bool = False) -> list[ModelMessage]:
    """The messages; what stands between two answers goes into one request, results and users' words in order.

    `joins` says that the server's instructions are one text: the system blocks are then messages, to stay apart.
    """
    marks = breakpoints.marked(request.messages) if breaks else frozenset[int]()
    blocks = _blocks(request) if joins else []
    out: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(text) for text in blocks])] if blocks else []
    numbered = enumerate(request.messages)
    open_mark = False
    for answers, group in groupby(numbered, key=lambda pair: isinstance(pair[1], Assistant)):
        if answers:
            for place, message in group:
                out.append(ModelResponse(parts=_response_parts(cast(Assistant, message), system)))
                open_mark = place in marks
        else:
            parts = _request_parts(list(group), system, marks)
            # A mark at the start of a request stands for the end of the answer before it.
            before = [UserPromptPart([CachePoint()])] if open_mark else []
            out.append(ModelRequest(parts=[*before, *parts]))
            open_mark = False
    return out


def _response_parts(message: Assistant, system: str) -> list[ModelResponsePart]:
    """The parts of an answer; one without words carries marks, which only its own server takes."""
    parts = (part for part in message.parts if not isinstance(part, Text) or part.text or _own(part, system))
    return [_said(part) for part in parts]


def _own(part: Text, system: str) -> bool:
    return _seal(part.seal).provider == system


def _said(part: Text | Reasoning | ToolCall) -> ModelResponsePart:
    seal = _seal(part.seal)
    known: dict[str, Any] = {"id": seal.id, "provider_name": seal.provider or None, "provider_details": seal.details}
    match part:
        case Text():
            return TextPart(part.text, **known)
        case Reasoning():
            return ThinkingPart(part.text, signature=seal.signature, **known)
        case ToolCall():
            return ToolCallPart(part.name, part.arguments, tool_call_id=part.id, **known)


def _seal(text: str) -> Seal:
    """The marks; none where somebody else wrote them, so that the part goes out as plain text."""
    try:
        return msgspec.json.decode(text, type=Seal) if text else Seal()
    except msgspec.DecodeError:
        return Seal()


def _request_parts(group: Sequence[tuple[int, Message]], system: str, marks: Iterable[int]) -> list[ModelRequestPart]:
    parts: list[ModelRequestPart] = []
    late: list[UserContent] = []
    for place, message in group:
        if isinstance(message, ToolResult):
            parts.append(_result(message, system))
            if message.media and system not in OWN_MEDIA:
                late += [f"Media from {message.name} ({message.call_id}):", *map(_binary, message.media)]
        elif isinstance(message, User):
            parts.append(UserPromptPart([_content(part) for part in message.parts]))
        if place in marks:
            parts.append(UserPromptPart([CachePoint()]))
    if late:
        last = max(index for index, part in enumerate(parts) if isinstance(part, ToolReturnPart))
        parts.insert(last + 1, UserPromptPart(late))
    return parts


def _result(message: ToolResult, system: str) -> ToolReturnPart:
    with_media = message.media and system in OWN_MEDIA
    content = [message.text, *map(_binary, message.media)] if with_media else message.text
    failed = message.failed and system in OWN_FAILURES
    return ToolReturnPart(
        message.name, content, tool_call_id=message.call_id, outcome="failed" if failed else "success"
    )


def _content(part: Text | Media) -> UserContent:
    return part.text if isinstance(part, Text) else _binary(part)


def _binary(part: Media) -> BinaryContent:
    return BinaryContent(part.data, media_type=part.media_type)


def parameters(request: Request, *, joins: bool = False) -> ModelRequestParameters:
    """Tools and system blocks; pydantic-ai ends a cached prefix after the blocks that count as not dynamic."""
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
        instruction_parts=[
            InstructionPart(text, dynamic=place >= breakpoints.SYSTEM_BLOCKS)
            for place, text in enumerate([] if joins else _blocks(request))
        ],
    )


def _blocks(request: Request) -> list[str]:
    return [text for text in request.system if text]


def settings(request: Request, system: str, *, breaks: bool, joins: bool = False) -> ModelSettings:
    """The settings under pydantic-ai's names; its clients do not try again, the caller does.

    With breakpoints, Anthropic's system blocks are written here: pydantic-ai marks only one of them. OpenAI's
    responses are asked to store nothing: each request says everything.
    """
    wanted, given = request.settings, dict(request.settings.options)
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
            **(_boundaries(request, system, given.pop("extra_body", {})) if breaks else {}),
            **({"timeout": wanted.silence, "max_retries": 0} if system not in OWN_PATIENCE else {}),
            **({"openai_store": False} if joins else {}),
            **given,
        },
    )


def _boundaries(request: Request, system: str, body: Mapping[str, Any]) -> dict[str, Any]:
    texts = _blocks(request)
    if system != "anthropic" or not texts:
        return {**dict.fromkeys(_BOUNDARIES, True), **({"extra_body": dict(body)} if body else {})}
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    for block in blocks[: breakpoints.SYSTEM_BLOCKS]:
        block["cache_control"] = {"type": "ephemeral"}
    return {"extra_body": {"system": blocks, **body}}
