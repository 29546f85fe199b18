"""The two recorded databases, and a small one of OpenCode's shape that a test fills itself."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudkit.cli.demo import unpack_orchard

SCHEMA = """
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, directory text NOT NULL,
  title text NOT NULL, agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, data text NOT NULL);
CREATE TABLE todo (session_id text NOT NULL, content text NOT NULL, status text NOT NULL, priority text NOT NULL,
  position integer NOT NULL);
CREATE TABLE credential (id text PRIMARY KEY, value text);
INSERT INTO credential VALUES ('c', 'hunter2');
INSERT INTO project VALUES ('p', '/work/p');
INSERT INTO session VALUES ('s', 'p', NULL, '/work/p', 'T', 'build', '{"id":"m"}', 1, 2);
"""


@pytest.fixture(scope="session")
def orchard_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_orchard(tmp_path_factory.mktemp("orchard"))


@pytest.fixture(scope="session")
def opencode_db() -> Path:
    return Path(__file__).parent.parent / "fixtures" / "opencode.db"


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """Make a database: `made(("m1", {...data}, [{...part}, ...]), ..., wal=False)`; raw text is stored as it is."""

    def make(*messages: tuple[str, Any, list[Any]], wal: bool = False, schema: str = SCHEMA) -> Path:
        path = tmp_path / "opencode.db"
        connection = sqlite3.connect(path)
        if wal:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(schema)
        for at, (id, data, parts) in enumerate(messages):
            stored = data if isinstance(data, str | bytes) else json.dumps(data)
            connection.execute("INSERT INTO message VALUES (?, 's', ?, ?)", (id, at, stored))
            for n, part in enumerate(parts):
                stored = part if isinstance(part, str | bytes) else json.dumps(part)
                connection.execute("INSERT INTO part VALUES (?, ?, 's', ?)", (f"{id}-{n}", id, stored))
        connection.commit()
        connection.close()
        return path

    return make
