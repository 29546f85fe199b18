"""`hudkit install opencode` and `hudkit uninstall opencode` as commands: what they print, and what purging takes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from hudkit.api import Hud
from hudkit.cli.commands import install as installing
from hudkit.cli.commands import uninstall as uninstalling
from hudkit.cli.parsing import load_run
from hudkit.daemon import client
from hudkit.errors import ConfigError
from hudkit.paths import user_config

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`command(module, "opencode", "--dry-run")` gives the exit code and the output, in a home of its own."""
    for name in ("XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HUDKIT_DB", "HUDKIT_SOCKET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HUDKIT_DATA", str(home / "data"))
    monkeypatch.chdir(home)

    def run(module: ModuleType, *argv: str) -> tuple[int, str]:
        parser = argparse.ArgumentParser()
        module.COMMAND.arguments(parser)
        anyway = ["--anyway"] if module is installing else []  # wherever the tests run
        code = load_run(module.COMMAND.run)(parser.parse_args([*argv, *anyway]))
        return code, capsys.readouterr().out

    return run


def test_the_examples_work_as_they_are_printed(command: Command) -> None:
    for module in (installing, uninstalling):
        words = module.COMMAND.example.split()
        assert words[:2] == ["hudkit", module.__name__.rpartition(".")[2]]
        assert command(module, *words[2:])[0] == 0


def test_dry_run_prints_a_difference_that_patch_would_take(home: Path, command: Command) -> None:
    config = home / ".config/opencode/opencode.json"
    config.parent.mkdir(parents=True)
    config.write_text("{}\n")
    _, said = command(installing, "opencode", "--dry-run")
    plugin = home / "data/plugins/opencode/hudkit.js"
    assert said.splitlines() == [
        f"# create {plugin}",
        f"--- {config}",
        f"+++ {config}",
        "@@ -1 +1,3 @@",
        "-{}",
        "+{",
        f'+  "plugin": ["{plugin}"]',
        "+}",
    ]
    assert config.read_text() == "{}\n"


def test_json_has_a_schema_and_every_step(home: Path, command: Command) -> None:
    told = json.loads(command(installing, "opencode", "--json")[1])
    assert (told["schema"], told["host"], told["dry_run"]) == (1, "opencode", False)
    assert [step["what"] for step in told["steps"]] == ["create", "create"]
    told = json.loads(command(uninstalling, "opencode", "--json")[1])
    assert {step["what"] for step in told["steps"]} == {"remove"}
    assert "not installed here" in command(uninstalling, "opencode")[1]


def test_what_is_on_is_said_with_the_key_that_turns_it(home: Path, command: Command) -> None:
    config = user_config()
    said = command(installing, "opencode")[1]
    assert "  on  index of past transcripts     [memory] index = false turns it off\n" in said
    assert " off  pruning of old tool outputs   [pruning] enabled = true turns it on\n" in said
    assert said.endswith(f"The file for that is {config}.\n")
    config.parent.mkdir(parents=True)
    config.write_text("[pruning]\nenabled = true\n")
    said = command(installing, "opencode")[1]
    assert "  on  pruning of old tool outputs   [pruning] enabled = false turns it off\n" in said
    assert "pruning" not in command(installing, "opencode", "--json")[1]


@pytest.mark.slow
def test_purging_leaves_nothing_and_ends_the_daemon(home: Path, command: Command) -> None:
    command(installing, "opencode")
    data = home / "data"
    client.ensure_running(data / "run/daemon.sock", db=data / "hudkit.db")
    with Hud.open(data / "hudkit.db") as hud:
        hud.session("ses_1").call("task.set", {"description": "x"})
    command(uninstalling, "opencode")
    assert client.greet(data / "run/daemon.sock") is None
    assert (data / "hudkit.db").exists()
    command(uninstalling, "opencode", "--purge", "--dry-run")
    assert (data / "hudkit.db").exists()
    command(uninstalling, "opencode", "--purge")
    assert not data.exists()


