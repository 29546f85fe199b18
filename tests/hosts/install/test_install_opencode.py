"""Installing into a home and taking it out again: nothing else changes, and nothing is left behind."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit import __version__
from hudkit.errors import ConfigError
from hudkit.hosts.installing.jsonc import parse_jsonc
from hudkit.hosts.installing.user_environment import check_interpreter, ephemeral_reason
from hudkit.hosts.opencode.plugin_install import (
    DAEMON_NEEDS,
    PluginTarget,
    install,
    read_installed,
    renew_plugin,
    uninstall,
)
from hudkit.hosts.opencode.versions import installed_generations

pytestmark = pytest.mark.slow

COMMENTED = b'{\r\n  // mine\r\n  "plugin": [\r\n    "other@1.0", // first\r\n  ],\r\n}\r\n'


def tree(home: Path) -> dict[str, bytes | str]:
    """Every path of a home, with contents, or where a link leads."""
    return {
        str(path.relative_to(home)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def folders(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_dir()}


def plugins(config: Path) -> list[object]:
    found = parse_jsonc(config.read_text("utf-8"), "here").value["plugin"]
    assert isinstance(found, list)
    return found


def test_a_home_without_opencode(home: Path, there: PluginTarget) -> None:
    steps = install(there)
    config = home / ".config/opencode/opencode.jsonc"
    assert [(step.path, step.what) for step in steps] == [(str(there.plugin), "create"), (str(config), "create")]
    assert plugins(config) == [str(there.plugin)]
    baked = there.plugin.read_text()
    assert all(json.dumps(str(value)) in baked for value in (there.python, there.data, there.db, there.socket))
    uninstall(there)
    assert (tree(home), folders(home)) == ({}, set())


def older(there: PluginTarget) -> str:
    """Makes the installed plugin one of an older version; gives what it was."""
    install(there)
    now = there.plugin.read_text()
    text = now.replace(f'"version": "{__version__}"', '"version": "0.0.1"').replace("const AGAIN_MS", "const OLD_MS")
    there.plugin.write_text(text)
    return now


def test_a_plugin_that_an_upgrade_left_behind_is_written_anew(there: PluginTarget) -> None:
    now = older(there)
    assert renew_plugin(there.data, there.python) == there.plugin
    assert there.plugin.read_text() == now
    assert renew_plugin(there.data, there.python) is None


def test_a_plugin_of_another_interpreter_or_version_stays(there: PluginTarget, tmp_path: Path) -> None:
    assert renew_plugin(tmp_path, there.python) is None, "nothing is installed"
    older(there)
    before = there.plugin.read_bytes()
    assert renew_plugin(there.data, "/another/python") is None
    there.plugin.write_bytes(before.replace(b'"version": "0.0.1"', b'"version": "999.0"'))
    assert renew_plugin(there.data, there.python) is None
    there.plugin.write_text("// edited\n")
    assert renew_plugin(there.data, there.python) is None
    assert there.plugin.read_text() == "// edited\n"
    there.plugin.unlink()
    assert renew_plugin(there.data, there.python) is None


def test_ours_is_private(there: PluginTarget) -> None:
    old = os.umask(0)
    try:
        install(there)
    finally:
        os.umask(old)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (there.data, *there.data.rglob("*"))}
    assert {path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()
    assert {path.name for path in modes if path.is_file()} == {"hudkit.js", "opencode.json", "directory.json"}


def test_a_commented_configuration_comes_back_byte_for_byte(home: Path, there: PluginTarget, config: Path) -> None:
    config.write_bytes(COMMENTED)
    config.chmod(0o640)
    install(there)
    assert config.read_bytes() == COMMENTED.replace(b"first\r\n", f'first\r\n    "{there.plugin}",\r\n'.encode())
    assert stat.S_IMODE(config.stat().st_mode) == 0o640
    once = tree(home)
    assert {step.what for step in install(there)} == {"keep"}
    assert tree(home) == once
    uninstall(there)
    assert tree(home) == {".config/opencode/opencode.json": COMMENTED}
    assert uninstall(there) == ()


def test_what_was_added_meanwhile_stays(home: Path, there: PluginTarget, config: Path) -> None:
    config.write_bytes(COMMENTED)
    install(there)
    said = config.read_text().replace('"other@1.0",', '"other@1.0", "newer",').replace("mine", "mine, changed")
    config.write_text(said)
    uninstall(there)
    assert plugins(config) == ["other@1.0", "newer"]
    assert config.read_text() == said.replace(f'\n    "{there.plugin}",', "")


def test_opencode_adding_its_schema_to_a_new_file_does_not_keep_it(home: Path, there: PluginTarget) -> None:
    install(there)
    config = home / ".config/opencode/opencode.jsonc"
    config.write_text(json.dumps(json.loads(config.read_text()), indent=4))
    uninstall(there)
    assert not config.exists()
    install(there)
    config.write_text(json.dumps({**json.loads(config.read_text()), "theme": "x"}))
    uninstall(there)
    assert set(json.loads(config.read_text())) == {"$schema", "theme"}


def test_without_its_manifest_our_entry_still_goes(there: PluginTarget, config: Path) -> None:
    config.write_bytes(COMMENTED)
    install(there)
    there.manifest.unlink()
    uninstall(there)
    assert config.read_bytes() == COMMENTED
    assert not there.plugin.exists()


def test_a_symbolic_link_stays_one(home: Path, there: PluginTarget, config: Path) -> None:
    real = home / "dotfiles/oc.json"
    real.parent.mkdir()
    real.write_text('{"model": "a/b"}')
    config.symlink_to(real)
    install(there)
    assert config.readlink() == real
    assert plugins(real) == [str(there.plugin)]
    uninstall(there)
    assert (config.readlink(), real.read_text()) == (real, '{"model": "a/b"}')


def test_a_link_into_a_repository_is_told(home: Path, there: PluginTarget, config: Path) -> None:
    real = home / "dotfiles/opencode/opencode.json"
    real.parent.mkdir(parents=True)
    real.write_text("{}")
    config.symlink_to(real)
    assert [step.hint for step in install(there, dry_run=True)] == ["", ""], "no repository"
    (home / "dotfiles/.git").mkdir()
    plugin, entry = install(there)
    assert plugin.hint == "" and f"{real} is in the repository {home / 'dotfiles'}" in entry.hint
    assert [step.hint for step in install(there)] == ["", ""], "nothing was changed again"


@pytest.mark.parametrize("before", [None, "// none of ours\n"], ids=["no plugin yet", "an older plugin"])
def test_a_configuration_that_cannot_be_written_is_told_the_line(
    home: Path, there: PluginTarget, config: Path, before: str | None
) -> None:
    """Root may write what is read-only, but nobody beside a file whose name has no room for another character."""
    unwritable = home / "store" / ("x" * 250)
    unwritable.parent.mkdir()
    unwritable.write_text("{}")
    config.symlink_to(unwritable)
    if before is not None:
        there.plugin.parent.mkdir(parents=True)
        there.plugin.write_text(before)
    untouched = (tree(home), folders(home))
    with pytest.raises(ConfigError, match="cannot be written") as told:
        install(there)
    assert f'Add "{there.plugin}" to its list "plugin"' in told.value.hint and "Nothing is left" in told.value.hint
    assert (tree(home), folders(home)) == untouched
    unwritable.write_text(json.dumps({"plugin": [str(there.plugin)]}))  # the user did so
    assert [step.what for step in install(there)] == ["create" if before is None else "change", "keep"]
    uninstalled = unwritable.read_bytes()
    with pytest.raises(ConfigError, match="cannot be written") as told:
        uninstall(there)
    assert f'Take "{there.plugin}" out of its list' in told.value.hint
    assert unwritable.read_bytes() == uninstalled and there.plugin.exists()
    unwritable.write_text("{}")
    uninstall(there)
    assert not there.plugin.exists()


def test_directories_of_the_user_stay(home: Path, there: PluginTarget, config: Path) -> None:
    (home / ".local").mkdir()
    install(there)
    (there.data / "hudkit.db").touch()
    uninstall(there)
    assert tree(home).keys() == {".local/share/hudkit/hudkit.db", ".local/share/hudkit/install/directory.json"}
    install(there)
    (there.data / "hudkit.db").unlink()
    uninstall(there)
    assert folders(home) == {".config", ".config/opencode", ".local"}


def test_a_file_with_two_names_keeps_both(home: Path, there: PluginTarget, config: Path) -> None:
    config.write_text("{}")
    (home / "second").hardlink_to(config)
    install(there)
    assert plugins(home / "second") == [str(there.plugin)]


@pytest.mark.parametrize("body", [b"{", b'{"plugin": "x"}', b"\xff\xfe{\x00}\x00", b"[]"])
def test_what_cannot_be_read_is_left_as_it_is(home: Path, there: PluginTarget, config: Path, body: bytes) -> None:
    config.write_bytes(body)
    with pytest.raises(ConfigError, match="left as it is"):
        install(there)
    assert tree(home) == {".config/opencode/opencode.json": body}


def test_the_file_that_lists_plugins_is_taken(home: Path, there: PluginTarget, config: Path) -> None:
    config.write_text('{"plugin": ["a"]}')
    config.with_name("opencode.jsonc").write_text("{}")
    install(there)
    assert plugins(config) == ["a", str(there.plugin)]


def test_dry_run_changes_nothing_and_shows_the_difference(home: Path, there: PluginTarget, config: Path) -> None:
    config.write_text('{\n  "model": "a/b"\n}\n')
    before = (tree(home), folders(home))
    step = install(there, dry_run=True)[1]
    assert step.diff.splitlines()[2:] == [
        "@@ -1,3 +1,4 @@",
        " {",
        '-  "model": "a/b"',
        '+  "model": "a/b",',
        f'+  "plugin": ["{there.plugin}"]',
        " }",
    ]
    assert (tree(home), folders(home)) == before
    install(there)
    before = (tree(home), folders(home))
    assert [one.what for one in uninstall(there, dry_run=True)] == ["change", "remove", "remove"]
    assert (tree(home), folders(home)) == before


def test_a_project_and_the_user_are_two_installations(home: Path, there: PluginTarget, config: Path) -> None:
    config.write_text("{}")
    project = home / "work"
    (project / ".git").mkdir(parents=True)
    (project / "deep").mkdir()
    (project / "opencode.jsonc").write_text("{} // ours")
    within = msgspec.structs.replace(there, project=project / "deep")
    install(there)
    install(within)
    assert plugins(project / "opencode.jsonc") == plugins(config) == [str(there.plugin)]
    uninstall(there)
    assert config.read_text() == "{}"
    assert read_installed(there) is not None
    assert there.plugin.exists()
    uninstall(within)
    assert (project / "opencode.jsonc").read_text() == "{} // ours"
    assert not there.data.exists()


def test_a_project_that_is_gone_does_not_keep_the_plugin(home: Path, there: PluginTarget, config: Path) -> None:
    (home / "work").mkdir()
    install(there)
    install(msgspec.structs.replace(there, project=home / "work"))
    (home / "work/opencode.jsonc").unlink()
    uninstall(there)
    assert not there.plugin.exists()


def test_an_upgrade_rewrites_the_plugin_only(there: PluginTarget, config: Path) -> None:
    config.write_text("{}")
    install(there)
    there.plugin.write_text("// an older one\n")
    assert [step.what for step in install(there)] == ["change", "keep"]
    assert "older one" not in there.plugin.read_text()


def test_a_second_data_directory_is_refused(home: Path, there: PluginTarget, config: Path) -> None:
    install(there)
    there.manifest.write_text(there.manifest.read_text().replace(str(there.plugin), "/elsewhere/hudkit.js"))
    with pytest.raises(ConfigError, match=r"installed from /elsewhere/hudkit\.js"):
        install(there)


def program(folder: Path, version: str, name: str = "opencode") -> None:
    """A program that says its version, and nothing else."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho {version}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("versions", "generations"),
    [
        ({}, set()),
        ({"opencode": "1.18.33"}, {1}),
        ({"opencode": "2.0.18"}, {2}),
        ({"opencode": "opencode 10.1.0-beta"}, {2}),
        ({"opencode": "1.18.33", "opencode2": "0.0.0-beta-18743"}, {1, 2}),
        ({"opencode": "none"}, set()),
    ],
)
def test_the_generations_that_are_there_are_seen(home: Path, versions: dict[str, str], generations: set[int]) -> None:
    for name, version in versions.items():
        program(home / "bin", version, name)
    env = {"HOME": str(home), "PATH": str(home / "bin")}
    assert installed_generations(env) == generations


