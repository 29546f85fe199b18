"""A session without summaries: what leaves the window, what stays, how it is read again; no model is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from loops import QUICK, opened
from msgspec.structs import replace

from hudkit.agent import AgentLoop, hud_plugin
from hudkit.agent import events as told
from hudkit.agent.agent_definitions import PLAN_MODE
from hudkit.agent.message_history import calls_of, trim_marker, visible_messages
from hudkit.api import Hud
from hudkit.context.caching import CallCost
from hudkit.errors import ConfigError
from hudkit.hud.window_usage import budget_lines, window_usage
from hudkit.models import AssistantMessage, TextContent, ToolCall, ToolResult, UserMessage
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import CONTEXT_EXCEEDED, ScriptedCall, ScriptedReply, says, uses
from hudkit.models.scripted_model import InProcessModel
from hudkit.tokens import Window

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SMALL = Window(16_000, 2_000, None, "host")
TRIMMED = replace(QUICK, summaries=False)


@asynccontextmanager
async def trimmed(place: Path, model: Any, session: str = "", **given: Any) -> AsyncIterator[AgentLoop]:
    """A loop with the HUD and without summaries, whose model is never asked for one."""
    given.setdefault("settings", TRIMMED)
    given.setdefault("plugins", [("hud", hud_plugin(place / "hud.db"))])
    async with opened(place, model, session, **given) as loop:
        yield loop
        assert model.of("compaction") == [], "nobody is asked for a summary"


def small(*script: object, **given: object) -> InProcessModel:
    return InProcessModel(script, window=SMALL, **given)  # type: ignore[arg-type]


def words(request: Any) -> str:
    return json.dumps([str(message) for message in request.messages])


def trims(events: list[Any]) -> list[told.MessagesTrimmed]:
    return [event for event in events if isinstance(event, told.MessagesTrimmed)]


async def test_the_oldest_turns_leave_a_full_window_and_memory_reads_them(tmp_path: Path) -> None:
    answers = [says(f"answer {n} " + "word " * 1_200) for n in range(12)]
    read = uses(ScriptedCall("memory", {"operation": "search", "query": "heliotrope"}))
    model = small(*answers, read, says("found"))
    async with trimmed(tmp_path, model) as loop:
        events = loop.events()
        await loop.prompt("The colour is heliotrope.")
        for n in range(1, 12):
            await loop.prompt(f"question {n}")
        assert trims(events.take()), "the window was full"
        last = model.port_requests[-1]
        assert "answer 0 " not in words(last)
        assert "question 11" in words(last)
        front = last.messages[0]
        assert isinstance(front, UserMessage) and isinstance(front.parts[0], TextContent)
        assert "older messages left the window" in front.parts[0].text
        await loop.prompt("Which colour was it?")
        result = next(
            message for message in reversed(model.port_requests[-1].messages) if isinstance(message, ToolResult)
        )
        assert "The colour is heliotrope" in result.text


async def test_the_call_that_a_trim_names_gives_back_what_left(tmp_path: Path) -> None:
    def answer(asked: CapturedRequest) -> ScriptedReply:
        text = "\n".join(piece.text for piece in asked.pieces)
        if "read it" in text and "old-marker" not in text:
            start = text.index('memory({"operation": "messages"')
            call = json.JSONDecoder().raw_decode(text[start + len("memory(") :])[0]
            return uses(ScriptedCall("memory", {**call, "limit": 200, "tokens": 20_000}))
        return says("old-marker " + "x " * 2_500) if asked.number == 1 else says("y " * 2_500)

    model = InProcessModel(answer, window=SMALL)
    async with trimmed(tmp_path, model) as loop:
        for n in range(14):
            await loop.prompt(f"question {n}")
        await loop.prompt("read it")
        calls = [part for message in loop.messages for part in message.parts if getattr(part, "tool", "") == "memory"]
        assert "old-marker" in calls[-1].output and "question 0" in calls[-1].output  # type: ignore[union-attr]


async def test_a_long_turn_is_trimmed_in_its_middle_and_keeps_what_was_asked(tmp_path: Path) -> None:
    steps = [
        uses(ScriptedCall("bash", {"command": f"echo step-{n}; seq {n} 500"}), text=f"step {n} " + "so " * 700)
        for n in range(30)
    ]
    model = small(*steps, says("done"))
    async with trimmed(tmp_path, model) as loop:
        events = loop.events()
        ended = await loop.prompt("Run all thirty steps, please.")
        assert (ended.reason, ended.text) == ("done", "done")
        assert len(trims(events.take())) >= 2
        for request in model.port_requests:
            assert "Run all thirty steps, please." in words(request)
            calls = [
                part.id
                for message in request.messages
                if isinstance(message, AssistantMessage)
                for part in message.parts
                if isinstance(part, ToolCall)
            ]
            results = [message.call_id for message in request.messages if isinstance(message, ToolResult)]
            assert calls == results, "calls stay with their results"
        assert "step-29" in words(model.port_requests[-1]) and "step-1;" not in words(model.port_requests[-1])


async def test_the_prefix_is_broken_once_per_step_and_not_with_each_call(tmp_path: Path) -> None:
    steps = [uses(ScriptedCall("bash", {"command": f"echo {n}; seq 1 300"})) for n in range(60)]
    model = small(*steps, says("done"))
    async with trimmed(tmp_path, model, settings=replace(TRIMMED, prune=False)) as loop:
        events = loop.events()
        await loop.prompt("go")
        steps_taken = len(trims(events.take()))
        requests = model.port_requests[1:]  # behind the first prompt stands what is sent with one call only: the tail
        breaks = sum(
            later.messages[: len(earlier.messages)] != earlier.messages for earlier, later in pairwise(requests)
        )
        assert 2 <= steps_taken <= 12
        assert breaks == steps_taken


async def test_old_outputs_leave_before_words_do(tmp_path: Path) -> None:
    note = ScriptedCall("hud", {"operation": "notes.add", "text": "tin " * 300})
    steps = [uses(ScriptedCall("bash", {"command": "seq 1 1500"}), text=f"thought {n}") for n in range(6)]
    steps.insert(0, uses(note, ScriptedCall("hud", {"operation": "help"})))
    model = small(*steps, says("done"))
    async with trimmed(tmp_path, model, settings=replace(TRIMMED, recent_output_tokens=4_000, prune=False)) as loop:
        events = loop.events()
        await loop.prompt("go")
        taken = trims(events.take())
        assert taken and taken[0].calls and not taken[0].messages
        noted = next(call for message in loop.messages for call in calls_of(message) if call.tool == "hud")
        assert not noted.compacted, "what the HUD answered is no output of the work"
        last = words(model.port_requests[-1])
        assert "thought 0" in last and "memory" in last


async def test_only_so_many_messages_are_kept(tmp_path: Path) -> None:
    model = small(*[says(f"answer {n}") for n in range(20)])
    async with trimmed(tmp_path, model, settings=replace(TRIMMED, recent_messages=8)) as loop:
        for n in range(20):
            await loop.prompt(f"question {n}")
        counts = [len(request.messages) for request in model.port_requests]
        assert max(counts) <= 8 and counts[-1] >= 4
        assert "question 0" not in words(model.port_requests[-1])


async def test_a_request_that_the_provider_finds_too_long_is_trimmed_until_it_fits(tmp_path: Path) -> None:
    def answer(asked: CapturedRequest) -> Any:
        size = sum(len(piece.text) for piece in asked.pieces)
        return CONTEXT_EXCEEDED if size > 30_000 else says(f"seen {asked.number} " + "z " * 500)

    # the window is said to be larger than it is
    model = InProcessModel(answer, window=Window(200_000, 8_000, None, "host"))
    async with trimmed(tmp_path, model) as loop:
        for n in range(40):
            ended = await loop.prompt(f"question {n} " + "q " * 300)
            assert ended.reason == "done", ended
        ended = await loop.prompt("a huge one " + "h " * 40_000)
        assert ended.reason in ("done", "window")
        assert (await loop.prompt("and on")).reason == "done"


async def test_a_window_that_is_too_small_for_a_prompt_ends_the_turn(tmp_path: Path) -> None:
    model = small(says("one"), otherwise=CONTEXT_EXCEEDED)
    async with trimmed(tmp_path, model) as loop:
        await loop.prompt("short")
        assert (await loop.prompt("x" * 50_000)).reason == "window"


async def test_undo_brings_back_what_the_trim_of_its_turn_took(tmp_path: Path) -> None:
    model = small(*[says(f"answer {n} " + "word " * 1_000) for n in range(30)])
    async with trimmed(tmp_path, model) as loop:
        for n in range(30):
            before = [message.id for message in visible_messages(loop.messages)]
            await loop.prompt(f"question {n}")
            if any(trim_marker(message) for message in loop.messages):
                break
        after = [message.id for message in visible_messages(loop.messages)]
        assert len(after) < len(before)
        await loop.undo()
        assert [message.id for message in visible_messages(loop.messages)] == before
        await loop.redo()
        assert [message.id for message in visible_messages(loop.messages)] == after


async def test_undo_puts_outputs_back_that_left_because_of_its_turn(tmp_path: Path) -> None:
    step = uses(ScriptedCall("bash", {"command": "seq 1 1500"}))
    model = small(
        step, says("one"), *[uses(ScriptedCall("bash", {"command": f"seq {n} 1600"})) for n in range(5)], says("two")
    )
    settings = replace(TRIMMED, recent_output_tokens=5_000, prune=False)
    async with trimmed(tmp_path, model, settings=settings) as loop:
        await loop.prompt("first")
        before = visible_messages(loop.messages)
        await loop.prompt("second")
        assert any(call.compacted for message in loop.messages[: len(before)] for call in calls_of(message))
        await loop.undo()
        assert visible_messages(loop.messages) == before


async def test_a_trimmed_session_is_resumed_and_forked_with_the_same_window(tmp_path: Path) -> None:
    script = [says(f"answer {n} " + "word " * 1_000) for n in range(12)]
    async with trimmed(tmp_path, small(*script)) as loop:
        for n in range(12):
            await loop.prompt(f"question {n}")
        window = [message.parts for message in visible_messages(loop.messages)]
        assert any(trim_marker(message) for message in loop.messages)
        fork = loop.fork()
        session = loop.id
    texts = [[getattr(part, "text", "") for part in parts] for parts in window]
    for id in (session, fork.id):
        async with trimmed(tmp_path, small(says("on")), id) as loop:
            again = [[getattr(part, "text", "") for part in m.parts] for m in visible_messages(loop.messages)]
            assert again == texts
            assert (await loop.prompt("next")).text == "on"


async def test_the_hud_is_whole_after_a_trim(tmp_path: Path) -> None:
    first = uses(ScriptedCall("hud", {"operation": "decisions.record", "text": "Glaze with tin, never lead"}))
    model = small(first, says("noted"), *[says(f"answer {n} " + "word " * 1_000) for n in range(14)])
    async with trimmed(tmp_path, model) as loop:
        await loop.prompt("Decide the glaze.")
        for n in range(14):
            await loop.prompt(f"question {n}")
        last = model.port_requests[-1]
        assert any(trim_marker(message) for message in loop.messages)
        own = [part.text for message in last.messages[:-1] for part in getattr(message, "parts", ())]
        assert any(text.startswith("[hud ") and "decision: Glaze with tin, never lead" in text for text in own)


async def test_compacting_by_hand_asks_no_model(tmp_path: Path) -> None:
    model = small(*[says(f"answer {n} " + "word " * 500) for n in range(6)])
    async with trimmed(tmp_path, model) as loop:
        for n in range(5):
            await loop.prompt(f"question {n}")
        assert await loop.compact()
        await loop.prompt("next")
        assert "question 0" not in words(model.port_requests[-1])


async def test_a_provider_that_stops_for_a_full_window_is_answered_with_a_trim(tmp_path: Path) -> None:
    model = small(
        *[says("word " * 800) for _ in range(4)], ScriptedReply("half of the ans", finish="compact"), says("wer")
    )
    async with trimmed(tmp_path, model) as loop:
        for n in range(4):
            await loop.prompt(f"question {n}")
        assert (await loop.prompt("go")).text == "wer"


async def test_what_was_reported_counts_more_than_estimates(tmp_path: Path) -> None:
    """A text of which a token is one character fills the window four times as fast."""
    dense = [replace(says("词" * 1_500), usage=CallCost(0, 0, 3_000 + 1_500 * n, 1_500)) for n in range(11)]
    model = small(*dense)
    async with trimmed(tmp_path, model) as loop:
        events = loop.events()
        for n in range(11):
            await loop.prompt(f"question {n}")
        assert trims(events.take())


async def test_the_system_prompt_and_foreign_tools_have_ceilings(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("Keep to the house rules. " * 1_500)

    def make(number: int) -> Any:
        def tool(text: str) -> str:
            return text

        tool.__name__ = f"tool_{number}"
        tool.__doc__ = "Return a text. " + "It has a long description. " * 40
        return tool

    model = small(says("hello"))
    async with trimmed(tmp_path, model, tools=[make(number) for number in range(40)]) as loop:
        await loop.prompt("hi")
        request = model.port_requests[-1]
        names = {spec.name for spec in request.tools}
        assert {"read", "bash", "hud", "memory", "tool_0"} <= names and "tool_39" not in names
        assert any(name == "tool_39" for name, _ in loop.problems)
        system = "\n".join(request.system)
        assert "there is no room for it; it can be read" in system
        assert len(system) < 25_000


async def test_without_the_hud_there_is_no_such_session(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs the HUD"):
        async with opened(tmp_path, small(says("x")), settings=TRIMMED):
            pass


async def test_the_budget_of_the_parts_is_shown(tmp_path: Path) -> None:
    ask = uses(ScriptedCall("memory", {"operation": "context"}))
    model = small(*[says("word " * 800) for _ in range(3)], ask, says("seen"))
    async with trimmed(tmp_path, model) as loop:
        for n in range(4):
            await loop.prompt(f"question {n}")
        budget = loop.budget
        assert budget is not None
        result = next(
            message for message in reversed(model.port_requests[-1].messages) if isinstance(message, ToolResult)
        )
        assert f"{budget.messages:,}" in result.text and f"{budget.outputs:,}" in result.text
        session = loop.id
    with Hud.open(tmp_path / "hud.db") as hud:
        usage = window_usage(hud.session(session).state, hud.settings)
        lines = "\n".join(budget_lines(usage))
        assert f"of {budget.usable:>9,}" in lines and "outputs of tools among them" in lines
        row = next(row for row in usage.budget if row.part == "messages and calls")
        assert 2_000 < row.tokens < budget.messages == row.ceiling


async def test_the_agent_that_asks_for_a_compaction_is_told_what_happens_instead(tmp_path: Path) -> None:
    model = small(
        *[says(f"answer {n} " + "word " * 500) for n in range(5)], uses(ScriptedCall("hud_compact")), says("on")
    )
    async with trimmed(tmp_path, model) as loop:
        for n in range(5):
            await loop.prompt(f"question {n}")
        assert (await loop.prompt("make room")).text == "on"
        last = words(model.port_requests[-1])
        assert "No summary is written" in last and "make room" in last
        assert "question 0" not in last and "older messages left the window" in last


async def test_what_stands_for_an_output_is_the_call_that_gives_its_bytes_back(tmp_path: Path) -> None:
    asked_back = ""

    def answer(asked: CapturedRequest) -> ScriptedReply:
        nonlocal asked_back
        if asked.number <= 6:
            return uses(ScriptedCall("bash", {"command": f"seq {asked.number} 1500"}))
        stub = next((piece.text for piece in asked.pieces if "; memory output {" in piece.text), "")
        if asked.number > 7 or not stub:
            return says("done")
        asked_back = stub[stub.index("memory output ") + len("memory output ") :]
        call = json.JSONDecoder().raw_decode(asked_back)[0]
        return uses(ScriptedCall("memory", {"operation": "output", **call, "tokens": 20_000}))

    model = InProcessModel(answer, window=SMALL)
    async with trimmed(tmp_path, model, settings=replace(TRIMMED, recent_output_tokens=5_000, prune=False)) as loop:
        await loop.prompt("count")
        assert asked_back, "an output left the window"
        calls = [call for message in loop.messages for call in calls_of(message)]
        gone = next(call for call in calls if call.call_id in asked_back)
        assert gone.compacted and indent(gone.output.rstrip(), " " * 4) in calls[-1].output


async def test_plan_mode_is_told_again_where_its_words_have_left(tmp_path: Path) -> None:
    model = small(*[says(f"answer {n} " + "word " * 1_000) for n in range(14)])
    async with trimmed(tmp_path, model, agent="plan") as loop:
        for n in range(14):
            await loop.prompt(f"question {n}")
        assert any(trim_marker(message) for message in loop.messages)
        for request in model.port_requests:
            assert words(request).count(PLAN_MODE) == 1


async def test_what_was_said_in_mid_turn_stays_with_what_was_asked(tmp_path: Path) -> None:
    def answer(asked: CapturedRequest) -> ScriptedReply:
        if asked.number == 3:
            saying.append(asyncio.ensure_future(loop.steer("Use tin, not lead.")))
        if asked.number > 30:
            return says("done")
        return uses(ScriptedCall("bash", {"command": f"echo {asked.number}"}), text="so " * 900)

    saying: list[Any] = []
    model = InProcessModel(answer, window=SMALL)
    async with trimmed(tmp_path, model) as loop:
        events = loop.events()
        await loop.prompt("Make the glaze.")
        await asyncio.gather(*saying)
        assert len(trims(events.take())) >= 2
        last = words(model.port_requests[-1])
        assert last.index("Make the glaze.") < last.index("Use tin, not lead.")
