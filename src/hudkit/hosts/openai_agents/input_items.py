"""Input items of the Agents SDK as the messages that are ingested, each with the place where it stands. Pure."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from hudkit.hosts.host_session import HostMessage, Injection
from hudkit.ingest.first_seen import entry_key
from hudkit.ingest.tool_calls import neutral_part
from hudkit.transcripts import Message, Part, ReasoningPart, ReportedUsage, TextPart, ToolPart

# --- One call of a tool in the Agents SDK's items, with its result, in neutral form. Pure.


_FAILURE_PREFIX = "An error occurred while running the tool"
"""How the SDK's own answer for a tool that raised begins."""

_LOCAL = ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call")
"""Calls whose results come as items of their own; the others are the provider's, and carry theirs."""

_EDITS = {"create_file": "write", "update_file": "edit", "delete_file": "delete_file"}


def _tool_part(id: str, call: Mapping[str, Any], result: Mapping[str, Any] | None) -> ToolPart:
    """Return a call and its result, which is `None` where there is none (yet)."""
    kind = str(call.get("type"))
    name, arguments = _named(kind, call)
    output, failed, metadata = _outcome(call if result is None else result)
    waits = result is None and kind in _LOCAL
    return ToolPart(
        id,
        name,
        str(call.get("call_id") or call.get("id") or ""),
        "running" if waits else "error" if failed else "completed",
        arguments,
        "" if failed or waits else output,
        output if failed and not waits else "",
        metadata=metadata,
    )


def _output_text(value: object) -> str:
    """Return the text of a result; what is no text in it, in a word."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_output_text(part) for part in value)
    if isinstance(value, dict):
        text = value.get("text")
        if isinstance(text, str):
            return text
        if "stdout" in value:
            return "\n".join(str(value[name]) for name in ("stdout", "stderr") if value.get(name))
        return f"[{str(value.get('type', 'output')).removeprefix('input_')}]"
    return ""


def _named(kind: str, call: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    action = call.get("action")
    action = action if isinstance(action, dict) else {}
    if kind == "custom_tool_call":
        return str(call.get("name", "")), {"input": call.get("input", "")}
    if kind == "local_shell_call":
        words = action.get("command")
        where = {"workdir": action["working_directory"]} if action.get("working_directory") else {}
        return "bash", {"command": shlex.join(map(str, words)) if isinstance(words, list) else "", **where}
    if kind == "shell_call":
        return "bash", {"command": "\n".join(map(str, action.get("commands") or ()))}
    if kind == "apply_patch_call":
        done = call.get("operation")
        done = done if isinstance(done, dict) else {}
        return _EDITS.get(str(done.get("type")), "edit"), {"path": str(done.get("path", ""))}
    if "name" in call:
        return str(call["name"]), _arguments(call.get("arguments"))
    return kind.removesuffix("_call"), {}


def _arguments(text: object) -> dict[str, Any]:
    """Return what a model wrote as arguments; nothing where that is no object."""
    try:
        arguments = msgspec.json.decode(text) if isinstance(text, str) and text else {}
    except msgspec.DecodeError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _outcome(item: Mapping[str, Any]) -> tuple[str, bool, dict[str, Any]]:
    """Return what came out, whether the call failed, and what else is known of it."""
    error = item.get("error")
    if error:
        return error if isinstance(error, str) else _output_text(error), True, {}
    output = item.get("output")
    text = _output_text(output)
    codes = [
        part["outcome"].get("exit_code")
        for part in (output if isinstance(output, list) else ())
        if isinstance(part, dict) and isinstance(part.get("outcome"), dict)
    ]
    metadata = {"exit": next((code for code in codes if code), 0)} if codes else {}
    return text, text.startswith(_FAILURE_PREFIX) or item.get("status") == "failed", metadata


InputItem = dict[str, Any]
"""An input item, as the SDK keeps it in a session and hands it to a model."""

_MARKER = "(Compaction {}. What of the conversation before this do you need to go on?)"
_MARKED = re.compile(re.escape(_MARKER).replace(r"\{\}", r"(\d+)"))

_MEDIA_CHARS = 3_000
"""Characters that an image or a file in a message is taken for."""

_SPEAKERS = ("user", "system", "developer")
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text", "refusal")


class MessageSpan(NamedTuple):
    """A message, and its items: from `start` to before `end`."""

    entry: HostMessage
    start: int
    end: int


class TranscriptContext(NamedTuple):
    """What a transcript is read with: the host's id of its session, the names of the agent's tools
    (`hudkit.ingest.tool_calls`), what responses cost, by the keys of their messages, and what was read before, each
    with the number of its items."""

    session_id: str
    names: dict[str, str]
    usage: dict[str, ReportedUsage]
    read: dict[str, tuple[int, HostMessage]]


def message_spans(items: Sequence[InputItem], reading: TranscriptContext) -> list[MessageSpan]:
    """Return the messages of a transcript, in order; every item belongs to one."""
    seen: Counter[str] = Counter()
    spans = []
    for kind, start, end in _groups(items):
        group = items[start:end]
        asked = _content_text(items[start - 1].get("content")) if kind == "summary" and start else ""
        words = "\0".join((kind, asked, _identity(group)))
        key = entry_key(words, str(seen[words]))
        seen[words] += 1
        size, usage = sum(map(_size, group)), reading.usage.get(key)
        length, entry = reading.read.get(key, (0, None))
        if entry is None or length != len(group) or entry.size != size or entry.message.usage != usage:
            blank = Message(key, reading.session_id, "", usage=usage)
            # Read anew only where something of it changed: a long conversation is read at each call.
            entry = _entry(kind, blank, group, size, reading.names)
            reading.read[key] = (len(group), entry)
        spans.append(MessageSpan(entry, start, end))
    return spans


def _is_prompt(item: InputItem) -> bool:
    """Return whether an item is said to the model: by the user, or by the application."""
    return item.get("role") in _SPEAKERS


def _is_result(item: InputItem) -> bool:
    """Return whether an item is the result of a call."""
    kind = str(item.get("type", ""))
    return kind.endswith("_output") or kind == "mcp_approval_response"


def summary_items(items: Sequence[InputItem], summary: str) -> tuple[InputItem, InputItem]:
    """Return a summary of these items, as it stands in a transcript: behind a question by which it is known again."""
    number = max((_number(item) for item in items), default=0) + 1
    return {"role": "user", "content": _MARKER.format(number)}, {"role": "assistant", "content": summary}


def is_summary_question(item: InputItem) -> bool:
    """Return whether an item is the question in front of a summary of ours."""
    return _number(item) > 0


def _content_text(content: object) -> str:
    """Return the texts of a content, which is a text or a list of parts; one line for each."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(_text(part) for part in parts if isinstance(part, dict) and part.get("type") in _TEXTS)


