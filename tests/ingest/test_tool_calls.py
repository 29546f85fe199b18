"""Tools of any agent are heard by what they do."""

from __future__ import annotations

from typing import Any

import pytest

from hudkit.ingest.tool_calls import neutral_part
from hudkit.transcripts import ToolPart


def call(tool: str, output: str = "", **given: Any) -> ToolPart:
    return ToolPart("p", tool, "c", "completed", given, output)


@pytest.mark.parametrize(
    ("tool", "given", "name", "known"),
    [
        ("read_file", {"path": "a.py"}, "read", {"filePath": "a.py"}),
        ("ReadFile", {"file_path": "a.py", "limit": 3}, "read", {"filePath": "a.py", "limit": 3}),
        ("write_file", {"filename": "a.py", "text": "x"}, "write", {"filePath": "a.py", "content": "x"}),
        (
            "str_replace",
            {"path": "a.py", "old_str": "x", "new_str": "y"},
            "edit",
            {"filePath": "a.py", "oldString": "x", "newString": "y"},
        ),
        ("run_shell_command", {"cmd": "ls", "cwd": "src"}, "bash", {"command": "ls", "workdir": "src"}),
        ("write_todos", {"todos": []}, "todowrite", {"todos": []}),
        ("todo", {"items": []}, "todo", {"items": []}),
        ("weather", {"path": "x"}, "weather", {"path": "x"}),
        ("read", {"filePath": "a.py", "path": "b"}, "read", {"filePath": "a.py", "path": "b"}),
    ],
)
def test_a_call_in_known_words(tool: str, given: dict[str, Any], name: str, known: dict[str, Any]) -> None:
    heard = neutral_part(call(tool, **given))
    assert (heard.tool, heard.input) == (name, known)


def test_the_users_own_names_come_first() -> None:
    heard = neutral_part(call("load_text", file="a.py"), {"load_text": "read"})
    assert (heard.tool, heard.input) == ("read", {"filePath": "a.py"})


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
    assert neutral_part(call("bash", output, command="x")).metadata.get("exit") == exit
