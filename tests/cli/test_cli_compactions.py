"""`hudkit compactions` on a log of ours, and on one whose host's messages are not there."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.log import Origin
from hudkit.log import payloads as p

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    ticks = itertools.count(1_795_000_000_000, 1_000)
    path = tmp_path / "hudkit.db"
    with Hud.open(path, clock=lambda: next(ticks)) as hud:
        session = hud.session("ses_1")
        session.append(p.TaskSet("Move it\n# Not a heading"), p.NoteAdd("\x1b[31mred"), p.FileEdit("a.py"))
        for n, (used, then) in enumerate([(150_000, 40_000), (160_000, 150_000)]):
            parts = p.RequestParts(10_000, 20_000, 300_000, (p.ToolOutputTotal("bash", 100_000),))
            session.frame(
                used_tokens=used, limit_tokens=200_000, model="m", transcript=[(f"user:{n}:", "user")], parts=parts
            )
            done = p.CompactAfter(f"Summary {n}\n\x1b[2J", ("auto", "manual")[n], began=1_795_000_000_000)
            session.append(done, origin=Origin.HOST)
            session.frame(transcript=[(f"user:{n}:", "user")], parts=p.RequestParts(10_000, 20_000, 9_000))
            session.append(p.ContextSnapshot(then, source="reported"), origin=Origin.HOST)
        hud.session("ses_2").append(p.TaskSet("Nothing yet"))
    return path


@pytest.mark.slow
def test_the_list(hudkit: Run, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDKIT_CONFIG", "")
    code, out, err = hudkit("compactions", "--db", db, "--session", "ses_1")
    assert (code, err) == (0, "")
    lines = [line for line in out.splitlines() if line[:1].isdigit()]
    assert "automatic" in lines[0] and "150,000 -> 40,000 of 200,000" in lines[0] and "110,000 (55 %)" in lines[0]
    assert "by a person" in lines[1] and "10,000 (5 %), too little" in lines[1]
    code, out, _ = hudkit("compactions", "--db", db, "--session", "ses_1", "--json")
    found = json.loads(out)
    assert code == 0 and found["schema"] == 1 and [one["enough"] for one in found["compactions"]] == [True, False]
    assert hudkit("compactions", "--db", db)[1] == "ses_2: no compactions\n"
    assert hudkit("compactions", "show", "--db", db)[0] == 2


@pytest.mark.slow
def test_show_and_diff_without_the_hosts_messages(hudkit: Run, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDKIT_CONFIG", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(db.parent))
    options = ("--db", db, "--session", "ses_1")
    code, out, err = hudkit("compactions", "show", 1, *options)
    assert code == 0 and "the messages cannot be read" in err
    assert "\x1b" not in out and "    Summary 0" in out and "output of bash" in out
    assert "HUD: the task, 1 note, 1 file; all of it is live after, too" in out
    code, out, _ = hudkit("compactions", "diff", 2, *options)
    assert code == 0 and "+ summary: Summary 1" in out and "  files: a.py" in out and "\x1b" not in out
    code, out, _ = hudkit("compactions", "show", 2, *options, "--json")
    told = json.loads(out)
    assert code == 0 and told["lost"] == [] and "dropped" not in told and told["summary"].startswith("Summary 1")
    for wrong in (("show", 3), ("show", 0), ("undo", 1), ("undo", 1, "--yes")):
        assert hudkit("compactions", *wrong, *options)[0] == 2
    assert hudkit("compactions", "shown", *options)[0] == 2


def test_no_server(hudkit: Run) -> None:
    from hudkit.errors import HostError
    from hudkit.hosts.opencode import revert_client

    for server in ("nonsense", "file:///etc/passwd", "http://[", "http://127.0.0.1:9"):
        with pytest.raises(HostError) as found:
            revert_client.check_session(server, "ses/../1")
        assert found.value.hint
