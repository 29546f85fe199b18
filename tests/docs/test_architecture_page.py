"""The page of the architecture: every folder, every link, the order of imports, and the examples that it promises."""

from __future__ import annotations

import ast
import re
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "hudkit"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
HARDEST = re.findall(
    r"^\| ([^|]+) \| [^|]+ \| \[`([\w/.]+)`\]", PAGE.partition("## The hardest algorithms")[2], re.MULTILINE
)
EXAMPLE = re.compile(r"\bexamples?\b|>>>|:\n\n    \S", re.IGNORECASE)


def cells(column: int) -> list[str]:
    """The cells of a column of the tables of folders and modules."""
    tables = PAGE.partition("## The folders")[2].partition("\n## ")[0]
    return [row.split("|")[column].strip() for row in tables.splitlines() if row.startswith("| [")]


def test_every_folder_and_module_of_the_package_is_on_the_page() -> None:
    names = [re.findall(r"\[`([\w.]+/?)`\]", cell)[0] for cell in cells(1)]
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert set(names) == folders | {path.name for path in PACKAGE.glob("*.py")}
    assert len(names) == len(set(names))


def test_a_path_in_a_link_is_the_one_that_is_shown() -> None:
    links = re.findall(r"\[`([\w/.]+)`\]\(\.\./src/hudkit/([\w/.]+)\)", PAGE)
    assert len(links) > 60
    for shown, path in links:
        assert path.endswith(shown) and (PACKAGE / path).exists(), path


def test_the_names_on_the_page_are_names_of_the_code() -> None:
    """Classes and functions that the walk names, each in the module that is linked behind it."""
    walk = PAGE.partition("## The walk of one call")[2].partition("\n## ")[0]
    for names, path in re.findall(
        r"((?:`[\w.]+`[^`()]{0,40}?)+)\s\(\[`[\w/.]+`\]\(\.\./src/hudkit/([\w/.]+)\)", walk
    ):
        text = (PACKAGE / path).read_text(encoding="utf-8")
        for name in re.findall(r"`(?:\w+\.)?(\w+)`", names):
            assert re.search(rf"\b(?:class|def) {name}\b", text), f"{name} in {path}"


def test_the_order_of_imports_is_that_of_the_contract() -> None:
    contract = ConfigParser()
    contract.read(ROOT / "importlinter.ini")
    layers = contract["importlinter:contract:flow"]["layers"].split("\n")
    order = [layer.strip() for layer in layers if layer.strip() and not layer.strip().startswith("(")]
    assert f"\n`{' › '.join(order)}`\n" in PAGE


def test_there_are_at_least_twenty_hard_algorithms() -> None:
    assert len(HARDEST) >= 20


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "path"), HARDEST, ids=lambda value: str(value).replace(" ", "-"))
def test_a_hard_algorithm_has_its_idea_and_an_example_in_its_docstring(algorithm: str, path: str) -> None:
    doc = ast.get_docstring(ast.parse((PACKAGE / path).read_text(encoding="utf-8"))) or ""
    paragraphs = [paragraph for paragraph in doc.split("\n\n") if paragraph.strip()]
    assert len(paragraphs) >= 2, f"{algorithm}: the docstring of {path} has no paragraph of its idea"
    assert EXAMPLE.search(doc), f"{algorithm}: the docstring of {path} has no example"


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "AGENTS.md", "docs/adding-a-section.md"])
def test_the_paths_that_contributors_are_told_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = re.findall(r"`((?:src|tests|docs|scripts|examples)/[\w/.-]+)`", text)
    assert paths
    for path in paths:
        if not re.search(r"[A-Z]{4}|links", path):  # a place of what is added
            assert (ROOT / path).exists(), path
