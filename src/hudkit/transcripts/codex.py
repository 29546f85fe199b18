"""Codex's transcripts: one `rollout-*.jsonl` a session, as seen in versions 0.20 to 0.169 (and the bare form before).

Records are `{timestamp, type, payload}`. What the model got and gave is `response_item`; `event_msg` says the same
again for the screen, and only its token counts and ends are read. A `compacted` record holds a compaction's summary.
Messages have no ids of their own: theirs is the session and the place in the file where they begin.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hudkit.transcripts.json_fields import Json, bounded_text, bounded_value, number_field, object_field, string_field
from hudkit.transcripts.jsonl_transcript import (
    MAX_LINE_BYTES,
    JsonlDialect,
    JsonlRecord,
    JsonlTranscript,
    MessageDraft,
    MessageDrafts,
    content_text,
    find_files,
    open_regular,
    parse_timestamp,
)
from hudkit.transcripts.opencode_json import parse_todos
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

HOST = "codex"

_OURS = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
)
_REFUSED = ("unsupported call: ", "unsupported custom tool call: ")
_NAME = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+)")
_FAILED = re.compile(r"(?:exit(?:ed with)? code:? |\"exit_code\": ?)(?!0\b)-?\d+", re.IGNORECASE)


def open_codex(root: str | Path) -> JsonlTranscript:
    """Return the transcripts below Codex's `sessions` folder, or of one file. Raises `TranscriptError`."""
    return JsonlTranscript.open(root, DIALECT)


def _files(root: Path) -> Iterable[Path]:
    return find_files(root, 4, lambda name: name.startswith("rollout-") and name.endswith(".jsonl"))


def _row(path: Path, records: list[JsonlRecord]) -> SessionRow | None:
    id = parent = directory = title = model = ""
    created = 0
    for _, data in records:
        kind, payload = record_body(data)
        if kind == "session_meta" and not id:
            id, directory = string_field(payload, "id"), string_field(payload, "cwd")
            created = parse_timestamp(payload.get("timestamp")) or parse_timestamp(data.get("timestamp"))
            spawned = object_field(object_field(object_field(payload, "source"), "subagent"), "thread_spawn")
            parent = string_field(spawned, "parent_thread_id") or string_field(payload, "parent_thread_id")
        # The model can change within a session: the last one counts for its row.
        elif kind == "turn_context":
            model, directory = string_field(payload, "model") or model, directory or string_field(payload, "cwd")
        elif kind == "message" and string_field(payload, "role") == "user" and not title:
            title = user_words(payload)[:200].split("\n")[0]
    named = _NAME.fullmatch(path.stem)
    id = id or (named[1] if named else "")
    if not id:
        return None
    return SessionRow(id, HOST, parent, directory, title, "", model, directory, created)


def record_body(data: Json) -> tuple[str, Json]:
    """Return a record's kind and body: of a response item, the item's own; of the bare form, the record itself."""
    kind, payload = string_field(data, "type"), object_field(data, "payload")
    if kind in ("response_item", "event_msg"):
        return ("event:" if kind == "event_msg" else "") + string_field(payload, "type"), payload
    # Files from before version 0.20 have the item itself on the line, without an envelope.
    if not payload and "id" in data and "timestamp" in data and not kind:
        return "session_meta", data
    return (kind, payload) if payload else (kind, data)


