"""The tour of docs/claude-code.md as it stands there: installed, walked to its end, and left without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_host import Data
from claude_tour import ROOT, walk

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

KEPT = ("Make the test of slug() pass", "- No new dependencies", "- Split and join: a regex would drop dots")
"""What the HUD must say after the compaction, whose summary says nothing of it."""

_OURS = ("hudkit", "claude-code.json")


def test_the_tour_goes_as_the_page_has_it(claude_code_installed: Path, data: Data, tmp_path: Path) -> None:
    steps = list(walk(tmp_path, data))
    for step in steps:
        assert step.code == 0, f"{step.command}\n{step.output}"
    outputs = {step.command: step.output for step in steps}
    shows = [step.output for step in steps if step.command == "hudkit show"]
    assert "0 warn, 0 fail" in outputs["hudkit doctor"]
    assert "The test passes" in outputs['claude -p "Make the failing test pass, without new dependencies"']
    log = outputs["hudkit log"]
    assert all(words in log for words in ("task.set", "constraint.add", "file.edit", "error.encountered"))
    answer = outputs['claude -p --continue "What is left to do, and what must hold?"']
    assert "What must hold: No new dependencies. Next: 1. The sitemap" in answer
    for shown in shows:
        assert [line for line in KEPT if line not in shown.splitlines()] == []
    assert "1 compaction: memory compactions" in shows[-1]
    assert "whole request" in outputs["hudkit show --cache"]
    settings = tmp_path / "home" / ".claude" / "settings.json"
    assert not settings.exists(), "there was none"
    left = [path for path in (tmp_path / "home").rglob("*") if any(name in path.name for name in _OURS)]
    # Claude Code keeps what it made of its own: logs and transcripts of the project.
    assert [path for path in left if ".cache" not in path.parts and "projects" not in path.parts] == []


def test_the_picture_is_of_that_run() -> None:
    svg = (ROOT / "docs" / "claude-code.svg").read_text(encoding="utf-8")
    assert "/tmp" not in svg and "url(http" not in svg and 'href="http' not in svg
    for line in KEPT:
        assert line.replace(" ", "&#160;").replace("'", "&#x27;") in svg or line in svg, line
