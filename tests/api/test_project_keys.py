"""What a project is, and how a session is found: by project and host, or by its id alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.hud.session_keys import project_key
from hudkit.log.payloads import TaskSet

AS_NOBODY = """
import os, sys
from hudkit.hud.session_keys import project_key
if os.geteuid() == 0:
    os.setuid(65534)  # root may enter every directory
print(project_key(sys.argv[1]))
"""


def made(path: Path, *, git: bool = False) -> Path:
    path.mkdir(parents=True)
    if git:
        (path / ".git").mkdir()
    return path


def test_a_key_is_twelve_hex_digits_and_stays(tmp_path: Path) -> None:
    key = project_key(tmp_path)
    assert re.fullmatch(r"[0-9a-f]{12}", key)
    assert key == project_key(str(tmp_path)) == project_key(f"{tmp_path}/") == project_key(tmp_path / "x" / "..")


def test_projects_with_the_same_name_differ(tmp_path: Path) -> None:
    one, two = made(tmp_path / "a" / "app"), made(tmp_path / "b" / "app")
    assert project_key(one) != project_key(two)


def test_a_link_to_a_project_is_the_project(tmp_path: Path) -> None:
    real = made(tmp_path / "real")
    (tmp_path / "link").symlink_to(real)
    assert project_key(tmp_path / "link") == project_key(real)
    (tmp_path / "again").symlink_to(tmp_path / "link")
    assert project_key(tmp_path / "again") == project_key(real)


def test_a_project_that_was_moved_is_the_same(tmp_path: Path) -> None:
    key = project_key(made(tmp_path / "old"))
    (tmp_path / "old").rename(tmp_path / "new")
    assert project_key(tmp_path / "new") == key


@pytest.mark.parametrize("below", ["src", "src/deep/er", "not/there"])
def test_below_a_git_root_it_is_the_root(tmp_path: Path, below: str) -> None:
    root = made(tmp_path / "repo", git=True)
    if not below.startswith("not"):
        made(root / below)
    assert project_key(root / below) == project_key(root)


@pytest.mark.parametrize("name", ["a" * 300, pytest.param("x/" * 3000, marks=pytest.mark.slow), "a\0b"])
def test_a_directory_that_cannot_be_looked_at_is_a_project_of_its_own(tmp_path: Path, name: str) -> None:
    hud = Hud.in_memory()
    session = hud.session("ses_1", project=f"{tmp_path}/{name}")
    session.call("notes.add", {"content": "x"})
    assert "x" in session.frame().text
    assert project_key(f"{tmp_path}/{name}") != project_key(f"{tmp_path}/{name}b")


def test_a_directory_below_one_that_may_not_be_entered_is_a_project_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "shut" / "project").mkdir(parents=True)
    (tmp_path / "shut").chmod(0)
    try:
        run = subprocess.run(
            (sys.executable, "-c", AS_NOBODY, str(tmp_path / "shut" / "project")),
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert re.fullmatch(r"[0-9a-f]{12}\n", run.stdout), run.stderr


def test_a_link_into_a_repository_is_the_repository(tmp_path: Path) -> None:
    root = made(tmp_path / "repo", git=True)
    (tmp_path / "link").symlink_to(made(root / "src"))
    assert project_key(tmp_path / "link") == project_key(root)


def test_a_work_tree_whose_git_is_a_file(tmp_path: Path) -> None:
    tree = made(tmp_path / "tree")
    (tree / ".git").write_text("gitdir: elsewhere\n")
    assert project_key(made(tree / "src")) == project_key(tree) != project_key(tmp_path)


def test_the_nearest_git_root_counts(tmp_path: Path) -> None:
    outer = made(tmp_path / "outer", git=True)
    inner = made(outer / "vendor" / "inner", git=True)
    assert project_key(made(inner / "src")) == project_key(inner) != project_key(outer)


def test_without_git_each_directory_is_its_own(tmp_path: Path) -> None:
    parent = made(tmp_path / "plain")
    assert project_key(made(parent / "src")) != project_key(parent)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    assert project_key(tmp_path / "x") == project_key(tmp_path / "x") != project_key(tmp_path / "y")


def test_sessions_of_two_projects_are_two(hud: Hud, tmp_path: Path) -> None:
    one = hud.session("ses_1", project=made(tmp_path / "a" / "app"))
    two = hud.session("ses_1", project=made(tmp_path / "b" / "app"))
    one.append(TaskSet("of a"))
    two.append(TaskSet("of b"))
    assert one.id != two.id and len(hud.sessions()) == 2
    assert (one.state.task.description, two.state.task.description) == ("of a", "of b")
    assert hud.session("ses_1", project=tmp_path / "a" / "app") is one


def test_sessions_of_two_hosts_are_two(hud: Hud, tmp_path: Path) -> None:
    ids = {hud.session("ses_1", project=tmp_path, host=host).id for host in ("", "opencode", "claude")}
    assert len(ids) == 3


@pytest.mark.parametrize("host", ["", "opencode"])
def test_by_its_id_alone_where_there_is_one(hud: Hud, tmp_path: Path, host: str) -> None:
    known = hud.session("ses_1", project=tmp_path, host=host)
    known.append(TaskSet("x"))
    assert hud.session("ses_1") is known
    assert Hud(hud.log).session("ses_1").state == known.state
    assert hud.session(known.id) is known


def test_by_its_id_alone_where_there_are_two(hud: Hud, tmp_path: Path) -> None:
    for name in ("a", "b"):
        hud.session("ses_1", project=made(tmp_path / name)).append(TaskSet(name))
    alone = hud.session("ses_1")
    assert alone.id == "ses_1" and alone.state.seq == 0
    alone.append(TaskSet("its own"))
    assert hud.session("ses_1") is alone and len(hud.sessions()) == 3


@pytest.mark.parametrize("other", ["ses_10", "es_1", "SES_1", "1"])
def test_another_id_is_another_session(hud: Hud, tmp_path: Path, other: str) -> None:
    hud.session("ses_1", project=tmp_path, host="opencode").append(TaskSet("x"))
    assert hud.session(other).id == other


def test_a_session_is_made_by_its_first_event(hud: Hud) -> None:
    session = hud.session("ses_1")
    assert session.state.seq == 0 and hud.sessions() == ()
    session.append(TaskSet("x"))
    assert hud.sessions() == ("ses_1",)