class CodexMessages:
    """Makes messages of Codex's records."""

    def __init__(self, session_id: str) -> None:
        self.drafts = MessageDrafts(session_id)
        self._model = ""
        self._current: MessageDraft | None = None
        self._newest: MessageDraft | None = None
        self._ended = False
        self._exit_codes: dict[str, int] = {}

    def take(self, record: JsonlRecord) -> str:
        """Read the next record; return the id of its message, nothing where it has none of its own."""
        kind, payload = record_body(record.data)
        id, when = f"{self.drafts.session_id}:{record.offset}", parse_timestamp(record.data.get("timestamp"))
        if kind == "turn_context":
            self._model = string_field(payload, "model") or self._model
        elif kind == "message" and string_field(payload, "role") != "assistant":
            return self._said(id, when, payload)
        elif kind == "compacted":
            self._compaction(id, when, string_field(payload, "message"))
            return id
        elif kind in ("function_call_output", "custom_tool_call_output"):
            call, text = string_field(payload, "call_id"), _output(payload.get("output"))
            failed = _failed(text) or bool(self._exit_codes.pop(call, 0))
            self.drafts.result(call, text, failed=failed, ended=when)
            self._ended = True
        elif kind in _CALLS:
            draft = self._response(id, when)
            self.drafts.call(draft, _call(kind, payload, id, when))
            return draft.id
        elif kind == "message":
            draft = self._response(id, when)
            draft.parts.append(TextPart(id, content_text(payload.get("content"))))
            return draft.id
        elif kind == "reasoning":
            draft = self._response(id, when)
            text = content_text(payload.get("summary")) or content_text(payload.get("content"))
            draft.parts.append(ReasoningPart(id, text))
            return draft.id
        else:
            self._screen(kind, payload)
        return ""

    def _said(self, id: str, when: int, payload: Json) -> str:
        # What a hook adds to a tool's result stands before the result: the response goes on behind it.
        if string_field(payload, "role") == "user":
            self._current = None
        draft = self.drafts.begin(MessageDraft(id, "user", when))
        _user(draft, payload)
        return id

    def _response(self, id: str, when: int) -> MessageDraft:
        """The draft of the response that is under way; a new one where the last has ended."""
        if self._current is None or self._ended:
            self._current = self._newest = self.drafts.begin(MessageDraft(id, "assistant", when, id))
            self._current.model, self._current.provider, self._ended = self._model, "openai", False
        self._current.completed = when
        return self.drafts.change(self._current)

    def _compaction(self, id: str, when: int, summary: str) -> None:
        usage = None
        newest = self._newest
        # The call that writes the summary is recorded as a response of its own, just before.
        if newest is not None and not newest.summary and _only_text(newest) and summary.endswith(_only_text(newest)):
            usage = newest.usage
            self.drafts.drop(newest)
        self._current = self._newest = None
        self.drafts.compaction(id, when, summary, auto=True, usage=usage)

    def _screen(self, kind: str, payload: Json) -> None:
        """What the records beside the conversation tell: usage, exit codes, and that the user stopped a turn."""
        if kind == "token_usage_record":
            self._used(object_field(payload, "usage"))
            self._ended = True
        elif kind == "event:token_count":
            self._used(object_field(object_field(payload, "info"), "last_token_usage"))
        elif kind == "event:item_completed":
            item = object_field(payload, "item")
            code, call = item.get("exit_code"), string_field(item, "id")
            if call.startswith(_WITHIN_SCRIPT):
                self._ran_in_script(call, item)
            elif isinstance(code, int) and code:
                self._exit_codes[call] = code
        elif kind == "event:turn_aborted" and self._current is not None:
            self._current.error, self._current.aborted = "aborted", True
            self.drafts.change(self._current)
            self._current = None

    def _ran_in_script(self, call: str, item: Json) -> None:
        """A command or a change of files that a script of the model's made: the script's output need not tell."""
        make = _WORK.get(string_field(item, "type"))
        if make is not None and self._current is not None:
            self._current.parts.append(make(call, item))
            self.drafts.change(self._current)

    def _used(self, usage: Json) -> None:
        # Behind a compaction comes a count without a response, of zeros and an estimate.
        if self._newest is not None and number_field(usage, "input_tokens"):
            self._newest.usage = reported_usage(usage)
            self.drafts.change(self._newest)


def user_words(payload: Json) -> str:
    """Return the text of a message of the user; nothing where Codex wrote it in the user's name."""
    text = content_text(payload.get("content")).strip()
    return "" if text.startswith(_OURS) else text


def _only_text(draft: MessageDraft) -> str:
    """The text of a response that is nothing else."""
    texts = [part.text for part in draft.parts if isinstance(part, TextPart)]
    others = any(not isinstance(part, TextPart | ReasoningPart) for part in draft.parts)
    return "" if others else "\n".join(texts).strip()


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


_WITHIN_SCRIPT = "exec-"
"""How the ids of calls begin that a script of the model's makes; no item of the conversation has them."""

_CHANGES = {"add": "Add", "update": "Update", "delete": "Delete"}


def _command(call: str, item: Json) -> ToolPart:
    code = number_field(item, "exit_code")
    output = bounded_text(string_field(item, "aggregated_output"))
    text = f"Process exited with code {code}\nOutput:\n{output}"
    command = bounded_value({"command": item.get("command")})
    return _work(call, "exec_command", command, text, failed=bool(code))


