"""The real Claude Code with no plugin of ours, only `ANTHROPIC_BASE_URL`: its calls get the HUD."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_host import ClaudeCode

from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.model_server import ScriptedModel
from running_gateway import assert_served, gateway_states, running_gateway

pytestmark = [pytest.mark.hosts, pytest.mark.slow]


def test_claude_code_works_through_a_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "30")
    log, project, home = tmp_path / "hudkit.db", tmp_path / "project", tmp_path / "home"
    project.mkdir()
    note = ScriptedCall("hud", {"operation": "notes.add", "text": "prices are in cents"})
    shell = ScriptedCall("Bash", {"command": "echo kiln", "description": "x"})
    script = [uses(note), uses(shell), says("begun"), uses(note, shell), says("gone on")]
    with ScriptedModel(script) as model:
        with running_gateway(model.url, log, project) as url, ClaudeCode(home, project, url) as claude:
            assert claude.say("Never touch legacy/. Fix the kiln.") == "begun"
        session = claude.session
        with (
            running_gateway(model.url, log, project) as url,
            ClaudeCode(home, project, url, session, resume=True) as claude,
        ):
            assert claude.say("Go on.") == "gone on"
    chats = [chat for chat in model.chats if chat.body.get("tools")]
    assert_served(chats)
    assert len(chats) == 5
    state = gateway_states(log)[0]
    assert "prices are in cents" in [each.content for each in state.notes]
    assert any("legacy/" in rule.text for rule in state.constraints)
    others = [request for request in model.requests if request not in chats]
    assert all("Your HUD" not in request.raw.decode() for request in others), "side calls have none"
    files = list(home.rglob("*.jsonl"))
    assert files and "notes.add" not in "".join(file.read_text() for file in files), "it knows nothing of it"
