"""`hudkit resume`: a person hands a task on to the next session of a project."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit import Hud
from hudkit.log import Origin

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(tmp_path: Path) -> tuple[Path, Path]:
    """A project and a log with two sessions that have a task."""
    folder, db = tmp_path / "kiln", tmp_path / "hudkit.db"
    (folder / ".git").mkdir(parents=True)
    with Hud.open(db) as hud:
        for id, task in (("ses_old", "Mend the door"), ("ses_new", "Mend the kiln")):
            session = hud.session(id, project=folder, host="claude-code")
            session.start(host="claude-code", directory=str(folder))
            session.call("task.set", {"description": task}, origin=Origin.USER)
            session.call("constraints.add", {"text": "Never touch legacy/"}, origin=Origin.USER)
    return folder, db


@pytest.mark.slow
def test_the_task_that_was_worked_on_last_is_handed_on_and_taken_up(
    hudkit: Command, project: tuple[Path, Path]
) -> None:
    folder, db = project
    code, out, err = hudkit("resume", "--project", folder, "--db", db)
    assert (code, err) == (0, "")
    assert f'The next session in {folder} takes up "Mend the kiln" of claude-code:' in out and "1 rule" in out
    with Hud.open(db) as hud:
        session = hud.session("thread", project=folder, host="codex")
        assert "Mend the kiln" in session.frame(limit_tokens=200_000).text
    code, out, _ = hudkit("resume", "--undo", "--project", folder, "--db", db)
    assert (code, out) == (0, "Nothing was handed on.\n")


@pytest.mark.slow
def test_one_is_chosen_by_its_words_listed_and_taken_back(hudkit: Command, project: tuple[Path, Path]) -> None:
    folder, db = project
    place = ("--project", folder, "--db", db)
    code, out, _ = hudkit("resume", "the door", *place, "--json")
    facts = json.loads(out)
    assert code == 0 and facts["schema"] == 1 and facts["handed_on"]["session"] == "ses_old"
    _, out, _ = hudkit("resume", "--list", *place)
    assert "Mend the door\n  claude-code, 1 rule, handed on\n  hudkit resume ses_old" in out
    _, out, _ = hudkit("resume", "--list", *place, "--json")
    assert [each["task"] for each in json.loads(out)["tasks"]] == ["Mend the kiln", "Mend the door"]
    _, out, _ = hudkit("resume", "--undo", *place, "--json")
    assert json.loads(out)["undone"]["task"] == "Mend the door"


def test_what_cannot_be_handed_on_is_said(hudkit: Command, project: tuple[Path, Path], tmp_path: Path) -> None:
    folder, db = project
    code, _, err = hudkit("resume", "mend", "--project", folder, "--db", db)
    assert code == 2 and "2 open tasks match 'mend'" in err and "ses_new" in err
    code, _, err = hudkit("resume", "--project", tmp_path / "kiln" / ".git", "--db", db, "nobody")
    assert code == 2 and "no open tasks match 'nobody'" in err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert hudkit("resume", "--project", empty, "--db", db)[0] == 2
