"""Compactions of a run's history: what it keeps, what a model is asked, and what happens where it fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai_fakes import WINDOW, Scripted, calls, hud, orphans, says, state_of, texts

from hudkit import Hud
from hudkit.hosts.pydantic_ai import HudCapability
from hudkit.hosts.pydantic_ai.run_messages import WORK_HAS_BEGUN
from hudkit.log.payloads import CompactAfter, SessionStart

pytestmark = pytest.mark.slow

FULL = 31_000


def agent_of(script: Scripted, *capabilities: Any, **more: Any) -> Agent[None, str]:
    agent: Agent[None, str] = Agent(script.model, capabilities=capabilities, **more)

    @agent.tool_plain
    def look(at: str) -> str:
        return f"seen {at}"

    return agent


def compactions(board: Hud, project: Path) -> list[CompactAfter]:
    session = board.session("c1", project=project, host="pydantic-ai")
    return [event.payload for event in session.events() if isinstance(event.payload, CompactAfter)]


def summaries(messages: list[ModelMessage]) -> list[CompactionPart]:
    return [part for one in messages for part in one.parts if isinstance(part, CompactionPart)]


def test_a_full_window_is_compacted_in_the_history_of_the_run(
    capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    script = Scripted(
        hud("task.set", description="Make the total right"), calls("look", at="a"), calls("look", at="b", used=FULL)
    )
    agent = agent_of(script, capability, system_prompt="You are a coder.")
    result = agent.run_sync("Fix the shop.", conversation_id="c1")
    kept = result.all_messages()
    (part,) = summaries(kept)
    assert part.content == "## Goal\nto go on"
    assert kept[0].parts[:2] == [*kept[0].parts[:1], part] and isinstance(kept[0].parts[0], SystemPromptPart)
    assert not orphans(kept) and not orphans(script.sent[-1][0])
    assert [text for text in texts(kept) if text == "Fix the shop."], "what the user asks for is repeated"
    assert "seen a" not in script.text() and "Make the total right" in (script.sent[-1][1].instructions or "")
    assert "Context: " in script.text() and "97%" not in script.text(), "how full the window is now, nobody knows"
    (asked,) = script.summarised
    assert "seen a" in "\n".join(texts(asked)) and "You are a coder." not in "\n".join(texts(asked))
    assert not [part for one in asked for part in one.parts if isinstance(part, ToolCallPart | ToolReturnPart)]
    assert [one.summary for one in compactions(board, tmp_path)] == ["## Goal\nto go on"]
    assert result.usage.output_tokens == 50, "the summary's tokens are counted"
    assert state_of(board, tmp_path).session.request == "Fix the shop."


def test_the_newest_messages_stay_word_for_word(capability: HudCapability[None], board: Hud, tmp_path: Path) -> None:
    long = "word " * 4_000
    script = Scripted(says("first " + long), says("second", used=FULL), says("third"), says("fourth"))
    agent = agent_of(script, capability)
    done = agent.run_sync("One", conversation_id="c1")
    done = agent.run_sync("Two", message_history=done.all_messages())
    done = agent.run_sync("Three", message_history=done.all_messages())
    assert [text[:20] for text in texts(done.all_messages())] == [
        "## Goal\nto go on", "Two", "second", "Three", "third",
    ]  # fmt: skip
    loaded = ModelMessagesTypeAdapter.validate_json(done.all_messages_json())
    agent.run_sync("Four", message_history=loaded)
    assert len(script.summarised) == 1 and len(compactions(board, tmp_path)) == 1
    session = board.session("c1", project=tmp_path, host="pydantic-ai")
    told = [one.payload.request for one in session.events() if isinstance(one.payload, SessionStart)]
    assert [one for one in told if one] == ["One", "Two", "Three", "Four"]
    assert script.sent[-1][1].instructions == script.sent[-2][1].instructions, "one epoch since"


def test_a_history_to_which_new_messages_are_added_is_cut_where_its_summary_stands(
    capability: HudCapability[None],
) -> None:
    script = Scripted(says("first"), says("second", used=FULL), says("third"), says("fourth"))
    agent = agent_of(script, capability)
    history: list[ModelMessage] = []
    for text in ("One", "Two", "Three", "Four"):
        history += agent.run_sync(text, message_history=history, conversation_id="c1").new_messages()
    sent = texts(script.sent[-1][0])
    assert "One" not in sent and "Four" in sent and len(summaries(script.sent[-1][0])) == 1
    assert WORK_HAS_BEGUN not in texts(script.sent[2][0]), "what is asked for now stays as it is"
    assert len(script.summarised) == 1


@pytest.mark.parametrize("answer", ["", "I'm sorry, I cannot help with that.", ModelHTTPError(400, "too long")])
def test_a_summary_that_no_model_writes_is_the_logs_own(
    answer: Any, capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    def summary(*_: Any) -> ModelResponse:
        if isinstance(answer, Exception):
            raise answer
        return says(answer)

    script = Scripted(hud("task.set", description="Total"), calls("look", at="b", used=FULL), summary=summary)
    result = agent_of(script, capability).run_sync("Fix the shop.", conversation_id="c1")
    (part,) = summaries(result.all_messages())
    assert "Fix the shop." in (part.content or "") and result.output == "done"
    assert len(compactions(board, tmp_path)) == 1


def test_the_agent_may_ask_for_it(capability: HudCapability[None], board: Hud, tmp_path: Path) -> None:
    script = Scripted(calls("hud_compact", used=5_000), calls("hud_compact", used=20_000))
    result = agent_of(script, capability).run_sync("Fix the shop.", conversation_id="c1")
    assert "Not compacted" in script.text(1)
    assert len(summaries(result.all_messages())) == 1 and not orphans(result.all_messages())
    assert len(compactions(board, tmp_path)) == 1


def test_a_window_that_is_only_assumed_is_not_taken_for_full(capability: HudCapability[None]) -> None:
    script = Scripted(calls("look", at="b", used=198_000), window=None)
    result = agent_of(script, capability).run_sync("Fix the shop.")
    assert not summaries(result.all_messages()) and "200k" in script.text(0)
    said = Scripted(calls("look", at="b", used=FULL), window=None)
    mine = HudCapability[None](capability.hud, window=WINDOW)
    assert summaries(agent_of(said, mine).run_sync("Fix the shop.").all_messages())


def test_a_compaction_can_be_left_to_others(board: Hud, tmp_path: Path) -> None:
    script = Scripted(calls("look", at="b", used=FULL))
    agent = agent_of(script, HudCapability(board, project=tmp_path, compact=False))
    result = agent.run_sync("Fix the shop.")
    assert not summaries(result.all_messages())
    assert {one.name for one in script.sent[0][1].function_tools} == {"hud", "memory", "look"}


def test_a_compaction_that_does_not_help_is_not_made_again_at_once(capability: HudCapability[None]) -> None:
    script = Scripted(*(calls("look", at=f"{n}", used=FULL) for n in range(6)))
    agent_of(script, capability).run_sync("Fix the shop.")
    assert len(script.summarised) == 1


def test_anothers_summary_is_heard_as_one(capability: HudCapability[None], board: Hud, tmp_path: Path) -> None:
    def summarised(messages: list[ModelMessage]) -> list[ModelMessage]:
        if len(messages) < 5:
            return messages
        return [ModelRequest([CompactionPart("what was before")]), *messages[-1:]]

    script = Scripted(hud("task.set", description="Total"), says("first"), says("second"), says("third"))
    agent = agent_of(script, ProcessHistory(summarised), capability)
    done = agent.run_sync("One", conversation_id="c1")
    done = agent.run_sync("Two", message_history=done.all_messages())
    agent.run_sync("Three", message_history=done.all_messages())
    assert [one.summary for one in compactions(board, tmp_path)] == ["what was before"]
    assert "Total" in (script.sent[-1][1].instructions or "")


def test_a_providers_own_compaction_is_heard_and_what_it_replaced_is_not(
    capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    done = ModelResponse([CompactionPart("what was before", provider_name="function"), TextPart("first")])
    script = Scripted(hud("task.set", description="Total"), done, says("second"))
    agent = agent_of(script, capability)
    first = agent.run_sync("One", conversation_id="c1")
    agent.run_sync("Two", message_history=first.all_messages())
    assert [one.summary for one in compactions(board, tmp_path)] == ["what was before"]
    assert "Total" in (script.sent[-1][1].instructions or "")


def test_only_what_may_be_sent_is_summarised(capability: HudCapability[None]) -> None:
    def without_secrets(messages: list[ModelMessage]) -> list[ModelMessage]:
        return [
            ModelRequest(
                [UserPromptPart("The key is *.") if isinstance(part, UserPromptPart) else part for part in one.parts]
            )
            if isinstance(one, ModelRequest)
            else one
            for one in messages
        ]

    script = Scripted(calls("look", at="a"), calls("look", at="b", used=FULL))
    agent = agent_of(script, ProcessHistory(without_secrets), capability)
    agent.run_sync("The key is s3cret.", conversation_id="c1")
    assert script.summarised and all("s3cret" not in text for one in script.summarised for text in texts(one))


def test_what_another_changes_in_requests_alone_is_changed_there_alone(capability: HudCapability[None]) -> None:
    class Masked(AbstractCapability[None]):
        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            masked = ModelRequest([UserPromptPart("The key is *.")], run_id="r")
            return replace(request_context, messages=[masked, *request_context.messages[1:]])

    script = Scripted(calls("look", at="a"), calls("look", at="b", used=FULL))
    result = agent_of(script, Masked(), capability).run_sync("The key is s3cret.", conversation_id="c1")
    assert script.summarised and "s3cret" not in "\n".join(texts(script.summarised[0]))
    assert "The key is s3cret." in texts(result.all_messages())
    assert not orphans(result.all_messages()) and len(summaries(result.all_messages())) == 1


def test_two_summaries_of_the_same_words_are_two(capability: HudCapability[None], board: Hud, tmp_path: Path) -> None:
    again = [calls("look", at="a"), calls("look", at="b", used=FULL), calls("look", at="c", used=1_000)]
    agent_of(Scripted(*again, *again), capability).run_sync("Fix the shop.", conversation_id="c1")
    assert len(compactions(board, tmp_path)) == 2


def test_a_summary_is_asked_for_with_the_settings_that_fit(capability: HudCapability[None]) -> None:
    script = Scripted(calls("look", at="b", used=FULL))
    settings: Any = {"temperature": 0.5, "openai_previous_response_id": "auto"}
    agent_of(script, capability).run_sync("Fix the shop.", model_settings=settings)
    assert script.settings == {"temperature": 0.5}


def test_a_very_long_prompt_is_repeated_shortened(capability: HudCapability[None]) -> None:
    script = Scripted(calls("look", at="b", used=FULL))
    agent_of(script, capability).run_sync("Read this: " + "word " * 20_000)
    (said,) = [text for text in texts(script.sent[-1][0]) if text.startswith("Read this: ")]
    assert "characters are left out" in said and len(said) < 25_000
