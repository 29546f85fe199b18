"""`hudkit show --window`: for a person in lines, for a program as facts; without bars where it is no terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.cli import main
from hudkit.log import Origin
from hudkit.log.payloads import ContextSnapshot, RequestParts, ResponseTokens, ToolOutputTotal

ESCAPE = "re\x1b[31mad|x"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.db"
    with Hud.open(path) as hud:
        session = hud.session("s")
        session.frame(
            limit_tokens=100_000,
            model="m",
            parts=RequestParts(8_000, 20_000, 500, (ToolOutputTotal(ESCAPE, 90_000),)),
        )
        report = ContextSnapshot(
            40_000, 100_000, 4_000, "m", "reported", spent=ResponseTokens(fresh=39_000, output=1_000)
        )
        session.append(report, origin=Origin.HOST)
    return path


def test_lines(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--window", "--db", str(log)]) == 0
    out = capsys.readouterr().out
    assert "40.0 % in use, 40,000 of 100,000 tokens" in out and "kept free for an answer" in out
    assert "\x1b" not in out and "█" not in out


def test_facts(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--window", "--json", "--db", str(log)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == 1 and facts["used"] == 40_000 == sum(one["tokens"] for one in facts["parts"])
    assert facts["calibration"]["reports"] == 1 and facts["parts_of"] == "reported"


def test_a_session_without_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hud.open(tmp_path / "log.db") as hud:
        hud.session("s").frame(limit_tokens=100_000)
    assert main(["show", "--window", "--db", str(tmp_path / "log.db")]) == 0
    assert "unknown until the next report" in capsys.readouterr().out
    assert main(["show", "--window", "--at", "0", "--db", str(tmp_path / "log.db")]) == 0
