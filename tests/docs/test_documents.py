"""The documents: links resolve, code runs, commands exist, and generated pages and pictures are current."""

from __future__ import annotations

import ast
import re
import runpy
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from hudkit.cli.commands import COMMANDS, build_parser
from hudkit.cli.reference import reference
from hudkit.config import keys

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "llms.txt"])
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
RUN = ("README.md", "docs/library.md", "docs/configuration.md")
RECIPES = {"adding-a-section.md", "adding-a-format.md", "adding-an-operation.md"}
"""They add the code that they import, and are tests of their own."""
PAGES = [path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")] if path.name not in RECIPES]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, language: str) -> list[str]:
    return [code for name, code in FENCE.findall(path.read_text(encoding="utf-8")) if name == language]


def slug(heading: str) -> str:
    """The anchor of a heading, as forges make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_links_resolve(path: Path) -> None:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        assert there.is_relative_to(ROOT), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", FENCE.sub("", there.read_text(encoding="utf-8")), re.MULTILINE)
            assert anchor in [slug(one) for one in headings], target


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_python_blocks_run_in_order(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "__main__"}
    found = blocks(ROOT / name, "python")
    assert found
    for code in found:
        exec(compile(code, name, "exec"), scope)
    hud = scope["hud"]
    hud.close()  # type: ignore[attr-defined]
    if name == "README.md":
        assert "Implement user authentication" in scope["f"].text  # type: ignore[attr-defined]
        assert (tmp_path / "state" / "hud.db").exists()


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=named)
def test_what_code_imports_is_there(path: Path) -> None:
    """For code that needs a model or a host, and is not run here: its imports, at least, are right. Looked up and not
    loaded, because some of these modules load a host's SDK."""
    for module, name in imported(path):
        spec = find_spec(module)
        assert spec is not None and spec.origin is not None, module
        source = Path(spec.origin).read_text(encoding="utf-8")
        # To look a module up in a package imports the package.
        folders = map(Path, spec.submodule_search_locations or ())
        has_module = any((folder / f"{name}.py").is_file() or (folder / name).is_dir() for folder in folders)
        assert has_module or re.search(rf"\b{name}\b", source), f"{module} has no {name}"


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """What the blocks of Python of a page import from hudkit."""
    for language, code in FENCE.findall(path.read_text(encoding="utf-8")):
        if not language.startswith("python") or code.startswith(" "):
            continue
        for node in ast.walk(compile(code, path.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hudkit"):
                yield from ((str(node.module), alias.name) for alias in node.names)


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_commands_exist(path: Path) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for block in blocks(path, "console"):
        for line in block.splitlines():
            if not line.startswith("$ "):
                continue
            program, *words = shlex.split(line[2:], comments=True)
            if program == "make":
                assert words[0] in targets, line
            elif program == "hudkit":
                assert words[0] in COMMANDS, line
                build_parser(words[0]).parse_args(words[1:])  # ends the test where an option is not there


def test_commands_within_the_text_of_the_readme_exist() -> None:
    text = FENCE.sub("", (ROOT / "README.md").read_text(encoding="utf-8"))
    found = re.findall(r"`hudkit ([^`]+)`", text)
    assert len(found) >= 10
    for name, *words in map(shlex.split, found):
        assert name in COMMANDS, name
        build_parser(name).parse_args(words)


def test_the_reference_of_the_command_line_is_current() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == reference(), "python -m hudkit.cli.reference > docs/cli.md"


def test_every_setting_is_documented_with_its_default() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    want = [
        f"| `{key.name}` | {'not set' if key.default is None else f'`{str(key.default).lower()}`'} | {key.meaning} |"
        for key in keys()
    ]
    assert rows == want


def test_llms_txt_lists_the_documents() -> None:
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# hudkit\n\n> ")
    for path in DOCUMENTS:
        if path.name != "llms.txt":
            assert f"]({named(path)})" in text, named(path)
    for path in (ROOT / "examples").glob("*.py"):
        assert f"]({named(path)})" in text, named(path)


@pytest.mark.slow
def test_the_picture_shows_what_the_demo_prints() -> None:
    """Figures in dollars follow the installed price list, so their lines are not compared."""
    made = runpy.run_path(str(ROOT / "docs" / "make_picture.py"))
    svg = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    assert 'href="http' not in svg and "url(http" not in svg and "@font-face" not in svg
    want = [line for line in made["chosen"](made["demo_lines"]()) if line]
    assert len(want) <= 60 and max(map(len, want)) <= made["COLUMNS"]
    assert want[0].spans, "the demo has colours of its own"
    fresh, seen = texts(made["picture"](want)), texts(svg)
    assert [one for one in seen if not priced(one)] == [one for one in fresh if not priced(one)], (
        "python docs/make_picture.py"
    )


def priced(line: str) -> bool:
    return "$" in line or "×" in line or "prices" in line


def texts(svg: str) -> list[str]:
    """The lines of text in a picture."""
    rows: dict[str, str] = {}
    for y, text in re.findall(r'<text [^>]*y="([\d.]+)" textLength[^>]*>([^<]+)</text>', svg):
        rows[y] = rows.get(y, "") + text
    return list(rows.values())
