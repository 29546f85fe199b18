"""Claude Code's transcripts: one JSONL file a session in a folder a project, as seen in versions 1.0 to 2.1.330.

A response is written as one record a content block, with one message id and the same usage on each; results come in
records of the user. A compaction is a boundary record, then a user's record with the summary. Subagents have files of
their own (`agent-*.jsonl`), which name the session that they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    OtherPart,
    ReasoningPart,
    ReportedUsage,
    SessionRow,
    TextPart,
    Todo,
    ToolPart,
)

HOST = "claude-code"
_MAX_TODOS = 2_000

_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
_OURS = ("<command-name>", "<local-command", "<bash-", "<system-reminder>", "<task-notification>", "Caveat:")
"""How records begin that the host wrote in the user's name."""


def open_claude(root: str | Path) -> JsonlTranscript:
    """Return the transcripts below Claude Code's `projects` folder, or of one file. Raises `TranscriptError`."""
    return JsonlTranscript.open(root, DIALECT)


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
            first = "" if is_hosts_text(text) else text
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


class ClaudeMessages:
    """Makes messages of Claude Code's records."""

    def __init__(self, session_id: str) -> None:
        self.drafts = MessageDrafts(session_id)
        self._boundary: Json = {}
        self._message_of: dict[str, str] = {}

    def take(self, record: JsonlRecord) -> str:
        """Read the next record; return the id of its message, nothing where it has none of its own."""
        data = record.data
        kind = string_field(data, "type")
        if kind == "system" and string_field(data, "subtype") == "compact_boundary":
            self._boundary = object_field(data, "compactMetadata")
        if kind not in ("user", "assistant"):
            return ""
        id = _id(data, self.drafts.session_id, record.offset)
        if kind == "assistant":
            id = _response(self.drafts, data, id)
        elif data.get("isCompactSummary") is True:
            self._compaction(data, id)
        else:
            id = _user(self.drafts, data, id)
        self._message_of[string_field(data, "uuid")] = id
        return id

    def _compaction(self, data: Json, id: str) -> None:
        """The boundary record says who asked and what stays; the summary comes in the record behind it."""
        text = content_text(object_field(data, "message").get("content"))
        tail_ids = (self._message_of.get(uuid, "") for uuid in preserved_records(self._boundary))
        self.drafts.compaction(
            id,
            parse_timestamp(data.get("timestamp")),
            text,
            auto=string_field(self._boundary, "trigger") == "auto",
            tail=next(filter(None, tail_ids), ""),
        )
        self._boundary = {}


def preserved_records(boundary: Json) -> tuple[str, ...]:
    """Return the ids of the records that a compaction keeps word for word, in their order."""
    preserved = object_field(boundary, "preservedMessages")
    ids = preserved.get("allUuids") or preserved.get("uuids")
    segment = object_field(boundary, "preservedSegment")
    ends = [string_field(segment, "headUuid"), string_field(segment, "tailUuid")]
    return tuple(id for id in (ids if isinstance(ids, list) else ends) if isinstance(id, str) and id)


def _id(data: Json, session_id: str, offset: int) -> str:
    return string_field(data, "uuid")[:200] or f"{session_id}:{offset}"


def _user(drafts: MessageDrafts, data: Json, id: str) -> str:
    when, content = parse_timestamp(data.get("timestamp")), object_field(data, "message").get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    draft = MessageDraft(id, "user", when)
    for n, block in enumerate(blocks):
        if not isinstance(block, dict):
            continue
        kind = string_field(block, "type")
        if kind == "tool_result":
            failed = block.get("is_error") is True
            text = content_text(block.get("content"))
            child = _subagent(object_field(data, "toolUseResult"))
            drafts.result(string_field(block, "tool_use_id"), text, failed=failed, ended=when, metadata=child)
        elif kind == "text":
            text = string_field(block, "text")
            if text:
                draft.parts.append(TextPart(f"{id}-{n}", text, _synthetic(data) or is_hosts_text(text)))
        elif kind in ("image", "document"):
            draft.parts.append(FilePart(f"{id}-{n}", "", string_field(object_field(block, "source"), "media_type")))
        else:
            draft.parts.append(OtherPart(f"{id}-{n}", kind))
    # A record that only holds tool results is not a message: the results went to their calls.
    if not draft.parts:
        return ""
    draft.agent = "subagent" if data.get("isSidechain") is True else ""
    drafts.begin(draft)
    return id


