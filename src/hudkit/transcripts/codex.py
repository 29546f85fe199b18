"""Codex's transcripts: one `rollout-*.jsonl` a session, as seen in versions 0.20 to 0.65 (and the bare form before).

Records are `{timestamp, type, payload}`. What the model got and gave is `response_item`; `event_msg` says the same
again for the screen, and only its token counts and ends are read. A `compacted` record holds a compaction's summary.
Messages have no ids of their own: theirs is the session and the place in the file where they begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

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
from hudkit.transcripts.opencode_json import parse_todos
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

HOST = "codex"

_OURS = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
)
_NAME = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+)")
_FAILED = re.compile(r"(?:exit(?:ed with)? code:? |\"exit_code\": ?)(?!0\b)-?\d+", re.IGNORECASE)


def open_codex(root: str | Path) -> JsonlTranscript:
    """Return the transcripts below Codex's `sessions` folder, or of one file. Raises `TranscriptError`."""
    return JsonlTranscript.open(root, JsonlDialect(HOST, _files, _row, _messages, _todos))


def _files(root: Path) -> Iterable[Path]:
    return find_files(root, 4, lambda name: name.startswith("rollout-") and name.endswith(".jsonl"))


def _row(path: Path, records: list[JsonlRecord]) -> SessionRow | None:
    id = parent = directory = title = model = ""
    created = 0
    for _, data in records:
        kind, payload = _record_body(data)
        if kind == "session_meta" and not id:
            id, directory = string_field(payload, "id"), string_field(payload, "cwd")
            created = parse_timestamp(payload.get("timestamp")) or parse_timestamp(data.get("timestamp"))
            spawned = object_field(object_field(object_field(payload, "source"), "subagent"), "thread_spawn")
            parent = string_field(spawned, "parent_thread_id") or string_field(payload, "parent_thread_id")
        # The model can change within a session: the last one counts for its row.
        elif kind == "turn_context":
            model, directory = string_field(payload, "model") or model, directory or string_field(payload, "cwd")
        elif kind == "message" and string_field(payload, "role") == "user" and not title:
            text = content_text(payload.get("content")).strip()
            title = "" if text.startswith(_OURS) else text[:200].split("\n")[0]
    named = _NAME.fullmatch(path.stem)
    id = id or (named[1] if named else "")
    if not id:
        return None
    return SessionRow(id, HOST, parent, directory, title, "", model, directory, created)


def _record_body(data: Json) -> tuple[str, Json]:
    """A record's kind and body: of a response item, the item's own; of the bare form, the record itself."""
    kind, payload = string_field(data, "type"), object_field(data, "payload")
    if kind in ("response_item", "event_msg"):
        return ("event:" if kind == "event_msg" else "") + string_field(payload, "type"), payload
    # Files from before version 0.20 have the item itself on the line, without an envelope.
    if not payload and "id" in data and "timestamp" in data and not kind:
        return "session_meta", data
    return (kind, payload) if payload else (kind, data)


def _messages(session_id: str, records: Iterator[JsonlRecord]) -> Iterator[Message]:
    drafts = MessageDrafts(session_id)
    model = ""
    current: MessageDraft | None = None
    answered = False  # a result has come for the current response: the next item is the next response's

    def response(id: str, when: int) -> MessageDraft:
        """Return the draft of the response that is under way; a new one where the last has its results."""
        nonlocal current, answered
        if current is None or answered:
            current = drafts.begin(MessageDraft(id, "assistant", when, id))
            current.model, current.provider, answered = model, "openai", False
        current.completed = when
        return current

    for offset, data in records:
        kind, payload = _record_body(data)
        id, when = f"{session_id}:{offset}", parse_timestamp(data.get("timestamp"))
        if kind == "turn_context":
            model = string_field(payload, "model") or model
        elif kind == "message" and string_field(payload, "role") != "assistant":
            current = None
            draft = drafts.begin(MessageDraft(id, "user", when))
            _user(draft, payload)
        elif kind == "compacted":
            current = None
            drafts.compaction(id, when, string_field(payload, "message"), auto=True)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            text = _output(payload.get("output"))
            drafts.result(string_field(payload, "call_id"), text, failed=_failed(text), ended=when)
            answered = True
        elif kind in _CALLS:
            drafts.call(response(id, when), _call(kind, payload, id, when))
        elif kind == "message":
            response(id, when).parts.append(TextPart(id, content_text(payload.get("content"))))
        elif kind == "reasoning":
            text = content_text(payload.get("summary")) or content_text(payload.get("content"))
            response(id, when).parts.append(ReasoningPart(id, text))
        # Token counts come in a screen event behind the response that they are of.
        elif kind == "event:token_count" and current is not None:
            usage = object_field(object_field(payload, "info"), "last_token_usage")
            current.usage = _usage(usage) if usage else current.usage
        elif kind == "event:turn_aborted" and current is not None:
            current.error, current.aborted, current = "aborted", True, None
        yield from drafts.ready()
    yield from drafts.rest()