def test_purging_takes_the_directories_that_were_made(
    home: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = home / ".local/share/hudkit"
    monkeypatch.setenv("HUDKIT_DATA", str(data))
    command(installing, "opencode")
    (data / "hudkit.db").touch()
    command(uninstalling, "opencode")
    assert (data / "hudkit.db").exists()
    command(uninstalling, "opencode", "--purge")
    assert list(home.iterdir()) == []


def test_a_hint_is_printed_below_its_file(home: Path, command: Command) -> None:
    (home / "dotfiles/.git").mkdir(parents=True)
    (home / "dotfiles/opencode.json").write_text("{}")
    (home / ".config/opencode").mkdir(parents=True)
    (home / ".config/opencode/opencode.json").symlink_to(home / "dotfiles/opencode.json")
    said = command(installing, "opencode")[1].splitlines()
    assert "is in the repository" in said[2] and said[1].endswith(".config/opencode/opencode.json")


@pytest.mark.slow
def test_the_log_stays_while_another_configuration_uses_it(home: Path, command: Command) -> None:
    command(installing, "opencode")
    command(installing, "opencode", "--project")
    log = home / "data/hudkit.db"
    log.touch(0o600)
    with pytest.raises(ConfigError, match="also installed elsewhere"):
        command(uninstalling, "opencode", "--purge")
    assert log.exists()
    command(uninstalling, "opencode", "--project", "--purge")
    assert not (home / "data").exists()
    assert not (home / "opencode.jsonc").exists()


@pytest.mark.slow
def test_a_client_of_mcp(home: Path, command: Command) -> None:
    with pytest.raises(ConfigError, match="no client is named") as caught:
        command(installing, "mcp")
    assert "claude-code, claude-desktop, codex" in caught.value.hint
    code, said = command(installing, "mcp", "--client", "cursor")
    assert (code, f"made  {home / '.cursor/mcp.json'}" in said) == (0, True)
    command(installing, "opencode")
    log = home / "data/hudkit.db"
    log.touch(0o600)
    with pytest.raises(ConfigError, match="also installed elsewhere"):
        command(uninstalling, "opencode", "--purge")
    assert json.loads(command(uninstalling, "mcp", "--json")[1])["host"] == "mcp"
    assert "not installed here" in command(uninstalling, "mcp")[1]
    command(uninstalling, "mcp", "--purge")
    assert not (home / "data").exists()


def test_codex_has_one_server_whichever_is_installed_first(home: Path, command: Command) -> None:
    config = home / ".codex" / "config.toml"
    command(installing, "mcp", "--client", "codex")
    assert "--host" not in config.read_text()
    _, said = command(installing, "codex")
    assert "9 hooks" in said and "--compact-prompt" in said
    text = config.read_text()
    assert text.count("[mcp_servers.hudkit]") == 1 and '"--host", "codex"' in text
    _, said = command(installing, "mcp", "--client", "codex")
    assert "hudkit install codex" in said and config.read_text() == text
    with pytest.raises(ConfigError, match="for the user"):
        command(installing, "codex", "--project")
    _, said = command(uninstalling, "codex", "--purge")
    assert "hudkit is uninstalled" in said
    assert not config.parent.exists() and not (home / "data").exists()


@pytest.mark.slow
def test_who_has_it_in_no_host_purges_without_naming_one(home: Path, command: Command) -> None:
    """As one does who uses it from a program, or its own agent."""
    with Hud.open(home / "data" / "hudkit.db") as hud:
        hud.session("s").call("notes.add", {"content": "x"})
    _, shown = command(uninstalling, "--purge", "--dry-run")
    assert "hudkit.db" in shown and (home / "data" / "hudkit.db").exists()
    command(installing, "opencode")
    with pytest.raises(ConfigError, match="still in use"):
        command(uninstalling, "--purge")
    command(uninstalling, "opencode")
    assert command(uninstalling, "--purge")[0] == 0
    assert not (home / "data").exists()
    with pytest.raises(ConfigError, match="no host is named"):
        command(uninstalling)
