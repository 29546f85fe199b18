"""LangChain's messages as they are ingested: one entry a user's message, or a response with its tool results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from hudkit.hosts.host_session import HostMessage, Injection
from hudkit.ingest.first_seen import entry_key, version_key
from hudkit.ingest.tool_calls import neutral_part
from hudkit.transcripts import Message, Part, ReportedUsage, TextPart, ToolPart

METADATA_KEY = "hudkit"
"""The key in a message's `additional_kwargs` by which what we wrote ourselves is known."""
SUMMARY_MARK, SHORTENED_MARK = "summary", "shortened"

MEDIA_CHARS = 4_000
"""Characters that an image, a sound or a file is taken for."""

_LEADS = ("Here is a summary of the conversation to date:\n\n",)
_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool-calls", "tool_calls": "tool-calls",
           "max_tokens": "length"}  # fmt: skip


class ReadMessages(NamedTuple):
    """Entries in order, and for each the places of its first and its last message."""

    entries: list[HostMessage]
    spans: list[tuple[int, int]]


def read_messages(messages: Sequence[BaseMessage], names: Mapping[str, str], *, by_id: bool = True) -> ReadMessages:
    """Return the entries of a transcript, and where each stands.

    `names` says what tools of the agent are (`{"load_text": "read"}`). A message is known `by_id` where ids last,
    else by what it says.
    """
    read = ReadMessages([], [])
    results = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    seen: Counter[str] = Counter()
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage) and read.entries and read.entries[-1].message.role == "assistant":
            before = read.entries[-1]
            if not before.message.summary:
                read.entries[-1] = before._replace(role="tool", size=before.size + message_size(message))
                read.spans[-1] = (read.spans[-1][0], index)
                continue
        # A result whose response is gone (a summary stands there) is an entry of its own: it is sent, so it counts.
        key = _key(message, seen, by_id=by_id)
        role = (
            "tool" if isinstance(message, ToolMessage) else "assistant" if isinstance(message, AIMessage) else "user"
        )
        entry = HostMessage(key, _message(message, key, results, names), role, message_size(message))
        editable = bool(message.id) and by_id and isinstance(message, HumanMessage)
        read.entries.append(entry._replace(media=_media_calls(message, results), editable=editable))
        read.spans.append((index, index))
    return read


def is_summary(message: BaseMessage) -> bool:
    """Return whether the message is what a compaction left: ours, LangChain's or deepagents'."""
    return message.additional_kwargs.get("lc_source") == "summarization"


def message_size(message: BaseMessage) -> int:
    """Return the characters of a message as it is sent, about."""
    content = message.content
    size = len(content) if isinstance(content, str) else sum(map(_block_size, content))
    if isinstance(message, AIMessage):
        size += sum(len(call["name"]) + len(json.dumps(call["args"])) for call in message.tool_calls)
    return size


def tokens_after(messages: Sequence[BaseMessage]) -> int | None:
    """Return the tokens in the window after the last response of these, where it tells."""
    usage = next((message.usage_metadata for message in reversed(messages) if isinstance(message, AIMessage)), None)
    return _usage(usage).used or None if usage else None


def finish_reason(message: AIMessage) -> str:
    """Return why the response ended, in the words that are known here."""
    metadata = message.response_metadata
    why = metadata.get("finish_reason") or metadata.get("stop_reason") or ""
    default = "tool-calls" if message.tool_calls else "stop"
    return _FINISH.get(str(why), str(why)) or default


def _media_calls(message: BaseMessage, results: Mapping[str, ToolMessage]) -> frozenset[str]:
    """Return the calls of a message whose results have images, sounds or files."""
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    answers = (results.get(call["id"] or "") for call in calls)
    return frozenset(answer.tool_call_id for answer in answers if answer is not None and _has_media(answer.content))


def _has_media(content: str | list[str | dict[str, Any]]) -> bool:
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") != "text" for block in blocks)


def _message(message: BaseMessage, key: str, results: Mapping[str, ToolMessage], names: Mapping[str, str]) -> Message:
    text = str(message.text)
    if is_summary(message):
        for lead in _LEADS:
            text = text.removeprefix(lead)
        note = message.additional_kwargs.get(METADATA_KEY)
        text = str(note[SUMMARY_MARK]) if isinstance(note, Mapping) and SUMMARY_MARK in note else text
        return Message(key, "", "assistant", finish="stop", summary=True, parts=(TextPart(key, text),))
    if isinstance(message, ToolMessage):
        part = neutral_part(_result(message.name or "", message.tool_call_id, {}, message), names)
        return Message(key, "", "assistant", finish="tool-calls", parts=(part,))
    if not isinstance(message, AIMessage):
        written = METADATA_KEY in message.additional_kwargs or not isinstance(message, HumanMessage)
        return Message(key, "", "user", parts=(TextPart(key, text, synthetic=written),))
    parts: list[Part] = [TextPart(key, text)] if text else []
    for call in message.tool_calls:
        id = call["id"] or ""
        parts.append(neutral_part(_result(call["name"], id, call["args"], results.get(id)), names))
    return Message(
        key,
        "",
        "assistant",
        agent=message.name or "",
        model=str(message.response_metadata.get("model_name") or message.response_metadata.get("model") or ""),
        finish=finish_reason(message),
        usage=_usage(message.usage_metadata) if message.usage_metadata else None,
        parts=tuple(parts),
    )