def _user(draft: MessageDraft, payload: Json) -> None:
    content = payload.get("content")
    developer = string_field(payload, "role") != "user"
    for n, block in enumerate(content if isinstance(content, list) else [{"text": content}]):
        if not isinstance(block, dict):
            continue
        text = string_field(block, "text")
        if text:
            draft.parts.append(TextPart(f"{draft.id}-{n}", text, developer or text.startswith(_OURS)))
        elif string_field(block, "type") == "input_image":
            draft.parts.append(FilePart(f"{draft.id}-{n}", "", "image"))
        else:
            draft.parts.append(OtherPart(f"{draft.id}-{n}", string_field(block, "type")))


_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "web_search_call": "action",
}
"""Kinds of calls, by where their input is."""


def _call(kind: str, payload: Json, id: str, when: int) -> ToolPart:
    name = string_field(payload, "name") or kind.removesuffix("_call")
    arguments = payload.get(_CALLS[kind])
    if isinstance(arguments, str):
        arguments = _object(arguments)
    # A web search runs at the provider: no result record ever comes.
    status = "completed" if kind == "web_search_call" else "running"
    call = string_field(payload, "call_id") or string_field(payload, "id") or id
    return ToolPart(
        id, name, call, status, bounded_value(arguments) if isinstance(arguments, dict) else {}, start=when
    )


def _object(text: str) -> Json:
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {"input": bounded_text(text)}
    return data if isinstance(data, dict) else {"input": bounded_text(text)}


def _output(output: object) -> str:
    """A result's text: plain, or within an object (also one that is written as text)."""
    if isinstance(output, str) and output.startswith('{"output"'):
        inside = _object(output).get("output")
        return bounded_text(inside) + _exit(_object(output)) if isinstance(inside, str) else bounded_text(output)
    if isinstance(output, dict):
        return (
            string_field(output, "content")
            or content_text(output.get("content_items"))
            or string_field(output, "output")
        )
    return content_text(output)


def _exit(data: Json) -> str:
    code = object_field(data, "metadata").get("exit_code")
    return f"\n[exit code {code}]" if isinstance(code, int) and code else ""


def _failed(text: str) -> bool:
    """Codex tells an exit code within the text, near its begin or at its end."""
    return bool(_FAILED.search(text[:400]) or _FAILED.search(text[-40:]))


def _usage(usage: Json) -> ReportedUsage:
    # Codex counts cached tokens within the input; `ReportedUsage.input` leaves them out.
    cached = number_field(usage, "cached_input_tokens")
    return ReportedUsage(
        total=number_field(usage, "total_tokens") or None,
        input=max(number_field(usage, "input_tokens") - cached, 0),
        output=number_field(usage, "output_tokens"),
        reasoning=number_field(usage, "reasoning_output_tokens"),
        cache_read=cached,
    )


def _todos(records: Iterator[JsonlRecord]) -> tuple[Todo, ...]:
    """The plan of the last call of the tool that updates it."""
    last: Json = {}
    for _, data in records:
        kind, payload = _record_body(data)
        if kind == "function_call" and string_field(payload, "name") == "update_plan":
            last = _object(string_field(payload, "arguments"))
    plan = last.get("plan")
    steps = [step for step in plan if isinstance(step, dict)] if isinstance(plan, list) else []
    return parse_todos(
        [{"content": string_field(step, "step"), "status": string_field(step, "status")} for step in steps]
    )
