"""From OpenCode's own JSON (stored rows and plugin messages have one shape) to the structs of `transcript`.

Nothing here raises for a field that is missing or of another kind: it falls back to the empty value of its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import unquote, urlsplit

from hudkit.transcripts.json_fields import (
    MAX_ITEMS,
    Json,
    bounded_text,
    bounded_value,
    number_field,
    object_field,
    string_field,
)
from hudkit.transcripts.transcript import (
    CompactionPart,
    FilePart,
    Message,
    OtherPart,
    Part,
    PatchPart,
    ReasoningPart,
    ReportedUsage,
    StepPart,
    TextPart,
    Todo,
    ToolPart,
)


def parse_message(id: str, session_id: str, data: Json, parts: Iterable[Part], *, created: int = 0) -> Message:
    """Return a message from its JSON; `created` stands in where the JSON has no time of its own."""
    time, error = object_field(data, "time"), object_field(data, "error")
    assistant = data.get("role") == "assistant"
    model = data if assistant else object_field(data, "model")
    return Message(
        id=id,
        session_id=session_id,
        role=string_field(data, "role"),
        created=number_field(time, "created") or created,
        completed=number_field(time, "completed"),
        agent=string_field(data, "agent"),
        model=string_field(model, "modelID"),
        provider=string_field(model, "providerID"),
        parent_id=string_field(data, "parentID"),
        finish=string_field(data, "finish"),
        summary=assistant and data.get("summary") is True,
        error=_error_text(error),
        aborted=string_field(error, "name") == "MessageAbortedError",
        usage=_parse_usage(data["tokens"]) if assistant and isinstance(data.get("tokens"), dict) else None,
        parts=tuple(parts),
    )


def parse_part(id: str, data: Json) -> Part:
    """Return a part from its JSON; an `OtherPart` for a kind that is not known here."""
    make = _PARTS.get(string_field(data, "type"))
    return make(id, data) if make else OtherPart(id, string_field(data, "type"))


def _parse_usage(tokens: Json) -> ReportedUsage:
    """Return token counts; `total` only where the host reported it."""
    cache = object_field(tokens, "cache")
    return ReportedUsage(
        total=number_field(tokens, "total") or None,
        input=number_field(tokens, "input"),
        output=number_field(tokens, "output"),
        reasoning=number_field(tokens, "reasoning"),
        cache_read=number_field(cache, "read"),
        cache_write=number_field(cache, "write"),
    )


def parse_todos(items: object) -> tuple[Todo, ...]:
    """Return a todo list from the input of `todowrite` or an event; what is not a todo is left out."""
    if not isinstance(items, list | tuple):
        return ()
    return tuple(
        Todo(string_field(item, "content"), string_field(item, "status") or "pending", string_field(item, "priority"))
        for item in items[:MAX_ITEMS]
        if isinstance(item, dict) and string_field(item, "content")
    )


def _tool(id: str, data: Json) -> Part:
    state = object_field(data, "state")
    time = object_field(state, "time")
    return ToolPart(
        id=id,
        tool=string_field(data, "tool"),
        call_id=string_field(data, "callID"),
        status=string_field(state, "status"),
        input=bounded_value(object_field(state, "input")),
        output=string_field(state, "output"),
        error=string_field(state, "error"),
        title=string_field(state, "title"),
        metadata=bounded_value(object_field(state, "metadata")),
        start=number_field(time, "start"),
        end=number_field(time, "end"),
        compacted=number_field(time, "compacted") > 0,
    )


def _file(id: str, data: Json) -> Part:
    path = string_field(object_field(data, "source"), "path")
    url = string_field(data, "url")
    # A file that was dragged in has only a URL.
    if not path and url.startswith("file:") and len(url) < 8_192:
        try:
            path = unquote(urlsplit(url).path)
        except ValueError:
            path = ""
    return FilePart(id, path, string_field(data, "mime"))


def _compaction(id: str, data: Json) -> Part:
    return CompactionPart(
        id, data.get("auto") is True, data.get("overflow") is True, string_field(data, "tail_start_id")
    )


def _patch(id: str, data: Json) -> Part:
    files = data.get("files")
    paths = [path for path in files[:MAX_ITEMS] if isinstance(path, str)] if isinstance(files, list) else []
    return PatchPart(id, tuple(bounded_text(path) for path in paths))


def _finish(id: str, data: Json) -> Part:
    tokens = data.get("tokens")
    usage = _parse_usage(tokens) if isinstance(tokens, dict) else None
    return StepPart(id, "finish", usage, string_field(data, "reason"))


_PARTS: dict[str, Callable[[str, Json], Part]] = {
    "text": lambda id, d: TextPart(id, string_field(d, "text"), d.get("synthetic") is True, d.get("ignored") is True),
    "reasoning": lambda id, d: ReasoningPart(id, string_field(d, "text")),
    "tool": _tool,
    "file": _file,
    "compaction": _compaction,
    "patch": _patch,
    "step-start": lambda id, _: StepPart(id, "start"),
    "step-finish": _finish,
}


def _error_text(error: Json) -> str:
    name, message = string_field(error, "name"), string_field(object_field(error, "data"), "message")
    return ": ".join(text for text in (name, message) if text)
