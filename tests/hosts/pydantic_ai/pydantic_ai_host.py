"""Agents of pydantic-ai with the HUD, as the conformance suite talks to them: over OpenAI's or Anthropic's client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, UserPromptPart
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from campaigns import HOST_DAYS
from hudkit.errors import ToolError
from hudkit.hosts.pydantic_ai import HudCapability
from hudkit.testing.host_conformance import HostConformance, HostWorkspace
from hudkit.testing.project_tools import ProjectTools


class Talking:
    """An agent over a conversation whose messages are a JSON file, as an application would keep them."""

    def __init__(self, agent: Agent[None, str], session: str, file: Path) -> None:
        self.id = session
        self._agent = agent
        self._file = file

    def say(self, text: str) -> str:
        history: list[ModelMessage] = []
        if self._file.exists():
            history = ModelMessagesTypeAdapter.validate_json(self._file.read_bytes())
        result = self._agent.run_sync(
            text,
            message_history=history,
            conversation_id=self.id,
            usage_limits=UsageLimits(request_limit=None),
        )
        self._file.write_bytes(result.all_messages_json())
        return result.output

    def take_back(self) -> None:
        history = ModelMessagesTypeAdapter.validate_json(self._file.read_bytes())
        asked = [n for n, message in enumerate(history) if any(isinstance(p, UserPromptPart) for p in message.parts)]
        self._file.write_bytes(ModelMessagesTypeAdapter.dump_json(history[: asked[-1]]))


class PydanticAIHost(HostConformance):
    host = "pydantic-ai"
    turns = HOST_DAYS.rounds

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Talking]:
        capability = HudCapability[None](place.log, project=place.project, resume=resume)
        agent = self.agent(place, [capability] if hud else [])
        try:
            yield Talking(agent, session, place.folder / f"{session}.json")
        finally:
            capability.close()

    def take_back(self, talk: Any) -> bool:
        talk.take_back()
        return True

    def agent(self, place: HostWorkspace, capabilities: list[HudCapability[None]]) -> Agent[None, str]:
        workshop = ProjectTools(place.project)
        agent = Agent(
            self.model(place),
            instructions=place.instructions,
            capabilities=capabilities,
            retries=3,
        )
        for tool in (workshop.read_file, workshop.write_file, workshop.edit_file, workshop.run_command):
            agent.tool_plain(_retried(tool), name=tool.__name__)
        helper = Agent(self.model(place), instructions=place.instructions, capabilities=capabilities)

        @agent.tool_plain
        async def delegate(prompt: str) -> str:
            """Gives a task to a helper."""
            return (await helper.run(prompt)).output

        return agent

    def model(self, place: HostWorkspace) -> Any:
        window, output = place.limit
        settings, profile = ModelSettings(max_tokens=output), ModelProfile(context_window=window)
        if self.shape == "openai":
            provider = OpenAIProvider(base_url=f"{place.url}/v1", api_key="sk-test-000000")
            return OpenAIChatModel("gpt-5", provider=provider, settings=settings, profile=profile)
        seller = AnthropicProvider(base_url=place.url, api_key="sk-test-000000")
        caching = AnthropicModelSettings(**settings, anthropic_cache_instructions=True, anthropic_cache_messages=True)
        return AnthropicModel("claude-sonnet-4-6", provider=seller, settings=caching, profile=profile)


def _retried(tool: Callable[..., str]) -> Callable[..., str]:
    """A tool whose mistakes the agent is told of."""

    @wraps(tool)
    def run(*args: Any, **given: Any) -> str:
        try:
            return tool(*args, **given)
        except ToolError as error:
            raise ModelRetry(str(error)) from error

    return run
