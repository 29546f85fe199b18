"""Input items of the Agents SDK as the messages that are heard, each with the place where it stands. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from hudkit.hosts.host_session import HostMessage
from hudkit.hosts.openai_agents.called import tool_of
from hudkit.ingest.first_seen import entry_key
from hudkit.ingest.tool_calls import neutral_part
from hudkit.transcripts import Message, Part, ReasoningPart, ReportedUsage, TextPart, ToolPart

Item = dict[str, Any]
"""An input item, as the SDK keeps it in a session and hands it to a model."""

_MARKER = "(Compaction {}. What of the conversation before this do you need to go on?)"
_MARKED = re.compile(re.escape(_MARKER).replace(r"\{\}", r"(\d+)"))

MEDIA = 3_000
"""Characters that an image or a file in a message is taken for."""

_SPEAKERS = ("user", "system", "developer")
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text", "refusal")


class Span(NamedTuple):
    """A message, and its items: from `start` to before `end`."""

    entry: HostMessage
    start: int
    end: int


class Hearing(NamedTuple):
    """What a transcript is read with: the host's id of its session, the names of the agent's tools
    (`hudkit.ingest.tool_calls`), what responses cost, by the keys of their messages, and what was read before, each
    with the number of its items."""

    session_id: str
    names: Mapping[str, str]
    usage: dict[str, ReportedUsage]
    read: dict[str, tuple[int, HostMessage]]


def spans(items: Sequence[Item], hearing: Hearing) -> list[Span]:
    """The messages of a transcript, in order; every item belongs to one."""
    seen: Counter[str] = Counter()
    found = []
    for kind, start, end in _groups(items):
        group = items[start:end]
        asked = text_of(items[start - 1].get("content")) if kind == "summary" and start else ""
        words = "\0".join((kind, asked, _identity(group)))
        key = entry_key(words, str(seen[words]))
        seen[words] += 1
        size, usage = sum(map(_size, group)), hearing.usage.get(key)
        length, entry = hearing.read.get(key, (0, None))
        if entry is None or length != len(group) or entry.size != size or entry.message.usage != usage:
            blank = Message(key, hearing.session_id, "", usage=usage)
            entry = _entry(kind, blank, group, size, hearing.names)
            hearing.read[key] = (len(group), entry)
        found.append(Span(entry, start, end))
    return found


def speaks(item: Item) -> bool:
    """Whether an item is said to the model: by the user, or by the application."""
    return item.get("role") in _SPEAKERS


def answers(item: Item) -> bool:
    """Whether an item is the result of a call."""
    kind = str(item.get("type", ""))
    return kind.endswith("_output") or kind == "mcp_approval_response"


def summed_up(items: Sequence[Item], summary: str) -> tuple[Item, Item]:
    """A summary of these items, as it stands in a transcript: behind a question by which it is known again."""
    number = max((_number(item) for item in items), default=0) + 1
    return {"role": "user", "content": _MARKER.format(number)}, {"role": "assistant", "content": summary}


def marks(item: Item) -> bool:
    """Whether an item is the question in front of a summary of ours."""
    return _number(item) > 0


def text_of(content: object) -> str:
    """The texts of a content, which is a text or a list of parts; one line for each."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(_text(part) for part in parts if isinstance(part, dict) and part.get("type") in _TEXTS)


def is_text(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") in _TEXTS


# -- inside ----------------------------------------------------------------------------------------------------


def _groups(items: Sequence[Item]) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each message. A response goes up to the last result of its calls."""
    start, kind = 0, ""
    for at, item in enumerate(items):
        now = _kind(item, items[at - 1] if at else {})
        goes_on = kind == "response" and (now == "result" or (now == "response" and not answers(items[at - 1])))
        if kind and not goes_on:
            yield kind, start, at
        if not goes_on:
            start, kind = at, "response" if now == "result" else now
    if kind:
        yield kind, start, len(items)


def _kind(item: Item, before: Item) -> str:
    if speaks(item):
        return "marker" if marks(item) else "said"
    if answers(item):
        return "result"
    return "summary" if item.get("type") == "compaction" or marks(before) else "response"


def _number(item: Item) -> int:
    """Which compaction an item is the question of; 0 for any other item."""
    content = item.get("content") if item.get("role") == "user" else None
    found = _MARKED.fullmatch(text_of(content)) if content else None
    return int(found[1]) if found else 0


def _identity(group: Sequence[Item]) -> str:
    """What a message is known by: the id of its first call, else what it says."""
    called = next((str(item["call_id"]) for item in group if item.get("call_id")), "")
    if called:
        return called
    said = [text_of(item["content"]) + _others(item["content"]) for item in group if "content" in item]
    return "\n".join(said) if any(said) else str(group[0].get("id") or msgspec.json.encode(group[0], order="sorted"))


def _others(content: object) -> str:
    """Parts that are no text, as text."""
    parts = content if isinstance(content, list) else []
    return "".join(msgspec.json.encode(part, order="sorted").decode() for part in parts if not is_text(part))


def _entry(kind: str, blank: Message, group: Sequence[Item], size: int, names: Mapping[str, str]) -> HostMessage:
    key = blank.id
    if kind in ("said", "marker"):
        own = kind == "said" and group[0].get("role") == "user"
        part = TextPart(f"{key}:0", text_of(group[0].get("content")), synthetic=not own)
        return HostMessage(key, replace(blank, role="user", parts=(part,)), "user", size)
    parts = tuple(_parts(key, group, names))
    if kind == "summary":
        told = tuple(part for part in parts if isinstance(part, TextPart))
        message = replace(blank, role="assistant", parts=told, summary=True, finish="stop")
        return HostMessage(key, message, "assistant", size)
    finish = "tool-calls" if any(isinstance(part, ToolPart) for part in parts) else "stop"
    message = replace(blank, role="assistant", parts=parts, finish=finish)
    return HostMessage(key, message, "tool" if answers(group[-1]) else "assistant", size)


def _parts(key: str, group: Sequence[Item], names: Mapping[str, str]) -> Iterator[Part]:
    results = {str(item.get("call_id") or item.get("id")): item for item in group if answers(item)}
    for n, item in enumerate(group):
        kind = str(item.get("type", "message"))
        if kind == "message":
            yield TextPart(f"{key}:{n}", text_of(item.get("content")))
        elif kind == "reasoning":
            yield ReasoningPart(f"{key}:{n}", text_of(item.get("summary")) or text_of(item.get("content")))
        elif kind.endswith("_call"):
            result = results.get(str(item.get("call_id") or item.get("id")))
            yield neutral_part(tool_of(f"{key}:{n}", item, result), names)


def _size(item: Item) -> int:
    """Characters of an item, as far as a model reads them."""
    size = 0
    for name in ("content", "output", "summary"):
        value = item.get(name)
        if isinstance(value, list):
            size += sum(len(_text(part)) if is_text(part) else MEDIA for part in value)
        elif isinstance(value, str):
            size += len(value)
    if "arguments" in item or "input" in item:
        return size + len(str(item.get("name", ""))) + len(str(item.get("arguments") or item.get("input") or ""))
    action = item.get("action") or item.get("operation")
    return size + (len(msgspec.json.encode(action)) if action else 0)


def _text(part: Mapping[str, Any]) -> str:
    return str(part.get("text") or part.get("refusal") or "")
