"""Functions as tools: schema from types and docstring, answers, errors, rules, and who runs beside whom."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from loops import opened

from hudkit.agent import PermissionRule, Tool, ToolContext, ToolOutcome, function_tool
from hudkit.agent.loop import AgentLoop
from hudkit.agent.records import StoredCall
from hudkit.errors import ConfigError
from hudkit.models import ToolResult
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel
from waiting import PATIENCE

pytestmark = pytest.mark.anyio


def find_kiln(
    glaze: str, cone: Annotated[int, msgspec.Meta(ge=1, le=14)], mood: Literal["slow", "fast"] = "slow"
) -> dict[str, object]:
    """Find the kiln that is free.

    Only kilns of this studio are looked at.

    Args:
        glaze: Its name, as it stands
            on the jar.
        cone: How hot.
    """
    return {"kiln": f"{glaze} {cone} {mood}"}


def calls(loop: AgentLoop) -> list[StoredCall]:
    return [part for message in loop.messages for part in message.parts if isinstance(part, StoredCall)]


def test_types_and_docstring_are_the_schema() -> None:
    tool = function_tool(find_kiln)
    assert (tool.name, tool.reads_only) == ("find_kiln", False)
    assert tool.description == "Find the kiln that is free.\n\nOnly kilns of this studio are looked at."
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "glaze": {"type": "string", "description": "Its name, as it stands on the jar."},
            "cone": {"type": "integer", "minimum": 1, "maximum": 14, "description": "How hot."},
            "mood": {"enum": ["fast", "slow"], "default": "slow"},
        },
        "required": ["glaze", "cone"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "docstring",
    [
        "Add.\n\nParameters\n----------\na : int\n    The first.\n",
        "Add.\n\n:param a: The first.\n",
        "Add.\n\n@param a: The first.\n",
    ],
)
def test_other_styles_of_docstrings_are_read(docstring: str) -> None:
    def add(a: int) -> int:
        return a

    add.__doc__ = docstring
    tool = function_tool(add)
    assert tool.description == "Add." and tool.parameters["properties"]["a"]["description"] == "The first."


def test_what_cannot_be_called_with_named_json_is_refused_when_it_is_made() -> None:
    def positional(*values: int) -> None: ...

    def of_no_json(value: threading.Thread) -> None: ...

    def unknown(value: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    for function, words in (
        (positional, r"\*values.* has no name of its own"),
        (of_no_json, "of_no_json cannot be described"),
        (unknown, "Nowhere"),
        (lambda x: x, "'<lambda>'|\"<lambda>\" cannot be the name of a tool"),
    ):
        with pytest.raises(ConfigError, match=words):
            function_tool(function)
    assert function_tool(lambda x: x, name="same").name == "same"


@pytest.mark.slow
async def test_a_model_calls_functions_and_reads_what_they_give(tmp_path: Path) -> None:
    seen: list[str] = []

    async def wait(minutes: float, context: ToolContext) -> str:
        seen.append(context.call_id)
        return f"waited {minutes}"

    def note(context: ToolContext, lines: list[str] = []) -> ToolOutcome:
        return ToolOutcome(",".join(lines), "noted")

    def fail() -> None:
        raise KeyError("no such kiln")

    def nothing() -> None: ...

    model = InProcessModel(
        [
            uses(
                ScriptedCall("find_kiln", {"glaze": "ash", "cone": 6}),
                ScriptedCall("wait", {"minutes": 2.5}),
                ScriptedCall("note", {"lines": ["a", "b"]}),
                ScriptedCall("fail", {}),
                ScriptedCall("nothing", {}),
                ScriptedCall("find_kiln", {"glaze": "ash", "cone": 40}),
                ScriptedCall("wait", {"minutes": 1, "context": {}}),
            ),
            says("done"),
        ]
    )
    tools = [find_kiln, wait, note, fail, nothing]
    async with opened(tmp_path, model, tools=tools) as loop:
        assert (await loop.prompt("go")).text == "done"
        results = [message for message in model.port_requests[1].messages if isinstance(message, ToolResult)]
        words = [result.text for result in results]
        assert words[:3] == ['{"kiln":"ash 6 slow"}', "waited 2.5", "a,b"] and words[4] == "done"
        assert "fail failed: KeyError 'no such kiln'" in words[3]
        assert "cannot be called so" in words[5] and "<= 14" in words[5]
        assert "unknown field `context`" in words[6], "the context is none of the model's"
        assert seen == [calls(loop)[1].call_id]


async def test_rules_hold_for_functions_too(tmp_path: Path) -> None:
    model = InProcessModel([uses(ScriptedCall("find_kiln", {"glaze": "ash", "cone": 6})), says("done")])
    denied = [PermissionRule("find_kiln", "*", "deny")]
    async with opened(tmp_path, model, tools=[find_kiln], permissions=denied) as loop:
        await loop.prompt("go")
        assert "find_kiln is not permitted" in calls(loop)[0].error


async def test_a_name_is_given_once(tmp_path: Path) -> None:
    for tool in (function_tool(find_kiln, name="read"), function_tool(find_kiln, name="task")):
        with pytest.raises(ConfigError, match=f'there is a tool "{tool.name}" already'):
            async with opened(tmp_path, InProcessModel(), tools=[tool]):
                pass


class Meeting:
    """A tool that answers when so many calls of it are under way at once; `seen` is the most that there were."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._all_there = asyncio.Event()
        self.now = self.seen = 0

    async def meet(self) -> str:
        self.now += 1
        self.seen = max(self.seen, self.now)
        if self.now == self._size:
            self._all_there.set()
        await asyncio.wait_for(self._all_there.wait(), PATIENCE)
        self.now -= 1
        return "met"


async def test_functions_that_read_run_side_by_side(tmp_path: Path) -> None:
    meeting = Meeting(3)
    meet = function_tool(meeting.meet, reads_only=True)
    model = InProcessModel([uses(*(ScriptedCall("meet", {}) for _ in range(3))), says("done")])
    async with opened(tmp_path, model, tools=[meet]) as loop:
        assert (await loop.prompt("go")).text == "done"
        assert [call.output for call in calls(loop)][:2] == ["met", "met"] and meeting.seen == 3


async def sub_agents(tmp_path: Path, tool: Tool, count: int, **options: Any) -> tuple[list[StoredCall], str]:
    """The calls of a session that starts sub-agents at once, each of which calls the tool; and how it ended."""

    def answer(request: CapturedRequest) -> Answer:
        words = [text for _, text in request.messages]
        if any(text.startswith("part ") for text in words[:1]):
            return says(f"{words[0]} is done") if len(words) > 1 else uses(ScriptedCall(tool.name, {}))
        if any("is done" in text for text in words):
            return says("all done")
        parts = (ScriptedCall("task", {"description": f"p{n}", "prompt": f"part {n}"}) for n in range(count))
        return uses(*parts)

    async with opened(tmp_path, InProcessModel(answer), tools=[tool], **options) as loop:
        ended = await loop.prompt("go")
        return calls(loop), ended.text


@pytest.mark.slow
async def test_sub_agents_of_one_answer_work_side_by_side(tmp_path: Path) -> None:
    meeting = Meeting(3)
    found, text = await sub_agents(tmp_path, function_tool(meeting.meet), 3)
    assert text == "all done" and meeting.seen == 3
    for number, call in enumerate(found):
        assert f"\npart {number} is done\n" in call.output, "each has its own answer"
    assert len({call.metadata["session"] for call in found}) == 3
