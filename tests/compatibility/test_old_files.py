"""Settings, sections, plugins, definitions and manifests that were written before the redesign are still read."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compatibility_files import FIXTURES, as_text
from compatibility_internals import RENAMED_SETTINGS, read_definitions

Facts = Callable[..., Any]
Golden = Callable[[str, str], None]

WRITTEN = FIXTURES / "config" / "config.toml"
INSTALLED = (
    "data/install/opencode.json",
    "data/install/mcp.json",
    "config/opencode/opencode.json",
    "cursor/mcp.json",
)


@pytest.mark.slow
def test_every_setting_is_taken_from_a_file_with_todays_keys(hudkit: Any, golden: Golden, stored: Path) -> None:
    """A key may get another name; the old one is read, with a warning that names the new one."""
    (stored / "project" / ".hudkit.toml").unlink()
    code, out, _ = hudkit("config", "--json")
    told = json.loads(out)
    golden("settings.json", as_text(by_old_names(told, "value")))
    assert set(by_old_names(told, "from").values()) == {"user"}, "a key was not read"
    assert code == 0 and told["warnings"] == []
    for new in RENAMED_SETTINGS.values():
        assert any(new in notice for notice in told["renamed"]), f"no notice names {new}"


@pytest.mark.slow
def test_a_projects_settings_are_laid_over_them(hudkit: Any, golden: Golden, stored: Path) -> None:
    told = json.loads(hudkit("config", "--json")[1])
    rows = {"values": by_old_names(told, "value"), "from": by_old_names(told, "from")}
    golden("settings_with_project.json", as_text(rows))


def by_old_names(told: Any, field: str) -> dict[str, Any]:
    """A field of every setting, by the key that it had when the file was written; later keys are left out."""
    old = {new: name for name, new in RENAMED_SETTINGS.items()}
    known = {key for table, inner in tomllib.loads(WRITTEN.read_text()).items() for key in names_of(table, inner)}
    found = {old.get(row["key"], row["key"]): row[field] for row in told["settings"]}
    assert known <= set(found), f"no key for {sorted(known - set(found))}"
    return {name: found[name] for name in known}


def names_of(table: str, inner: Any) -> list[str]:
    return [f"{table}.{name}" for name in inner] if isinstance(inner, dict) else [table]


def test_sections_are_found_and_those_of_a_project_stay_trusted(facts: Facts, stored: Path) -> None:
    told = facts("sections")["files"]
    assert [(one["name"], one["level"], one["trusted"], one["wrong"]) for one in told] == [
        ("glance", "user", True, ""),
        ("house", "project", True, ""),
    ]
    assert [(one["title"], one["reads"], one["priority"]) for one in told] == [
        ("Glance", ["steps", "notes"], 40),
        ("House rules", ["decisions"], 30),
    ]


@pytest.mark.slow
def test_a_section_runs_on_the_state_of_a_stored_session(facts: Facts, stored: Path) -> None:
    pytest.importorskip("pydantic_monty")
    file = stored / "config" / "sections" / "glance.py"
    told = facts("sections", "try", file, "--session", "ses_orchard", "--db", stored / "data" / "hudkit.db")
    assert told["error"] == "" and "2 steps" in told["full"] and "3 notes" in told["full"]


def test_a_projects_defaults_stay_trusted(facts: Facts, stored: Path) -> None:
    file = facts("project", "--db", stored / "data" / "hudkit.db")["file"]
    assert file["trusted"] is True and file["wrong"] == ""
    assert file["conventions"] == ["Trees are named by row and place"]


def test_agents_commands_skills_and_plugins_are_read(golden: Golden, stored: Path) -> None:
    trusted = stored / "data" / "trusted-plugins"
    found = read_definitions(stored / "project", stored / "config", trusted)
    golden("definitions.json", as_text(found))


@pytest.mark.parametrize(
    ("host", "client", "file"),
    [("opencode", (), "config/opencode/opencode.json"), ("mcp", ("--client", "cursor"), "cursor/mcp.json")],
)
def test_what_was_installed_is_taken_out_by_its_manifest(
    facts: Facts, stored: Path, monkeypatch: pytest.MonkeyPatch, host: str, client: tuple[str, ...], file: str
) -> None:
    home = stored / "home"
    for one in (
        "data/install/opencode.json",
        "data/install/mcp.json",
        "config/opencode/opencode.json",
        "cursor/mcp.json",
    ):
        path = home / one
        path.write_text(path.read_text().replace("@HOME@", str(home)).replace("@PYTHON@", "/usr/bin/python3"))
    (home / "config").rename(home / ".config")
    (home / "cursor").rename(home / ".cursor")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("HUDKIT_DATA", str(home / "data"))
    told = facts("uninstall", host, *client)
    former = {"opencode": {"theme": "night"}, "mcp": {"mcpServers": {}}}
    assert told["steps"] and json.loads((home / f".{file}").read_text()) == former[host]
    assert not (home / "data" / "install" / f"{host}.json").exists()
