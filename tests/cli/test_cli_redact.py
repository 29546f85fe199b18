"""`hudkit redact`: a secret that reached the log is in no file any more, and everything else is as it was."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.api import Hud
from hudkit.log import Origin
from hudkit.log import payloads as p
from hudkit.log.redaction import contains_secret, remove_secrets, secret_texts
from hudkit.log.stores import open_log
from hudkit.paths import conversations_path
from hudkit.sections.state import STATE_VERSION, encode_state, fold
from hudkit.transcripts import Message, OwnTranscript, SessionRow, TextPart
from hudkit.transcripts.conversation_store import ConversationStore
from hudkit.transcripts.search import PastSessions, open_past_sessions

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]

SECRET = "Plum_dumpling*7 <under> the [stairs] & no-where"
KEY = "first line of the big key\nsecond_line_of_the_key\nthird"


def held(folder: Path, *texts: str) -> list[str]:
    forms = [form.encode() for text in texts for form in (text, json.dumps(text)[1:-1], text.replace("_", "\\_"))]
    return sorted(
        file.name for file in folder.rglob("*") if file.is_file() and any(f in file.read_bytes() for f in forms)
    )


def past(folder: Path, hud: Hud) -> PastSessions:
    nowhere = folder / "nowhere"
    index = folder / "hudkit.search.db"
    return open_past_sessions(index, opencode=nowhere, claude=nowhere, codex=nowhere, also=(OwnTranscript(hud.log),))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A data directory with a log and an index that hold the secret in all the ways in which they can."""
    folder = tmp_path / "data"
    with Hud.open(folder / "hudkit.db") as hud:
        one = hud.session("ses_a")
        one.append(
            p.TaskSet("Ship it"), p.NoteAdd("before"), p.NoteAdd(f"it is {SECRET}, as said"), p.NoteAdd("kept")
        )
        one.frame(transcript=["a"])
        one.append(p.NoteAdd("x" * 380 + f" {SECRET}"), p.ErrorEncountered("failed", key=f"bash: echo {SECRET}"))
        one.frame(transcript=["a", "b"])
        one.append(p.CompactBefore("host", None, encode_state(one.state).decode()), origin=Origin.HOST)
        one.append(p.NoteUpdate("n2", f"now {SECRET}"), p.NoteRemove("n3"))
        one.frame(transcript=["a", "b", "c"])
        one.append(*(p.FileEdit(f"src/{n % 9}.py") for n in range(600)))
        assert hud.log.get_snapshot("ses_a", STATE_VERSION) is not None
        hud.session("ses_b").append(p.DecisionRecord("SQLite", details=f"because {SECRET}"), p.DecisionRecord("WAL"))
        hud.session("ses_c").append(p.TaskSet("another"))
        seen = past(folder, hud)
        seen.update()
        seen.close()
    assert held(folder, SECRET) == ["hudkit.db", "hudkit.search.db"]
    return folder


def secret(tmp_path: Path, text: str = SECRET) -> Path:
    file = tmp_path / "secret.txt"
    file.write_text(text + "\n")
    return file


def test_a_dry_run_lists_and_changes_nothing(hudkit: Run, place: Path, tmp_path: Path) -> None:
    before = {file.name: file.read_bytes() for file in place.iterdir() if file.suffix == ".db"}
    at = place / "hudkit.db"
    code, out, err = hudkit("redact", "--db", at, "--text-file", secret(tmp_path), "--dry-run", "--json")
    facts = json.loads(out)
    assert (code, err, facts["dry_run"]) == (0, "", True)
    kinds = {hit["type"] for hit in facts["events"]}
    assert {"note.add", "note.update", "error.encountered", "compact.before", "decision.record"} <= kinds
    assert {"frame.base", "frame.delta"} & kinds
    assert {Path(file).name for file in facts["files"]} == {"hudkit.db", "hudkit.search.db"}
    assert before == {file.name: file.read_bytes() for file in place.iterdir() if file.suffix == ".db"}


