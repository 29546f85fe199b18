"""Undo: files become what they were before a prompt's tools changed them, where nobody else has changed them since.

For each file, the digests of its changes form a chain: before -> after of the first change, before -> after of the
second, and so on. The file is put back to the first `before` only if its bytes are still the last `after` and the
chain has no gap:

    file now = c    changes a->b, b->c    ->  put back to a
    file now = x    changes a->b, b->c    ->  left: it has changed since
    file now = d    changes a->b, c->d    ->  left: somebody changed b to c in between
    file now = a    changes a->b, b->c    ->  nothing to do (an undo that was cut off is done again)

A redo goes the other way, from the first `before` to what the undo found, which it kept for that.

So no work of anybody is lost. Each file is replaced in one step, under the rules of `workspace`: nothing is written
outside of what tools may reach.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise

import msgspec

from hudkit.agent.file_changes import FileChange
from hudkit.agent.message_history import calls_of
from hudkit.agent.records import StoredCall, StoredMessage
from hudkit.agent.run_context import RunContext
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


def undo_changes(run: RunContext, messages: Sequence[StoredMessage], text: str, *, redo: bool = False) -> UndoResult:
    """Put back the files that these messages have changed (`redo`: change them again); return what came of it.

    The sub-sessions that they started count too. `text` is the prompt's. Blocks while it reads and writes files; safe
    to run in a thread.
    """
    store, ids = run.setup.store, [message.id for message in messages]
    by_path: dict[str, list[FileChange]] = {}
    for change in store.changes.of_messages(run.id, ids):
        by_path.setdefault(change.path, []).append(change)
    restored, kept_back = [], []
    for path, changes in by_path.items():
        try:
            restore = _restore_after if redo else _restore_before
            reason = restore(run, path, changes)
        except HudkitError as error:
            reason = error.message
        except OSError as error:
            reason = f"it cannot be written: {error.strerror}"
        if reason:
            kept_back.append(SkippedFile(path, reason))
        else:
            restored.append(path)
    if redo:
        return UndoResult(text, tuple(restored), tuple(kept_back))
    below = [message for child in store.changes.sub_sessions(run.id, ids) for message in store.messages(child)]
    return UndoResult(text, tuple(restored), tuple(kept_back), tuple(_not_undone((*messages, *below))))


def note_final_content(run: RunContext, message: StoredMessage, call: StoredCall) -> None:
    """Correct what a call's changes left, after a plugin's hook changed the files again; return nothing."""
    changes = run.setup.store.changes
    for change in changes.of_call(run.id, message.id, call.call_id):
        try:
            after = _read_digest(run.setup.workspace, _resolve_stored(run.setup.workspace, change.path))[0]
        except (ToolError, OSError):
            continue
        if after != change.after:  # noted, so that an undo takes the formatter's work for the turn's
            changes.correct(change, after)


def _restore_before(run: RunContext, path: str, changes: Sequence[FileChange]) -> str:
    """Make one file what it was; return why that was not done, an empty text where it was."""
    workspace, file_changes = run.setup.workspace, run.setup.store.changes
    first, last = changes[0], changes[-1]
    target = _resolve_stored(workspace, path)
    # the stamp goes with the digest: `replace_file` refuses where the file changes after this look
    now, stamp = _read_digest(workspace, target)
    if now == first.before:
        return ""
    if now and now != last.after:
        return "it has changed since"
    if now and any(earlier.after != later.before for earlier, later in pairwise(changes)):
        return "a command, or somebody else, changed it between two calls"
    if now:
        with workspace.open_file(target) as fd, os.fdopen(os.dup(fd), "rb") as opened:
            file_changes.keep(run.id, opened.read())
    elif last.after:  # somebody has deleted it: noted, so that a redo comes to the same
        deleted = msgspec.structs.replace(last, before=last.after, after="", mode=first.mode)
        file_changes.begin(deleted, None, writer=run.id)
    if not first.before:  # a tool has made the file: taking that back removes it
        assert stamp is not None  # `now` is not empty here: it differs from `first.before`
        workspace.remove_file(target, stamp)
        return ""
    # the oldest content counts: the file is put back to before the whole prompt
    content = file_changes.content(first.before)
    if content is None:
        return "what it was is not kept: it was too large"
    workspace.replace_file(target, content, stamp, lambda: False, mode=first.mode)
    return ""


def _restore_after(run: RunContext, path: str, changes: Sequence[FileChange]) -> str:
    """Make one file what it was before it was put back; return why that was not done, an empty text where it was."""
    workspace, file_changes = run.setup.workspace, run.setup.store.changes
    first, last = changes[0], changes[-1]
    target = _resolve_stored(workspace, path)
    now, stamp = _read_digest(workspace, target)
    if now == last.after:
        return ""
    if now != first.before:
        return "it has changed since"
    if not last.after:
        assert stamp is not None  # `now` is not empty here: it differs from `last.after`
        workspace.remove_file(target, stamp)
        return ""
    content = file_changes.content(last.after)
    if content is None:
        return "what it was is not kept: it was too large, or not put back by an undo"
    workspace.replace_file(target, content, stamp, lambda: False, mode=first.mode or None)
    return ""


def _resolve_stored(workspace: Workspace, path: str) -> ResolvedPath:
    """Return where a stored path is.

    Raises `ToolError` where tools may not go there now, or a link leads elsewhere.
    """
    whole = workspace.root / path
    target = workspace.resolve_inside(str(whole))
    # a link that was put in its place would lead the old content elsewhere
    if target.real != whole:
        raise ToolError("a link leads elsewhere now")
    return target


def _read_digest(workspace: Workspace, target: ResolvedPath) -> tuple[str, FileStamp | None]:
    """Return the digest of what is in a file, and its stamp; an empty digest where there is no file."""
    stamp = workspace.stamp(target)
    if stamp is None:
        return "", None
    digest = sha256()
    with workspace.open_file(target) as fd:
        while piece := os.read(fd, _CHUNK):
            digest.update(piece)
    return digest.hexdigest(), stamp


_UNDONE_ELSEWHERE = frozenset({"task", "hud", "memory", "hud_compact", "memory_compact"})
"""What a sub-agent did is undone with its own calls; what was recorded in the HUD is taken back there."""


def _not_undone(messages: Iterable[StoredMessage]) -> Iterable[str]:
    """Yield one line for each call whose effects nobody knows."""
    for message in messages:
        for call in calls_of(message):
            # it never ran: nothing has to be undone
            if not call.started:
                continue
            if call.tool == "bash":
                yield shorten(visible(" ".join(str(call.arguments.get("command", "")).split())), 200)
            elif call.tool not in TOOLS and call.tool not in _UNDONE_ELSEWHERE:
                about = next((value for value in call.arguments.values() if isinstance(value, str)), "")
                words = shorten(visible(" ".join(f"{call.tool} {about}".split())), 200)
                yield f"{words} (a plugin's tool)"
