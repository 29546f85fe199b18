"""The contents of a request of ADK as they are ingested, and a frame in them. Pure.

ADK makes a request's contents anew of the session's events, for each call. Contents have neither ids nor times,
events have both: each content is looked up among the events by what it says, the newest first.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from google.adk.events.event import Event
from google.genai import types
from msgspec.structs import replace

from hudkit.hosts.host_session import HostMessage, Injection
from hudkit.ingest.first_seen import entry_key
from hudkit.ingest.tool_calls import neutral_part
from hudkit.transcripts import FilePart, Message, Part, ReasoningPart, ReportedUsage, TextPart, ToolPart

_TEXT_KEYS = ("result", "output", "content")
"""Keys of a result that ADK puts a plain text under, or takes one from."""

_USER = "user"
"""The author of events that are the person's own words."""

_MEDIA_CHARACTERS = 4_000
"""Characters that an image, a sound or a file is taken for."""


class ReadContents(NamedTuple):
    """Entries in order, and for each the places of its first and its last content.

    `results` says where the result of a call stands: in which content, as which part.
    """

    entries: list[HostMessage]
    spans: list[tuple[int, int]]
    results: dict[str, tuple[int, int]]


def read_contents(
    contents: Sequence[types.Content], events: Sequence[Event], names: Mapping[str, str]
) -> ReadContents:
    """Return the entries of a request, and where each stands: a response and its results are one.

    `names` says what tools of the agent are (`{"load_text": "read"}`).
    """
    origins = _origins(contents, events)
    read = ReadContents([], [], {})
    for index, content in enumerate(contents):
        results = _results(content)
        before = read.entries[-1] if read.entries else None
        if results and before is not None and before.message.role == "assistant" and not before.message.summary:
            message = _with_results(before.message, index, results, read.results, names)
            size = before.size + content_size(content)
            read.entries[-1] = before._replace(message=message, role="tool", size=size)
            read.spans[-1] = (read.spans[-1][0], index)
            continue
        origin = origins[index]
        key = entry_key(origin.id)
        message = _message(content, key, origin, names)
        read.entries.append(HostMessage(key, message, message.role, content_size(content)))
        read.spans.append((index, index))
    return read


def content_size(content: types.Content) -> int:
    """Return the characters of a content as it is sent, about."""
    return sum(map(_part_size, content.parts or ()))


def reported_usage(usage: types.GenerateContentResponseUsageMetadata | None) -> ReportedUsage | None:
    """Return the tokens of a response; `None` where it tells none."""
    if usage is None or not usage.prompt_token_count:
        return None
    cached, thoughts = usage.cached_content_token_count or 0, usage.thoughts_token_count or 0
    return ReportedUsage(
        total=usage.total_token_count,
        input=max(0, usage.prompt_token_count - cached),
        output=(usage.candidates_token_count or 0) + thoughts,
        reasoning=thoughts,
        cache_read=cached,
    )


def with_frame(contents: Sequence[types.Content], read: ReadContents, placing: Injection) -> list[types.Content]:
    """Return the contents with blocks behind their entries, stubs in place of pruned outputs, and the tail. What
    carries something is a copy: ADK shares contents with the session's events."""
    sent = list(contents)
    for call, stub in placing.stubs.items():
        index, part = read.results[call]
        sent[index] = _with_result(sent[index], part, {"result": stub})
    for entry, blocks in placing.behind.items():
        index = read.spans[entry][1]
        for block in blocks:
            sent[index] = _behind(sent[index], block)
    if placing.tail and sent:
        sent[-1] = _behind(sent[-1], placing.tail)
    return sent


class _Origin(NamedTuple):
    """Whence a content is: id and time (Unix ms) of its event, and what that says of the response."""

    id: str
    created: int = 0
    summary: bool = False
    author: str = ""
    model: str = ""
    usage: ReportedUsage | None = None


def _origins(contents: Sequence[types.Content], events: Sequence[Event]) -> list[_Origin]:
    by_signature: defaultdict[str, list[_Origin]] = defaultdict(list)
    for event in events:
        compaction = event.actions.compaction
        content = compaction.compacted_content if compaction is not None else event.content
        if content is None or event.partial:
            continue
        origin = _Origin(
            event.id,
            int(event.timestamp * 1000),
            compaction is not None,
            event.author or "",
            event.model_version or "",
            reported_usage(event.usage_metadata),
        )
        by_signature[_signature(content)].append(origin)
    matched: list[_Origin | None] = []
    for content in reversed(contents):
        candidates = by_signature.get(_signature(content))
        matched.append(candidates.pop() if candidates else None)
    seen: Counter[str] = Counter()
    origins: list[_Origin] = []
    for content, event_origin in zip(contents, reversed(matched), strict=True):
        if event_origin is not None:
            origins.append(event_origin)
            continue
        # Another plugin's, or what another agent said, as ADK retells it: it is known by what it says.
        signature = _signature(content)
        seen[signature] += 1
        origins.append(_Origin(entry_key(signature, str(seen[signature]))))
    return origins


def _signature(content: types.Content) -> str:
    """What a content says; ids of calls are left out, since ADK leaves some of them out of a request."""
    pieces: list[object] = [content.role]
    for part in content.parts or ():
        if part.function_call is not None:
            pieces.append([part.function_call.name, part.function_call.args])
        elif part.function_response is not None:
            pieces.append([part.function_response.name, part.function_response.response])
        elif part.text:
            pieces.append(part.text)
    return json.dumps(pieces, sort_keys=True, default=str)


