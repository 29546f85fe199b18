"""The real Codex with no plugin of ours, only a base URL: its calls get the HUD, and go on in a new process."""

from __future__ import annotations

from pathlib import Path

import pytest
from codex_host import Codex

from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.model_server import ScriptedModel
from running_gateway import assert_served, gateway_states, running_gateway

pytestmark = [pytest.mark.hosts, pytest.mark.slow]


def test_codex_works_through_a_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "30")
    log, project = tmp_path / "hudkit.db", tmp_path / "project"
    note = ScriptedCall("hud", {"operation": "notes.add", "text": "prices are in cents"})
    shell = ScriptedCall("shell_command", {"command": "echo kiln"})
    script = [uses(note), uses(shell), says("begun"), uses(shell), says("gone on")]
    with ScriptedModel(script) as model:
        with running_gateway(model.url, log, project) as url:
            codex = Codex(tmp_path, url, project=project, window=400_000)
            first = codex.exec("Never touch legacy/. Fix the kiln.")
            assert (first.code, first.words) == (0, "begun"), first.errors
        before = url
        with running_gateway(model.url, log, project) as url:
            codex.config.write_text(codex.config.read_text().replace(before, url))
            second = codex.exec("Go on.", first.session)
            assert (second.code, second.words) == (0, "gone on"), second.errors
    assert_served(model.chats)
    (state,) = gateway_states(log)
    assert [each.content for each in state.notes] == ["prices are in cents"]
    assert any("legacy/" in rule.text for rule in state.constraints)
    assert "notes.add" not in "".join(file.read_text() for file in codex.rollouts()), "Codex knows nothing of it"
