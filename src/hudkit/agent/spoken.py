"""Messages of the session in the words that `hudkit.ingest` knows: names of tools and of their arguments. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hudkit.transcripts import Message, Part, PatchPart, ToolPart

NAMES: Mapping[str, Mapping[str, str]] = {
    "read": {"path": "filePath"},
    "write": {"path": "filePath"},
    "edit": {"path": "filePath", "old": "oldString", "new": "newString"},
    "bash": {"path": "workdir"},
}
"""For each tool of the session, what its arguments are called there."""


def as_heard(message: Message, root: Path) -> Message:
    """A message as it is heard; paths of changed files (relative to `root`) become whole ones."""
    return replace(message, parts=tuple(_part(part, root) for part in message.parts))


def _part(part: Part, root: Path) -> Part:
    if isinstance(part, PatchPart):
        return replace(part, files=tuple(str(root / name) for name in part.files))
    if not isinstance(part, ToolPart):
        return part
    names = NAMES.get(part.tool, {})
    given: dict[str, Any] = {names.get(name, name): value for name, value in part.input.items()}
    metadata = part.metadata
    if "session" in metadata:
        metadata = {**metadata, "sessionId": metadata["session"]}
    tool = "todowrite" if part.tool == "todo" and isinstance(given.get("todos"), list) else part.tool
    return replace(part, tool=tool, input=given, metadata=metadata)
