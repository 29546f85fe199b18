"""What is heard of a run's messages: tools, denials, retries, histories that were forked, cut or sent anew."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, DeferredToolResults, ModelRetry, RunContext
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai_fakes import Scripted, calls, hud, payloads, says, state_of, texts

from hudkit import Hud
from hudkit.hosts.pydantic_ai import HudCapability
from hudkit.hosts.pydantic_ai.run_messages import RunReader
from hudkit.log.payloads import ErrorEncountered, SessionStart

pytestmark = pytest.mark.slow


def words() -> str:
    return "ten"


def refuse() -> str:
    raise ModelRetry("not today")


def test_responses_of_the_same_moment_are_told_apart() -> None:
    now = datetime.now(UTC)
    same = [ModelResponse([ToolCallPart("words", tool_call_id=id)], timestamp=now, run_id="r") for id in "abc"]
    heard = [one.entry for one in RunReader(dated=True).read(same)]
    assert len({one.message.created for one in heard}) == len({one.key for one in heard}) == 3
    assert [one.message.created for one in heard] == sorted(one.message.created for one in heard)


def write_file(path: str) -> str:
    return f"wrote {path}"


def test_tools_of_ones_own_are_heard_by_what_they_do(board: Hud, tmp_path: Path) -> None:
    script = Scripted(calls("load_text", path="a.txt"))
    agent = Agent(script.model, capabilities=[HudCapability(board, project=tmp_path, tools={"load_text": "read"})])

    @agent.tool_plain
    def load_text(path: str) -> str:
        return "text"

    agent.run_sync("Hello", conversation_id="c1")
    assert [one.path for one in state_of(board, tmp_path).files.active] == ["a.txt"]


def test_a_call_that_waits_for_approval_goes_on_and_one_that_was_denied_did_nothing(
    capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    script = Scripted(
        ModelResponse([ToolCallPart("write_file", {"path": path}, path) for path in ("yes.txt", "no.txt")])
    )
    agent = Agent(script.model, capabilities=[capability], output_type=[str, DeferredToolRequests])

    @agent.tool
    def write_file(ctx: RunContext[None], path: str) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return f"wrote {path}"

    first = agent.run_sync("Write", conversation_id="c1")
    assert isinstance(first.output, DeferredToolRequests) and len(first.output.approvals) == 2
    assert not state_of(board, tmp_path).files.active
    second = agent.run_sync(
        message_history=first.all_messages(),
        deferred_tool_results=DeferredToolResults(approvals={"yes.txt": True, "no.txt": False}),
    )
    assert second.output == "done"
    assert [one.path for one in state_of(board, tmp_path).files.active] == ["yes.txt"]
    assert not state_of(board, tmp_path).errors.open


def test_an_error_of_a_tool_ends_the_run_as_without_the_hud(
    capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    script = Scripted(calls("fail"), says("done"))
    agent = Agent(script.model, capabilities=[capability])

    @agent.tool_plain
    def fail() -> str:
        raise RuntimeError("on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        agent.run_sync("Hello", conversation_id="c1")
    assert agent.run_sync("And now?", conversation_id="c1").output == "done"
    assert state_of(board, tmp_path).session.request == "And now?"


def test_a_retry_is_an_error_until_the_same_call_succeeds(
    capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    tries = iter([True, False])

    def fetch(url: str) -> str:
        if next(tries):
            raise ModelRetry("no answer")
        return "here"

    script = Scripted(calls("fetch", url="x"), calls("fetch", url="x"))
    Agent(script.model, capabilities=[capability], tools=[fetch]).run_sync("Get it", conversation_id="c1")
    assert len(payloads(board, tmp_path, ErrorEncountered)) == 1
    assert not state_of(board, tmp_path).errors.open


def test_output_that_must_be_retried_is_nothing_that_the_user_said(board: Hud, tmp_path: Path) -> None:
    script = Scripted(says("ten"), calls("final_result", response=10))
    agent = Agent(script.model, output_type=int, capabilities=[HudCapability(board, project=tmp_path)])
    assert agent.run_sync("How much is it?", conversation_id="c1").output == 10
    assert state_of(board, tmp_path).session.request == "How much is it?"


def test_a_clients_history_without_dates_is_told_once(
    capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    """A front end sends the conversation anew each time: with other times, and without the runs that made it."""
    script = Scripted(calls("refuse"), says("first"), says("second"))
    agent = Agent(script.model, capabilities=[capability], tools=[refuse])
    kept: list[ModelMessage] = []
    for text in ("One", "Two"):
        kept = [
            *VercelAIAdapter.load_messages(VercelAIAdapter.dump_messages(kept)),
            ModelRequest([UserPromptPart(text)]),
        ]
        kept = agent.run_sync(message_history=kept, conversation_id="c1").all_messages()
    requests = [one.request for one in payloads(board, tmp_path, SessionStart) if one.request]
    assert requests == ["One", "Two"] and len(payloads(board, tmp_path, ErrorEncountered)) == 1
    assert script.sent[2][1].instructions == script.sent[0][1].instructions


def test_what_an_older_history_does_not_have_is_taken_back(
    capability: HudCapability[None], board: Hud, tmp_path: Path
) -> None:
    def noted(*_: Any) -> ModelResponse:
        board.session("c1", project=tmp_path, host="pydantic-ai").call("notes.add", {"content": "by another"})
        return calls("words")

    script = Scripted(says("first"), noted, says("second"), says("third"))
    agent = Agent(script.model, capabilities=[capability], tools=[words])
    one = agent.run_sync("One", conversation_id="c1").all_messages()
    two = agent.run_sync("Two", message_history=one).all_messages()
    agent.run_sync("Three", message_history=two)
    assert "by another" in script.text()
    agent.run_sync("Another two", message_history=one)
    assert "by another" not in script.text() and "Two" not in texts(script.sent[-1][0])


def test_a_fork_has_what_its_source_had(capability: HudCapability[None], board: Hud, tmp_path: Path) -> None:
    script = Scripted(hud("task.set", description="Make the total right"), says("first"), says("second"))
    agent = Agent(script.model, capabilities=[capability])
    done = agent.run_sync("Begin", conversation_id="c1")
    saved = ModelMessagesTypeAdapter.validate_json(done.all_messages_json())
    agent.run_sync("Another way", message_history=saved, conversation_id="c2")
    state = state_of(board, tmp_path, "c2")
    assert state.task.description == "Make the total right"
    assert any(link.relation == "fork" for link in state.session.links)
    assert script.sent[2][1].instructions == script.sent[1][1].instructions, "the same bytes, for the cache"


@pytest.mark.parametrize("first", [True, False])
def test_a_history_processor_beside_us_is_left_in_peace(first: bool, board: Hud, tmp_path: Path) -> None:
    def without_secrets(messages: list[ModelMessage]) -> list[ModelMessage]:
        return [
            ModelRequest([UserPromptPart(str(part.content).replace("s3cret", "*")) for part in one.parts])  # type: ignore[union-attr]
            if isinstance(one, ModelRequest) and all(isinstance(part, UserPromptPart) for part in one.parts)
            else one
            for one in messages
        ]

    mine: list[Any] = [HudCapability(board, project=tmp_path), ProcessHistory(without_secrets)]
    script = Scripted(calls("words"), calls("words"))
    agent = Agent(script.model, capabilities=mine if first else mine[::-1], tools=[words])
    agent.run_sync("The key is s3cret.", conversation_id="c1")
    assert all("s3cret" not in script.text(n) and "Your HUD outlives" in script.text(n) for n in range(3))
    assert len({info.instructions for _, info in script.sent}) == 1
