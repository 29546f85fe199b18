"""Telling each client of the MCP server and taking it out again: nothing else changes, nothing is left behind."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hudkit.errors import ConfigError
from hudkit.hosts.installing.jsonc import parse_jsonc
from hudkit.hosts.mcp.client_install import (
    CLIENTS,
    ServerTarget,
    install,
    installed_servers,
    uninstall,
    with_entry,
    without_entry,
)
from hudkit.installation import lasting_install_hint

ARGS = ["-P", "-E", "-m", "hudkit", "mcp"]

COMMENTED = b"""{
  // mine
  "theme": "dark", /* so */
  "KEY": {
    "other": {"command": "x"}, // theirs
  },
}
"""

TOML = b"""# mine
model = "gpt-5"

[mcp_servers.other]   # theirs
command = "x"
args = ["[mcp_servers.hudkit]"]

# about the profile
[profiles.fast]
model = '''
[mcp_servers.hudkit]
'''
"""

LINUX = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "codex": ".codex/config.toml",
    "copilot": ".copilot/mcp-config.json",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "lmstudio": ".lmstudio/mcp.json",
    "opencode": ".config/opencode/opencode.jsonc",
    "vscode": ".config/Code/User/mcp.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "zed": ".config/zed/settings.json",
}

each = pytest.mark.parametrize("client", sorted(CLIENTS))


@pytest.fixture
def spot(home: Path) -> ServerTarget:
    return ServerTarget(sys.executable, None, home / ".local/share/hudkit", {"HOME": str(home)}, "linux")


def tree(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


def servers(path: Path, client: str) -> dict[str, Any]:
    text = path.read_text()
    values = tomllib.loads(text) if CLIENTS[client].toml else parse_jsonc(text, "here").value
    found: dict[str, Any] = values[CLIENTS[client].key]
    return found


def written(client: str) -> bytes:
    """A configuration that somebody has written."""
    return TOML if CLIENTS[client].toml else COMMENTED.replace(b"KEY", CLIENTS[client].key.encode())


def at(spot: ServerTarget, home: Path, client: str) -> Path:
    path = home / LINUX[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_every_client_has_its_place() -> None:
    assert set(LINUX) == set(CLIENTS)
    mac = {"HOME": "/Users/u"}
    support = Path("/Users/u/Library/Application Support")
    assert CLIENTS["claude-desktop"].directory(mac, "darwin") == support / "Claude"
    assert CLIENTS["vscode"].directory(mac, "darwin") == support / "Code/User"
    assert CLIENTS["zed"].directory(mac, "darwin") == Path("/Users/u/.config/zed")
    assert CLIENTS["codex"].directory({**mac, "CODEX_HOME": "/c"}, "darwin") == Path("/c")
    assert CLIENTS["claude-code"].directory({**mac, "CLAUDE_CONFIG_DIR": "/c"}, "linux") == Path("/c")
    assert CLIENTS["zed"].directory({**mac, "XDG_CONFIG_HOME": "/x"}, "linux") == Path("/x/zed")


@pytest.mark.slow
@each
def test_a_client_without_a_configuration(home: Path, spot: ServerTarget, client: str) -> None:
    steps = install(spot, client)
    path = home / LINUX[client]
    assert [(step.path, step.what) for step in steps] == [(str(path), "create")]
    entry = servers(path, client)["hudkit"]
    if client == "opencode":
        assert entry == {"type": "local", "command": [sys.executable, *ARGS], "enabled": True}
    else:
        assert (entry["command"], entry["args"]) == (sys.executable, ARGS)
    assert [step.what for step in install(spot, client)] == ["keep"]
    uninstall(spot, client)
    assert tree(home) == {}
    assert {one.name for one in home.iterdir()} <= {".local", ".config"}
    assert uninstall(spot, client) == ()


@pytest.mark.slow
@each
def test_a_configuration_comes_back_byte_for_byte(home: Path, spot: ServerTarget, client: str) -> None:
    path = at(spot, home, client)
    path.write_bytes(written(client))
    path.chmod(0o640)
    install(spot, client)
    assert set(servers(path, client)) == {"other", "hudkit"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    left = [line for line in written(client).splitlines() if line not in path.read_bytes().splitlines()]
    assert left == [], "every line of theirs is as it was"
    once = tree(home)
    install(spot, client)
    assert tree(home) == once
    uninstall(spot, client)
    assert tree(home) == {LINUX[client]: written(client)}


@pytest.mark.slow
@each
def test_what_was_added_meanwhile_stays(home: Path, spot: ServerTarget, client: str) -> None:
    path = at(spot, home, client)
    path.write_bytes(written(client))
    install(spot, client)
    said = path.read_bytes().replace(b"mine", b"mine, changed")
    if CLIENTS[client].toml:
        said += b'enabled = true\n\n[mcp_servers.hudkit.tools.hud]\napproval = "x"\n'
        said += b'# end\n[mcp_servers.later]\nurl = "u"\n'
    path.write_bytes(said)
    uninstall(spot, client)
    expected = written(client).replace(b"mine", b"mine, changed")
    if CLIENTS[client].toml:
        expected += b'# end\n[mcp_servers.later]\nurl = "u"\n'
    assert path.read_bytes() == expected


@pytest.mark.slow
@each
def test_an_older_entry_of_ours_is_replaced_and_goes(home: Path, spot: ServerTarget, client: str) -> None:
    path = at(spot, home, client)
    path.write_bytes(written(client))
    install(msgspec.structs.replace(spot, env={**spot.env, "HUDKIT_DB": "/elsewhere.db"}), client)
    assert "/elsewhere.db" in path.read_text()
    assert [step.what for step in install(spot, client)] == ["change"]
    assert "/elsewhere.db" not in path.read_text()
    path.write_bytes(path.read_bytes() + b"\n")
    install(msgspec.structs.replace(spot, env={**spot.env, "HUDKIT_DB": "/third.db"}), client)
    uninstall(spot)
    assert path.read_bytes().rstrip() == written(client).rstrip()
    assert not spot.data.exists()


@pytest.mark.slow
@each
@pytest.mark.parametrize("there", [True, False])
def test_what_was_replaced_comes_back_as_it_was_first(
    home: Path, spot: ServerTarget, client: str, there: bool
) -> None:
    if there:
        at(spot, home, client).write_bytes(written(client))
    before = tree(home)
    install(msgspec.structs.replace(spot, env={**spot.env, "HUDKIT_DB": "/elsewhere.db"}), client)
    install(spot, client)
    uninstall(spot, client)
    assert tree(home) == before
    assert there or {one.name for one in home.iterdir()} <= {".local", ".config"}


def test_a_configuration_that_was_removed_meanwhile(home: Path, spot: ServerTarget) -> None:
    path = at(spot, home, "cursor")
    path.write_text("{}")
    install(spot, "cursor")
    path.unlink()
    assert installed_servers(spot) == ()
    install(spot, "cursor")
    uninstall(spot)
    assert tree(home) == {}


@pytest.mark.slow
@each
def test_without_its_manifest_our_entry_still_goes(home: Path, spot: ServerTarget, client: str) -> None:
    path = at(spot, home, client)
    path.write_bytes(written(client))
    install(spot, client)
    spot.manifest.unlink()
    assert uninstall(spot) == ()
    uninstall(spot, client)
    assert path.read_bytes() == written(client)


@pytest.mark.slow
@each
def test_another_server_of_our_name_is_left(home: Path, spot: ServerTarget, client: str) -> None:
    path = at(spot, home, client)
    body = json.dumps({CLIENTS[client].key: {"hudkit": {"command": "mine"}}}).encode()
    if CLIENTS[client].toml:
        body = b'[mcp_servers.hudkit]\ncommand = "mine"\n'
    path.write_bytes(body)
    with pytest.raises(ConfigError, match="another server that is called"):
        install(spot, client)
    uninstall(spot, client)
    assert tree(home) == {LINUX[client]: body}


@pytest.mark.slow
@each
def test_what_cannot_be_read_is_left_as_it_is(home: Path, spot: ServerTarget, client: str) -> None:
    path = at(spot, home, client)
    key = CLIENTS[client].key.encode()
    for body in (b"{", b"\xff\xfe{", b"[]", b'{"%s": 1}' % key, b'%s = "x"' % key, b"%s = { }" % key):
        path.write_bytes(body)
        if CLIENTS[client].toml and body == b"[]":
            continue
        with pytest.raises(ConfigError, match="left as it is"):
            install(spot, client)
        assert tree(home) == {LINUX[client]: body}


def test_dry_run_changes_nothing_and_shows_the_difference(home: Path, spot: ServerTarget) -> None:
    path = at(spot, home, "codex")
    path.write_bytes(TOML)
    (step,) = install(spot, "codex", dry_run=True)
    assert [line for line in step.diff.splitlines()[2:] if line[:1] in "+-"] == [
        "+",
        "+[mcp_servers.hudkit]",
        f'+command = "{sys.executable}"',
        '+args = ["-P", "-E", "-m", "hudkit", "mcp"]',
    ]
    assert tree(home) == {LINUX["codex"]: TOML}


def test_projects_and_the_user_are_apart(home: Path, spot: ServerTarget) -> None:
    project = home / "work"
    (project / ".git").mkdir(parents=True)
    (project / "deep").mkdir()
    within = msgspec.structs.replace(spot, project=project / "deep")
    install(spot, "cursor")
    install(within, "cursor")
    assert (project / ".cursor/mcp.json").is_file()
    assert [one.touched.file for one in installed_servers(spot)] == [
        str(home / ".cursor/mcp.json"),
        str(project / ".cursor/mcp.json"),
    ]
    uninstall(within, "cursor")
    assert not (project / ".cursor").exists()
    assert (home / ".cursor/mcp.json").is_file()
    with pytest.raises(ConfigError, match="Claude Desktop has no configuration of projects"):
        install(within, "claude-desktop")


@pytest.mark.slow
def test_without_a_client_all_are_taken_out(home: Path, spot: ServerTarget) -> None:
    for client in CLIENTS:
        install(spot, client)
    assert len(installed_servers(spot)) == len(CLIENTS)
    uninstall(spot)
    assert tree(home) == {}


def test_variables_that_a_client_would_not_have_are_carried(home: Path, spot: ServerTarget) -> None:
    given = {"HUDKIT_DB": "/a.db", "XDG_DATA_HOME": "/x", "OTHER": "y"}
    install(msgspec.structs.replace(spot, env={**spot.env, **given}), "cursor")
    assert servers(home / ".cursor/mcp.json", "cursor")["hudkit"]["env"] == {
        "HUDKIT_DATA": str(spot.data),
        "HUDKIT_DB": "/a.db",
    }


def test_an_environment_that_will_not_stay_is_refused(home: Path, spot: ServerTarget) -> None:
    with pytest.raises(ConfigError, match="will not stay") as caught:
        install(msgspec.structs.replace(spot, prefix=Path("/home/u/.cache/uv/env")), "cursor")
    assert lasting_install_hint("mcp") in caught.value.hint
    with pytest.raises(ConfigError, match="there is no client 'nobody'"):
        install(spot, "nobody")
    assert tree(home) == {}


@pytest.mark.slow
def test_what_was_written_starts_the_server(home: Path, spot: ServerTarget) -> None:
    """In a directory that has packages of the same names."""
    install(spot, "cursor")
    entry = servers(home / ".cursor/mcp.json", "cursor")["hudkit"]
    for name in ("hudkit", "mcp"):
        (home / name).mkdir()
        (home / name / "__init__.py").write_text("raise SystemExit(3)")
    done = subprocess.run(
        [entry["command"], *entry["args"], "--help"],
        cwd=home,
        env={**spot.env, "PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.startswith("usage: hudkit mcp")) == (0, True), done.stderr


ENTRY = {"command": "/p/python", "args": ARGS, "env": {"A": 'x"\\ü'}}
LINES = st.sampled_from(
    [
        "",
        "# a comment",
        "[a]",
        "[a.b] # x",
        "[[list]]",
        "[mcp_servers]",
        "[mcp_servers.other]",
        '[mcp_servers."hudkit2"]',
        'k1 = "[mcp_servers.hudkit]"',
        "k2 = [\n  1,\n  [2],\n]",
        "k3 = '''\n[mcp_servers.hudkit]\n[x]\n'''",
        '["mcp_servers".third]',
    ]
)


@pytest.mark.slow
@settings(max_examples=150)
@given(lines=st.lists(LINES, max_size=8), ends=st.sampled_from(["", "\n", "\n\n"]), crlf=st.booleans())
@example(lines=["[mcp_servers]"], ends="", crlf=False)
@example(lines=[], ends="", crlf=False)
def test_toml_stays_byte_for_byte(lines: list[str], ends: str, crlf: bool) -> None:
    """Whatever the rest is: it stays, or the file is refused; what is put in comes out again."""
    text = "\n".join(lines) + ends
    text = text.replace("\n", "\r\n") if crlf else text
    where, client = Path("config.toml"), CLIENTS["codex"]
    try:
        change = with_entry(text, where, client, ENTRY)
    except ConfigError:
        with pytest.raises(tomllib.TOMLDecodeError):
            tomllib.loads(text)
        return
    assert change.after is not None
    assert change.after.startswith(text)
    assert tomllib.loads(change.after)["mcp_servers"]["hudkit"] == ENTRY
    out = without_entry(change.after, where, client).after
    assert out is not None
    none: dict[str, Any] = {"mcp_servers": {}}
    assert none | tomllib.loads(out) == none | tomllib.loads(text)
    assert out.split() == text.split()
