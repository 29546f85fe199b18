"""Histories of Claude Code and Codex for measurements: the recorded sessions of the tests, many times over.

Each session is one that the real programs wrote, with ids of its own, hours later, and some turns more than once.
What the fixtures shorten has its length again, so that files are as large as the programs make them. Some have lines
that are broken, half written, or of a version to come.
"""

from __future__ import annotations

import json
import random
import re
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "tests" / "transcripts" / "data"

_CLAUDE_PART = 0.7
"""How many of the sessions are Claude Code's."""

_REPEATS = (1, 1, 2, 3, 6)
"""How often the turns of a session come, one of these at random."""

_PROJECTS = 12
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_MADE_ID = re.compile(r"\b(msg|call|resp|fc|ctc|toolu)_(?=[0-9a-f])|\bagent-(?=[0-9a-f]{17}\b)")
_SHORTENED = re.compile(r" … \((\d+) characters, [0-9a-f]{12}\)(.*?) … ")
_TIME = re.compile(r'"timestamp": "(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z"')
_WORDS = "the kiln cools down after each ramp and the cone tells what the sensor cannot see before morning"

_BROKEN = '{"type": "user", "message": {"content": "cut in the mid\n'
_NEWER = '{"type": "hologram", "version": "9.0.0", "payload": {"type": "hologram", "data": [1, 2]}}\n'
_UNKNOWN_FIELDS = '{"type": "assistant", "message": {"usage": "by mail"}, "isMeta": 3, "payload": 7}\n'
_HALF = '{"type": "assistant", "timestamp": "2026-11-24T10:00:00.000Z", "messa'


def write_histories(folder: Path, sessions: int, seed: int = 7) -> dict[str, int]:
    """Write a home with `.claude/projects` and `.codex/sessions`; return counts: files, bytes, and damaged sessions.

    The same seed writes the same bytes.
    """
    chance = random.Random(seed)
    templates = {host: sorted(DATA.glob(f"{host}-*.jsonl")) for host in ("claude", "codex")}
    templates["codex"] = [path for path in templates["codex"] if "-child-" not in path.name]
    counts = {"files": 0, "bytes": 0, "damaged": 0}
    for number in range(sessions):
        host = "claude" if chance.random() < _CLAUDE_PART else "codex"
        template = chance.choice(templates[host])
        write = _write_claude if host == "claude" else _write_codex
        for path in write(folder, template, number, chance):
            counts["damaged"] += _damage(path, chance)
            counts["files"] += 1
            counts["bytes"] += path.stat().st_size
    return counts


def _write_claude(folder: Path, template: Path, number: int, chance: random.Random) -> Iterator[Path]:
    renamed = _Renamed(f"session {number}")
    project = folder / ".claude" / "projects" / f"-home-user-project-{number % _PROJECTS}"
    project.mkdir(parents=True, exist_ok=True)
    records = _read(template)
    session = next(record["sessionId"] for record in records if "sessionId" in record)
    path = project / f"{renamed.uuid(session)}.jsonl"
    repeated = _repeat_claude(records, chance.choice(_REPEATS))
    path.write_text("".join(_lines(repeated, renamed, number)), encoding="utf-8")
    yield path
    for child in sorted(template.with_suffix("").glob("subagents/*.jsonl")):
        target = path.with_suffix("") / "subagents" / renamed.text(child.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(_lines(_read(child), renamed, number)), encoding="utf-8")
        yield target


def _write_codex(folder: Path, template: Path, number: int, chance: random.Random) -> Iterator[Path]:
    renamed = _Renamed(f"session {number}")
    day = folder / ".codex" / "sessions" / "2026" / f"{number % 12 + 1:02d}" / f"{number % 28 + 1:02d}"
    day.mkdir(parents=True, exist_ok=True)
    children = sorted(template.parent.glob(f"{template.stem}-child-*.jsonl"))
    for place, source in enumerate((template, *children)):
        records = _read(source)
        id = records[0]["payload"]["id"]
        path = day / f"rollout-2026-11-24T10-00-{place:02d}-{renamed.uuid(id)}.jsonl"
        if not place:
            records = _repeat_codex(records, chance.choice(_REPEATS))
        path.write_text("".join(_lines(records, renamed, number)), encoding="utf-8")
        yield path


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# -- ids, times and lengths --------------------------------------------------------------------------------------


