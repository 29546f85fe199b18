"""What a stored session is made of: the session, its messages, their parts, todos and changed files.

Field names and tags are those of the files on disk. Times are Unix milliseconds. A message's parts are ordered by
when they were first stored. A tool call goes from `pending` over `running` to `completed` or `error`, never back;
what is finished changes only by being compacted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from hudkit.log.codec import escape_surrogates
from hudkit.transcripts.transcript import ReportedUsage, Todo

INTERRUPTED = "interrupted"
"""The error of a response, and the mark of a call, that ended with its process."""

CallStatus: TypeAlias = Literal["pending", "running", "completed", "error"]

NEXT_STATUSES: dict[str, frozenset[str]] = {
    "": frozenset({"pending", "running", "error"}),
    "pending": frozenset({"pending", "running", "error"}),
    "running": frozenset({"running", "completed", "error"}),
    # a finished call may be stored again, to mark its output as compacted
    "completed": frozenset({"completed"}),
    "error": frozenset({"error"}),
}
"""The states that may follow a state of a call; the empty one is a call that is not stored yet.

None is completed that was not stored as running: a call that may have had effects is in the records before it has."""


class StoredProject(msgspec.Struct, frozen=True):
    """A project: its key (git root or real path, by device and inode), its root, and when it was first seen."""

    id: str
    root: str
    created: int = 0


class StoredSession(msgspec.Struct, frozen=True):
    """One conversation. `parent_id` is the session that started it as a sub-task.

    `usage` and `cost` (US dollars) are the sums over its responses; the window in use is the last response's usage.
    `asked_by` is the parent's response (its id) whose call started it. From the message `undone_from` on (its id),
    messages are taken back: nobody sees them, and the next new message removes them.
    """

    id: str
    project_id: str = ""
    parent_id: str = ""
    directory: str = ""
    title: str = ""
    agent: str = ""
    model: str = ""
    created: int = 0
    updated: int = 0
    usage: ReportedUsage = ReportedUsage()
    cost: float = 0.0
    asked_by: str = ""
    undone_from: str = ""


class StoredText(msgspec.Struct, frozen=True, tag="text", omit_defaults=True):
    """Words of the user or the model. A synthetic one was written by the host; an ignored one is not sent.

    `meta` holds what the model's provider wants back with its words (an id, a signature).
    """

    id: str
    text: str
    synthetic: bool = False
    ignored: bool = False
    meta: dict[str, Any] = {}


class StoredReasoning(msgspec.Struct, frozen=True, tag="reasoning", omit_defaults=True):
    """Thoughts of the model; `meta` holds what its provider wants back with them (a signature)."""

    id: str
    text: str
    meta: dict[str, Any] = {}


class Attachment(msgspec.Struct, frozen=True, tag="file", omit_defaults=True):
    """A file that the user attached or a tool gave: by its path inside the project, or with its bytes (`data`)."""

    id: str
    path: str = ""
    media_type: str = ""
    data: bytes = b""


class StoredCall(msgspec.Struct, frozen=True, tag="tool", omit_defaults=True):
    """A tool call with its result. `compacted` is when its output was taken out of the window (0: it is in it).

    `attachments` are pictures and documents that belong to the output. `interrupted`: its process ended while it ran;
    it may have had effects, and it was not run again.
    """

    id: str
    tool: str
    call_id: str
    status: CallStatus = "pending"
    arguments: dict[str, Any] = {}
    output: str = ""
    error: str = ""
    title: str = ""
    metadata: dict[str, Any] = {}
    started: int = 0
    ended: int = 0
    compacted: int = 0
    interrupted: bool = False
    attachments: tuple[Attachment, ...] = ()

    @property
    def done(self) -> bool:
        """Return whether the call has ended."""
        return self.status in ("completed", "error")


class ChangedFiles(msgspec.Struct, frozen=True, tag="patch", omit_defaults=True):
    """Files that changed on disk during the response, by paths relative to the project."""

    id: str
    files: tuple[str, ...]


class CompactionMarker(msgspec.Struct, frozen=True, tag="compaction", omit_defaults=True):
    """Makes a user message a request to compact; messages from `tail_from` (an id) on are kept as they are."""

    id: str
    auto: bool = False
    overflow: bool = False
    tail_from: str = ""


class TrimMarker(msgspec.Struct, frozen=True, tag="trim", omit_defaults=True):
    """Says, in a user message, that older messages left the window; `text` is what the model is told of it.

    The messages from `tail_from` (an id) on stay; none of those before the marker, where it is empty.
    """

    id: str
    text: str
    tail_from: str = ""


StoredPart: TypeAlias = (
    StoredText | StoredReasoning | StoredCall | Attachment | ChangedFiles | CompactionMarker | TrimMarker
)


class StoredMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message. An assistant's is one response with the results of its calls; `parent_id` is what it answers.

    It is open until it has a `finish` or an `error`. `summary`: the answer to a compaction. `repeats` is the prompt
    (its id) that it says once more, after a compaction. `asked_by` is the parent's response (its id) whose call gave
    this prompt to a sub-session.
    """

    id: str
    session_id: str
    role: Literal["user", "assistant"]
    created: int = 0
    completed: int = 0
    parent_id: str = ""
    agent: str = ""
    model: str = ""
    finish: str = ""
    error: str = ""
    aborted: bool = False
    summary: bool = False
    usage: ReportedUsage | None = None
    cost: float = 0.0
    repeats: str = ""
    asked_by: str = ""
    parts: tuple[StoredPart, ...] = ()

    @property
    def open(self) -> bool:
        """Return whether this is a response that has not ended."""
        return self.role == "assistant" and not self.finish and not self.error


