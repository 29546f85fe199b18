"""From OpenCode's own JSON (stored rows and plugin messages have one shape) to the structs of `transcript`.

Nothing here raises for a field that is missing or of another kind: it falls back to the empty value of its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import unquote, urlsplit

from hudkit.transcripts.fields import MAX_ITEMS, Json, bounded, clip, inner, number, string
from hudkit.transcripts.transcript import (
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


def message_of(id: str, session_id: str, data: Json, parts: Iterable[Part], *, created: int = 0) -> Message:
    """A message from its JSON; `created` stands in where the JSON has no time of its own."""
    time, error = inner(data, "time"), inner(data, "error")
    assistant = data.get("role") == "assistant"
    model = data if assistant else inner(data, "model")
    return Message(
        id=id,
        session_id=session_id,
        role=string(data, "role"),
        created=number(time, "created") or created,
        completed=number(time, "completed"),
        agent=string(data, "agent"),
        model=string(model, "modelID"),
        provider=string(model, "providerID"),
        parent_id=string(data, "parentID"),
        finish=string(data, "finish"),
        summary=assistant and data.get("summary") is True,
        error=_error_text(error),
        aborted=string(error, "name") == "MessageAbortedError",
        usage=reported_of(data["tokens"]) if assistant and isinstance(data.get("tokens"), dict) else None,
        parts=tuple(parts),
    )


def part_of(id: str, data: Json) -> Part:
    """A part from its JSON; a kind that is not known here becomes an `OtherPart`."""
    make = _PARTS.get(string(data, "type"))
    return make(id, data) if make else OtherPart(id, string(data, "type"))


def reported_of(tokens: Json) -> Reported:
    """Token counts; `total` only where it was told."""
    cache = inner(tokens, "cache")
    return Reported(
        total=number(tokens, "total") or None,
        input=number(tokens, "input"),
        output=number(tokens, "output"),
        reasoning=number(tokens, "reasoning"),
        cache_read=number(cache, "read"),
        cache_write=number(cache, "write"),
    )


def todos_of(items: object) -> tuple[Todo, ...]:
    """A todo list from the input of `todowrite` or an event; what is not a todo is left out."""
    if not isinstance(items, list | tuple):
        return ()
    return tuple(
        Todo(string(item, "content"), string(item, "status") or "pending", string(item, "priority"))
        for item in items[:MAX_ITEMS]
        if isinstance(item, dict) and string(item, "content")
    )


def _tool(id: str, data: Json) -> Part:
    state = inner(data, "state")
    time = inner(state, "time")
    return ToolPart(
        id=id,
        tool=string(data, "tool"),
        call_id=string(data, "callID"),
        status=string(state, "status"),
        input=clip(inner(state, "input")),
        output=string(state, "output"),
        error=string(state, "error"),
        title=string(state, "title"),
        metadata=clip(inner(state, "metadata")),
        start=number(time, "start"),
        end=number(time, "end"),
        compacted=number(time, "compacted") > 0,
    )


def _file(id: str, data: Json) -> Part:
    path = string(inner(data, "source"), "path")
    url = string(data, "url")
    if not path and url.startswith("file:") and len(url) < 8_192:
        try:
            path = unquote(urlsplit(url).path)
        except ValueError:
            path = ""
    return FilePart(id, path, string(data, "mime"))


def _compaction(id: str, data: Json) -> Part:
    return CompactionPart(id, data.get("auto") is True, data.get("overflow") is True, string(data, "tail_start_id"))


def _patch(id: str, data: Json) -> Part:
    files = data.get("files")
    paths = [path for path in files[:MAX_ITEMS] if isinstance(path, str)] if isinstance(files, list) else []
    return PatchPart(id, tuple(bounded(path) for path in paths))


def _finish(id: str, data: Json) -> Part:
    tokens = data.get("tokens")
    usage = reported_of(tokens) if isinstance(tokens, dict) else None
    return StepPart(id, "finish", usage, string(data, "reason"))


_PARTS: dict[str, Callable[[str, Json], Part]] = {
    "text": lambda id, d: TextPart(id, string(d, "text"), d.get("synthetic") is True, d.get("ignored") is True),
    "reasoning": lambda id, d: ReasoningPart(id, string(d, "text")),
    "tool": _tool,
    "file": _file,
    "compaction": _compaction,
    "patch": _patch,
    "step-start": lambda id, _: StepPart(id, "start"),
    "step-finish": _finish,
}


def _error_text(error: Json) -> str:
    name, message = string(error, "name"), string(inner(error, "data"), "message")
    return ": ".join(text for text in (name, message) if text)