class _Renamed:
    """Gives every id of a session another one, the same wherever it stands."""

    def __init__(self, name: str) -> None:
        self._name = name

    def uuid(self, old: str) -> str:
        """The id in the place of another one."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._name}/{old}"))

    def text(self, text: str) -> str:
        """A text with other ids."""
        tag = blake2b(self._name.encode(), digest_size=4).hexdigest()
        text = _UUID.sub(lambda found: self.uuid(found[0]), text)
        return _MADE_ID.sub(lambda found: f"{found[0]}{tag}", text)


def _lines(records: list[dict[str, Any]], renamed: _Renamed, hours: int) -> Iterator[str]:
    for record in records:
        line = renamed.text(json.dumps(record, ensure_ascii=False))
        line = _SHORTENED.sub(lambda found: f" {_filler(int(found[1]))}{found[2]} ", line)
        yield _later(line, timedelta(hours=hours)) + "\n"


def _filler(characters: int) -> str:
    text = f"{_WORDS} "
    return (text * (characters // len(text) + 1))[:characters]


def _later(line: str, by: timedelta) -> str:
    def moved(found: re.Match[str]) -> str:
        time = datetime.fromisoformat(found[1]) + by
        return f'"timestamp": "{time.isoformat(timespec="milliseconds")}Z"'

    return _TIME.sub(moved, line)


# -- more turns --------------------------------------------------------------------------------------------------


def _again(records: list[dict[str, Any]], turn: int, last: str) -> list[dict[str, Any]]:
    """Records once more: with ids of their own, ten minutes later, behind the record `last`."""
    own = {record["uuid"] for record in records if "uuid" in record}
    renamed = _Renamed(f"turn {turn}")
    out = []
    for record in records:
        keep = {key: record[key] for key in ("sessionId", "agentId", "shapeHash") if key in record}
        line = _later(renamed.text(json.dumps(record)), timedelta(minutes=4 * turn))
        fresh = {**json.loads(line), **keep}
        if "parentUuid" in record and record["parentUuid"] not in own:
            fresh["parentUuid"] = last
        out.append(fresh)
    return out


def _repeat_claude(records: list[dict[str, Any]], times: int) -> list[dict[str, Any]]:
    """A session whose turns come several times: each request goes on from the one before it."""
    begin = next((n for n, record in enumerate(records) if record["type"] == "user"), len(records))
    out = list(records)
    whole: dict[str, list[str]] = {}
    messages: list[str] = []
    for record in records:
        if record["type"] == "api-request":
            messages = [*whole.get(record.get("base", ""), [])[: record["keep"]], *record["tail"]]
            whole[record["id"]] = messages
    newest = [record["id"] for record in records if record["type"] == "api-request"][-1:]
    for turn in range(1, times):
        last = next((record["uuid"] for record in reversed(out) if "uuid" in record), "")
        copies = _again(records[begin:], turn, last)
        _go_on(copies, records[begin:], whole, messages, newest)
        out += copies
    return out


def _go_on(
    copies: list[dict[str, Any]],
    originals: list[dict[str, Any]],
    whole: dict[str, list[str]],
    messages: list[str],
    newest: list[str],
) -> None:
    """Let the requests of repeated turns begin with the messages of those before them, read from the cache."""
    before: list[str] = []
    is_first = True
    for copy, original in zip(copies, originals, strict=True):
        if copy["type"] == "api-request":
            now = whole[original["id"]]
            is_longer = now[: len(before)] == before
            added = now[len(before) :] if is_longer else now
            fresh = [blake2b(f"{hash}{copy['id']}".encode(), digest_size=32).hexdigest() for hash in added]
            keep = len(messages) if is_longer else 0
            copy.update(keep=keep, tail=fresh)
            if keep and newest:
                copy["base"] = newest[0]
            messages[:] = [*messages[:keep], *fresh]
            before, newest[:] = now, [copy["id"]]
        elif copy["type"] == "assistant" and is_first and isinstance(copy["message"].get("usage"), dict):
            usage = copy["message"]["usage"]
            usage["cache_read_input_tokens"] += usage["cache_creation_input_tokens"]
            usage["cache_creation_input_tokens"] = 200
            is_first = False


def _repeat_codex(records: list[dict[str, Any]], times: int) -> list[dict[str, Any]]:
    begin = next((n for n, record in enumerate(records) if _is_prompt(record)), len(records))
    out = list(records)
    for turn in range(1, times):
        out += _again(records[begin:], turn, "")
    return out


def _is_prompt(record: dict[str, Any]) -> bool:
    payload = record.get("payload", {})
    text = json.dumps(payload.get("content", ""))
    return payload.get("type") == "message" and payload.get("role") == "user" and "<environment_context>" not in text


# -- damage ------------------------------------------------------------------------------------------------------


def _damage(path: Path, chance: random.Random) -> bool:
    """Damage one file in six, each in another way."""
    ways: tuple[Callable[[list[str]], None], ...] = (
        lambda lines: lines.insert(len(lines) // 2, _BROKEN),
        lambda lines: lines.insert(len(lines) // 3, _NEWER),
        lambda lines: lines.append(_UNKNOWN_FIELDS),
        lambda lines: lines.append(_HALF),
    )
    if chance.random() > 1 / 6:
        return False
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    chance.choice(ways)(lines)
    path.write_text("".join(lines), encoding="utf-8")
    return True
