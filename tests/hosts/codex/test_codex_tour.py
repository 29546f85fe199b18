"""The tour of docs/codex.md as it stands there: installed, walked to its end, and left without a trace."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from codex_tour import ROOT, SUMMARY, Step, commands, walked

from conftest import Codexes
from hudkit.hosts.installing.user_environment import ephemeral_reason
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

KEPT = ("Make the test of slug() pass", "- No new dependencies", "- Split and join: a regex would drop dots")
"""What the HUD must say after the compaction, whose summary says nothing of it."""


@pytest.fixture
def uv() -> Iterator[dict[str, str]]:
    """An environment in which `uv tool` works on folders of its own, beside this environment: where that stays, they
    do, as the installation demands it."""
    program = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
    if not Path(program).exists():
        pytest.skip("uv is neither in PATH nor in .uv")
    place = Path(tempfile.mkdtemp(prefix="tour-", dir=sys.prefix))
    yield os.environ | {
        "PATH": os.pathsep.join((str(Path(program).parent), os.environ["PATH"])),
        "UV_TOOL_DIR": str(place / "tools"),
        "UV_TOOL_BIN_DIR": str(place / "bin"),
        "UV_PYTHON": sys.executable,
    }
    shutil.rmtree(place)


def test_the_tour_goes_as_the_page_has_it(codex: Codexes, model: ScriptedModel, uv: dict[str, str]) -> None:
    host = codex(hud=False)
    path = Path(uv["UV_TOOL_BIN_DIR"])
    steps = commands()
    if ephemeral_reason(Path(sys.prefix), os.environ):
        steps = [f"{step} --anyway" if step.startswith("hudkit install") else step for step in steps]
    config = host.config.read_bytes()
    walk: dict[str, Step] = {}
    order: list[str] = []
    shows: list[str] = []
    for step in walked(host, model, steps, path, uv):
        assert step.code == 0, step
        name = " ".join(step.command.split()[:3]).partition(' "')[0].removesuffix(" --anyway")
        walk[name] = step
        order.append(name)
        shows += [step.output] * (name == "hudkit show")
        if name == "hudkit install codex":
            assert "9 hooks" in step.output and host.config.read_bytes() != config
    assert order == [
        *("uv tool install", "hudkit install codex", "/hooks", "hudkit doctor", "codex exec", "hudkit show"),
        *("hudkit log", "/compact", "codex exec resume", "hudkit show"),
        *("hudkit uninstall codex", "uv tool uninstall"),
    ]
    assert walk["/hooks"].output == "9 hooks trusted"
    assert re.search(r"\b0 fail$", walk["hudkit doctor"].output.strip())
    assert not re.search(r"^(WARN|FAIL)  codex", walk["hudkit doctor"].output, re.MULTILINE)

    log = walk["hudkit log"].output
    by = set(re.findall(r"turn \d+ +(\w+) +([\w.]+)", log))
    assert {("agent", "task.set"), ("agent", "constraint.add"), ("agent", "decision.record")} <= by
    assert {("user", "session.start"), ("tool", "file.edit"), ("tool", "error.encountered")} <= by

    assert not any(kept.strip("- ") in SUMMARY for kept in KEPT)
    assert "What must hold: No new dependencies. Next: 1. The sitemap" in walk["codex exec resume"].output
    before, shown = shows
    assert [line for line in KEPT if line not in before.splitlines()] == []
    assert [line for line in KEPT if line not in shown.splitlines()] == []
    assert "1 compaction: memory compactions" in shown and SUMMARY not in shown, "the conversation has it"

    assert host.config.read_bytes() == config and not (host.home / "hooks.json").exists()
    assert not [file for file in host.home.rglob("*") if file.is_file() and b"hud_hook" in file.read_bytes()]
    svg = (ROOT / "docs" / "codex.svg").read_text(encoding="utf-8").replace("&#160;", " ").replace("&#x27;", "'")
    assert (
        "/tmp" not in svg and [line for line in shown.splitlines() if line.startswith("- ") and line not in svg] == []
    )
    assert not (path / "hudkit").exists() and not list((host.folder / "data").rglob("codex.json"))
