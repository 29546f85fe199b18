"""Installing into real Claude Code and taking it out: what happens to the user's files, and to the tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from claude_host import ClaudeCode, Data, be_patient, environment, hud, uses

from hudkit.models.scripted_answers import says
from hudkit.testing.model_server import ScriptedModel
from npm_programs import CLAUDE_CODE, executable

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

Hudkit = Callable[..., subprocess.CompletedProcess[str]]
SETTINGS = '{"model": "sonnet",\n\n    "hooks": {},\t"env":{"A":"b"}, "alwaysThinkingEnabled": false}'
"""As somebody wrote it by hand: Claude Code lays it out anew."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def env(claude_code_installed: Path, home: Path, data: Data, model: ScriptedModel, tmp_path: Path) -> dict[str, str]:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "claude").symlink_to(executable(CLAUDE_CODE))
    path = os.pathsep.join((str(programs), os.environ["PATH"]))
    return environment(home, model.url, {**data.environment, "PATH": path})


@pytest.fixture
def hudkit(env: Mapping[str, str], project: Path) -> Hudkit:
    def run(*words: str, env: Mapping[str, str] = env) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "hudkit", *words]
        return subprocess.run(command, env=dict(env), cwd=project, capture_output=True, text=True, timeout=300)

    return run


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


THEIRS = (".claude.json", ".claude/backups/", ".claude/plugins/installed_plugins.json")
THEIRS += (".claude/plugins/known_marketplaces.json", ".cache/", ".claude/projects/", ".claude/sessions/")
THEIRS += (".claude/plugins/store/cc-plugin-",)
"""What Claude Code writes itself, whoever uses it."""


def ours(folder: Path) -> dict[str, bytes]:
    return {name: body for name, body in files(folder).items() if not name.startswith(THEIRS)}


@pytest.mark.parametrize("settings", [None, SETTINGS, '{"enabledPlugins": {}}\n'])
def test_uninstall_gives_the_users_settings_back_byte_for_byte(
    hudkit: Hudkit, home: Path, data: Data, settings: str | None
) -> None:
    if settings is not None:
        (home / ".claude").mkdir()
        (home / ".claude" / "settings.json").write_text(settings)
    before, data_before = ours(home), files(data.folder)
    shown = hudkit("install", "claude-code", "--dry-run", "--anyway")
    assert shown.returncode == 0, shown.stderr
    assert "enabledPlugins" in shown.stdout and "hudkit@hudkit" in shown.stdout
    assert (ours(home), files(data.folder)) == (before, data_before), "nothing was written"
    done = hudkit("install", "claude-code", "--anyway", "--statusline")
    assert done.returncode == 0, done.stderr
    written = json.loads((home / ".claude" / "settings.json").read_text())
    assert written["enabledPlugins"]["hudkit@hudkit"] is True
    assert "status_line.py" in written["statusLine"]["command"]
    again = hudkit("install", "claude-code", "--anyway", "--statusline")
    assert again.returncode == 0 and "changed" not in again.stdout, "twice is once"
    gone = hudkit("uninstall", "claude-code")
    assert gone.returncode == 0, gone.stderr
    assert ours(home) == before
    assert files(data.folder) == data_before


def test_what_the_user_changed_meanwhile_stays(hudkit: Hudkit, home: Path) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"statusLine": {"type": "command", "command": "echo mine", "padding": 0}}')
    assert hudkit("install", "claude-code", "--anyway", "--statusline").returncode == 0
    settings = json.loads(path.read_text())
    assert settings["statusLine"]["padding"] == 0 and "status_line.py" in settings["statusLine"]["command"]
    path.write_text(json.dumps({**settings, "model": "opus"}))
    assert hudkit("uninstall", "claude-code").returncode == 0
    assert json.loads(path.read_text()) == {
        "model": "opus",
        "statusLine": {"type": "command", "command": "echo mine", "padding": 0},
    }


def test_without_claude_code_it_is_said_what_is_missing(hudkit: Hudkit, env: Mapping[str, str]) -> None:
    none = {**env, "PATH": "/usr/bin:/bin"}
    done = hudkit("install", "claude-code", "--anyway", env=none)
    assert done.returncode == 2 and "claude is not found in PATH" in done.stderr


def test_settings_that_are_no_json_are_left_alone(hudkit: Hudkit, home: Path) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{\n  // mine\n  "model": "sonnet"\n}\n')
    done = hudkit("install", "claude-code", "--anyway")
    assert done.returncode == 2 and "is not JSON" in done.stderr
    assert list(ours(home)) == [".claude/settings.json"]


def test_the_installed_plugin_works_and_is_not_doubled_by_the_mcp_server(
    hudkit: Hudkit, home: Path, project: Path, model: ScriptedModel, data: Data, env: Mapping[str, str]
) -> None:
    assert hudkit("install", "mcp", "--client", "claude-code", "--anyway").returncode == 0
    assert "hudkit" in (home / ".claude.json").read_text()
    done = hudkit("install", "claude-code", "--anyway")
    assert done.returncode == 0, done.stderr
    assert "mcpServers" not in json.loads((home / ".claude.json").read_text())
    refused = hudkit("install", "mcp", "--client", "claude-code", "--anyway")
    assert refused.returncode == 2 and "brings the tools already" in refused.stderr
    doctor = hudkit("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(doctor.stdout)["checks"]}
    assert checks["claude code"]["verdict"] == checks["claude code plugin"]["verdict"] == "pass", checks
    assert checks["opencode plugin"]["verdict"] == "pass", "nobody misses OpenCode"
    be_patient(data.folder / "plugins" / "claude-code" / "hudkit")  # Claude Code reads it from there
    model.play(uses(hud("task.set", description="Make it right")), says("done"))
    with ClaudeCode(home, project, model.url, env=data.environment) as session:
        assert session.say("Please begin.") == "done"
    chat = model.chats[-1]
    assert chat.tools.count("mcp__hudkit__hud") == 1 and not any("hudkit__hud_" in tool for tool in chat.tools)
    assert "Your HUD outlives compaction." in "\n".join(chat.system)
    assert hudkit("uninstall", "claude-code", "--purge").returncode == 0
    assert files(data.folder) == {}
    assert ours(home) == {}
