"""Our own log behind the `Transcript` protocol, and plans and exports that are reached by name only."""

from __future__ import annotations

import itertools
import os

import pytest

from hudkit import Hud
from hudkit.errors import TranscriptError
from hudkit.log import Origin
from hudkit.log import payloads as p
from hudkit.transcripts import OwnTranscript, Transcript
from hudkit.transcripts.named_files import MAX_PLAN_BYTES, list_plans, read_export, read_plan, write_export


def test_the_log_is_a_transcript():
    ticks = itertools.count(1_795_000_000_000, 1_000)
    with Hud.in_memory(clock=lambda: next(ticks)) as hud:
        s = hud.session("ses_1")
        s.start(title="Mill", directory="/work/mill", model="m")
        s.append(p.DecisionRecord("Grind on Mondays", details="the miller asked"))
        s.append(p.NoteAdd("flour"), origin=Origin.USER)
        s.frame(used_tokens=5, limit_tokens=100_000)
        transcript = OwnTranscript(hud.log)
        assert isinstance(transcript, Transcript)
        (row,) = transcript.sessions()
        assert (row.id, row.title, row.root, row.host) == ("ses_1", "Mill", "/work/mill", "hudkit")
        said = list(transcript.messages("ses_1"))
        assert [(m.role, m.parts[0].text) for m in said] == [
            ("assistant", "decision.record: summary: Grind on Mondays, details: the miller asked"),
            ("user", "note.add: flour"),
        ]
        assert list(transcript.messages("ses_1", after=said[0].id)) == said[1:]
        s.append(p.NoteAdd("bran"))
        assert len(list(transcript.messages("ses_1", after=said[1].id))) == 1
        assert transcript.session("ses_1").updated > row.updated
        assert transcript.session("unknown") is None
        with pytest.raises(TranscriptError):
            list(transcript.messages("ses_1", after="ses_1#999"))


HOSTILE_NAMES = [
    "../../../etc/passwd", "/etc/passwd", "..%2fsecret", "secret\0.md", "CON\\x.md", "~/.ssh/id_rsa", "a" * 5_000,
    "．．/secret.md", ".hidden.md", "", "link.md", "pipe.md", "folder.md", "absent.md",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "secret.md").write_text("hunter2")
    place = tmp_path / "plans"
    place.mkdir()
    (place / "watering.md").write_text("# Plan\nwater")
    (place / "link.md").symlink_to(tmp_path / "secret.md")
    (place / "folder.md").mkdir()
    os.mkfifo(place / "pipe.md")
    return place


def test_plans_by_name(folder):
    assert [plan.name for plan in list_plans([folder, folder, folder / "absent"])] == ["watering.md"]
    assert read_plan([folder], "watering") == ("# Plan\nwater", False)
    (folder / "odd.md").write_bytes(b"\xff\xfe\x00" + b"x" * (MAX_PLAN_BYTES + 5))
    text, cut = read_plan([folder], "odd.md")
    assert cut and len(text.encode()) <= MAX_PLAN_BYTES * 3


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=repr)
def test_a_hostile_name_tells_nothing(folder, name):
    with pytest.raises(TranscriptError) as refused:
        read_plan([folder], name)
    assert str(refused.value) == "there is no plan of this name. `plans` lists the names."


def test_a_project_cannot_lead_its_plans_elsewhere(tmp_path, folder):
    project = tmp_path / "project" / ".opencode"
    project.mkdir(parents=True)
    (project / "plans").symlink_to(folder)
    assert list_plans([project / "plans"]) == ()
    with pytest.raises(TranscriptError):
        read_plan([project / "plans"], "watering")


def test_exports_are_private_and_reached_by_name(tmp_path):
    place = tmp_path / "exports"
    path = write_export(place, "ses/../1", {"kind": "hudkit-session", "a": 1})
    assert path.parent == place and path.stat().st_mode & 0o777 == 0o600 and place.stat().st_mode & 0o777 == 0o700
    assert read_export(place, path.name)["a"] == 1
    (tmp_path / "outside.json").write_text('{"kind": "hudkit-session"}')
    (place / "link.json").symlink_to(tmp_path / "outside.json")
    (place / "broken.json").write_text("{")
    (place / "other.json").write_text("{}")
    for name in ("../outside", "link", "absent", "/etc/passwd", "x\0"):
        with pytest.raises(TranscriptError, match="no exported session of this name"):
            read_export(place, name)
    for name in ("broken", "other"):
        with pytest.raises(TranscriptError):
            read_export(place, name)
