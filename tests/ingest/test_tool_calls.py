"""Calls of any agent's tools are read by what they do."""

from __future__ import annotations

from typing import Any

import pytest

from hudkit.ingest.tool_calls import finished_call, neutral_part
from hudkit.transcripts import ToolPart


def call(tool: str, output: str = "", **given: Any) -> ToolPart:
    return ToolPart("p", tool, "c", "completed", given, output)


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("read_file", {"path": "a.py"}, {"kind": "read", "path": "a.py"}),
        ("ReadFile", {"file_path": "a.py", "limit": 3}, {"kind": "read", "path": "a.py", "partial": True}),
        ("write_file", {"filename": "a.py", "text": "x"}, {"kind": "write", "path": "a.py", "content": "x"}),
        (
            "str_replace",
            {"path": "a.py", "old_str": "x", "new_str": "y"},
            {"kind": "edit", "path": "a.py", "edits": (("x", "y"),)},
        ),
        ("run_shell_command", {"cmd": "ls", "cwd": "src"}, {"kind": "shell", "command": "ls", "workdir": "src"}),
        ("write_todos", {"todos": []}, {"kind": "todos", "todos": []}),
        ("todo", {"items": []}, {"kind": "other", "tool": "todo"}),
        ("weather", {"path": "x"}, {"kind": "other", "tool": "weather", "path": None, "main_argument": "x"}),
        ("read", {"filePath": "a.py", "path": "b"}, {"kind": "read", "path": "a.py"}),
        ("apply_patch", {"input": "*** Add File: a"}, {"kind": "patch", "patch": "*** Add File: a"}),
    ],
)
def test_a_call_of_any_agent_in_neutral_form(tool: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    read = finished_call(neutral_part(call(tool, **given)))
    assert {name: getattr(read, name) for name in expected} == expected


def test_the_users_own_names_come_first() -> None:
    read = finished_call(neutral_part(call("load_text", file="a.py"), {"load_text": "read"}))
    assert (read.tool, read.kind, read.path) == ("read", "read", "a.py")


@pytest.mark.parametrize(
    ("output", "exit"),
    [
        ("no such file\n[exit status 2]", 2),
        ("boom\nexit code: 1", 1),
        ("Process exited with code 127.", 127),
        ("exit=3", 3),
        ("fine", None),
        ("exit code: 1\nbut then much more was said in the end", None),
    ],
)
def test_an_exit_status_is_read_where_an_output_ends_with_it(output: str, exit: int | None) -> None:
    assert finished_call(neutral_part(call("bash", output, command="x"))).exit_status == exit
