"""The HUD in LangGraph graphs that are put together by hand, with LangChain's own fake model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from hudkit import Hud
from hudkit.hosts.langchain import HudMiddleware
from hudkit.log.payloads import CompactAfter

pytestmark = pytest.mark.slow

Board = HudMiddleware[Any, Any]
T1: Any = {"configurable": {"thread_id": "t1"}}


class Fake(FakeMessagesListChatModel):
    """LangChain's fake, which keeps what it was sent."""

    sent: list[list[BaseMessage]]
    profile: Any = None

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self.bind(tools=list(tools))

    def _generate(self, messages: list[BaseMessage], *given: Any, **named: Any) -> Any:
        self.sent.append(messages)
        return super()._generate(messages, *given, **named)


def model_of(*answers: AIMessage) -> Fake:
    profile = {"max_input_tokens": 32_000, "max_output_tokens": 4_000}
    return Fake(responses=[one.model_copy() for one in answers], sent=[], profile=profile)


def calls(name: str, id: str, used: int = 0, **args: Any) -> AIMessage:
    usage = UsageMetadata(input_tokens=used, output_tokens=0, total_tokens=used) if used else None
    call = {"name": name, "args": args, "id": id, "type": "tool_call"}
    return AIMessage("", tool_calls=[call], usage_metadata=usage)


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    one = Board(tmp_path / "hud.db", project=tmp_path)
    yield one
    one.close()


@tool
def count(what: str) -> str:
    """Counts."""
    return f"3 {what}"


def graph_of(board: Board, model: Fake, tools: Sequence[Any] = (count,), saver: Any = None) -> Any:
    builder = StateGraph(MessagesState)
    everything = [*tools, *board.tools]
    node = ToolNode(everything, wrap_tool_call=board.wrap_tool_call, awrap_tool_call=board.awrap_tool_call)
    builder.add_node("model", board.model_node(model.bind_tools(everything), system_prompt="Be brief."))
    builder.add_node("tools", node)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


def session(tmp_path: Path, name: str) -> Any:
    with Hud.open(tmp_path / "hud.db") as log:
        return log.session(name, project=tmp_path, host="langchain").state


def test_a_node_carries_the_hud_and_compacts(board: Board, tmp_path: Path) -> None:
    model = model_of(
        calls("hud", "c1", tool="task.set", args={"description": "Count apples"}),
        calls("count", "c2", 30_000, what="apples"),
        AIMessage("I counted."),
        AIMessage("there are 3"),
    )
    graph = graph_of(board, model, saver=InMemorySaver())
    done = asyncio.run(graph.ainvoke({"messages": [HumanMessage("Please begin.")]}, T1))["messages"]
    assert [one.text for one in done][-1] == "there are 3"
    assert done[0].additional_kwargs["lc_source"] == "summarization" and "I counted." in done[0].text
    system = model.sent[-1][0]
    assert isinstance(system, SystemMessage) and system.text.startswith("Be brief.\n\n")
    assert "Count apples" in system.text
    assert session(tmp_path, "t1").task.description == "Count apples"
    assert not any("[hud " in one.text for one in done)


def test_a_node_streams_the_pieces_of_an_answer(board: Board) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("there are 3")]))
    builder = StateGraph(MessagesState).add_node("model", board.model_node(model)).add_edge(START, "model")
    asked = {"messages": [HumanMessage("Count.")]}
    pieces = [piece.text for piece, _ in builder.compile().stream(asked, T1, stream_mode="messages")]
    assert [one for one in pieces if one.strip()] == ["there", "are", "3"]


def test_a_model_in_a_node_of_ones_own(board: Board, tmp_path: Path) -> None:
    model = model_of(AIMessage("one"), AIMessage("two"))
    prompt = ChatPromptTemplate.from_messages([("system", "Be brief."), ("placeholder", "{messages}")])
    chain = prompt | board.model_call(model)

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [chain.invoke({"messages": state["messages"]})]}

    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile(InMemorySaver())
    graph.invoke({"messages": [HumanMessage("Never use floats.")]}, T1)
    graph.invoke({"messages": [HumanMessage("Go on.")]}, T1)
    assert [one.text for one in session(tmp_path, "t1").constraints] == ["Never use floats"]
    assert "HUD" in model.sent[0][0].text and model.sent[0][0].text == model.sent[1][0].text
    assert session(tmp_path, "t1").session.request == "Go on."


