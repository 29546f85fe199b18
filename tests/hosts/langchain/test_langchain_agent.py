"""An agent with the HUD, run as LangChain's users do: async, streamed, forked, interrupted, without a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware, wrap_model_call
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from lc_driver import LangChainHost, chat_model, workshop
from msgspec.structs import replace
from pydantic import BaseModel

from hudkit import Hud
from hudkit.context.caching import CallCost
from hudkit.hosts.langchain import HudMiddleware
from hudkit.log.payloads import CompactAfter, CompactUndone, SessionStart
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Refusal, ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import hud_base
from hudkit.testing.host_conformance import FULL_WINDOW_TOKENS, HostWorkspace, hud_call, with_full_window
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

T1: Any = {"configurable": {"thread_id": "t1"}}


def user(text: str) -> Any:
    return {"messages": [{"role": "user", "content": text}]}


@contextmanager
def at(tmp_path: Path, **given: Any) -> Iterator[tuple[HostWorkspace, ScriptedModel, HudMiddleware[Any, Any]]]:
    with LangChainHost()._at(tmp_path, **given) as (place, model):
        board: HudMiddleware[Any, Any] = HudMiddleware(place.log, project=place.project)
        yield place, model, board
        board.close()


def agent_of(place: HostWorkspace, *middleware: Any, saver: Any = None, tools: Any = (), **given: Any) -> Any:
    return create_agent(
        chat_model(place), [*workshop(place), *tools], middleware=list(middleware), checkpointer=saver, **given
    )


def events(place: HostWorkspace, session: str) -> list[Any]:
    with Hud.open(place.log) as log:
        return [one.payload for one in log.session(session, project=place.project, host="langchain").events()]


def state(place: HostWorkspace, session: str) -> Any:
    with Hud.open(place.log) as log:
        return log.session(session, project=place.project, host="langchain").state


def run(command: str) -> ScriptedCall:
    return ScriptedCall("run_command", {"command": command})


def orphans(messages: list[BaseMessage]) -> list[str]:
    """Results whose call is not there."""
    called = {call["id"] for one in messages if isinstance(one, AIMessage) for call in one.tool_calls}
    return [one.tool_call_id for one in messages if isinstance(one, ToolMessage) and one.tool_call_id not in called]


# -- ways to run it ------------------------------------------------------------------------------------------------


def test_async_runs_carry_the_hud(tmp_path: Path) -> None:
    with at(tmp_path, compaction=says("I am fixing the shop.")) as (place, model, board):
        agent = agent_of(place, board, saver=InMemorySaver())
        model.play(
            uses(hud_call("task.set", description="Count")), with_full_window(uses(run("echo 1"))), says("done")
        )

        async def live() -> Any:
            return await agent.ainvoke(user("Please begin."), T1)

        done = asyncio.run(live())
        assert [one.description for one in [state(place, "t1").task]] == ["Count"]
        assert "Count" in hud_base(model.chats[-1]), "after the compaction, the task stands in the base"
        assert "I am fixing the shop." in done["messages"][0].text
        assert sum(isinstance(one, CompactAfter) for one in events(place, "t1")) == 1


def test_the_answer_is_streamed_as_it_comes_and_nothing_of_ours_is(tmp_path: Path) -> None:
    with at(tmp_path, compaction=says("I am fixing the shop.")) as (place, model, board):
        agent = agent_of(place, board, saver=InMemorySaver())
        model.play(
            uses(hud_call("notes.add", content="x")), with_full_window(uses(run("echo 1"))), says("all is well")
        )
        pieces = [
            piece for piece, _ in agent.stream(user("Please begin."), T1, stream_mode="messages") if piece.content
        ]
        texts = [str(one.text) for one in pieces if isinstance(one, AIMessage)]
        assert "all is well" in "".join(texts) and "all is well" not in texts, "it came in pieces"
        assert "fixing the shop" not in "".join(texts), "a summary is no answer"
        assert sum(isinstance(one, ToolMessage) for one in pieces) == 2, "what stays is not streamed again"
        assert not any("[hud " in str(one.text) for one in pieces)
        assert len(model.chats) == 3 and "I am fixing the shop." in model.chats[-1].text


def test_a_run_without_a_thread_is_a_session_of_its_own(tmp_path: Path) -> None:
    with at(tmp_path) as (place, model, board):
        agent = agent_of(place, board)
        for name in ("anna", "bert"):
            model.play(uses(hud_call("notes.add", content=f"note of {name}")), uses(run("exit 3")), says("done"))
            done = agent.invoke(user(f"I am {name}."))
            assert "hud_session" not in done
        assert "note of anna" not in model.chats[-1].text, "what one user said is not told to another"
        assert "note of bert" in model.chats[-1].text
        with Hud.open(place.log) as log:
            states = [log.session(key).state for key in log.sessions() if not key.startswith("@")]
        assert sorted(one.content for each in states for one in each.notes) == ["note of anna", "note of bert"]
        assert len(states) == 2 and all(len(each.errors.open) == 1 for each in states)


def test_a_thread_without_a_checkpointer_goes_on_where_the_history_is_handed_over(tmp_path: Path) -> None:
    """An application that keeps the messages itself, and sends them all again."""
    with at(tmp_path) as (place, model, board):
        agent, history = agent_of(place, board), []
        for number in range(3):
            model.play(uses(hud_call("notes.add", content=f"note {number}")), says(f"turn {number} is done"))
            history.append({"role": "user", "content": f"Now part {number}."})
            agent.invoke({"messages": list(history)}, T1)
            history.append({"role": "assistant", "content": f"turn {number} is done"})
        requests = [one.request for one in events(place, "t1") if isinstance(one, SessionStart) and one.request]
        assert requests == [f"Now part {number}." for number in range(3)], "each is told once"
        assert [one.content for one in state(place, "t1").notes] == ["note 0", "note 1", "note 2"]


def test_answers_in_a_schema_leave_the_tools_usable(tmp_path: Path) -> None:
    """OpenAI's models are then asked for strict tools, which have no free objects."""

    class Total(BaseModel):
        total: int

    with at(tmp_path) as (place, model, board):
        agent = agent_of(place, board, saver=InMemorySaver(), response_format=Total)
        model.play(
            uses(ScriptedCall("hud", {"tool": "notes.add", "args": '{"content": "in cents"}'})), says('{"total": 3}')
        )
        done = agent.invoke(user("Please begin."), T1)
        assert done["structured_response"] == Total(total=3)
        assert [one.content for one in state(place, "t1").notes] == ["in cents"]
        (schema,) = [one["function"] for one in model.chats[0].body["tools"] if one["function"]["name"] == "hud"]
        assert schema["strict"] and schema["parameters"]["properties"]["args"]["type"] == "string"


