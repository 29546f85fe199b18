"""Which of pi's entries are in the model's window: the way from the root to the newest entry, behind the last
compaction.

Each entry names its parent, so what a step back in the tree left behind is on no way to the newest entry. A
compaction is an entry on it that names the first of the entries before it that stay, word for word.
"""

from __future__ import annotations

from typing import NamedTuple

from hudkit.transcripts.json_fields import number_field, object_field, string_field
from hudkit.transcripts.jsonl_transcript import JsonlRecord, summary_id
from hudkit.transcripts.pi import message_of, reported_usage
from hudkit.transcripts.transcript import ReportedUsage
from hudkit.transcripts.window_contents import WindowContents


class _TreeEntry(NamedTuple):
    """What is remembered of an entry; `first_kept` is filled for a compaction only."""

    id: str
    parent: str
    message: str = ""
    first_kept: str = ""
    usage: ReportedUsage | None = None


class PiWindow:
    """Follows the entries of a session, each with the id of the message that it is."""

    def __init__(self) -> None:
        self._entries: dict[str, _TreeEntry] = {}
        self._leaf = ""
        self._model = self._title = self._name = ""
        self._responses = 0

    def take(self, record: JsonlRecord, message: str) -> None:
        """Read the next entry; `message` is the id of its message, nothing where it has none."""
        data = record.data
        id, kind = string_field(data, "id"), string_field(data, "type")
        if not id or kind == "session" or id in self._entries:
            return
        role, body = message_of(data)
        entry = _TreeEntry(id, string_field(data, "parentId"), message)
        if kind == "compaction":
            entry = entry._replace(first_kept=string_field(data, "firstKeptEntryId") or id)
        elif kind == "session_info":
            self._name = string_field(data, "name")
        elif role == "assistant":
            self._responses += 1
            self._model = string_field(body, "model") or self._model
            usage = object_field(body, "usage")
            if number_field(usage, "totalTokens") and string_field(body, "stopReason") not in ("error", "aborted"):
                entry = entry._replace(usage=reported_usage(usage))
        self._entries[id] = entry
        self._leaf = id

    def go_back_to(self, id: str) -> None:
        """Take the entry with this id for the last one, where there is one."""
        self._leaf = id if id in self._entries else self._leaf

    def contents(self) -> WindowContents:
        """Return what is in the window now."""
        way = self._way()
        boundary = max((n for n, entry in enumerate(way) if entry.first_kept), default=-1)
        before, behind = way[: max(boundary, 0)], way[boundary + 1 :]
        window = behind
        if boundary >= 0:
            compaction = way[boundary]
            first = next((n for n, entry in enumerate(before) if entry.id == compaction.first_kept), boundary)
            window = [compaction, *(entry for entry in before[first:] if not entry.first_kept), *behind]
        return WindowContents(
            anchors=_messages(window),
            all_anchors=_messages(way),
            usage=next((entry.usage for entry in reversed(behind) if entry.usage is not None), None),
            model=self._model,
            responses=self._responses,
            compactions=sum(bool(entry.first_kept) for entry in way),
            title=self._name,
        )

    def _way(self) -> list[_TreeEntry]:
        """The entries from the root to the newest one."""
        way: list[_TreeEntry] = []
        seen: set[str] = set()
        entry = self._entries.get(self._leaf)
        while entry is not None and entry.id not in seen:  # a damaged file may name itself
            seen.add(entry.id)
            way.append(entry)
            entry = self._entries.get(entry.parent)
        return way[::-1]


def _messages(entries: list[_TreeEntry]) -> tuple[str, ...]:
    """The ids of the messages of entries; a compaction is two."""
    ids: list[str] = []
    for entry in entries:
        if entry.message:
            ids.append(entry.message)
            if entry.first_kept:
                ids.append(summary_id(entry.message))
    return tuple(ids)
