"""The HUD in a request of pydantic-ai: copies with the base, the blocks and the tail; the run's own messages stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import (
    CachePoint,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters

from hudkit.hosts.host_session import Injection
from hudkit.hosts.pydantic_ai.run_messages import LocatedEntry, PartIndex
from hudkit.transcripts import ToolPart

_CACHED = ("anthropic_cache_messages", "anthropic_cache", "bedrock_cache_messages", "openrouter_cache_messages")
"""Settings by which pydantic-ai has the last block of a request end a cached prefix."""


def with_base(
    parameters: ModelRequestParameters, base: str, messages: Sequence[ModelMessage]
) -> ModelRequestParameters:
    """The parameters with the base behind the instructions that stay, before those that a function writes anew."""
    if not base:
        return parameters
    parts = instruction_parts(parameters, messages)
    at = next((n for n, part in enumerate(parts) if part.dynamic), len(parts))
    return replace(parameters, instruction_parts=[*parts[:at], InstructionPart(content=base), *parts[at:]])


def instruction_parts(parameters: ModelRequestParameters, messages: Sequence[ModelMessage]) -> list[InstructionPart]:
    """What the model is instructed: the parts, or where there are none, the text in the last request."""
    if parameters.instruction_parts is not None:
        return list(parameters.instruction_parts)
    last = next((one for one in reversed(messages) if isinstance(one, ModelRequest)), None)
    return [InstructionPart(content=last.instructions)] if last is not None and last.instructions else []


def tail_cache_point(settings: Mapping[str, Any] | None) -> CachePoint | None:
    """The mark that goes before the tail where the host puts one on the last block: what is behind it is not sent
    again, so that nothing could be read from a cache that ends there."""
    asked = next((found for name in _CACHED if (found := (settings or {}).get(name))), None)
    return CachePoint(ttl="1h" if asked == "1h" else "5m") if asked else None


def with_blocks(
    messages: Sequence[ModelMessage],
    heard: Sequence[LocatedEntry],
    placing: Injection,
    point: CachePoint | None = None,
) -> list[ModelMessage]:
    """The messages with the blocks behind their entries, the tail behind everything, stubs for old outputs. `point`
    is put before the tail where it stands in a prompt's text."""
    added: dict[int, dict[int, list[str | CachePoint]]] = {}
    for n, blocks in placing.behind.items():
        at = heard[n].last
        if at is not None:
            at = _carrier(messages, heard, n, at)
            added.setdefault(at.message, {}).setdefault(at.part, []).extend(blocks)
    end = len(messages) - 1
    if placing.tail and end >= 0 and isinstance(messages[end], ModelRequest):
        last = messages[end].parts[-1] if messages[end].parts else None
        behind = added.setdefault(end, {}).setdefault(len(messages[end].parts) - 1, [])
        behind += [point] if point is not None and isinstance(last, UserPromptPart) and _ends_in_text(last) else []
        behind.append(placing.tail)
    if not added and not placing.stubs:
        return list(messages)
    return [
        _changed(message, added.get(n, {}), placing.stubs) if isinstance(message, ModelRequest) else message
        for n, message in enumerate(messages)
    ]


def _carrier(messages: Sequence[ModelMessage], heard: Sequence[LocatedEntry], n: int, last: PartIndex) -> PartIndex:
    """The part that carries an entry's blocks: of several results, the last one that is plain text to the model."""
    if heard[n].entry.role != "tool":
        return last
    calls = {part.call_id for part in heard[n].entry.message.parts if isinstance(part, ToolPart)}
    places = [
        PartIndex(last.message, at)
        for at, part in enumerate(messages[last.message].parts)
        if (result := _as_text(part)) is not None and result.tool_call_id in calls
    ]
    return places[-1] if places else last


def _as_text(part: object) -> ToolReturnPart[Any] | None:
    """A tool's result that a block can stand in: none that is an error, has files, or has a form of its own, which
    providers put into something else than text."""
    if type(part) is not ToolReturnPart or part.tool_kind is not None:
        return None
    return part if part.outcome == "success" and not part.files else None


def _ends_in_text(part: UserPromptPart) -> bool:
    items = [part.content] if isinstance(part.content, str) else part.content
    return bool(items) and isinstance(items[-1], str)


def _changed(
    message: ModelRequest, added: Mapping[int, list[str | CachePoint]], stubs: Mapping[str, str]
) -> ModelRequest:
    parts: list[ModelRequestPart] = []
    changed = False
    for n, part in enumerate(message.parts):
        blocks = added.get(n, [])
        result = _as_text(part)
        stub = stubs.get(result.tool_call_id) if result is not None else None
        changed = changed or bool(blocks) or stub is not None
        if result is not None and (blocks or stub is not None):
            text = result.model_response_str() if stub is None else stub
            texts = [block for block in blocks if isinstance(block, str)]
            parts.append(replace(result, content="\n".join([text, *texts])))
        elif isinstance(part, UserPromptPart) and blocks:
            said = [part.content] if isinstance(part.content, str) else part.content
            parts.append(replace(part, content=[*said, *blocks]))
        else:
            parts.append(part)
            if blocks:
                parts.append(UserPromptPart(blocks))
    return replace(message, parts=parts) if changed else message
