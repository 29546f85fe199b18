"""Hooks and server put into Codex's files, and taken out: what else is there stays byte for byte."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from hudkit.errors import ConfigError
from hudkit.hosts.codex.codex_install import (
    COMPACT_PROMPT,
    CodexTarget,
    install,
    is_installed,
    missing_parts,
    uninstall,
    untrusted_hooks,
)
from hudkit.hosts.codex.hooks import hook_groups, our_hooks, trust_keys, with_hooks, without_hooks
from hudkit.hosts.installing.toml_tables import with_key, with_table, without_key, without_tables

pytestmark = pytest.mark.slow

CONFIGS = {
    "none": None,
    "empty": b"",
    "comments": b'# Mine.\r\nmodel = "x" # the best\r\n\r\n[mcp_servers.other]\r\ncommand = "x" # keep\r\n# end\r\n',
    "no newline": b'model = "x"\n[tui]\nnotifications = true',
    "states": b'[hooks.state]\n\n[hooks.state."/home/u/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n',
    "inline": b'mcp_servers.other = { command = "x" }\n',
}
HOOKS = {
    "none": None,
    "own": b'{\n  // mine\n  "hooks": {\n    "Stop": [{"hooks": [{"type": "command", "command": "x"}]}, ],\n  },}\n',
    "empty": b"{}",
}


@pytest.fixture
def target(tmp_path: Path) -> CodexTarget:
    home = tmp_path / "home"
    home.mkdir()
    return CodexTarget(
        sys.executable, None, tmp_path / "data", tmp_path / "run" / "d.sock", {"HOME": str(home), "HUDKIT_DATA": "x"}
    )


def put(path: Path, body: bytes | None) -> None:
    if body is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(body)


def tree(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() if path.is_file() else b"" for path in home.rglob("*")}


def trust(target: CodexTarget) -> None:
    """Writes what Codex writes when its user trusts the hooks."""
    lines = [
        f'\n[hooks.state."{key}"]\ntrusted_hash = "sha256:{number:064d}"\n'
        for number, key in enumerate(trust_keys(target.hooks.read_text(), target.hooks))
    ]
    text = target.config.read_bytes().decode()
    head = "" if "[hooks.state]" in text else "\n[hooks.state]\n"
    target.config.write_bytes((text + head + "".join(lines)).encode())


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("hooks", HOOKS)
@pytest.mark.parametrize("config", CONFIGS)
def test_everything_is_as_it_was(target: CodexTarget, config: str, hooks: str, *, trusted: bool) -> None:
    put(target.config, CONFIGS[config])
    put(target.hooks, HOOKS[hooks])
    home = Path(target.env["HOME"])
    before = tree(home)
    install(target)
    again = tree(home)
    assert [step.what for step in install(target)] == ["keep", "keep"] and tree(home) == again
    assert is_installed(target) and missing_parts(target) == [] and untrusted_hooks(target) == 9
    values = tomllib.loads(target.config.read_bytes().decode().replace("\r\n", "\n"))
    assert values["mcp_servers"]["hudkit"]["args"][-4:] == ["hudkit", "mcp", "--host", "codex"]
    if trusted:
        trust(target)
        assert untrusted_hooks(target) == 0
    uninstall(target)
    assert tree(home) == before and not target.data.exists()
    assert not is_installed(target) and uninstall(target) == ()


def test_what_the_user_changed_meanwhile_stays(target: CodexTarget) -> None:
    put(target.config, b"# Mine.\n")
    install(target)
    target.config.write_text(target.config.read_text() + '\n[projects."/home/u/p"]\ntrust_level = "trusted"\n')
    hooks = json.loads(target.hooks.read_text())
    hooks["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "say done"}]})
    target.hooks.write_text(json.dumps(hooks))
    assert trust_keys(target.hooks.read_text(), target.hooks)[-1].endswith(":stop:1:0"), "behind the user's"
    uninstall(target)
    assert target.config.read_text() == '# Mine.\n\n[projects."/home/u/p"]\ntrust_level = "trusted"\n'
    assert json.loads(target.hooks.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}
    }


def test_a_dry_run_changes_nothing(target: CodexTarget) -> None:
    steps = install(target, dry_run=True)
    assert [step.what for step in steps] == ["create", "create"] and "+[mcp_servers.hudkit]" in steps[0].diff
    assert tree(Path(target.env["HOME"])) == {} and not target.data.exists()
    install(target)
    before = tree(Path(target.env["HOME"]))
    assert {step.what for step in uninstall(target, dry_run=True)} == {"remove"}
    assert tree(Path(target.env["HOME"])) == before


def test_another_server_of_that_name_stays(target: CodexTarget) -> None:
    put(target.config, b'[mcp_servers.hudkit]\ncommand = "something-else"\n')
    with pytest.raises(ConfigError, match="another server"):
        install(target)
    assert not target.hooks.exists() and not target.manifest.exists()


def test_the_prompt_of_the_compaction_is_offered_and_never_replaced(target: CodexTarget) -> None:
    put(target.config, b'# Mine.\nmodel = "x"\n')
    install(target, compact_prompt=True)
    assert tomllib.loads(target.config.read_text())["compact_prompt"] == COMPACT_PROMPT
    trust(target)
    install(target)
    uninstall(target)
    assert target.config.read_bytes() == b'# Mine.\nmodel = "x"\n'
    for own in (b'compact_prompt = "Be brief."\n', b'experimental_compact_prompt_file = "p.md"\n'):
        put(target.config, own)
        with pytest.raises(ConfigError, match="already"):
            install(target, compact_prompt=True)
        assert target.config.read_bytes() == own
        install(target)
        uninstall(target)
        assert target.config.read_bytes() == own


def test_definitions_are_the_same_for_all_sessions_and_versions(target: CodexTarget) -> None:
    """Codex asks its user again for each one that differs. Change them only where that is worth it."""
    groups = hook_groups(["python", "-P", "-m", "hudkit", "hook", "codex"])
    assert list(groups) == [
        *("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "SubagentStart", "SubagentStop", "Stop")
    ]
    assert groups["PostToolUse"] == {
        "hooks": [
            {
                "type": "mcp_tool",
                "server": "hudkit",
                "tool": "hud_hook",
                "input": {
                    "hook_event_name": "${hook_event_name}",
                    "session_id": "${session_id}",
                    "transcript_path": "${transcript_path}",
                    "cwd": "${cwd}",
                    "model": "${model}",
                    "tool_name": "${tool_name}",
                    "tool_use_id": "${tool_use_id}",
                },
                "timeout": 1,
            }
        ]
    }
    assert groups["SessionStart"]["hooks"][1]["command"] == "python -P -m hudkit hook codex"
    assert target.server()["env"]["HUDKIT_SOCKET"] == str(target.socket)


def test_hooks_of_an_older_place_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "hooks.json"
    old = with_hooks(None, file, ["/old/python", "-P", "-m", "hudkit", "hook", "codex"]).after or ""
    new = with_hooks(old, file, ["/new/python", "-P", "-m", "hudkit", "hook", "codex"]).after or ""
    assert "/old/python" not in new and len(our_hooks(new, file)) == 7
    assert json.loads(without_hooks(new, file).after or "") == {"hooks": {}}


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("", ("a",)),
        ("[b]\nx = 1\n", ("a", "b c")),
        ('[a."b c".d]\nx = 1\n', ("a", "e")),
        ("# c\r\nx = 1\r\n", ("a",)),
    ],
)
def test_a_table_goes_in_and_out(tmp_path: Path, text: str, table: tuple[str, ...]) -> None:
    file = tmp_path / "config.toml"
    change = with_table(text, file, table, {"k": ["v"], "n": {"m": 1}})
    assert change.after is not None and change.after.startswith(text.rstrip("\r\n"))
    assert without_tables(change.after, file, [table]).after == text


def test_a_table_within_another_is_not_cut_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="safely"):
        without_tables("a = { b = { x = 1 } }\n", tmp_path / "config.toml", [("a", "b")])


def test_a_key_goes_in_before_the_first_table_and_out(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    text = "# c\n[t]\nprompt = 1\n"
    change = with_key(text, file, "prompt", "two\nlines")
    assert change.after is not None and tomllib.loads(change.after) == {"prompt": "two\nlines", "t": {"prompt": 1}}
    assert without_key(change.after, file, "prompt").after == text
