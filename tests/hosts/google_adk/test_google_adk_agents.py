"""Several agents in one session of ADK: what one says to another is nobody's rule."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from anthropic import AsyncAnthropic
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.runners import InMemoryRunner

from hudkit.api import Hud
from hudkit.hosts.google_adk import HudAdkPlugin
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.assertions import hud_base
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

NOTE = ScriptedCall("hud", {"operation": "notes.add", "text": "prices are in cents"})
TRANSFER = ScriptedCall("transfer_to_agent", {"agent_name": "second"})


def test_an_agent_that_takes_over_has_the_same_hud(tmp_path: Path) -> None:
    async def work(url: str) -> None:
        client = AsyncAnthropic(api_key="sk-test-000000", base_url=url, max_retries=0)
        model = AnthropicLlm(model="claude-sonnet-4-6", client=client)
        second = LlmAgent(name="second", model=model, description="Does the rest.")
        first = LlmAgent(name="first", model=model, sub_agents=[second])
        plugin = HudAdkPlugin(tmp_path / "hud.db", project=tmp_path)
        async with InMemoryRunner(app=App(name="shop", root_agent=first, plugins=[plugin])) as runner:
            await runner.run_debug("Never touch the tests.", session_id="s1", quiet=True)
            await runner.run_debug("Go on.", session_id="s1", quiet=True)
        await client.close()

    with ScriptedModel() as model:
        model.play(
            uses(NOTE, text="Never use floats, I say to myself."), uses(TRANSFER), says("done"), says("done again")
        )
        asyncio.run(work(model.url))
        assert model.left == 0
        chats = model.chats
    assert len({hud_base(chat) for chat in chats}) <= 2
    assert "For context:" in chats[2].text, "ADK retells what the first agent said"
    assert all("prices are in cents" in chat.text for chat in chats[1:])
    with Hud.open(tmp_path / "hud.db") as hud:
        (key,) = [key for key in hud.sessions() if not key.startswith("@")]
        state = hud.session(key).state
    assert [constraint.text for constraint in state.constraints] == ["Never touch the tests"]
    assert state.session.request == "Go on."
