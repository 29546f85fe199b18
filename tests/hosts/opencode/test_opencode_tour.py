"""The tour of docs/opencode.md as it stands there: installed, walked to its end, and left without a trace."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from opencode_host import Hosts
from opencode_tour import FILES, LIMIT, ROOT, SUMMARY, Step, commands, walked

from hudkit.hosts.installing.user_environment import ephemeral_reason
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

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


def test_the_tour_goes_as_the_page_has_it(
    opencode: Hosts, model: ScriptedModel, tmp_path: Path, uv: dict[str, str]
) -> None:
    host = opencode(own=True, shape="anthropic", limit=LIMIT, files=FILES)
    del host.env["OPENCODE_MODELS_PATH"]  # as a user has it, with every model that it knows
    host.env["HUDKIT_DATA"] = str(host.place / "data" / "hudkit")  # on macOS the data would be elsewhere
    path = Path(uv["UV_TOOL_BIN_DIR"])
    steps = commands()
    anyway = ephemeral_reason(Path(sys.prefix), os.environ)
    if anyway:
        steps = [f"{step} --anyway" if step.startswith("hudkit install") else step for step in steps]
    walk: dict[str, Step] = {}
    order: list[str] = []
    shows: list[str] = []
    for step in walked(host, model, steps, path, uv):
        assert step.code == 0, step
        name = " ".join(step.command.split()[:3]).partition(' "')[0].removesuffix(" --anyway")
        walk[name] = step
        order.append(name)
        shows += [step.output] * (name == "hudkit show")
        if name == "uv tool install":
            assert (path / "hudkit").exists(), "it is that one which the tour runs"
        if name == "hudkit install opencode":
            (made,) = host.place.glob("config/opencode/opencode.json*")
    assert order == [
        "uv tool install",
        "hudkit install opencode",
        "hudkit doctor",
        "opencode run",
        "hudkit show",
        "hudkit log",
        "/compact",
        "opencode run --continue",
        "hudkit show",
        "hudkit show --cache",
        "hudkit uninstall opencode",
        "uv tool uninstall",
    ]
    assert re.search(r"\b0 warn, 0 fail$", walk["hudkit doctor"].output.strip())

    log = walk["hudkit log"].output
    by = set(re.findall(r"turn \d+ +(\w+) +([\w.]+)", log))
    assert {("agent", "task.set"), ("agent", "constraint.add"), ("agent", "decision.record")} <= by
    without_its_help = {("user", "session.start"), ("tool", "file.edit"), ("tool", "error.encountered")}
    assert without_its_help <= by

    assert not any(kept.strip("- ") in SUMMARY for kept in KEPT)
    assert "What must hold: No new dependencies. Next: 1. The sitemap" in walk["opencode run --continue"].output
    before, shown = shows
    assert [line for line in KEPT if line not in before.splitlines()] == []
    assert [line for line in KEPT if line not in shown.splitlines()] == []
    assert "1 compaction: memory compactions" in shown and SUMMARY not in shown, "the conversation has it"
    account = walk["hudkit show --cache"].output
    assert re.search(r"^whole request +[\d,]+ +[\d.]+ % +[\d.]+ %$", account, re.MULTILINE)
    assert "a compaction" in account

    assert not made.exists() and not list((host.place / "data" / "hudkit").rglob("*.js"))
    assert not (path / "hudkit").exists()

    seen = drawn()
    assert [line for line in map(masked, shown.splitlines()) if len(line) <= 100 and line not in seen] == [], (
        "python docs/make_opencode_picture.py"
    )


def masked(line: str) -> str:
    """A line without what differs between runs and machines: ids, tags and numbers, and the gauge, as `opencode run`
    may end before its last answer was reported."""
    if line.startswith("Context: "):
        return "Context"
    return re.sub(r"\bses_\w+(@\w+)?|\d[\d,.]*", "N", line)


def drawn() -> set[str]:
    """The lines of the picture."""
    made = runpy.run_path(str(ROOT / "tests" / "docs" / "test_documents.py"))
    svg = (ROOT / "docs" / "opencode.svg").read_text(encoding="utf-8")
    assert "/tmp" not in svg and "url(http" not in svg and 'href="http' not in svg
    return {"", *(masked(line.replace("&#160;", " ")) for line in made["texts"](svg))}
