"""`hudkit project`: show, add, remove, and trust in the project's file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.hud.always_file import AlwaysItem, add_always

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HUDKIT_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text("")
    root = tmp_path / "orchard"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    return root


@pytest.mark.slow
def test_add_show_remove(hudkit: Run, place: Path, tmp_path: Path) -> None:
    assert hudkit("project") == (0, "no defaults are set\n", "")
    assert not (tmp_path / "data").exists(), "looking makes no log"
    assert hudkit("project", "add", "notes", "Deploys are on Mondays")[:2] == (0, "note: Deploys are on Mondays\n")
    with Hud.open(tmp_path / "data" / "hudkit.db") as hud:
        assert "- Deploys are on Mondays\n" in hud.session("s", project=place).frame().base
    code, out, _ = hudkit("project", "--json")
    assert code == 0 and json.loads(out)["notes"] == ["Deploys are on Mondays"]
    assert hudkit("project", "remove", "notes", "Deploys are on Mondays")[:2] == (0, "no defaults are set\n")
    assert hudkit("project", "remove", "notes", "never said")[0] == 2
    assert hudkit("project", "add", "rules", "x")[0] == 2
    assert hudkit("project", "add", "notes")[0] == 2
    assert hudkit("show", "--db", tmp_path / "data" / "hudkit.db")[0] == 0


def test_what_its_user_made_hold_there_is_counted(hudkit: Run, place: Path, tmp_path: Path) -> None:
    add_always(tmp_path / "always.toml", AlwaysItem("constraints", "Never push", project=str(place)))
    add_always(tmp_path / "always.toml", AlwaysItem("constraints", "Never pull", project=str(tmp_path)))
    assert hudkit("project")[1].endswith("\n1 more by hudkit review: hudkit review --always lists them\n")


def test_trust(hudkit: Run, place: Path) -> None:
    assert hudkit("project", "trust")[0] == 2
    (place / ".hudkit.toml").write_text('[project]\nnotes = ["Ask first"]\n')
    assert "not trusted" in hudkit("project")[1]
    assert hudkit("project", "trust")[0] == 0
    out = hudkit("project")[1]
    assert "1 more (trusted)" in out and "note: Ask first" in out
    assert hudkit("config", "check")[0] == 0, "the table is no wrong setting"
    (place / ".hudkit.toml").write_text("[project]\nnotes = 1\n")
    code, out, _ = hudkit("project")
    assert code == 1 and "BAD" in out
