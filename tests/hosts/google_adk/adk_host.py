"""An agent of ADK with the HUD, as the suite talks to it, over Anthropic's and Google's clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from anthropic import AsyncAnthropic
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.models import BaseLlm, Gemini
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from campaigns import HOST_DAYS
from hudkit.errors import ToolError
from hudkit.hosts.google_adk import HudAdkPlugin
from hudkit.models.scripted_answers import ScriptedCall
from hudkit.testing.host_conformance import HostConformance, HostWorkspace
from hudkit.testing.project_tools import ProjectTools

APP, USER = "shop", "user"


class Talk:
    """A session of an agent."""

    def __init__(self, runner: Runner, session: str, loop: asyncio.AbstractEventLoop) -> None:
        self.id = session
        self._runner = runner
        self._loop = loop
        self._invocations: list[str] = []

    def say(self, text: str) -> str:
        return self._loop.run_until_complete(self._say(text))

    async def _say(self, text: str) -> str:
        if await self._runner.session_service.get_session(app_name=APP, user_id=USER, session_id=self.id) is None:
            await self._runner.session_service.create_session(app_name=APP, user_id=USER, session_id=self.id)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        last = ""
        async for event in self._runner.run_async(
            user_id=USER, session_id=self.id, new_message=message, run_config=config
        ):
            if event.invocation_id not in self._invocations:
                self._invocations.append(event.invocation_id)
            if event.error_message:
                raise AssertionError(event.error_message)
            if not event.partial and event.is_final_response() and event.content:
                last = "".join(part.text or "" for part in event.content.parts or ())
        return last

    def take_back(self) -> None:
        self._loop.run_until_complete(
            self._runner.rewind_async(
                user_id=USER, session_id=self.id, rewind_before_invocation_id=self._invocations[-1]
            )
        )


class AdkHost(HostConformance):
    host = "google-adk"
    shape = "anthropic"
    turns = HOST_DAYS.rounds
    most_cost = ((7, 1.04), (20, 1.03))

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Talk]:
        model = self.model(place)
        window, output = place.limit
        plugins = []
        if hud:
            plugins = [HudAdkPlugin(place.log, project=place.project, window=window, output=output, resume=resume)]
        tools = [_tool(run) for run in _project_tools(place)]
        helper = LlmAgent(name="delegate", model=model, instruction=place.instructions, tools=list(tools))
        agent = LlmAgent(
            name="worker", model=model, instruction=place.instructions, tools=[*tools, AgentTool(helper)]
        )
        compaction = EventsCompactionConfig(
            summarizer=plugins[0].summarizer(model) if plugins else None,
            token_threshold=window - output,
            event_retention_size=2,
        )
        app = App(name=APP, root_agent=agent, plugins=list(plugins), events_compaction_config=compaction)
        loop = asyncio.new_event_loop()
        try:
            runner = Runner(app=app, session_service=SqliteSessionService(str(place.folder / "sessions.db")))
            yield Talk(runner, session, loop)
            loop.run_until_complete(runner.close())
        finally:
            if isinstance(model, AnthropicLlm) and model.client is not None:
                loop.run_until_complete(model.client.close())
            loop.close()

    def model(self, place: HostWorkspace) -> BaseLlm:
        client = AsyncAnthropic(api_key="sk-test-000000", base_url=place.url, max_retries=0)
        return AnthropicLlm(model="claude-sonnet-4-6", client=client)

    def delegate(self, prompt: str) -> ScriptedCall:
        return ScriptedCall("delegate", {"request": prompt})

    def take_back(self, talk: Any) -> bool:
        talk.take_back()
        return True


class GeminiHost(AdkHost):
    shape = "gemini"

    def model(self, place: HostWorkspace) -> BaseLlm:
        return Gemini(model="gemini-3.5-flash", base_url=place.url)


def _project_tools(place: HostWorkspace) -> list[Callable[..., str]]:
    tools = ProjectTools(place.project)
    return [tools.read_file, tools.write_file, tools.edit_file, tools.run_command]


def _tool(run: Callable[..., str]) -> Callable[..., Any]:
    """A function whose mistakes are answered, as ADK's tools do it."""

    @wraps(run)
    def answered(*args: Any, **named: Any) -> Any:
        try:
            return run(*args, **named)
        except ToolError as error:
            return {"error": str(error)}

    return answered
