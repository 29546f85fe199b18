"""Runs of pydantic-ai with the HUD, on its own fake models: every way to run, runs within runs, errors."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.test import TestModel
from pydantic_ai_fakes import Scripted, calls, hud, payloads, says, state_of, texts

from hudkit import Hud
from hudkit.hosts.pydantic_ai import HudCapability
from hudkit.installation import install_hint
from hudkit.log.payloads import ContextSnapshot

pytestmark = pytest.mark.slow

# -- ways to run ---------------------------------------------------------------------------------------------------


async def plainly(agent: Agent[None, str]) -> list[ModelMessage]:
    return (await agent.run("Fix the shop.", conversation_id="c1")).all_messages()


async def streamed(agent: Agent[None, str]) -> list[ModelMessage]:
    async with agent.run_stream("Fix the shop.", conversation_id="c1") as result:
        assert await result.get_output() == "done"
    return result.all_messages()


async def stepwise(agent: Agent[None, str]) -> list[ModelMessage]:
    async with agent.iter("Fix the shop.", conversation_id="c1") as run:
        async for _ in run:
            pass
    assert run.result is not None
    return run.result.all_messages()


async def by_events(agent: Agent[None, str]) -> list[ModelMessage]:
    async with agent.run_stream_events("Fix the shop.", conversation_id="c1") as events:
        seen = [event async for event in events]
    return seen[-1].result.all_messages()  # type: ignore[union-attr]


@pytest.mark.parametrize("way", [plainly, streamed, stepwise, by_events])
def test_every_way_to_run_carries_the_hud_and_keeps_none_of_it(
    way: Any, capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    script = Scripted(hud("task.set", description="Make the total right"))
    agent = Agent(script.model, instructions="Be brief.", capabilities=[capability])
    kept = asyncio.run(way(agent))
    assert len(script.sent) == 2
    for n in range(2):
        instructions = script.sent[n][1].instructions or ""
        assert instructions.startswith("Be brief.") and instructions.count("Your HUD outlives compaction") == 1
    assert script.sent[0][1].instructions == script.sent[1][1].instructions
    assert "Context: " in script.text(0) and "Context: " not in script.text(1)
    stored = ModelMessagesTypeAdapter.dump_json(kept).decode()
    assert "Fix the shop." in stored and "[hud " not in stored and "Context: " not in stored
    assert state_of(board, tmp_path).task.description == "Make the total right"
    reported = [
        one for one in payloads(board, tmp_path, ContextSnapshot) if one.source == "reported" and not one.call
    ]
    assert len(reported) == 2, "the last response was heard too"


def test_all_tools_can_be_called_by_the_test_model(capability: HudCapability[None]) -> None:
    result = Agent(TestModel(), capabilities=[capability]).run_sync("Hello")
    returned = [part for one in result.all_messages() for part in one.parts if isinstance(part, ToolReturnPart)]
    assert {one.tool_name for one in returned} == {"hud", "memory", "hud_compact", "memory_compact"}
    assert all(one.outcome == "success" for one in returned)


def test_mistakes_in_calls_are_answered_and_use_up_no_retries(capability: HudCapability[None]) -> None:
    broken = [ModelResponse([ToolCallPart("hud", "{broken")]) for _ in range(5)]
    script = Scripted(*broken, calls("hud", tool="nonsense"), calls("hud"))
    assert Agent(script.model, capabilities=[capability]).run_sync("Hello").output == "done"
    assert sum("hud({" in text for text in texts(script.sent[-1][0])) >= 5


def test_runs_side_by_side_keep_their_own(capability: HudCapability[None], board: Hud, tmp_path: Path) -> None:
    async def talk(name: str) -> None:
        script = Scripted(hud("notes.add", content=f"note of {name}"))
        await Agent(script.model, capabilities=[capability]).run(f"I am {name}.", conversation_id=name)

    async def all_of_them() -> None:
        await asyncio.gather(*map(talk, ("anna", "bert", "cleo")))

    asyncio.run(all_of_them())
    for name in ("anna", "bert", "cleo"):
        assert [one.content for one in state_of(board, tmp_path, name).notes] == [f"note of {name}"]


# -- runs within runs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
def test_an_agent_in_a_tool_is_a_child_also_in_the_same_conversation(
    shared: bool, capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    helper = Agent(Scripted(hud("task.set", description="Counting")).model, capabilities=[capability])
    script = Scripted(hud("task.set", description="The whole"), calls("delegate"))
    agent = Agent(script.model, capabilities=[capability])

    @agent.tool
    async def delegate(ctx: RunContext[None]) -> str:
        return (await helper.run("Count", conversation_id=ctx.conversation_id if shared else None)).output

    agent.run_sync("Begin", conversation_id="c1")
    assert state_of(board, tmp_path).task.description == "The whole"
    assert state_of(board, tmp_path).session.request == "Begin"
    others = [board.session(key).state for key in board.sessions() if not key.startswith("@")]
    (child,) = [one for one in others if one.task.description == "Counting"]
    assert [(one.relation, one.session_id) for one in child.session.links] == [("parent", "c1")]
    agent.run_sync("Again", conversation_id="c3")
    assert not state_of(board, tmp_path, "c3").session.links, "what comes after is nobody's child"


# -- faults --------------------------------------------------------------------------------------------------------


def test_a_run_may_bring_its_own(capability: HudCapability[None], board: Hud, tmp_path: Path) -> None:
    other = board.session("ses_begun", project=tmp_path, host="elsewhere")
    other.call("task.set", {"description": "Make the total right"})
    script = Scripted()
    agent = Agent(script.model, capabilities=[capability])
    mine = HudCapability[None](board, project=tmp_path, resume="ses_begun")
    agent.run_sync("Go on", conversation_id="c1", capabilities=[mine])
    assert "Make the total right" in script.text() and script.text().count("Your HUD outlives") == 1


def test_two_in_one_list_are_one(board: Hud, tmp_path: Path) -> None:
    script = Scripted()
    both = [HudCapability(board, project=tmp_path), HudCapability(board, project=tmp_path, compact=False)]
    Agent(script.model, capabilities=both).run_sync("Hello")
    assert script.text().count("Your HUD outlives") == 1
    assert [one.name for one in script.sent[0][1].function_tools] == ["hud", "memory"], "the last one"


def test_what_the_model_raises_is_what_the_caller_gets(capability: HudCapability[None]) -> None:
    def fails(*_: Any) -> ModelResponse:
        raise UnexpectedModelBehavior("no such model")

    with pytest.raises(UnexpectedModelBehavior, match="no such model"):
        Agent(Scripted(fails).model, capabilities=[capability]).run_sync("Hello")


def test_without_pydantic_ai_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['pydantic_ai'] = None\n"
        "import hudkit.hosts\n"
        "from hudkit.errors import ConfigError\n"
        "try:\n    import hudkit.hosts.pydantic_ai\n"
        "except ConfigError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert install_hint("pydantic-ai") in done.stdout


def test_usage_counts_what_the_cache_gave_once(capability: HudCapability[None], board: Hud, tmp_path: Path) -> None:
    response = ModelResponse([TextPart("done")])
    response.usage.input_tokens, response.usage.cache_read_tokens, response.usage.output_tokens = 9_000, 8_000, 600
    script = Scripted(response, says("done"))
    agent = Agent(script.model, capabilities=[capability])
    done = agent.run_sync("Hello", conversation_id="c1")
    agent.run_sync("And now?", message_history=done.all_messages())
    assert "Context: 30% (10k/32k)" in script.text()
    (spent, *_) = [one.spent for one in payloads(board, tmp_path, ContextSnapshot) if one.spent]
    assert (spent.fresh, spent.read, spent.output) == (1_000, 8_000, 600)
