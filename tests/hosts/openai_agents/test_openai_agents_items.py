"""The SDK's items as messages: every item belongs to one, calls are known for what they do, and nothing is lost."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.hosts.host_session import Injection
from hudkit.hosts.openai_agents.input_items import TranscriptContext, message_spans, summary_items, with_frame
from hudkit.transcripts import ToolPart

pytestmark = pytest.mark.slow

SAID: dict[str, Any] = {"role": "user", "content": "Begin."}
ANSWERED: dict[str, Any] = {
    "type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "ok"}],
}  # fmt: skip


def hearing() -> TranscriptContext:
    return TranscriptContext("s1", {}, {}, {})


def call(id: str, name: str = "work") -> dict[str, Any]:
    return {"type": "function_call", "call_id": id, "name": name, "arguments": '{"path": "a.txt"}'}


def result(id: str, output: Any = "done") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": output}


_ITEMS = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, st.sampled_from(["Go on.", "x", ""])),
    st.builds(lambda n: call(f"c{n}"), st.integers(0, 3)),
    st.builds(lambda n: result(f"c{n}"), st.integers(0, 3)),
    st.sampled_from(
        [
            ANSWERED,
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
            {"type": "item_reference", "id": "msg_9"},
            {"type": "what_is_new"},
            {},
            *summary_items([], "So far."),
        ]
    ),
)


@given(st.lists(_ITEMS, max_size=12))
def test_every_item_belongs_to_one_message_and_nothing_is_changed(items: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(items)
    found = message_spans(items, hearing())
    assert [at for span in found for at in range(span.start, span.end)] == list(range(len(items)))
    assert len({span.entry.key for span in found}) == len(found)
    blocks = {n: (f"[hud x] {n}\n",) for n in range(len(found))}
    sent = with_frame(items, found, Injection("", blocks, "tail" if found else ""))
    assert items == before
    assert with_frame(items, found, Injection()) == items
    assert str(sent).count("[hud x]") == len(found)


def test_keys_outlive_what_is_cut_off_before_and_what_a_store_does_to_items() -> None:
    items = [SAID, call("c1"), result("c1"), ANSWERED]
    keys = [span.entry.key for span in message_spans(items, hearing())]
    assert [span.entry.key for span in message_spans(items[1:], hearing())] == keys[1:]
    stored = [{**SAID, "type": "message", "id": "msg_0", "content": [{"type": "input_text", "text": "Begin."}]}]
    assert [span.entry.key for span in message_spans([*stored, *items[1:]], hearing())] == keys


def test_a_call_is_read_again_when_its_result_is_there() -> None:
    heard = hearing()
    (waits,) = message_spans([call("c1")], heard)
    (done,) = message_spans([call("c1"), result("c1", "")], heard)
    assert [waits.entry.message.parts[0].status, done.entry.message.parts[0].status] == ["running", "completed"]  # type: ignore[union-attr]
    assert waits.entry.key == done.entry.key and waits.entry.role == "assistant" and done.entry.role == "tool"


@pytest.mark.parametrize(
    ("items", "tool", "told", "status"),
    [
        ([call("c", "read_file"), result("c", "text")], "read", {"path": "a.txt"}, "completed"),
        (
            [call("c"), result("c", "An error occurred while running the tool. Please try again.")],
            "work",
            {"path": "a.txt"},
            "error",
        ),
        ([{**call("c"), "arguments": "{broken"}, result("c")], "work", {}, "completed"),
        (
            [call("c"), result("c", [{"type": "input_image", "image_url": "x"}])],
            "work",
            {"path": "a.txt"},
            "completed",
        ),
        (
            [
                {"type": "shell_call", "call_id": "c", "action": {"commands": ["make", "make test"]}},
                {
                    "type": "shell_call_output",
                    "call_id": "c",
                    "output": [{"stdout": "no", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}}],
                },
            ],
            "bash",
            {"command": "make\nmake test"},
            "completed",
        ),
        (
            [
                {
                    "type": "local_shell_call",
                    "call_id": "c",
                    "action": {"command": ["ls", "a b"], "working_directory": "/x"},
                },
                {"type": "local_shell_call_output", "call_id": "c", "output": "a"},
            ],
            "bash",
            {"command": "ls 'a b'", "workdir": "/x"},
            "completed",
        ),
        (
            [
                {
                    "type": "apply_patch_call",
                    "call_id": "c",
                    "operation": {"type": "create_file", "path": "b.py", "diff": "+x"},
                },
                {"type": "apply_patch_call_output", "call_id": "c", "status": "completed", "output": "ok"},
            ],
            "write",
            {"path": "b.py"},
            "completed",
        ),
        (
            [
                {
                    "type": "apply_patch_call",
                    "call_id": "c",
                    "operation": {"type": "update_file", "path": "b.py", "diff": "+x"},
                },
                {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no such line"},
            ],
            "edit",
            {"path": "b.py"},
            "error",
        ),
        ([{"type": "mcp_call", "id": "m", "name": "find", "arguments": "{}", "error": "gone"}], "find", {}, "error"),
        ([{"type": "web_search_call", "id": "w", "status": "completed"}], "web_search", {}, "completed"),
        (
            [{"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"}],
            "sql",
            {"input": "select 1"},
            "running",
        ),
    ],
)
def test_calls_are_known_for_what_they_do(items: list[Any], tool: str, told: dict[str, Any], status: str) -> None:
    (span,) = message_spans(items, hearing())
    (part,) = [one for one in span.entry.message.parts if isinstance(one, ToolPart)]
    assert (part.tool, part.input, part.status) == (tool, told, status)
    assert part.metadata.get("exit") == (2 if items[0].get("type") == "shell_call" else None)


def test_a_compaction_of_the_provider_is_a_summary_and_so_is_ours() -> None:
    items = [*summary_items([], "First."), SAID]
    again = [*summary_items(items, "First."), SAID]
    for one in ([{"type": "compaction", "id": "x", "encrypted_content": "x"}, SAID], items, again):
        assert [span.entry.message.summary for span in message_spans(one, hearing())][-2:] == [True, False]
    assert message_spans(items, hearing())[1].entry.key != message_spans(again, hearing())[1].entry.key, (
        "each is its own"
    )


def test_blocks_go_where_they_can_be_read() -> None:
    shell = [
        {"type": "shell_call", "call_id": "s", "action": {}},
        {"type": "shell_call_output", "call_id": "s", "output": []},
    ]
    items = [SAID, call("c1"), call("c2"), result("c1"), result("c2", [{"type": "input_text", "text": "x"}]), *shell]
    found = message_spans(items, hearing())
    sent = with_frame(
        items, found, Injection("", {0: ("one\n",), 1: ("two\n", "three\n"), 2: ("four\n",)}, "", {"c1": "stub"})
    )
    assert sent[0]["content"] == [{"type": "input_text", "text": "Begin."}, {"type": "input_text", "text": "one\n"}]
    assert sent[3]["output"] == "stub"
    assert sent[4]["output"][-1] == {"type": "input_text", "text": "\ntwo\n\nthree\n"}
    assert sent[-1] == {"role": "user", "content": "four\n"}, "behind what takes no text, a message of its own"
