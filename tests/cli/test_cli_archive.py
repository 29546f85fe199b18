"""`hudkit archive`: below the last compaction, there and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.log import payloads as p

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def at(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "hudkit.db"
    with Hud.open(path) as hud:
        for name in ("ses_a", "ses_b"):
            session = hud.session(name)
            session.append(*(p.NoteAdd(f"a note with some words in it, {n}") for n in range(400)))
            session.append(p.CompactAfter("so far"))
            session.append(p.NoteAdd("after"))
        hud.session("ses_c").append(p.NoteAdd("never compacted"))
    return path


@pytest.mark.slow
def test_there_and_back(hudkit: Run, at: Path) -> None:
    with Hud.open(at) as hud:
        before = {name: list(hud.log.read(name)) for name in hud.sessions()}
    code, out, _ = hudkit("archive", "--db", at, "--dry-run", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["size_before"] == facts["size_after"]
    assert {one["session"]: (one["events"], one["below"]) for one in facts["sessions"]} == {
        "ses_a": (400, 401),
        "ses_b": (400, 401),
    }
    code, out, err = hudkit("archive", "--db", at, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "") and facts["size_after"] < facts["size_before"]
    assert all(one["packed"] < one["bytes"] for one in facts["sessions"])
    assert hudkit("verify", "--db", at)[0] == 0
    assert "nothing to archive" in hudkit("archive", "--db", at)[1]
    assert "a note with some words in it, 3" in hudkit("log", "--db", at, "ses_a")[1]
    with Hud.open(at) as hud:
        assert {name: list(hud.log.read(name)) for name in hud.sessions()} == before
    code, out, _ = hudkit("archive", "--db", at, "--restore", "--session", "ses_a")
    assert code == 0 and "restored: ses_a: 400 events" in out and "ses_b" not in out
    assert hudkit("archive", "--db", at, "--restore")[0] == 0
    assert "nothing is archived" in hudkit("archive", "--db", at, "--restore")[1]
    with Hud.open(at) as hud:
        assert {name: list(hud.log.read(name)) for name in hud.sessions()} == before
        assert list(hud.verify()) == []


@pytest.mark.slow
def test_a_secret_in_the_archive_can_be_redacted(hudkit: Run, at: Path, tmp_path: Path) -> None:
    assert hudkit("archive", "--db", at)[0] == 0
    (tmp_path / "secret.txt").write_text("with some words in it, 3\n")
    assert hudkit("redact", "--db", at, "--text-file", tmp_path / "secret.txt")[0] == 0
    assert hudkit("verify", "--db", at)[0] == 0
    with Hud.open(at) as hud:
        told = [note.content for note in hud.session("ses_a").state.notes]
    assert told[3] == "a note [redacted]" and told[4].endswith(", 4")
    assert hudkit("archive", "--db", at, "--restore")[0] == 0
    assert hudkit("verify", "--db", at)[0] == 0
    assert b"with some words in it, 3" not in at.read_bytes()


@pytest.mark.slow
def test_wrong_calls(hudkit: Run, at: Path, tmp_path: Path) -> None:
    assert hudkit("archive", "--db", at, "--restore", "--dry-run")[0] == 2
    assert hudkit("archive", "--db", at, "--session", "nobody")[0] == 2
    assert hudkit("archive", "--db", tmp_path / "none.db")[0] == 2
