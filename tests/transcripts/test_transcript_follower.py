"""A transcript that is followed tells what the model has in its window: compared with what the real hosts sent."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hudkit.errors import ConfigError
from hudkit.transcripts import CompactionPart, TextPart, Todo, ToolPart, open_claude, open_codex
from hudkit.transcripts.transcript_follower import FollowedTranscript, TranscriptFollower
from jsonl_samples import SESSION, claude_records, codex_records, lines

DATA = Path(__file__).parent / "data"
RECORDED = sorted(path.name for path in DATA.glob("*.jsonl"))
BLOCK = re.compile(r"<hud n=\d+>told at \w+</hud>")


def host_of(name):
    return name.partition("-")[0].replace("claude", "claude-code")


def follow(name):
    return TranscriptFollower(host_of(name), DATA / name).read()


def sent(name):
    """The texts of hooks in the last request of the main agent that Claude Code recorded."""
    messages, requests, last = {}, {}, ""
    for line in (DATA / name).read_text().splitlines():
        record = json.loads(line)
        if record["type"] == "api-request-blob":
            messages[record["hash"]] = json.dumps(record["message"])
        elif record["type"] == "api-request":
            before = requests[record["base"]][: record["keep"]] if "base" in record else []
            last = record["id"]
            requests[last] = before + record["tail"]
    return BLOCK.findall("".join(messages.get(message, "") for message in requests[last]))


def words(message):
    return " ".join(part.text for part in message.parts if isinstance(part, TextPart))


@pytest.mark.parametrize("name", [name for name in RECORDED if name.startswith("claude")])
def test_the_texts_of_hooks_are_those_that_claude_code_sent(name):
    assert list(follow(name).blocks) == sent(name) != []


def test_codex_keeps_the_texts_of_hooks_behind_the_last_compaction():
    told = [text.split("at ")[1] for text in follow("codex-day.jsonl").blocks]
    assert told == [f"{event}</hud>" for event in ("SessionStart", "SessionStart", "UserPromptSubmit", "PostToolUse")]


@pytest.mark.parametrize("name", RECORDED)
def test_a_file_that_grows_is_read_as_one_that_is_whole(name, tmp_path):
    whole, data = follow(name), (DATA / name).read_bytes()
    path = tmp_path / name
    path.touch()
    follower = TranscriptFollower(host_of(name), path)
    messages = {}
    for at in range(0, len(data), 5_003):
        with path.open("ab") as file:
            file.write(data[at : at + 5_003])
        read = follower.read()
        messages.update({message.id: message for message in read.new})
    assert [messages[message.id] for message in whole.new] == list(whole.new)
    facts = (read.blocks, read.anchors, read.all_anchors, read.usage, read.todos, read.responses, read.skipped)
    assert facts == (
        whole.blocks,
        whole.anchors,
        whole.all_anchors,
        whole.usage,
        whole.todos,
        whole.responses,
        whole.skipped,
    )
    assert follower.read().new == ()


@pytest.mark.parametrize("name", RECORDED)
def test_the_messages_are_those_that_memory_reads(name):
    transcript = (open_claude if name.startswith("claude") else open_codex)(DATA / name)
    (row,) = transcript.sessions()
    assert tuple(transcript.messages(row.id)) == follow(name).new


def test_a_day_in_claude_code():
    day = follow("claude-day.jsonl")
    said = {message.id: message for message in day.new}
    calls = {part.tool: part for message in day.new for part in message.parts if isinstance(part, ToolPart)}
    assert {tool: call.status for tool, call in calls.items()} | {"Bash": "completed"} == dict.fromkeys(
        ("Read", "Bash", "Edit", "TaskCreate", "TaskUpdate", "Agent", "Write"), "completed"
    )
    failed = [part for message in day.new for part in message.parts if getattr(part, "status", "") == "error"]
    assert [part.error for part in failed] == ["Exit code 1\novershoot"]
    assert calls["Edit"].input["file_path"] == "/home/user/project/ramp.py"
    typed = [
        words(message) for message in day.new if message.role == "user" and not message.parts[0].id.endswith("c")
    ]
    assert [text for text in typed if not text.startswith("<")] == [
        "The kiln overshoots at 900 degrees. Never touch legacy/.",
        "What is the ramp?",
        "Write fire.txt.",
    ]
    assert all(message.parts[0].synthetic for message in day.new if words(message).startswith("<"))
    assert (day.compactions, day.model, day.window) == (1, "claude-sonnet-4-5", None)
    assert day.todos == (Todo("glaze the pot", "in_progress"),)
    marker, summary, kept = (said[id] for id in day.anchors[:3])
    assert isinstance(marker.parts[0], CompactionPart) and marker.parts[0].tail_start_id == kept.id
    assert summary.summary and "80 per hour" in words(summary)
    assert words(kept) == "80." and day.all_anchors.index(kept.id) < day.all_anchors.index(marker.id)
    assert [words(said[id]) for id in day.anchors[-3:]] == ["Write fire.txt.", "", "Written."]
    assert day.usage is not None and day.usage.used == said[day.anchors[-1]].usage.used


def test_what_was_rewound_is_in_no_list_of_anchors():
    read = follow("claude-rewind.jsonl")
    said = {message.id: words(message) for message in read.new}
    assert [said[id] for id in read.all_anchors] == [
        "The kiln is cold. Remember the number 7.",
        "Seven.",
        "Paint it blue.",
        "It is blue.",
    ]
    assert {"Paint it red.", "It is red."} <= set(said.values())
    assert read.responses == 4


def test_a_subagent_has_a_file_of_its_own():
    (child,) = (DATA / "claude-day" / "subagents").glob("agent-*.jsonl")
    read = TranscriptFollower("claude-code", child).read()
    assert [words(message) for message in read.new] == ["Look for cracks.", "", "No cracks found."]
    rows = {row.id: row for row in open_claude(DATA).sessions()}
    assert rows[child.stem].parent_id in {json.loads(line)["sessionId"] for line in child.read_text().splitlines()}


def test_a_day_in_codex():
    day = follow("codex-day.jsonl")
    said = {message.id: message for message in day.new}
    parts = [part for message in day.new for part in message.parts if isinstance(part, ToolPart)]
    assert [part.status for part in parts] == ["completed", "error", *["completed"] * (len(parts) - 2)]
    assert "overshoot" in parts[1].error
    typed = [message for message in day.new if message.role == "user" and isinstance(message.parts[0], TextPart)]
    assert [words(message) for message in typed if not message.parts[0].synthetic] == [
        "The kiln overshoots at 900 degrees. Never touch legacy/.",
        "What is the ramp of the kiln?",
        "Write fire.txt.",
    ]
    assert day.window == 258_400 and day.model == "gpt-5-codex" and day.compactions >= 1
    answers = [message for message in day.new if message.role == "assistant"]
    assert all(message.usage is not None and message.usage.used > 1_000 for message in answers)
    summaries = [message for message in answers if "The ramp of the kiln is 80 per hour." in words(message)]
    assert all(message.summary for message in summaries) and len(summaries) == day.compactions
    kept = [words(said[id]) for id in day.anchors if words(said[id]).startswith("The kiln")]
    assert kept == ["The kiln overshoots at 900 degrees. Never touch legacy/."]
    assert day.usage == said[day.anchors[-1]].usage


def test_there_is_no_usage_right_behind_a_compaction(tmp_path):
    boundary = next(n for n, record in enumerate(claude_records()) if record.get("isCompactSummary"))
    claude = tmp_path / f"{SESSION}.jsonl"
    claude.write_text(lines(*claude_records()[: boundary + 1]))
    assert TranscriptFollower("claude-code", claude).read().usage is None
    whole = (DATA / "codex-day.jsonl").read_text().splitlines(keepends=True)
    last = max(n for n, line in enumerate(whole) if '"type": "compacted"' in line)
    codex = tmp_path / "rollout-codex.jsonl"
    for end in range(last + 1, last + 6):
        codex.write_text("".join(whole[:end]))
        assert TranscriptFollower("codex", codex).read().usage is None


def test_codex_takes_turns_back(tmp_path):
    rolled = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    path = tmp_path / f"rollout-2026-04-02T09-00-00-{SESSION}.jsonl"
    path.write_text(lines(*codex_records()[:5], rolled))
    read = TranscriptFollower("codex", path).read()
    assert len(read.new) == 3 and len(read.all_anchors) == len(read.anchors) == 2


@pytest.mark.parametrize("name", ["claude-day.jsonl", "codex-day.jsonl"])
def test_broken_lines_are_counted_and_the_file_that_is_replaced_is_read_anew(name, tmp_path):
    whole, data = follow(name), (DATA / name).read_text()
    path = tmp_path / name
    half = data.splitlines(keepends=True)
    broken = ["{broken\n", "[1]\n", "\xff\n", "\n"]
    path.write_text("".join([*half[:20], *broken, *half[20:], '{"type": "us']))
    follower = TranscriptFollower(host_of(name), path)
    first = follower.read()
    assert first.skipped == 3
    assert len(first.anchors) == len(whole.anchors) and first.blocks == whole.blocks
    assert follower.read().skipped == 3
    path.write_text(data)
    again = follower.read()
    assert again.skipped == 0 and again.anchors == whole.anchors
    path.unlink()
    assert follower.read() == FollowedTranscript()
    path.write_text(data)
    assert follower.read() == whole


@pytest.mark.slow
def test_a_missing_record_does_not_lose_what_is_behind_it(tmp_path):
    """A parent that was on a line that could not be read."""
    records = (DATA / "claude-day.jsonl").read_text().splitlines(keepends=True)
    whole = follow("claude-day.jsonl")
    for lost in range(4, len(records), 7):
        path = tmp_path / "claude-day.jsonl"
        path.write_text(
            "".join([*records[:lost], records[lost][: len(records[lost]) // 2] + "\n", *records[lost + 1 :]])
        )
        read = TranscriptFollower("claude-code", path).read()
        assert read.skipped == 1 and len(set(whole.all_anchors) - set(read.all_anchors)) <= 2


def test_other_hosts_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="opencode"):
        TranscriptFollower("opencode", tmp_path / "a.jsonl")


def test_a_codex_session_that_goes_back_goes_on_in_a_file_of_its_own(tmp_path: Path) -> None:
    """Its first record says up to where the file before is meant; what came behind that is gone."""
    id = "01a21460-ea11-7ff0-8c13-f8571f4fd637"
    folder = tmp_path / "sessions" / "2026" / "11" / "25"
    folder.mkdir(parents=True)

    def record(ordinal: int, kind: str, **payload: Any) -> bytes:
        return json.dumps({"ordinal": ordinal, "type": kind, "payload": payload}).encode() + b"\n"

    def said(ordinal: int, role: str, text: str) -> bytes:
        content = [{"type": "input_text", "text": text}]
        return record(ordinal, "response_item", type="message", role=role, content=content)

    kept = record(0, "session_meta", id=id) + said(1, "user", "One.") + said(2, "assistant", "first")
    first = folder / f"rollout-2026-11-25T20-23-45-{id}.jsonl"
    first.write_bytes(kept + said(3, "user", "Two.") + said(4, "assistant", "second"))
    before = TranscriptFollower("codex", first).read()
    base = {"thread_id": id, "end_ordinal_exclusive": 3, "end_byte_offset": len(kept)}
    second = folder / f"rollout-2026-11-25T20-23-48-{id}_01a21442-9fdf-79a2-8507-51ce59e1034c.jsonl"
    second.write_bytes(record(3, "session_meta", id=id, history_base=base) + said(4, "user", "Three."))
    after = TranscriptFollower("codex", second).read()
    assert [part.text for message in after.new for part in message.parts] == ["One.", "first", "Three."]
    assert after.all_anchors[:2] == before.all_anchors[:2], "their names stay"
    assert after.all_anchors[2] not in before.all_anchors
    again = folder / f"rollout-2026-11-25T20-23-50-{id}_01a21442-9fdf-79a2-8507-51ce59e10999.jsonl"
    base = {"thread_id": id, "end_ordinal_exclusive": 5, "end_byte_offset": second.stat().st_size}
    again.write_bytes(record(5, "session_meta", id=id, history_base=base) + said(6, "user", "Four."))
    texts = [part.text for message in TranscriptFollower("codex", again).read().new for part in message.parts]
    assert texts == ["One.", "first", "Three.", "Four."]


def test_what_a_script_of_codex_runs_and_changes_is_a_call_of_its_response(tmp_path: Path) -> None:
    def record(kind: str, **payload: Any) -> str:
        return json.dumps({"type": kind, "payload": payload}) + "\n"

    command = {"type": "CommandExecution", "id": "exec-1", "command": ["/bin/bash", "-lc", "exit 3"], "exit_code": 3}
    change = {"type": "FileChange", "id": "exec-2", "changes": {"/p/a.py": {"type": "add"}}, "status": "completed"}
    direct = {"type": "CommandExecution", "id": "call_9", "command": ["ls"], "exit_code": 0}
    file = tmp_path / "rollout-2026-11-25T20-23-45-01a21460-ea11-7ff0-8c13-f8571f4fd637.jsonl"
    file.write_text(
        record("response_item", type="custom_tool_call", name="exec", input="x", call_id="call_1")
        + "".join(record("event_msg", type="item_completed", item=item) for item in (command, change, direct))
        + record("response_item", type="custom_tool_call_output", call_id="call_1", output="done")
    )
    (message,) = TranscriptFollower("codex", file).read().new
    found = [(part.tool, part.status) for part in message.parts if isinstance(part, ToolPart)]
    assert found == [("exec", "completed"), ("exec_command", "error"), ("apply_patch", "completed")]
    assert "*** Add File: /p/a.py" in message.parts[2].input["input"]
