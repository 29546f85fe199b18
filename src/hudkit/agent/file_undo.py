"""Taking a prompt back: files become what they were before its tools, where nobody else has changed them since.

A file is touched only where its bytes are still those that the turn left, so no work of anybody is lost. Each is
replaced in one step, under the rules of `area`: nothing is written outside of what tools may reach. Done twice, or
after a kill in between, it comes to the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise

import msgspec

from hudkit.agent.message_history import calls_of
from hudkit.agent.records import StoredCall, StoredMessage
from hudkit.agent.run_context import RunContext
from hudkit.agent.session_store import FileChange, FileChanges
from hudkit.agent.tools import TOOLS
from hudkit.agent.workspace import FileStamp, ResolvedPath, Workspace
from hudkit.compose import shorten, visible
from hudkit.errors import HudkitError, ToolError

_CHUNK = 1024 * 1024


class SkippedFile(msgspec.Struct, frozen=True):
    """A file that was left as it is, and why."""

    path: str
    why: str


class UndoResult(msgspec.Struct, frozen=True):
    """What was taken back. Paths are relative to the project, or absolute outside of it.

    `text` is the prompt's. `restored` are the files that are again what they were before the first tool changed them,
    also those that were made (they are gone) or deleted since (they are there); `kept_back` were not touched.
    `not_undone` are the commands and the calls of plugins' tools, one line each: what they did stays.
    """

    text: str
    restored: tuple[str, ...] = ()
    kept_back: tuple[SkippedFile, ...] = ()
    not_undone: tuple[str, ...] = ()


def undo_changes(course: RunContext, messages: Sequence[StoredMessage], text: str) -> UndoResult:
    """Put back the files that these messages, and the sub-sessions that they started, have changed.

    Blocks while it reads and writes files; safe to run in a thread.
    """
    store, ids = course.setup.store, [message.id for message in messages]
    by_path: dict[str, list[FileChange]] = {}
    for change in store.changes.of(course.id, ids):
        by_path.setdefault(change.path, []).append(change)
    restored, kept_back = [], []
    for path, changes in by_path.items():
        try:
            why = _restore(course.setup.area, store.changes, path, changes)
        except HudkitError as error:
            why = error.message
        except OSError as error:
            why = f"it cannot be written: {error.strerror}"
        if why:
            kept_back.append(SkippedFile(path, why))
        else:
            restored.append(path)
    below = [one for child in store.changes.started(course.id, ids) for one in store.messages(child)]
    return UndoResult(text, tuple(restored), tuple(kept_back), tuple(_not_undone((*messages, *below))))


def note_final_content(course: RunContext, message: StoredMessage, call: StoredCall) -> None:
    """Note once more what a call left in its files, where a plugin's hook may have changed them after it."""
    changes = course.setup.store.changes
    for change in changes.of_call(course.id, message.id, call.call_id):
        try:
            after = _read_digest(course.setup.area, _resolve_stored(course.setup.area, change.path))[0]
        except (ToolError, OSError):
            continue
        if after != change.after:
            changes.left(change, after)


def _restore(area: Workspace, kept: FileChanges, path: str, changes: Sequence[FileChange]) -> str:
    """Make one file what it was; why that was not done, empty where it was."""
    first, last = changes[0], changes[-1]
    place = _resolve_stored(area, path)
    now, sign = _read_digest(area, place)
    if now == first.before:
        return ""
    if now and now != last.after:
        return "it has changed since"
    if now and any(one.after != two.before for one, two in pairwise(changes)):
        return "a command, or somebody else, changed it between two calls"
    if not first.before:
        assert sign is not None  # `now` is not empty here: it differs from `first.before`
        area.remove(place, sign)
        return ""
    content = kept.content(first.before)
    if content is None:
        return "what it was is not kept: it was too large"
    area.replace(place, content, sign, lambda: False, mode=first.mode)
    return ""


def _resolve_stored(area: Workspace, path: str) -> ResolvedPath:
    """Where a stored path is. Raises `ToolError` where tools may not go there now, or a link leads elsewhere."""
    whole = area.root / path
    place = area.place(str(whole))
    if place.real != whole:
        raise ToolError("a link leads elsewhere now")
    return place


def _read_digest(area: Workspace, place: ResolvedPath) -> tuple[str, FileStamp | None]:
    """The digest of what is in a file, and its sign; an empty one where there is no file."""
    sign = area.sign(place)
    if sign is None:
        return "", None
    found = sha256()
    with area.opened(place) as fd:
        while piece := os.read(fd, _CHUNK):
            found.update(piece)
    return found.hexdigest(), sign


def _not_undone(messages: Iterable[StoredMessage]) -> Iterable[str]:
    for message in messages:
        for call in calls_of(message):
            if not call.started:
                continue
            if call.tool == "bash":
                yield shorten(visible(" ".join(str(call.arguments.get("command", "")).split())), 200)
            elif call.tool not in TOOLS and call.tool != "task":
                yield f"{visible(call.tool)} (a plugin's tool)"
