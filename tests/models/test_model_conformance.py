"""The port's conformance suite on every model of hudkit; two of them over real HTTP, through the real clients."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

import pytest

from hudkit.models import Model, complete, open_model
from hudkit.testing.captured import Captured
from hudkit.testing.in_process import InProcessModel
from hudkit.testing.model import ScriptedModel
from hudkit.testing.models import ModelConformance, Talk, asks
from hudkit.testing.replies import Answer, Reply

T = TypeVar("T")


def spoken(model: Model, talk: Talk[T]) -> T:
    async def run() -> T:
        try:
            return await talk(model)
        finally:
            await model.close()

    return asyncio.run(run())


class OverHttp(ModelConformance):
    name = ""
    below = ""

    def play(self, answers: Sequence[Answer], talk: Talk[T]) -> tuple[T, list[Captured]]:
        with ScriptedModel(answers) as server:
            model = open_model(self.name, key=self.key, base_url=server.url + self.below)
            return spoken(model, talk), server.requests


class TestInProcess(ModelConformance):
    def play(self, answers: Sequence[Answer], talk: Talk[T]) -> tuple[T, list[Captured]]:
        model = InProcessModel(answers)
        return spoken(model, talk), model.requests

    def test_a_full_window_ends_the_answer(self) -> None:
        end, _ = self.play([Reply("half", finish="compact")], lambda model: complete(model, asks()))
        assert end.reason == "compact"


@pytest.mark.slow
class TestOpenAiChat(OverHttp):
    name = "openai-chat:gpt-4o"
    below = "/v1"


@pytest.mark.slow
class TestAnthropic(OverHttp):
    name = "anthropic:claude-sonnet-4-6"

    def test_a_full_window_ends_the_answer(self) -> None:
        end, _ = self.play([Reply("half", finish="compact")], lambda model: complete(model, asks()))
        assert end.reason == "compact"
