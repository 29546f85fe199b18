"""`docs/custom-sections.md` is true: its file, put where it says, gives what it shows; its tables match the code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast

import pytest

from hudkit.api import Hud, HudSession
from hudkit.config import CustomSectionSettings, Settings
from hudkit.sections.sandboxed import READABLE_FIELDS, section_inputs
from hudkit.sections.state import HudState

pytest.importorskip("pydantic_monty")
PAGE = (Path(__file__).parents[2] / "docs" / "custom-sections.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_file_gives_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "glance.py").write_text(*blocks("section"))
    scope: dict[str, object] = {}
    exec(compile(blocks("python")[0], "custom-sections.md", "exec"), scope)
    shown = capsys.readouterr().out
    session = cast("HudSession", scope["s"])
    for _ in range(100):  # a busy machine: what is not done in time comes with a later frame
        if blocks("markdown")[0] in shown:
            break
        shown = session.frame(used_tokens=10_000, limit_tokens=200_000, placement="system").text
    assert blocks("markdown")[0] in shown
    cast("Hud", scope["hud"]).close()


def test_the_operation_works() -> None:
    (call,) = map(json.loads, blocks("json"))
    with Hud.in_memory(settings=Settings(custom=CustomSectionSettings(agent=True, budget_ms=2000))) as hud:
        session = hud.session("s")
        assert session.tool("hud", call) == "Defined section tally."
        assert "## Tally\n\n- notes: 0\n- decisions: 0\n" in session.frame(limit_tokens=200_000).base


def test_every_field_and_its_keys_are_listed() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (?:list|dict): (.*) \|$", PAGE, re.MULTILINE))
    assert tuple(rows) == READABLE_FIELDS
    state = HudState()
    for name, value in section_inputs(state, READABLE_FIELDS).items():
        keys = set(re.findall(r"`(\w+)`", rows[name]))
        if isinstance(value, dict):
            assert set(value) - {"origin"} <= keys or "…" in rows[name], name
            assert keys - set(value) <= {"content", "status", "priority"}, name


def test_the_keys_of_items_are_those_that_are_given() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| list: (.*) \|$", PAGE, re.MULTILINE))
    calls = {
        "constraints.add": {"text": "a"},
        "preferences.add": {"text": "a"},
        "blockers.add": {"description": "a"},
        "steps.add": {"description": "a"},
        "decisions.record": {"summary": "a"},
        "errors.add": {"message": "a"},
        "notes.add": {"content": "a"},
        "files.open": {"path": "a"},
    }
    with Hud.in_memory() as hud:
        session = hud.session("s")
        for name, args in calls.items():
            session.call(name, args)
        for name, told in rows.items():
            (item,) = section_inputs(session.state, (name,))[name]
            assert {*re.findall(r"`(\w+)`", told), "origin"} == set(item), name
