"""Claude Code in a real terminal, as most people have it: there the system prompt is made behind the first prompt."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from claude_host import Data, environment, hud, uses

from hudkit.hosts.claude_code.status_line import status_command
from hudkit.models.scripted_answers import says
from hudkit.testing.model_server import ScriptedModel
from npm_programs import CLAUDE_CODE, executable
from terminal_harness import Desk, Tmux, open_tmux

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

BASE = "Your HUD outlives compaction."


def known_user(home: Path, project: Path, data: Data) -> None:
    """A home whose user has answered Claude Code's first questions, with our status line."""
    (home / ".claude").mkdir(parents=True)
    line = {"type": "command", "command": status_command(sys.executable, data.folder)}
    (home / ".claude" / "settings.json").write_text(json.dumps({"statusLine": line}))
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    answered = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": CLAUDE_CODE.version,
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": ["x"], "rejected": []},
        "projects": {str(project): trusted},
    }
    (home / ".claude.json").write_text(json.dumps(answered))


def enter(terminal: Tmux, words: str) -> None:
    """Type words, and the key when they are there: in one burst it would be a line break of a text that is pasted."""
    terminal.type(words)
    terminal.wait(words)
    terminal.type("Enter")


def test_one_base_a_command_for_the_person_only_the_status_line_and_what_it_cost(
    claude_code_installed: Path, model: ScriptedModel, data: Data, tmp_path: Path
) -> None:
    desk = Desk(tmp_path)
    home = tmp_path / "home"
    known_user(home, desk.project, data)
    model.play(uses(hud("task.set", description="Make the shop's total right")), says("first answer"))
    model.play(says("second answer"), says("third answer"))
    variables = environment(home, model.url, {"TERM": "xterm-256color"})
    command = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), str(executable(CLAUDE_CODE))]
    command += ["--plugin-dir", str(data.write_plugin()), "--permission-mode", "bypassPermissions"]
    with open_tmux(desk) as terminal:
        terminal.type(shlex.join([*command, "--model", "claude-sonnet-4-5"]), "Enter")
        terminal.wait("bypass permissions on")
        enter(terminal, "Please begin. Never touch legacy/.")
        terminal.wait("first answer")
        enter(terminal, "/hud")
        terminal.wait("# Task")
        terminal.wait("cache warm")
        enter(terminal, "And now?")
        terminal.wait("second answer")
        enter(terminal, "/compact")
        model.wait("compaction", seconds=300)
        terminal.wait("Compacted")
        enter(terminal, "Go on.")
        terminal.wait("third answer")
        screen = terminal.screen()
        enter(terminal, "/exit")
        terminal.wait("of the cost without it, 1 compaction, 4 calls")
        last_words = terminal.screen()
    assert "Make the shop's total right" in screen, "the status line"
    assert re.search(
        r"Resume this session.*\nHUD: × 1\.\d\d of the cost without it, 1 compaction, 4 calls", last_words, re.S
    )
    assert [chat.text.count(BASE) for chat in model.chats] == [1] * len(model.chats)
    assert all("\n".join(chat.system).count(BASE) == 1 for chat in model.chats)
    last = model.chats[-1]
    assert "legacy/" in last.text and "# Task" not in "\n".join(text for _, text in last.messages)
