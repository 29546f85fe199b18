"""Plans of hosts and exported sessions: files in known folders, listed and read by name, never by path.

A name comes from a model. It must match a pattern without separators, the file is opened within its folder's own
descriptor, and no link is followed: no name leads out of the folder.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hudkit.errors import TranscriptError

MAX_PLAN_BYTES = 256 * 1024
"""Of one plan; the rest is not read."""

MAX_PLANS = 1_000

_PLAN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,196}\.md")


class SavedPlan(msgspec.Struct, frozen=True):
    """A plan's file: its name, its folder, its size in bytes, and when it changed (Unix ms)."""

    name: str
    folder: str
    size: int
    changed: int


def list_plans(folders: Iterable[Path]) -> tuple[SavedPlan, ...]:
    """Return the plans in these folders, the newest first; links and what is not a file are passed over."""
    plans: list[SavedPlan] = []
    for folder in filter(_is_unlinked, dict.fromkeys(folders)):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if _PLAN_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        changed = status.st_mtime_ns // 1_000_000
                        plans.append(SavedPlan(entry.name, str(folder), status.st_size, changed))
        except (OSError, ValueError):
            continue
    return tuple(sorted(plans, key=lambda plan: (-plan.changed, plan.name))[:MAX_PLANS])


def read_plan(folders: Iterable[Path], name: str) -> tuple[str, bool]:
    """Return the text of a plan, undecodable bytes replaced, and whether it was cut.

    `name` is a file's name as `list_plans` has it, with or without `.md`. Raises `TranscriptError`, with one text for
    a name that cannot be one, that is a path, and that is not there.
    """
    wanted = name if name.endswith(".md") else f"{name}.md"
    if _PLAN_NAME.fullmatch(wanted):
        for folder in filter(_is_unlinked, dict.fromkeys(folders)):
            body = _read_plan_bytes(folder, wanted)
            if body is not None:
                return body[:MAX_PLAN_BYTES].decode("utf-8", "replace").lstrip("\ufeff"), len(body) > MAX_PLAN_BYTES
    raise TranscriptError("there is no plan of this name", hint="`plans` lists the names.")


def _is_unlinked(folder: Path) -> bool:
    """A folder that a project could not lead elsewhere: neither it nor the one above it is a link."""
    return not folder.is_symlink() and not folder.parent.is_symlink()


def _read_plan_bytes(folder: Path, name: str) -> bytes | None:
    """Through the folder's own descriptor, and without following a link, so that no name leads out of it."""
    try:
        folder_descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=folder_descriptor)
    except (OSError, ValueError):
        return None
    finally:
        os.close(folder_descriptor)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_PLAN_BYTES + 1)


# -- exported sessions -----------------------------------------------------------------------------------------------


MAX_EXPORT_BYTES = 64 * 1024 * 1024
PLAIN_SECTIONS = frozenset({"currentTask", "keyDecisions", "nextSteps"})
"""Keys of which a session file of plain sections has at least one (000, section 3.2: a file for each)."""

_EXPORT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}\.json")


def write_export(folder: Path, name: str, facts: Mapping[str, Any]) -> Path:
    """Write facts as JSON into `folder` (0700); return the file, which is 0600 and complete, or absent.

    Its name is made of `name`. Raises `TranscriptError` where it cannot be written.
    """
    return _write_file(folder, name, ".json", msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n")


def write_transcript(folder: Path, name: str, text: str) -> Path:
    """Write a transcript as markdown into `folder`, as `write_export` does; return the file."""
    return _write_file(folder, name, ".md", text.encode("utf-8", "replace"))


def _write_file(folder: Path, name: str, ending: str, body: bytes) -> Path:
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:120] or "session"
    path = folder / f"{safe}{ending}"
    # Written beside and then renamed: a reader finds the whole file or none.
    part = folder / f".{safe}.{os.getpid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            file.write(body)
        part.replace(path)
    except OSError as error:
        raise TranscriptError(f"{folder} cannot be written: {error.strerror or error}") from error
    return path


def read_export(folder: Path, name: str) -> dict[str, Any]:
    """Return the facts of an exported file, by its name.

    Raises `TranscriptError`, with one text for a name that cannot be one, that is a path, and that is not there.
    """
    wanted = name if name.endswith(".json") else f"{name}.json"
    # One text for all refusals: a name must not be a way to ask what files there are.
    body: bytes | None = None
    if _EXPORT_NAME.fullmatch(wanted):
        try:
            descriptor = os.open(folder / wanted, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                with os.fdopen(descriptor, "rb") as file:
                    body = file.read(MAX_EXPORT_BYTES + 1)
            else:
                os.close(descriptor)
        except (OSError, ValueError):
            body = None
    if body is None:
        raise TranscriptError("there is no exported session of this name", hint="`export` tells the name.")
    if len(body) > MAX_EXPORT_BYTES:
        raise TranscriptError(f"the exported session is longer than {MAX_EXPORT_BYTES:,} bytes")
    try:
        facts = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TranscriptError(f"the exported session is broken JSON: {error}"[:200]) from None
    if not isinstance(facts, dict) or not (facts.get("kind") == "hudkit-session" or PLAIN_SECTIONS & facts.keys()):
        raise TranscriptError("the file is not an exported session", hint="`export` writes them.")
    return facts
