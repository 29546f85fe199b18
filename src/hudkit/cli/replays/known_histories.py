"""Which histories of hosts are on this machine, and whose history is at a path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from hudkit.errors import ConfigError
from hudkit.transcripts import claude_code, codex, pi
from hudkit.transcripts.search.past_sessions import host_folders
from hudkit.transcripts.transcript_follower import dialect_of

SCHEMA = 1
"""Version of the report on histories; raised when a field changes its meaning or goes away."""

HOST_NAMES = {"claude-code": "Claude Code", "codex": "Codex", "opencode": "OpenCode", "pi": "pi"}
"""How hosts are called in what people read."""

_SNIFFED_FILES = 20


class HistoryFolder(NamedTuple):
    """A history: the host whose it is, its folder or file, and the files of its sessions."""

    host: str
    root: Path
    files: tuple[Path, ...]


def find_history(path: Path) -> HistoryFolder | None:
    """Return the history of Claude Code, Codex or pi at a path, which may be a host's folder above it or one file.

    `None` where it is none of these. Raises `ConfigError` where nothing is there.
    """
    if not path.exists():
        raise ConfigError(
            f"there is nothing at {path}", hint="`hudkit replay` alone lists the histories of this machine"
        )
    if path.is_file():
        host = _host_of_file(path)
        return HistoryFolder(host, path, (path,)) if host else None
    for name in ("projects", "sessions", "agent/sessions"):
        # The host's own folder was named: ~/.claude for ~/.claude/projects.
        if path.name in (".claude", ".codex", ".pi") and (path / name).is_dir():
            return find_history(path / name)
    for host in (codex.HOST, claude_code.HOST, pi.HOST):
        files = tuple(dialect_of(host)[0].files(path))
        hosts = {_host_of_file(file) for file in files[:_SNIFFED_FILES]} - {""}
        if host in hosts:
            return HistoryFolder(host, path, files)
    return None


def known_histories() -> Iterator[HistoryFolder]:
    """Yield the histories that are in their hosts' usual places and have sessions; OpenCode's has its database."""
    for host, path in host_folders():
        if not path.exists():
            continue
        if path.is_file():
            yield HistoryFolder(host, path, (path,))
            continue
        files = tuple(dialect_of(host)[0].files(path))
        if files:
            yield HistoryFolder(host, path, files)


def _host_of_file(path: Path) -> str:
    """The host that wrote a file, by its first lines; nothing where it is none of these."""
    try:
        with path.open("rb") as file:
            head = file.read(16 * 1024)
    except OSError:
        return ""
    for line in head.split(b"\n")[:10]:
        with suppress(msgspec.DecodeError, RecursionError):
            record = msgspec.json.decode(line)
            if isinstance(record, dict) and isinstance(record.get("payload"), dict):
                return codex.HOST
            if isinstance(record, dict) and pi.is_header(record):
                return pi.HOST
            if isinstance(record, dict) and {"sessionId", "leafUuid", "messageId"} & record.keys():
                return claude_code.HOST
    return codex.HOST if path.name.startswith("rollout-") else ""
