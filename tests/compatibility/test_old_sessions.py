"""Sessions of our own agent, written before the redesign, open and go on; their requests are built again."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from compatibility_files import as_text
from compatibility_internals import read_requests, read_sessions

Golden = Callable[[str, str], None]

LOOP = "ses_01a00000-0000-7000-8000-000000002710"
CHILD = "ses_01a00000-0000-7000-8000-000000002742"


def test_all_sessions_and_messages_are_read(stored: Path, golden: Golden) -> None:
    golden("sessions.json", as_text(read_sessions(stored / "data" / "sessions.db")))


def test_every_kind_of_part_is_in_them(stored: Path) -> None:
    found = read_sessions(stored / "data" / "sessions.db")
    parts = [part for message in found["messages"]["ses_kinds"] for part in message.get("parts", ())]
    assert {part["type"] for part in parts} == {"text", "reasoning", "tool", "file", "patch", "compaction"}


def test_requests_are_built_again_byte_for_byte(stored: Path, golden: Golden) -> None:
    every = [
        *read_requests(stored / "data" / "requests.db", LOOP),
        *read_requests(stored / "data" / "requests.db", CHILD),
    ]
    assert len(every) == 10
    lines = []
    for raw in every:
        sent = json.loads(raw)
        digest = hashlib.sha256(raw).hexdigest()
        facts = {name: sent[name] for name in ("session_id", "message_id", "model", "at")}
        count = len(sent["request"]["messages"])
        tools = [one["name"] for one in sent["request"]["tools"]]
        lines.append({**facts, "bytes": len(raw), "sha256": digest, "messages": count, "tools": tools})
    golden("requests.json", as_text(lines))
    golden("request.json", as_text(json.loads(every[8])))


@pytest.mark.slow
def test_a_stored_session_goes_on(hudkit: Any, stored: Path) -> None:
    moved = stored / "project"
    with closing(sqlite3.connect(stored / "data" / "sessions.db")) as db, db:
        db.execute("UPDATE sessions SET body = replace(body, '/tmp/orchard/project', ?)", (str(moved),))
    before = read_sessions(stored / "data" / "sessions.db")["messages"][LOOP]
    words = ("--data", stored / "data", "--session", LOOP, "--script", stored / "script.jsonl")
    code, out, err = hudkit("run", *words, "And how many now?")
    assert code == 0, err
    assert "Four trees." in out
    after = read_sessions(stored / "data" / "sessions.db")["messages"][LOOP]
    assert after[: len(before)] == before
    assert [one["role"] for one in after[len(before) :]] == ["user", "assistant"]
    sent = [json.loads(raw) for raw in read_requests(stored / "data" / "requests.db", LOOP)]
    assert len(sent) == 10 and "Four trees are there." not in json.dumps(sent[-1]["request"]["system"])


@pytest.mark.slow
def test_a_script_of_every_key_is_played(hudkit: Any, stored: Path) -> None:
    (stored / "project" / "trees.txt").write_text("apple\npear\n")
    words = ("--data", stored / "fresh", "--script", stored / "script.toml", "--no-hud")
    code, out, err = hudkit("run", *words, "How many trees?")
    assert code == 0, err
    assert "Four trees." in out