def test_a_call_that_is_no_json_does_not_end_the_turn(tmp_path: Path) -> None:
    with at(tmp_path) as (place, model, board):
        model.play(uses(ScriptedCall("hud", "{broken"), run("echo 1")), says("done"))
        done = agent_of(place, board, saver=InMemorySaver()).invoke(user("Please begin."), T1)
        answers = {one.name: one for one in done["messages"] if isinstance(one, ToolMessage)}
        assert "it is not JSON" in answers["hud"].text and answers["hud"].status == "error"
        assert answers["run_command"].text.strip() == "1"
        assert done["messages"][-1].text == "done"


# -- compaction ----------------------------------------------------------------------------------------------------


def test_a_compaction_is_kept_by_the_checkpointer_and_tears_nothing_apart(tmp_path: Path) -> None:
    with at(tmp_path, compaction=says("I am fixing the shop.")) as (place, model, board):
        saver = InMemorySaver()
        agent = agent_of(place, board, saver=saver)
        model.play(
            uses(run("echo 1"), run("echo 2")), with_full_window(uses(run("echo 3"), run("echo 4"))), says("done")
        )
        agent.invoke(user("Please begin."), T1)
        kept = agent.get_state(T1).values["messages"]
        assert kept[0].additional_kwargs["lc_source"] == "summarization" and not orphans(kept)
        assert any(one.text == "Please begin." for one in kept), "the request that is worked on stays"
        assert "has begun" in kept[0].text, "and is not begun anew"
        assert "[hud " not in "".join(str(one.text) for one in kept), "the frame is in no checkpoint"
        again = HudMiddleware[Any, Any](place.log, project=place.project)
        model.play(says("again"))
        agent_of(place, again, saver=saver).invoke(user("And now?"), T1)
        assert sum("I am fixing the shop." in text for _, text in model.chats[-1].messages) == 1
        assert sum(isinstance(one, CompactAfter) for one in events(place, "t1")) == 1
        assert not any(isinstance(one, CompactUndone) for one in events(place, "t1"))
        again.close()


