"""A session's transcript file, read as it grows: what is new in it, and what of it stands in the window."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hudkit.errors import TranscriptError
from hudkit.transcripts.claude_code import open_claude
from hudkit.transcripts.codex import open_codex
from hudkit.transcripts.json_fields import Json, object_field, string_field
from hudkit.transcripts.transcript import Message, ReportedUsage, Todo


class FollowedTranscript(msgspec.Struct, frozen=True):
    """A session's transcript at one moment.

    `new` are the messages that are new or have changed since the last read; `usage` is that of the newest response
    in the window, `window` its size in tokens (`None`: not told). `blocks` are the texts of hooks that stand in the
    window. `anchors` are the ids of the messages in the window, in order, `all_anchors` with those from before
    compactions. `responses` and `compactions` count those of the whole file.
    """

    new: tuple[Message, ...] = ()
    usage: ReportedUsage | None = None
    window: int | None = None
    model: str = ""
    title: str = ""
    todos: tuple[Todo, ...] | None = None
    blocks: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    all_anchors: tuple[str, ...] = ()
    responses: int = 0
    compactions: int = 0


class TranscriptFollower:
    """Reads one session's file again and again. A missing file is an empty transcript."""

    def __init__(self, host: str, path: Path) -> None:
        """`host` is `claude-code` or `codex`: whose records the file has."""
        self._host = host
        self._path = path
        self._seen: dict[str, Message] = {}

    def read(self) -> FollowedTranscript:
        """Return the transcript as it is now. Never raises: what cannot be read is passed over."""
        opener = open_claude if self._host == "claude-code" else open_codex
        try:
            transcript = opener(self._path)
            rows = transcript.sessions()
            messages = tuple(transcript.messages(rows[0].id)) if rows else ()
            records = tuple(record.data for record in transcript._records(self._path))
        except TranscriptError:
            return FollowedTranscript()
        new = tuple(message for message in messages if self._seen.get(message.id) != message)
        self._seen.update({message.id: message for message in new})
        starts = [n for n, message in enumerate(messages) if message.summary]
        window = messages[starts[-1] :] if starts else messages
        answers = [message for message in messages if message.role == "assistant" and not message.summary]
        in_window = [message for message in window if message.usage is not None and not message.summary]
        return FollowedTranscript(
            new=new,
            usage=in_window[-1].usage if in_window else None,
            model=answers[-1].model if answers else "",
            title=rows[0].title if rows else "",
            blocks=tuple(_blocks(self._host, records)),
            anchors=tuple(message.id for message in window),
            all_anchors=tuple(message.id for message in messages),
            responses=len(answers),
            compactions=len(starts),
        )


def _strings(value: object) -> list[str]:
    """All texts in a record, however deep."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inside for text in _strings(item)]


def _blocks(host: str, records: tuple[Json, ...]) -> list[str]:
    blocks: list[str] = []
    for data in records:
        payload = object_field(data, "payload")
        if string_field(data, "subtype") == "compact_boundary" or string_field(data, "type") == "compacted":
            blocks.clear()
        elif host == "claude-code" and string_field(data, "type") == "attachment":
            blocks += _strings(data)
        elif string_field(payload, "type") == "message" and string_field(payload, "role") == "developer":
            blocks += _strings(payload)
    return blocks
