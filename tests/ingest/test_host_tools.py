"""What Claude Code and Codex did is known from their transcripts, as the real programs wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from hudkit.ingest.host_tools import is_own_tool, neutral_call
from hudkit.ingest.message_facts import NO_FACTS, derive_facts
from hudkit.log.payloads import ErrorEncountered, FileEdit, FileOpen, SubagentEnd, SubagentStart
from hudkit.transcripts import Message, SessionRow, ToolPart, open_claude, open_codex

DATA = Path(__file__).parents[1] / "transcripts" / "data"


def facts(name):
    transcript = (open_claude if name.startswith("claude") else open_codex)(DATA / name)
    (row,) = transcript.sessions()
    known, told = NO_FACTS, []
    for message in transcript.messages(row.id):
        known, new = derive_facts(row, message, known)
        told += [fact.payload for fact in new]
    return told


def of(told, kind):
    return [payload for payload in told if isinstance(payload, kind)]


def test_a_day_in_claude_code_is_known():
    told = facts("claude-day.jsonl")
    assert [file.path for file in of(told, FileOpen)] == ["ramp.py"]
    assert [file.path for file in of(told, FileEdit)] == ["ramp.py", "fire.txt"]
    assert [error.message for error in of(told, ErrorEncountered)] == ["echo overshoot; exit 1: overshoot"]
    (started,), (ended,) = of(told, SubagentStart), of(told, SubagentEnd)
    assert started.task == "Look" and started.agent == "general-purpose"
    assert ended.session_id == started.session_id and ended.result == "No cracks found." and not ended.failed
    assert (DATA / "claude-day" / "subagents" / f"{ended.session_id}.jsonl").exists()


def test_a_day_in_codex_is_known():
    told = facts("codex-day.jsonl")
    assert [error.message for error in of(told, ErrorEncountered)] == ["echo overshoot; exit 1: overshoot"]


def part(tool, arguments, *, output="", error=""):
    return ToolPart("p", tool, "c", "error" if error else "completed", arguments, output, error)


HEAD = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {}\nOriginal token count: 3\nOutput:\n{}"


def shell(command, output="", error=""):
    return part("exec_command", {"cmd": command}, output=output, error=error)


@pytest.mark.parametrize(
    ("host", "call", "expected"),
    [
        ("claude-code", part("Bash", {"command": "x"}, output="fine"), ("bash", "completed", "fine", 0)),
        ("claude-code", part("Bash", {"command": "x"}, error="Exit code 2\nno"), ("bash", "completed", "no", 2)),
        ("claude-code", part("Bash", {"command": "x"}, error="[interrupted]"), ("bash", "error", "", None)),
        ("claude-code", part("MultiEdit", {}), ("multiedit", "completed", "", None)),
        ("claude-code", part("WebFetch", {}), ("WebFetch", "completed", "", None)),
        ("codex", shell("x", error=HEAD.format(1, "no")), ("bash", "completed", "no", 1)),
        ("codex", shell("x", HEAD.format(0, "exit code 7")), ("bash", "completed", "exit code 7", 0)),
        (
            "codex",
            part("shell", {"command": ["ls"]}, output="\n[exit code 3]"),
            ("bash", "completed", "\n[exit code 3]", 3),
        ),
        ("codex", part("apply_patch", {"input": "*** Begin Patch"}), ("apply_patch", "completed", "", None)),
        ("codex", shell("apply_patch <<'E'\n*** Update File: a\nE"), ("apply_patch", "completed", "", None)),
        ("opencode", part("Bash", {}), ("Bash", "completed", "", None)),
    ],
)  # fmt: skip
def test_calls_get_the_common_words(host, call, expected):
    neutral = neutral_call(host, call)
    assert (neutral.tool, neutral.status, neutral.output, neutral.metadata.get("exit")) == expected


def test_the_command_of_a_shell_is_what_it_was_given():
    call = part("shell", {"command": ["bash", "-lc", "pytest -q"]}, output="ok")
    assert neutral_call("codex", call).input["command"] == "pytest -q"


def test_a_call_that_is_not_finished_stays_as_it_is():
    running = ToolPart("p", "Bash", "c", "running", {})
    assert neutral_call("claude-code", running) is running


@pytest.mark.parametrize(
    "name",
    ["hud", "memory", "memory_compact", "mcp__hudkit__hud", "mcp__plugin_hudkit_hudkit__memory", "hudkit__hud"],
)
def test_our_own_tools_are_known_by_the_names_that_hosts_give_them(name):
    assert is_own_tool(name)
    assert not is_own_tool(name + "s") and not is_own_tool("mcp__memory__memory") and not is_own_tool("bash")


def test_a_refused_call_of_our_own_tool_is_no_error_of_the_project():
    call = ToolPart("p1", "mcp__hudkit__hud", "c1", "error", {"operation": "notes.ad"}, error="no operation notes.ad")
    row = SessionRow("s1", "claude-code", "", "/project", root="/project")
    response = Message("m1", "s1", "assistant", finish="tool_use", parts=(call,))
    _, told = derive_facts(row, response, NO_FACTS)
    assert not of([fact.payload for fact in told], ErrorEncountered)
    other = replace(response, parts=(replace(call, tool="mcp__memory__memory"),))
    _, told = derive_facts(row, other, NO_FACTS)
    assert of([fact.payload for fact in told], ErrorEncountered), "that of another server is"