def test_the_agent_has_its_window_compacted(tmp_path: Path) -> None:
    with at(tmp_path, compaction=says("I am fixing the shop.")) as (place, model, board):
        half = replace(uses(ScriptedCall("hud_compact", {})), usage=CallCost(0, 0, 20_000, 50))
        model.play(says("so far so good"), half, says("done"))
        agent = agent_of(place, board, saver=InMemorySaver())
        agent.invoke(user("Please begin."), T1)
        agent.invoke(user("Go on."), T1)
        (done,) = [one for one in events(place, "t1") if isinstance(one, CompactAfter)]
        assert (done.trigger, done.summary) == ("agent", "I am fixing the shop.")
        assert "I am fixing the shop." in model.chats[-1].text


@pytest.mark.parametrize(
    "answer",
    [Refusal(500, "server_error", "", "no"), says(""), says("I'm sorry, I can't help with that.")],
    ids=["fails", "empty", "refuses"],
)
def test_a_model_that_writes_no_summary_stops_nobody(tmp_path: Path, answer: Any) -> None:
    with at(tmp_path, compaction=answer) as (place, model, board):
        model.play(uses(run("exit 3")), with_full_window(uses(run("echo 1"))), says("done"))
        done = agent_of(place, board, saver=InMemorySaver()).invoke(user("Please begin."), T1)
        assert done["messages"][-1].text == "done"
        (compacted,) = [one for one in events(place, "t1") if isinstance(one, CompactAfter)]
        assert "Please begin." in compacted.summary, "the log's own"
        assert len(state(place, "t1").errors.open) == 1


def test_a_summary_that_is_too_long_to_ask_for_is_asked_for_with_less(tmp_path: Path) -> None:
    asked: list[int] = []

    def summary(request: CapturedRequest) -> ScriptedReply | Refusal:
        asked.append(len(request.text))
        too_long = Refusal(400, "invalid_request_error", "context_length_exceeded")
        return says("I am fixing the shop.") if len(asked) > 1 else too_long

    with at(tmp_path, compaction=summary) as (place, model, board):
        model.play(uses(run("seq 1 3000")), with_full_window(uses(run("echo 1"))), says("done"))
        agent_of(place, board, saver=InMemorySaver()).invoke(user("Please begin."), T1)
        assert asked[1] < asked[0] // 2
        assert "I am fixing the shop." in model.chats[-1].text


def test_a_call_that_fails_after_a_compaction_is_made_again_without_another_one(tmp_path: Path) -> None:
    written: list[CapturedRequest] = []

    def summary(request: CapturedRequest) -> ScriptedReply:
        written.append(request)
        return says("I am fixing the shop.")

    with at(tmp_path, compaction=summary) as (place, model, board):
        agent = agent_of(place, board, saver=InMemorySaver())
        model.play(with_full_window(uses(run("echo 1"))), Refusal(500, "server_error", "", "down"))
        with pytest.raises(Exception, match="down"):
            agent.invoke(user("Please begin."), T1)
        model.play(says("done"))
        done = agent.invoke(None, T1)
        assert done["messages"][-1].text == "done" and len(written) == 1
        assert "I am fixing the shop." in model.chats[-1].text and not orphans(done["messages"])
        assert not any(isinstance(one, CompactUndone) for one in events(place, "t1"))


def test_a_window_that_stays_full_is_not_compacted_again_and_again(tmp_path: Path) -> None:
    written: list[CapturedRequest] = []

    def summary(request: CapturedRequest) -> ScriptedReply:
        written.append(request)
        return says("I am fixing the shop.")

    with at(tmp_path, compaction=summary) as (place, model, board):
        model.play(*[with_full_window(uses(run(f"echo {n}"))) for n in range(6)], says("done"))
        agent_of(place, board, saver=InMemorySaver()).invoke(user("Please begin."), T1)
        assert len(written) == 1


