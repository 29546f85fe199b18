"""LangChain's `create_agent` with the HUD, as the suite talks to it, over OpenAI's or Anthropic's client."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, ClassVar

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, RemoveMessage
from langchain_core.tools import StructuredTool, ToolException
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import SecretStr

from campaigns import HOST_DAYS
from hudkit.errors import ToolError
from hudkit.hosts.langchain import HudMiddleware
from hudkit.testing.host_conformance import HostConformance, HostWorkspace
from hudkit.testing.project_tools import ProjectTools


class Talking:
    """A thread of an agent."""

    def __init__(self, agent: Any, thread: str) -> None:
        self._agent = agent
        self._thread = thread

    @property
    def id(self) -> str:
        return self._thread

    def say(self, text: str) -> str:
        said = {"messages": [{"role": "user", "content": text}]}
        done = self._agent.invoke(said, {"configurable": {"thread_id": self._thread}})
        return str(done["messages"][-1].text)

    def take_back(self) -> None:
        config = {"configurable": {"thread_id": self._thread}}
        messages = self._agent.get_state(config).values["messages"]
        last = max(n for n, message in enumerate(messages) if isinstance(message, HumanMessage))
        self._agent.update_state(config, {"messages": [RemoveMessage(message.id) for message in messages[last:]]})


class LangChainHost(HostConformance):
    host = "langchain"
    turns = HOST_DAYS.rounds
    middleware: ClassVar[Sequence[Any]] = ()
    """What stands beside the HUD in the agent."""

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Talking]:
        model = chat_model(place, self.shape)
        tools = workshop(place)
        with ExitStack() as stack:
            database = sqlite3.connect(place.folder / "threads.db", check_same_thread=False)
            stack.callback(database.close)
            middleware: list[Any] = list(self.middleware)
            if hud:
                middleware.insert(0, board := HudMiddleware(place.log, project=place.project, resume=resume))
                stack.callback(board.close)
            child = create_agent(model, tools, system_prompt=place.instructions, middleware=middleware, name="helper")

            def delegate(prompt: str) -> str:
                """Gives a task to a sub-agent; its last words."""
                done = child.invoke({"messages": [{"role": "user", "content": prompt}]})
                return str(done["messages"][-1].text)

            agent = create_agent(
                model,
                [*tools, StructuredTool.from_function(delegate)],
                system_prompt=place.instructions,
                middleware=middleware,
                checkpointer=SqliteSaver(database),
            )
            yield Talking(agent, session)

    def take_back(self, talk: Any) -> bool:
        talk.take_back()
        return True


def chat_model(place: HostWorkspace, shape: str = "openai") -> BaseChatModel:
    window, output = place.limit
    profile: Any = {"max_input_tokens": window, "max_output_tokens": output}
    key = SecretStr("sk-test-000000")
    if shape == "openai":
        return ChatOpenAI(
            model="gpt-5", api_key=key, base_url=f"{place.url}/v1", profile=profile, max_retries=0, stream_usage=True
        )
    return ChatAnthropic(
        model_name="claude-sonnet-4-6", api_key=key, base_url=place.url, profile=profile, max_retries=0,
        timeout=None, stop=None,
    )  # fmt: skip


def workshop(place: HostWorkspace) -> list[StructuredTool]:
    """The tools of the suite's agents, as LangChain's."""
    shop = ProjectTools(place.project)
    return [_tool(one) for one in (shop.read_file, shop.write_file, shop.edit_file, shop.run_command)]


def _tool(run: Callable[..., str]) -> StructuredTool:
    @wraps(run)
    def told(*given: Any, **named: Any) -> str:
        try:
            return run(*given, **named)
        except ToolError as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(told, handle_tool_error=True)