def test_a_model_outside_of_graphs_needs_the_name_of_a_session(
    board: Board, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = model_of(AIMessage("one"), AIMessage("two"))
    with caplog.at_level(logging.WARNING):
        assert board.model_call(model).invoke("Please begin.").text == "one"
    assert [one.text for one in model.sent[0]] == ["Please begin."] and "thread_id" in caplog.text
    assert board.model_call(model, session="mine").invoke([("user", "Please begin.")]).text == "two"
    assert session(tmp_path, "mine").session.request == "Please begin."


def test_a_graph_within_a_tool_is_a_sub_agent(board: Board, tmp_path: Path) -> None:
    inner = graph_of(board, model_of(calls("hud", "c1", tool="notes.add", args={"content": "x"}), AIMessage("3")))

    @tool
    def delegate(what: str) -> str:
        """Gives a task to a sub-agent."""
        return str(inner.invoke({"messages": [HumanMessage(what)]})["messages"][-1].text)

    model = model_of(calls("delegate", "d1", what="Count."), AIMessage("done"))
    graph_of(board, model, [delegate], InMemorySaver()).invoke({"messages": [HumanMessage("Begin.")]}, T1)
    child = session(tmp_path, "t1/d1")
    assert [one.content for one in child.notes] == ["x"] and not session(tmp_path, "t1").notes
    assert [one.relation for one in child.session.links] == ["parent"]


def test_a_sub_agents_tool_knows_its_session_where_the_tool_node_does_not_tell(board: Board, tmp_path: Path) -> None:
    """A graph whose ToolNode was not given `wrap_tool_call`, run by a tool of one whose ToolNode was."""
    model = model_of(calls("hud", "c1", tool="notes.add", args={"content": "x"}), AIMessage("3"))
    builder = StateGraph(MessagesState)
    builder.add_node("model", board.model_node(model.bind_tools(board.tools)))
    builder.add_node("tools", ToolNode(board.tools))
    builder.add_edge(START, "model").add_conditional_edges("model", tools_condition).add_edge("tools", "model")
    inner = builder.compile()

    @tool
    def delegate(what: str) -> str:
        """Gives a task to a sub-agent."""
        return str(inner.invoke({"messages": [HumanMessage(what)]})["messages"][-1].text)

    outer = model_of(calls("delegate", "d1", what="Count."), AIMessage("done"))
    graph_of(board, outer, [delegate], InMemorySaver()).invoke({"messages": [HumanMessage("Begin.")]}, T1)
    assert [one.content for one in session(tmp_path, "t1/d1").notes] == ["x"]


def test_a_failing_model_fails_as_without_the_hud(board: Board, tmp_path: Path) -> None:
    class Down(Fake):
        def _generate(self, *given: Any, **named: Any) -> Any:
            raise ConnectionError("no route")

    graph = graph_of(board, Down(responses=[], sent=[]), saver=InMemorySaver())
    with pytest.raises(ConnectionError, match="no route"):
        graph.invoke({"messages": [HumanMessage("Begin.")]}, T1)


def test_compactions_are_counted_once(board: Board, tmp_path: Path) -> None:
    answers = [calls("count", f"c{n}", 30_000 if n == 2 else 900, what="x") for n in range(4)]
    model = model_of(*answers[:3], AIMessage("I counted."), answers[3], AIMessage("done"))
    done = graph_of(board, model, saver=InMemorySaver()).invoke({"messages": [HumanMessage("Begin.")]}, T1)[
        "messages"
    ]
    with Hud.open(tmp_path / "hud.db") as log:
        events = log.session("t1", project=tmp_path, host="langchain").events()
        assert sum(isinstance(one.payload, CompactAfter) for one in events) == 1
    known = {call["id"] for one in done if isinstance(one, AIMessage) for call in one.tool_calls}
    assert all(one.tool_call_id in known for one in done if isinstance(one, ToolMessage))
