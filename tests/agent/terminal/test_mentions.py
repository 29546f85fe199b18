"""Which files of a prompt go with it, and which go as their paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudkit.agent.terminal.mentions import find_mentions

CLAUDE = "anthropic:claude-sonnet-4-6"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a b.py").write_text("x = 1\n")
    (root / "notes.md").write_text("words\n")
    (root / "long.log").write_text("line\n" * 30_000)
    (root / "blob.bin").write_bytes(b"\0" * 100)
    for name in ("cat.png", "my cat.png"):
        (tmp_path / name).write_bytes(b"\x89PNG\r\n")
    return root


def attached(text: str, project: Path, model: str = CLAUDE) -> list[tuple[str, str, bool]]:
    found = find_mentions(text, project, project, model)
    return [(Path(file.path).name, file.media_type, bool(file.data)) for file in found.files]


@pytest.mark.parametrize(
    "written", ["@src/a\\ b.py", '@"src/a b.py"', "(see @src/a\\ b.py).", "@src/a\\ b.py, twice @'src/a b.py'"]
)
def test_a_marked_file_is_attached_by_its_path_once(project: Path, written: str) -> None:
    assert attached(f"Look at {written}", project) == [("a b.py", "text/x-python", False)]


@pytest.mark.parametrize("form", ["{}", "'{}'", "file://{}", "see {}, please"])
def test_the_path_of_a_picture_is_enough(project: Path, form: str) -> None:
    text = form.format(project.parent / "cat.png")
    assert attached(text, project) == [("cat.png", "image/png", True)]
    assert attached(text, project, "ollama:llama3") == []


def test_a_terminal_drops_a_path_with_backslashes(project: Path) -> None:
    text = str(project.parent / "my cat.png").replace(" ", "\\ ")
    assert attached(f"{text} ", project) == [("my cat.png", "image/png", True)]


@pytest.mark.parametrize(
    "text", ["Edit notes.md", "mail me@notes.md.example", "@nothing.py", "a.b.c", "@", "\0.png", "~nobody/x.png"]
)
def test_other_words_are_only_words(project: Path, text: str) -> None:
    assert find_mentions(text, project, project, CLAUDE) == ((), ())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("@long.log", "long.log goes as its path: it is long"),
        ("@blob.bin", "blob.bin is not attached: it is neither text nor a picture"),
        ("@../outside.txt", "is outside of the project"),
    ],
)
def test_what_is_not_attached_is_said(project: Path, text: str, why: str) -> None:
    (project.parent / "outside.txt").write_text("x")
    files, remarks = find_mentions(text, project, project, CLAUDE)
    assert files == () and len(remarks) == 1 and why in remarks[0]
