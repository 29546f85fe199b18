"""The real OpenCode without our plugin, only a base URL: its calls get the HUD, titles and summaries do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from opencode_host import OpenCode

from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.model_server import ScriptedModel
from running_gateway import assert_served, gateway_states, running_gateway

pytestmark = [pytest.mark.hosts, pytest.mark.slow]


def test_opencode_works_through_a_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "30")
    log = tmp_path / "hudkit.db"
    note = ScriptedCall("hud", {"operation": "notes.add", "text": "prices are in cents"})
    shell = ScriptedCall("bash", {"command": "echo kiln", "description": "x"})
    script = [uses(note), uses(shell), says("begun"), uses(shell, note), says("gone on")]
    with (
        ScriptedModel(script) as model,
        running_gateway(model.url, log, tmp_path / "project") as url,
        OpenCode(tmp_path, url) as host,
    ):
        host.serve()
        session = host.create()
        host.prompt(session, "Never touch legacy/. Fix the kiln.")
        host.prompt(session, "Go on.")
        host.summarize(session)
        model.wait("title")
    assert_served(model.chats)
    assert len(model.chats) == 5
    (state,) = gateway_states(log)
    assert [each.content for each in state.notes] == ["prices are in cents"]
    assert any("legacy/" in rule.text for rule in state.constraints)
    for kind in ("title", "compaction"):
        assert all("Your HUD" not in request.raw.decode() for request in model.of(kind)) and model.of(kind)
