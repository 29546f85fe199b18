"""`hudkit pin`: one line of the user's that stays in sight."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit import Hud
from hudkit.log import Origin

Run = Callable[..., tuple[int, str, str]]
LINE = "Releases go out on Tuesdays only"


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HUDKIT_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text("")
    path = tmp_path / "hud.db"
    with Hud.open(path) as hud:
        hud.session("ses_1").call("task.set", {"description": "Ship"})
    return path


def test_a_pinned_line_is_the_users_rule_and_in_the_next_frame(hudkit: Run, db: Path) -> None:
    assert hudkit("pin", LINE, "--db", db)[:2] == (0, "ses_1: Added constraint c1.\n")
    with Hud.open(db) as hud:
        session = hud.session("ses_1")
        assert [(rule.text, rule.mark.origin) for rule in session.state.constraints] == [(LINE, Origin.USER)]
        assert LINE in session.frame(used_tokens=1_000, limit_tokens=200_000).text
    code, out, _ = hudkit("pin", "tuesdays", "--remove", "--session", "ses", "--db", db, "--json")
    assert code == 0 and json.loads(out) == {"schema": 1, "session": "ses_1", "id": "c1", "recorded": True}


def test_what_cannot_be_pinned_is_said(hudkit: Run, db: Path) -> None:
    code, _, err = hudkit("pin", "nothing like it", "--remove", "--db", db)
    assert code == 2 and "there is no constraint" in err
    assert hudkit("pin", LINE, "--db", db.with_name("other.db"))[0] == 2