def _message(content: types.Content, key: str, origin: _Origin, names: Mapping[str, str]) -> Message:
    texts = "".join(part.text or "" for part in content.parts or () if not part.thought)
    if origin.summary:
        part = TextPart(key, texts)
        return Message(key, "", "assistant", origin.created, finish="stop", summary=True, parts=(part,))
    if content.role != "model":
        user_parts = _said(content, key, synthetic=origin.author != _USER)
        return Message(key, "", "user", origin.created, parts=tuple(user_parts))
    parts: list[Part] = []
    for n, block in enumerate(content.parts or ()):
        if block.function_call is not None:
            call = block.function_call
            arguments = dict(call.args or {})
            part_id = f"{key}-{n}"
            parts.append(neutral_part(ToolPart(part_id, call.name or "", part_id, "running", arguments), names))
        elif block.text and block.thought:
            parts.append(ReasoningPart(f"{key}-{n}", block.text))
        elif block.text:
            parts.append(TextPart(f"{key}-{n}", block.text))
    calls = any(isinstance(part, ToolPart) for part in parts)
    return Message(
        key,
        "",
        "assistant",
        origin.created,
        agent=origin.author,
        model=origin.model,
        finish="tool-calls" if calls else "stop",
        usage=origin.usage,
        parts=tuple(parts),
    )


def _said(content: types.Content, key: str, *, synthetic: bool) -> list[Part]:
    parts: list[Part] = []
    for n, block in enumerate(content.parts or ()):
        if block.text:
            parts.append(TextPart(f"{key}-{n}", block.text, synthetic=synthetic))
        elif block.inline_data is not None:
            parts.append(FilePart(f"{key}-{n}", "", block.inline_data.mime_type or ""))
    return parts


_Results = list[tuple[int, types.FunctionResponse]]


def _results(content: types.Content) -> _Results:
    if content.role == "model":
        return []
    parts = enumerate(content.parts or ())
    return [(n, part.function_response) for n, part in parts if part.function_response is not None]


def _with_results(
    message: Message, index: int, results: _Results, places: dict[str, tuple[int, int]], names: Mapping[str, str]
) -> Message:
    """Put results into their calls, those of one name in their order, and note where each stands."""
    parts = list(message.parts)
    for place, result in results:
        waiting = (n for n, part in enumerate(parts) if isinstance(part, ToolPart) and not part.done)
        at_call = next((n for n in waiting if _is_call_of(parts[n], result.name or "", names)), None)
        part = parts[at_call] if at_call is not None else None
        if at_call is None or not isinstance(part, ToolPart):
            continue
        failed, text = _result_text(result.response)
        if failed:
            part = replace(part, status="error", error=text)
        else:
            part = replace(part, status="completed", output=text)
        parts[at_call] = neutral_part(part, names)
        places[part.call_id] = (index, place)
    return replace(message, parts=tuple(parts))


def _is_call_of(part: Part, name: str, names: Mapping[str, str]) -> bool:
    if not isinstance(part, ToolPart):
        return False
    return neutral_part(ToolPart("", name, "", "running", {}), names).tool == part.tool


def _result_text(response: Mapping[str, Any] | None) -> tuple[bool, str]:
    """Return whether a call failed, and its text; ADK's tools tell a failure under the key `error`."""
    values = dict(response or {})
    if set(values) == {"error"}:
        return True, str(values["error"])
    key = _text_key(values)
    return False, values[key] if key else json.dumps(values, ensure_ascii=False, default=str)


def _text_key(values: Mapping[str, Any]) -> str:
    """The key of a result that is nothing but a text; empty where it is more."""
    if len(values) != 1:
        return ""
    key, value = next(iter(values.items()))
    return key if isinstance(value, str) and key in (*_TEXT_KEYS, "error") else ""


def _part_size(part: types.Part) -> int:
    if part.text:
        return len(part.text)
    if part.function_call is not None:
        return len(part.function_call.name or "") + len(json.dumps(part.function_call.args or {}, default=str))
    if part.function_response is not None:
        return len(_result_text(part.function_response.response)[1])
    return _MEDIA_CHARACTERS if part.inline_data is not None or part.file_data is not None else 0


def _behind(content: types.Content, block: str) -> types.Content:
    """Return the content with a block behind it: in its last result, else as a part of its own."""
    parts = list(content.parts or ())
    last = parts[-1] if parts else None
    if last is None or last.function_response is None:
        return content.model_copy(update={"parts": [*parts, types.Part(text=block)]})
    values = dict(last.function_response.response or {})
    key = _text_key(values)
    values = {**values, key: f"{values[key]}\n\n{block}"} if key else {**values, "hud": block}
    return _with_result(content, len(parts) - 1, values)


def _with_result(content: types.Content, place: int, values: Mapping[str, Any]) -> types.Content:
    """Return the content with another result in one of its parts."""
    parts = list(content.parts or ())
    result = parts[place].function_response
    assert result is not None
    changed = result.model_copy(update={"response": dict(values)})
    parts[place] = parts[place].model_copy(update={"function_response": changed})
    return content.model_copy(update={"parts": parts})
