"""LangChain's messages as the HUD hears them: one entry a user's message, or a response with its tool results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from hudkit.hosts.host_session import HostMessage, Injection
from hudkit.ingest.first_seen import entry_key
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
    """`names` says what tools of the agent are (`{"load_text": "read"}`). A message is known `by_id` where ids last,
    else by what it says."""
    found = ReadMessages([], [])
    results = {one.tool_call_id: one for one in messages if isinstance(one, ToolMessage)}
    seen: Counter[str] = Counter()
    for at, one in enumerate(messages):
        if isinstance(one, ToolMessage) and found.entries and found.entries[-1].message.role == "assistant":
            before = found.entries[-1]
            if not before.message.summary:
                found.entries[-1] = before._replace(role="tool", size=before.size + message_size(one))
                found.spans[-1] = (found.spans[-1][0], at)
                continue
        key = _key(one, seen, by_id=by_id)
        role = "tool" if isinstance(one, ToolMessage) else "assistant" if isinstance(one, AIMessage) else "user"
        found.entries.append(HostMessage(key, _message(one, key, results, names), role, message_size(one)))
        found.spans.append((at, at))
    return found


def is_summary(message: BaseMessage) -> bool:
    """Whether the message is what a compaction left: ours, LangChain's or deepagents'."""
    return message.additional_kwargs.get("lc_source") == "summarization"


def message_size(message: BaseMessage) -> int:
    """Characters of a message as it is sent, about."""
    content = message.content
    size = len(content) if isinstance(content, str) else sum(map(_block_size, content))
    if isinstance(message, AIMessage):
        size += sum(len(call["name"]) + len(json.dumps(call["args"])) for call in message.tool_calls)
    return size


def tokens_after(messages: Sequence[BaseMessage]) -> int | None:
    """Tokens in the window after the last response of these, where it tells."""
    told = next((one.usage_metadata for one in reversed(messages) if isinstance(one, AIMessage)), None)
    return _usage(told).used or None if told else None


def finish_reason(message: AIMessage) -> str:
    """Why the response ended, in the words that are known here."""
    told = message.response_metadata
    why = told.get("finish_reason") or told.get("stop_reason") or ""
    default = "tool-calls" if message.tool_calls else "stop"
    return _FINISH.get(str(why), str(why)) or default


def _message(one: BaseMessage, key: str, results: Mapping[str, ToolMessage], names: Mapping[str, str]) -> Message:
    text = str(one.text)
    if is_summary(one):
        for lead in _LEADS:
            text = text.removeprefix(lead)
        told = one.additional_kwargs.get(METADATA_KEY)
        text = str(told[SUMMARY_MARK]) if isinstance(told, Mapping) and SUMMARY_MARK in told else text
        return Message(key, "", "assistant", finish="stop", summary=True, parts=(TextPart(key, text),))
    if isinstance(one, ToolMessage):
        part = neutral_part(_result(one.name or "", one.tool_call_id, {}, one), names)
        return Message(key, "", "assistant", finish="tool-calls", parts=(part,))
    if not isinstance(one, AIMessage):
        written = METADATA_KEY in one.additional_kwargs or not isinstance(one, HumanMessage)
        return Message(key, "", "user", parts=(TextPart(key, text, synthetic=written),))
    parts: list[Part] = [TextPart(key, text)] if text else []
    for call in one.tool_calls:
        id = call["id"] or ""
        parts.append(neutral_part(_result(call["name"], id, call["args"], results.get(id)), names))
    return Message(
        key,
        "",
        "assistant",
        agent=one.name or "",
        model=str(one.response_metadata.get("model_name") or one.response_metadata.get("model") or ""),
        finish=finish_reason(one),
        usage=_usage(one.usage_metadata) if one.usage_metadata else None,
        parts=tuple(parts),
    )


def _result(tool: str, id: str, given: Mapping[str, Any], result: ToolMessage | None) -> ToolPart:
    if result is None:
        return ToolPart(id, tool, id, "running", dict(given))
    text = str(result.text)
    if result.status == "error":
        return ToolPart(id, tool, id, "error", dict(given), error=text)
    return ToolPart(id, tool, id, "completed", dict(given), output=text)


def _usage(told: Mapping[str, Any]) -> ReportedUsage:
    """LangChain counts what was read from and written to the cache into the input, for every provider."""
    details = told.get("input_token_details") or {}
    read_ = int(details.get("cache_read") or 0)
    lives = sum(int(details.get(name) or 0) for name in ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"))
    written = int(details.get("cache_creation") or 0) or lives
    given, output = int(told.get("input_tokens") or 0), int(told.get("output_tokens") or 0)
    return ReportedUsage(
        total=int(told.get("total_tokens") or 0) or None,
        input=max(0, given - read_ - written),
        output=output,
        reasoning=int((told.get("output_token_details") or {}).get("reasoning") or 0),
        cache_read=read_,
        cache_write=written,
    )


def _key(one: BaseMessage, seen: Counter[str], *, by_id: bool) -> str:
    """A user's message that is edited in place is another one; a response stays one when its calls are edited."""
    text = str(one.text)
    if one.id and by_id:
        return entry_key(one.id) if isinstance(one, AIMessage) else entry_key(one.id, text)
    calls = [call["id"] or call["name"] for call in one.tool_calls] if isinstance(one, AIMessage) else []
    said = "\0".join((one.type, text, *calls))
    seen[said] += 1
    return entry_key(said, str(seen[said]))


def _block_size(block: str | Mapping[str, Any]) -> int:
    if isinstance(block, str):
        return len(block)
    texts = (block.get(name) for name in ("text", "thinking", "reasoning"))
    size = sum(len(text) for text in texts if isinstance(text, str))
    return size if size or block.get("type") in ("text", "tool_use", "thinking", "reasoning") else MEDIA_CHARS


# --- A frame in a request of LangChain's: on copies of the messages, so that nothing of it is kept. Pure.


_MessageT = TypeVar("_MessageT", bound=BaseMessage)


def with_base(system: SystemMessage | None, base: str) -> SystemMessage | None:
    """The system prompt with the base behind it."""
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
    """The messages with the blocks behind their entries (`spans`: first and last message of each), and the tail."""
    out: list[list[AnyMessage]] = [[_stubbed(one, placing)] for one in messages]
    blocks = [(spans[at][1], block) for at, some in placing.behind.items() for block in some]
    if placing.tail and messages:
        blocks.append((len(messages) - 1, placing.tail))
    for at, block in blocks:
        last = out[at][-1]
        if isinstance(last, ToolMessage):
            out[at][-1] = _with(last, _behind_result(last, block))
        elif isinstance(last, HumanMessage):
            out[at][-1] = _with(last, _behind_text(last, block))
        else:
            out[at].append(HumanMessage(block))
    return [one for group in out for one in group]


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
