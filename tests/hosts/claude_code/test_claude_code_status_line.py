"""The status line: what it prints for what Claude Code says, whatever that is, and from which file."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_host import ClaudeCode, Data, hud, uses

from hudkit.hosts.claude_code import status_line
from hudkit.models.scripted_answers import says
from hudkit.testing.model_server import ScriptedModel

SESSION = "5e551000-0000-4000-8000-000000000001"
EVENT: dict[str, Any] = {
    "session_id": SESSION,
    "model": {"id": "claude-sonnet-4-5", "display_name": "Sonnet 4.5"},
    "context_window": {"total_input_tokens": 84_000, "context_window_size": 200_000, "used_percentage": 42},
}


def remembered(folder: Path, **fields: Any) -> None:
    file = folder / "claude-code" / f"{SESSION}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"v": 1, **fields}))


def test_it_shows_window_forecast_task_and_cache(tmp_path: Path) -> None:
    remembered(tmp_path, task="Make the shop's total right", forecast="yellow in 12 calls", time=1_000_000)
    line = status_line.main(str(tmp_path), json.dumps(EVENT), now=1_060)
    assert line == "42% of 200k · yellow in 12 calls · Make the shop's total right · cache warm 4:00"
    cold = status_line.main(str(tmp_path), json.dumps(EVENT), now=2_000)
    assert cold.endswith("cache cold")


def test_without_the_file_it_shows_what_claude_code_says(tmp_path: Path) -> None:
    assert status_line.main(str(tmp_path), json.dumps(EVENT)) == "42% of 200k"
    remembered(tmp_path, used=20_000, limit=200_000)
    assert status_line.main(str(tmp_path), json.dumps({"session_id": SESSION})) == "10% of 200k"


@pytest.mark.parametrize(
    "event",
    ["", "{", "[]", "null", '{"session_id": "../../etc/passwd"}', '{"context_window": 7}', '{"session_id": ["x"]}'],
)
def test_whatever_it_is_told_it_prints_a_line_or_nothing(tmp_path: Path, event: str) -> None:
    assert status_line.main(str(tmp_path), event) == ""


def test_a_task_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    remembered(tmp_path, task="a\x1b[31mred\x07\u202e\n" + "long " * 60)
    line = status_line.main(str(tmp_path), json.dumps(EVENT))
    assert all(letter.isprintable() for letter in line) and len(line) < 120


@pytest.mark.slow
def test_the_users_own_comes_first_and_cannot_break_it(tmp_path: Path) -> None:
    (tmp_path / "install").mkdir()
    manifest = tmp_path / "install" / "claude-code.json"
    command = shlex.split(status_line.status_command(sys.executable, tmp_path))

    def printed(own: str) -> str:
        manifest.write_text(json.dumps({"own_status_line": {"type": "command", "command": own}}))
        done = subprocess.run(
            command, input=json.dumps(EVENT), capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout

    assert printed("echo mine; cat >/dev/null") == "mine\n42% of 200k\n"
    assert printed("grep -o Sonnet | head -1") == "Sonnet\n42% of 200k\n", "it is given what ours is given"
    assert printed("exit 3") == printed("no-such-program") == "42% of 200k\n"


@pytest.mark.slow
def test_it_starts_without_packages_and_without_hudkit(tmp_path: Path) -> None:
    command = shlex.split(status_line.status_command(sys.executable, tmp_path))
    assert command[1:3] == ["-I", "-S"]
    command.insert(1, "-Ximporttime")
    done = subprocess.run(command, input=json.dumps(EVENT), capture_output=True, text=True, timeout=60, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "json" in imported and not imported & {"hudkit", "subprocess", "pathlib", "typing"}, imported


@pytest.mark.slow
@pytest.mark.hosts
def test_the_daemon_keeps_the_file_of_a_session(
    claude: Callable[..., ClaudeCode], model: ScriptedModel, data: Data
) -> None:
    session = claude()
    model.play(uses(hud("task.set", description="Make the shop's total right")), says("done"), says("done"))
    session.say("Please begin.")
    session.say("And now?")
    line = status_line.main(str(data.folder), json.dumps({"session_id": session.session}))
    assert "11% of 200k" in line and "Make the shop's total right" in line and "cache warm" in line
    (file,) = (data.folder / "claude-code").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