def _result(tool: str, id: str, arguments: Mapping[str, Any], result: ToolMessage | None) -> ToolPart:
    if result is None:
        return ToolPart(id, tool, id, "running", dict(arguments))
    text = str(result.text)
    if result.status == "error":
        return ToolPart(id, tool, id, "error", dict(arguments), error=text)
    return ToolPart(id, tool, id, "completed", dict(arguments), output=text)


def _usage(usage: Mapping[str, Any]) -> ReportedUsage:
    """Return the tokens of a response.

    LangChain counts what was read from and written to the cache into the input, for every provider.
    """
    details = usage.get("input_token_details") or {}
    read_ = int(details.get("cache_read") or 0)
    # Anthropic tells the two lifetimes of what it wrote; where it does, `cache_creation` can be 0.
    lives = sum(int(details.get(name) or 0) for name in ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"))
    written = int(details.get("cache_creation") or 0) or lives
    prompt, output = int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0)
    return ReportedUsage(
        total=int(usage.get("total_tokens") or 0) or None,
        input=max(0, prompt - read_ - written),
        output=output,
        reasoning=int((usage.get("output_token_details") or {}).get("reasoning") or 0),
        cache_read=read_,
        cache_write=written,
    )


def _key(message: BaseMessage, seen: Counter[str], *, by_id: bool) -> str:
    """Return what a message is known by.

    A user's message that is edited in place is another one; a response stays one when its calls are edited.
    """
    text = str(message.text)
    if message.id and by_id:
        if isinstance(message, AIMessage):
            return entry_key(message.id)
        return (version_key if isinstance(message, HumanMessage) else entry_key)(message.id, text)
    calls = [call["id"] or call["name"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    identity = "\0".join((message.type, text, *calls))
    seen[identity] += 1
    return entry_key(identity, str(seen[identity]))


def _block_size(block: str | Mapping[str, Any]) -> int:
    if isinstance(block, str):
        return len(block)
    texts = (block.get(name) for name in ("text", "thinking", "reasoning"))
    size = sum(len(text) for text in texts if isinstance(text, str))
    return size if size or block.get("type") in ("text", "tool_use", "thinking", "reasoning") else MEDIA_CHARS


# --- A frame in a request of LangChain's: on copies of the messages, so that nothing of it is kept. Pure.


_MessageT = TypeVar("_MessageT", bound=BaseMessage)


def with_base(system: SystemMessage | None, base: str) -> SystemMessage | None:
    """Return the system prompt with the base behind it."""
    if not base:
        return system
    if system is None:
        return SystemMessage(base)
    if isinstance(system.content, str):
        return _with(system, f"{system.content}\n\n{base}" if system.content else base)
    return _with(system, [*system.content, {"type": "text", "text": base}])


def with_frame(
    messages: Sequence[AnyMessage], spans: Sequence[tuple[int, int]], placing: Injection
) -> list[AnyMessage]:
    """Return the messages with the blocks behind their entries (`spans`: first and last message of each), and the
    tail.
    """
    out: list[list[AnyMessage]] = [[_stubbed(message, placing)] for message in messages]
    blocks = [(spans[entry][1], block) for entry, some in placing.behind.items() for block in some]
    if placing.tail and messages:
        # The tail comes last of all blocks: what stands behind it would not be read from a cache.
        blocks.append((len(messages) - 1, placing.tail))
    for index, block in blocks:
        last = out[index][-1]
        if isinstance(last, ToolMessage):
            out[index][-1] = _with(last, _behind_result(last, block))
        elif isinstance(last, HumanMessage):
            out[index][-1] = _with(last, _behind_text(last, block))
        else:
            # A response stays as its provider wrote it (reasoning may be signed): the block is a message of its own.
            out[index].append(HumanMessage(block))
    return [message for group in out for message in group]


def _stubbed(message: AnyMessage, placing: Injection) -> AnyMessage:
    if isinstance(message, ToolMessage) and message.tool_call_id in placing.stubs:
        return _with(message, placing.stubs[message.tool_call_id])
    return message


def _behind_result(message: ToolMessage, block: str) -> str | list[Any]:
    if isinstance(message.content, str):
        return f"{message.content}\n{block}"
    return [*message.content, {"type": "text", "text": f"\n{block}"}]


def _behind_text(message: HumanMessage, block: str) -> list[Any]:
    content = message.content
    before = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [*before, {"type": "text", "text": block}]


def _with(message: _MessageT, content: str | list[Any]) -> _MessageT:
    return message.model_copy(update={"content": content})