def test_a_secret_is_in_no_file_and_the_rest_is_as_it_was(hudkit: Run, place: Path, tmp_path: Path) -> None:
    at = place / "hudkit.db"
    with Hud.open(at) as hud:
        ids = [(note.id, note.content.replace(SECRET, "[redacted]")) for note in hud.session("ses_a").state.notes]
        middle = [note.id for note in hud.session("ses_a").state_at(4).notes]
        others = hud.session("ses_c").state
    code, out, err = hudkit("redact", "--db", at, "--text-file", secret(tmp_path), "--reason", "typed by mistake")
    assert (code, err) == (0, ""), out
    assert "ses_a" in out and "ses_b" in out and "ses_c" not in out
    assert held(place, SECRET, SECRET[:20]) == []
    assert hudkit("verify", "--db", at)[0] == 0
    with Hud.open(at) as hud:
        session = hud.session("ses_a")
        assert [(note.id, note.content) for note in session.state.notes] == ids, "no item has another number"
        assert [note.id for note in session.state_at(4).notes] == middle
        assert session.state == fold(hud.log.read("ses_a"))
        assert hud.session("ses_b").state.decisions[0].details == "because [redacted]"
        assert hud.session("ses_c").state == others
        epoch = session.state.epoch.last
        frame = session.frame(transcript=["a", "b", "c", "d"])
        assert frame.epoch == epoch + 1 and "now [redacted]" in frame.base and frame.deltas == ()
        seen = past(place, hud)
        seen.update()
        seen.close()
    assert held(place, SECRET, SECRET[:20]) == []
    assert "no event holds it" in hudkit("redact", "--db", at, "--text-file", secret(tmp_path))[1]


def test_past_frames_that_showed_it_say_so(hudkit: Run, place: Path, tmp_path: Path) -> None:
    at = place / "hudkit.db"
    with open_log(at, read_only=True) as log:
        calls = [event.seq for event in log.read("ses_a") if event.type == "context.snapshot"]
    assert hudkit("redact", "--db", at, "--text-file", secret(tmp_path))[0] == 0
    with Hud.open(at) as hud:
        frames = [hud.session("ses_a").frame_at(seq) for seq in calls]
    assert all("redacted" in frame.notice for frame in frames)
    assert all("Ship it" in frame.text and SECRET[:12] not in frame.text for frame in frames)


def test_events_by_their_numbers(hudkit: Run, place: Path) -> None:
    at = place / "hudkit.db"
    code, out, _ = hudkit("redact", "--db", at, "--session", "ses_a", 3, "--json")
    facts = json.loads(out)
    assert code == 0 and {hit["session"] for hit in facts["events"]} == {"ses_a"}
    assert held(place, f"it is {SECRET}") == []
    with Hud.open(at) as hud:
        state = hud.session("ses_a").state
        assert "n2" not in [note.id for note in state.notes], "what it said is taken back"
        assert [note.id for note in hud.session("ses_a").state_at(4).notes] == ["n1", "n2", "n3"]
        assert hud.session("ses_a").state_at(4).notes[1].content == "[redacted:3]"
        assert SECRET in hud.session("ses_b").state.decisions[0].details, "another session is not named"
    assert hudkit("verify", "--db", at)[0] == 0
    code, _, err = hudkit("redact", "--db", at, "--session", "ses_a", 3)
    assert code == 2 and "redacted already" in err


def test_a_second_secret_in_what_was_left(hudkit: Run, place: Path, tmp_path: Path) -> None:
    at = place / "hudkit.db"
    with Hud.open(at) as hud:
        hud.session("ses_d").append(p.NoteAdd(f"{SECRET} and plumcake-twelve"), p.NoteAdd("next"))
    assert hudkit("redact", "--db", at, "--text-file", secret(tmp_path))[0] == 0
    assert hudkit("redact", "--db", at, "--text-file", secret(tmp_path, "plumcake-twelve"))[0] == 0
    assert held(place, SECRET, "plumcake-twelve") == []
    assert hudkit("verify", "--db", at)[0] == 0
    with Hud.open(at) as hud:
        notes = hud.session("ses_d").state.notes
        assert [(note.id, note.content) for note in notes] == [("n1", "[redacted] and [redacted]"), ("n2", "next")]


def test_while_others_have_the_log_open(hudkit: Run, place: Path, tmp_path: Path) -> None:
    at = place / "hudkit.db"
    with Hud.open(at) as running:
        session = running.session("ses_a")
        shown = session.frame(transcript=["a", "b", "c"])
        assert "now Plum" in shown.text
        assert hudkit("redact", "--db", at, "--text-file", secret(tmp_path))[0] == 0
        assert held(place, SECRET) == []
        frame = session.frame(transcript=["a", "b", "c", "d"])
        assert frame.epoch == shown.epoch + 1 and "now [redacted]" in frame.text
        session.append(*(p.FileEdit(f"lib/{n}.py") for n in range(600)))
        assert session.state == fold(running.log.read("ses_a"))
    assert held(place, SECRET) == []