class FileDiff(msgspec.Struct, frozen=True):
    """What one response changed in one file, as a unified diff; a long one is cut, its counts are not."""

    message_id: str
    path: str
    diff: str = ""
    added: int = 0
    removed: int = 0
    created: int = 0


class RecoveryReport(msgspec.Struct, frozen=True):
    """What resuming a session closed: the calls and the responses that had been cut off, by id.

    `sub_sessions` are those of sub-agents that were cut off, too.
    """

    calls: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    sub_sessions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.calls or self.messages or self.sub_sessions)


def resume_hint(call: StoredCall) -> str:
    """Return how a sub-agent whose call was cut off goes on, as the end of a text; empty for other calls."""
    session = call.metadata.get("session", "")
    return f" Call task with task_id {session} to let the sub-agent go on." if call.tool == "task" and session else ""


def find_faults(messages: tuple[StoredMessage, ...]) -> tuple[str, ...]:
    """Return what keeps messages from being sent to a model as they are; nothing for a valid transcript.

    Looked for: calls without a result, responses that never ended, an answer to nothing, an id that is there twice.
    """
    faults: list[str] = []
    seen: set[str] = set()
    calls: set[str] = set()
    for message in messages:
        if message.id in seen:
            faults.append(f"message {message.id} is there twice")
        # an answer must stand behind its question: providers take no other order
        if message.role == "assistant" and message.parent_id not in seen:
            faults.append(f"message {message.id} answers {message.parent_id!r}, which is not before it")
        if message.open:
            faults.append(f"message {message.id} has not ended")
        seen.add(message.id)
        for part in message.parts:
            if isinstance(part, StoredCall):
                if not part.done:
                    faults.append(f"call {part.call_id} of message {message.id} has no result")
                # providers match results by this id
                if part.call_id in calls:
                    faults.append(f"call {part.call_id} is there twice")
                calls.add(part.call_id)
    return tuple(faults)


__all__ = [
    "INTERRUPTED",
    "NEXT_STATUSES",
    "Attachment",
    "CallStatus",
    "ChangedFiles",
    "CompactionMarker",
    "FileDiff",
    "RecoveryReport",
    "ReportedUsage",
    "StoredCall",
    "StoredMessage",
    "StoredPart",
    "StoredProject",
    "StoredReasoning",
    "StoredSession",
    "StoredText",
    "Todo",
    "TrimMarker",
    "find_faults",
]


_MAX_INT = 2**63 - 1


def encode_record(record: msgspec.Struct | Mapping[str, Any]) -> bytes:
    """Return the JSON of a record of ours, or of plain data.

    What JSON or UTF-8 cannot carry (a lone surrogate, a huge number) becomes visible text.
    """
    try:
        return msgspec.json.encode(record)
    except (UnicodeEncodeError, OverflowError, TypeError, RecursionError):
        return msgspec.json.encode(_json_safe(msgspec.to_builtins(record, builtin_types=(bytes,))))


def _json_safe(value: Any, depth: int = 0) -> Any:
    # a structure that contains itself, or was made to exhaust the stack
    if depth > 100:
        return "(nested too deep)"
    if isinstance(value, str):
        return escape_surrogates(value)
    # a bool is an int to Python: asked first
    if isinstance(value, bool) or value is None or isinstance(value, float | bytes):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _MAX_INT else str(value)[:1000]
    if isinstance(value, dict):
        return {escape_surrogates(str(key)): _json_safe(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_safe(item, depth + 1) for item in value]
    return escape_surrogates(str(value))
