"""docs/recovery.md: its commands, in their order, find damage, repair it, back the log up and put it back."""

from __future__ import annotations

import re
import shlex
import sqlite3
import tomllib
from pathlib import Path

import pytest

from hudkit import Hud
from hudkit.cli import main
from hudkit.config import settings_from

PAGE = (Path(__file__).parent.parent.parent / "docs" / "recovery.md").read_text(encoding="utf-8")


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's log with a damaged event, and no daemon."""
    data = tmp_path / "data"
    monkeypatch.setenv("HUDKIT_DATA", str(data))
    monkeypatch.setenv("HUDKIT_SOCKET", str(tmp_path / "run" / "d.sock"))
    monkeypatch.delenv("HUDKIT_DB", raising=False)
    path = data / "hudkit.db"
    with Hud.open(path) as hud:
        for number in range(1, 6):
            hud.session("ses_1").call("notes.add", {"content": f"note {number}"})
    with sqlite3.connect(path) as db:
        db.execute("UPDATE events SET body = CAST(replace(body, 'note 2', 'note 9') AS BLOB) WHERE seq = 2")
    db.close()
    return path


@pytest.mark.slow
def test_the_commands_of_the_page_do_what_it_says(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes: dict[str, int] = {}
    outputs: dict[str, str] = {}
    for line in re.findall(r"^\$ hudkit (.*)$", PAGE, re.MULTILINE):
        codes[line] = main(shlex.split(line))
        outputs[line] = "".join(capsys.readouterr())
    codes.pop("doctor")  # of this machine
    assert codes.pop("verify") == codes.pop("show") == codes.pop("repair --dry-run") == 1
    assert set(codes.values()) == {0}, (codes, outputs)
    assert "left out: event 2" in outputs["show"] and "lost: ses_1, event 2 (note.add)" in outputs["repair"]
    assert len(list(damaged.parent.glob("*.before-*-*"))) >= 2
    assert main(["verify"]) == 0
    with Hud.open(damaged) as hud:
        assert [note.content for note in hud.session("ses_1").state.notes] == ["note 1", "note 3", "note 4", "note 5"]


def test_the_settings_of_the_page_are_settings() -> None:
    (block,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert settings_from(tomllib.loads(block), "the page").backup.every_hours == 24