@pytest.mark.parametrize("project", [False, True], ids=["for the user", "for a project"])
def test_opencode_2_gets_a_loader_file(home: Path, there: PluginTarget, config: Path, project: bool) -> None:
    config.write_text('{"model": "a/b"}')
    (home / "work").mkdir()
    second = msgspec.structs.replace(there, generations=frozenset({1, 2}), project=home / "work" if project else None)
    before = (tree(home), folders(home))
    assert [step.what for step in install(second, dry_run=True)] == ["create", "create"]
    assert (tree(home), folders(home)) == before
    install(second)
    place = "work/.opencode" if project else ".config/opencode"
    loader = home / place / "plugins" / "hudkit.js"
    assert f'export {{ default }} from "{there.plugin.as_uri()}";' in loader.read_text()
    assert config.read_text() == '{"model": "a/b"}', "no entry: OpenCode 1 would load the plugin twice"
    assert {step.what for step in install(second)} == {"keep"}
    assert read_installed(there) is not None
    uninstall(second)
    assert (tree(home), folders(home)) == before


def test_after_an_upgrade_to_opencode_2_the_entry_becomes_a_loader_file(
    home: Path, there: PluginTarget, config: Path
) -> None:
    config.write_bytes(COMMENTED)
    before = (tree(home), folders(home))
    install(there)
    second = msgspec.structs.replace(there, generations=frozenset({2}))
    assert [step.what for step in install(second)] == ["keep", "create", "change"]
    assert config.read_bytes() == COMMENTED
    uninstall(there)
    assert (tree(home), folders(home)) == before