def is_text(part: object) -> bool:
    """Return whether a part of a message is text."""
    return isinstance(part, dict) and part.get("type") in _TEXTS


# -- inside ----------------------------------------------------------------------------------------------------


def _groups(items: Sequence[InputItem]) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each message. A response goes up to the last result of its calls."""
    start, kind = 0, ""
    for index, item in enumerate(items):
        now = _kind(item, items[index - 1] if index else {})
        goes_on = kind == "response" and (now == "result" or (now == "response" and not _is_result(items[index - 1])))
        if kind and not goes_on:
            yield kind, start, index
        if not goes_on:
            start, kind = index, "response" if now == "result" else now
    if kind:
        yield kind, start, len(items)


def _kind(item: InputItem, before: InputItem) -> str:
    if _is_prompt(item):
        return "marker" if is_summary_question(item) else "said"
    if _is_result(item):
        return "result"
    return "summary" if item.get("type") == "compaction" or is_summary_question(before) else "response"


def _number(item: InputItem) -> int:
    """Return which compaction an item is the question of; 0 for any other item."""
    content = item.get("content") if item.get("role") == "user" else None
    match = _MARKED.fullmatch(_content_text(content)) if content else None
    return int(match[1]) if match else 0


def _identity(group: Sequence[InputItem]) -> str:
    """Return what a message is known by: the id of its first call, else what it says."""
    called = next((str(item["call_id"]) for item in group if item.get("call_id")), "")
    if called:
        return called
    texts = [_content_text(item["content"]) + _others(item["content"]) for item in group if "content" in item]
    return (
        "\n".join(texts) if any(texts) else str(group[0].get("id") or msgspec.json.encode(group[0], order="sorted"))
    )


def _others(content: object) -> str:
    """Return parts that are no text, as text."""
    parts = content if isinstance(content, list) else []
    return "".join(msgspec.json.encode(part, order="sorted").decode() for part in parts if not is_text(part))


def _entry(kind: str, blank: Message, group: Sequence[InputItem], size: int, names: Mapping[str, str]) -> HostMessage:
    key = blank.id
    if kind in ("said", "marker"):
        own = kind == "said" and group[0].get("role") == "user"
        part = TextPart(f"{key}:0", _content_text(group[0].get("content")), synthetic=not own)
        return HostMessage(key, replace(blank, role="user", parts=(part,)), "user", size)
    parts = tuple(_parts(key, group, names))
    if kind == "summary":
        texts = tuple(part for part in parts if isinstance(part, TextPart))
        message = replace(blank, role="assistant", parts=texts, summary=True, finish="stop")
        return HostMessage(key, message, "assistant", size)
    finish = "tool-calls" if any(isinstance(part, ToolPart) for part in parts) else "stop"
    message = replace(blank, role="assistant", parts=parts, finish=finish)
    media = frozenset(str(item.get("call_id")) for item in group if _is_result(item) and not _is_plain_text(item))
    return HostMessage(key, message, "tool" if _is_result(group[-1]) else "assistant", size, media)


def _parts(key: str, group: Sequence[InputItem], names: Mapping[str, str]) -> Iterator[Part]:
    results = {str(item.get("call_id") or item.get("id")): item for item in group if _is_result(item)}
    for n, item in enumerate(group):
        kind = str(item.get("type", "message"))
        if kind == "message":
            yield TextPart(f"{key}:{n}", _content_text(item.get("content")))
        elif kind == "reasoning":
            yield ReasoningPart(
                f"{key}:{n}", _content_text(item.get("summary")) or _content_text(item.get("content"))
            )
        elif kind.endswith("_call"):
            result = results.get(str(item.get("call_id") or item.get("id")))
            yield neutral_part(_tool_part(f"{key}:{n}", item, result), names)


def _is_plain_text(result: InputItem) -> bool:
    """Return whether a result is nothing but text, in a form in which a line can stand for it."""
    return result.get("type") in _WITH_TEXT and not _others(result.get("output"))


def _size(item: InputItem) -> int:
    """Return the characters of an item, as far as a model reads them."""
    size = 0
    for name in ("content", "output", "summary"):
        value = item.get(name)
        if isinstance(value, list):
            size += sum(len(_text(part)) if is_text(part) else _MEDIA_CHARS for part in value)
        elif isinstance(value, str):
            size += len(value)
    if "arguments" in item or "input" in item:
        return size + len(str(item.get("name", ""))) + len(str(item.get("arguments") or item.get("input") or ""))
    action = item.get("action") or item.get("operation")
    return size + (len(msgspec.json.encode(action)) if action else 0)


def _text(part: Mapping[str, Any]) -> str:
    return str(part.get("text") or part.get("refusal") or "")


# --- Where the HUD goes in a request of the Agents SDK: behind instructions, messages and results. Pure.


_WITH_TEXT = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
"""Results whose output is a text, or parts with texts among them."""


def with_frame(items: Sequence[InputItem], spans: Sequence[MessageSpan], placing: Injection) -> list[InputItem]:
    """Return the items of a request with what the HUD puts among them; what was given stays as it is."""
    out = [_stub(item, placing.stubs) for item in items]
    after: dict[int, list[InputItem]] = {}
    for entry, blocks in placing.behind.items():
        _behind(out, spans[entry], blocks, after)
    if placing.tail and spans:
        _behind(out, spans[-1], (placing.tail,), after)
    return [part for index, item in enumerate(out) for part in (item, *after.get(index, ()))]


def _behind(
    out: list[InputItem], span: MessageSpan, blocks: Sequence[str], after: dict[int, list[InputItem]]
) -> None:
    if _is_prompt(out[span.start]):
        content = out[span.start].get("content")
        before = content if isinstance(content, list) else [_part(str(content))]
        out[span.start] = {**out[span.start], "content": [*before, *map(_part, blocks)]}
        return
    for index in reversed(range(span.start, span.end)):
        if _is_result(out[index]) and out[index].get("type") in _WITH_TEXT:
            output = out[index].get("output")
            text = "\n" + "\n".join(blocks)
            whole = [*output, _part(text)] if isinstance(output, list) else f"{output}{text}"
            out[index] = {**out[index], "output": whole}
            return
    after.setdefault(span.end - 1, []).extend({"role": "user", "content": block} for block in blocks)


def _stub(item: InputItem, stubs: Mapping[str, str]) -> InputItem:
    text = stubs.get(str(item.get("call_id"))) if _is_result(item) else None
    return item if text is None else {**item, "output": text}


def _part(text: str) -> InputItem:
    return {"type": "input_text", "text": text}
