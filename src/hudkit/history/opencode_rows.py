"""From OpenCode's own JSON (stored rows and plugin messages have one shape) to the structs of `transcript`.

Nothing here raises for a field that is missing or of another kind: it falls back to the empty value of its place.
Texts are bounded, and characters that UTF-8 cannot carry are replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from hudkit.history.transcript import (
    CompactionPart,
    FilePart,
    Message,
    OtherPart,
    Part,
    PatchPart,
    ReasoningPart,
    Reported,
    StepPart,
    TextPart,
    Todo,
    ToolPart,
)

MAX_TEXT = 256 * 1024
"""Longest text that is kept of one field, in characters; the rest is counted in a line at its end."""

MAX_DEPTH = 12
"""Deepest nesting that is kept of a tool's input or metadata."""

MAX_ITEMS = 2_000
"""Most items that are kept of one list or mapping in a tool's input or metadata."""

Json = Mapping[str, Any]


def message_of(id: str, session_id: str, data: Json, parts: Iterable[Part], *, created: int = 0) -> Message:
    """A message from its JSON; `created` stands in where the JSON has no time of its own."""
    time, error = _map(data, "time"), _map(data, "error")
    assistant = data.get("role") == "assistant"
    model = data if assistant else _map(data, "model")
    return Message(
        id=id,
        session_id=session_id,
        role=_str(data, "role"),
        created=_int(time, "created") or created,
        completed=_int(time, "completed"),
        agent=_str(data, "agent"),
        model=_str(model, "modelID"),
        provider=_str(model, "providerID"),
        parent_id=_str(data, "parentID"),
        finish=_str(data, "finish"),
        summary=assistant and data.get("summary") is True,
        error=_error_text(error),
        aborted=_str(error, "name") == "MessageAbortedError",
        usage=reported_of(data["tokens"]) if assistant and isinstance(data.get("tokens"), dict) else None,
        parts=tuple(parts),
    )


def part_of(id: str, data: Json) -> Part:
    """A part from its JSON; a kind that is not known here becomes an `OtherPart`."""
    make = _PARTS.get(_str(data, "type"))
    return make(id, data) if make else OtherPart(id, _str(data, "type"))


def reported_of(tokens: Json) -> Reported:
    """Token counts; `total` only where it was told."""
    cache = _map(tokens, "cache")
    return Reported(
        total=_int(tokens, "total") or None,
        input=_int(tokens, "input"),
        output=_int(tokens, "output"),
        reasoning=_int(tokens, "reasoning"),
        cache_read=_int(cache, "read"),
        cache_write=_int(cache, "write"),
    )


def todos_of(items: object) -> tuple[Todo, ...]:
    """A todo list from the input of `todowrite` or an event; what is not a todo is left out."""
    if not isinstance(items, list | tuple):
        return ()
    return tuple(
        Todo(_str(item, "content"), _str(item, "status") or "pending", _str(item, "priority"))
        for item in items[:MAX_ITEMS]
        if isinstance(item, dict) and _str(item, "content")
    )


def clip(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A JSON value with its texts, lists and nesting bounded."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        kept = list(value.items())[:MAX_ITEMS] if depth else ()
        return {_text(str(key)): clip(item, depth - 1) for key, item in kept}
    if isinstance(value, list):
        return [clip(item, depth - 1) for item in value[:MAX_ITEMS]] if depth else []
    return value


def _tool(id: str, data: Json) -> Part:
    state = _map(data, "state")
    time = _map(state, "time")
    return ToolPart(
        id=id,
        tool=_str(data, "tool"),
        call_id=_str(data, "callID"),
        status=_str(state, "status"),
        input=clip(_map(state, "input")),
        output=_str(state, "output"),
        error=_str(state, "error"),
        title=_str(state, "title"),
        metadata=clip(_map(state, "metadata")),
        start=_int(time, "start"),
        end=_int(time, "end"),
        compacted=_int(time, "compacted") > 0,
    )


def _file(id: str, data: Json) -> Part:
    path = _str(_map(data, "source"), "path")
    url = _str(data, "url")
    if not path and url.startswith("file:") and len(url) < 8_192:
        try:
            path = unquote(urlsplit(url).path)
        except ValueError:
            path = ""
    return FilePart(id, path, _str(data, "mime"))


def _compaction(id: str, data: Json) -> Part:
    return CompactionPart(id, data.get("auto") is True, data.get("overflow") is True, _str(data, "tail_start_id"))


def _patch(id: str, data: Json) -> Part:
    files = data.get("files")
    paths = [path for path in files[:MAX_ITEMS] if isinstance(path, str)] if isinstance(files, list) else []
    return PatchPart(id, tuple(_text(path) for path in paths))


def _finish(id: str, data: Json) -> Part:
    tokens = data.get("tokens")
    usage = reported_of(tokens) if isinstance(tokens, dict) else None
    return StepPart(id, "finish", usage, _str(data, "reason"))


_PARTS: dict[str, Callable[[str, Json], Part]] = {
    "text": lambda id, d: TextPart(id, _str(d, "text"), d.get("synthetic") is True, d.get("ignored") is True),
    "reasoning": lambda id, d: ReasoningPart(id, _str(d, "text")),
    "tool": _tool,
    "file": _file,
    "compaction": _compaction,
    "patch": _patch,
    "step-start": lambda id, _: StepPart(id, "start"),
    "step-finish": _finish,
}


def _error_text(error: Json) -> str:
    name, message = _str(error, "name"), _str(_map(error, "data"), "message")
    return ": ".join(text for text in (name, message) if text)


def _map(data: Json, key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _str(data: Json, key: str) -> str:
    value = data.get(key)
    return _text(value) if isinstance(value, str) else ""


def _int(data: Json, key: str) -> int:
    """A count or a time; what is negative, not finite or no number is 0."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return 0
    return int(value)


def _text(text: str) -> str:
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n[{len(text) - MAX_TEXT} more characters]"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
