"""What is said in Claude Code, and made to hold for good by its person, is in OpenCode's first request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from opencode_host import Hosts

from hudkit.daemon import client
from hudkit.hud.session_keys import PROJECT_LOG
from hudkit.log.stores import open_log
from hudkit.models.scripted_answers import says
from hudkit.sections.state import fold
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.hosts, pytest.mark.slow]

PROMPT = "Bring the kiln down to 80 degrees per hour. Never touch the folder legacy/. Always run the tests twice."
ROWS = ("Never touch the folder legacy/ (user, this project)", "Always run the tests twice (user, all sessions)")


def test_what_is_said_once_and_for_all_in_claude_code_is_in_the_first_request_of_opencode(
    claude_code_installed: Path,
    opencode: Hosts,
    model: ScriptedModel,
    place: Path,
    plugin: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CLAUDECODE", "CODEX_THREAD_ID", "OPENCODE", "HUDKIT_CALL"):
        monkeypatch.delenv(name, raising=False)
    config, db, socket = place / "config" / "config.toml", place / "hudkit.db", place / "run" / "d.sock"
    config.parent.mkdir()
    config.write_text("")
    monkeypatch.setenv("HUDKIT_CONFIG", str(config))
    host = opencode(own=True, plugins=[plugin])
    client.ensure_running(socket, db=db)

    def run(*command: object, **environment: str) -> str:
        words = [str(word) for word in command]
        env = {"PATH": os.environ["PATH"], "HOME": str(place), "HUDKIT_CONFIG": str(config), **environment}
        done = subprocess.run(
            words, cwd=host.project, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    hook = {"type": "command", "command": f"{sys.executable} -P -m hudkit hook claude-code"}
    # the host may write its file behind the end of the turn, and has done so at the end of the session
    events = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")
    (place / "settings.json").write_text(json.dumps({"hooks": {event: [{"hooks": [hook]}] for event in events}}))
    model.play(says("It cools."))
    claude = {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "x",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        "HUDKIT_SOCKET": str(socket),
        "HUDKIT_DB": str(db),
    }
    settings = ("--settings", place / "settings.json", "--model", "claude-sonnet-4-5")
    run(claude_code_installed, "-p", *settings, PROMPT, **claude)

    review = (sys.executable, "-P", "-m", "hudkit", "review", "--db", db)
    assert ": 2 heard, not reviewed" in run(*review)
    run(*review, "--for-project", "legacy", "--for-me", "twice")
    model.play(says("I begin."))
    host.serve()
    host.prompt(host.create(), "Begin with the lid.")
    assert all(row in model.chats[-1].text for row in ROWS), "in OpenCode's first request"
    log = open_log(db, read_only=True)
    try:
        keys = [key for key in log.sessions() if not key.startswith(f"{PROJECT_LOG}@")]
        states = {key.partition("/")[0]: fold(log.read(key)) for key in keys}
    finally:
        log.close()
    levels = {name: [rule.mark.level for rule in state.constraints] for name, state in states.items()}
    assert levels == {"claude-code": ["project", "user"], "opencode": ["project", "user"]}
