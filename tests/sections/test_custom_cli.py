"""`hudkit sections`: what there is, trust, and a trial; as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.cli import main

pytest.importorskip("pydantic_monty")

GLANCE = "# title: At a glance\n# reads: notes\ndef section(notes):\n    return [f'{len(notes)} notes']\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, at in (("HUDKIT_DATA", "data"), ("HUDKIT_CONFIG", "config/config.toml")):
        monkeypatch.setenv(name, str(tmp_path / at))
    monkeypatch.delenv("HUDKIT_DB", raising=False)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("")
    (tmp_path / "p" / ".hudkit" / "sections").mkdir(parents=True)
    (tmp_path / "p" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "p")
    return tmp_path / "p"


def test_a_projects_file_is_listed_trusted_and_runs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project / ".hudkit" / "sections" / "glance.py"
    file.write_text(GLANCE)
    assert main(["sections"]) == 0
    assert capsys.readouterr().out.startswith(
        "not yet project glance: At a glance, priority 30; hudkit sections trust "
    )
    assert main(["sections", "trust", str(file)]) == 0 and main(["sections", "trust", str(file), "--json"]) == 0
    capsys.readouterr()
    assert main(["sections", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    (one,) = facts["files"]
    assert facts["sandbox"] and one["trusted"] and one["reads"] == ["notes"] and one["level"] == "project"
    trusted = project.parent / "data" / "trusted-sections"
    assert trusted.read_text() == f"{one['sha256']} {file}\n" and trusted.stat().st_mode & 0o777 == 0o600


def test_a_trial_shows_each_density_on_the_state_of_a_session(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "glance.py").write_text(GLANCE)
    assert main(["sections", "try", "glance.py"]) == 0
    assert "## At a glance\n\n- 0 notes\n" in capsys.readouterr().out
    with Hud.open(project.parent / "hud.db") as hud:
        hud.session("s").call("notes.add", {"content": "a"})
        seq = hud.session("s").state.seq
    assert main(["sections", "try", "glance.py", "--db", str(project.parent / "hud.db"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["full"] == "## At a glance\n\n- 1 notes\n" and facts["compact"] == "At a glance: 1 notes\n"
    with Hud.open(project.parent / "hud.db") as hud:
        assert hud.session("s").state.seq == seq, "nothing is recorded"


def test_what_is_wrong_is_said_with_its_exit_code(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sections"]) == 0
    assert "no custom sections (yours would be in " in capsys.readouterr().out
    (project / ".hudkit" / "sections" / "wrong.py").write_text("# priority: high\n")
    assert main(["sections"]) == 1
    assert capsys.readouterr().out.startswith("BAD     project wrong: ")
    (project / "loop.py").write_text("def section():\n    while True: pass\n")
    assert main(["sections", "try", "loop.py"]) == 1
    assert capsys.readouterr().out in ("failed: ran too long\n", "failed: ran too long, and was killed\n")
    for words in (["try"], ["list", "loop.py"], ["trust", "absent.py"], ["trust", str(project)]):
        assert main(["sections", *words]) == 2
        assert capsys.readouterr().err.startswith("hudkit sections: ")
