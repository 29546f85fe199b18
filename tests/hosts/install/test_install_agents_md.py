"""The block in a project's AGENTS.md: written, brought up to date, and taken out to the byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hudkit.tools.definitions  # noqa: F401 (its import is what fills the table of operations)
from hudkit.errors import ConfigError
from hudkit.hosts.installing import agents_md
from hudkit.hosts.installing.agents_md import BLOCK
from hudkit.tools.operation import OPERATIONS


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "project/src").mkdir()
    return tmp_path / "project"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "share" / "hudkit"


def test_every_operation_that_it_names_is_there() -> None:
    names = set(re.findall(r"`([a-z]+(?:\.[a-z]+)?)`", BLOCK)) - {"hud", "memory"}
    assert len(names) >= 8 and names <= OPERATIONS.keys()


@pytest.mark.parametrize(
    "body",
    [None, b"", b"# Mine\n", b"# Mine", b"# Mine\r\n\r\nrules\r\n", b"\xef\xbb\xbf# BOM\n\n\n", "# Größe\n".encode()],
)
def test_a_file_gets_back_its_bytes(project: Path, data: Path, body: bytes | None) -> None:
    file = project / "AGENTS.md"
    if body is not None:
        file.write_bytes(body)
    (step,) = agents_md.install(project / "src", data)
    assert step.what == ("create" if body is None else "change")
    written = file.read_bytes()
    assert written.startswith(body or b"") and b"hudkit: begin" in written
    if b"\r\n" in (body or b""):
        assert not re.search(rb"[^\r]\n", written)
    assert [step.what for step in agents_md.install(project, data)] == ["keep"]
    agents_md.uninstall(project / "src", data)
    assert (file.read_bytes() if body is not None else file.exists()) == (body if body is not None else False)
    assert not data.parent.exists()


def test_a_dry_run_shows_the_difference_and_changes_nothing(project: Path, data: Path) -> None:
    (project / "AGENTS.md").write_text("# Mine\n")
    (step,) = agents_md.install(project, data, dry_run=True)
    assert "+## hudkit\n" in step.diff and " # Mine\n" in step.diff
    assert (project / "AGENTS.md").read_text() == "# Mine\n" and not data.exists()
    agents_md.install(project, data)
    before = (project / "AGENTS.md").read_text()
    assert [step.what for step in agents_md.uninstall(project, data, dry_run=True)] == ["change", "remove"]
    assert (project / "AGENTS.md").read_text() == before


def test_what_was_written_around_the_block_stays(project: Path, data: Path) -> None:
    file = project / "AGENTS.md"
    file.write_text("# Mine\n")
    agents_md.install(project, data)
    file.write_text("# Changed\n" + file.read_text() + "\nMore.\n")
    agents_md.uninstall(project, data)
    assert file.read_text() == "# Changed\n# Mine\n\nMore.\n"


def test_an_older_block_is_brought_up_to_date_and_still_undone(project: Path, data: Path) -> None:
    file = project / "AGENTS.md"
    file.write_text("# Mine\n\n<!-- hudkit: begin; of an older version -->\nold words\n<!-- hudkit: end -->\n")
    agents_md.install(project, data)
    assert "old words" not in file.read_text() and file.read_text().count("hudkit: begin") == 1
    agents_md.uninstall(project, data)
    assert file.read_text() == "# Mine\n"


def test_without_a_project_every_block_goes(project: Path, data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    for directory in (project, other):
        agents_md.install(directory, data)
    assert len(agents_md.uninstall(None, data)) == 3
    assert not (project / "AGENTS.md").exists() and not (other / "AGENTS.md").exists()
    assert agents_md.uninstall(None, data) == ()


def test_a_link_that_leads_out_of_the_project_is_refused(project: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "bashrc").write_text("x")
    (project / "AGENTS.md").symlink_to(tmp_path / "bashrc")
    with pytest.raises(ConfigError, match="leads out of the project"):
        agents_md.install(project, data)
    assert (tmp_path / "bashrc").read_text() == "x"
    (project / "AGENTS.md").unlink()
    (project / "CLAUDE.md").write_text("# Rules\n")
    (project / "AGENTS.md").symlink_to("CLAUDE.md")
    agents_md.install(project, data)
    assert (project / "AGENTS.md").is_symlink() and "hudkit" in (project / "CLAUDE.md").read_text()
    agents_md.uninstall(project, data)
    assert (project / "CLAUDE.md").read_text() == "# Rules\n"
