"""Files of exported sessions: JSON that a person can read, in one private folder, named and never reached by path."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hudkit.errors import TranscriptError

MOST_BYTES = 64 * 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}\.json")


def write_export(folder: Path, name: str, facts: Mapping[str, Any]) -> Path:
    """Write facts as JSON into `folder` (0700) under a name made of `name`; the file is 0600 and complete, or absent.

    Raises `TranscriptError` where it cannot be written.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:120] or "session"
    path = folder / f"{safe}.json"
    part = folder / f".{safe}.{os.getpid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n")
        part.replace(path)
    except OSError as error:
        raise TranscriptError(f"{folder} cannot be written: {error.strerror or error}") from error
    return path


def read_export(folder: Path, name: str) -> dict[str, Any]:
    """The facts of an exported file by its name.

    Raises `TranscriptError`, with one text for a name that is none, that is a path, and that is not there.
    """
    wanted = name if name.endswith(".json") else f"{name}.json"
    body: bytes | None = None
    if _NAME.fullmatch(wanted):
        try:
            descriptor = os.open(folder / wanted, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                with os.fdopen(descriptor, "rb") as file:
                    body = file.read(MOST_BYTES + 1)
            else:
                os.close(descriptor)
        except (OSError, ValueError):
            body = None
    if body is None:
        raise TranscriptError("there is no exported session of this name", hint="`export` tells the name.")
    if len(body) > MOST_BYTES:
        raise TranscriptError(f"the exported session is longer than {MOST_BYTES:,} bytes")
    try:
        facts = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TranscriptError(f"the exported session is broken JSON: {error}"[:200]) from None
    if not isinstance(facts, dict) or facts.get("kind") != "hudkit-session":
        raise TranscriptError("the file is not an exported session", hint="`export` writes them.")
    return facts