def test_a_plugin_of_our_name_is_left_alone(home: Path, there: PluginTarget, config: Path) -> None:
    theirs = config.parent / "plugins" / "hudkit.js"
    theirs.parent.mkdir()
    theirs.write_text("export default {}\n")
    before = tree(home)
    with pytest.raises(ConfigError, match="is not ours"):
        install(msgspec.structs.replace(there, generations=frozenset({2})))
    install(there)
    uninstall(there)
    assert tree(home) == before


BEFORE = st.sampled_from(
    [
        b"",
        b"// mine",
        b"\xef\xbb\xbf/* a\r\nb */\r\n",
        b"{}",
        b"{\n}",
        COMMENTED,
        b'{"plugin":[]}',
        b'\xef\xbb\xbf{\t"a":1}',
        b'{"plugin":["a"]}//x',
        b"\n",
    ]
)


@settings(max_examples=16)
@given(before=BEFORE, times=st.integers(1, 2))
def test_install_then_uninstall_gives_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, before: bytes, times: int
) -> None:
    home = tmp_path_factory.mktemp("home")
    data = home / "data"
    there = PluginTarget(sys.executable, None, data, data / "hudkit.db", data / "d.sock", {"HOME": str(home)}, home)
    (home / "opencode.json").write_bytes(before)
    for _ in range(times):
        install(there)
    assert parse_jsonc((home / "opencode.json").read_text("utf-8"), "here").value["plugin"][-1] == str(there.plugin)
    uninstall(there)
    assert tree(home) == {"opencode.json": before}


