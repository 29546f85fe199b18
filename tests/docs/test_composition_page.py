"""The page of composition: its code runs in order, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hudkit.compose import Element
from hudkit.compose.fitting import Trace
from hudkit.compose.fitting.traits import STRUCTURAL_TAGS
from hudkit.compose.vocabulary import COMMON_PROPS

PAGE = Path(__file__).parent.parent.parent / "docs" / "composition.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_its_code_runs_in_order_and_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "__main__"}
    found = BLOCK.findall(TEXT)
    assert len(found) >= 20
    for code, output in found:
        exec(compile(code, PAGE.name, "exec"), scope)
        assert capsys.readouterr().out == output, code
    explained, text = scope["explained"], (tmp_path / "fit.html").read_text(encoding="utf-8")
    assert isinstance(explained, Trace) and isinstance(explained.tree, Element)
    assert "<script" in text and "Uploader" in text


def test_every_output_block_belongs_to_a_block_of_code() -> None:
    assert TEXT.count("\n```text\n") == sum(bool(output) for _, output in BLOCK.findall(TEXT))


def test_every_rule_of_a_budget_is_on_the_page() -> None:
    named = set(re.findall(r"`<?(\w+)|[(\s](\w+)=|h\.(\w+?)_?\b", TEXT))
    assert {*COMMON_PROPS, *STRUCTURAL_TAGS, "more"} <= {name for names in named for name in names}
