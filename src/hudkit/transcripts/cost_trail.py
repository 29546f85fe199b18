"""The calls of a growing transcript with the texts that hooks put in front of each: what a session's receipt is of.

A hook's text stays in the window until a compaction. So of each call it is enough to know which texts are new in it:

    block "base"   call 1 (new: base)   call 2 (nothing new)   block "delta"   call 3 (new: delta)   compaction
"""

from __future__ import annotations

from typing import NamedTuple

from hudkit.transcripts import claude_code, codex, pi
from hudkit.transcripts.claude_window import hook_texts
from hudkit.transcripts.codex import record_body
from hudkit.transcripts.codex_window import hook_text
from hudkit.transcripts.json_fields import Json, number_field, object_field, string_field
from hudkit.transcripts.jsonl_transcript import JsonlRecord, parse_timestamp
from hudkit.transcripts.transcript import ReportedUsage

MAX_TRAIL = 100_000
"""Calls of a session that are remembered, the newest."""


class TrailCall(NamedTuple):
    """A call with its usage and the texts of hooks that are new in it; `compacted`: all earlier ones are gone."""

    time: int
    model: str
    usage: ReportedUsage
    blocks: tuple[str, ...] = ()
    compacted: bool = False


class CostTrail:
    """Follows the records of a session of Claude Code, Codex or pi."""

    def __init__(self, host: str) -> None:
        self.calls: list[TrailCall] = []
        self._read = {codex.HOST: self._codex, pi.HOST: self._pi}.get(host, self._claude)
        self._blocks: list[str] = []
        self._compacted = False
        self._response = self._model = ""
        self._has_records = False

    def take(self, record: JsonlRecord) -> None:
        """Read the next record."""
        self._read(record.data)

    def _claude(self, data: Json) -> None:
        kind = string_field(data, "type")
        if kind == "attachment":
            self._blocks += hook_texts(object_field(data, "attachment"))
        elif kind == "system" and string_field(data, "subtype") == "compact_boundary":
            self._compact(())
        elif kind == "assistant" and data.get("isApiErrorMessage") is not True:
            message = object_field(data, "message")
            id, usage = string_field(message, "id"), message.get("usage")
            # One record a content block, with the usage of the whole response on each.
            if isinstance(usage, dict) and (not id or id != self._response):
                self._response = id
                self._call(data, string_field(message, "model"), claude_code.reported_usage(usage))

    def _codex(self, data: Json) -> None:
        kind, payload = record_body(data)
        if kind == "turn_context":
            self._model = string_field(payload, "model") or self._model
        elif kind == "message" and string_field(payload, "role") == "developer":
            text = hook_text(payload)
            self._blocks += [text] if text else []
        elif kind == "compacted":
            history = payload.get("replacement_history")
            items = [item for item in history if isinstance(item, dict)] if isinstance(history, list) else []
            own = [hook_text(item) for item in items if string_field(item, "role") == "developer"]
            self._compact(tuple(filter(None, own)))
        elif kind == "token_usage_record":
            self._has_records = True
            self._codex_usage(data, object_field(payload, "usage"))
        elif kind == "event:token_count" and not self._has_records:
            self._codex_usage(data, object_field(object_field(payload, "info"), "last_token_usage"))

    def _pi(self, data: Json) -> None:
        role, message = pi.message_of(data)
        if role == "assistant":
            self._call(data, string_field(message, "model"), pi.reported_usage(object_field(message, "usage")))
        elif string_field(data, "type") == "compaction":
            self._compact(())

    def _codex_usage(self, data: Json, usage: Json) -> None:
        # Behind a compaction comes a count without a response, of zeros and an estimate.
        if number_field(usage, "input_tokens"):
            self._call(data, self._model, codex.reported_usage(usage))

    def _compact(self, remaining: tuple[str, ...]) -> None:
        self._blocks = list(remaining)
        self._compacted = True

    def _call(self, data: Json, model: str, usage: ReportedUsage) -> None:
        if not usage.prompt:
            return
        time = parse_timestamp(data.get("timestamp"))
        self.calls.append(TrailCall(time, model, usage, tuple(self._blocks), self._compacted))
        self._blocks, self._compacted = [], False
        if len(self.calls) > MAX_TRAIL:
            del self.calls[0]