@pytest.mark.parametrize(
    ("prefix", "said"),
    [
        ("/tmp/venv", "temporary"),
        ("/var/tmp/x/venv", "temporary"),
        ("/home/u/.cache/uv/archive-v0/abc", "cache"),
        ("/data/uv/archive-v0/abc", "cache"),
        ("/home/u/.cache/pipx/0a1b", "cache"),
        ("/home/u/.local/pipx/.cache/0a1b", "cache"),
        ("/Users/u/Library/Caches/pipx/0a1b", "cache"),
        ("/fast/caches/0a1b", "cache"),
        ("/home/u/.local/share/uv/tools/hudkit", ""),
        ("/home/u/.local/share/pipx/venvs/hudkit", ""),
        ("/home/u/work/.venv", ""),
        ("/usr", ""),
    ],
)
def test_an_environment_that_will_not_stay_is_known(prefix: str, said: str) -> None:
    found = ephemeral_reason(Path(prefix), {"UV_CACHE_DIR": "/fast/caches"})
    assert said in found
    assert bool(found) == bool(said)


def test_an_interpreter_that_cannot_serve_is_refused(home: Path, there: PluginTarget, config: Path) -> None:
    with pytest.raises(ConfigError, match="there is no interpreter at /nowhere/python"):
        install(msgspec.structs.replace(there, python="/nowhere/python"))
    with pytest.raises(ConfigError, match="will not stay: it is in a cache"):
        install(msgspec.structs.replace(there, prefix=Path("/home/u/.cache/uv/env")))
    bare = home / "python"
    bare.write_text("#!/bin/sh\necho starlette, uvicorn\n")
    bare.chmod(0o755)
    with pytest.raises(ConfigError, match="cannot import starlette, uvicorn"):
        check_interpreter(str(bare), Path("/usr"), {}, DAEMON_NEEDS)
    bare.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(ConfigError, match="cannot be started"):
        check_interpreter(str(bare), Path("/usr"), {}, DAEMON_NEEDS)
    assert tree(home) == {"python": bare.read_bytes()}