def _file_change(call: str, item: Json) -> ToolPart:
    changes = object_field(item, "changes")
    lines = [
        f"*** {_CHANGES[kind]} File: {path}"
        for path, change in changes.items()
        if (kind := string_field(change if isinstance(change, dict) else {}, "type")) in _CHANGES
    ]
    failed = string_field(item, "status") != "completed"
    text = bounded_text(string_field(item, "stderr" if failed else "stdout"))
    patch = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
    return _work(call, "apply_patch", {"input": patch}, text, failed=failed)


def _work(call: str, tool: str, arguments: dict[str, Any], text: str, *, failed: bool) -> ToolPart:
    if failed:
        return ToolPart(call, tool, call, "error", arguments, error=text)
    return ToolPart(call, tool, call, "completed", arguments, output=text)


_WORK: Mapping[str, Callable[[str, Json], ToolPart]] = {"CommandExecution": _command, "FileChange": _file_change}
"""What is read of the work of a script, by kind."""


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
    """Codex tells an exit code within the text: in the lines above the output, or near its begin or at its end."""
    if text.startswith(_REFUSED):
        return True
    head, output, _ = text[:400].partition("\nOutput:\n")
    if output:
        return bool(_FAILED.search(head))
    return bool(_FAILED.search(text[:400]) or _FAILED.search(text[-40:]))


def reported_usage(usage: Json) -> ReportedUsage:
    """Return the tokens that a response's record reports."""
    # Codex counts cached tokens within the input; `ReportedUsage.input` leaves them out.
    cached = number_field(usage, "cached_input_tokens")
    return ReportedUsage(
        total=number_field(usage, "total_tokens") or None,
        input=max(number_field(usage, "input_tokens") - cached - number_field(usage, "cache_write_input_tokens"), 0),
        output=number_field(usage, "output_tokens"),
        reasoning=number_field(usage, "reasoning_output_tokens"),
        cache_read=cached,
        cache_write=number_field(usage, "cache_write_input_tokens"),
    )


class CodexTodos:
    """The todo list: the plan of the last call of the tool that updates it."""

    def __init__(self) -> None:
        self.todos: tuple[Todo, ...] | None = None

    def take(self, record: JsonlRecord) -> None:
        """Read the next record."""
        kind, payload = record_body(record.data)
        if kind != "function_call" or string_field(payload, "name") != "update_plan":
            return
        plan = _object(string_field(payload, "arguments")).get("plan")
        steps = [step for step in plan if isinstance(step, dict)] if isinstance(plan, list) else []
        self.todos = parse_todos(
            [{"content": string_field(step, "step"), "status": string_field(step, "status")} for step in steps]
        )


def _earlier(path: Path, first: JsonlRecord) -> tuple[Path, int] | None:
    """Return the file that a session went on from when its user went back to an earlier prompt: Codex then begins a
    new file, whose first record says up to where the one before is meant."""
    kind, payload = record_body(first.data)
    base = object_field(payload, "history_base")
    id, end = string_field(base, "thread_id"), number_field(base, "end_byte_offset")
    if kind != "session_meta" or not end or id != string_field(payload, "id"):
        return None
    root = path.parents[3] if len(path.parents) > 3 else path.parent  # sessions/YYYY/MM/DD
    files = sorted(root.rglob(f"rollout-*-{id}*.jsonl"), key=lambda file: file.name)
    before = [file for file in files if file.name < path.name]
    return next(((file, end) for file in reversed(before) if _has_end(file, end, base)), None)


def _has_end(file: Path, end: int, base: Json) -> bool:
    """Whether the record that ends at a byte of a file is the last one that is meant."""
    try:
        with open_regular(file) as opened:
            opened.seek(max(0, end - MAX_LINE_BYTES))
            line = opened.read(min(end, MAX_LINE_BYTES)).removesuffix(b"\n").rpartition(b"\n")[2]
            record = msgspec.json.decode(line)
    except (OSError, msgspec.DecodeError):
        return False
    last = number_field(base, "end_ordinal_exclusive") - 1
    return isinstance(record, dict) and number_field(record, "ordinal") == last


DIALECT = JsonlDialect(HOST, _files, _row, CodexMessages, CodexTodos, _earlier)
"""How Codex writes."""
