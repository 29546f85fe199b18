"""The session loop passes the suite that every host passes, over OpenAI's and Anthropic's shapes on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from campaigns import HOST_DAYS
from hudkit import paths
from hudkit.agent.hud_hooks import hud_plugin
from hudkit.agent.loop import AgentLoop
from hudkit.agent.permissions import PermissionRule
from hudkit.agent.run_context import LoopOptions, LoopSettings
from hudkit.config import load
from hudkit.models import open_model
from hudkit.models.scripted_answers import ScriptedCall
from hudkit.testing.host_conformance import HostConformance, HostWorkspace
from hudkit.tokens import Window

pytestmark = pytest.mark.slow


class Talking:
    def __init__(self, runner: asyncio.Runner, loop: AgentLoop) -> None:
        self._runner = runner
        self._loop = loop

    @property
    def id(self) -> str:
        return self._loop.id

    def say(self, text: str) -> str:
        ended = self._runner.run(self._loop.prompt(text))
        assert ended.reason == "done", ended
        return ended.text

    def take_back(self) -> None:
        self._runner.run(self._loop.undo())

    def compact(self) -> None:
        assert self._runner.run(self._loop.compact())


class TestSession(HostConformance):
    host = "session"
    turns = HOST_DAYS.rounds
    model = "openai-chat:gpt-5"

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Talking]:
        known = place.folder / f"{session}.json"
        before = json.loads(known.read_text()) if known.exists() else ""
        path = "/v1" if self.shape == "openai" else ""
        window = Window(*place.limit, None, "user")
        with asyncio.Runner() as runner:
            model = open_model(self.model, key="sk-test-000000", base_url=place.url + path, window=window)
            loop = runner.run(
                AgentLoop.open(
                    place.project,
                    model,
                    data=self.data(place, session),
                    session=before,
                    options=LoopOptions(
                        plugins=[("hud", hud_plugin(place.log, resume=resume))] if hud else [],
                        permissions=(PermissionRule("*", "*", "allow"),),
                        settings=LoopSettings.from_user_settings(load(paths.config_path()).settings),
                    ),
                )
            )
            known.write_text(json.dumps(loop.id))
            try:
                yield Talking(runner, loop)
                assert not loop.setup.hooks.failures
            finally:
                runner.run(loop.close())
                runner.run(model.close())

    def data(self, place: HostWorkspace, session: str) -> Path:
        """Where the loop's own data are; conversations side by side do not share them."""
        return place.folder / "data" / session

    def call(self, what: str, **arguments: Any) -> ScriptedCall:
        return ScriptedCall("bash" if what == "run" else what, arguments)

    def take_back(self, talk: Any) -> bool:
        talk.take_back()
        return True

    def delegate(self, prompt: str) -> ScriptedCall:
        return ScriptedCall("task", {"description": "look", "prompt": prompt, "agent": "general"})


class TestSessionWithAnthropic(TestSession):
    shape = "anthropic"
    model = "anthropic:claude-sonnet-4-6"
