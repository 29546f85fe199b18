"""A recorded session in segments, from one compaction to the next: what was said, and what stayed in the window.

A segment ends with a compaction, the last one with the file. What a rewind left behind is in none: it was not in the
window when the compaction came. Only one segment is held at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from hudkit.transcripts.codex import record_body
from hudkit.transcripts.json_fields import Json, number_field, object_field, string_field
from hudkit.transcripts.jsonl_transcript import JsonlRecord, open_regular, parse_timestamp, read_records
from hudkit.transcripts.pi import message_of
from hudkit.transcripts.transcript import CompactionPart, Message, SessionRow, TextPart
from hudkit.transcripts.transcript_follower import dialect_of

_MAX_ATTACHED = 200
"""Records that the host puts behind a compaction and that are looked through."""


class HistorySegment(msgspec.Struct, frozen=True, kw_only=True):
    """The messages up to a compaction, without those that a rewind left behind, and what the compaction left.

    `marker` and `summary` are the compaction's own messages, `None` at the end of the file. `remaining` has the ids
    of earlier messages that stay in the window, `texts` the summary and what the host attached to it. Tokens are the
    host's, `None` where it tells none; `has_call` says whether a model call followed.
    """

    messages: tuple[Message, ...]
    marker: Message | None = None
    summary: Message | None = None
    time: int = 0
    before_tokens: int | None = None
    after_tokens: int | None = None
    remaining: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()
    has_call: bool = False

    @property
    def trigger(self) -> str:
        """Return who asked for the compaction: `auto` or `manual`."""
        part = next(
            (part for part in (self.marker.parts if self.marker else ()) if isinstance(part, CompactionPart)), None
        )
        return "auto" if part is not None and part.auto else "manual"


def read_segments(row: SessionRow, path: Path) -> Iterator[HistorySegment]:
    """Yield the segments of a file of Claude Code, Codex or pi. Raises `OSError` where it cannot be read."""
    splitter = _Splitter(row)
    with open_regular(path) as file:
        for record in read_records(file, None, lambda *_: None):
            yield from splitter.take(record)
    yield from splitter.end()


class _Splitter:
    def __init__(self, row: SessionRow) -> None:
        dialect, window_type = dialect_of(row.host)
        self._reader = dialect.messages(row.id)
        self._window = window_type()
        self._messages: list[Message] = []
        self._open: HistorySegment | None = None
        self._attached: list[str] = []
        self._used: int | None = None
        self._used_before: int | None = None
        self._boundary: Json = {}
        self._session_id = row.id

    def take(self, record: JsonlRecord) -> Iterator[HistorySegment]:
        """Read the next record; yield a segment when it is whole."""
        self._note(record.data)
        drafts = self._reader.drafts
        id = self._reader.take(record)
        self._window.take(record, id)
        newest = drafts.open[-1] if drafts.open else None
        if newest is not None and newest.summary:
            yield from self._ended(has_call=False)
            self._open = self._segment(record)
            return
        self._messages += drafts.ready()
        if self._open is not None and newest is not None and newest.role == "assistant":
            yield from self._ended(has_call=True)

    def end(self) -> Iterator[HistorySegment]:
        """Yield what is left at the end of the file."""
        yield from self._ended(has_call=False)
        self._messages += self._reader.drafts.rest()
        alive = frozenset(self._window.contents().all_anchors)
        yield HistorySegment(messages=tuple(message for message in self._messages if message.id in alive))

    def _ended(self, *, has_call: bool) -> Iterator[HistorySegment]:
        """The segment that waits for what the host puts behind its compaction."""
        if self._open is not None:
            texts = (*self._open.texts, *self._attached)
            after = self._open.after_tokens
            yield msgspec.structs.replace(
                self._open, texts=texts, has_call=has_call, after_tokens=self._used if after is None else after
            )
        self._open, self._attached = None, []

    def _segment(self, record: JsonlRecord) -> HistorySegment:
        contents = self._window.contents()
        whole = [*self._messages, *self._reader.drafts.rest()]
        *messages, marker, summary = whole
        alive = frozenset(contents.all_anchors)
        self._messages = []
        # The newest count may be that of the request for the summary, which leaves out what tools and hooks told.
        before = max(self._used or 0, self._used_before or 0) or None
        boundary, self._boundary, self._used, self._used_before = self._boundary, {}, None, None
        text = "\n".join(part.text for part in summary.parts if isinstance(part, TextPart))
        return HistorySegment(
            messages=tuple(message for message in messages if message.id in alive),
            marker=marker,
            summary=summary,
            time=parse_timestamp(record.data.get("timestamp")),
            before_tokens=number_field(boundary, "preTokens") or before,
            after_tokens=number_field(boundary, "postTokens") or None,
            remaining=frozenset(contents.anchors) - {marker.id, summary.id},
            texts=(text,) if text else (),
        )

    def _note(self, data: Json) -> None:
        """What records beside the messages tell: tokens in use, and what is attached behind a compaction."""
        kind = string_field(data, "type")
        if kind == "system" and string_field(data, "subtype") == "compact_boundary":
            self._boundary = object_field(data, "compactMetadata")
        elif kind == "attachment" and self._open is not None and len(self._attached) < _MAX_ATTACHED:
            self._attached.append(_attached_text(data))
        elif kind == "compaction":
            self._used = number_field(data, "tokensBefore") or self._used
        elif kind == "message" and message_of(data)[0] == "assistant":
            usage = object_field(object_field(data, "message"), "usage")
            self._used = number_field(usage, "totalTokens") or self._used
        elif kind == "event_msg":
            name, payload = record_body(data)
            usage = object_field(object_field(payload, "info"), "last_token_usage")
            if name == "event:token_count" and usage:
                self._used, self._used_before = number_field(usage, "total_tokens") or self._used, self._used


def _attached_text(data: Json) -> str:
    """The text of an attachment as the model gets it, else of its body."""
    rendered = data.get("rendered")
    body = rendered if rendered else data.get("attachment")
    return msgspec.json.encode(body).decode("utf-8", "replace").replace("\\n", "\n")
