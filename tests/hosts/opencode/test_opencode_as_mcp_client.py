"""The real OpenCode as a client of the MCP server: what `hudkit install mcp` writes starts it; its agent uses it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from opencode_host import Hosts

from hudkit import Hud
from hudkit.hosts.mcp.client_install import ServerTarget, install, uninstall
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow


def test_an_agent_records_and_reads_again(opencode: Hosts, model: ScriptedModel, place: Path) -> None:
    host = opencode(own=True, git=True)
    env = {**os.environ, "HUDKIT_DATA": str(place), "HUDKIT_DB": str(place / "hudkit.db")}
    spot = ServerTarget(sys.executable, None, place, env, sys.platform, host.project)
    config = host.project / "opencode.json"
    before = json.loads(config.read_text())
    install(spot, "opencode")
    model.play(
        uses(ScriptedCall("hudkit_hud", {"tool": "task.set", "args": {"description": "Paint the wall"}})),
        uses(ScriptedCall("hudkit_hud", {"tool": "snapshot"})),
        says("It is noted."),
    )
    done = host.run("Paint the wall")
    assert done.code == 0, done.err
    last = [one for one in model.requests if one.kind == "chat"][-1]
    assert {"hudkit_hud", "hudkit_memory"} <= set(last.tools)
    assert "- task: Paint the wall" in last.text
    with Hud.open(place / "hudkit.db") as hud:
        (key,) = [one for one in hud.sessions() if one.startswith("mcp/")]
        state = hud.session(key).state
        assert (state.task.description, state.session.agent) == ("Paint the wall", "opencode")
        assert state.session.directory == str(host.project)
    uninstall(spot, "opencode")
    after = json.loads(config.read_text())
    after.pop("$schema", None)  # OpenCode adds it itself
    assert after == before
