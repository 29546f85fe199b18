"""Reading OpenCode's own database: what is in the recordings, and what hostile and broken files do."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.errors import TranscriptError
from hudkit.transcripts import OpenCodeTranscript, OtherPart, TextPart, Todo, ToolPart, Transcript
from hudkit.transcripts.json_fields import MAX_TEXT

USER = {"role": "user", "time": {"created": 5}}
SAID = {"type": "text", "text": "hello"}
MAIN = "ses_e06196b14ffeMiDLXs7ZvRM6p9"


@pytest.mark.slow
def test_the_recordings_are_read_whole(orchard_db: Path, opencode_db: Path) -> None:
    counts = {}
    for path in (orchard_db, opencode_db):
        transcript = OpenCodeTranscript.open(path)
        assert isinstance(transcript, Transcript)
        messages = [message for session in transcript.sessions() for message in transcript.messages(session.id)]
        parts = [part for message in messages for part in message.parts]
        tools = [part for part in parts if isinstance(part, ToolPart)]
        counts[path.name] = (len(transcript.sessions()), len(messages), len(parts), len(tools))
        assert not transcript.skipped
        assert not [part for part in parts if isinstance(part, OtherPart)]
    assert counts == {"orchard.db": (5, 250, 954, 211), "opencode.db": (4, 37, 82, 9)}


def test_a_session_row(orchard_db: Path) -> None:
    transcript = OpenCodeTranscript.open(orchard_db)
    main, sub = transcript.sessions()[:2]
    assert (main.id, main.host, main.title) == (MAIN, "opencode", "Orchard planner: overlap, rain, history, frost")
    assert (main.model, main.agent, main.root, main.parent_id) == ("orchid-1", "build", "/home/dev/orchard", "")
    assert sub.parent_id == MAIN
    assert transcript.session(MAIN) == main
    assert transcript.session("ses_' OR 1=1 --") is None


def test_messages_come_by_time_then_id(orchard_db: Path) -> None:
    messages = list(OpenCodeTranscript.open(orchard_db).messages(MAIN))
    assert len(messages) == 189  # more than one page
    keys = [(message.created, message.id) for message in messages]
    assert keys == sorted(keys)
    first = messages[1]
    assert first.usage is not None
    assert (first.usage.total, first.usage.used, first.usage.prompt, first.finish) == (8353, 8353, 8225, "tool-calls")
    cached = messages[2].usage
    assert cached is not None
    assert (cached.input, cached.cache_read, cached.prompt, cached.used) == (343, 8192, 8535, 8562)
    assert [m.summary for m in messages].count(True) == 2  # `summary: {diffs}` of user messages marks nothing
    assert list(OpenCodeTranscript.open(orchard_db).messages("nobody")) == []


def test_todos_by_position(opencode_db: Path) -> None:
    transcript = OpenCodeTranscript.open(opencode_db)
    found = transcript.todos("ses_e06790d7cffe0zlLclBUl5fjcH")
    assert found == (Todo("write made-up code", "in_progress", "high"), Todo("test it", "pending", "low"))


def test_one_broken_row_is_skipped_and_told(made: Callable[..., Path]) -> None:
    path = made(
        ("a", '{"role": "user"', [SAID]),
        ("b", USER, ["[]", '{"type": "text", "text": "x"', SAID, "[" * 100_000]),
        ("c", "\x00{}", []),
        ("d", "", []),
    )
    transcript = OpenCodeTranscript.open(path)
    (message,) = transcript.messages("s")
    assert [part.text for part in message.parts if isinstance(part, TextPart)] == ["hello"]
    list(transcript.messages("s"))  # read again: each record is counted once
    reasons = {(each.table, each.id): each.reason for each in transcript.skipped}
    assert set(reasons) == {("message", x) for x in "acd"} | {("part", f"b-{n}") for n in (0, 1, 3)}
    assert "an object" in reasons["part", "b-0"]
    assert "broken JSON" in reasons["message", "a"]
    assert "deep" in reasons["part", "b-3"]


def test_odd_text_is_kept_in_a_form_that_utf8_can_carry(made: Callable[..., Path]) -> None:
    half = '{"type": "text", "text": "cut \\ud83d here \\u0000"}'
    path = made(("a", USER, [half, b'{"type": "text", "text": "\xff\xfe"}']))
    (message,) = OpenCodeTranscript.open(path).messages("s")
    texts = [part.text for part in message.parts if isinstance(part, TextPart)]
    assert texts[0] == "cut ? here \x00"
    assert all(text.encode() for text in texts)


@pytest.mark.parametrize("data", [{}, {"role": 3, "time": None, "tokens": []}, {"role": "assistant", "tokens": 7}])
def test_wrong_kinds_of_fields_fall_back(made: Callable[..., Path], data: dict[str, object]) -> None:
    odd = [
        {"type": 5},
        {"type": "tool", "state": "x", "tool": None},
        {"type": "patch", "files": {"a": 1}},
        {"type": "file", "url": "file://[", "source": []},
        {"type": "compaction", "tail_start_id": 9},
        {"type": "step-finish", "tokens": {"total": -5, "input": 1e300, "output": True}},
        {"type": "holographic"},
    ]
    transcript = OpenCodeTranscript.open(made(("a", data, odd)))
    (message,) = transcript.messages("s")
    assert len(message.parts) == len(odd)
    assert message.parts[-1] == OtherPart("a-6", "holographic")
    assert message.usage is None
    assert not transcript.skipped


@pytest.mark.slow
def test_a_ten_megabyte_message_is_bounded(made: Callable[..., Path]) -> None:
    big = "x" * 10_000_000
    state = {"status": "completed", "input": {"content": big, "n": [big]}, "output": big, "metadata": {"diff": big}}
    path = made(("a", USER, [{"type": "text", "text": big}, {"type": "tool", "tool": "write", "state": state}]))
    (message,) = OpenCodeTranscript.open(path).messages("s")
    text, tool = message.parts
    assert isinstance(text, TextPart)
    assert isinstance(tool, ToolPart)
    for kept in (text.text, tool.output, tool.input["content"], tool.input["n"][0], tool.metadata["diff"]):
        assert len(kept) < MAX_TEXT + 100
        assert kept.endswith(f"[{10_000_000 - MAX_TEXT} more characters]")


def test_not_a_database(tmp_path: Path, orchard_db: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("these are notes, and long enough to have a header")
    empty = tmp_path / "empty.db"
    empty.touch()
    half = tmp_path / "half.db"
    half.write_bytes(orchard_db.read_bytes()[:40_000])
    dangling = tmp_path / "dangling.db"
    dangling.symlink_to(tmp_path / "nowhere")
    loop = tmp_path / "loop.db"
    loop.symlink_to(loop)
    fifo = tmp_path / "fifo.db"
    os.mkfifo(fifo)
    for path in (text, empty, half, dangling, loop, fifo, tmp_path, tmp_path / "absent.db", Path("/dev/zero")):
        with pytest.raises(TranscriptError) as caught:
            transcript = OpenCodeTranscript.open(path)
            for session in transcript.sessions():
                list(transcript.messages(session.id))
        assert str(path) in str(caught.value)
        assert caught.value.hint


def test_a_name_with_a_nul_is_refused() -> None:
    with pytest.raises(TranscriptError):
        OpenCodeTranscript.open("a\0b.db")


def test_a_database_of_something_else(made: Callable[..., Path]) -> None:
    with pytest.raises(TranscriptError, match="no table part"):
        OpenCodeTranscript.open(
            made(schema="CREATE TABLE session (id); CREATE TABLE message (id, session_id, data);")
        )


def test_a_newer_schema_is_read_as_far_as_it_is_known(made: Callable[..., Path]) -> None:
    path = made(
        schema="CREATE TABLE session (id, colour); CREATE TABLE message (id, session_id, data, mood);"
        "CREATE TABLE part (id, message_id, data);"
        "INSERT INTO session VALUES ('s', 'red'); INSERT INTO message VALUES ('m2', 's', '{}', 1);"
        'INSERT INTO message VALUES (\'m1\', \'s\', \'{"role":"user","time":{"created":9}}\', 1)'
    )
    transcript = OpenCodeTranscript.open(path)
    assert [session.id for session in transcript.sessions()] == ["s"]
    assert [(m.id, m.created) for m in transcript.messages("s")] == [("m1", 9), ("m2", 0)]
    assert transcript.todos("s") == ()


def test_only_allowed_tables_are_ever_read(made: Callable[..., Path]) -> None:
    """A view under the name of an allowed table does not open a door to the credentials."""
    path = made(("a", USER, [SAID]))
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE todo")
    connection.execute("CREATE VIEW todo AS SELECT 's' AS session_id, value AS content FROM credential")
    connection.commit()
    transcript = OpenCodeTranscript.open(path)
    assert transcript.todos("s") == ()
    with pytest.raises(TranscriptError, match="credential"):
        transcript._file.rows("SELECT value FROM credential", (), tuple)
    with pytest.raises(TranscriptError, match="not authorized"):
        transcript._file.rows("SELECT load_extension('x')", (), tuple)
    for statement in ("DELETE FROM message", "ATTACH 'x.db' AS x", "PRAGMA journal_mode=DELETE", "CREATE TABLE t(x)"):
        with pytest.raises(TranscriptError):
            transcript._file.rows(statement, (), tuple)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("wal", [False, True])
def test_nothing_is_written_beside_a_database_that_is_at_rest(made: Callable[..., Path], wal: bool) -> None:
    path = made(("a", USER, [SAID]), wal=wal)
    before = snapshot(path.parent)
    assert list(before) == ["opencode.db"]
    transcript = OpenCodeTranscript.open(path)
    assert len(list(transcript.messages("s"))) == 1
    assert transcript.sessions()
    assert snapshot(path.parent) == before


def test_what_a_killed_writer_left_in_the_log_is_read_and_left_there(made: Callable[..., Path]) -> None:
    path = made(("a", USER, [SAID]), wal=True)
    code = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute(\"INSERT INTO message VALUES ('b', 's', 9, '{}')\"); c.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    before = snapshot(path.parent)
    assert set(before) == {"opencode.db", "opencode.db-wal", "opencode.db-shm"}
    assert [m.id for m in OpenCodeTranscript.open(path).messages("s")] == ["a", "b"]
    after = snapshot(path.parent)
    assert after.keys() == before.keys()
    assert (after["opencode.db"], after["opencode.db-wal"]) == (before["opencode.db"], before["opencode.db-wal"])


def test_a_copy_with_its_log_but_without_shared_memory(made: Callable[..., Path], tmp_path: Path) -> None:
    path = made(("a", USER, [SAID]), wal=True)
    writer = sqlite3.connect(path)
    writer.execute("INSERT INTO message VALUES ('b', 's', 9, '{}')")
    writer.commit()
    copied = tmp_path / "copy"
    copied.mkdir()
    for name in ("opencode.db", "opencode.db-wal"):
        shutil.copy(path.parent / name, copied)
    writer.close()
    assert [m.id for m in OpenCodeTranscript.open(copied / "opencode.db").messages("s")] == ["a", "b"]


@pytest.mark.slow
def test_a_writer_in_another_process_is_not_disturbed(made: Callable[..., Path]) -> None:
    """OpenCode at work: every read sees a prefix of what is written, and the writer never meets a lock."""
    path = made(wal=True)
    code = """