def test_a_huge_request_that_stays_is_shortened(tmp_path: Path) -> None:
    with at(tmp_path, compaction=says("I am fixing the shop.")) as (place, model, board):
        model.play(with_full_window(uses(run("echo 1"))), says("done"))
        agent = agent_of(place, board, saver=InMemorySaver())
        agent.invoke(user("Please begin. " + "x" * 80_000), T1)
        assert "Please begin." in model.chats[-1].text and "characters are left out" in model.chats[-1].text
        assert len(model.chats[-1].text) < 40_000
        assert state(place, "t1").session.request.startswith("Please begin.")


def test_beside_langchains_summarization(tmp_path: Path) -> None:
    with at(tmp_path) as (place, model, board):
        summaries = SummarizationMiddleware(chat_model(place), trigger=("tokens", 20_000), keep=("messages", 2))
        saver = InMemorySaver()
        agent = agent_of(place, board, summaries, saver=saver)
        full = says("half is done", used=21_000)
        model.play(uses(hud_call("task.set", description="Count")), full, says("I am counting."), says("done"))
        agent.invoke(user("Please begin."), T1)
        agent.invoke(user("Go on."), T1)
        (done,) = [one for one in events(place, "t1") if isinstance(one, CompactAfter)]
        assert done.summary == "I am counting."
        assert "Count" in hud_base(model.chats[-1]), "the base is new after it"
        assert [one.text for one in agent.get_state(T1).values["messages"]][-1] == "done"
        again = HudMiddleware[Any, Any](place.log, project=place.project)
        model.play(says("well"))
        agent_of(place, again, summaries, saver=saver).invoke(user("And now?"), T1)
        assert sum(isinstance(one, CompactAfter) for one in events(place, "t1")) == 1
        again.close()


def test_usage_of_before_a_summary_is_not_that_of_after_it(tmp_path: Path) -> None:
    """A summary was kept, then the process ended before the model answered: what stays has told the old usage."""
    with at(tmp_path) as (place, model, board):
        saver = InMemorySaver()
        summaries = SummarizationMiddleware(chat_model(place), trigger=("tokens", 20_000), keep=("messages", 2))
        agent = agent_of(place, board, summaries, saver=saver)
        model.play(
            says("half is done", used=FULL_WINDOW_TOKENS),
            says("I am counting."),
            Refusal(500, "server_error", "", "down"),
        )
        agent.invoke(user("Please begin."), T1)
        with pytest.raises(Exception, match="down"):
            agent.invoke(user("Go on."), T1)
        again = HudMiddleware[Any, Any](place.log, project=place.project)
        model.play(says("done"))
        agent_of(place, again, saver=saver).invoke(None, T1)
        assert "Context: usage unknown" in model.chats[-1].text
        assert not any(one.kind == "compaction" for one in model.requests), "the window is not full any more"
        again.close()


def test_messages_that_something_else_leaves_out_are_not_compacted(tmp_path: Path) -> None:
    """deepagents, for one, counts on the places of the messages that it leaves out."""

    @wrap_model_call
    def only_the_last(request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request.override(messages=request.messages[-2:]))

    with at(tmp_path) as (place, model, board):
        agent = agent_of(place, only_the_last, board, saver=InMemorySaver())
        model.play(
            says("one", used=FULL_WINDOW_TOKENS),
            says("two", used=FULL_WINDOW_TOKENS),
            with_full_window(uses(ScriptedCall("hud_compact", {}))),
            says("done"),
        )
        for text in ("Please begin.", "Go on.", "And on."):
            done = agent.invoke(user(text), T1)
        assert [one.text for one in done["messages"]][:4] == ["Please begin.", "one", "Go on.", "two"], (
            "all are there"
        )
        (refused,) = [one for one in done["messages"] if isinstance(one, ToolMessage)]
        assert "shortened by something else" in refused.text


# -- checkpoints ---------------------------------------------------------------------------------------------------