def is_hosts_text(text: str) -> bool:
    """Return whether a text in the user's name was written by the host."""
    return text.startswith(_OURS)


def _subagent(result: Json) -> Json:
    """What a call's result tells of the sub-agent that it started: its session, and whether it goes on."""
    agent = string_field(result, "agentId")
    return {"sessionId": subagent_session(agent), "running": result.get("isAsync") is True} if agent else {}


def subagent_session(agent: str) -> str:
    """Return the id of the session of a sub-agent: the name of its file."""
    return f"agent-{agent}"


def _response(drafts: MessageDrafts, data: Json, id: str) -> str:
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
        draft.usage = reported_usage(message["usage"])
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
    return draft.id


def reported_usage(usage: Json) -> ReportedUsage:
    """Return the tokens that a response's record reports."""
    return ReportedUsage(
        input=number_field(usage, "input_tokens"),
        output=number_field(usage, "output_tokens"),
        cache_read=number_field(usage, "cache_read_input_tokens"),
        cache_write=number_field(usage, "cache_creation_input_tokens"),
    )


def _synthetic(data: Json) -> bool:
    """Whether the host wrote a record in the user's name."""
    host = data.get("isMeta") is True or data.get("isVisibleInTranscriptOnly") is True
    return host or string_field(data, "promptSource") == "system"


class ClaudeTodos:
    """The todo list: what the last call of `TodoWrite` wrote, or the tasks of `TaskCreate` and `TaskUpdate`."""

    def __init__(self) -> None:
        self.todos: tuple[Todo, ...] | None = None
        self._tasks: dict[str, Todo] = {}

    def take(self, record: JsonlRecord) -> None:
        """Read the next record."""
        data = record.data
        kind = string_field(data, "type")
        if kind == "user" and isinstance(data.get("toolUseResult"), dict):
            self._created(object_field(object_field(data, "toolUseResult"), "task"))
        content = object_field(data, "message").get("content") if kind == "assistant" else None
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict) or string_field(block, "type") != "tool_use":
                continue
            if block.get("name") == "TodoWrite":
                self._written(object_field(block, "input").get("todos"))
            elif block.get("name") == "TaskUpdate":
                self._updated(object_field(block, "input"))

    def _written(self, items: object) -> None:
        todos = [item for item in items[:_MAX_TODOS] if isinstance(item, dict)] if isinstance(items, list) else []
        converted = (Todo(string_field(item, "content"), string_field(item, "status") or "pending") for item in todos)
        self.todos = tuple(todo for todo in converted if todo.content)

    def _created(self, task: Json) -> None:
        # The number of a task stands only in the result of the call.
        id, subject = string_field(task, "id"), string_field(task, "subject")
        if id and subject and id not in self._tasks and len(self._tasks) < _MAX_TODOS:
            self._tasks[id] = Todo(subject)
            self.todos = tuple(self._tasks.values())

    def _updated(self, call: Json) -> None:
        id = string_field(call, "taskId")
        before = self._tasks.get(id)
        if before is None:
            return
        todo = Todo(string_field(call, "subject") or before.content, string_field(call, "status") or before.status)
        self._tasks[id] = todo
        if todo.status == "deleted":
            del self._tasks[id]
        self.todos = tuple(self._tasks.values())


DIALECT = JsonlDialect(HOST, _files, _row, ClaudeMessages, ClaudeTodos)
"""How Claude Code writes."""