import json, sqlite3, sys
c = sqlite3.connect(sys.argv[1], timeout=0)
print("ready", flush=True)
sys.stdin.readline()
for n in range(300):
    c.execute("INSERT INTO message VALUES (?, 's', ?, ?)", (f"m{n:04}", n, '{"role": "user"}'))
    c.execute("INSERT INTO part VALUES (?, ?, 's', ?)", (f"p{n:04}", f"m{n:04}", '{"type": "text", "text": "x"}'))
    c.commit()
    if n % 50 == 0:
        c.execute("PRAGMA wal_checkpoint(PASSIVE)")
print("done", flush=True)
"""
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdin
    assert writer.stdout
    assert writer.stdout.readline() == "ready\n"
    transcript = OpenCodeTranscript.open(path)
    writer.stdin.write("go\n")
    writer.stdin.flush()
    seen = [0]
    while writer.poll() is None or seen[-1] < 300:
        ids = [message.id for message in transcript.messages("s")]
        assert ids == [f"m{n:04}" for n in range(len(ids))]
        seen.append(len(ids))
    assert writer.wait() == 0
    assert writer.stdout.read() == "done\n"
    assert seen == sorted(seen)
    assert not transcript.skipped


def test_a_writer_that_comes_and_goes_between_two_pages(made: Callable[..., Path]) -> None:
    """From at rest (immutable) to written and back, within one iteration."""
    path = made(*((f"m{n:03}", USER, []) for n in range(150)), wal=True)
    messages = OpenCodeTranscript.open(path).messages("s")
    first = [next(messages) for _ in range(100)]
    writer = sqlite3.connect(path)
    writer.execute("INSERT INTO message VALUES ('z', 's', 900, '{}')")
    writer.commit()
    writer.close()
    assert [m.id for m in (*first, *messages)] == [f"m{n:03}" for n in range(150)] + ["z"]


def test_a_file_that_vanishes_is_a_typed_error(made: Callable[..., Path]) -> None:
    path = made(("a", USER, [SAID]))
    transcript = OpenCodeTranscript.open(path)
    path.unlink()
    with pytest.raises(TranscriptError, match="cannot be opened"):
        transcript.sessions()


def test_a_symbolic_link_is_followed_to_its_log(made: Callable[..., Path], tmp_path: Path) -> None:
    path = made(("a", USER, [SAID]), wal=True)
    writer = sqlite3.connect(path)
    writer.execute("INSERT INTO message VALUES ('b', 's', 9, '{}')")
    writer.commit()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "link.db").symlink_to(path)
    assert [m.id for m in OpenCodeTranscript.open(elsewhere / "link.db").messages("s")] == ["a", "b"]
    assert [file.name for file in elsewhere.iterdir()] == ["link.db"]
    writer.close()


def test_a_name_with_uri_characters(made: Callable[..., Path], tmp_path: Path) -> None:
    odd = tmp_path / "a?mode=rwc#%41 b.db"
    shutil.copy(made(("a", USER, [SAID])), odd)
    before = sorted(file.name for file in tmp_path.iterdir())
    assert len(list(OpenCodeTranscript.open(odd).messages("s"))) == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == before


NOBODY = 65534


def test_a_directory_that_cannot_be_written(made: Callable[..., Path]) -> None:
    source = made(("a", USER, [SAID]), wal=True)
    with tempfile.TemporaryDirectory() as folder:  # a directory of pytest's cannot be entered by another user
        place = Path(folder)
        for file in source.parent.iterdir():
            shutil.copy(file, place)
            (place / file.name).chmod(0o444)
        place.chmod(0o555)
        root = os.geteuid() == 0  # root may write everywhere
        if root:
            os.seteuid(NOBODY)
        try:
            with pytest.raises(PermissionError):
                (place / "new").touch()
            assert len(list(OpenCodeTranscript.open(place / source.name).messages("s"))) == 1
        finally:
            if root:
                os.seteuid(0)
            place.chmod(0o700)


def test_input_of_a_tool_can_be_encoded_again(orchard_db: Path) -> None:
    transcript = OpenCodeTranscript.open(orchard_db)
    for message in transcript.messages(MAIN):
        for part in message.parts:
            if isinstance(part, ToolPart):
                assert json.loads(json.dumps(part.input)) == part.input
