"""A log of sessions that was written before the redesign opens, verifies, and gives the same states and frames."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compatibility_files import as_text, unreadable_snapshots, without_snapshots
from compatibility_internals import Hud

Facts = Callable[..., Any]
Golden = Callable[[str, str], None]

SESSIONS = ("ses_orchard", "ses_child", "ses_every", "hudkit/project")
STATES = {
    "ses_orchard": (9, 28, 38, 48, 49, 63, 74),
    "ses_child": (10,),
    "ses_every": (26, 52),
    "hudkit/project": (1,),
}
"""Events at which the whole state is compared: before and after compactions, an undo, a redaction; the last."""


@pytest.fixture
def db(stored: Path) -> Path:
    return stored / "data" / "hudkit.db"


def states(facts: Facts, db: Path) -> dict[str, Any]:
    return {
        f"{name} at {seq}": facts("show", name, "--state", "--at", seq, "--db", db)["state"]
        for name, seqs in STATES.items()
        for seq in seqs
    }


def frames(db: Path) -> dict[str, Any]:
    """Each frame of a call, by its event, as hosts put it into requests."""
    found: dict[str, Any] = {}
    with Hud.open(db) as hud:
        for key in hud.sessions():
            if key == "ses_every":
                continue  # its calls were never made
            session = hud.session(key)
            for event in session.events():
                if event.type == "context.snapshot" and event.payload.call is not None:
                    found[f"{key} at {event.seq}"] = plain(session.frame_at(event.seq))
    return found


def plain(frame: Any) -> dict[str, Any]:
    return {
        "text": frame.text,
        "base": frame.base,
        "tail": frame.tail,
        "deltas": [[one.id, one.anchor, one.text] for one in frame.deltas],
        "tokens": frame.tokens,
        "omitted": [[one.path, one.text, one.reason] for one in frame.omitted],
    }


def test_the_log_is_whole(facts: Facts, db: Path) -> None:
    assert facts("verify", "--db", db) == {"schema": 1, "sessions": 6, "events": 174, "findings": []}


def test_another_process_finds_it_whole_too(db: Path) -> None:
    asked = [sys.executable, "-m", "hudkit", "verify", "--db", str(db), "--json"]
    assert json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)["findings"] == []


@pytest.mark.parametrize("session", SESSIONS)
def test_every_event_is_listed_as_it_was(hudkit: Any, golden: Golden, db: Path, session: str) -> None:
    code, out, _ = hudkit("log", session, "--json", "--db", db)
    assert code == 0
    golden(f"log/{session.rpartition('/')[2]}.jsonl", out)


def test_every_type_of_event_is_in_it(hudkit: Any, db: Path) -> None:
    from compatibility_internals import EVENT_TYPES

    lines = hudkit("log", "ses_every", "--json", "--db", db)[1].splitlines()
    assert set(EVENT_TYPES) >= {json.loads(line)["type"] for line in lines}, "a type is gone"
    assert not any("unknown" in json.loads(line)["payload"] for line in lines), "a type is not known any more"


@pytest.mark.slow
def test_the_state_at_any_event_is_the_same(facts: Facts, golden: Golden, db: Path) -> None:
    golden("states.json", as_text(states(facts, db)))


@pytest.mark.slow
def test_saved_states_of_another_shape_are_folded_anew(facts: Facts, golden: Golden, db: Path) -> None:
    """What a session saves of its state is no promise: it is made again from the events."""
    assert unreadable_snapshots(db) == 4
    golden("states.json", as_text(states(facts, db)))
    assert without_snapshots(db) == 4
    golden("states.json", as_text(states(facts, db)))


@pytest.mark.slow
def test_every_frame_is_the_same_byte_for_byte(golden: Golden, db: Path) -> None:
    golden("frames.json", as_text(frames(db)))


@pytest.mark.slow
def test_frames_of_a_log_without_saved_states_are_the_same(golden: Golden, db: Path) -> None:
    without_snapshots(db)
    golden("frames.json", as_text(frames(db)))


def test_the_command_line_shows_a_frame_as_it_was_sent(facts: Facts, db: Path) -> None:
    known = json.loads((Path(__file__).parent / "goldens" / "frames.json").read_text(encoding="utf-8"))
    at = next(name for name in known if "ses_orchard" in name and name.endswith(" at 26"))
    shown = facts("show", "ses_orchard", "--at", 26, "--db", db)["frame"]
    assert (shown["text"], shown["base"], shown["tail"]) == (known[at]["text"], known[at]["base"], known[at]["tail"])


@pytest.mark.slow
def test_compactions_and_their_receipts_are_the_same(facts: Facts, golden: Golden, db: Path, stored: Path) -> None:
    told = [
        facts("compactions", *words, "--session", "ses_orchard", "--db", db) for words in (["list"], ["show", "1"])
    ]
    golden("compactions.json", as_text(told).replace(str(stored), ""))


@pytest.mark.slow
def test_a_session_goes_on_in_its_epoch(facts: Facts, db: Path) -> None:
    with Hud.open(db) as read:
        key = next(one for one in read.sessions() if "ses_orchard" in one)
        now = read.session(key).state.time
    with Hud.open(db, clock=lambda: now) as hud:
        session = hud.session(key)
        before = session.frame_at(session.state.seq)
        session.call("notes.add", {"content": "written by a later version"})
        spoken = (("m8", "user"), ("m14", "user"), ("m15", "tool"), ("m16", "tool"))
        after = session.frame(used_tokens=5_600, limit_tokens=64_000, transcript=spoken)
        assert before.base and after.base == before.base, "what the provider has cached stays as it is"
        assert [one.text for one in after.deltas[: len(before.deltas)]] == [one.text for one in before.deltas]
        assert "written by a later version" in after.deltas[-1].text
    assert facts("verify", "--db", db)["findings"] == []


@pytest.mark.slow
def test_what_is_archived_comes_back(facts: Facts, hudkit: Any, golden: Golden, db: Path) -> None:
    told = facts("archive", "--restore", "--db", db)
    assert [one["events"] for one in told["sessions"]] == [52]
    golden("log/ses_orchard.jsonl", hudkit("log", "ses_orchard", "--json", "--db", db)[1])
    golden("frames.json", as_text(frames(db)))
    assert facts("verify", "--db", db)["findings"] == []


def test_a_redacted_text_is_gone_and_the_rest_is_there(hudkit: Any, db: Path) -> None:
    code, out, _ = hudkit("log", "ses_orchard", "--json", "--db", db)
    assert code == 0 and "4711" not in out and b"4711-orchard" not in db.read_bytes()
    assert "The secret gate code is [redacted]" in hudkit("show", "ses_orchard", "--db", db)[1]


def test_an_exported_session_is_imported(facts: Facts, db: Path, stored: Path) -> None:
    exports = stored / "data" / "exports"
    exports.mkdir(mode=0o700)
    shutil.copyfile(stored / "ses_orchard.json", exports / "ses_orchard.json")
    with Hud.open(db) as hud:
        hud.session("ses_new").call("task.set", {"description": "to be replaced"})
        hud.session("ses_new").call("task.clear")
    told = facts("memory", "import", "ses_orchard.json", "ses_new", "--stale", "--db", db)
    assert told["recorded"] is True and told["events"] > 20
    with Hud.open(db) as hud:
        shown = hud.session("ses_new").whole_frame().text
    for text in ("Never touch legacy/", "Row 3 has two gaps", "Count by trees"):
        assert text in shown


@pytest.mark.slow
def test_an_index_of_the_past_can_be_made_from_it(facts: Facts, db: Path, stored: Path) -> None:
    told = facts("memory", "search", "metric units", "--db", db)
    assert "Reports are in metric units" in json.dumps(told)


def test_the_schema_is_the_one_that_it_was_written_with(db: Path) -> None:
    """A migration may come; then an old file is brought to it when it is opened, and a copy is kept."""
    with Hud.open(db) as hud:
        assert len(hud.sessions()) == 6
    reader = sqlite3.connect(db)
    assert reader.execute("PRAGMA application_id").fetchone() == (0x4855444B,)
    assert reader.execute("PRAGMA user_version").fetchone()[0] >= 2
    reader.close()
