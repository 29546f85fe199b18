"""Ways to run an agent with the HUD, over the SDK's fake model in the shape of Responses."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    AgentHooks,
    GuardrailFunctionOutput,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    function_tool,
    handoff,
    input_guardrail,
)
from agents.run_config import CallModelData, ModelInputData
from scripted import NOTE, agent, calls, notes, says, state, system, text, work

from hudkit.errors import ConfigError
from hudkit.hosts.openai_agents import HudRunner
from hudkit.installation import install_hint

pytestmark = pytest.mark.slow


def test_a_run_carries_the_hud_and_keeps_nothing_of_it(hud: HudRunner, tmp_path: Path) -> None:
    coder, model = agent(notes(NOTE, "c1"), says("done"))
    session = SQLiteSession("s1")

    async def run() -> tuple[Any, list[Any]]:
        return await hud.run(coder, "Begin.", session=session), await session.get_items()

    ended, kept = asyncio.run(run())
    first, second = model.calls
    assert ended.final_output == "done"
    assert system(first).startswith("Work.\n\n") and "HUD" in system(first)
    assert system(second) == system(first)
    assert "Context: " in text(first.input) and "Context: " not in text(second.input)
    assert {"work", "hud", "memory", "hud_compact", "memory_compact"} == {tool.name for tool in first.tools}
    assert "[hud " not in text(ended.to_input_list()) and "[hud " not in text(kept) and "Context: " not in text(kept)
    assert [one.content for one in state(tmp_path / "hud.db", tmp_path, "s1").notes] == [NOTE]


def test_it_runs_without_an_event_loop(hud: HudRunner, tmp_path: Path) -> None:
    coder, model = agent(notes(NOTE, "c1"), says("done"))
    assert hud.run_sync(coder, "Begin.", session="s1").final_output == "done"
    assert "HUD" in system(model.calls[1])
    assert [one.content for one in state(tmp_path / "hud.db", tmp_path, "s1").notes] == [NOTE]


def test_it_streams(hud: HudRunner, tmp_path: Path) -> None:
    coder, model = agent(notes(NOTE, "c1"), says("done", used=900))

    async def run() -> list[str]:
        streamed = hud.run_streamed(coder, "Begin.", session="s1")
        return [event.type async for event in streamed.stream_events()]

    kinds = asyncio.run(run())
    assert "raw_response_event" in kinds and "run_item_stream_event" in kinds
    assert all(call.streamed and "HUD" in system(call) for call in model.calls)
    seen = state(tmp_path / "hud.db", tmp_path, "s1")
    assert [one.content for one in seen.notes] == [NOTE]
    assert seen.window.used_tokens == 900, "the last response is taken up when it comes"


def test_a_session_by_its_name_goes_on(tmp_path: Path) -> None:
    coder, model = agent(says("one"), says("two"))
    for _ in range(2):
        with HudRunner(tmp_path / "hud.db", project=tmp_path, sessions=tmp_path / "agents.db") as hud:
            hud.run_sync(coder, "Again.", session="s1")
    assert [item.get("role") for item in model.calls[1].input] == ["user", "assistant", "user"]


def test_conversations_without_a_session_are_apart_unless_they_have_a_group(hud: HudRunner, tmp_path: Path) -> None:
    coder, model = agent(notes("first", "c1"), says("a"), says("b"), notes("other", "c2"), says("c"), says("d"))
    hud.run_sync(coder, "Begin.")
    hud.run_sync(coder, "Begin.")
    assert "first" not in system(model.calls[2]) + text(model.calls[2].input)
    thread = RunConfig(group_id="thread-1")
    hud.run_sync(coder, "Begin.", run_config=thread)
    hud.run_sync(coder, "Begin.", run_config=thread)
    assert "other" in system(model.calls[5]) + text(model.calls[5].input)
    assert [one.content for one in state(tmp_path / "hud.db", tmp_path, "thread-1").notes] == ["other"]


def test_handoffs_lead_to_agents_with_the_hud_in_the_same_conversation(hud: HudRunner, tmp_path: Path) -> None:
    heard: list[str] = []
    second, at_second = agent(notes("second", "c3"), says("done"), name="second")
    third, at_third = agent(calls("transfer_to_second", {}, "c2"), name="third")
    third.handoffs = [second]
    first, _ = agent(calls("transfer_to_third", {}, "c1"), name="first")
    first.handoffs = [handoff(third, on_handoff=lambda _: heard.append("third"))]
    second.handoffs = [first, third]  # circles
    ended = hud.run_sync(first, "Begin.", session="s1")
    assert ended.final_output == "done" and heard == ["third"]
    assert all("HUD" in system(call) for model in (at_second, at_third) for call in model.calls)
    assert [one.content for one in state(tmp_path / "hud.db", tmp_path, "s1").notes] == ["second"]
    assert first.tools == [work] and ended.last_agent.name == "second", "agents stay as they were"


def test_an_agent_that_is_a_tool_has_a_hud_of_its_own(hud: HudRunner, tmp_path: Path) -> None:
    child, at_child = agent(notes("of the child", "c9"), says("three"), name="counter")
    tool = hud.agent(child).as_tool("count", "Counts.")
    coder, model = agent(notes(NOTE, "c1"), calls("count", {"input": "Count."}, "c2"), says("done"), tools=[tool])
    assert hud.run_sync(coder, "Begin.", session="s1").final_output == "done"
    assert [one.content for one in state(tmp_path / "hud.db", tmp_path, "s1").notes] == [NOTE]
    own = state(tmp_path / "hud.db", tmp_path, "s1.c2")
    assert [one.content for one in own.notes] == ["of the child"]
    assert any(link.relation == "parent" for link in own.session.links)
    (run,) = state(tmp_path / "hud.db", tmp_path, "s1").subagents.runs
    assert run.words == "count: Count. (came back): three"
    assert "of the child" not in system(model.calls[2]) + text(model.calls[2].input)
    assert "HUD" in system(at_child.calls[0])


def test_a_sub_agent_with_a_session_keeps_its_hud_over_several_calls(hud: HudRunner, tmp_path: Path) -> None:
    child, at_child = agent(notes("kept", "c8"), says("one"), says("two"), name="counter")
    session = SQLiteSession("sub")
    tool = hud.agent(child).as_tool("count", "Counts.", session=session, run_config=hud.run_config(session=session))
    asks = [calls("count", {"input": "Count."}, f"c{n}") for n in (1, 2)]
    coder, _ = agent(*asks, says("done"), tools=[tool])
    hud.run_sync(coder, "Begin.", session="s1")
    own = state(tmp_path / "hud.db", tmp_path, "sub")
    assert [one.content for one in own.notes] == ["kept"]
    assert any(link.relation == "parent" for link in own.session.links)
    assert "kept" in system(at_child.calls[2]) + text(at_child.calls[2].input)


def test_an_agent_without_the_tools_is_left_alone(hud: HudRunner) -> None:
    child, at_child = agent(says("three"), name="counter")
    coder, _ = agent(
        calls("count", {"input": "Count."}, "c2"), says("done"), tools=[child.as_tool("count", "Counts.")]
    )
    hud.run_sync(coder, "Begin.", session="s1")
    assert system(at_child.calls[0]) == "Work." and at_child.calls[0].input == [{"content": "Count.", "role": "user"}]


def test_tools_of_ones_own_are_known_by_what_they_do(tmp_path: Path) -> None:
    @function_tool
    def load_text(path: str) -> str:
        return f"text of {path}"

    coder, _ = agent(calls("load_text", {"path": "a.txt"}, "c1"), says("done"), tools=[load_text])
    with HudRunner(tmp_path / "hud.db", project=tmp_path, tools={"load_text": "read"}) as hud:
        hud.run_sync(coder, "Begin.", session="s1")
    assert [one.path for one in state(tmp_path / "hud.db", tmp_path, "s1").files.active] == ["a.txt"]


def test_what_the_user_has_set_still_holds(hud: HudRunner) -> None:
    told: list[str] = []

    class Mine(AgentHooks[Any]):
        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
            told.append("answered")

        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            told.append(tool.name)

        async def on_end(self, context: Any, agent: Any, output: Any) -> None:
            told.append(f"ended: {output}")

    def mine(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData(data.model_data.input, f"{data.model_data.instructions} Softly.")

    @input_guardrail
    async def checked(context: Any, agent: Any, input: Any) -> GuardrailFunctionOutput:
        told.append("checked")
        return GuardrailFunctionOutput(None, False)

    coder, model = agent(
        calls("work", {"part": "x"}, "c1"), notes(NOTE, "c2"), says("done"), hooks=Mine(), input_guardrails=[checked]
    )
    hud.run_sync(coder, "Begin.", session="s1", run_config=RunConfig(call_model_input_filter=mine), max_turns=4)
    assert all(system(call).startswith("Work. Softly.\n\n") and "HUD" in system(call) for call in model.calls)
    assert sorted(told) == sorted(["answered", "checked", "work", "answered", "hud", "answered", "ended: done"])
    assert "Added note" in text(model.calls[2].input), "tools answer where guardrails run beside the first call"


def test_the_huds_own_tools_end_no_run(hud: HudRunner) -> None:
    steps = (notes(NOTE, "c1"), calls("work", {"part": "x"}, "c2"))
    coder, _ = agent(*steps, tool_use_behavior="stop_on_first_tool")
    assert hud.run_sync(coder, "Begin.", session="s1").final_output == "x is done"


def test_a_run_that_waits_for_an_approval_is_taken_up(hud: HudRunner, tmp_path: Path) -> None:
    @function_tool(needs_approval=True)
    def publish() -> str:
        return "published"

    coder, model = agent(calls("publish", {}, "c1"), notes(NOTE, "c2"), says("done"), tools=[publish])
    session = SQLiteSession("s1")

    async def run() -> str:
        waiting = await hud.run(coder, "Begin.", session=session)
        state = await RunState.from_json(hud.agent(coder), waiting.to_state().to_json())
        state.approve(state.get_interruptions()[0])
        return str((await hud.run(coder, state, session=session)).final_output)

    assert asyncio.run(run()) == "done"
    assert "HUD" in system(model.calls[1]) and "published" in text(model.calls[1].input)
    assert [one.content for one in state(tmp_path / "hud.db", tmp_path, "s1").notes] == [NOTE]


def test_runs_side_by_side_keep_to_their_own(hud: HudRunner, tmp_path: Path) -> None:
    async def run() -> None:
        coders = [agent(notes(f"note {n}", f"c{n}"), says("done"))[0] for n in range(4)]
        await asyncio.gather(*(hud.run(one, "Begin.", session=f"s{n}") for n, one in enumerate(coders)))

    asyncio.run(run())
    for n in range(4):
        assert [one.content for one in state(tmp_path / "hud.db", tmp_path, f"s{n}").notes] == [f"note {n}"]


def test_the_parts_do_with_the_sdks_own_runner(hud: HudRunner, tmp_path: Path) -> None:
    coder, model = agent(notes(NOTE, "c1"), says("done"), says("again"), says("of another"))

    async def run() -> None:
        for said, id in (("Begin.", "s1"), ("Go on.", "s1"), ("Begin.", "s2")):
            session = SQLiteSession(id, tmp_path / "agents.db")
            config = hud.run_config(RunConfig(workflow_name="mine"), session=session)
            await Runner.run(hud.agent(coder), said, session=session, run_config=config)

    asyncio.run(run())
    assert all("HUD" in system(call) for call in model.calls)
    own, other = (state(tmp_path / "hud.db", tmp_path, id) for id in ("s1", "s2"))
    assert [one.content for one in own.notes] == [NOTE] and not other.notes
    assert not own.session.links and not other.session.links, "one after the other is no sub-agent"


def test_what_is_set_up_twice_is_there_once(hud: HudRunner) -> None:
    coder, model = agent(says("done"))
    hud.run_sync(hud.agent(coder), "Begin.", run_config=hud.run_config())
    assert system(model.calls[0]).count("Your HUD") == 1 and text(model.calls[0].input).count("Context: ") == 1


def test_a_run_without_the_hud_writes_into_nobodys(hud: HudRunner, tmp_path: Path) -> None:
    first, _ = agent(calls("work", {"part": "x"}, "c1"), says("done"))
    other, model = agent(notes(NOTE, "c1"), says("done"))

    async def run() -> None:
        await hud.run(first, "Begin.", session="s1")
        await Runner.run(hud.agent(other), "Begin.")

    asyncio.run(run())
    assert "not recorded" in text(model.calls[1].input)
    assert not state(tmp_path / "hud.db", tmp_path, "s1").notes


def test_a_tool_with_the_name_of_ours_is_refused(hud: HudRunner) -> None:
    @function_tool
    def memory() -> str:
        return ""

    with pytest.raises(ConfigError, match=r"'coder' has a tool of its own with the name 'memory'\. give that tool"):
        hud.agent(Agent("coder", tools=[memory]))
    plain, _ = agent()
    joined = hud.agent(plain)
    assert hud.agent(joined) is joined, "twice is harmless"


def test_a_mistake_of_ours_stops_no_run(hud: HudRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    coder, model = agent(calls("work", {"part": "x"}, "c1"), says("done"))
    monkeypatch.setattr("hudkit.hosts.openai_agents.call_filter.message_spans", lambda *_: 1 / 0)
    assert hud.run_sync(coder, "Begin.", session="s1").final_output == "done"
    assert system(model.calls[1]) == "Work."


def test_without_the_sdk_it_is_said_what_to_install() -> None:
    code = (
        "import sys; sys.modules['agents'] = None\n"
        "from hudkit.errors import ConfigError\n"
        "try:\n    import hudkit.hosts.openai_agents\n"
        "except ConfigError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert install_hint("openai-agents") in done.stdout