def test_a_message_that_is_edited_in_a_fork_is_heard_anew(tmp_path: Path) -> None:
    with at(tmp_path) as (place, model, board):
        agent = agent_of(place, board, saver=InMemorySaver())
        model.play(says("one"), says("two"), says("three"))
        agent.invoke(user("Count apples. Never use floats."), T1)
        agent.invoke(user("Go on."), T1)
        first = [one for one in agent.get_state_history(T1) if one.next == ("model",)][-1]
        (asked,) = first.values["messages"]
        fork = agent.update_state(first.config, {"messages": [HumanMessage("Count pears.", id=asked.id)]})
        agent.invoke(None, fork)
        assert state(place, "t1").session.request == "Count pears."
        chat = model.chats[-1]
        assert [text.partition("\n")[0] for role, text in chat.messages] == ["Count pears."]
        now = state(place, "t1")
        assert not now.constraints and not now.session.first_request, "the first version is taken back"
        assert "floats" not in chat.text and "apples" not in chat.text


def test_travelling_to_before_a_compaction_takes_it_back(tmp_path: Path) -> None:
    with at(tmp_path, compaction=says("I am fixing the shop.")) as (place, model, board):
        agent = agent_of(place, board, saver=InMemorySaver())
        model.play(
            uses(hud_call("notes.add", content="in cents")),
            says("one"),
            with_full_window(uses(run("echo 1"))),
            says("two"),
        )
        agent.invoke(user("Please begin."), T1)
        before = agent.get_state(T1).config
        agent.invoke(user("Go on."), T1)
        model.play(says("three"))
        agent.invoke(user("Go on otherwise."), before)
        assert sum(isinstance(one, CompactUndone) for one in events(place, "t1")) == 1
        assert "I am fixing the shop." not in model.chats[-1].text
        assert [one.content for one in state(place, "t1").notes] == ["in cents"], "what is known stays known"


def test_a_call_that_waits_for_leave_goes_on(tmp_path: Path) -> None:
    with at(tmp_path) as (place, model, board):
        asks = HumanInTheLoopMiddleware(interrupt_on={"run_command": True})
        saver = InMemorySaver()
        model.play(uses(run("exit 3")), says("done"))
        waiting = agent_of(place, board, asks, saver=saver).invoke(user("Please begin."), T1)
        assert waiting["__interrupt__"]
        again = HudMiddleware[Any, Any](place.log, project=place.project)
        leave = Command(resume={"decisions": [{"type": "approve"}]})
        done = agent_of(place, again, asks, saver=saver).invoke(leave, T1)
        assert done["messages"][-1].text == "done"
        assert len(state(place, "t1").errors.open) == 1
        again.close()


# -- sub-agents ----------------------------------------------------------------------------------------------------


def children(place: HostWorkspace) -> dict[str, Any]:
    """The sessions that have a parent, by the host's id."""
    with Hud.open(place.log) as log:
        states = [log.session(key).state for key in log.sessions() if not key.startswith("@")]
    return {
        one.session.host_session: one for one in states if "parent" in {link.relation for link in one.session.links}
    }


def test_each_call_of_a_sub_agent_is_a_session_unless_it_has_a_thread(tmp_path: Path) -> None:
    def answer(asked: CapturedRequest) -> ScriptedReply:
        names = [word for word in ("apples", "pears", "plums") if f"Count {word}." in asked.messages[0][1]]
        if names:
            done = any(role == "tool" for role, _ in asked.messages)
            return says(f"{names[0]}: 3") if done else uses(hud_call("notes.add", content=names[0]))
        if any(role == "tool" for role, _ in asked.messages):
            return says("done")
        return uses(
            ScriptedCall("count", {"what": "apples"}),
            ScriptedCall("count", {"what": "pears"}),
            ScriptedCall("count_own", {}),
        )

    with at(tmp_path, script=answer) as (place, _, board):
        child = agent_of(place, board)

        @tool
        def count(what: str) -> str:
            """Counts."""
            return str(child.invoke(user(f"Count {what}."))["messages"][-1].text)

        @tool
        async def count_own() -> str:
            """Counts in a thread of its own."""
            done = await child.ainvoke(user("Count plums."), {"configurable": {"thread_id": "plums"}})
            return str(done["messages"][-1].text)

        parent = agent_of(place, board, saver=InMemorySaver(), tools=[count, count_own])
        done = asyncio.run(parent.ainvoke(user("Please begin."), T1))
        calls = {call["args"].get("what"): call["id"] for call in done["messages"][1].tool_calls}
        found = {name: [one.content for one in each.notes] for name, each in children(place).items()}
        assert found == {
            f"t1/{calls['apples']}": ["apples"],
            f"t1/{calls['pears']}": ["pears"],
            "plums": ["plums"],
        }
        assert not state(place, "t1").notes


