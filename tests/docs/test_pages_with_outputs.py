"""Pages whose blocks of Python print what stands in the block of text behind them, and docs/cost.md's figures."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from hudkit.cli import main

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = ["what-is-heard.md", "prompt-assembly.md"]
SHOWN = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.slow
def test_blocks_print_what_the_page_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "__main__"}
    found = list(SHOWN.finditer((DOCS / name).read_text(encoding="utf-8")))
    assert any(block["output"] for block in found)
    for block in found:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], name, "exec"), scope)
        assert printed.getvalue() == (block["output"] or ""), block["code"]


def test_the_figures_of_the_cost_page_are_those_of_the_benchmarks() -> None:
    page = (DOCS / "cost.md").read_text(encoding="utf-8")
    measured = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    figures = re.findall(r"× \d\.\d+", page)
    assert len(figures) >= 8
    assert [
        figure for figure in figures if figure not in measured and figure.removeprefix("× ") not in measured
    ] == []


@pytest.mark.slow
def test_the_cost_page_shows_the_table_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    (header,) = re.findall(r"^```text\n(.*?)^```$", (DOCS / "cost.md").read_text(encoding="utf-8"), re.M | re.S)
    assert main(["demo"]) == 0
    assert header in capsys.readouterr().out
