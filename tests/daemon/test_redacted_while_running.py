"""A secret is redacted while a daemon runs: it shows it no more, and what hosts send again does not bring it back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from in_process import frame, post

from hudkit.api import Hud
from hudkit.cli import main
from hudkit.daemon.handlers import RequestHandlers
from opencode_messages import anchored, bash, response, user

SECRET = "plum-dumpling-seventeen"


@pytest.mark.slow
def test_redacted_while_a_daemon_runs(tmp_path: Path) -> None:
    at, file = tmp_path / "data" / "hudkit.db", tmp_path / "secret.txt"
    file.write_text(SECRET)
    messages = [
        user(1, f"Use {SECRET} for the upload"),
        response(2, bash("c1", f"upload --as {SECRET}", 1, f"denied for {SECRET}")),
    ]
    with Hud.open(at) as hud:
        daemon = RequestHandlers(hud)
        shown = frame(daemon, *map(anchored, messages), messages=messages)
        assert SECRET in json.dumps(shown)
        assert main(["redact", "--db", str(at), "--text-file", str(file)]) == 0
        more = [*messages, response(3, finish="stop")]
        for again in (messages, more):
            post(daemon, "/v1/events", messages=again)
        after = frame(daemon, *map(anchored, more), messages=more)
        assert SECRET not in json.dumps(after) and "upload --as [redacted]" in json.dumps(after)
        assert after["epoch"] == shown["epoch"] + 1 and after["tag"] != shown["tag"]
        post(daemon, "/v1/tool", router="hud", arguments={"tool": "notes.add", "args": {"content": "goes on"}})
        assert list(hud.verify()) == []
    assert not [each.name for each in at.parent.iterdir() if SECRET.encode() in each.read_bytes()]
    with Hud.open(at) as hud:
        other = RequestHandlers(hud)
        post(other, "/v1/events", messages=messages)
        assert SECRET not in json.dumps(frame(other, *map(anchored, more), messages=messages))
    assert not [each.name for each in at.parent.iterdir() if SECRET.encode() in each.read_bytes()]
