"""An agent of Google ADK with the HUD: one plugin, here with a model that answers by heart (no network)."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from hudkit.hosts.google_adk import HudAdkPlugin


def read_file(path: str) -> str:
    """Reads a text file of the project."""
    return f"(the text of {path})"


def call(name: str, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


class ByHeart(BaseLlm):
    """A model whose answers are known beforehand, and that shows what it was sent last."""

    model: str = "by-heart"
    answers: list[types.Part]
    prompt: str = ""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        del stream
        self.prompt = str(llm_request.config.system_instruction)
        yield LlmResponse(content=types.Content(role="model", parts=[self.answers.pop(0)]))


model = ByHeart(
    answers=[
        call("hud", operation="task.set", text="Make the uploader retry"),
        call("read_file", path="uploader.py"),
        call("hud", operation="decisions.record", text="Back off exponentially, five tries"),
        types.Part(text="I know what to do."),
        types.Part(text="Done."),
    ]
)
agent = LlmAgent(name="coder", model=model, instruction="You are a coding agent.", tools=[read_file])


async def main(folder: Path) -> None:
    hud = HudAdkPlugin(folder / "hud.db", project=folder)
    async with InMemoryRunner(app=App(name="shop", root_agent=agent, plugins=[hud])) as runner:
        await runner.run_debug("Make the uploader retry. Never touch the tests.", session_id="s1", quiet=True)

    # A new process, a session of its own, the same task:
    hud = HudAdkPlugin(folder / "hud.db", project=folder, resume="s1")
    async with InMemoryRunner(app=App(name="shop", root_agent=agent, plugins=[hud])) as runner:
        events = await runner.run_debug("Go on, please.", session_id="s2", quiet=True)

    print(model.prompt)
    print(f"The agent: {events[-1].content}")
    assert not any("[hud " in str(event.content) for event in events), "nothing of the HUD is in the session"


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder)))
