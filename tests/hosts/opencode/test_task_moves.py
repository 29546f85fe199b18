"""A task that begins in Claude Code is taken up in Codex and then in OpenCode: the real programs, on one daemon."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from opencode_host import Hosts

from hudkit.daemon import client
from hudkit.hud.session_keys import PROJECT_LOG
from hudkit.log.stores import open_log
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, ScriptedCall, says, uses
from hudkit.models.scripted_model import AnswerFunction
from hudkit.sections.state import HudState, fold
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.hosts, pytest.mark.slow]

EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")
PROMPT = "Bring the kiln down to 80 degrees per hour. Never touch the folder legacy/. Always run the tests twice."
DECIDED = "We decided to use cone 6 instead of cone 10, because the glaze runs at cone 10."
RULES = ["Never touch the folder legacy/", "Always run the tests twice"]


def _hooks(host: str) -> dict[str, Any]:
    command = f"{sys.executable} -P -m hudkit hook {host}"
    return {"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}] for event in EVENTS}}


def _run(command: list[Any], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _states(db: Path) -> dict[str, HudState]:
    """The states of the sessions in a log, by the host that each is of."""
    log = open_log(db, read_only=True)
    try:
        keys = [key for key in log.sessions() if not key.startswith(f"{PROJECT_LOG}@")]
        return {key.partition("/")[0]: fold(log.read(key)) for key in keys}
    finally:
        log.close()


def _words(state: HudState) -> tuple[str, list[str], list[tuple[str, str]]]:
    task = state.task.description or state.session.first_request
    decisions = [(decision.summary, decision.details) for decision in state.decisions]
    return (task, [rule.text for rule in state.constraints], decisions)


def _hand_on(project: Path, db: Path) -> str:
    """What the person types in the project, and reads."""
    command = [sys.executable, "-P", "-m", "hudkit", "resume", "--db", str(db)]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=True, timeout=60).stdout


def _takes_up(host: str) -> list[Answer | AnswerFunction]:
    """The agent asks which sessions there are, and takes up the newest of this host by the id that it reads."""

    def newest(request: CapturedRequest) -> Answer:
        (listed,) = [text for role, text in request.messages if role == "tool"][-1:]
        id = re.search(rf"({host}/\S+)", listed)
        assert id, listed
        return uses(ScriptedCall("hud", {"operation": "task.resume", "session": id[1]}))

    return [uses(ScriptedCall("memory", {"operation": "sessions"})), newest]


@pytest.mark.parametrize("by", ["person", "agent"])
def test_a_task_of_claude_code_goes_on_in_codex_and_then_in_opencode(
    claude_code_installed: Path,
    codex_installed: Path,
    opencode: Hosts,
    model: ScriptedModel,
    place: Path,
    plugin: Path,
    tmp_path: Path,
    by: str,
) -> None:
    host = opencode(own=True, plugins=[plugin])
    project, socket, db = host.project, place / "run" / "d.sock", place / "hudkit.db"
    client.ensure_running(socket, db=db)
    home = place / "home"
    (home / ".codex").mkdir(parents=True)
    ours = {"HOME": str(home), "HUDKIT_SOCKET": str(socket), "HUDKIT_DB": str(db)}

    settings = home / "settings.json"
    settings.write_text(json.dumps(_hooks("claude-code")))
    claude = {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "x",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    begin = [claude_code_installed, "-p", "--settings", settings, "--model", "claude-sonnet-4-5"]
    model.play(says(DECIDED), says("Cone 6."))
    session = "0a1b2c3d-1111-4222-8333-000000000077"
    _run([*begin, "--session-id", session, PROMPT], project, {**ours, **claude})
    _run([*begin, "--resume", session, "Which cone?"], project, {**ours, **claude})
    first = _words(_states(db)["claude-code"])
    assert first[0] == PROMPT and first[1] == RULES and "cone 6" in first[2][0][0]

    if by == "person":
        assert "of claude-code" in _hand_on(project, db)
    (home / ".codex" / "hooks.json").write_text(json.dumps(_hooks("codex")))
    provider = f'name = "x"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "XKEY"\n'
    config = f'model_provider = "x"\n[model_providers.x]\n{provider}'
    variables = ", ".join(f'{name} = "{value}"' for name, value in ours.items())
    server = f'command = "{sys.executable}"\nargs = ["-P", "-m", "hudkit", "mcp", "--host", "codex"]\n'
    server += f"env = {{ {variables} }}\n"
    (home / ".codex" / "config.toml").write_text(f"{config}[mcp_servers.hudkit]\n{server}")
    model.play(*(_takes_up("claude-code") if by == "agent" else ()), says("I go on."))
    trust = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
    go_on = [codex_installed, "exec", "--skip-git-repo-check", *trust, "--model", "gpt-5-codex", "Go on with it."]
    _run(go_on, project, {**ours, "CODEX_HOME": str(home / ".codex"), "XKEY": "x"})
    request = model.chats[-1]
    assert all(rule in request.text for rule in RULES) and "cone 6" in request.text, "Codex knows them"
    assert _words(_states(db)["codex"]) == first

    if by == "person":
        assert "of codex" in _hand_on(project, db)
    model.play(*(_takes_up("codex") if by == "agent" else ()), says("I go on, too."))
    host.serve()
    host.prompt(host.create(), "Go on with it.")
    request = model.chats[-1]
    assert all(rule in request.text for rule in RULES) and "cone 6" in request.text, "OpenCode knows them"
    assert _words(_states(db)["opencode"]) == first
