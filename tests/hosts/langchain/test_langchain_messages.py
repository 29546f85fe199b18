"""What LangChain's messages become, where a frame goes in them, and what a model tells of its window."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from hudkit.hosts.host_session import Injection
from hudkit.hosts.langchain import HudMiddleware, model_calls
from hudkit.hosts.langchain.langchain_messages import MEDIA_CHARS, read_messages, with_base, with_frame
from hudkit.installation import install_hint
from hudkit.transcripts import ToolPart

pytestmark = pytest.mark.slow

KEY = SecretStr("sk-test-000000")


def calling(*ids: str, tool: str = "read_file", **given: Any) -> AIMessage:
    calls = [{"name": tool, "args": {"path": "a.py"}, "id": id, "type": "tool_call"} for id in ids]
    return AIMessage("", tool_calls=calls, **given)


TALK: list[AnyMessage] = [
    HumanMessage("Begin.", id="u1"),
    calling("c1", "c2", id="a1"),
    ToolMessage("text", tool_call_id="c1", id="r1"),
    ToolMessage("no such file", tool_call_id="c2", status="error", id="r2"),
    AIMessage("done", id="a2"),
]


def test_a_response_and_its_results_are_one_entry() -> None:
    found = read_messages(TALK, {})
    assert [(one.message.role, one.role) for one in found.entries] == [
        ("user", "user"), ("assistant", "tool"), ("assistant", "assistant"),
    ]  # fmt: skip
    assert found.spans == [(0, 0), (1, 3), (4, 4)]
    parts = [one for one in found.entries[1].message.parts if isinstance(one, ToolPart)]
    assert [(one.tool, one.status, one.output, one.error) for one in parts] == [
        ("read", "completed", "text", ""), ("read", "error", "", "no such file"),
    ]  # fmt: skip
    assert parts[0].input == {"path": "a.py"}
    waiting = read_messages(TALK[:3], {}).entries[1].message.parts[1]
    assert isinstance(waiting, ToolPart) and not waiting.done


def test_tools_of_any_name() -> None:
    (entry,) = read_messages([calling("c1", tool="load_text")], {"load_text": "read"}).entries
    (part,) = entry.message.parts
    assert isinstance(part, ToolPart) and part.tool == "read"


def test_a_message_without_a_lasting_id_is_known_by_what_it_says() -> None:
    said = [HumanMessage("Go on."), AIMessage("done"), HumanMessage("Go on.")]
    keys = [one.key for one in read_messages(said, {}).entries]
    assert len(set(keys)) == 3
    anew = [one.model_copy(update={"id": f"new-{n}"}) for n, one in enumerate(said)]
    assert [one.key for one in read_messages(anew, {}, by_id=False).entries] == keys
    assert [one.key for one in read_messages(anew, {}, by_id=True).entries] != keys


def test_usage_counts_each_token_once() -> None:
    """LangChain's input includes what the cache held, and names new entries by how long they live."""
    details: Any = InputTokenDetails(cache_read=700, cache_creation=0)
    details["ephemeral_5m_input_tokens"] = 200
    usage = UsageMetadata(input_tokens=1_000, output_tokens=50, total_tokens=1_050, input_token_details=details)
    told = read_messages([AIMessage("x", usage_metadata=usage)], {}).entries[0].message.usage
    assert told is not None
    assert (told.input, told.cache_read, told.cache_write, told.output, told.used) == (100, 700, 200, 50, 1_050)


def test_media_are_no_text() -> None:
    shown = HumanMessage([{"type": "text", "text": "look"}, {"type": "image", "base64": "A" * 900_000}])
    (entry,) = read_messages([shown], {}).entries
    assert entry.size == len("look") + MEDIA_CHARS


def test_blocks_stand_behind_their_entries_on_copies() -> None:
    placing = Injection(
        "the base", {0: ("b1\n",), 1: ("b2\n", "b3\n"), 2: ("b4\n",)}, "the tail\n", {"c1": "cleared"}
    )
    out = with_frame(TALK, read_messages(TALK, {}).spans, placing)
    assert [(one.type, one.text) for one in out] == [
        ("human", "Begin.b1\n"),
        ("ai", ""),
        ("tool", "cleared"),
        ("tool", "no such file\nb2\n\nb3\n"),
        ("ai", "done"),
        ("human", "b4\nthe tail\n"),
    ]
    assert [one.text for one in TALK] == ["Begin.", "", "text", "no such file", "done"], "the host's own stay"


def test_blocks_behind_content_that_is_a_list() -> None:
    parts: list[Any] = [
        {"type": "text", "text": "see"},
        {"type": "image", "base64": "AAAA", "mime_type": "image/png"},
    ]
    talk: list[AnyMessage] = [HumanMessage(parts), calling("c1"), ToolMessage(parts, tool_call_id="c1")]
    first, _, last = with_frame(talk, [(0, 0), (1, 2)], Injection("", {0: ("b1\n",), 1: ("b2\n",)}))
    assert first.content == [*parts, {"type": "text", "text": "b1\n"}]
    assert last.content == [*parts, {"type": "text", "text": "\nb2\n"}]


def test_the_base_stands_behind_the_system_prompt() -> None:
    cached: list[Any] = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    plain, none, marked = (
        with_base(one, "base") for one in (SystemMessage("Be brief."), None, SystemMessage(cached))
    )
    assert plain is not None and plain.content == "Be brief.\n\nbase"
    assert none is not None and none.content == "base"
    assert marked is not None and marked.content == [*cached, {"type": "text", "text": "base"}]
    assert with_base(None, "") is None


@pytest.mark.parametrize(
    ("model", "user", "expected"),
    [
        (ChatOpenAI(model="gpt-5", api_key=KEY), None, (400_000, 272_000, "table")),
        (ChatOpenAI(model="mine", api_key=KEY, profile={"max_input_tokens": 32_000}), None, (32_000, None, "host")),
        (ChatOpenAI(model="mine", api_key=KEY), None, (200_000, None, "assumed")),
        (ChatOpenAI(model="gpt-4o", api_key=KEY).bind_tools([]), 50_000, (50_000, None, "user")),
        (
            ChatAnthropic(model_name="claude-sonnet-4-5", api_key=KEY, timeout=None, stop=None).with_retry(),
            None,
            (200_000, None, "host"),
        ),
    ],
    ids=["profile-of-input", "profile", "unknown", "user", "bound"],
)
def test_the_window(model: Any, user: int | None, expected: tuple[int, int | None, str]) -> None:
    window = model_calls.model_window(model, user)
    assert (window.limit_tokens, window.input_limit, window.source) == expected


def test_a_log_is_opened_with_the_first_call_only(tmp_path: Any) -> None:
    board: HudMiddleware[Any, Any] = HudMiddleware(tmp_path / "data" / "hud.db")
    assert [one.name for one in board.tools] == ["hud", "memory", "hud_compact", "memory_compact"]
    assert not (tmp_path / "data").exists()
    assert [one.name for one in HudMiddleware(tmp_path / "x.db", compact=False).tools] == ["hud", "memory"]
    board.close()


def test_a_langchain_that_is_missing_is_named() -> None:
    program = (
        "import sys\n"
        "sys.modules.update({'langchain': None, 'langchain_core': None, 'langgraph': None})\n"
        "from hudkit.errors import ConfigError\n"
        "try:\n    import hudkit.hosts.langchain\n"
        "except ConfigError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert install_hint("langchain") in done.stdout


def test_hudkit_itself_does_not_load_langchain() -> None:
    program = "import sys, hudkit\nprint([one for one in sys.modules if one.startswith(('langchain', 'langgraph'))])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