def test_two_runs_of_an_agent_in_one_tool_call_are_two_sessions(tmp_path: Path) -> None:
    def answer(asked: CapturedRequest) -> ScriptedReply:
        first = asked.messages[0][1].partition("\n")[0]
        ended = any(role == "tool" for role, _ in asked.messages)
        if first.startswith("Count"):
            return says("3") if ended else uses(hud_call("notes.add", content=first))
        return says("done") if ended else uses(ScriptedCall("count", {}))

    with at(tmp_path, script=answer) as (place, _, board):
        child = agent_of(place, board)

        @tool
        def count() -> str:
            """Counts."""
            return "".join(str(child.invoke(user(f"Count {n}."))["messages"][-1].text) for n in range(2))

        agent_of(place, board, saver=InMemorySaver(), tools=[count]).invoke(user("Please begin."), T1)
        assert [[one.content for one in each.notes] for each in children(place).values()] == [
            ["Count 0."],
            ["Count 1."],
        ]


def test_a_sub_agent_that_waits_for_an_answer_goes_on_as_the_same(tmp_path: Path) -> None:
    """Its tool call is carried out once more from the start, in another process."""

    @tool
    def ask() -> str:
        """Asks the user."""
        return str(interrupt("Which fruit?"))

    def answer(asked: CapturedRequest) -> ScriptedReply:
        results = [text for role, text in asked.messages if role == "tool"]
        if asked.messages[0][1].startswith("Count"):
            steps = (uses(hud_call("notes.add", content="before")), uses(ScriptedCall("ask", {})), says("3 pears"))
            return steps[min(len(results), 2)]
        return says("done") if results else uses(ScriptedCall("count", {}))

    with at(tmp_path, script=answer) as (place, model, board):
        saver = InMemorySaver()

        def parent(one: HudMiddleware[Any, Any]) -> Any:
            child = agent_of(place, one, tools=[ask])

            @tool
            def count() -> str:
                """Counts."""
                return str(child.invoke(user("Count."))["messages"][-1].text)

            return agent_of(place, one, saver=saver, tools=[count])

        assert parent(board).invoke(user("Please begin."), T1)["__interrupt__"]
        again = HudMiddleware[Any, Any](place.log, project=place.project)
        done = parent(again).invoke(Command(resume="pears"), T1)
        again.close()
        assert done["messages"][-1].text == "done"
        (child,) = children(place).values()
        assert [one.content for one in child.notes] == ["before"]
        last = [chat for chat in model.chats if chat.messages[0][1].startswith("Count")][-1]
        assert "pears" in last.text


def test_deepagents_and_its_sub_agents(tmp_path: Path) -> None:
    deepagents = pytest.importorskip("deepagents")

    def answer(asked: CapturedRequest) -> ScriptedReply:
        ended = any(role == "tool" for role, _ in asked.messages)
        if asked.messages[0][1].startswith("Count"):
            return says("there are 3") if ended else uses(hud_call("notes.add", content="of the child"))
        if ended:
            return says("done")
        task = ScriptedCall("task", {"description": "Count the files.", "subagent_type": "counter"})
        return uses(hud_call("task.set", description="Tidy"), task)

    with at(tmp_path, script=answer) as (place, model, board):
        counter = {"name": "counter", "description": "Counts.", "system_prompt": "Count.", "middleware": [board]}
        agent = deepagents.create_deep_agent(chat_model(place), subagents=[counter], middleware=[board])
        done = agent.invoke(user("Please begin."), T1)
        assert done["messages"][-1].text == "done"
        assert state(place, "t1").task.description == "Tidy"
        (child,) = children(place).values()
        assert [one.content for one in child.notes] == ["of the child"]
        assert all(hud_base(chat) for chat in model.chats)
