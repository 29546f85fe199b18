"""Claude Code's transcripts: one JSONL file a session in a folder a project, as seen in versions 1.0 to 2.1.

A response is written as one record a content block, with one message id and the same usage on each; results come in
records of the user. A compaction is a boundary record, then a user's record with the summary. Subagents have files of
their own (`agent-*.jsonl`), which name the session that they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from hudkit.transcripts.json_fields import Json, bounded_value, number_field, object_field, string_field
from hudkit.transcripts.jsonl_transcript import (
    JsonlDialect,
    JsonlRecord,
    JsonlTranscript,
    MessageDraft,
    MessageDrafts,
    content_text,
    find_files,
    parse_timestamp,
)
from hudkit.transcripts.transcript import (
    FilePart,
    Message,
    OtherPart,
    ReasoningPart,
    ReportedUsage,
    SessionRow,
    TextPart,
    Todo,
    ToolPart,
)

HOST = "claude-code"

_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
_OURS = ("<command-name>", "<local-command", "<bash-", "<system-reminder>", "Caveat:")
"""How records begin that the host wrote in the user's name."""


def open_claude(root: str | Path) -> JsonlTranscript:
    """Return the transcripts below Claude Code's `projects` folder, or of one file. Raises `TranscriptError`."""
    return JsonlTranscript.open(root, JsonlDialect(HOST, _files, _row, _messages, _todos))


def _files(root: Path) -> Iterable[Path]:
    return find_files(root, 4, lambda name: name.endswith(".jsonl"))


def _row(path: Path, records: list[JsonlRecord]) -> SessionRow | None:
    # A subagent's records name the session that it belongs to: only its file has an id of its own.
    agent = path.stem.startswith("agent-")
    title = first = directory = model = session = ""
    created = 0
    for _, data in records:
        kind = string_field(data, "type")
        if kind in _TITLES:
            title = string_field(data, _TITLES[kind]) or title
        if kind not in ("user", "assistant"):
            continue
        session = session or string_field(data, "sessionId")
        directory = directory or string_field(data, "cwd")
        created = created or parse_timestamp(data.get("timestamp"))
        message = object_field(data, "message")
        model = string_field(message, "model") or model
        if kind == "user" and not first and not _synthetic(data):
            # The first words of the user stand in for a title, which older versions write only at the end or never.
            text = content_text(message.get("content")).strip()
            first = "" if text.startswith(_OURS) else text
    if not session:
        return None
    title = (title or first)[:200].split("\n")[0]
    return SessionRow(
        id=path.stem if agent else session if path.stem in ("", session) else path.stem,
        host=HOST,
        parent_id=session if agent else "",
        directory=directory,
        title=title,
        agent=path.stem.removeprefix("agent-") if agent else "",
        model=model,
        root=directory,
        created=created,
    )


def _messages(session_id: str, records: Iterator[JsonlRecord]) -> Iterator[Message]:
    drafts = MessageDrafts(session_id)
    boundary: Json | None = None
    for offset, data in records:
        kind = string_field(data, "type")
        if kind == "system" and string_field(data, "subtype") == "compact_boundary":
            boundary = object_field(data, "compactMetadata")
        elif kind == "user" and data.get("isCompactSummary") is True:
            # The boundary record says who asked; the summary comes in the record behind it.
            auto = boundary is not None and string_field(boundary, "trigger") == "auto"
            text = content_text(object_field(data, "message").get("content"))
            drafts.compaction(_id(data, session_id, offset), parse_timestamp(data.get("timestamp")), text, auto=auto)
            boundary = None
        elif kind == "user":
            _user(drafts, data, _id(data, session_id, offset))
        elif kind == "assistant":
            _response(drafts, data, _id(data, session_id, offset))
        yield from drafts.ready()
    yield from drafts.rest()


def _id(data: Json, session_id: str, offset: int) -> str:
    return string_field(data, "uuid")[:200] or f"{session_id}:{offset}"


def _user(drafts: MessageDrafts, data: Json, id: str) -> None:
    when, content = parse_timestamp(data.get("timestamp")), object_field(data, "message").get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    draft = MessageDraft(id, "user", when)
    for n, block in enumerate(blocks):
        if not isinstance(block, dict):
            continue
        kind = string_field(block, "type")
        if kind == "tool_result":
            failed = block.get("is_error") is True
            drafts.result(
                string_field(block, "tool_use_id"), content_text(block.get("content")), failed=failed, ended=when
            )
        elif kind == "text":
            text = string_field(block, "text")
            if text:
                draft.parts.append(TextPart(f"{id}-{n}", text, _synthetic(data) or text.startswith(_OURS)))
        elif kind in ("image", "document"):
            draft.parts.append(FilePart(f"{id}-{n}", "", string_field(object_field(block, "source"), "media_type")))
        else:
            draft.parts.append(OtherPart(f"{id}-{n}", kind))
    # A record that only holds tool results is not a message: the results went to their calls.
    if draft.parts:
        draft.agent = "subagent" if data.get("isSidechain") is True else ""
        drafts.begin(draft)


def _response(drafts: MessageDrafts, data: Json, id: str) -> None:
    message, when = object_field(data, "message"), parse_timestamp(data.get("timestamp"))
    key = string_field(message, "id") or id
    # One response is several records, one for each content block, which share the message id.
    draft = drafts.last("assistant", key) or drafts.begin(MessageDraft(id, "assistant", when, key))
    draft.model, draft.provider = string_field(message, "model"), "anthropic"
    draft.agent = "subagent" if data.get("isSidechain") is True else ""
    draft.completed = when
    draft.finish = string_field(message, "stop_reason") or draft.finish
    if isinstance(message.get("usage"), dict):
        # Each of them repeats the usage of the whole response: the last one wins, nothing is added up.
        draft.usage = _usage(message["usage"])
    if data.get("isApiErrorMessage") is True:
        draft.error = "APIError"
    content = message.get("content")
    for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        n = f"{id}-{len(draft.parts)}"
        kind = string_field(block, "type") if isinstance(block, dict) else ""
        if kind == "text":
            draft.parts.append(TextPart(n, string_field(block, "text")))
        elif kind == "thinking":
            draft.parts.append(ReasoningPart(n, string_field(block, "thinking")))
        elif kind == "tool_use":
            call = string_field(block, "id") or n
            arguments = bounded_value(object_field(block, "input"))
            drafts.call(draft, ToolPart(n, string_field(block, "name"), call, "running", arguments, start=when))
        elif kind:
            draft.parts.append(OtherPart(n, kind))


def _usage(usage: Json) -> ReportedUsage:
    return ReportedUsage(
        input=number_field(usage, "input_tokens"),
        output=number_field(usage, "output_tokens"),
        cache_read=number_field(usage, "cache_read_input_tokens"),
        cache_write=number_field(usage, "cache_creation_input_tokens"),
    )


def _synthetic(data: Json) -> bool:
    return data.get("isMeta") is True or data.get("isVisibleInTranscriptOnly") is True


def _todos(records: Iterator[JsonlRecord]) -> tuple[Todo, ...]:
    """The list of the last call of the tool that writes it."""
    last: Json = {}
    for _, data in records:
        content = object_field(data, "message").get("content") if string_field(data, "type") == "assistant" else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("name") == "TodoWrite":
                last = object_field(block, "input")
    items = last.get("todos")
    todos = [item for item in items[:2_000] if isinstance(item, dict)] if isinstance(items, list) else []
    converted = (Todo(string_field(item, "content"), string_field(item, "status") or "pending") for item in todos)
    return tuple(todo for todo in converted if todo.content)
