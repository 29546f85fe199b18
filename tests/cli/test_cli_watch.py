"""`hudkit watch`: in a real terminal beside an agent's work, and once where nobody looks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from hudkit.api import Hud, HudSession
from hudkit.log import Origin
from hudkit.log import payloads as p
from hudkit.log.payloads import ContextSnapshot, ResponseTokens
from terminal_harness import Desk, Tmux, open_tmux

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.data.mkdir(mode=0o700)
    return made


@pytest.fixture
def tmux(desk: Desk) -> Iterator[Tmux]:
    with open_tmux(desk) as terminal:
        yield terminal


@pytest.fixture
def hud(desk: Desk) -> Iterator[Hud]:
    with Hud.open(desk.data / "hudkit.db") as opened:
        yield opened


def begin(hud: Hud, desk: Desk, id: str, title: str) -> HudSession:
    session = hud.session(id, host="opencode", project=desk.project)
    session.start(host="opencode", title=title, directory=str(desk.project))
    return session


def report(session: HudSession, used: int) -> None:
    session.frame(limit_tokens=100_000, model="m")
    spent = ResponseTokens(fresh=used - 1_000, output=1_000)
    session.append(ContextSnapshot(used, 100_000, 4_000, "m", "reported", spent=spent), origin=Origin.HOST)


def test_it_follows_what_happens_and_marks_what_changed(desk: Desk, tmux: Tmux, hud: Hud) -> None:
    session = begin(hud, desk, "ses_1", "Pick the apples")
    session.append(p.TaskSet("Pick every tree"))
    tmux.run(desk.argv("watch"))
    text = tmux.wait(
        "Pick the apples", "window unknown/", "no compaction yet", "# Task", "Pick every tree", "q leaves"
    )
    assert "▌" not in text and "outlives compaction" not in text
    session.append(p.DecisionRecord("Begin in the north"))
    text = tmux.wait("▌ • Begin in the north", "q leaves")
    assert "▌ Pick every tree" not in text
    tmux.wait("  • Begin in the north", gone="▌")
    for used in (40_000, 50_000, 60_000):
        report(session, used)
    tmux.wait("window █████████▋", "60k/100k 60%", "about 4 calls until a compaction")
    session.append(p.CompactBefore("auto"), p.CompactAfter("All of the north is picked."), origin=Origin.HOST)
    tmux.wait("window unknown/100k", "last compaction ", "1 in all")
    tmux.resize(50, 20)
    tmux.wait("# Task", "q leaves")
    assert max(map(cell_len, tmux.screen().split("\n"))) <= 50
    tmux.type("q")
    tmux.wait("code=0")
    assert "Pick the apples" not in tmux.screen(), "the screen is as it was"


def test_it_goes_on_with_the_next_session_unless_one_is_named(desk: Desk, tmux: Tmux, hud: Hud) -> None:
    first = begin(hud, desk, "ses_1", "Pick the apples")
    tmux.run(desk.argv("watch"))
    tmux.wait("Pick the apples", "q leaves")
    child = begin(hud, desk, "ses_2", "A helper of the first")
    child.append(p.SessionLink("parent", first.id))
    first.append(p.NoteAdd("north is done"))
    tmux.wait("Pick the apples", "north is done")
    begin(hud, desk, "ses_3", "Press the juice")
    tmux.wait("Press the juice", "q leaves")
    tmux.type("q")
    tmux.wait("code=0")
    tmux.run(desk.argv("watch", "apples"))
    tmux.wait("Pick the apples", "q leaves")
    begin(hud, desk, "ses_4", "Bottle it")
    first.append(p.NoteAdd("south is done"))
    tmux.wait("Pick the apples", "south is done")
    tmux.type("C-c")
    tmux.wait("code=0")


def test_it_waits_for_a_log(desk: Desk, tmux: Tmux) -> None:
    tmux.run(desk.argv("watch"))
    tmux.wait("There is no session yet", "q leaves")
    with Hud.open(desk.data / "hudkit.db") as hud:
        begin(hud, desk, "ses_1", "Pick the apples")
        tmux.wait("Pick the apples", "q leaves", gone="no session yet")
    tmux.type("q")
    tmux.wait("code=0")


def test_a_long_hud_is_scrolled(desk: Desk, tmux: Tmux, hud: Hud) -> None:
    session = begin(hud, desk, "ses_1", "Pick the apples")
    session.append(*(p.NoteAdd(f"tree number {number} is picked") for number in range(60)))
    tmux.run(desk.argv("watch"))
    text = tmux.wait("tree number", "more lines: j, k · q leaves")
    top = text.count("tree number")
    tmux.type("Space", "Space", "Space", "Space", "j")
    tmux.wait("tree number 0 is picked")
    tmux.type("b", "b", "b", "b", "k")
    text = tmux.wait("# ", "more lines")
    assert top == text.count("tree number")
    tmux.type("q")
    tmux.wait("code=0")


def test_it_is_printed_once_where_nobody_looks(desk: Desk, hud: Hud) -> None:
    session = begin(hud, desk, "ses_1", "Pick the apples")
    session.append(p.TaskSet("Pick every tree\x1b[31m"))
    report(session, 60_000)

    def piped(*more: str) -> tuple[int, str]:
        done = subprocess.run(desk.argv("watch", *more), env=desk.env, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.returncode, done.stdout

    code, out = piped()
    lines = out.splitlines()
    assert (code, lines[0]) == (0, "Pick the apples") and "\x1b" not in out
    assert "window 60k/100k 60%, green; no compaction yet" in lines[2] and "# Task" in lines
    code, out = piped("--json")
    facts = json.loads(out)
    assert (code, facts["schema"], facts["title"]) == (0, 1, "Pick the apples")
    assert facts["window"]["used"] == 60_000 and "Pick every tree" in facts["text"]


def test_it_only_reads(desk: Desk, tmux: Tmux, hud: Hud) -> None:
    begin(hud, desk, "ses_1", "Pick the apples").append(p.TaskSet("Pick every tree"))
    before = {path.name: path.read_bytes() for path in desk.data.glob("hudkit.db*") if not path.name.endswith("-shm")}
    tmux.run(desk.argv("watch"))
    tmux.wait("Pick every tree", "q leaves")
    tmux.type("q")
    tmux.wait("code=0")
    after = {path.name: path.read_bytes() for path in desk.data.glob("hudkit.db*") if not path.name.endswith("-shm")}
    assert after == before
