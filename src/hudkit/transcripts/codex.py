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

from hudkit.transcripts.draft import Draft, Drafts, said, stamp
from hudkit.transcripts.fields import Json, bounded, clip, inner, number, string
from hudkit.transcripts.jsonl import Dialect, JsonlTranscript, Record, walked
from hudkit.transcripts.opencode_rows import todos_of
from hudkit.transcripts.transcript import (
    FilePart,
    Message,
    OtherPart,
    ReasoningPart,
    Reported,
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
    """The transcripts below Codex's `sessions` folder, or of one file. Raises `TranscriptError`."""
    return JsonlTranscript.open(root, Dialect(HOST, _files, _row, _messages, _todos))


def _files(root: Path) -> Iterable[Path]:
    return walked(root, 4, lambda name: name.startswith("rollout-") and name.endswith(".jsonl"))


def _row(path: Path, records: list[Record]) -> SessionRow | None:
    id = parent = directory = title = model = ""
    created = 0
    for _, data in records:
        kind, payload = _opened(data)
        if kind == "session_meta" and not id:
            id, directory = string(payload, "id"), string(payload, "cwd")
            created = stamp(payload.get("timestamp")) or stamp(data.get("timestamp"))
            spawned = inner(inner(inner(payload, "source"), "subagent"), "thread_spawn")
            parent = string(spawned, "parent_thread_id") or string(payload, "parent_thread_id")
        elif kind == "turn_context":
            model, directory = string(payload, "model") or model, directory or string(payload, "cwd")
        elif kind == "message" and string(payload, "role") == "user" and not title:
            text = said(payload.get("content")).strip()
            title = "" if text.startswith(_OURS) else text[:200].split("\n")[0]
    named = _NAME.fullmatch(path.stem)
    id = id or (named[1] if named else "")
    if not id:
        return None
    return SessionRow(id, HOST, parent, directory, title, "", model, directory, created)


def _opened(data: Json) -> tuple[str, Json]:
    """A record's kind and body: of a response item, the item's own; of the bare form, the record itself."""
    kind, payload = string(data, "type"), inner(data, "payload")
    if kind in ("response_item", "event_msg"):
        return ("event:" if kind == "event_msg" else "") + string(payload, "type"), payload
    if not payload and "id" in data and "timestamp" in data and not kind:
        return "session_meta", data
    return (kind, payload) if payload else (kind, data)


def _messages(session_id: str, records: Iterator[Record]) -> Iterator[Message]:
    drafts = Drafts(session_id)
    model = ""
    current: Draft | None = None
    answered = False  # a result has come for the current response: the next item is the next response's

    def response(id: str, when: int) -> Draft:
        nonlocal current, answered
        if current is None or answered:
            current = drafts.begin(Draft(id, "assistant", when, id))
            current.model, current.provider, answered = model, "openai", False
        current.completed = when
        return current

    for at, data in records:
        kind, payload = _opened(data)
        id, when = f"{session_id}:{at}", stamp(data.get("timestamp"))
        if kind == "turn_context":
            model = string(payload, "model") or model
        elif kind == "message" and string(payload, "role") != "assistant":
            current = None
            draft = drafts.begin(Draft(id, "user", when))
            _user(draft, payload)
        elif kind == "compacted":
            current = None
            drafts.compaction(id, when, string(payload, "message"), auto=True)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            text = _output(payload.get("output"))
            drafts.result(string(payload, "call_id"), text, failed=_failed(text), at=when)
            answered = True
        elif kind in _CALLS:
            drafts.call(response(id, when), _call(kind, payload, id, when))
        elif kind == "message":
            response(id, when).parts.append(TextPart(id, said(payload.get("content"))))
        elif kind == "reasoning":
            text = said(payload.get("summary")) or said(payload.get("content"))
            response(id, when).parts.append(ReasoningPart(id, text))
        elif kind == "event:token_count" and current is not None:
            usage = inner(inner(payload, "info"), "last_token_usage")
            current.usage = _usage(usage) if usage else current.usage
        elif kind == "event:turn_aborted" and current is not None:
            current.error, current.aborted, current = "aborted", True, None
        yield from drafts.ready()
    yield from drafts.rest()


def _user(draft: Draft, payload: Json) -> None:
    content = payload.get("content")
    developer = string(payload, "role") != "user"
    for n, block in enumerate(content if isinstance(content, list) else [{"text": content}]):
        if not isinstance(block, dict):
            continue
        text = string(block, "text")
        if text:
            draft.parts.append(TextPart(f"{draft.id}-{n}", text, developer or text.startswith(_OURS)))
        elif string(block, "type") == "input_image":
            draft.parts.append(FilePart(f"{draft.id}-{n}", "", "image"))
        else:
            draft.parts.append(OtherPart(f"{draft.id}-{n}", string(block, "type")))


_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "web_search_call": "action",
}
"""Kinds of calls, by where their input is."""


def _call(kind: str, payload: Json, id: str, when: int) -> ToolPart:
    name = string(payload, "name") or kind.removesuffix("_call")
    given = payload.get(_CALLS[kind])
    if isinstance(given, str):
        given = _object(given)
    status = "completed" if kind == "web_search_call" else "running"
    call = string(payload, "call_id") or string(payload, "id") or id
    return ToolPart(id, name, call, status, clip(given) if isinstance(given, dict) else {}, start=when)


def _object(text: str) -> Json:
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {"input": bounded(text)}
    return data if isinstance(data, dict) else {"input": bounded(text)}


def _output(output: object) -> str:
    """A result's text: plain, or within an object (also one that is written as text)."""
    if isinstance(output, str) and output.startswith('{"output"'):
        inside = _object(output).get("output")
        return bounded(inside) + _exit(_object(output)) if isinstance(inside, str) else bounded(output)
    if isinstance(output, dict):
        return string(output, "content") or said(output.get("content_items")) or string(output, "output")
    return said(output)


def _exit(data: Json) -> str:
    code = inner(data, "metadata").get("exit_code")
    return f"\n[exit code {code}]" if isinstance(code, int) and code else ""


def _failed(text: str) -> bool:
    """Codex tells an exit code within the text, near its begin or at its end."""
    return bool(_FAILED.search(text[:400]) or _FAILED.search(text[-40:]))


def _usage(usage: Json) -> Reported:
    cached = number(usage, "cached_input_tokens")
    return Reported(
        total=number(usage, "total_tokens") or None,
        input=max(number(usage, "input_tokens") - cached, 0),
        output=number(usage, "output_tokens"),
        reasoning=number(usage, "reasoning_output_tokens"),
        cache_read=cached,
    )


def _todos(records: Iterator[Record]) -> tuple[Todo, ...]:
    """The plan of the last call of the tool that updates it."""
    last: Json = {}
    for _, data in records:
        kind, payload = _opened(data)
        if kind == "function_call" and string(payload, "name") == "update_plan":
            last = _object(string(payload, "arguments"))
    plan = last.get("plan")
    steps = [step for step in plan if isinstance(step, dict)] if isinstance(plan, list) else []
    return todos_of([{"content": string(step, "step"), "status": string(step, "status")} for step in steps])
