"""Claude Code's and Codex's transcripts: what they hold comes out, whatever else is in the files."""

from __future__ import annotations

import json
import os
import resource
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.errors import TranscriptError
from hudkit.transcripts import (
    CompactionPart,
    ReasoningPart,
    TextPart,
    ToolPart,
    Transcript,
    llm_calls,
    open_claude,
    open_codex,
)
from hudkit.transcripts.json_fields import MAX_TEXT
from hudkit.transcripts.search import PastSessions, SearchQuery
from jsonl_samples import SESSION, claude_records, codex_records, lines, write_claude, write_codex

HOSTS = {"claude": (write_claude, open_claude), "codex": (write_codex, open_codex)}


def text_of(message):
    return " ".join(part.text for part in message.parts if isinstance(part, TextPart))


def test_claude_code(tmp_path):
    write_claude(tmp_path)
    transcript = open_claude(tmp_path)
    assert isinstance(transcript, Transcript)
    rows = {row.id: row for row in transcript.sessions()}
    assert set(rows) == {SESSION, "agent-a77"}
    row = rows[SESSION]
    assert (row.title, row.root, row.model) == ("Kiln controller ramps", "/work/kiln", "claude-x-5")
    assert rows["agent-a77"].parent_id == SESSION
    said = list(transcript.messages(SESSION))
    assert [m.role for m in said] == [
        "user",
        "assistant",
        "assistant",
        "user",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    first = said[1]
    assert [type(part) for part in first.parts] == [ReasoningPart, TextPart, ToolPart]
    assert (
        first.usage is not None and first.usage.prompt == 1053 and first.usage.used == 1073
    )  # once, not three times
    failed = first.parts[2]
    assert isinstance(failed, ToolPart) and failed.status == "error" and "Error 2" in failed.error
    read, todo = (part for part in said[2].parts if isinstance(part, ToolPart))
    assert (read.output, todo.output) == ("RAMP = 120", "ok")
    assert said[3].parts[0].synthetic  # a command that the host wrote in the user's name
    marker, summary = said[4], said[5]
    assert isinstance(marker.parts[0], CompactionPart) and marker.parts[0].auto
    assert summary.summary and summary.parent_id == marker.id and "120 per hour" in text_of(summary)
    last = list(llm_calls(said))[-1]
    assert [m.id for m in last.window] == [marker.id, summary.id, said[6].id]
    assert [todo.content for todo in transcript.todos(SESSION)] == ["glaze", "fire"]
    assert transcript.skipped == ()


def test_codex(tmp_path):
    write_codex(tmp_path)
    transcript = open_codex(tmp_path)
    assert isinstance(transcript, Transcript)
    (row,) = transcript.sessions()
    assert (row.id, row.root, row.model, row.title) == (
        SESSION,
        "/work/loom",
        "gpt-5-codex",
        "The loom drops a thread.",
    )
    said = list(transcript.messages(SESSION))
    assert [m.role for m in said] == [*["user"] * 3, *["assistant"] * 3, "user", "assistant", "user"]
    assert [m.parts[0].synthetic for m in said[:3]] == [True, True, False]
    first = said[3]
    assert [type(part) for part in first.parts] == [ReasoningPart, ToolPart, ToolPart]
    assert first.usage is not None and (first.usage.input, first.usage.cache_read, first.usage.used) == (
        1000,
        4000,
        5070,
    )
    shell = first.parts[1]
    assert isinstance(shell, ToolPart) and shell.input == {"command": ["cat", "tension.cfg"]}
    assert shell.status == "error" and "tension = 3" in shell.error
    (patch,) = said[4].parts
    assert isinstance(patch, ToolPart) and patch.output == "Success"
    assert "five now" in text_of(said[5])
    assert said[7].summary and text_of(said[7]) == "We mended the loom."
    assert [(todo.content, todo.status) for todo in transcript.todos(SESSION)] == [
        ("measure", "completed"),
        ("mend", "pending"),
    ]
    assert len({m.id for m in said}) == len(said)


def test_codex_before_its_envelopes(tmp_path):
    path = tmp_path / "rollout-2025-05-01T08-00-00-old.jsonl"
    bare = [record["payload"] for record in codex_records() if record["type"] == "response_item"]
    path.write_text(lines({"id": "old", "timestamp": "2025-05-01T08:00:00Z", "instructions": None}, *bare))
    transcript = open_codex(path)
    assert [row.id for row in transcript.sessions()] == ["old"]
    assert any("five now" in text_of(message) for message in transcript.messages("old"))


@pytest.mark.parametrize("host", HOSTS)
def test_reading_goes_on_behind_a_message(tmp_path, host):
    write, open_ = HOSTS[host]
    write(tmp_path)
    transcript = open_(tmp_path)
    said = list(transcript.messages(SESSION))
    for at in range(len(said)):
        assert list(transcript.messages(SESSION, after=said[at].id)) == said[at + 1 :]
    with pytest.raises(TranscriptError, match="no message"):
        list(transcript.messages(SESSION, after="gone"))
    assert list(transcript.messages("unknown")) == []
    assert transcript.session("../../etc/passwd") is None


@pytest.mark.parametrize("host", HOSTS)
def test_a_half_written_last_line_is_read_when_it_is_whole(tmp_path, host):
    write, open_ = HOSTS[host]
    path = write(tmp_path)
    last = lines((claude_records() if host == "claude" else codex_records())[-1])
    whole = path.read_text()
    assert whole.endswith(last)
    transcript = open_(tmp_path)
    complete = list(transcript.messages(SESSION))
    for cut in (1, len(last) // 2, len(last) - 1):
        path.write_text(whole[: len(whole) - len(last) + cut])
        said = list(transcript.messages(SESSION))
        assert said == (complete if cut == len(last) - 1 else complete[: len(said)])
    assert transcript.skipped == ()
    path.write_text(whole)
    assert list(transcript.messages(SESSION)) == complete


@pytest.mark.parametrize("host", HOSTS)
def test_hostile_lines_are_passed_over_and_named(tmp_path, host):
    write, open_ = HOSTS[host]
    hostile = [
        b"{broken",
        b"[1, 2]",
        b'"text"',
        b"null",
        b"\xff\xfe\x00",
        b'{"type": "user", "message": {"content": [null, 7, {"type": 3}]}}',
        b'{"type": "user", "message": "\\ud800", "timestamp": 1e400}',
        b'{"type": "response_item", "payload": {"type": "function_call", "arguments": 7, "name": []}}',
        b'{"type": "from-2031", "payload": {"what": "ever"}}',
        b"[" * 100_000,
    ]
    path = write(tmp_path)
    before = list(open_(tmp_path).messages(SESSION))
    path.write_bytes(path.read_bytes() + b"\n".join(hostile) + b"\n")
    transcript = open_(tmp_path)
    said = list(transcript.messages(SESSION))
    assert [m for m in said if m in before] == before
    reasons = {one.reason.split(":")[0] for one in transcript.skipped}
    assert {"broken JSON", "expected an object, found list", "expected an object, found str"} <= reasons
    assert all(len(one.reason) < 220 for one in transcript.skipped)
    list(transcript.messages(SESSION))
    assert len(transcript.skipped) == len({(one.table, one.id) for one in transcript.skipped})


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
def test_a_message_of_ten_megabytes_is_bounded(tmp_path, host):
    write, open_ = HOSTS[host]
    big = "tension " * 1_300_000
    record = claude_records()[-1] if host == "claude" else codex_records()[-3]
    text = (
        json.dumps(record)
        .replace("The ramp is 80 per hour now.", big)
        .replace("The tension was three, it is five now.", big)
    )
    write(tmp_path, extra=text.replace('"u14"', '"u15"').replace("msg_3", "msg_4") + "\n")
    transcript = open_(tmp_path)
    longest = max(len(text_of(message)) for message in transcript.messages(SESSION))
    assert MAX_TEXT <= longest < MAX_TEXT + 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0


def test_what_is_no_file_is_no_session(tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    os.mkfifo(folder / "a.jsonl")
    (folder / "dir.jsonl").mkdir()
    (folder / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (folder / "empty.jsonl").touch()
    (folder / "none.jsonl").write_text("{}\n[]\n")
    assert open_claude(tmp_path).sessions() == ()
    with pytest.raises(TranscriptError, match="cannot be read"):
        open_claude(tmp_path / "absent")


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["type", "message", "payload", "content", "id", "role", "text", "output", "call_id"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(records=st.lists(json_values, max_size=6), host=st.sampled_from(sorted(HOSTS)))
def test_no_json_stops_a_reader(tmp_path_factory, records, host):
    root = tmp_path_factory.mktemp("fuzz")
    write, open_ = HOSTS[host]
    path = write(root)
    kinds = ["user", "assistant", "response_item", "system", "compacted", "event_msg", "session_meta"]
    wrapped = [
        {"type": kinds[n % len(kinds)], "message": one, "payload": one, "timestamp": one}
        for n, one in enumerate(records)
    ]
    path.write_text(lines(*wrapped, *records) + path.read_text())
    transcript = open_(root)
    transcript.sessions()
    for row in transcript.sessions():
        list(transcript.messages(row.id))
        transcript.todos(row.id)


def test_a_session_that_went_back_is_read_with_what_it_goes_on_from(tmp_path):
    """Codex goes on in a new file, whose first record says up to where the one before is meant."""

    def line(ordinal, kind, **payload):
        return json.dumps({"ordinal": ordinal, "type": kind, "payload": payload}).encode() + b"\n"

    def said(ordinal, text, role="user"):
        content = [{"type": "input_text", "text": text}]
        return line(ordinal, "response_item", type="message", role=role, content=content)

    folder = tmp_path / "2026" / "04" / "02"
    folder.mkdir(parents=True)
    kept = line(0, "session_meta", id=SESSION, cwd="/work/loom") + said(1, "The thread tension was three.")
    plan = [{"step": "oil the loom", "status": "pending"}]
    kept += line(2, "response_item", type="function_call", name="update_plan", arguments=json.dumps({"plan": plan}))
    first = folder / f"rollout-2026-04-02T09-00-00-{SESSION}.jsonl"
    first.write_bytes(kept + said(3, "Cut the red thread."))
    with closing(PastSessions([open_codex(tmp_path)], tmp_path / "index.db")) as past:
        assert past.search(SearchQuery("red thread"))
        before = [message.id for message in past.messages(SESSION)]
        base = {"thread_id": SESSION, "end_ordinal_exclusive": 3, "end_byte_offset": len(kept)}
        second = folder / f"rollout-2026-04-02T10-00-00-{SESSION}_2.jsonl"
        second.write_bytes(line(3, "session_meta", id=SESSION, cwd="/work/loom", history_base=base))
        os.utime(first, (1, 1))
        with second.open("ab") as file:
            file.write(said(4, "What was the tension of the thread?"))
        texts = [text_of(message) for message in past.messages(SESSION)]
        assert texts[0] == "The thread tension was three." and texts[-1] == "What was the tension of the thread?"
        assert "Cut the red thread." not in texts
        after = [message.id for message in past.messages(SESSION)]
        assert after[:2] == before[:2] and after[-1] not in before, "names stay, and none is given twice"
        hits = past.search(SearchQuery("thread tension"))
        assert {hit.message for hit in hits} == {after[0], after[-1]}
        assert not past.search(SearchQuery('"red thread"'))
        transcript, row = past.find(SESSION)
        assert row.title == "The thread tension was three."
        assert [todo.content for todo in transcript.todos(SESSION)] == ["oil the loom"]
