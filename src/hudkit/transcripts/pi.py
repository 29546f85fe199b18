"""pi's transcripts: one JSONL file a session, below `~/.pi/agent/sessions/--PATH--`, as seen in version 1.3.

The first line is the session's header. All others are entries of a tree, each with an `id` and its parent's: going
back to an earlier entry leaves what came between on a branch of its own. A message is an entry, and so is each result
of a tool, a compaction, and the summary of a branch that was left.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hudkit.transcripts.json_fields import Json, bounded_text, bounded_value, number_field, object_field, string_field
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
    Part,
    ReasoningPart,
    ReportedUsage,
    SessionRow,
    TextPart,
    Todo,
    ToolPart,
)

HOST = "pi"

_FINISHES = {"toolUse": "tool-calls", "error": "", "aborted": ""}


def open_pi(root: str | Path) -> JsonlTranscript:
    """Return the transcripts below pi's `sessions` folder, or of one file. Raises `TranscriptError`."""
    return JsonlTranscript.open(root, DIALECT)


def is_header(data: Json) -> bool:
    """Return whether a record is the first line of a session of pi's."""
    return string_field(data, "type") == "session" and "cwd" in data and "version" in data


def message_of(data: Json) -> tuple[str, Json]:
    """Return role and body of the message that an entry is; an empty role where it is none."""
    body = object_field(data, "message") if string_field(data, "type") == "message" else {}
    return string_field(body, "role"), body


def reported_usage(usage: Json) -> ReportedUsage:
    """Return the tokens that a response's entry reports."""
    return ReportedUsage(
        total=number_field(usage, "totalTokens") or None,
        input=number_field(usage, "input"),
        output=number_field(usage, "output"),
        reasoning=number_field(usage, "reasoning"),
        cache_read=number_field(usage, "cacheRead"),
        cache_write=number_field(usage, "cacheWrite"),
    )


def _files(root: Path) -> Iterable[Path]:
    return find_files(root, 2, lambda name: name.endswith(".jsonl"))


def _row(path: Path, records: list[JsonlRecord]) -> SessionRow | None:
    id = directory = title = name = model = ""
    created = 0
    for _, data in records:
        role, body = message_of(data)
        if is_header(data) and not id:
            id, directory = string_field(data, "id"), string_field(data, "cwd")
            created = parse_timestamp(data.get("timestamp"))
        elif string_field(data, "type") == "session_info":
            name = string_field(data, "name")
        elif role == "user" and not title:
            title = content_text(body.get("content")).strip()[:200].split("\n")[0]
        elif role == "assistant":
            model = string_field(body, "model") or model
    id = id or path.stem.partition("_")[2]
    return SessionRow(id, HOST, "", directory, name or title, "", model, directory, created) if id else None


class PiMessages:
    """Makes messages of pi's entries."""

    def __init__(self, session_id: str) -> None:
        self.drafts = MessageDrafts(session_id)

    def take(self, record: JsonlRecord) -> str:
        """Read the next entry; return the id of its message, nothing where it has none of its own."""
        data = record.data
        id, kind, when = string_field(data, "id"), string_field(data, "type"), parse_timestamp(data.get("timestamp"))
        if not id or is_header(data):
            return ""
        role, body = message_of(data)
        time = number_field(body, "timestamp") or when
        match role or kind:
            case "toolResult":
                call, text = string_field(body, "toolCallId"), content_text(body.get("content"))
                self.drafts.result(call, text, failed=body.get("isError") is True, ended=time)
                return ""
            case "assistant":
                self._response(id, time, body)
            case "user":
                self._said(id, time, _blocks(id, body.get("content"), synthetic=False))
            case "bashExecution":
                text = f"Ran `{string_field(body, 'command')}`\n{string_field(body, 'output')}"
                self._said(id, time, [TextPart(id, bounded_text(text), synthetic=True)])
            case "custom_message":
                self._said(id, time, _blocks(id, data.get("content"), synthetic=True))
            case "branch_summary":
                self._said(id, time, [TextPart(id, bounded_text(string_field(data, "summary")), synthetic=True)])
            case "compaction":
                usage = data.get("usage")
                self.drafts.compaction(
                    id,
                    when,
                    bounded_text(string_field(data, "summary")),
                    auto=True,
                    tail=string_field(data, "firstKeptEntryId"),
                    usage=reported_usage(usage) if isinstance(usage, dict) else None,
                )
            case _:
                return ""
        return id

    def _said(self, id: str, when: int, parts: list[Part]) -> None:
        draft = self.drafts.begin(MessageDraft(id, "user", when))
        draft.parts += parts

    def _response(self, id: str, when: int, body: Json) -> None:
        draft = self.drafts.begin(MessageDraft(id, "assistant", when, id))
        draft.model, draft.provider = string_field(body, "model"), string_field(body, "provider")
        draft.completed = when + number_field(body, "durationMs")
        reason = string_field(body, "stopReason")
        draft.finish = _FINISHES.get(reason, reason)
        if reason in ("error", "aborted"):
            draft.error, draft.aborted = string_field(body, "errorMessage") or reason, reason == "aborted"
        elif isinstance(body.get("usage"), dict):
            draft.usage = reported_usage(body["usage"])
        content = body.get("content")
        for n, block in enumerate(content if isinstance(content, list) else ()):
            if not isinstance(block, dict):
                continue
            part_id, kind = f"{id}.{n}", string_field(block, "type")
            if kind == "toolCall":
                arguments = bounded_value(object_field(block, "arguments"))
                call = string_field(block, "id")
                part = ToolPart(
                    part_id, string_field(block, "name"), call, "running", arguments, start=draft.completed
                )
                self.drafts.call(draft, part)
            elif kind == "text":
                draft.parts.append(TextPart(part_id, bounded_text(string_field(block, "text"))))
            elif kind == "thinking":
                draft.parts.append(ReasoningPart(part_id, bounded_text(string_field(block, "thinking"))))


def _blocks(id: str, content: object, *, synthetic: bool) -> list[Part]:
    parts: list[Part] = []
    for n, block in enumerate(content if isinstance(content, list) else [{"type": "text", "text": content}]):
        if not isinstance(block, dict):
            continue
        if string_field(block, "type") == "text":
            parts.append(TextPart(f"{id}.{n}", bounded_text(string_field(block, "text")), synthetic))
        else:
            parts.append(FilePart(f"{id}.{n}", "", string_field(block, "mimeType")))
    return parts


class PiTodos:
    """pi has no todo list."""

    todos: tuple[Todo, ...] | None = None

    def take(self, record: JsonlRecord) -> None:
        """Read the next entry."""


DIALECT = JsonlDialect(HOST, _files, _row, PiMessages, PiTodos)
"""How pi writes."""
