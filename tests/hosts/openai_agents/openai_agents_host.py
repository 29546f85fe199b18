"""The real Agents SDK against the scripted model on loopback, over its Chat Completions model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, SQLiteSession, Tool, function_tool
from openai import AsyncOpenAI

from hudkit.hosts.openai_agents import HudRunner
from hudkit.testing.host_conformance import HostWorkspace
from hudkit.testing.project_tools import ProjectTools
from hudkit.tokens import Window

QUIET = RunConfig(tracing_disabled=True)


def said_to_the_agent(_: object, error: Exception) -> str:
    return f"An error occurred while running the tool: {error}"


class AgentsHost:
    """Conversations of an agent with the tools of a workshop, kept in an SQLite file in the place's folder."""

    host = "openai-agents"

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Talking]:
        with asyncio.Runner() as runner:
            client = AsyncOpenAI(base_url=f"{place.url}/v1", api_key="sk-test-000000", max_retries=0)
            model = OpenAIChatCompletionsModel("gpt-5", client)
            window = Window(*place.limit, None, "user")
            board = HudRunner(place.log, project=place.project, window=window, resume=resume) if hud else None
            kept = SQLiteSession(session, place.folder / "agents.db")
            try:
                yield Talking(runner, board, agent_of(place, model, board), kept)
            finally:
                kept.close()
                if board is not None:
                    board.close()
                runner.run(client.close())

    def take_back(self, talk: Any) -> bool:
        talk.take_back()
        return True


class Talking:
    def __init__(
        self, runner: asyncio.Runner, hud: HudRunner | None, agent: Agent[Any], session: SQLiteSession
    ) -> None:
        self._runner = runner
        self._hud = hud
        self._agent = agent
        self._session = session

    @property
    def id(self) -> str:
        return self._session.session_id

    def say(self, text: str) -> str:
        run = self._hud.run if self._hud is not None else Runner.run
        ended = self._runner.run(run(self._agent, text, session=self._session, run_config=QUIET, max_turns=30))
        return str(ended.final_output)

    def take_back(self) -> None:
        while (item := self._runner.run(self._session.pop_item())) is not None:
            if item.get("role") == "user":
                return


def agent_of(place: HostWorkspace, model: Any, hud: HudRunner | None) -> Agent[Any]:
    """The agent; its `delegate` runs the same one without it."""
    plain = Agent[Any]("coder", instructions=place.instructions, model=model, tools=tools_of(place))
    run = hud.run if hud is not None else Runner.run

    async def delegate(prompt: str) -> str:
        """Gives a task to a sub-agent.

        Args:
            prompt: What is to be done.
        """
        return str((await run(plain, prompt, run_config=QUIET)).final_output)

    return plain.clone(tools=[*plain.tools, function_tool(delegate, failure_error_function=said_to_the_agent)])


def tools_of(place: HostWorkspace) -> list[Tool]:
    shop = ProjectTools(place.project)
    doing = (shop.read_file, shop.write_file, shop.edit_file, shop.run_command)
    return [function_tool(one, failure_error_function=said_to_the_agent) for one in doing]