def test_a_text_of_several_lines_goes_line_by_line(hudkit: Run, tmp_path: Path) -> None:
    at = tmp_path / "data" / "hudkit.db"
    with Hud.open(at) as hud:
        hud.session("s").append(p.NoteAdd(KEY), p.ErrorEncountered("second_line_of_the_key is wrong"))
        hud.session("s").frame()
    assert hudkit("redact", "--db", at, "--text-file", secret(tmp_path, KEY))[0] == 0
    assert held(at.parent, *KEY.splitlines()[:2]) == []


@pytest.mark.parametrize("text", ["pw:\nab12\ncd34", "is __x__", "is __xy_z__ or *q*", "key `a1` is __b2c3d4e5__"])
def test_a_text_is_found_as_frames_show_it(text: str) -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        session.append(p.NoteAdd(text), p.NoteAdd("[a](b"))
        for density in ("full", "compact"):
            base = session.frame(placement="system", density=density).base
            assert text not in base or "\n" not in text
            assert contains_secret(base.encode(), secret_texts(text))


def test_files_that_are_not_ours_to_change_are_listed(hudkit: Run, place: Path, tmp_path: Path) -> None:
    exports = place / "exports"
    exports.mkdir()
    (exports / "ses_a.json").write_text(json.dumps({"text": SECRET})[:-1])  # cut off: it cannot be written anew
    code, out, _ = hudkit("redact", "--db", place / "hudkit.db", "--text-file", secret(tmp_path))
    assert code == 1 and f"still holds it: {exports / 'ses_a.json'}" in out
    assert held(place, SECRET) == ["ses_a.json"]


def test_a_secret_from_the_standard_input(hudkit: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(SECRET + "\n"))
    assert hudkit("redact", "--db", place / "hudkit.db")[0] == 0
    assert held(place, SECRET) == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--session", "ses_a"], "needs events"),
        ([3], "--session"),
        ([3, "--session", "ses_a", "--text-file", "x"], "two ways"),
        ([9999, "--session", "ses_a"], "has no event 9999"),
        (["--text-file", "/dev/null"], "found everywhere"),
    ],
)
def test_calls_that_are_wrong(hudkit: Run, place: Path, argv: list[object], said: str) -> None:
    code, out, err = hudkit("redact", "--db", place / "hudkit.db", *argv)
    assert (code, out) == (2, "") and said in err


def test_a_reason_must_not_hold_it(hudkit: Run, place: Path, tmp_path: Path) -> None:
    argv = ("--text-file", secret(tmp_path), "--reason", f"because of {SECRET}")
    code, _, err = hudkit("redact", "--db", place / "hudkit.db", *argv)
    assert code == 2 and "reason" in err and SECRET not in err


@given(
    before=st.text(max_size=30),
    secret=st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t"), min_size=6, max_size=40),
    after=st.text(max_size=30),
)
@settings(deadline=None)
def test_what_is_masked_does_not_hold_it(before: str, secret: str, after: str) -> None:
    if len(secret.strip()) < 6:
        return
    wanted = secret_texts(secret)
    payload = p.DecisionRecord(before + secret + after, details=json.dumps({"x": secret}))
    raw = json.dumps({"summary": payload.summary}, ensure_ascii=False).encode("utf-8", "backslashreplace")
    if secret.isprintable():
        assert contains_secret(raw, wanted)
    left = remove_secrets(payload, wanted, 7)
    assert (
        left is None
        or not contains_secret(repr(left).encode("utf-8", "backslashreplace"), wanted)
        or "[redacted" in secret
    )


def test_what_was_said_in_programs_is_reached(hudkit: Run, place: Path, tmp_path: Path) -> None:
    conversations = ConversationStore(conversations_path(place / "hudkit.db"))
    message = Message("m1", "s", "user", 1_000, parts=(TextPart("m1", f"it is {SECRET}, as said"),))
    conversations.record(SessionRow("s", "langchain", title=SECRET), [message], {"m1"}, {"m1"})
    conversations.close()
    assert "hudkit.conversations.db" in held(place, SECRET)
    code, out, err = hudkit("redact", "--db", place / "hudkit.db", "--text-file", secret(tmp_path))
    assert (code, err) == (0, ""), out
    assert held(place, SECRET, SECRET[:20]) == []
    (left,) = ConversationStore(conversations_path(place / "hudkit.db")).messages("s")
    assert left.parts == (TextPart("m1", "it is [redacted], as said"),)
