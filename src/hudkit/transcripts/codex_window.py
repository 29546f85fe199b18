"""Which of Codex's records are in the model's window: what a compaction has kept, and what came after it.

The records are a list without branches. A compaction writes the list that takes the place of all before it; a
rollback takes the last turns off again.
"""

from __future__ import annotations

from typing import NamedTuple

from hudkit.transcripts.codex import record_body, reported_usage, user_words
from hudkit.transcripts.json_fields import Json, number_field, object_field, string_field
from hudkit.transcripts.jsonl_transcript import JsonlRecord, content_text, summary_id
from hudkit.transcripts.transcript import ReportedUsage
from hudkit.transcripts.window_contents import WindowContents


class _Item(NamedTuple):
    """What is remembered of an item of the conversation; `id` is Codex's own, where it gives one."""

    message: str
    id: str = ""
    prompt: bool = False
    block: str = ""


class CodexWindow:
    """Follows the records of a session, each with the id of the message that it belongs to."""

    def __init__(self) -> None:
        self._all: list[_Item] = []
        self._window: list[_Item] = []
        self._usage: ReportedUsage | None = None
        self._size: int | None = None
        self._model = self._title = ""
        self._response = ""
        self._responses = self._compactions = 0

    def take(self, record: JsonlRecord, message: str) -> None:
        """Read the next record; `message` is the id of its message, nothing where it has none."""
        kind, payload = record_body(record.data)
        if kind == "turn_context":
            self._model = string_field(payload, "model") or self._model
        elif kind == "compacted":
            self._compacted(message, payload)
        elif kind == "event:token_count":
            self._counted(object_field(payload, "info"))
        elif kind == "event:thread_rolled_back":
            self._rolled_back(number_field(payload, "num_turns"))
        elif kind == "token_usage_record":
            self._used(object_field(payload, "usage"))
        elif message:
            self._item(message, kind, payload)

    def contents(self) -> WindowContents:
        """Return what is in the window now."""
        return WindowContents(
            blocks=tuple(item.block for item in self._window if item.block),
            anchors=_messages(self._window),
            all_anchors=_messages(self._all),
            usage=self._usage,
            window=self._size,
            model=self._model,
            responses=self._responses,
            compactions=self._compactions,
            title=self._title,
        )

    def _item(self, message: str, kind: str, payload: Json) -> None:
        role = string_field(payload, "role") if kind == "message" else "assistant"
        prompt = role == "user" and bool(user_words(payload))
        self._title = self._title or (user_words(payload)[:200].split("\n")[0] if prompt else "")
        if role == "assistant" and message != self._response:
            self._response, self._responses = message, self._responses + 1
        item = _Item(message, string_field(payload, "id"), prompt, hook_text(payload) if role == "developer" else "")
        self._all.append(item)
        self._window.append(item)

    def _compacted(self, message: str, payload: Json) -> None:
        # The response that wrote the summary is no message of the conversation: the reader gives it to the summary.
        if self._all and self._all[-1].message == self._response:
            self._all = [item for item in self._all if item.message != self._response]
        summary = [_Item(message), _Item(summary_id(message))]
        history = payload.get("replacement_history")
        items = [item for item in history if isinstance(item, dict)] if isinstance(history, list) else []
        kept_ids = {string_field(item, "id") for item in items} - {""}
        blocks = [hook_text(item) for item in items if string_field(item, "role") == "developer"]
        self._window = [*summary, *(item._replace(block="") for item in self._window if item.id in kept_ids)]
        self._window += [_Item("", block=block) for block in blocks if block]
        self._all += summary
        self._usage, self._compactions = None, self._compactions + 1

    def _counted(self, info: Json) -> None:
        self._size = number_field(info, "model_context_window") or self._size
        self._used(object_field(info, "last_token_usage"))

    def _used(self, usage: Json) -> None:
        # Behind a compaction comes a count without a response, of zeros and an estimate.
        if number_field(usage, "input_tokens") and self._window and self._window[-1].message:
            self._usage = reported_usage(usage)

    def _rolled_back(self, turns: int) -> None:
        for items in (self._all, self._window):
            for _ in range(turns):
                prompts = [n for n, item in enumerate(items) if item.prompt]
                if prompts:
                    del items[prompts[-1] :]
        self._usage = None


def hook_text(payload: Json) -> str:
    """Return the text of a hook; versions before 0.169 do not tell which developer messages are hooks'."""
    about = object_field(payload, "internal_chat_message_metadata_passthrough")
    kinds = about.get("content_item_kinds")
    if isinstance(kinds, list) and not any(isinstance(kind, str) and kind.startswith("hooks.") for kind in kinds):
        return ""
    return content_text(payload.get("content"))


def _messages(items: list[_Item]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.message for item in items if item.message))
