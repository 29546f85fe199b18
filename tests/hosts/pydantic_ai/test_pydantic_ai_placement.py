"""Where the HUD stands in a request of pydantic-ai: in the instructions, behind prompts and results of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    CompactionPart,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.instrumented import InstrumentedModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai_fakes import Scripted, calls, hud, says

from hudkit import Hud
from hudkit.config import PruningSettings, Settings
from hudkit.hosts.pydantic_ai import HudCapability
from hudkit.models import scripted_answers
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("cached", [False, True])
def test_the_base_stands_behind_what_stays_and_before_what_changes(
    cached: bool, capability: HudCapability[None]
) -> None:
    script = Scripted(hud("notes.add", content="x"))
    settings: Any = {"anthropic_cache_instructions": True} if cached else {}
    agent = Agent(script.model, instructions="Be brief.", capabilities=[capability], model_settings=settings)
    counted = iter(range(9))

    @agent.instructions
    def changing() -> str:
        return f"Step {next(counted)}."

    agent.run_sync("Hello")
    first, second = (info.model_request_parameters.instruction_parts or [] for _, info in script.sent)
    if cached:  # each part can end a cached prefix
        assert [one.content[:9] for one in first] == ["Be brief.", "Your HUD ", "Step 0."]
        assert first[:2] == second[:2] and second[2].content == "Step 1." and not first[1].dynamic
    else:
        (before,), (after,) = first, second
        assert before.content.startswith("Be brief.\n\nYour HUD ") and before.content.endswith("\n\nStep 0.")
        assert after.content == before.content.replace("Step 0.", "Step 1.")


def test_what_pydantic_ai_says_of_its_frames_is_joined_to_the_system_prompt_too(
    capability: HudCapability[None],
) -> None:
    """After a compaction it adds a system message of its own in front: a template that takes one would drop ours."""
    history: list[Any] = [
        ModelRequest([CompactionPart("We began."), UserPromptPart("Go on")]),
        ModelResponse([TextPart("ok")]),
    ]
    with ScriptedModel([scripted_answers.says("done")]) as server:
        provider = OpenAIProvider(base_url=f"{server.url}/v1", api_key="sk-test-000000")
        model = FallbackModel(InstrumentedModel(OpenAIChatModel("gpt-oss-120b", provider=provider)))
        agent = Agent(model, system_prompt=("Be brief.", "Be kind."), capabilities=[capability])
        agent.instructions("Ask.")
        agent.run_sync("Hello", message_history=history)
        (request,) = server.requests
    roles = [message["role"] for message in request.body["messages"]]
    assert roles.count("system") == 1 and roles[0] == "system"
    (text,) = request.system
    assert "\n\nYour HUD " in text and text.index("Your HUD ") < text.index("# Task")


@pytest.mark.parametrize("asked", [False, True])
def test_a_cached_prefix_ends_before_the_tail_where_the_host_caches(
    asked: bool, capability: HudCapability[None]
) -> None:
    script = Scripted()
    agent = Agent(script.model, capabilities=[capability])
    settings: Any = {"anthropic_cache_messages": "1h"} if asked else {}
    agent.run_sync("Hello", model_settings=settings)
    (part,) = script.sent[0][0][0].parts
    assert part.content[0] == "Hello" and part.content[-1].startswith("Context: ")  # type: ignore[union-attr]
    assert list(part.content[1:-1]) == ([CachePoint(ttl="1h")] if asked else [])  # type: ignore[union-attr]


def picture() -> Any:
    return ["a picture", BinaryContent(b"\x89PNG", media_type="image/png")]


def refuse() -> str:
    raise ModelRetry("not today")


def as_data() -> dict[str, int]:
    return {"total": 10}


def words() -> str:
    return "ten"


@pytest.mark.parametrize(
    ("tool", "carrier", "text"),
    [
        (words, ToolReturnPart, "ten\n[hud "),
        (as_data, ToolReturnPart, '{"total":10}\n[hud '),
        (refuse, UserPromptPart, "[hud "),
        (picture, UserPromptPart, "[hud "),
    ],
)
def test_a_block_follows_a_result_of_any_kind(
    tool: Any, carrier: type, text: str, capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    def told_elsewhere(*_: Any) -> ModelResponse:
        board.session("c1", project=tmp_path, host="pydantic-ai").call("notes.add", {"content": "by another"})
        return calls(tool.__name__)

    script = Scripted(told_elsewhere, calls("as_data"), says("done"))
    agent = Agent(script.model, capabilities=[capability], tools=[tool] if tool is as_data else [tool, as_data])
    agent.run_sync("Hello", conversation_id="c1")
    for messages, _ in script.sent[1:]:  # in the same place in each later call
        parts = [part for one in messages[2:3] for part in one.parts]
        (part,) = [one for one in parts if isinstance(one, carrier) and "by another" in str(one.content)]
        content = part.content if isinstance(part.content, str) else part.content[0]
        assert content.startswith(text), content
    assert type(script.sent[-1][0][2].parts[0]) is ToolReturnPart, "results come first"


def test_a_block_of_several_results_stands_in_the_last_one_that_is_text(
    capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    def told_elsewhere(*_: Any) -> ModelResponse:
        board.session("c1", project=tmp_path, host="pydantic-ai").call("notes.add", {"content": "by another"})
        return ModelResponse([ToolCallPart(name, tool_call_id=name) for name in ("as_data", "words", "refuse")])

    script = Scripted(told_elsewhere)
    Agent(script.model, capabilities=[capability], tools=[words, as_data, refuse]).run_sync(
        "Hello", conversation_id="c1"
    )
    results = {part.tool_name: str(part.content) for part in script.sent[-1][0][-1].parts}  # type: ignore[union-attr]
    assert [name for name, text in results.items() if "by another" in text] == ["words"]


def test_an_old_output_is_sent_as_a_stub_and_kept_whole(tmp_path: Path) -> None:
    script = Scripted(
        *(calls("words", id=f"c{n}", used=4_000 * n + 5_000) for n in range(40)),
        says("done"),
        *(says("yes", used=165_000) for _ in range(8)),
        window=200_000,
    )
    settings = Settings(pruning=PruningSettings(enabled=True))
    with Hud.open(tmp_path / "log" / "hudkit.db", settings=settings) as board:
        _old_outputs_are_stubs(script, HudCapability[None](board, project=tmp_path))


def _old_outputs_are_stubs(script: Scripted, capability: HudCapability[None]) -> None:
    agent = Agent(script.model, capabilities=[capability])

    @agent.tool_plain(name="words")
    def many() -> str:
        return "word " * 3_000

    result = agent.run_sync("Look around", conversation_id="c1")
    for _ in range(8):
        result = agent.run_sync("And now?", conversation_id="c1", message_history=result.all_messages())
    sent = [part for one in script.sent[-1][0] for part in one.parts if isinstance(part, ToolReturnPart)]
    kept = [part for one in result.all_messages() for part in one.parts if isinstance(part, ToolReturnPart)]
    assert any(str(one.content).startswith("[pruned:") for one in sent), [str(one.content)[:40] for one in sent]
    assert all(one.content == "word " * 3_000 for one in kept) and len(kept) == len(sent)
